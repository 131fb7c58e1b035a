/* One item, as elements of the page. Every text of a model, a judge or a dataset goes in as text, never as HTML. */
"use strict";
(() => {
  const LONG = 20000;

  function element(tag, { kind = "", text = null, ...rest } = {}, ...children) {
    const made = document.createElement(tag);
    if (kind) made.className = kind;
    if (text !== null) made.textContent = text;
    for (const [name, value] of Object.entries(rest)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  /** A badge's colour says no more than its words. */
  function badge(state) {
    const kinds = { right: "good", full: "good", wrong: "bad", zero: "bad", unscored: "open", partly: "open" };
    return element("span", { kind: `mt-badge mt-is-${kinds[state] || "plain"}`, text: state });
  }

  function passage(title, text) {
    const block = element("div", { kind: "mt-passage" }, element("h5", { text: title }));
    const body = element("pre", { text: text.slice(0, LONG), dir: "auto", tabindex: "0", role: "region", "aria-label": title });
    block.append(body);
    if (text.length > LONG) {
      const more = element("button", { kind: "mt-button", type: "button", text: `Show all ${text.length.toLocaleString("en")} characters` });
      more.addEventListener("click", () => {
        body.textContent = text;
        more.remove();
        body.focus();
      });
      block.append(more);
    }
    return block;
  }

  function facts(pairs) {
    const list = element("dl", { kind: "mt-facts" });
    for (const [name, value, kind] of pairs) {
      if (value === "") continue;
      list.append(element("div", {}, element("dt", { text: name }), element("dd", { kind: kind || "", text: value, dir: "auto" })));
    }
    return list;
  }

  function values(store, item) {
    const body = element("tbody");
    store.metrics.forEach((metric, place) => {
      body.append(element("tr", {}, element("th", { scope: "row", text: metric.label }),
        element("td", { kind: "mt-number", text: store.value(item, place) })));
    });
    const head = element("thead", {}, element("tr", {}, element("th", { scope: "col", text: "Metric" }),
      element("th", { kind: "mt-number", scope: "col", text: "Value" })));
    const caption = element("caption", {}, element("span", { kind: "mt-hidden-text", text: "Values of this item" }));
    return element("table", { kind: "mt-table mt-item-values" }, caption, head, body);
  }

  function verdicts(store, item) {
    const list = element("ol", { kind: "mt-verdicts" });
    for (const [id, value, unscored, text, votes] of item.d) {
      const line = element("p", { kind: "mt-verdict-line" }, element("code", { text: store.text(id) }), " ",
        element("strong", { text: store.text(value) || "no verdict", dir: "auto" }));
      if (unscored) line.append(` (${store.text(unscored)})`);
      if (votes.length) line.append(` votes: ${votes.map((vote) => store.text(vote)).join(", ")}`);
      const one = element("li", {}, line);
      if (text) one.append(element("p", { kind: "mt-verdict-words", text: store.text(text).slice(0, LONG), dir: "auto" }));
      list.append(one);
    }
    return list;
  }

  /** Elements that show an item; `open` shows the same item of another run. */
  function detail(store, item, address, open) {
    const text = (number) => store.text(number);
    const run = store.runs[item.run];
    const head = element("div", { kind: "mt-item-head" }, element("h4", { text: text(item.i), dir: "auto" }), badge(text(item.s)));
    const parts = [head, facts([
      ["run", store.runs.length > 1 ? run.name : ""],
      ...store.groups.map((name, place) => [name, ((item.g || [])[place] || []).map(text).join(", ")]),
      ["read as", text(item.p)],
      ["why", text(item.w)],
      ["not scored", text(item.u)],
    ])];
    const others = store.items.filter((other) => other.i === item.i && other.run !== item.run);
    if (others.length) {
      const line = element("p", { kind: "mt-same-item" }, "The same item in: ");
      for (const other of others) {
        const button = element("button", { kind: "mt-button", type: "button", text: `${store.runs[other.run].name} (${text(other.s)})` });
        button.addEventListener("click", () => open(other));
        line.append(button, " ");
      }
      parts.push(line);
    }
    if (run.texts) parts.push(element("p", { kind: "mt-quiet", text: run.texts }));
    if (item.q) parts.push(passage("Question", text(item.q)));
    if (item.a) parts.push(passage("Answer", text(item.a)));
    else if (!run.texts) parts.push(element("p", { kind: "mt-quiet", text: "No answer." }));
    if (item.e) parts.push(passage("Gold", text(item.e)));
    if (store.metrics.length) parts.push(values(store, item));
    if (item.d) parts.push(element("h5", { text: "The judge's verdicts" }), verdicts(store, item));
    if (item.h) parts.push(facts([["SHA-256 of the answer", text(item.h), "mt-hash"]]));
    parts.push(element("p", { kind: "mt-quiet" }, element("a", { href: address, text: "Link to this item" })));
    return parts;
  }

  window.medicalTasksItemDetail = { badge, detail, element };
})();
