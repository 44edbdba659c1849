// The reader's place, as the part of the address after "#", so that it can be linked and Back leads to the last one.

import { cleaned, foreign, h, shortened, wide } from "./dom.js";

// What results and papers share: the query of a link from one to the other keeps it.
export const SHARED = ["task", "a", "b"];

// The lists over all papers of a report.
export const LIST_PLACES = ["missed", "why", "replies"];

// Reads "#/papers/ID/12?task=..." or "#SECTION?task=...". The path is split before it is decoded: an id may hold "/".
export function readRoute(hash = location.hash) {
  const [path, query = ""] = splitOnce(hash, "?");
  const parts = path.split("/");
  const place = parts[0] === "#" && ["papers", ...LIST_PLACES].includes(parts[1]) ? parts[1] : "results";
  const isPapers = place === "papers";
  return {
    place,
    section: place !== "results" ? "" : decodePart(path.slice(1)),
    id: isPapers && parts.length > 2 ? decodePart(parts[2]) : null,
    sentence: isPapers && /^\d{1,9}$/.test(parts[3] ?? "") ? Number(parts[3]) : null,
    query: new URLSearchParams(query),
  };
}

export function splitOnce(text, mark) {
  const at = text.indexOf(mark);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

// Messages about choices of a link that the page does not have.
export function unknownIn({ query }, known) {
  const unknown = Object.keys(known).filter((name) => query.get(name) && !known[name].includes(query.get(name)));
  return unknown.map((name) => `This page has no ${name}=${shortened(cleaned(query.get(name)))}.`).join(" ");
}

export function decodePart(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // an address written by hand, with a plain "%"
  }
}

// The address of the list (id null), a paper or a sentence of it. The query stays, with the given changes; an
// aspect is of one paper only.
export function linkTo(id, sentence = null, changes = {}) {
  const route = readRoute();
  const steps = ["#", "papers"];
  if (id !== null) steps.push(encodeURIComponent(id));
  if (id !== null && sentence !== null) steps.push(sentence);
  const held = route.place === "papers" ? route.query : shared(route.query);
  return withQuery(steps.join("/"), held, id === route.id ? changes : { aspect: null, asked: null, ...changes });
}

// The address of a section of the results, or of their beginning (""). What papers share stays, with the given changes.
export function linkToResults(section, changes = {}) {
  return withQuery(`#${encodeURIComponent(section)}`, shared(readRoute().query), changes);
}

// The address of a list over all papers; where it is shown, what it is filtered by stays.
export function linkToList(place, changes = {}) {
  const route = readRoute();
  return withQuery(`#/${place}`, route.place === place ? route.query : shared(route.query), changes);
}

export function shared(query) {
  return new URLSearchParams([...query].filter(([name]) => SHARED.includes(name)));
}

export function withQuery(path, held, changes) {
  const query = new URLSearchParams(held);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === undefined) query.delete(name);
    else query.set(name, value);
  }
  return path + (query.size ? `?${query}` : "");
}

// Goes to an address. With `replaces` Back does not return here, which is right for each typed letter of a search.
export function go(hash, { replaces = false } = {}) {
  if (hash === location.hash) return;
  if (!replaces) {
    location.hash = hash;
    return;
  }
  history.replaceState(null, "", hash);
  window.dispatchEvent(new HashChangeEvent("hashchange"));
}

// Writes the reader's sentence into the address, without a "hashchange" event and without a step for Back.
export function noteSentence(id, sentence) {
  try {
    history.replaceState(null, "", linkTo(id, sentence));
  } catch {
    // A browser refuses too many changes in a second, as of a key held down; the next call writes it.
  }
}

export function onRoute(listener) {
  window.addEventListener("hashchange", listener);
}

export function namesOf({ systems }) {
  return systems.map(({ label }) => label);
}

/* The positions of a route's task and systems; by default the two best runs on the task, or the first two. null where
   there is no system, or the reader chose "none". */
export function chosen(overview, { query }) {
  const names = namesOf(overview);
  const runs = overview.systems.filter((system) => !system.is_control).length;
  const named = (key, fallback) => {
    if (query.get(key) === "") return null;
    const position = names.indexOf(query.get(key));
    return position < 0 ? fallback : position;
  };
  const task = Math.max(0, overview.tasks.findIndex(({ name }) => name === query.get("task")));
  const best = overview.tasks[task]?.best ?? [];
  const [first, second] = best.length ? best : names.keys();
  const a = named("a", (named("b", null) === first ? second : first) ?? null);
  const other = a === second ? first : second;
  return { task, a, b: named("b", runs > 1 ? other : null) };
}

// The bar above list and paper: the task, the two systems, and help for the keyboard.

// Changes the given parameters of the address; its place and other parameters stay.
export function choose(changes) {
  const { place, section, id, sentence } = readRoute();
  go(place === "papers" ? linkTo(id, sentence, changes) : linkToResults(section, changes));
}

// A list to choose from. Entries are [value, text, full name where the text is cut]; the listener gets the value.
export function picker(name, entries, onchange, mark = null) {
  const options = entries.map(([value, text, title]) => h("option", { value, dir: "auto", title }, text));
  const select = h("select", { onchange: () => onchange(select.value) }, options);
  const label = h("label.picker", {}, h("span.picker-name", {}, mark, name), select);
  return { label, select };
}

// A is a circle and B a square on every page, so that they differ in shape as well as in colour.
export function systemMark(letter) {
  return h(`span.system-mark.system-mark-${letter}`, { "aria-hidden": "true" }, letter === "a" ? "●" : "■");
}

export function choiceBar(overview, helpButton = null) {
  const names = namesOf(overview);
  const systems = names.map((name, n) => {
    const { shown, unfinished } = overview.systems[n];
    return [name, `${shown}${unfinished && ` (${unfinished} done)`}`, name];
  });
  const none = [["", "none"]];
  const tasks = overview.tasks.map((task) => [task.name, task.title || task.name]);
  const task = picker("Task", tasks, (name) => choose({ task: name }));
  const taskName = foreign("code.task-name", {}, "");
  task.label.firstChild.append(" ", taskName);
  const a = picker([wide("System "), "A"], systems.length ? systems : none, (name) => choose({ a: name }), systemMark("a"));
  const b = picker([wide("System "), "B"], [...none, ...systems], (name) => choose({ b: name }), systemMark("b"));
  const title = "Swap A and B";
  const swap = h("button.swap", { "aria-label": title, title, onclick: () => swapSystems(overview) }, "⇄");
  const element = h("div.choice-bar", { role: "group", "aria-label": "What is compared" },
    task.label, a.label, swap, b.label, helpButton);
  return { element, update };

  function update(state) {
    task.select.value = overview.tasks[state.task]?.name ?? "";
    for (const [key, { select }] of Object.entries({ a, b })) select.value = select.title = names[state[key]] ?? "";
    taskName.textContent = task.select.title = task.select.value;
    swap.disabled = state.a === null || state.b === null;
  }
}

export function swapSystems(overview) {
  const names = namesOf(overview);
  const { a, b } = chosen(overview, readRoute());
  if (a !== null && b !== null) choose({ a: names[b], b: names[a] });
}

// Chooses the next task, or the next system as A or B; after the last one, B becomes "none".
export function cycle(overview, key) {
  const systems = namesOf(overview);
  const names = { task: overview.tasks.map(({ name }) => name), a: systems, b: [...systems, ""] }[key];
  if (!names.length) return;
  const position = chosen(overview, readRoute())[key] ?? names.length - 1;
  choose({ [key]: names[(position + 1) % names.length] });
}

// The values of a row of the list: its scores, and the words by which a search finds it.

export const PAGE_SIZE = 50;

// The words of a text, as `words_of` in search_index.py returns them: letters and digits, without case and accents.
export function wordsOf(text) {
  return folded(text).match(/[\p{L}\p{N}]+/gu) ?? [];
}

export function folded(text) {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
}

// The distinct words that a route searches in a place, "hypothesis" or "text".
export function searchedIn({ query }, place) {
  return [place, null].includes(query.get("in") || null) ? [...new Set(wordsOf(query.get("q") ?? ""))] : [];
}

export function scoreOf(row, system, task) {
  return system === null || task === null ? null : (row.recalls[system]?.[task] ?? null);
}

export function differenceOf(row, { task, a, b }) {
  const [first, second] = [scoreOf(row, a, task), scoreOf(row, b, task)];
  return first === null || second === null ? null : first - second;
}

// Recalls are quotients of small numbers: two different ones differ by more than this.
export const SAME = 1e-9;
