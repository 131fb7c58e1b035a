/* The page around tables and items: choosing a scheme, copying a recipe, opening what is closed for print. */
"use strict";
(() => {
  const root = document.documentElement;
  const button = document.querySelector(".mt-theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (root.dataset.theme || (system.matches ? "dark" : "light")) === "dark";
  const name = () => { button.textContent = dark() ? "Light colours" : "Dark colours"; };

  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try {
      localStorage.setItem("medical-tasks-theme", root.dataset.theme);
    } catch {
      // It holds for as long as the page is open.
    }
    name();
  });
  system.addEventListener("change", name);
  button.hidden = false;
  name();

  /** Marks a text, so that the reader's own keys copy it. */
  function select(element) {
    const range = document.createRange();
    range.selectNodeContents(element);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
  }

  for (const copy of document.querySelectorAll(".mt-copy")) {
    const text = document.getElementById(copy.dataset.copies);
    const said = copy.parentElement.querySelector(".mt-copied");
    copy.parentElement.hidden = false;
    copy.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(text.textContent);
        said.textContent = "Copied.";
      } catch {
        select(text);
        said.textContent = "Marked; copy it with your keyboard.";
      }
    });
  }

  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const one of opened) one.open = true;
  });
  addEventListener("afterprint", () => {
    for (const one of opened) one.open = false;
    opened = [];
  });
})();
