// Comfort for the form that submits a file: it can be dropped, its name and size are shown, and it stays chosen when the
// page comes back with faults.
"use strict";

function size(bytes) {
  return bytes < 1e6 ? `${Math.ceil(bytes / 1000)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

function equip(form) {
  const drop = form.querySelector("[data-drop]");
  const input = form.querySelector("input[type=file]");
  const word = form.querySelector("[data-dropped]");
  const tell = () => {
    const file = input.files[0];
    word.textContent = file ? `${file.name}, ${size(file.size)}` : "Or drop a file here.";
  };
  input.addEventListener("change", tell);
  for (const kind of ["dragenter", "dragover", "dragleave", "drop"]) {
    drop.addEventListener(kind, (event) => {
      event.preventDefault();
      drop.classList.toggle("over", kind === "dragenter" || kind === "dragover");
    });
  }
  drop.addEventListener("drop", (event) => {
    if (event.dataTransfer.files.length !== 1) {
      word.textContent = "Drop one file, please.";
      return;
    }
    input.files = event.dataTransfer.files;
    tell();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send(form, event.submitter);
  });
  tell();
}

async function send(form, button) {
  const input = form.querySelector("input[type=file]");
  const word = form.querySelector("[data-dropped]");
  const buttons = form.querySelectorAll("button");
  const body = new FormData(form, button);
  buttons.forEach((other) => (other.disabled = true));
  word.textContent = "Sending and checking …";
  try {
    const response = await fetch(form.action, { method: "POST", body });
    if (response.redirected) {
      location.assign(response.url);
      return;
    }
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    if (!page.querySelector("main")) throw new Error(response.status);
    document.title = page.title;
    document.querySelector("main").replaceWith(page.querySelector("main"));
    const next = document.querySelector("[data-upload]");
    if (!next) return;
    next.querySelector("input[type=file]").files = input.files;
    equip(next);
    document.querySelector("#summary")?.focus();
  } catch {
    buttons.forEach((other) => (other.disabled = false));
    word.textContent = "The server could not be reached. Nothing is known to be submitted; try again.";
  }
}

document.querySelectorAll("[data-upload]").forEach(equip);
