/* The numbers of the leaderboard's pages. Nothing here touches a page, so that tests run it by itself. */
"use strict";
const Figures = (() => {
  const DECIMALS = { cosine: 3, score: 3, "per answer": 2 };
  const Z = 1.959963984540054;
  const FEWEST = 10; // independent items; with fewer no interval is to be relied on

  /** Writes a number as the suite's other tables do: of a true tie the even digit. */
  function fixed(x, digits) {
    const scaled = x * 2 ** (digits + 1);
    if (!Number.isInteger(scaled) || scaled % 2 === 0) return x.toFixed(digits);
    const below = Math.floor(x * 10 ** digits);
    return ((below % 2 === 0 ? below : below + 1) / 10 ** digits).toFixed(digits);
  }

  const percent = (value) => (value == null ? "n/a" : fixed(100 * value, 1));
  const number = (value, unit) => (!unit || value == null ? percent(value) : fixed(value, DECIMALS[unit] ?? 1));
  const valued = (value, unit) => number(value, unit) + (unit || value == null ? "" : " %");
  const interval = (low, high, unit) => (low == null || high == null ? "no interval" : `${number(low, unit)} to ${number(high, unit)}`);
  const signed = (value, unit) => (value == null ? "n/a" : `${value < 0 ? "−" : "+"}${number(Math.abs(value), unit)}`);

  /** How many of a sorted list are below a value, or (`also`) not above it. */
  function below(sorted, value, also = false) {
    let low = 0;
    let high = sorted.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sorted[middle] < value || (also && sorted[middle] === value)) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Ranks intervals, more is better: from 1 + those wholly above, to those not wholly below. */
  function ranges(intervals) {
    const lows = intervals.map(([low]) => low).sort((a, b) => a - b);
    const highs = intervals.map(([, high]) => high).sort((a, b) => a - b);
    const n = intervals.length;
    return intervals.map(([low, high]) => [1 + n - below(lows, high, true), n - below(highs, low)]);
  }

  /** Mean of independent estimates [value, low, high] with its MOVER interval (Zou and Donner, Statistics in Medicine 2008). */
  function mean(points) {
    const k = points.length;
    const total = (of) => points.reduce((sum, point) => sum + of(point), 0);
    const value = total(([each]) => each) / k;
    const down = Math.sqrt(total(([each, low]) => (each - low) ** 2)) / k;
    const up = Math.sqrt(total(([each, , high]) => (high - each) ** 2)) / k;
    return [value, value - down, value + up];
  }

  /** B minus A over the items both have a value of, with a 95 % interval that accounts for clusters (Liang and Zeger 1986); `most`: what a difference can be. */
  function paired(a, b, clusters, most = 1) {
    const kept = a.map((_, place) => place).filter((place) => Number.isFinite(a[place]) && Number.isFinite(b[place]));
    const found = { n: kept.length, better: 0, worse: 0, same: 0, difference: null, low: null, high: null };
    if (!kept.length) return found;
    const gaps = kept.map((place) => b[place] - a[place]);
    for (const gap of gaps) found[gap > 0 ? "better" : gap < 0 ? "worse" : "same"] += 1;
    found.difference = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
    const sums = new Map();
    kept.forEach((place, at) => sums.set(clusters[place], (sums.get(clusters[place]) ?? 0) + gaps[at] - found.difference));
    const count = sums.size;
    if (count < FEWEST) return found;
    let squares = 0;
    for (const sum of sums.values()) squares += sum ** 2;
    const half = (Z * Math.sqrt((squares * count) / (count - 1))) / gaps.length;
    return { ...found, low: Math.max(-most, found.difference - half), high: Math.min(most, found.difference + half) };
  }

  /** Places of the points [cost, score] that none is both cheaper than and at least as good as, the cheapest first; `higher`: more is better. */
  function pareto(points, higher = true) {
    const good = (place) => (higher ? points[place][1] : -points[place][1]);
    const order = points.map((_, place) => place).sort((a, b) => points[a][0] - points[b][0] || good(b) - good(a));
    let best = -Infinity;
    return order.filter((place) => {
      const better = good(place) > best;
      best = Math.max(best, good(place));
      return better;
    });
  }

  const NUMBER = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i;
  const FORMULA = /^[\t\r\n]|^\s*[=+\-@\uff1d\uff0b\uff0d\uff20]/;

  /** Writes a table as CSV; a text that a spreadsheet would take for a formula has an apostrophe before it, as in `table_cell`. */
  function csv(rows) {
    const cell = (value) => {
      const text = value == null ? "" : String(value);
      const inert = typeof value === "string" && !NUMBER.test(text.trim()) && FORMULA.test(text) ? `'${text}` : text;
      return /[",\n\r]/.test(inert) ? `"${inert.replaceAll('"', '""')}"` : inert;
    };
    return rows.map((row) => `${row.map(cell).join(",")}\r\n`).join("");
  }

  return { fixed, percent, number, valued, interval, signed, ranges, mean, paired, pareto, csv, FEWEST };
})();
