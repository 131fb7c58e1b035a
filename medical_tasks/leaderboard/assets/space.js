/* The leaderboard's part of the page: puts each page's HTML in, keeps the address in step, follows links within the app. */
"use strict";
(() => {
  const pages = {};
  const still = ["header", "submit", "said", "about"];
  let go = null;
  // Until the page that was asked for is there; an answer that never comes does not lock the tabs.
  const PATIENCE = 10000;
  let busyUntil = performance.now() + PATIENCE;
  let chosen = ""; // the tab that the visitor clicked, not one that an answer opened

  /** The scheme that Gradio chose, for our own colours. */
  function scheme() {
    document.documentElement.dataset.theme = document.body.classList.contains("dark") ? "dark" : "light";
  }

  const addressOf = (element) => element.firstElementChild?.dataset.address;

  /** Keeps the address in step; a tab that the visitor clicked is a step to come back from. */
  function at(query, page) {
    const step = chosen === `page-${page}-button`;
    if (step) chosen = "";
    const here = new URL(window.location.href);
    if (here.search === query) return;
    window.history[step ? "pushState" : "replaceState"]({}, "", here.pathname + (query === "?" ? "" : query));
  }

  /** Shows a component's HTML, now and whenever it changes. It was escaped where it was made; scripts in it would not run. */
  function show(element, props, watch, page) {
    pages[page] = element;
    const draw = () => {
      element.innerHTML = props.value || "";
      window.medicalTasksTables.enhanceAll(element);
      const address = addressOf(element);
      if (address === undefined) return;
      if (element.offsetParent !== null) at(address, page);
      if (!still.includes(page)) busyUntil = 0;
    };
    draw();
    watch("value", draw);
  }

  /** A tab was chosen: what to ask for to fill it, "" for nothing. */
  function selected(page) {
    if (still.includes(page)) busyUntil = 0; // it was there from the start
    if (performance.now() < busyUntil) return [""]; // what is on its way brings its own page
    const address = pages[page] && addressOf(pages[page]);
    at(address ?? `?view=${page}`, page);
    return [address === undefined || page === "queue" ? `?view=${page}` : ""];
  }

  function navigate(send) {
    go = send;
  }

  document.addEventListener("click", (event) => {
    chosen = event.target.closest?.("[role=tab]")?.id ?? chosen;
  }, true);
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[data-app-link]");
    if (!link || !go || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    const query = link.getAttribute("href");
    window.history.pushState({}, "", window.location.pathname + query);
    busyUntil = performance.now() + PATIENCE;
    go(query);
    window.scrollTo({ top: 0 });
  });
  // What was left with a link is opened anew by going back.
  window.addEventListener("popstate", () => window.location.reload());

  window.medicalTasksSpace = { show, selected, navigate };
  const start = () => {
    scheme();
    new MutationObserver(scheme).observe(document.body, { attributes: true, attributeFilter: ["class"] });
  };
  if (document.body) start();
  else document.addEventListener("DOMContentLoaded", start);
})();
