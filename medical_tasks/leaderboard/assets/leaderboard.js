/* The leaderboard's views, by address: ?tasks=a,b | ?task=NAME | ?model=NAME&key= | ?view=compare&task=&first=&second= | ?view=queue. */
"use strict";
(() => {
  const { h, outward, notice, badge, mark, table, scatter, saved, copies, field, select, check } = Parts;
  const { valued, interval, signed, percent } = Figures;
  const view = document.getElementById("view");
  const WHOLE = 0.9; // share of the items that must be scored
  const HELD = ["submit", "about"]; // views that are part of the page
  const COSTS = { cost: ["Cost", "USD for 1,000 answers"], tokens: ["Output tokens", "an answer"], parameters: ["Size", "billion parameters"] };
  let board;
  const files = new Map();

  const load = (path) => {
    if (!files.has(path)) {
      files.set(path, fetch(path).then((reply) => {
        if (!reply.ok) throw new Error(`${path}: ${reply.status}`);
        return reply.json();
      }).catch((error) => {
        files.delete(path);
        throw error;
      }));
    }
    return files.get(path);
  };

  /* ---- Addresses ---- */
  const asked = () => new URLSearchParams(location.search);
  const address = (named) => {
    const made = new URLSearchParams(Object.entries(named).filter(([, value]) => value)).toString();
    return made ? `?${made}` : "./";
  };
  const changed = (named) => address({ ...Object.fromEntries(asked()), ...named });
  const link = (text, named, title) => h("a", { href: address(named), "data-go": true, title }, text);
  /** Goes to an address; `quietly`: the view that is there has shown it already. */
  function go(to, quietly = false) {
    history[quietly ? "replaceState" : "pushState"](null, "", to);
    if (!quietly) show(true);
  }
  document.addEventListener("click", (event) => {
    const from = event.target.closest?.("a[data-go]");
    if (!from || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(from.getAttribute("href"));
  });
  addEventListener("popstate", () => show());

  /* ---- What the board knows ---- */
  function prepared(content) {
    const row = (cells) => Object.fromEntries(content.columns.map((name, place) => [name, cells[place]]));
    const made = { ...content, rows: content.rows.map(row) };
    for (const each of made.rows) {
      each.task = made.tasks[each.task];
      each.group = each.group == null ? null : made.groups[each.group];
      each.spec = each.task.metrics.find(({ name }) => name === each.metric) ?? each.task.metrics[0];
      each.notes = each.notes.map((place) => made.sentences[place]);
      each.text = [each.model, each.organisation, each.setting, each.licence, each.state].join(" ").toLowerCase();
    }
    made.submitted = made.rows.filter(({ state }) => state !== "reported");
    // A name of two organisations is of two models: each is called with its own.
    const owners = new Map();
    for (const { alike, key } of made.submitted) owners.set(alike, (owners.get(alike) ?? new Set()).add(key));
    for (const each of made.submitted) each.name = owners.get(each.alike).size > 1 ? `${each.model} (${each.organisation || "organisation not named"})` : each.model;
    for (const task of made.tasks) {
      task.groups = made.groups.filter((group) => group.task === task.name);
      task.results = made.submitted.filter((each) => each.task === task);
      task.ranked = task.results.filter((each) => each.group === task.groups[0] && each.first != null);
      task.papers = made.rows.filter((each) => each.task === task && each.state === "reported");
    }
    // Two groups of the same words are told apart by their ids.
    for (const group of made.groups) {
      const alike = made.groups.filter(({ task, words }) => task === group.task && words === group.words).length > 1;
      group.said = `${group.words}${alike ? ` (${group.id})` : ""}`;
    }
    return made;
  }

  const share = ({ value, low, high, spec }) => {
    if (value == null || low == null || high == null || spec.unit) return null;
    return spec.higher ? [value, low, high] : [1 - value, 1 - high, 1 - low];
  };
  /** What a plot spans: 0 to 100 %, or to the largest of another unit, and wider where figures lie outside, as those of negative points may. */
  const reach = (figures, unit) => {
    const ends = figures.flatMap(({ value, low, high }) => [value, low, high]).filter((each) => each != null);
    return [Math.min(0, ...ends), unit ? Math.max(...ends, 1e-9) : Math.max(1, ...ends)];
  };
  const reached = ([from, to], unit) => (unit || from < 0 || to > 1 ? `${from < 0 ? Figures.number(from, unit) : "0"} to ${Figures.number(to, unit)}${unit ? "" : " %"}` : "0 to 100 %");
  const size = (billions) => (billions == null ? "not said" : `${billions.toLocaleString("en")} B`);
  const yes = (said) => (said == null ? "not said" : said ? "yes" : "no");
  const rank = (first, last) => (first == null ? "n/a" : first === last ? `${first}` : `${first}–${last}`);
  const spaced = (text) => text.replaceAll("_", " ");
  const dollars = (cost) => (cost == null ? "not stated" : `$ ${cost.toLocaleString("en", { maximumFractionDigits: cost < 1 ? 4 : 2 })}`);

  /* Columns of facts, alike in every table of models; `of` gives the row that states them. */
  const facts = (of) => [
    { name: "organisation", label: "Organisation", kind: "text", cell: (row) => ({ text: of(row).organisation || "not named", sort: of(row).organisation }) },
    { name: "size", label: "Size", kind: "number", help: "Billion parameters, as the submitter says", cell: (row) => ({ text: size(of(row).parameters), sort: of(row).parameters }) },
    { name: "open", label: "Open weights", kind: "text", help: "As the submitter says", cell: (row) => ({ text: yes(of(row).open), sort: yes(of(row).open) }) },
    { name: "licence", label: "Licence", kind: "text", help: "Of the weights, as the submitter says", cell: (row) => ({ text: of(row).licence || "not said", sort: of(row).licence || null }) },
    { name: "state", label: "Verified", kind: "text", help: "Whether a maintainer scored the answers again", cell: (row) => ({ node: badge(of(row).state, board.states), sort: of(row).state }) },
    { name: "scored", label: "Scored", kind: "number", help: "Items scored, of those asked", cell: (row) => ({ text: `${of(row).scored} of ${of(row).asked}`, sort: of(row).asked ? of(row).scored / of(row).asked : null }) },
    { name: "tokens", label: "Tokens an answer", kind: "number", cell: (row) => ({ text: of(row).tokens == null ? "not stated" : Figures.fixed(of(row).tokens, 1), sort: of(row).tokens }) },
    { name: "cost", label: "Cost of 1,000", kind: "number", help: "USD for 1,000 answers, at the prices that the submitter gives", cell: (row) => ({ text: dollars(of(row).cost), sort: of(row).cost }) },
    { name: "date", label: "Date", kind: "text", cell: (row) => ({ text: of(row).date || "not known", sort: of(row).date }) },
  ];
  const modelAddress = ({ model, key }) => ({ model, key });
  const named = (row) => {
    const name = row.name ?? row.model;
    const own = link(name, modelAddress(row));
    return { node: row.state === "imported" && row.source ? h("span", null, own, " (", outward("published answers", row.source), ")") : own, sort: name };
  };
  /** Whether a result stands in a group's table: it is of the group, or of published answers to the same questions. */
  const stands = (row, group) => row.group === group || (row.state === "imported" && row.group.data === group?.data);

  /** What is said where an address names what is not there: nothing else is shown in its place. */
  const gone = (names, ...links) => [
    notice("bad", "This result is not shown any more", `The address names ${names.join(" and ")}, which was withdrawn or replaced, or never shown here.`), h("p", null, links)];

  /** A table with its search field, filters, choice of columns, and what can be taken away from it. */
  function listing({ name, caption, columns, rows, hidden, text, sorted }) {
    const said = asked();
    const given = said.get("columns")?.split(",");
    const visible = new Set(given ?? columns.map((column) => column.name).filter((each) => !hidden.includes(each)));
    const made = table({ name, caption, columns, sorted: said.get("sort") ?? sorted, onSort: (sort) => go(changed({ sort: sort === sorted ? "" : sort }), true), showCaption: false });
    const search = h("input", { type: "search", id: `${name}-search`, value: said.get("q"), input: () => update() });
    const only = select(`${name}-only`, [["All", ""], ["Run with this suite", "own"], ["Published answers", "imported"], ["Verified", "verified"], ["Open weights", "open"]], said.get("only") ?? "", () => update());
    const keeps = { own: (row) => row.state !== "imported", imported: (row) => row.state === "imported", verified: (row) => row.state === "verified", open: (row) => row.open === true };
    function update() {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      const found = rows.filter((row) => (!only.value || keeps[only.value](row)) && words.every((word) => text(row).includes(word)));
      made.update(found, rows.length, columns.filter((column) => visible.has(column.name) || column.head), Boolean(given || chosen));
      go(changed({ q: search.value, only: only.value, columns: given || chosen ? [...visible].join(",") : "" }), true);
    }
    let chosen = false;
    const boxes = columns.filter((column) => !column.head).map((column) => check(`${name}-${column.name}`, column.label, visible.has(column.name), (on) => {
      visible[on ? "add" : "delete"](column.name);
      chosen = true;
      update();
    }));
    const title = () => document.title.replace(/ · .*/, "");
    const tools = h("div", { class: "mtl-tools" },
      h("button", { type: "button", class: "mt-button", click: () => saved(`${name}.csv`, Figures.csv(made.content()), "text/csv") }, "This table as CSV"),
      copies("Copy link", () => location.href),
      copies("Cite", () => `${title()}. medical-tasks leaderboard, as of ${board.taken.slice(0, 10)}. ${location.href}`),
      h("details", { class: "mtl-columns" }, h("summary", null, "Columns"), h("div", { class: "mt-controls" }, boxes)));
    const controls = h("div", { class: "mt-controls" }, field("Search", search, true), field("Show", only));
    queueMicrotask(update);
    return h("div", null, controls, tools, made.element);
  }

  /** Scores against cost, size or tokens, where two models state one of these. score(row) -> 0 to 1; `higher`: more is better. */
  function chart(rows, score, what, higher = true) {
    const place = h("div");
    const points = Object.fromEntries(Object.keys(COSTS).map((by) => [by, rows.filter((row) => Number.isFinite(row[by]) && Number.isFinite(score(row)))
      .map((row) => ({ x: row[by], y: score(row), label: row.name, title: `${row.name}: ${percent(score(row))} %`, href: address(modelAddress(row)) }))]));
    const usable = Object.keys(COSTS).filter((each) => points[each].length > 1 && points[each].some(({ x }) => x > 0));
    if (!usable.length) return null;
    const draw = (by) => place.replaceChildren(scatter({ points: points[by], left: rows.length - points[by].length, higher, label: COSTS[by][0], unit: COSTS[by][1], said: `${what[0].toUpperCase()}${what.slice(1)} against ${COSTS[by][0].toLowerCase()} (${COSTS[by][1]}).` }));
    const by = usable.includes(asked().get("against")) ? asked().get("against") : usable[0];
    const control = select("against", usable.map((each) => [COSTS[each][0], each]), by, (value) => {
      draw(value);
      go(changed({ against: value }), true);
    });
    draw(by);
    return h("section", null, h("h3", null, "What a score costs"), h("div", { class: "mt-controls" }, field("Score against", control)), place);
  }

  /* ---- All benchmarks ---- */
  function home(said) {
    document.title = "Medical tasks leaderboard";
    const offered = board.tasks.filter((task) => task.results.length);
    const wanted = said.get("tasks")?.split(",") ?? usual(offered).map(({ name }) => name);
    const chosen = offered.filter(({ name }) => wanted.includes(name));
    const lost = wanted.filter((name) => name !== "none" && !offered.some((task) => task.name === name));
    const rows = ranked(chosen);
    const one = chosen.length === 1;
    const value = (task, place) => ({
      name: `task-${place}`, label: `${task.name}, %`, kind: "number", help: `${task.title}; ${spaced(task.metrics[0].name)}: ${task.metrics[0].said}`,
      cell: ({ parts }) => (parts.has(task) ? { text: percent(parts.get(task).value), sort: parts.get(task).value, note: interval(parts.get(task).low, parts.get(task).high, "") } : { text: "none", sort: null }),
    });
    const columns = [
      { name: "rank", label: "Rank", kind: "range", help: "From the best to the worst place it can have", cell: ({ first, last }) => ({ text: rank(first, last), sort: first }) },
      { name: "model", label: "Model", kind: "text", head: true, cell: (row) => ({ ...named(row), note: row.apart.length ? `without a rank on ${row.apart.join(", ")}` : "" }) },
      { name: "mean", label: one ? `${spaced(chosen[0].metrics[0].name)}, %` : `Mean of ${chosen.length} tasks, %`, kind: "number", help: "With its 95 % interval", cell: (row) => (row.mean ? { text: percent(row.mean[0]), sort: row.mean[0], note: interval(row.mean[1], row.mean[2], ""), strong: true } : { text: "n/a", sort: null, note: `lacks ${chosen.filter((task) => !row.parts.has(task)).map((task) => task.name).join(", ")}` }) },
      { name: "mark", label: "95 % interval, 0 to 100 %", kind: "plot", cell: (row) => ({ node: mark(...(row.mean ?? [null, null, null])) }) },
      ...(one ? [] : chosen.map(value)),
      ...facts((row) => row),
    ];
    const boxes = (open) => offered.filter((task) => task.open === open).map((task) => check(`with-${task.name}`, `${task.benchmark}: ${task.name} (${task.groups[0].count.toLocaleString("en")})`, chosen.includes(task), (on) => {
      const names = offered.filter((each) => (each === task ? on : chosen.includes(each))).map((each) => each.name);
      go(address({ tasks: names.join(",") || "none" }));
      document.getElementById(`with-${task.name}`)?.focus();
    }));
    const [free, held] = [boxes(true), boxes(false)];
    return [
      h("p", { class: "mtl-lead" }, "Every number has its 95 % interval; a rank is a range where intervals overlap. Choose the tasks to rank by: a model is ranked if it has a result on each of them, made on the same data with the same prompts and judge."),
      h("fieldset", { class: "mtl-choice" }, h("legend", null, "Rank by"), h("div", { class: "mt-controls" }, free.length ? free : "No results on open data yet."), held.length ? [h("p", { class: "mtl-small" }, "Credentialed data, whose answers nobody but their owners can read:"), h("div", { class: "mt-controls" }, held)] : null),
      lost.length ? gone(lost) : null,
      chosen.length ? listing({ name: "models", caption: "Models, by the mean of the chosen tasks", columns, rows, hidden: ["open", "licence", "tokens"], text: (row) => row.text, sorted: "" }) : offered.length ? notice("note", "No task is chosen", "Tick one or more above.") : notice("note", "No result was accepted yet", "What papers report stands below, with its tasks."),
      chart(rows, (row) => row.mean?.[0], one ? spaced(chosen[0].metrics[0].name) : "Mean"),
      h("h2", { class: "mtl-title" }, "Tasks"), tasksTable(offered.length ? offered : board.tasks, "tasks"),
      board.unshown.length ? [h("h2", { class: "mtl-title" }, "Results that are not shown now"), h("p", null, "Accepted results of tasks whose package this board does not have now. They are kept, and stand in the tables again once it is back."), h("ul", null, board.unshown.map((one) => h("li", null, `${one.task}${one.package ? ` (${one.package})` : ""}: ${one.model}, ${one.organisation || "organisation not named"}, submitted ${one.at}, `, h("code", null, one.submission))))] : null,
      offered.length && offered.length < board.tasks.length ? h("details", null, h("summary", null, `${board.tasks.length - offered.length} more tasks, of which only papers report`), tasksTable(board.tasks.filter((task) => !offered.includes(task)), "reported")) : null,
      h("p", null, "The whole table: ", h("a", { href: "leaderboard.csv", download: true }, "CSV"), ", ", h("a", { href: "leaderboard.json", download: true }, "JSON"), ", ", h("a", { href: "leaderboard.parquet", download: true }, "parquet"), "."),
    ];
  }

  /** What is ranked by at first: of each open benchmark the task of most results, as long as half of the models have them all. */
  function usual(offered) {
    const most = new Map();
    for (const task of offered) if (task.open && task.ranked.length > (most.get(task.benchmark)?.ranked.length ?? 0)) most.set(task.benchmark, task);
    const complete = (tasks) => ranked(tasks).filter((row) => row.counts).length;
    const chosen = [];
    for (const task of [...most.values()].sort((a, b) => b.ranked.length - a.ranked.length)) {
      if (!chosen.length || 2 * complete([...chosen, task]) >= complete(chosen)) chosen.push(task);
    }
    return chosen.length ? chosen : offered.slice(0, 1);
  }

  /** Models by the mean of the chosen tasks, each counted by the first group of its task, the official and largest one. */
  function ranked(chosen) {
    const models = new Map();
    for (const task of chosen) {
      for (const each of task.results) {
        // Of published answers only those that are whole, and counted by the same metric.
        if (!stands(each, task.groups[0]) || !share(each) || each.spec !== task.metrics[0]) continue;
        if (each.state === "imported" && each.scored < WHOLE * each.asked) continue;
        const row = models.get(each.key) ?? { parts: new Map(), key: each.key };
        // Of several results in one group the newest counts.
        if (!row.parts.has(task) || row.parts.get(task).date <= each.date) row.parts.set(task, each);
        models.set(each.key, row);
      }
    }
    const average = (values) => (values.every((value) => value != null) ? values.reduce((sum, value) => sum + value, 0) / values.length : null);
    const rows = [...models.values()].map((row) => {
      const parts = [...row.parts.values()];
      const newest = parts.reduce((a, b) => (a.date >= b.date ? a : b));
      const whole = row.parts.size === chosen.length;
      return {
        ...newest, ...row, text: parts.map((part) => part.text).join(" "),
        mean: whole ? Figures.mean(parts.map(share)) : null, counts: whole && parts.every((part) => part.first != null),
        apart: parts.filter((part) => part.first == null).map((part) => part.task.name),
        state: parts.every((part) => part.state === newest.state) ? newest.state : "unverified",
        asked: parts.reduce((sum, part) => sum + part.asked, 0), scored: parts.reduce((sum, part) => sum + part.scored, 0),
        tokens: average(parts.map((part) => part.tokens)), cost: average(parts.map((part) => part.cost)), first: null, last: null,
      };
    });
    const whole = rows.filter((row) => row.counts);
    Figures.ranges(whole.map(({ mean: [, low, high] }) => [low, high])).forEach(([first, last], place) => Object.assign(whole[place], { first, last }));
    return rows.sort((a, b) => (b.mean !== null) - (a.mean !== null) || (b.mean?.[0] ?? 0) - (a.mean?.[0] ?? 0) || b.parts.size - a.parts.size);
  }

  function tasksTable(tasks, name) {
    const best = (results) => results.filter((each) => share(each)).reduce((a, b) => (!a || share(b)[0] > share(a)[0] ? b : a), null);
    const told = (each) => (each ? { text: valued(each.value, each.spec.unit), sort: each.value, note: each.name } : { text: "none", sort: null });
    const made = table({
      name, caption: "Tasks", showCaption: false,
      columns: [
        { name: "task", label: "Task", kind: "text", head: true, cell: (task) => ({ node: link(task.name, { task: task.name }), sort: task.name, note: task.title }) },
        { name: "benchmark", label: "Benchmark", kind: "text", cell: (task) => ({ text: task.benchmark, sort: task.benchmark }) },
        { name: "data", label: "Data", kind: "text", cell: (task) => ({ text: task.open ? "open" : "credentialed", sort: task.open ? "open" : "credentialed" }) },
        { name: "results", label: "Results", kind: "number", cell: (task) => ({ text: task.results.length.toLocaleString("en"), sort: task.results.length }) },
        { name: "best", label: "Best here", kind: "number", help: "Of those with a rank", cell: (task) => told(best(task.ranked)) },
        { name: "papers", label: "Papers report", kind: "number", help: "The range of what papers print, by other settings", cell: ({ papers }) => {
          const values = papers.map((each) => each.value).filter((each) => each != null).sort((a, b) => a - b);
          return values.length ? { text: interval(values[0], values.at(-1), papers[0].spec.unit), sort: values.at(-1), note: `${values.length} figures` } : { text: "none", sort: null };
        } },
      ],
    });
    made.update(tasks);
    return made.element;
  }

  /* ---- One task ---- */
  async function taskView(said) {
    const task = board.tasks.find(({ name }) => name === said.get("task"));
    if (!task) return [notice("bad", "There is no such task here", `Nothing is known of ${said.get("task")}.`), tasksTable(board.tasks, "tasks")];
    document.title = `${task.name} · Medical tasks leaderboard`;
    const { columns: order, results, papers } = await load(`data/tasks/${task.name}.json`);
    const reported = new Set([...Object.values(results), ...papers.map(({ metrics }) => metrics)].flatMap(Object.keys));
    const metrics = task.metrics.filter(({ name }) => reported.has(name));
    const group = said.get("group") ? task.groups.find(({ id }) => id === said.get("group")) : task.groups[0];
    const figures = (row, name) => Object.fromEntries(order.map((key, place) => [key, results[row.submission]?.[name]?.[place]]));
    const stated = ({ name }) => task.results.some((row) => row.group === group && figures(row, name).value != null);
    const by = said.get("metric") ? metrics.find(({ name }) => name === said.get("metric")) : metrics.find(stated) ?? metrics[0];
    const lost = [["metric", by], ["group", group]].filter(([name, found]) => said.get(name) && !found).map(([name]) => `the ${name} ${said.get(name)}`);
    if (lost.length) return [h("h2", { class: "mtl-title" }, task.title), gone(lost, link(`What is shown of ${task.name}`, { task: task.name }))];
    const shown = (row) => figures(row, by.name);
    const alike = task.results.filter((each) => stands(each, group));
    const rows = alike.filter((each) => each.group === group || shown(each).value != null);
    const apart = alike.filter((each) => !rows.includes(each));
    const before = (a, b) => (a.first == null) - (b.first == null) || a.first - b.first || a.last - b.last || (by.higher ? b.value - a.value : a.value - b.value);
    rows.sort((a, b) => before(shown(a), shown(b)));
    const scale = reach(rows.map(shown), by.unit);
    const metricColumn = (metric, main) => ({
      name: metric.name, label: `${spaced(metric.name)}${metric.unit ? ` (${metric.unit})` : ", %"}`, kind: "number", help: metric.said,
      cell: (row) => {
        const { value, low, high, n, bound_low: least, bound_high: top } = figures(row, metric.name);
        const bounds = least != null && least !== top ? `; bounds, whatever is missing: ${interval(least, top, metric.unit)}` : "";
        return { text: Figures.number(value, metric.unit), sort: value ?? null, note: interval(low, high, metric.unit), strong: main, title: n == null ? "" : `over ${n.toLocaleString("en")} items${bounds}` };
      },
    });
    const columns = [
      { name: "rank", label: "Rank", kind: "range", help: "From the best to the worst place it can have", cell: (row) => ({ text: rank(shown(row).first, shown(row).last), sort: shown(row).first, title: row.notes.join(" ") }) },
      { name: "model", label: "Model", kind: "text", head: true, cell: (row) => ({ ...named(row), note: [...row.notes.slice(0, 1), ...(row.notes.length > 1 ? ["More on its page."] : [])].join(" ") }) },
      metricColumn(by, true),
      { name: "mark", label: `95 % interval, ${reached(scale, by.unit)}`, kind: "plot", cell: (row) => ({ node: mark(shown(row).value, shown(row).low, shown(row).high, scale) }) },
      ...metrics.filter((metric) => metric !== by).map((metric) => metricColumn(metric, false)),
      ...facts((row) => row),
      { name: "setting", label: "Setting", kind: "text", cell: (row) => ({ text: row.setting, sort: row.setting }) },
    ];
    const hidden = [...metrics.filter((metric) => metric !== by).slice(1).map(({ name }) => name), "open", "licence"];
    const pick = h("div", { class: "mt-controls" },
      metrics.length > 1 ? field("Ranked by", select("metric", metrics.map(({ name }) => [spaced(name), name]), by.name, (value) => go(address({ task: task.name, metric: value, group: said.get("group") })))) : null,
      task.groups.length > 1 ? field("Data, prompts and judge", select("group", task.groups.map((each) => [`${each.said} (${each.count})`, each.id]), group.id, (value) => go(address({ task: task.name, metric: said.get("metric"), group: value })))) : null);
    return [
      h("h2", { class: "mtl-title" }, task.title),
      h("p", { class: "mtl-lead" }, h("strong", null, spaced(by.name)), `: ${by.said} ${by.higher ? "Higher" : "Lower"} is better. `, group ? `Made with ${group.said}. ` : "", "Results made otherwise are never ranked together. ", outward("The benchmark's paper", task.paper), "."),
      pick,
      rows.length ? listing({ name: `${task.name}-models`, caption: `${task.name}: models`, columns, rows, hidden, text: (row) => row.text, sorted: "" }) : notice("note", "No result of this task was submitted yet", "What papers report stands below."),
      apart.length ? h("p", null, `Published answers of ${apart.length} more models have no ${spaced(by.name)}, which needs a judge. `, link(`See all by ${spaced(apart[0].metric)}`, { task: task.name, metric: apart[0].metric, group: said.get("group") }), ".") : null,
      rows.length > 1 ? [h("p", null, link("Compare two of these models, item by item", { view: "compare", task: task.name, first: rows[0].submission, second: rows[1].submission })), chart(rows, (row) => (by.unit ? NaN : shown(row).value), spaced(by.name), by.higher)] : null,
      papersTable(task, papers, metrics, by),
    ];
  }

  function papersTable(task, papers, metrics, by) {
    if (!papers.length) return null;
    // A paper's figure is its authors' decision, which stands beside the metric of that name.
    const told = metrics.filter(({ name }) => papers.some(({ metrics: each }) => name in each));
    const first = told.find(({ name }) => name === by.name || name === `${by.name}_official`) ?? told[0];
    const shown = [first, ...told.filter((metric) => metric !== first)].slice(0, 4);
    const made = table({
      name: "papers", caption: "Reported in papers, not verified", showCaption: false, sorted: `${first.higher ? "-" : ""}${first.name}`,
      columns: [
        { name: "model", label: "Model", kind: "text", head: true, cell: named },
        ...shown.map((metric) => ({ name: metric.name, label: `${spaced(metric.name)}${metric.unit ? ` (${metric.unit})` : ", %"}`, kind: "number", help: metric.said, cell: (row) => ({ text: Figures.number(row.metrics[metric.name], metric.unit), sort: row.metrics[metric.name] ?? null, strong: metric === first }) })),
        { name: "mark", label: "0 to 100 %", kind: "plot", cell: (row) => ({ node: mark(first.unit ? null : row.metrics[first.name], null, null, [0, 1], true) }) },
        { name: "setting", label: "Setting", kind: "text", cell: (row) => ({ text: row.setting, sort: row.setting }) },
        { name: "source", label: "Source", kind: "text", cell: (row) => ({ node: outward(row.organisation || "the paper", row.url), sort: row.organisation }) },
        { name: "differences", label: "How it differs", kind: "text", cell: (row) => ({ node: row.notes.length ? h("details", { class: "mtl-fold" }, h("summary", null, `${row.notes.length} ${row.notes.length > 1 ? "differences" : "difference"}`), h("ul", null, row.notes.map((note) => h("li", null, note)))) : "none known", sort: row.notes.length }) },
      ],
    });
    made.update(papers);
    return h("section", { class: "mtl-reported" }, h("h3", null, "Reported in papers, not verified"), h("p", { class: "mtl-lead" }, "Figures as their authors print them, without a rank: nobody scored these answers here, and the settings differ from this suite's as the column “How it differs” says, which a narrow page leaves out until asked for."), made.element);
  }

  /* ---- One model ---- */
  async function modelView(said) {
    const model = said.get("model");
    document.title = `${model || "Models"} · Medical tasks leaderboard`;
    const queue = await load("data/queue.json");
    const everyone = [...board.rows, ...queue.map(({ submitter, alike, key }) => ({ ...submitter, alike, key }))];
    // Names that nobody can tell apart are of one model; the name shown is that of the first.
    const names = [...new Map(everyone.toReversed().map((row) => [row.alike, row.model])).values()].sort(Intl.Collator("en", { numeric: true }).compare);
    const wanted = (everyone.find((row) => row.model === model) ?? everyone.find((row) => row.model.toLowerCase() === model?.trim().toLowerCase()))?.alike;
    const search = h("input", { id: "model", list: "known-models", value: model, change: () => go(address({ view: "model", model: search.value })) });
    const pick = h("div", { class: "mt-controls" }, field("Model", search, true), h("datalist", { id: "known-models" }, names.slice(0, 2000).map((name) => h("option", { value: name }))));
    if (!model) return [pick, h("p", { class: "mtl-empty" }, "Choose a model.")];
    if (!wanted) return [pick, notice("note", "No such model", `No model is called ${model}.`)];
    // By a name alone it is the model of whoever has a result under it, or what waits or was rejected where nobody has.
    const owners = (rows) => new Map(rows.filter((row) => row.alike === wanted && row.key).map((row) => [row.key, row]));
    const [all, held] = [owners(everyone), owners(board.rows)];
    const offered = held.size ? held : all;
    const key = said.get("key") || (offered.size === 1 ? [...offered.keys()][0] : null);
    if (key ? !all.has(key) : all.size) {
      return [pick, key ? gone([`${model} of another organisation`]) : notice("note", `${offered.size} models are called ${model}`, "The same name from another organisation is another model."),
        h("ul", null, [...offered.values()].map((row) => h("li", null, link(`${row.model} (${row.organisation || "organisation not named"})`, modelAddress(row)))))];
    }
    // What papers report is of a name.
    const mine = board.rows.filter((row) => row.alike === wanted && (!row.key || row.key === key));
    const submissions = queue.filter((one) => one.key === key);
    const who = (submissions.find(({ id }) => mine.some(({ submission }) => submission === id)) ?? submissions[0])?.submitter;
    const fact = (label, value) => h("div", null, h("dt", null, label), h("dd", null, value));
    const results = table({
      name: "results", caption: "Results of this model", showCaption: false,
      columns: [
        { name: "task", label: "Task", kind: "text", head: true, cell: (row) => ({ node: link(row.task.name, { task: row.task.name, group: row.group?.id }), sort: row.task.name, note: row.task.title }) },
        { name: "metric", label: "Metric", kind: "text", cell: (row) => ({ text: spaced(row.metric), sort: row.metric }) },
        { name: "value", label: "Value", kind: "number", cell: (row) => ({ text: valued(row.value, row.spec.unit), sort: row.value, note: interval(row.low, row.high, row.spec.unit), strong: true }) },
        { name: "mark", label: "0 to 100 %", kind: "plot", cell: (row) => ({ node: row.spec.unit ? "" : mark(row.value, row.low, row.high, [0, 1], row.state === "reported") }) },
        { name: "rank", label: "Rank", kind: "range", cell: (row) => ({ text: rank(row.first, row.last), sort: row.first }) },
        { name: "scored", label: "Scored", kind: "number", help: "Items scored, of those asked", cell: (row) => ({ text: row.asked == null ? "not reported" : `${row.scored} of ${row.asked}`, sort: row.asked ? row.scored / row.asked : null }) },
        { name: "state", label: "State", kind: "text", cell: (row) => ({ node: badge(row.state, board.states), sort: row.state }) },
        { name: "words", label: "Made with", kind: "text", cell: (row) => ({ text: [row.group?.said, row.setting].filter(Boolean).join(", "), sort: row.group?.said }) },
        { name: "by", label: "Submitted or reported by", kind: "text", cell: (row) => ({ text: row.organisation || "not named", sort: row.organisation }) },
        { name: "notes", label: "To know", kind: "text", cell: (row) => ({ text: row.notes.join(" "), sort: row.notes.length }) },
      ],
    });
    results.update(mine);
    return [
      pick,
      h("h2", { class: "mtl-title" }, h("bdi", null, mine[0]?.model ?? who.model)),
      who ? [h("dl", { class: "mtl-facts" }, fact("Organisation", who.organisation || "not named"), who.url ? fact("Page", outward(who.url, who.url)) : null, fact("Open weights", yes(who.open_weights)), fact("Size", size(who.parameters)), fact("Licence", who.licence || "not said"), who.notes ? fact("Notes", who.notes) : null), h("p", { class: "mtl-small" }, "As its submitter says; nobody checks these lines.")] : h("p", { class: "mtl-small" }, "Known from papers alone: nobody submitted it here."),
      mine.length ? results.element : h("p", { class: "mtl-empty" }, "Nothing of this model was accepted yet."),
      mine.filter(({ submission }) => submission).map(details),
      submissions.length ? [h("h3", null, "Submissions and their history"), historyTable(submissions)] : null,
    ];
  }

  /** A result's metrics, breakdowns and recipe, read from its package when it is opened. */
  function details(row) {
    const inside = h("div", null, h("p", { class: "mtl-small" }, "Loading the package."));
    const fold = h("details", { class: "mtl-result", toggle: async () => {
      if (!fold.open || fold.dataset.filled) return;
      fold.dataset.filled = "yes";
      try {
        const entry = (await Package.results(row.submission)).tasks[row.task.name];
        inside.replaceChildren(...resultParts(row, entry).flat());
      } catch (error) {
        delete fold.dataset.filled;
        inside.replaceChildren(notice("bad", "The package could not be read", String(error.message)));
      }
    } }, h("summary", null, `${row.task.name}: all metrics, breakdowns and the recipe `, badge(row.state, board.states)), inside);
    return fold;
  }

  function resultParts(row, entry) {
    const known = new Map(row.task.metrics.map((metric) => [metric.name, metric]));
    // Earlier versions wrote figures of the authors whatever a judge was asked with.
    const unasked = entry.recipe.judge && entry.recipe.judge.prompts?.set !== "official";
    const reported = (name) => known.has(name) && !(unasked && name.endsWith("_official"));
    const metricRows = Object.entries(entry.metrics).filter(([name]) => reported(name)).map(([name, told]) => ({ name, ...told, spec: known.get(name) }));
    const figure = (label, kind = "number") => ({ label, kind });
    // A metric that needs no judge lacks no verdict: where verdicts are missing, those that need one say how many they have.
    const counted = metricRows.some(({ scored }) => scored != null) ? entry.coverage.asked : entry.coverage.scored;
    const whole = table({
      name: `metrics-${row.task.name}-${row.submission}`, caption: `Metrics of ${row.task.name}`,
      columns: [
        { name: "metric", label: "Metric", kind: "text", head: true, cell: ({ name, spec }) => ({ text: spaced(name), sort: name, note: spec.higher ? "" : "lower is better" }) },
        { name: "value", ...figure("Value"), cell: ({ value, ci_low: low, ci_high: high, spec, reason }) => ({ text: valued(value, spec.unit), sort: value, note: value == null ? reason : interval(low, high, spec.unit) }) },
        { name: "mark", label: "0 to 100 %", kind: "plot", cell: ({ value, ci_low: low, ci_high: high, spec }) => ({ node: spec.unit ? "" : mark(value, low, high) }) },
        { name: "n", ...figure("n"), cell: ({ n }) => ({ text: n == null ? "n/a" : n.toLocaleString("en"), sort: n }) },
        { name: "scored", ...figure("Scored"), cell: ({ scored }) => ({ text: `${scored ?? counted} of ${entry.coverage.asked}`, sort: scored ?? counted }) },
        { name: "bounds", ...figure("Bounds"), help: "What it can be, whatever the missing items would have been", cell: ({ bound_low: least, bound_high: most, spec }) => ({ text: least == null ? "n/a" : most == null ? `${Figures.number(least, spec.unit)} or more` : interval(least, most, spec.unit), sort: least ?? null }) },
        { name: "about", label: "What it is", kind: "text", cell: ({ spec }) => ({ text: spec.said, sort: spec.said }) },
      ],
    });
    whole.update(metricRows);
    const folds = Object.entries(entry.breakdown ?? {}).filter(([, groups]) => Object.keys(groups).length).map(([by, groups]) => {
      const first = metricRows.find(({ name }) => Object.values(groups).every((group) => name in group));
      if (!first) return null;
      const made = table({
        name: `by-${by}-${row.submission}`, caption: `${spaced(first.name)} by ${spaced(by)}`,
        columns: [
          { name: "group", label: spaced(by), kind: "text", head: true, cell: ([group]) => ({ text: group, sort: group }) },
          { name: "value", ...figure(`${spaced(first.name)}`), cell: ([, told]) => ({ text: valued(told[first.name].value, first.spec.unit), sort: told[first.name].value, note: interval(told[first.name].ci_low, told[first.name].ci_high, first.spec.unit), strong: true }) },
          { name: "mark", label: "0 to 100 %", kind: "plot", cell: ([, told]) => ({ node: first.spec.unit ? "" : mark(told[first.name].value, told[first.name].ci_low, told[first.name].ci_high) }) },
          { name: "n", ...figure("n"), cell: ([, told]) => ({ text: (told[first.name].n ?? 0).toLocaleString("en"), sort: told[first.name].n, note: (told[first.name].n ?? 0) < Figures.FEWEST ? "fewer than ten items" : "" }) },
        ],
      });
      made.update(Object.entries(groups));
      return h("details", { class: "mtl-fold" }, h("summary", null, `By ${spaced(by)} (${Object.keys(groups).length})`), made.element);
    });
    const recipe = JSON.stringify(entry.recipe, null, 2);
    return [whole.element, ...folds.filter(Boolean), h("details", { class: "mtl-fold" }, h("summary", null, "Recipe: everything the numbers depend on"), h("pre", { tabindex: 0, role: "region", "aria-label": `Recipe of ${row.task.name}` }, h("code", null, recipe))),
      row.task.open ? h("p", { class: "mtl-small" }, h("a", { href: `packages/${row.submission}.zip`, download: true }, "The package"), ": check it with ", h("code", null, `medical-tasks verify ${row.submission}.zip`), ".") : ""];
  }

  /* ---- Two models ---- */
  async function compareView(said) {
    const several = board.tasks.filter((task) => task.groups.some((group) => group.count > 1));
    if (!several.length) return [h("p", { class: "mtl-empty" }, "No task has two accepted results of one kind yet.")];
    const title = h("h2", { class: "mtl-title" }, "Two models, item by item");
    const task = said.get("task") ? several.find(({ name }) => name === said.get("task")) : several[0];
    document.title = `Compare${task ? ` on ${task.name}` : ""} · Medical tasks leaderboard`;
    const tasks = field("Task", select("task", several.map(({ name }) => [name, name]), task?.name, (value) => go(address({ view: "compare", task: value }))));
    if (!task) return [title, h("div", { class: "mt-controls" }, tasks), notice("bad", "There is nothing to compare", `${said.get("task")} has no two results of one kind here.`)];
    const given = Object.fromEntries(["first", "second"].map((each) => [each, task.results.find(({ submission }) => submission === said.get(each))]));
    const group = (given.first ?? given.second)?.group ?? task.groups.find(({ count }) => count > 1);
    const best = task.results.filter((row) => row.group === group && row.value != null).sort((a, b) => (a.spec.higher ? b.value - a.value : a.value - b.value));
    // At first the two best, which are what most people ask about.
    const a = said.get("first") ? given.first : best.find((row) => row !== given.second);
    const b = said.get("second") ? given.second : best.find((row) => row !== a);
    const options = task.results.map((row) => [[row.model, row.organisation, row.group.said, row.date].filter(Boolean).join(" · "), row.submission]);
    const chosen = { first: said.get("first") || a?.submission, second: said.get("second") || b?.submission };
    const pick = (id, label) => field(label, select(id, options, chosen[id], (value) => go(address({ view: "compare", task: task.name, ...chosen, [id]: value }))), true);
    const head = [title, h("div", { class: "mt-controls" }, tasks, pick("first", "A"), pick("second", "B"))];
    const lost = Object.keys(given).filter((each) => said.get(each) && !given[each]).map((each) => said.get(each));
    if (lost.length) return [...head, gone(lost, "Choose another above, or see the ", link("queue and history", { view: "queue" }), ".")];
    if (!a || !b || a === b) return [...head, notice("note", "Choose two different results", "A result equals itself.")];
    if (a.group !== b.group) return [...head, notice("bad", "Their difference would not be the models' alone", `A was made with ${a.group.said}, B with ${b.group.said}.`)];
    if (!a.spec.item_mean) return [...head, notice("note", `${spaced(a.spec.name)} is no mean over items`, "The packages' two values stand on the task's page; `medical-tasks compare` on the runs gives their difference with its interval.")];
    const [rowsA, rowsB] = await Promise.all([a, b].map((row) => Package.items(row.submission, task.name)));
    return [...head, ...comparison(task, a, b, rowsA, rowsB, said)];
  }

  function comparison(task, a, b, rowsA, rowsB, said) {
    const metric = a.spec;
    const others = new Map(rowsB.map((row) => [row.id, row]));
    const value = (row) => (typeof row?.[metric.name] === "number" ? row[metric.name] : NaN);
    const items = rowsA.filter(({ id }) => others.has(id)).map((row) => ({ id: row.id, cluster: row.cluster, row, a: value(row), b: value(others.get(row.id)), other: others.get(row.id) }));
    const difference = (of) => Figures.paired(of.map((item) => item.a), of.map((item) => item.b), of.map((item) => item.cluster), metric.unit ? Infinity : 1);
    const verdict = ({ low, high }) => (low == null ? "Too few to tell" : low <= 0 && high >= 0 ? "No difference shown" : (low > 0) === metric.higher ? "B is better" : "A is better");
    const whole = difference(items);
    const span = ({ low, high }) => (low == null ? "no interval" : `${signed(low, metric.unit)} to ${signed(high, metric.unit)}`);
    const by = Object.keys(rowsA[0] ?? {}).filter((name) => name.startsWith("group_"));
    const groups = by.flatMap((name) => {
      const members = new Map();
      for (const item of items) members.set(String(item.row[name]), [...(members.get(String(item.row[name])) ?? []), item]);
      return [...members].filter(() => members.size < 100).map(([group, of]) => ({ by: spaced(name.slice(6)), group, ...difference(of) }));
    });
    const parts = table({
      name: "parts", caption: `Difference in ${spaced(metric.name)}, B minus A, by group`, sorted: "",
      columns: [
        { name: "by", label: "By", kind: "text", cell: (row) => ({ text: row.by, sort: row.by }) },
        { name: "group", label: "Group", kind: "text", head: true, cell: (row) => ({ text: row.group, sort: row.group }) },
        { name: "difference", label: "B minus A", kind: "number", cell: (row) => ({ text: signed(row.difference, metric.unit), sort: row.difference, note: span(row), strong: true }) },
        { name: "mark", label: "−100 to 100", kind: "plot", cell: (row) => ({ node: metric.unit ? "" : mark(row.difference, row.low, row.high, [-1, 1]) }) },
        { name: "verdict", label: "What it says", kind: "text", cell: (row) => ({ text: verdict(row), sort: verdict(row) }) },
        { name: "n", label: "Items", kind: "number", cell: (row) => ({ text: row.n.toLocaleString("en"), sort: row.n, note: `${row.better} higher in B, ${row.worse} lower` }) },
      ],
    });
    parts.update(groups);
    const kinds = { all: () => true, changed: (item) => item.a !== item.b, higher: (item) => item.b > item.a, lower: (item) => item.b < item.a, same: (item) => item.a === item.b };
    const shownItems = h("div");
    const list = table({
      name: "items", caption: "Items", showCaption: false,
      columns: [
        { name: "id", label: "Item", kind: "text", head: true, cell: (item) => ({ node: task.open ? h("button", { type: "button", class: "mtl-open", click: () => opened(item) }, item.id) : item.id, sort: item.id }) },
        { name: "a", label: "A", kind: "number", cell: (item) => ({ text: Figures.number(item.a, metric.unit), sort: item.a }) },
        { name: "b", label: "B", kind: "number", cell: (item) => ({ text: Figures.number(item.b, metric.unit), sort: item.b }) },
        ...by.map((name) => ({ name, label: spaced(name.slice(6)), kind: "text", cell: (item) => ({ text: String(item.row[name]), sort: String(item.row[name]) }) })),
      ],
    });
    const filter = (kind) => list.update(items.filter((item) => Number.isFinite(item.a) && Number.isFinite(item.b) && kinds[kind](item)), items.length);
    async function opened(item, quietly = false) {
      const place = h("section", { class: "mtl-item", tabindex: -1, "aria-label": `Item ${item.id}` }, h("h3", null, `Item ${item.id}`), h("p", { class: "mtl-small" }, "Loading the answers."));
      shownItems.replaceChildren(place);
      const [left, right] = await Promise.all([a, b].map((row) => Package.answers(row.submission, task.name)));
      const answer = (letter, row, text, scored) => h("article", null, h("h4", null, `${letter}: ${row.name}`), h("p", { class: "mtl-small" }, `${spaced(metric.name)} ${Figures.valued(value(scored), metric.unit)}; read as ${scored.parsed || "nothing"}${scored.why ? `; ${scored.why}` : ""}`), h("pre", { tabindex: 0, role: "region", "aria-label": `Answer of ${row.name}` }, text ?? (row.source ? "the package does not hold it" : "no answer")), row.source ? h("p", { class: "mtl-small" }, outward("Where the answers are published", row.source)) : null);
      place.replaceChildren(h("h3", null, `Item ${item.id}`), h("div", { class: "mtl-two" }, answer("A", a, left.get(item.id), item.row), answer("B", b, right.get(item.id), item.other)));
      if (!quietly) {
        go(changed({ item: item.id }), true);
        place.focus();
      }
    }
    const first = whole.better + whole.worse ? "changed" : "all";
    filter(first);
    const wanted = items.find(({ id }) => id === said.get("item"));
    if (wanted && task.open) opened(wanted, true);
    if (said.get("item") && !wanted) shownItems.append(...gone([`item ${said.get("item")}`]));
    return [
      h("p", { class: "mtl-verdict" }, h("strong", null, `${verdict(whole)}: `), `B minus A is ${signed(whole.difference, metric.unit)}${metric.unit ? "" : " points"} (95 % interval ${span(whole)}) over ${whole.n.toLocaleString("en")} items; ${whole.better} are higher in B, ${whole.worse} lower, ${whole.same} the same.`),
      h("p", { class: "mtl-small" }, "Paired by item; the interval accounts for items that share a source. ", h("code", null, "medical-tasks compare"), " adds tests, the smallest difference these items can show, and every other metric."),
      groups.length ? parts.element : null,
      h("h3", null, "Items"),
      h("div", { class: "mt-controls" }, field("Show", select("kind", [["Changed", "changed"], ["Higher in B", "higher"], ["Lower in B", "lower"], ["The same", "same"], ["All", "all"]], first, filter))),
      task.open ? null : h("p", { class: "mtl-small" }, "The data are credentialed: there are ids and scores, and no texts."),
      shownItems, list.element,
    ];
  }

  /* ---- The queue ---- */
  const moment = (at) => (at ?? "").slice(0, 16).replace("T", " ");
  function historyTable(submissions) {
    const rows = submissions.flatMap((one) => one.events.map(([state, at, by, reason, verified, replaces]) => ({ one, state, at, by, reason, verified, replaces })));
    const made = table({
      name: "history", caption: "History", showCaption: false,
      columns: [
        { name: "submission", label: "Submission", kind: "text", head: true, cell: ({ one }) => ({ node: h("code", null, one.id), sort: one.id }) },
        { name: "state", label: "State since then", kind: "text", cell: ({ state }) => ({ node: badge(state, board.states), sort: state }) },
        { name: "at", label: "When (UTC)", kind: "text", cell: ({ at }) => ({ text: moment(at), sort: at }) },
        { name: "tasks", label: "Tasks", kind: "text", cell: ({ one }) => ({ text: one.tasks.join(", "), sort: one.tasks.join() }) },
        { name: "by", label: "By", kind: "text", cell: ({ by }) => ({ text: by || "submitter", sort: by }) },
        { name: "reason", label: "Reason", kind: "text", cell: ({ reason, replaces }) => ({ text: [reason, replaces && `in place of ${replaces}`].filter(Boolean).join("; "), sort: reason }) },
        { name: "verified", label: "Scored again", kind: "text", cell: ({ verified }) => ({ text: verified ? "yes: it matches" : "", sort: verified ? "yes" : "" }) },
      ],
    });
    made.update(rows);
    return made.element;
  }

  async function queueView() {
    document.title = "Queue and history · Medical tasks leaderboard";
    const queue = await load("data/queue.json");
    const last = ({ events }) => events.at(-1);
    const waiting = queue.filter((one) => last(one)[0] === "pending").sort((a, b) => (a.events[0][1] < b.events[0][1] ? -1 : 1));
    const decided = queue.filter((one) => last(one)[0] !== "pending").sort((a, b) => (last(a)[1] < last(b)[1] ? 1 : -1));
    const places = new Map(waiting.map((one, place) => [one, place + 1]));
    const made = table({
      name: "queue", caption: "Submissions and what became of them", showCaption: false,
      columns: [
        { name: "place", label: "Place", kind: "number", help: "In the queue", cell: (one) => ({ text: places.get(one) ?? "", sort: places.get(one) ?? null }) },
        { name: "model", label: "Model", kind: "text", head: true, cell: ({ submitter, key, notes }) => ({ ...named({ ...submitter, key }), note: notes.join("; ") }) },
        { name: "organisation", label: "Organisation", kind: "text", cell: ({ submitter }) => ({ text: submitter.organisation || "not named", sort: submitter.organisation }) },
        { name: "tasks", label: "Tasks", kind: "text", cell: ({ tasks }) => ({ text: tasks.join(", "), sort: tasks.join() }) },
        { name: "state", label: "State", kind: "text", cell: (one) => ({ node: badge(last(one)[0], board.states), sort: last(one)[0] }) },
        { name: "submitted", label: "Submitted (UTC)", kind: "text", cell: ({ events }) => ({ text: moment(events[0][1]), sort: events[0][1] }) },
        { name: "decided", label: "Decided (UTC)", kind: "text", cell: (one) => ({ text: places.has(one) ? "" : moment(last(one)[1]), sort: places.has(one) ? null : last(one)[1] }) },
        { name: "reason", label: "Reason", kind: "text", cell: (one) => ({ text: last(one)[3], sort: last(one)[3] }) },
        { name: "id", label: "Submission", kind: "text", cell: ({ id }) => ({ node: h("code", null, id), sort: id }) },
      ],
    });
    made.update([...waiting, ...decided]);
    const accepted = decided.filter((one) => last(one)[0] === "accepted").length;
    return [h("h2", { class: "mtl-title" }, "Queue and history"), h("p", { class: "mtl-lead" }, `${waiting.length} pending, ${accepted} accepted, ${decided.length - accepted} rejected. A maintainer decides, in the order in which packages came; a decision and its reason stay in the history.`), made.element];
  }

  /* ---- Submitting ---- */
  function submitting() {
    const form = document.getElementById("upload");
    form.hidden = !board.uploads;
    document.getElementById("elsewhere").hidden = board.uploads;
    const file = form.querySelector("input[type=file]");
    const said = form.querySelector("#said");
    const [confirm, back] = form.querySelectorAll("#answers button");
    const answers = form.querySelector("#answers");
    const HEADS = { sound: ["good", "The package is sound"], refused: ["bad", "This package is not taken"], known: ["note", "This package was submitted before"], submitted: ["good", "Submitted"] };
    let chosen; // the package that is checked, and then submitted
    let sendings = 0;
    async function send(confirmed) {
      const mine = (sendings += 1);
      file.disabled = confirmed;
      said.replaceChildren(notice("note", confirmed ? "Submitting" : "Checking", "This takes a moment."));
      answers.hidden = true;
      let reply;
      try {
        const sent = await fetch(`submit${confirmed ? "?confirm=yes" : ""}`, { method: "POST", body: chosen, headers: { "content-type": "application/zip" } });
        reply = sent.headers.get("content-type")?.startsWith("application/json") ? await sent.json() : { state: "refused", said: [await sent.text()] };
      } catch {
        reply = { state: "refused", said: ["The server cannot be reached. Try again later."] };
      }
      if (mine !== sendings) return; // another one was chosen meanwhile
      file.disabled = false;
      const [kind, head] = HEADS[reply.state];
      const more = reply.state === "sound" ? ["Nothing was submitted yet: read below what will be shown to everybody, then confirm."] : reply.state === "refused" ? ["Nothing of it was kept."] : [];
      said.replaceChildren(notice(kind, head, ...reply.said, ...more), ...(reply.shown ? preview(reply.shown) : []));
      answers.hidden = reply.state !== "sound";
      if (reply.state !== "sound") file.value = "";
      if (reply.state === "submitted") files.clear();
    }
    file.addEventListener("change", () => {
      [chosen] = file.files;
      if (chosen) send(false);
      else none();
    });
    confirm.addEventListener("click", () => send(true));
    function none() {
      sendings += 1;
      file.value = "";
      said.replaceChildren();
      answers.hidden = true;
    }
    back.addEventListener("click", none);
  }

  function preview({ facts: told, warnings, rows }) {
    const made = table({
      name: "numbers", caption: "What will be shown",
      columns: ["Task", "Metric", "Value", "95 % interval", "Scored"].map((label, place) => ({ name: `c${place}`, label, kind: place < 2 ? "text" : "number", head: place === 1, cell: (row) => ({ text: row[place], sort: row[place] }) })),
    });
    made.update(rows);
    return [h("dl", { class: "mtl-facts" }, told.map(([label, text]) => h("div", null, h("dt", null, label), h("dd", null, text)))), ...warnings.map((text) => h("p", { class: "mtl-warning" }, h("strong", null, text))), made.element];
  }

  /* ---- The page ---- */
  const VIEWS = { task: taskView, model: modelView, compare: compareView, queue: queueView };
  let turn = 0;

  async function show(moved = false) {
    const said = asked();
    const name = said.get("view") ?? (said.get("task") ? "task" : said.has("model") ? "model" : "");
    const mine = (turn += 1);
    for (const held of HELD) document.getElementById(held).hidden = name !== held;
    for (const tab of document.querySelectorAll("nav a")) {
      const to = new URLSearchParams(tab.getAttribute("href").replace("./", ""));
      const here = (to.get("view") ?? "") === (name === "task" ? "" : name);
      if (here) tab.setAttribute("aria-current", "page");
      else tab.removeAttribute("aria-current");
    }
    view.hidden = HELD.includes(name);
    if (view.hidden) document.title = `${name === "about" ? "About" : "Submit"} · Medical tasks leaderboard`;
    else {
      let made;
      try {
        made = await (Object.hasOwn(VIEWS, name) ? VIEWS[name] : home)(said);
      } catch (error) {
        made = [notice("bad", "This cannot be shown now", String(error.message), "Reload the page to try again.")];
      }
      if (mine !== turn) return; // somebody has gone on meanwhile
      view.replaceChildren(...made.flat(Infinity).filter((part) => part != null));
    }
    if (moved) {
      scrollTo(0, 0);
      if (!["INPUT", "SELECT"].includes(document.activeElement?.tagName)) document.querySelector("main").focus();
    }
  }

  async function start() {
    try {
      board = prepared(await load("data/board.json"));
    } catch (error) {
      view.replaceChildren(notice("bad", "The leaderboard cannot be shown now", String(error.message), "Reload the page to try again."));
      return;
    }
    document.getElementById("taken").textContent = `As of ${board.taken.replace("T", " ").replace("Z", " UTC")}, medical-tasks ${board.suite}.`;
    submitting();
    show();
  }
  start();
})();
