// Where the reader is, as the part of the address after "#": what is shown can be linked, and Back goes back.

// "#/papers/ID/12?task=...": an id may hold anything, so it is read only after the path is taken apart.
function readRoute() {
  const [path, query = ""] = splitOnce(location.hash, "?");
  const parts = path.split("/");
  const isPapers = parts[0] === "#" && parts[1] === "papers";
  return {
    place: isPapers ? "papers" : "results",
    id: isPapers && parts.length > 2 ? decoded(parts[2]) : null,
    sentence: isPapers && /^\d{1,9}$/.test(parts[3] ?? "") ? Number(parts[3]) : null,
    query: new URLSearchParams(isPapers ? query : ""),
  };
}

function splitOnce(text, mark) {
  const at = text.indexOf(mark);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // written by hand, with a "%" that means itself
  }
}

// The address of the list (id null), an instance or a sentence of it; the query as it stands but for the changes.
function linkTo(id, sentence = null, changes = {}) {
  const query = new URLSearchParams(readRoute().query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === undefined) query.delete(name);
    else query.set(name, value);
  }
  const steps = ["#", "papers"];
  if (id !== null) steps.push(encodeURIComponent(id));
  if (id !== null && sentence !== null) steps.push(sentence);
  return steps.join("/") + (query.size ? `?${query}` : "");
}

// Replacing leaves no step for Back, as typing must not.
function go(hash, { replaces = false } = {}) {
  if (hash === location.hash) return;
  if (!replaces) {
    location.hash = hash;
    return;
  }
  history.replaceState(null, "", hash);
  window.dispatchEvent(new HashChangeEvent("hashchange"));
}

// Notes the sentence the reader is at, for a reload and for the link; nobody is told, and Back has no step more.
function noteSentence(id, sentence) {
  try {
    history.replaceState(null, "", linkTo(id, sentence));
  } catch {
    // A browser refuses too many a second, where a key is held down; the next step notes it.
  }
}

function onRoute(listener) {
  window.addEventListener("hashchange", listener);
}

// A control and a run may be called the same; what the reader sees and links to must tell them apart.
function systemNames(overview) {
  const labels = overview.systems.map((system) => system.label);
  return overview.systems.map((system, position) => {
    if (labels.indexOf(system.label) === position) return system.label;
    return system.is_control ? `${system.label} (control)` : `${system.label} (${position})`;
  });
}

// What a link asks for and this page does not have, in words; a reader would take what is shown for what was asked.
function unknownOf(overview, { query }, state) {
  const names = systemNames(overview);
  const told = [["system", names, query.get("a"), names[state.a]], ["system", names, query.get("b"), names[state.b]],
    ["task", overview.tasks.map(({ name }) => name), query.get("task"), overview.tasks[state.task]?.name]];
  return told
    .filter(([, known, wanted]) => wanted && !known.includes(wanted))
    .map(([kind, , wanted, shown]) => `This page has no ${kind} “${shortened(cleaned(wanted))}”; showing ${shown ?? "none"}.`);
}

// Task and systems of a route by position. A system is null where there is none, or the reader wants none.
function chosen(overview, route) {
  const names = systemNames(overview);
  const runs = overview.systems.filter((system) => !system.is_control).length;
  const named = (key, fallback) => {
    if (!route.query.has(key)) return fallback;
    const position = names.indexOf(route.query.get(key));
    return position < 0 ? (route.query.get(key) === "" ? null : fallback) : position;
  };
  const task = overview.tasks.findIndex((one) => one.name === route.query.get("task"));
  return {
    task: Math.max(task, 0),
    a: named("a", names.length ? 0 : null),
    b: named("b", runs > 1 ? 1 : null),
  };
}
