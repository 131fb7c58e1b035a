/* Sorting and filtering of tables made by html_table.py. A page without this script shows them whole. */
"use strict";
(() => {
  const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
  const known = new WeakSet();
  // A browser lays out thousands of rows in seconds, not in a moment; the rest comes when it is asked for.
  const MOST = 100;
  const NUMBER = /^-?[0-9,]*[0-9](\.[0-9]+)?$/;

  const shown = (cell) => (cell.firstChild ? cell.firstChild.textContent.trim() : "");

  /** What a cell is sorted by: a number in columns of numbers (null when there is none), a text in others. */
  function key(cell, kind) {
    const given = cell.getAttribute("data-sort");
    if (kind === "text") return given ?? shown(cell);
    if (given === "") return null;
    const text = given ?? (NUMBER.test(shown(cell)) ? shown(cell).replaceAll(",", "") : "none");
    return Number.isFinite(Number(text)) ? Number(text) : null;
  }

  function compare(a, b) {
    return typeof a === "number" ? a - b : collator.compare(a, b);
  }

  function enhance(table) {
    if (known.has(table)) return;
    known.add(table);
    const body = table.tBodies[0];
    const heads = [...table.tHead.rows[0].cells];
    const controls = document.querySelector(`.mt-controls[data-for="${CSS.escape(table.id)}"]`);
    const status = document.getElementById(`${table.id}-status`);
    const rows = [...body.rows].map((row, place) => ({
      row, place, text: row.textContent.toLowerCase(), tags: (row.dataset.tags || "").split(" "), seen: true,
    }));
    const counted = (count) => count.toLocaleString("en");
    let ordered = rows;
    let order = "";
    let most = MOST;
    const more = document.createElement("button");
    more.type = "button";
    more.className = "mt-button mt-more";
    more.addEventListener("click", () => {
      most = Infinity;
      show();
    });
    if (rows.length > MOST) table.closest(".mt-table-block").append(more);

    /** Puts into the table what is to be seen, and says how much that is. */
    function show() {
      const found = ordered.filter((one) => one.seen);
      const now = found.slice(0, most);
      body.replaceChildren(...now.map((one) => one.row));
      body.classList.add("mt-ready");
      more.hidden = now.length === found.length;
      more.textContent = `Show all ${counted(found.length)} rows`;
      if (!status) return;
      const some = found.length === rows.length ? `${counted(rows.length)} rows` : `${counted(found.length)} of ${counted(rows.length)} rows`;
      status.textContent = now.length === found.length ? `Showing ${some}${order}.` : `Showing the first ${counted(now.length)}; ${some} match${order}.`;
      status.hidden = false;
    }

    addEventListener("beforeprint", () => {
      if (rows.length <= MOST || !table.isConnected) return;
      const before = most;
      most = Infinity;
      show();
      most = before;
    });
    addEventListener("afterprint", () => {
      if (rows.length > MOST && table.isConnected) show();
    });

    function sort(head, place) {
      const kind = head.dataset.kind;
      const before = head.getAttribute("aria-sort");
      // A first look at numbers is at the largest, at names from A.
      const rising = before ? before === "descending" : kind === "text";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", rising ? "ascending" : "descending");
      const keyed = rows.map((one) => ({ one, key: key(one.row.cells[place], kind) }));
      keyed.sort((a, b) => {
        // What has no value stands last, whichever way the others go.
        if (a.key === null || b.key === null) return (a.key === null) - (b.key === null) || a.one.place - b.one.place;
        return (rising ? 1 : -1) * compare(a.key, b.key) || a.one.place - b.one.place;
      });
      ordered = keyed.map(({ one }) => one);
      order = `, by ${head.querySelector(".mt-label").textContent}, ${rising ? "ascending" : "descending"}`;
      show();
    }

    if (table.hasAttribute("data-sortable")) {
      heads.forEach((head, place) => {
        if (!head.hasAttribute("data-sorts")) return;
        const label = head.querySelector(".mt-label");
        const button = document.createElement("button");
        button.type = "button";
        button.className = "mt-sort";
        label.replaceWith(button);
        button.append(label);
        button.addEventListener("click", () => sort(head, place));
      });
    }
    if (!controls) {
      if (rows.length > MOST) show();
      return;
    }

    const field = controls.querySelector(".mt-filter");
    const facets = [...controls.querySelectorAll(".mt-facet")].map((select) => {
      const place = heads.findIndex((head) => head.dataset.name === select.dataset.name);
      const values = rows.map(({ row }) => shown(row.cells[place]));
      for (const value of [...new Set(values)].sort(collator.compare)) {
        const option = document.createElement("option");
        option.value = option.textContent = value;
        select.append(option);
      }
      select.closest(".mt-field").hidden = new Set(values).size < 2;
      return { select, values };
    });
    const toggles = [...controls.querySelectorAll(".mt-toggle")];

    function filter() {
      const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      const wanted = facets.filter(({ select }) => select.selectedIndex > 0);
      const tags = toggles.filter((box) => box.checked).map((box) => box.dataset.tag);
      for (const one of rows) {
        one.seen = tags.every((tag) => one.tags.includes(tag)) &&
          wanted.every(({ select, values }) => values[one.place] === select.value) &&
          words.every((word) => one.text.includes(word));
      }
      show();
    }

    for (const control of [field, ...facets.map(({ select }) => select), ...toggles]) control.addEventListener("input", filter);
    controls.hidden = false;
    filter();
  }

  const enhanceAll = (root) => root.querySelectorAll("table.mt-table").forEach(enhance);

  /** For a host that puts tables into the page later: looks after those too. */
  function watch(root) {
    enhanceAll(root);
    new MutationObserver((changes) => {
      if (changes.some((change) => change.addedNodes.length)) enhanceAll(root);
    }).observe(root, { childList: true, subtree: true });
  }

  window.medicalTasksTables = { enhance, enhanceAll, watch };
  const start = () => enhanceAll(document);
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
