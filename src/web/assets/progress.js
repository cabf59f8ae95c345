// Follows a submission: asks how far it has come and says so in place. At each new state the page has more to show and is
// loaded anew.
"use strict";

const section = document.querySelector("[data-progress]");

function put(selector, text) {
  const place = section.querySelector(selector);
  // Only news is read out.
  if (place.textContent !== text) place.textContent = text;
}

async function look(wait) {
  try {
    const response = await fetch(section.dataset.progress, { headers: { Accept: "application/json" }, redirect: "manual" });
    if (response.type === "opaqueredirect") {
      // The session has ended; the page itself says so.
      location.reload();
      return;
    }
    if (!response.ok) throw new Error(response.status);
    const now = await response.json();
    if (now.state !== section.dataset.progressOf) {
      location.reload();
      return;
    }
    put("[data-lost]", "");
    put("[data-sentence]", now.sentence);
    put("[data-queue]", now.queue ?? "");
    const bar = section.querySelector("progress");
    bar.max = now.of ?? 1;
    bar.value = now.done ?? 0;
    wait = 2000;
  } catch {
    put("[data-lost]", "The server does not answer. This page keeps asking.");
    wait = Math.min(wait * 2, 60000);
  }
  setTimeout(look, wait, wait);
}

if (section) setTimeout(look, 1000, 2000);
