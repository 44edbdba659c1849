// Asks the page's own server; a refusal is thrown as an error, with the server's message and status.

import { h, recall, remember } from "./dom.js";
import { withQuery } from "./route.js";

const refusal = (status, message, details = {}) => Object.assign(new Error(message), details, { status });

const MOST_KEPT_ALIVE = 16_000; // characters; browsers allow 64 KiB

// Parameters of the query that are null or undefined are left out; a body is sent as JSON, a file as its bytes.
export async function askServer(path, { method = "GET", query = {}, body, file } = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined);
  const type = file ? "application/octet-stream" : "application/json";
  const sent = file ?? (body && JSON.stringify(body));
  const keepalive = method === "PUT" && sent.length <= MOST_KEPT_ALIVE; // what is saved arrives also where the page is closed
  const headers = { Accept: "application/json", ...((body || file) && { "Content-Type": type }) };
  const reply = await fetch(`${path}?${new URLSearchParams(given)}`, { method, headers, body: sent, keepalive }).catch(() => {
    throw refusal(0, "The app does not answer; is “evidencebench” still running?");
  });
  const found = await reply.json().catch(() => ({}));
  if (!reply.ok) throw refusal(reply.status, found.error ?? `The app answers with status ${reply.status}.`, found);
  return found;
}

// The records of the app, from its server.

const LONGEST_ASKED = 2000;

// Asks the server for the overview, the rows of the list, and each instance.
export function serverSource() {
  const positions = new Map();
  return {
    rows,
    instance,
    overview: () => askServer("/api/overview"),
    pageParts: () => askServer("/api/page_parts"),
    exchanges: (id, system, task) => askServer("/api/exchanges", { query: { id, system, task } }),
    // The whole list, as it is found.
    linksOf: (asked) => [h("a.button", { download: "papers.csv", href: withQuery("/api/papers.csv", {}, asked) }, "Save as CSV")],
  };

  async function rows(asked) {
    const found = await askServer("/api/rows", { query: asked });
    for (const row of found.rows) positions.set(row.id, row.position);
    return found;
  }

  // An id that is too long for an address is replaced by the position, which the list gave.
  function instance(id) {
    const isLong = encodeURIComponent(id).length > LONGEST_ASKED && positions.has(id);
    return askServer("/api/instances", { query: isLong ? { position: positions.get(id) } : { id } });
  }
}

// Saves on the server what a person says, while it is said: picks, marks, notes.
/* Sends the newest value, one request at a time; a request that fails is sent again until it arrives. The browser asks
   before it leaves a page where something is not saved, or `isHeld()`. `onHidden` is called once the page is hidden or closed. */
export function autosave(send, say, { onHidden = () => {}, isHeld = () => false } = {}) {
  let waiting = null;
  let running = null;
  let pausing = null;
  const over = new AbortController();
  const { signal } = over;
  const isDone = () => running === null && waiting === null;
  window.addEventListener("beforeunload", (event) => { if (!isDone() || isHeld()) event.preventDefault(); }, { signal });
  window.addEventListener("pagehide", hurry, { signal }); // not every browser says both
  document.addEventListener("visibilitychange", () => { if (document.visibilityState === "hidden") hurry(); }, { signal });
  return { keep, settled, end, isDone, forget: () => { waiting = null; } };

  // Saves after a pause (milliseconds) in which nothing newer comes, such as between the letters of a note.
  function keep(value, pause = 0) {
    waiting = value;
    if (running === null) say("saving");
    clearTimeout(pausing);
    if (pause) pausing = setTimeout(start, pause);
    else start();
  }

  function start() {
    if (waiting !== null) running ??= run();
  }

  function hurry() {
    onHidden();
    start();
  }

  async function settled() {
    start();
    await running;
  }

  // Waits a moment for what is not saved; where the server is away, it is sent when it is back.
  async function end() {
    await Promise.race([settled().then(() => over.abort()), new Promise((resume) => setTimeout(resume, 1500))]);
  }

  async function run() {
    while (waiting !== null) {
      const value = waiting;
      waiting = null;
      try {
        await send(value);
        if (waiting === null) say("saved");
      } catch (error) {
        say("failed", error);
        if (error.status >= 400 && error.status < 500) continue; // the server refused it, and would refuse it again
        waiting ??= value;
        await new Promise((resume) => setTimeout(resume, 2000));
      }
    }
    running = null;
  }
}

// Counts a person's working time: the page is in view, and its last input was less than a minute ago.
const IDLE_SECONDS = 60;
const LONGEST_TICK_SECONDS = 2; // the first tick after the machine slept would count the whole sleep

// Counts on from `before` seconds; stop() ends it.
export function workClock(before) {
  const over = new AbortController();
  let counted = before;
  let ticked = performance.now();
  let moved = ticked;
  for (const name of ["pointermove", "pointerdown", "keydown", "wheel", "scroll", "touchmove"])
    document.addEventListener(name, () => { moved = performance.now(); }, { capture: true, passive: true, signal: over.signal });
  const timer = setInterval(tick, 1000);
  return { seconds, stop };

  function tick() {
    const now = performance.now();
    const isActive = document.visibilityState === "visible" && now - moved < 1000 * IDLE_SECONDS;
    if (isActive) counted += Math.min((now - ticked) / 1000, LONGEST_TICK_SECONDS);
    ticked = now;
  }

  function seconds() {
    tick();
    return Math.floor(counted);
  }

  function stop() {
    clearInterval(timer);
    over.abort();
  }
}

export const minutes = (seconds) => `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")} min`;

// The requests of a person: sign in, get tasks, save answers and submit them.

const NAME_KEY = "evidencebench-person";

// The name is kept for this tab, so that a person is signed in again where the server was restarted.
export function taskServer() {
  let name = recall(NAME_KEY, "sessionStorage");
  return {
    session, signIn, signOut,
    name: () => name,
    queue: (list, changes = {}) => ask("queue", { query: { list, ...changes } }),
    task: (list, id) => ask("task", { query: { list, id } }),
    disputes: () => ask("disputes"),
    act: (name, act) => ask(name, { method: "POST", body: { act } }),
    // The address of a file that the person may get.
    link: (path, query) => `/api/people/${path}?${new URLSearchParams({ person: name, ...query })}`,
    // Returns the answer as the server has kept it.
    save: async (list, answer) => (await ask("answer", { method: "PUT", body: { list, answer } })).answer,
    submit: (list, answer) => ask("submit", { method: "POST", body: { list, answer } }),
    result: (list, id) => ask("result", { query: { list, id } }),
  };

  async function session() {
    const found = await asked("session");
    keepName(name ?? found.person);
    return { ...found, person: name };
  }

  async function signIn(typed) {
    const found = await asked("session", { method: "POST", body: { name: typed } });
    keepName(found.person);
    return found;
  }

  async function signOut() {
    await asked("session", { method: "DELETE" });
    keepName(null);
  }

  function keepName(found) {
    name = found;
    remember(NAME_KEY, name, "sessionStorage");
  }

  // Asks in the name of the person; signs in again and asks once more where another tab has signed somebody else in.
  function ask(path, { query, body, ...request } = {}) {
    const named = () => (body ? { body: { person: name, ...body } } : { query: { person: name, ...query } });
    return asked(path, { ...named(), ...request }).catch(async (error) => {
      if (error.status !== 401 || name === null) throw error;
      await signIn(name);
      return asked(path, { ...named(), ...request });
    });
  }
}

const asked = (path, request) => askServer(`/api/people/${path}`, request);
