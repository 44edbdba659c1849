// Speaks with the server for a person: signs in, keeps picks as they are made, submits.

const NAME_KEY = "evidencebench-person";

class RefusalError extends Error {
  constructor(status, message, details = {}) {
    super(message);
    Object.assign(this, details, { status });
  }
}

// The name is remembered for this tab, so that a server that was started anew is signed in to again unasked.
function makeDesk() {
  let name = tabRecall();
  let submitted = null;
  return { session, signIn, signOut, queue, paper, save, submit, review, name: () => name };

  async function session() {
    const found = await asked("GET", "session");
    name = name ?? found.person;
    tabRemember(name);
    return { ...found, person: name };
  }

  async function signIn(typed) {
    const found = await asked("POST", "session", { name: typed });
    if (name !== found.person) submitted = null;
    name = found.person;
    tabRemember(name);
    return found;
  }

  async function signOut() {
    await asked("DELETE", "session");
    name = submitted = null;
    tabRemember(null);
  }

  async function queue() {
    return asPerson(() => asked("GET", `queue?${new URLSearchParams({ person: name })}`));
  }

  async function paper(id) {
    return asPerson(() => asked("GET", `paper?${new URLSearchParams({ person: name, id })}`));
  }

  // What came with the submission need not be asked for again.
  async function review(id) {
    if (submitted?.id === id) return submitted.found;
    return asPerson(() => asked("GET", `review?${new URLSearchParams({ person: name, id })}`));
  }

  async function save(picks, options = {}) {
    return asPerson(() => asked("PUT", "draft", { person: name, ...picks }, options));
  }

  async function submit(picks) {
    submitted = { id: picks.id, found: await asPerson(() => asked("POST", "submit", { person: name, ...picks })) };
  }

  // Another tab of this browser may have signed somebody else in meanwhile: signs in again, once.
  async function asPerson(ask) {
    try {
      return await ask();
    } catch (error) {
      if (error.status !== 401 || name === null) throw error;
      await signIn(name);
      return ask();
    }
  }
}

async function asked(method, path, body = null, options = {}) {
  let reply;
  try {
    reply = await fetch(`/api/people/${path}`, {
      method,
      headers: { Accept: "application/json", ...(body === null ? {} : { "Content-Type": "application/json" }) },
      body: body === null ? undefined : JSON.stringify(body),
      ...options,
    });
  } catch {
    throw new RefusalError(0, "The app does not answer; is “evidencebench view” still running?");
  }
  const found = await reply.json().catch(() => ({}));
  if (!reply.ok) throw new RefusalError(reply.status, found.error ?? `The app answers with status ${reply.status}.`, found);
  return found;
}

function tabRecall() {
  try {
    return sessionStorage.getItem(NAME_KEY);
  } catch {
    return null;
  }
}

function tabRemember(name) {
  try {
    if (name === null) sessionStorage.removeItem(NAME_KEY);
    else sessionStorage.setItem(NAME_KEY, name);
  } catch {
    // A browser without storage asks for the name again.
  }
}

// Sends what changes, the newest only, one request at a time; what fails is sent again until it arrives.
function makeKeeper(send, say) {
  let waiting = null;
  let running = null;
  return { keep, settled, forget, isDone: () => running === null };

  function keep(picks) {
    waiting = picks;
    running ??= run();
  }

  async function settled() {
    await running;
  }

  function forget() {
    waiting = null;
  }

  async function run() {
    say("saving");
    while (waiting !== null) {
      const picks = waiting;
      waiting = null;
      try {
        await send(picks);
      } catch (error) {
        say("failed", error);
        if (error.status >= 400) break; // the server has an answer to it, which will not change
        waiting ??= picks;
        await new Promise((resume) => setTimeout(resume, 2000));
        continue;
      }
      if (waiting === null) say("saved");
    }
    running = null;
  }
}
