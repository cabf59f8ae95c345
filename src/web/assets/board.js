// Sorts, filters and searches the board in place. What is asked for is a view with an address; the server lays it out, so
// that rows and marks are those of the same address without this script.
"use strict";

const main = document.querySelector("main");
const form = main.querySelector("form.controls");
const said = document.querySelector("#said");
let turn = 0;

// Boxes that were scrolled or opened stay so, and what has the focus keeps it.
function put(next) {
  const focused = document.activeElement?.id;
  const scrolled = new Map([...main.querySelectorAll(".scroll")].map((box) => [box.id, [box.scrollLeft, box.scrollTop]]));
  const open = [...main.querySelectorAll("[data-part] details[open] > summary")].map((summary) => summary.id);
  for (const part of main.querySelectorAll("[data-part]")) {
    part.replaceChildren(...next.getElementById(part.id).childNodes);
  }
  for (const field of form.querySelectorAll("input[id]")) {
    const wanted = next.getElementById(field.id);
    field.checked = wanted.checked;
    if (field.id !== focused) field.value = wanted.value;
  }
  for (const id of open) document.getElementById(id)?.parentElement.setAttribute("open", "");
  for (const [id, [left, top]] of scrolled) document.getElementById(id)?.scrollTo(left, top);
  const kept = focused && document.getElementById(focused);
  if (kept) kept.focus({ preventScroll: true });
  else if (document.activeElement === document.body) main.querySelector(".count").focus({ preventScroll: true });
}

async function show(address) {
  const mine = ++turn;
  main.setAttribute("aria-busy", "true");
  try {
    const response = await fetch(address, { headers: { Accept: "text/html" } });
    if (!response.ok) throw new Error(response.status);
    const next = new DOMParser().parseFromString(await response.text(), "text/html");
    if (mine !== turn) return;
    put(next);
    const count = main.querySelector(".count");
    history.replaceState(null, "", count.dataset.address);
    said.textContent = count.textContent;
  } catch {
    // The browser says what is wrong with the address.
    if (mine === turn) location.assign(address);
  } finally {
    if (mine === turn) main.removeAttribute("aria-busy");
  }
}

function asked() {
  const filled = [...new FormData(form)].filter(([, value]) => value.trim() !== "");
  const query = new URLSearchParams(filled).toString();
  return query ? `/?${query}` : "/";
}

if (form) {
  let typing;
  form.addEventListener("input", (event) => {
    clearTimeout(typing);
    typing = setTimeout(() => show(asked()), event.target.type === "search" ? 150 : 0);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(typing);
    show(asked());
  });
  main.addEventListener("click", (event) => {
    const link = event.target.closest("[data-part] a");
    const plain = event.button === 0 && !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
    if (!link || !plain || link.origin !== location.origin || link.pathname !== "/") return;
    event.preventDefault();
    if (link.rel) main.querySelector("#state").scrollIntoView();
    show(link.pathname + link.search);
  });
}
