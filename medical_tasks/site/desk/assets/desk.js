// The review desk's page. Every text of an item is set as text, never as HTML.
//
// What a reviewer does becomes an entry of a queue and is sent until the desk says that it
// is on the disk. An entry has an id of its own, so that one which is sent twice counts
// once. Until then its item and choice lie in localStorage too, in case the browser dies;
// notes and edited texts never do, since they may quote a patient: they wait in memory.
"use strict";

const body = document.body;
const person = body.dataset.person;
const sheet = body.dataset.sheet;
const adjudicates = body.dataset.adjudicates === "yes";
const at = (id) => document.getElementById(id);
const choices = [...document.querySelectorAll(".choice")];

const AHEAD = 3; // items fetched before they are needed, so that work goes on without the desk
const PAUSE_MS = 400; // of typing, after which a note is sent
const AGAIN_MS = 1000; // between two tries while the desk does not answer
const WAIT_MS = 15000; // for an answer
const KEPT = `desk ${person} `; // what keys of localStorage begin with

let order = []; // ids of the items
const labels = new Map(); // id of an item to {value, at}
const held = new Map(); // id of an item to the item, fetched before
const coming = new Map(); // id of an item to the promise of it, while it is fetched
const said = new Map(); // id of an item to the note and texts typed in this page
let turn = 0; // of what is shown: a slower answer to an older wish is dropped
let shown = null; // the item on the page
let looking = false; // labelled items are shown too
let markNumber = -1; // of the mark that was last gone to
let touched = new Set(); // of the item on the page: names of what was typed in
let typing = 0;

// --- the queue -----------------------------------------------------------------------

const queue = [];
let sending = false;
let count = 0;

function freshId() {
  count += 1;
  const random = crypto.getRandomValues(new Uint32Array(3));
  return `${Date.now().toString(36)}-${count}-${[...random].map((n) => n.toString(36)).join("")}`;
}

function put(entry) {
  let made = { ...entry, id: freshId(), sheet, made: new Date().toISOString() };
  const last = queue[queue.length - 1];
  const isDraft = last && !last.sent && !last.undo && !("value" in last);
  if (isDraft && !made.undo && last.item === made.item) {
    made = { ...last, ...made }; // the note as it was a moment ago need not be sent
    queue.pop();
  }
  if (made.item) said.set(made.item, { ...said.get(made.item), ...textsOf(made) });
  queue.push(made);
  if (made.undo || "value" in made) remember(made);
  sayWaiting();
  pump();
}

function textsOf({ note, edits }) {
  return { ...(note === undefined ? {} : { note }), ...(edits === undefined ? {} : { edits }) };
}

function remember(entry) {
  const { id, sheet, item, value, undo, made } = entry;
  try {
    localStorage.setItem(KEPT + id, JSON.stringify({ id, sheet, item, value, undo, made, count }));
  } catch {
    // Without storage the entry waits in memory alone.
  }
}

function forget(entry) {
  try {
    localStorage.removeItem(KEPT + entry.id);
  } catch {
    // It was never stored.
  }
}

// Entries that an earlier page could not send. A label that the desk has a later one for is old.
function restore() {
  const found = [];
  try {
    for (const key of Object.keys(localStorage)) {
      if (key.startsWith(KEPT)) found.push(JSON.parse(localStorage.getItem(key)));
    }
  } catch {
    return;
  }
  found.sort((a, b) => a.made.localeCompare(b.made) || a.count - b.count);
  for (const entry of found) {
    const known = labels.get(entry.item);
    const old = entry.sheet === sheet && known && known.at > entry.made;
    if (old && !entry.undo) forget(entry);
    else if (entry.undo) queue.push({ ...entry });
    else queue.push({ id: entry.id, sheet: entry.sheet, item: entry.item, value: entry.value, made: entry.made });
  }
}

async function pump() {
  if (sending) return;
  sending = true;
  while (queue.length) {
    const entry = queue[0];
    entry.sent = true;
    const path = entry.undo ? "/api/undo" : "/api/label";
    const { id, item, value, note, edits } = entry;
    const reply = await asked(path, entry.sheet, entry.undo ? { id } : { id, item, value, note, edits });
    if (reply === null) {
      sayWaiting(true);
      await new Promise((done) => setTimeout(done, AGAIN_MS));
      continue;
    }
    if (reply.status === 401 || reply.status === 409) {
      at("trouble").textContent = reply.content.said + " What is not saved is kept in this page.";
      break;
    }
    queue.shift();
    forget(entry);
    if (reply.status === 200) await taken(entry, reply.content);
    else {
      await state(); // what the desk has, without what it refused
      showProgress();
      at("trouble").textContent = `Not saved: ${reply.content.said || reply.status}`;
    }
  }
  sending = false;
}

// Asks the desk; null where it does not answer, or its disk does not take a label.
async function asked(path, name, content) {
  const headers = { "X-Desk-Person": encodeURIComponent(person) };
  const options = { headers, signal: AbortSignal.timeout(WAIT_MS), cache: "no-store" };
  if (content) {
    options.method = "POST";
    options.body = JSON.stringify(content);
    options.keepalive = options.body.length < 30000; // it arrives though the page is closed
    headers["Content-Type"] = "application/json";
  }
  try {
    const reply = await fetch(`${path}${path.includes("?") ? "&" : "?"}sheet=${encodeURIComponent(name)}`, options);
    if (reply.status >= 500) return null;
    return { status: reply.status, content: await reply.json() };
  } catch {
    return null;
  }
}

async function taken(entry, saved) {
  if (entry.sheet === sheet) labels.set(saved.item, { value: saved.value, at: saved.at });
  at("trouble").textContent = "";
  const note = queue.length ? "" : `Saved. ${progressText()}`;
  if (note) at("saved").textContent = note;
  showProgress();
  if (adjudicates) showAgreement();
  if (entry.undo && entry.sheet === sheet) {
    held.delete(saved.item);
    await show(saved.item);
    at("saved").textContent = `Undone. ${progressText()}`;
  } else if (shown && shown.id === saved.item) press(saved.value);
}

function sayWaiting(away = false) {
  const many = queue.length === 1 ? "1 label is" : `${queue.length} labels are`;
  if (!away) {
    at("saved").textContent = "Saving";
    return;
  }
  at("saved").textContent = "";
  const text = `Not saved yet: the desk does not answer. ${many} kept here and sent again by itself. Do not close this page.`;
  if (at("trouble").textContent !== text) at("trouble").textContent = text;
}

// --- the item on the page ------------------------------------------------------------

function made(tag, text, attributes = {}) {
  const element = document.createElement(tag);
  if (text) element.textContent = text;
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

// An item that is on its way is not requested a second time: a reviewer may be faster than
// the desk, and a late second reply would hold the item as it was before it was labelled.
function fetched(id) {
  if (held.has(id)) return held.get(id);
  if (!coming.has(id)) coming.set(id, requested(id).finally(() => coming.delete(id)));
  return coming.get(id);
}

async function requested(id) {
  const reply = await asked(`/api/item?id=${encodeURIComponent(id)}`, sheet);
  if (reply === null) return null;
  if (reply.status !== 200) {
    at("trouble").textContent = reply.content.said;
    return undefined; // the sheet has no such item any more
  }
  held.set(id, reply.content);
  return reply.content;
}

async function show(id) {
  turn += 1;
  const mine = turn;
  shown = null; // until the next item is there a key labels nothing
  let item = await fetched(id);
  while (item === null && mine === turn) {
    at("trouble").textContent = "The desk does not answer; the next item comes as soon as it does.";
    await new Promise((done) => setTimeout(done, AGAIN_MS));
    item = await fetched(id);
  }
  if (mine !== turn) return;
  if (item === undefined) {
    finish();
    return;
  }
  if (!queue.length) at("trouble").textContent = "";
  held.delete(id); // shown again it is asked for again, with what was saved since
  const own = said.get(id) ?? {};
  item.note = own.note ?? item.note;
  for (const each of item.fields) if (own.edits) each.text = own.edits[each.name] ?? each.given;
  shown = item;
  touched = new Set();
  markNumber = -1;
  at("desk").hidden = false;
  at("finished").hidden = true;
  at("place").textContent = `Item ${order.indexOf(id) + 1} of ${order.length}`;
  at("prompt").textContent = item.prompt;
  at("answer").textContent = item.answer;
  at("answer-box").hidden = !item.answer;
  at("answer").tabIndex = 0;
  at("note").value = item.note;
  at("passages").replaceChildren(...item.passages.map(passage));
  at("fields").replaceChildren(...item.fields.flatMap(field));
  at("opinions").hidden = !item.opinions.length;
  at("opinion-list").replaceChildren(...item.opinions.map(opinion));
  press(labels.get(id)?.value ?? item.value);
  scrollTo(0, 0);
  at("place").focus({ preventScroll: true });
  for (const box of document.querySelectorAll(".text")) toMark(box, box.querySelector("mark"));
  showProgress();
  ahead(id);
}

function passage(given, number) {
  const box = made("div", "", { class: "passage" });
  const title = made("h3", given.title, { id: `passage-${number}` });
  const text = made("div", "", { class: "text", tabindex: "0", role: "region", "aria-labelledby": title.id, dir: "auto" });
  for (const sentence of given.sentences) {
    if (!sentence.cited) text.append(sentence.text);
    else {
      const mark = made("mark");
      mark.append(made("span", "[marked] ", { class: "sr" }), sentence.text);
      text.append(mark);
    }
  }
  box.append(title, text);
  return box;
}

function field(given) {
  const label = made("label", given.label, { for: `field-${given.name}` });
  const rows = Math.min(6, Math.max(1, Math.ceil(given.text.length / 60)));
  const box = made("textarea", "", { id: `field-${given.name}`, rows, maxlength: given.longest, dir: "auto" });
  box.value = given.text;
  box.addEventListener("input", () => typed(given.name));
  return [label, box];
}

function opinion(given) {
  const line = made("li", given.label);
  for (const [name, text] of Object.entries(given.edits)) {
    const known = shown.fields.find((each) => each.name === name);
    line.append(made("pre", `${known ? known.label : name}: ${text}`, { dir: "auto" }));
  }
  if (given.note) line.append(made("pre", `Note: ${given.note}`, { dir: "auto" }));
  if (Object.keys(given.edits).length) {
    const take = made("button", "Take these texts", { type: "button" });
    take.addEventListener("click", () => {
      for (const [name, text] of Object.entries(given.edits)) {
        at(`field-${name}`).value = text;
        typed(name);
      }
    });
    line.append(take);
  }
  return line;
}

function press(value) {
  for (const button of choices) button.setAttribute("aria-pressed", String(button.dataset.value === value));
}

function toMark(box, mark) {
  if (box && mark) box.scrollTop = Math.max(0, mark.offsetTop - box.clientHeight / 3);
}

function nextMark() {
  const marks = [...document.querySelectorAll("#passages mark")];
  if (!marks.length) return;
  markNumber = (markNumber + 1) % marks.length;
  const mark = marks[markNumber];
  mark.closest(".text").focus();
  toMark(mark.closest(".text"), mark);
}

async function ahead(id) {
  const waiting = order.filter((each) => !labelled(each) && each !== id);
  const from = order.indexOf(id);
  waiting.sort((a, b) => (order.indexOf(a) < from) - (order.indexOf(b) < from));
  for (const each of waiting.slice(0, AHEAD)) await fetched(each);
}

// --- what a reviewer does --------------------------------------------------------------

function labelled(id) {
  return Boolean(labels.get(id)?.value);
}

function texts() {
  const entry = {};
  if (touched.has("note")) entry.note = at("note").value;
  const names = shown.fields.map((each) => each.name);
  if (names.some((name) => touched.has(name))) {
    entry.edits = {};
    for (const each of shown.fields) {
      // A field that nobody touched is as it came, line ends and all.
      const text = touched.has(each.name) ? at(`field-${each.name}`).value : each.text;
      if (text !== each.given) entry.edits[each.name] = text;
    }
  }
  return entry;
}

function typed(name) {
  touched.add(name);
  clearTimeout(typing);
  typing = setTimeout(keepTexts, PAUSE_MS);
}

function keepTexts() {
  clearTimeout(typing);
  typing = 0;
  if (shown && touched.size) put({ item: shown.id, ...texts() });
}

function flush() {
  if (typing) keepTexts();
}

function choose(button) {
  if (!shown || at("desk").hidden) return;
  for (const name of button.dataset.needs.split(" ").filter(Boolean)) {
    const box = at(`field-${name}`);
    if (box && !box.value.trim()) {
      at("trouble").textContent = `Fill in ${box.previousElementSibling.textContent} first.`;
      box.focus();
      return;
    }
  }
  clearTimeout(typing);
  typing = 0;
  const id = shown.id;
  labels.set(id, { value: button.dataset.value, at: new Date().toISOString() });
  press(button.dataset.value);
  put({ item: id, value: button.dataset.value, ...texts() });
  goOn(id);
}

// To the next item without a label, in a round; while looking through, to the next one.
function goOn(id) {
  const from = order.indexOf(id) + 1;
  const round = [...order.slice(from), ...order.slice(0, from)];
  const open = round.find((each) => !labelled(each));
  if (open) show(open);
  else if (looking && from < order.length) show(order[from]);
  else finish();
}

function step(by) {
  if (!shown) return;
  flush();
  const wanted = order[order.indexOf(shown.id) + by];
  if (wanted) show(wanted);
}

function undo() {
  flush();
  put({ undo: true });
}

function finish() {
  at("desk").hidden = true;
  at("finished").hidden = false;
  const more = adjudicates ? " Items on which reviewers differ come by themselves." : "";
  at("finished-text").textContent = order.length ? progressText() + more : "There is nothing for you yet." + more;
  at("look").hidden = !order.length;
  at("finished-title").focus();
  showProgress();
}

// --- progress and agreement --------------------------------------------------------------

function progressText() {
  return `${order.filter(labelled).length} of ${order.length} labelled.`;
}

function showProgress() {
  at("bar").max = Math.max(1, order.length);
  at("bar").value = order.filter(labelled).length;
  at("count").textContent = progressText();
}

async function showAgreement() {
  const reply = await asked("/api/agreement", sheet);
  if (reply === null || reply.status !== 200) return;
  const { lines, raters, waiting } = reply.content;
  const shownLines = lines.length ? lines : ["No item has two labels yet."];
  at("agreement").replaceChildren(...shownLines.map((line) => made("li", line)));
  at("waiting").textContent = `Labelled so far: ${raters.join("; ")}. Waiting for you: ${waiting}.`;
}

async function state() {
  const reply = await asked("/api/state", sheet);
  if (reply === null) return false;
  if (reply.status !== 200) {
    at("trouble").textContent = reply.content.said;
    return false;
  }
  order = reply.content.items.map(([id]) => id);
  for (const [id, value, time] of reply.content.items) labels.set(id, { value, at: time });
  return true;
}

async function watch() {
  await showAgreement();
  const before = order.length;
  const idle = !at("finished").hidden && !queue.length;
  if (idle && (await state()) && order.length > before) goOn(order[before - 1]);
  setTimeout(watch, 5000);
}

// --- keys ----------------------------------------------------------------------------

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  const typingIn = event.target.closest("textarea, input");
  if (event.key === "Escape" && typingIn && !at("help").open) {
    flush();
    at("place").focus();
    return;
  }
  if (typingIn || at("help").open || !at("keys").checked || event.repeat) return;
  const key = event.key.toLowerCase();
  const actions = {
    h: () => at("help").showModal(),
    "?": () => at("help").showModal(),
    u: undo,
    n: () => at("note").focus(),
    m: nextMark,
    ".": () => step(1),
    ",": () => step(-1),
  };
  const button = choices.find((each) => each.dataset.key.toLowerCase() === key);
  if (!button && !actions[key]) return;
  event.preventDefault();
  if (button) choose(button);
  else actions[key]();
}

async function begin() {
  document.addEventListener("keydown", pressed);
  for (const button of choices) button.addEventListener("click", () => choose(button));
  at("note").addEventListener("input", () => typed("note"));
  at("back").addEventListener("click", () => step(-1));
  at("next").addEventListener("click", () => step(1));
  at("undo").addEventListener("click", undo);
  at("open-help").addEventListener("click", () => at("help").showModal());
  at("close-help").addEventListener("click", () => at("help").close());
  at("look").addEventListener("click", () => {
    looking = true;
    show(order[0]);
  });
  addEventListener("pagehide", flush);
  addEventListener("beforeunload", (event) => {
    flush();
    if (queue.some((entry) => "note" in entry || "edits" in entry)) event.preventDefault();
  });
  while (!(await state())) await new Promise((done) => setTimeout(done, AGAIN_MS));
  restore();
  for (const entry of queue) if (entry.sheet === sheet && entry.item) labels.set(entry.item, { value: entry.value, at: entry.made });
  pump();
  const open = order.find((each) => !labelled(each));
  if (open) await show(open);
  else finish();
  if (adjudicates) watch();
}

begin();
