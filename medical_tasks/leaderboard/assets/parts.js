/* What the views are made of: elements, tables and drawings. Texts become text nodes, never markup. */
"use strict";
const Parts = (() => {
  const SVG = "http://www.w3.org/2000/svg";
  const MOST = 50; // rows that are drawn until more are asked for
  const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

  function filled(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes ?? {})) {
      if (typeof value === "function") element.addEventListener(name, value);
      else if (value === true) element.setAttribute(name, "");
      else if (value != null && value !== false) element.setAttribute(name, value);
    }
    element.append(...children.flat(Infinity).filter((child) => child != null && child !== ""));
    return element;
  }
  const h = (name, attributes, ...children) => filled(document.createElement(name), attributes, children);
  const s = (name, attributes, ...children) => filled(document.createElementNS(SVG, name), attributes, children);

  /** A link to an https page, or the text alone. */
  const outward = (text, address) =>
    /^https:\/\/[^\s"'<>\\]+$/.test(address ?? "") ? h("a", { href: address, rel: "noreferrer noopener" }, text) : text;

  const notice = (kind, head, ...texts) =>
    h("div", { class: `mtl-notice mtl-notice-${kind}`, role: kind === "bad" ? "alert" : "status" },
      h("p", { class: "mtl-notice-head" }, head), texts.map((text) => h("p", null, text)));

  const badge = (state, states) => h("span", { class: `mtl-badge mtl-${state}`, title: states[state] }, state);

  /** A value with its interval on an axis from `low` to `high`, as the report draws it; the numbers stand beside it. */
  function mark(value, low, high, scale = [0, 1], published = false) {
    const at = (x) => `${(100 * Math.min(1, Math.max(0, (x - scale[0]) / (scale[1] - scale[0])))).toFixed(2)}%`;
    const line = (from, to, y1 = 10, y2 = 10) => s("line", { x1: at(from), x2: at(to), y1, y2 });
    const bars = low == null || high == null ? [] : [line(low, high), line(low, low, 6, 14), line(high, high, 6, 14)];
    const dot = value == null ? null : published
      ? s("svg", { x: at(value), y: 10, overflow: "visible", width: 1, height: 1 }, s("path", { d: "M0-6 6 0 0 6-6 0Z" }))
      : s("circle", { cx: at(value), cy: 10, r: 4.5 });
    return s("svg", { class: `mt-mark mt-steps-4${published ? " mt-published" : ""}`, "aria-hidden": "true" }, bars, dot);
  }

  /**
   * A table that sorts, and is filtered by who calls `update` with the rows to show.
   * columns: {name, label, kind: text|number|range|plot, help, head, cell(row) -> {text|node, sort, note, title, strong}}. Where they
   * do not all fit, the last ones are left out until they are asked for.
   */
  function table({ name, caption, columns, sorted = "", onSort = () => {}, showCaption = true }) {
    const body = h("tbody");
    const status = h("span", { class: "mt-status", role: "status" });
    const wider = h("button", { type: "button", class: "mt-button", click: () => { [whole, dropped] = [true, new Set()]; draw(); } });
    const more = h("button", { type: "button", class: "mt-button mt-more", click: () => { most = Infinity; draw(); } });
    let rows = [];
    let of = 0;
    let most = MOST;
    let visible = columns;
    let dropped = new Set();
    let whole = false; // every column was asked for, by the button or by the reader's choice of columns
    let order = sorted;
    const heads = h("tr");
    const block = h("div", { class: "mt-table-block" },
      h("div", { class: "mt-scroll", tabindex: 0, role: "region", "aria-label": caption },
        h("table", { class: "mt-table", id: name },
          h("caption", null, h("span", { class: showCaption ? null : "mt-hidden-text" }, caption)), h("thead", null, heads), body)),
      h("p", { class: "mtl-below" }, status, more, wider));
    const scroll = block.firstChild;
    let width = 0;
    new ResizeObserver(() => {
      if (scroll.clientWidth === width) return; // what `fit` itself changed is the height
      width = scroll.clientWidth;
      requestAnimationFrame(fit);
    }).observe(scroll);

    /** Leaves out the last columns until the others fit; the name of a row and the two columns after it stay. */
    function fit() {
      dropped = new Set();
      draw();
      if (whole || !scroll.clientWidth) return;
      const kept = columns.findIndex((column) => column.head) + 1;
      for (let place = columns.length - 1; place > kept && scroll.scrollWidth > scroll.clientWidth + 1; place -= 1) {
        if (!visible.includes(columns[place])) continue;
        dropped.add(columns[place]);
        draw();
      }
    }

    const falling = (column) => column.kind === "number";
    function head(column) {
      const chosen = order.replace(/^-/, "") === column.name;
      const sort = chosen ? (order.startsWith("-") ? "descending" : "ascending") : null;
      const label = h("span", { class: "mt-label" }, column.label);
      const button = h("button", { type: "button", class: "mt-sort", click: () => {
        const first = falling(column) ? "-" : "";
        order = chosen ? (order.startsWith("-") ? column.name : `-${column.name}`) : `${first}${column.name}`;
        onSort(order);
        draw();
        heads.querySelector(`[data-name="${CSS.escape(column.name)}"] button`)?.focus();
      } }, label);
      return h("th", { scope: "col", class: `mt-${column.kind}`, "data-name": column.name, "aria-sort": sort, title: column.help },
        column.kind === "plot" ? label : button);
    }

    function cell(column, row) {
      const made = column.cell(row);
      const inside = [made.strong ? h("strong", null, made.node ?? made.text) : made.node ?? made.text, made.note && h("span", { class: "mt-note" }, made.note)];
      const kind = column.kind === "number" || column.kind === "range" ? null : `mt-${column.kind}`;
      return column.head ? h("th", { scope: "row", class: "mt-text" }, inside) : h("td", { class: kind, title: made.title }, inside);
    }

    function ordered() {
      const by = columns.find((column) => column.name === order.replace(/^-/, ""));
      if (!by) return rows;
      const sign = order.startsWith("-") ? -1 : 1;
      return rows.map((row, place) => ({ row, place, key: by.cell(row).sort ?? null })).sort((a, b) => {
        // What has no value stands last, whichever way the others go.
        if (a.key === null || b.key === null) return (a.key === null) - (b.key === null) || a.place - b.place;
        return sign * (typeof a.key === "number" ? a.key - b.key : collator.compare(a.key, b.key)) || a.place - b.place;
      }).map(({ row }) => row);
    }

    function draw() {
      const shown = visible.filter((column) => !dropped.has(column));
      heads.replaceChildren(...shown.map(head));
      body.replaceChildren(...ordered().slice(0, most).map((row) => h("tr", null, shown.map((column) => cell(column, row)))));
      if (!rows.length) body.append(h("tr", { class: "mt-empty" }, h("td", { colspan: shown.length }, "Nothing to show.")));
      const counted = (count) => count.toLocaleString("en");
      status.textContent = `${rows.length === of ? counted(of) : `${counted(rows.length)} of ${counted(of)}`} ${of === 1 ? "row" : "rows"}${rows.length > most ? `, the first ${most} shown` : ""}.`;
      wider.hidden = !dropped.size;
      wider.textContent = `Show ${dropped.size} more ${dropped.size === 1 ? "column" : "columns"}`;
      more.hidden = rows.length <= most;
      more.textContent = `Show all ${counted(rows.length)} rows`;
    }

    return {
      element: block,
      /** `chosen`: the reader chose the columns, and gets them all. */
      update(found, total = found.length, wanted = columns, chosen = false) {
        const same = wanted.length === visible.length && !chosen;
        [rows, of, visible, whole] = [found, total, wanted, whole || chosen];
        if (same) draw();
        else fit();
      },
      /** Rows of what is shown, in its order and words; what stands below a cell has a column of its own. */
      content() {
        const listed = ordered();
        const shown = visible.filter((column) => column.kind !== "plot").flatMap((column) => {
          const cells = listed.map(column.cell);
          const texts = [column.label, ...cells.map(({ text, node }) => text ?? node?.textContent ?? node)];
          const notes = [`${column.label}, ${column.kind === "number" ? "95 % interval" : "note"}`, ...cells.map(({ note }) => note ?? "")];
          return notes.slice(1).some(Boolean) ? [texts, notes] : [texts];
        });
        return ["", ...listed].map((_, place) => shown.map((column) => column[place]));
      },
    };
  }

  /**
   * Scores against what they cost, not all of it 0; a line joins those that none is both cheaper and better than. points: {x, y, label,
   * title, href}; `left`: how many more lack a figure; `higher`: more is better.
   */
  function scatter({ points: known, left, label, unit, said, higher }) {
    const logs = known.filter(({ x }) => x).map(({ x }) => Math.log10(x));
    const least = Math.floor(Math.min(...logs));
    const free = logs.length < known.length; // 0 has no logarithm: it stands at the left edge, a step from the others
    const [first, last] = [free ? least - 1 : least, Math.max(Math.ceil(Math.max(...logs)), least + 1)];
    const height = 300;
    const across = (x) => (x ? 100 * (Math.log10(x) - first) / (last - first) : 0);
    const up = (y) => 10 + height * (1 - y);
    const best = Figures.pareto(known.map(({ x, y }) => [x, y]), higher);
    const joined = best.slice(1).map((place, at) => {
      const [from, to] = [known[best[at]], known[place]];
      return s("line", { class: "mtl-pareto", x1: `${across(from.x)}%`, x2: `${across(to.x)}%`, y1: up(from.y), y2: up(to.y) });
    });
    const grid = [0, 0.25, 0.5, 0.75, 1].map((y) => [
      s("line", { class: "mt-grid", x1: "0%", x2: "100%", y1: up(y), y2: up(y) }),
      s("text", { class: "mt-tick", x: -8, y: up(y) + 4, "text-anchor": "end" }, `${100 * y}`)]);
    const ticks = Array.from({ length: last - first + 1 }, (_, step) =>
      s("text", { class: "mt-tick", x: `${(100 * step) / (last - first)}%`, y: height + 30, "text-anchor": "middle" }, (free && !step ? 0 : 10 ** (first + step)).toLocaleString("en", { maximumFractionDigits: 6 })));
    const dots = known.map(({ x, y, title, href }, place) =>
      s("a", { href, "data-go": true, "aria-label": title }, s("title", null, title),
        s("circle", { class: best.includes(place) ? "mt-dot mtl-best" : "mt-dot", cx: `${across(x)}%`, cy: up(y), r: 5 })));
    // Beyond the line nothing stands: names go there, the best first, where they do not run into one another.
    const placed = [];
    const names = best.toReversed().filter((place) => {
      const [left, top] = [across(known[place].x), up(known[place].y)];
      if (placed.length > 5 || placed.some(([x, y]) => Math.abs(x - left) < 35 && Math.abs(y - top) < 18)) return false;
      return placed.push([left, top]);
    }).map((place) => {
      const { x, y, label: name } = known[place];
      const side = across(x) > 40;
      return s("text", { class: "mt-point-label", x: `${across(x)}%`, y: up(y) + (higher ? -10 : 20), "text-anchor": side ? "end" : "start" }, name.length > 32 ? `${name.slice(0, 31)}…` : name);
    });
    return h("figure", { class: "mt-figure" },
      h("div", { class: "mtl-scatter" },
        s("svg", { class: "mt-svg", width: "100%", height: height + 40, role: "group", "aria-label": said }, grid, ticks, joined, dots, names)),
      h("p", { class: "mtl-small mtl-axis" }, `${label}, ${unit}, logarithmic${free ? ", 0 at the left edge" : ""}; upwards: score in %${higher ? "" : ", lower is better"}`),
      h("figcaption", { class: "mt-figure-note" }, `${said} The line joins the models that no other is both cheaper and better than.${left ? ` ${left} of ${left + known.length} are not drawn: they lack the ${label.toLowerCase()} or the score.` : ""}`));
  }

  function saved(name, content, type) {
    const link = h("a", { href: URL.createObjectURL(new Blob([content], { type })), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  /** A button that copies a text; where a browser does not let it, the text is shown. */
  const copies = (label, text) => {
    const button = h("button", { type: "button", class: "mt-button", click: async () => {
      const copied = text();
      try {
        await navigator.clipboard.writeText(copied);
        said.textContent = "Copied.";
      } catch {
        said.textContent = copied;
      }
    } }, label);
    const said = h("span", { class: "mtl-small", role: "status" });
    return h("span", { class: "mtl-copy" }, button, said);
  };

  const field = (label, control, grow = false) => h("div", { class: `mt-field${grow ? " mt-grow" : ""}` }, h("label", { for: control.id }, label), control);
  const select = (id, options, value, change) => {
    const made = h("select", { id, input: () => change(made.value) }, options.map(([said, each]) => h("option", { value: each }, said)));
    made.value = value;
    return made;
  };
  const check = (id, label, checked, change) => {
    const box = h("input", { type: "checkbox", id, input: () => change(box.checked) });
    box.checked = checked;
    return h("div", { class: "mt-field mt-check" }, box, h("label", { for: id }, label));
  };

  return { h, outward, notice, badge, mark, table, scatter, saved, copies, field, select, check };
})();
