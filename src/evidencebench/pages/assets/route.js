// The reader's place, as the part of the address after "#", so that it can be linked and Back leads to the last one.

// What results and papers share: the query of a link from one to the other keeps it.
const SHARED = ["task", "a", "b"];

// Reads "#/papers/ID/12?task=..." or "#SECTION?task=...". The path is split before it is decoded: an id may hold "/".
function readRoute(hash = location.hash) {
  const [path, query = ""] = splitOnce(hash, "?");
  const parts = path.split("/");
  const isPapers = parts[0] === "#" && parts[1] === "papers";
  return {
    place: isPapers ? "papers" : "results",
    section: isPapers ? "" : decodePart(path.slice(1)),
    id: isPapers && parts.length > 2 ? decodePart(parts[2]) : null,
    sentence: isPapers && /^\d{1,9}$/.test(parts[3] ?? "") ? Number(parts[3]) : null,
    query: new URLSearchParams(query),
  };
}

function splitOnce(text, mark) {
  const at = text.indexOf(mark);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

// Messages about choices of a link that the page does not have.
function unknownIn({ query }, known) {
  const unknown = Object.keys(known).filter((name) => query.get(name) && !known[name].includes(query.get(name)));
  return unknown.map((name) => `This page has no ${name}=${shortened(cleaned(query.get(name)))}.`).join(" ");
}

function decodePart(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // an address written by hand, with a plain "%"
  }
}

// The address of the list (id null), a paper or a sentence of it. The query stays, with the given changes; an
// aspect is of one paper only.
function linkTo(id, sentence = null, changes = {}) {
  const route = readRoute();
  const steps = ["#", "papers"];
  if (id !== null) steps.push(encodeURIComponent(id));
  if (id !== null && sentence !== null) steps.push(sentence);
  return withQuery(steps.join("/"), route.query, id === route.id ? changes : { aspect: null, ...changes });
}

// The address of a section of the results, or of their beginning (""). What papers share stays, with the given changes.
function linkToResults(section, changes = {}) {
  return withQuery(`#${encodeURIComponent(section)}`, shared(readRoute().query), changes);
}

function shared(query) {
  return new URLSearchParams([...query].filter(([name]) => SHARED.includes(name)));
}

function withQuery(path, held, changes) {
  const query = new URLSearchParams(held);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === undefined) query.delete(name);
    else query.set(name, value);
  }
  return path + (query.size ? `?${query}` : "");
}

// Goes to an address. With `replaces` Back does not return here, which is right for each typed letter of a search.
function go(hash, { replaces = false } = {}) {
  if (hash === location.hash) return;
  if (!replaces) {
    location.hash = hash;
    return;
  }
  history.replaceState(null, "", hash);
  window.dispatchEvent(new HashChangeEvent("hashchange"));
}

// Writes the reader's sentence into the address, without a "hashchange" event and without a step for Back.
function noteSentence(id, sentence) {
  try {
    history.replaceState(null, "", linkTo(id, sentence));
  } catch {
    // A browser refuses too many changes in a second, as of a key held down; the next call writes it.
  }
}

function onRoute(listener) {
  window.addEventListener("hashchange", listener);
}

function namesOf({ systems }) {
  return systems.map(({ label }) => label);
}

/* The positions of a route's task and systems; by default the two best runs on the task, or the first two. null where
   there is no system, or the reader chose "none". */
function chosen(overview, { query }) {
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
