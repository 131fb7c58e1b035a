/* Items of one task as the page holds them: strings by number, searching, filtering, ordering. Nothing here touches the page. */
"use strict";
(() => {
  const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

  class ItemStore {
    constructor(data) {
      this.task = data.task;
      this.metrics = data.metrics;
      this.groups = data.groups;
      this.runs = data.runs;
      this.strings = data.strings;
      this.lower = new Array(data.strings.length);
      const list = (groups) => (Array.isArray(groups) ? groups : groups ? [groups] : []);
      this.items = data.runs.flatMap((run, number) => Array.from({ length: run.count }, (_, place) => {
        const item = { run: number, v: run.v.map((column) => column[place]), g: run.g.map((column) => list(column[place])) };
        for (const name of "isqaepwunhd") item[name] = run[name][place] || 0;
        return item;
      }));
      this.items.forEach((item, place) => { item.place = place; });
    }

    text(number) {
      return this.strings[number || 0];
    }

    lowered(number) {
      return (this.lower[number] ??= this.strings[number].toLowerCase());
    }

    /** Numbers of all strings in which an item can be found. */
    words(item) {
      return (item.words ??= [
        item.i, item.q, item.a, item.e, item.p, item.w, item.u, item.n, ...(item.g || []).flat(),
        ...(item.d || []).flatMap((verdict) => verdict.slice(0, 4)),
      ].filter(Boolean));
    }

    /** Which values an item can be filtered by, with how many items have each. */
    counts(run, pick) {
      const counts = new Map();
      for (const item of this.items) {
        if (item.run === run) for (const value of pick(item)) counts.set(value, (counts.get(value) || 0) + 1);
      }
      return [...counts].map(([value, count]) => ({ value, label: this.text(value), count }))
        .sort((a, b) => collator.compare(a.label, b.label));
    }

    /** Items of a run that have all that is asked, in the order asked. */
    find({ run, text, state, groups, order, down }) {
      const found = this.items.filter((item) => item.run === run && (state === null || this.has(item, state)) &&
        groups.every((wanted, place) => wanted === null || ((item.g || [])[place] || []).includes(wanted)));
      return this.sorted(this.searched(found, text), order, down);
    }

    /** The same item in the other runs. */
    others(item) {
      this.same ??= Map.groupBy ? Map.groupBy(this.items, ({ i }) => i) : this.items.reduce((all, one) => all.set(one.i, [...(all.get(one.i) || []), one]), new Map());
      return this.same.get(item.i).filter((other) => other !== item);
    }

    /** The first item that went wrong: the model's fault before what nobody could decide. */
    firstFailure(items) {
      const of = (...states) => items.find((item) => states.includes(this.text(item.s)));
      return of("wrong", "zero") || of("partly") || of("unclear") || of("unscored") || items[0];
    }

    /** An item is "unscored" also where it has its headline value and misses another, and "unclear" where one repeat of it is. */
    has(item, state) {
      if (state === "differs") return this.others(item).some((other) => other.s !== item.s);
      return item.s === state || (this.strings[state] === "unscored" && Boolean(item.u)) || (this.strings[state] === "unclear" && Boolean(item.n));
    }

    searched(items, text) {
      const wanted = text.trim().toLowerCase();
      if (!wanted) return items;
      // A text that several items share is looked through once.
      const hits = new Map();
      const hit = (number) => {
        if (!hits.has(number)) hits.set(number, this.lowered(number).includes(wanted));
        return hits.get(number);
      };
      return items.filter((item) => this.words(item).some(hit));
    }

    sorted(items, order, down) {
      const key = this.key(order);
      const keyed = items.map((item) => ({ item, key: key(item) }));
      keyed.sort((a, b) => {
        if (a.key === null || b.key === null) return (a.key === null) - (b.key === null) || a.item.place - b.item.place;
        const difference = typeof a.key === "string" ? collator.compare(a.key, b.key) : a.key - b.key;
        return (down ? -difference : difference) || a.item.place - b.item.place;
      });
      return keyed.map(({ item }) => item);
    }

    key(order) {
      if (order === "id") return (item) => this.text(item.i);
      if (order === "length") return (item) => (item.a ? this.text(item.a).length : null);
      if (order.startsWith("metric ")) {
        const place = Number(order.slice("metric ".length));
        return (item) => item.v[place] ?? null;
      }
      return (item) => item.place;
    }

    byId(id, run) {
      const all = this.items.filter((item) => this.text(item.i) === id);
      return all.find((item) => this.runs[item.run].name === run) || all[0] || null;
    }

    /** A metric's value as tables write it. */
    value(item, place) {
      const value = item.v[place];
      if (value === null || value === undefined) return "n/a";
      const { unit } = this.metrics[place];
      if (unit) return value.toFixed({ cosine: 3, score: 3, "per answer": 2 }[unit] ?? 1);
      return `${(100 * value).toFixed(1)} %`;
    }
  }

  window.medicalTasksItemStore = ItemStore;
})();
