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
    const kinds = { right: "good", full: "good", wrong: "bad", zero: "bad", unclear: "open", unscored: "open", partly: "open" };
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

  const MOST_WORDS = 1200;

  /** Which words of two texts are in both, in order: the longest such sequence, beginning and end aside. */
  function wordDiff(a, b) {
    const [left, right] = [a, b].map((text) => text.match(/\s+|[\p{L}\p{N}]+|[^\s\p{L}\p{N}]/gu) || []);
    let from = 0;
    while (from < left.length && left[from] === right[from]) from += 1;
    let [i, j] = [left.length, right.length];
    while (i > from && j > from && left[i - 1] === right[j - 1]) [i, j] = [i - 1, j - 1];
    const [rows, columns] = [i - from, j - from];
    const same = [left.map((_, place) => place < from || place >= i), right.map((_, place) => place < from || place >= j)];
    if (rows > MOST_WORDS || columns > MOST_WORDS) return [left, right, same];
    const width = columns + 1;
    const best = new Uint16Array((rows + 1) * width);
    for (let row = rows - 1; row >= 0; row -= 1) {
      for (let column = columns - 1; column >= 0; column -= 1) {
        best[row * width + column] = left[from + row] === right[from + column] ? best[(row + 1) * width + column + 1] + 1
          : Math.max(best[(row + 1) * width + column], best[row * width + column + 1]);
      }
    }
    for (let row = 0, column = 0; row < rows && column < columns;) {
      if (left[from + row] === right[from + column]) {
        same[0][from + row] = same[1][from + column] = true;
        row += 1;
        column += 1;
      } else if (best[(row + 1) * width + column] >= best[row * width + column + 1]) row += 1;
      else column += 1;
    }
    return [left, right, same];
  }

  /** Words of a text; those the other lacks are marked, with the blanks between them. */
  function marked(words, same, tag) {
    const parts = [];
    for (let from = 0; from < words.length;) {
      let to = from + 1;
      while (to < words.length && same[to] === same[from]) to += 1;
      const text = words.slice(from, to).join("");
      parts.push(same[from] ? document.createTextNode(text) : element(tag, { text }));
      from = to;
    }
    return parts;
  }

  /** Two runs' answers side by side. */
  function sideBySide(store, item, other) {
    const [left, right, same] = wordDiff(...[item, other].map((one) => store.text(one.a).slice(0, LONG)));
    const column = (one, words, kept, tag) => {
      const title = `Answer of ${store.runs[one.run].name}`;
      return element("div", { kind: "mt-passage" }, element("h5", { text: title }, " ", badge(store.text(one.s))),
        element("pre", { dir: "auto", tabindex: "0", role: "region", "aria-label": title }, ...marked(words, kept, tag)));
    };
    return element("div", { kind: "mt-diff" }, column(item, left, same[0], "del"), column(other, right, same[1], "ins"));
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

  /** Elements that show an item; `open` shows the same item of another run, `compare` puts that run's answer (`beside`) next to it. */
  function detail(store, item, address, { open, compare, beside }) {
    const text = (number) => store.text(number);
    const run = store.runs[item.run];
    const head = element("div", { kind: "mt-item-head" }, element("h4", { text: text(item.i), dir: "auto" }), badge(text(item.s)));
    const parts = [head, facts([
      ["run", store.runs.length > 1 ? run.name : ""],
      ...store.groups.map((name, place) => [name, ((item.g || [])[place] || []).map(text).join(", ")]),
      ["read as", text(item.p)],
      ["why", text(item.w)],
      ["unclear", text(item.n)],
      ["not scored", text(item.u)],
    ])];
    const others = store.others(item);
    const pair = others.find((other) => other.run === beside) || others.find((other) => other.a && other.s !== item.s) || others.find((other) => other.a);
    if (others.length) {
      const line = element("p", { kind: "mt-same-item" }, "The same item in: ");
      for (const other of others) {
        const button = element("button", { kind: "mt-button", type: "button", text: `${store.runs[other.run].name} (${text(other.s)})` });
        button.addEventListener("click", () => open(other));
        line.append(button, " ");
        if (item.a && other.a && others.length > 1) {
          const side = element("button", { kind: "mt-button", type: "button", "aria-pressed": String(other === pair), text: "beside", "aria-label": `${store.runs[other.run].name} beside` });
          side.addEventListener("click", () => compare(other.run));
          line.append(side, " ");
        }
      }
      parts.push(line);
    }
    if (run.texts) parts.push(element("p", { kind: "mt-quiet", text: run.texts }));
    if (item.q) parts.push(passage("Question", text(item.q)));
    if (item.a && pair && pair.a) parts.push(sideBySide(store, item, pair));
    else if (item.a) parts.push(passage("Answer", text(item.a)));
    else if (!run.texts) parts.push(element("p", { kind: "mt-quiet", text: "No answer." }));
    if (item.e) parts.push(passage("Gold", text(item.e)));
    if (store.metrics.length) parts.push(values(store, item));
    if (item.d) parts.push(element("h5", { text: "The judge's verdicts" }), verdicts(store, item));
    if (item.h) parts.push(facts([["SHA-256 of the answer", text(item.h), "mt-hash"]]));
    parts.push(element("p", { kind: "mt-quiet" }, element("a", { href: address, text: "Link to this item" })));
    return parts;
  }

  window.medicalTasksItemDetail = { badge, detail, element, wordDiff };
})();
