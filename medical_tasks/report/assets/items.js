/* The item browser: a list that is shown a page at a time, and beside it the item that is open. */
"use strict";
(() => {
  const PAGE = 50;
  const MOST_GROUPS = 100;
  const { badge, detail, element } = window.medicalTasksItemDetail;
  const part = (text) => encodeURIComponent(text);
  const browsers = new Map();

  class Browser {
    constructor(root) {
      this.root = root;
      this.made = false;
      this.find = (name) => document.getElementById(`${root.id}-${name}`);
      root.hidden = false;
      root.addEventListener("focusin", () => this.make());
    }

    /** Reads the data and fills the frame, when somebody comes near it. */
    make() {
      if (this.made) return;
      this.made = true;
      this.store = new window.medicalTasksItemStore(JSON.parse(this.find("data").textContent));
      this.list = this.find("list");
      this.pane = this.find("detail");
      this.found = [];
      this.active = 0;
      this.shown = null;
      this.controls();
      this.list.addEventListener("keydown", (event) => this.key(event));
      this.list.addEventListener("click", (event) => {
        const line = event.target.closest("[role=option]");
        if (line) this.move(Number(line.dataset.place), { open: true });
      });
      this.pane.addEventListener("keydown", (event) => {
        if (event.key === "Escape") this.back();
      });
      const turn = (step) => () => this.move((Math.floor(this.active / PAGE) + step) * PAGE);
      this.root.querySelector(".mt-before").addEventListener("click", turn(-1));
      this.root.querySelector(".mt-after").addEventListener("click", turn(1));
      this.refresh();
      this.begin();
    }

    /** Begins a run at its first failure: open where there is room beside the list, else marked in it. */
    begin() {
      const first = this.store.firstFailure(this.found);
      if (!first) return;
      this.active = this.found.indexOf(first);
      this.draw();
      if (this.wide()) this.open(first, { addressed: false });
    }

    controls() {
      const run = this.find("run");
      if (run) this.store.runs.forEach(({ name }, place) => run.append(new Option(name, place)));
      const order = this.find("order");
      order.append(new Option("of the dataset", "dataset"), new Option("id", "id"));
      this.store.metrics.forEach(({ label }, place) => order.append(new Option(label, `metric ${place}`)));
      if (this.store.items.some((item) => item.a)) order.append(new Option("length of the answer", "length"));
      const place = this.root.querySelector(".mt-item-groups");
      this.groups = this.store.groups.map((name, number) => {
        const id = `${this.root.id}-group-${number}`;
        const select = element("select", { id });
        place.append(element("div", { kind: "mt-field" }, element("label", { for: id, text: name }), select));
        return select;
      });
      this.fill();
      for (const control of this.root.querySelectorAll(".mt-item-controls input, .mt-item-controls select")) {
        control.addEventListener("input", () => {
          if (control === run) this.fill();
          this.active = 0;
          this.refresh();
          if (control === run) this.begin();
        });
      }
    }

    /** Lists, with their counts, the decisions and groups that the chosen run has; a choice that is there stays. */
    fill() {
      const lists = [[this.find("state"), (item) => [item.s || 0]],
        ...this.groups.map((select, place) => [select, (item) => (item.g || [])[place] || []])];
      for (const [select, pick] of lists) {
        const before = select.value;
        const counts = this.store.counts(this.run(), pick);
        select.replaceChildren(new Option("all", ""));
        for (const { value, label, count } of counts) {
          const known = ["unclear", "unscored"].includes(label) ? this.store.items.filter((item) => item.run === this.run() && this.store.has(item, value)).length : count;
          select.append(new Option(`${label} (${known.toLocaleString("en")})`, value));
        }
        if (select === this.find("state") && this.store.runs.length > 1) {
          const apart = this.store.items.filter((item) => item.run === this.run() && this.store.has(item, "differs")).length;
          if (apart) select.append(new Option(`other than in another run (${apart.toLocaleString("en")})`, "differs"));
        }
        select.value = [...select.options].some((option) => option.value === before) ? before : "";
        // One group tells nothing apart, and nobody looks through hundreds: those are found by search.
        select.closest(".mt-field").hidden = counts.length < 2 && select.options.length < 3 || counts.length > MOST_GROUPS;
      }
    }

    run() {
      return Number(this.find("run")?.value || 0);
    }

    refresh() {
      const chosen = (select) => (select.value === "" ? null : select.value === "differs" ? "differs" : Number(select.value));
      this.found = this.store.find({
        run: this.run(), text: this.find("text").value, state: chosen(this.find("state")),
        groups: this.groups.map(chosen), order: this.find("order").value, down: this.find("down").checked,
      });
      const all = this.store.runs[this.run()].count;
      this.find("status").textContent = `Showing ${this.found.length.toLocaleString("en")} of ${all.toLocaleString("en")} items.`;
      this.draw();
      if (!this.shown) this.pane.replaceChildren(element("p", { kind: "mt-quiet", text: "Choose an item from the list." }));
    }

    draw() {
      this.active = Math.max(0, Math.min(this.active, this.found.length - 1));
      const first = Math.floor(this.active / PAGE) * PAGE;
      const lines = this.found.slice(first, first + PAGE).map((item, offset) => {
        const place = first + offset;
        const line = element("li", { role: "option", id: `${this.root.id}-o${place}`, "aria-selected": "false",
          "data-place": place, "aria-setsize": this.found.length, "aria-posinset": place + 1 });
        line.append(element("span", { kind: "mt-item-id", text: this.store.text(item.i), dir: "auto" }), badge(this.store.text(item.s)));
        if (this.store.metrics.length && !["right", "wrong"].includes(this.store.text(item.s))) {
          line.append(element("span", { kind: "mt-item-value", text: this.store.value(item, 0) }));
        }
        const said = this.store.text(item.p || item.w || item.q).slice(0, 120);
        if (said) line.append(element("span", { kind: "mt-item-said", text: said, dir: "auto" }));
        return line;
      });
      if (!lines.length) lines.push(element("li", { kind: "mt-quiet", role: "option", "aria-disabled": "true", "aria-selected": "false", text: "No item has all of this." }));
      this.list.replaceChildren(...lines);
      const last = Math.min(first + PAGE, this.found.length);
      this.root.querySelector(".mt-page-number").textContent = this.found.length ?
        `${(first + 1).toLocaleString("en")}–${last.toLocaleString("en")} of ${this.found.length.toLocaleString("en")}` : "";
      this.root.querySelector(".mt-before").disabled = first === 0;
      this.root.querySelector(".mt-after").disabled = last >= this.found.length;
      this.mark();
    }

    mark() {
      this.list.querySelector("[aria-selected=true]")?.setAttribute("aria-selected", "false");
      const line = document.getElementById(`${this.root.id}-o${this.active}`);
      if (!line) return this.list.removeAttribute("aria-activedescendant");
      line.setAttribute("aria-selected", "true");
      this.list.setAttribute("aria-activedescendant", line.id);
      // Only the list is moved, not the page around it.
      const over = line.offsetTop - this.list.scrollTop;
      if (over < 0) this.list.scrollTop = line.offsetTop;
      else if (over + line.offsetHeight > this.list.clientHeight) this.list.scrollTop = line.offsetTop + line.offsetHeight - this.list.clientHeight;
      return undefined;
    }

    wide() {
      return getComputedStyle(this.pane).position !== "static";
    }

    move(place, { open = false } = {}) {
      if (!this.found.length) return;
      const page = Math.floor(this.active / PAGE);
      this.active = Math.max(0, Math.min(place, this.found.length - 1));
      if (Math.floor(this.active / PAGE) === page) this.mark();
      else this.draw();
      if (open || (this.wide() && this.shown)) this.open(this.found[this.active], { focus: open && !this.wide() });
    }

    key(event) {
      const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity };
      if (event.key in steps) this.move(this.active + steps[event.key]);
      else if (event.key === "Enter" || event.key === " ") {
        if (this.found.length) this.open(this.found[this.active], { focus: true });
      } else if (event.key === "Escape") this.back();
      else return;
      event.preventDefault();
    }

    address(item) {
      const run = item.run ? `/${part(this.store.runs[item.run].name)}` : "";
      return `#${part(this.store.task)}/${part(this.store.text(item.i))}${run}`;
    }

    open(item, { focus = false, addressed = true } = {}) {
      this.shown = item;
      const address = this.address(item);
      const back = element("button", { kind: "mt-button mt-back", type: "button", text: "Back to the list" });
      back.addEventListener("click", () => this.back());
      this.pane.replaceChildren(back, ...detail(this.store, item, address, {
        open: (other) => this.goto(other), beside: this.beside,
        compare: (run) => { this.beside = run; this.open(item, { focus: true }); },
      }));
      this.pane.setAttribute("aria-label", `Item ${this.store.text(item.i)}`);
      this.pane.scrollTop = 0;
      this.root.classList.add("mt-item-open");
      if (focus) this.pane.focus({ preventScroll: this.wide() });
      clearTimeout(this.timer);
      if (!addressed) return;
      // Addresses follow a moment later: browsers refuse when they change with every key.
      this.timer = setTimeout(() => {
        try {
          history.replaceState(null, "", address);
        } catch {
          // A page in a frame may have no address of its own.
        }
      }, 300);
    }

    back() {
      this.root.classList.remove("mt-item-open");
      this.list.focus({ preventScroll: this.wide() });
      this.mark();
    }

    /** Opens an item wherever it is: filters that hide it are cleared. */
    goto(item) {
      const run = this.find("run");
      if (run && this.run() !== item.run) {
        run.value = item.run;
        this.fill();
        this.refresh();
      }
      if (!this.found.includes(item)) {
        this.find("text").value = "";
        for (const select of [this.find("state"), ...this.groups]) select.value = "";
        this.refresh();
      }
      this.active = this.found.indexOf(item);
      this.draw();
      this.open(item, { focus: true });
    }
  }

  function follow() {
    const parts = location.hash.slice(1).split("/");
    if (parts.length < 2) return;
    let task, id, run;
    try {
      [task, id, run] = parts.map(decodeURIComponent);
    } catch {
      return; // not an address that this page made
    }
    const browser = browsers.get(task);
    if (!browser) return;
    browser.make();
    const item = browser.store.byId(id, run);
    browser.root.scrollIntoView({ block: "start" });
    if (item) browser.goto(item);
    else browser.find("status").textContent = `No item has the id ${id}.`;
  }

  const near = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) if (isIntersecting) browsers.get(target.dataset.task).make();
  }, { rootMargin: "600px" });
  for (const root of document.querySelectorAll(".mt-items")) {
    browsers.set(root.dataset.task, new Browser(root));
    near.observe(root);
  }
  addEventListener("hashchange", follow);
  follow();
})();
