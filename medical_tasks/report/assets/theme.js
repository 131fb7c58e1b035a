/* The scheme a reader chose before, before anything is painted. Where nothing can be kept, the system's scheme holds. */
"use strict";
(() => {
  let kept = null;
  try {
    kept = localStorage.getItem("medical-tasks-theme");
  } catch {
    // A page from a file or in a frame may have no storage.
  }
  if (kept === "dark" || kept === "light") document.documentElement.dataset.theme = kept;
})();
