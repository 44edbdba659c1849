// The requests of a person: sign in, get papers, save picks and submit them.

const NAME_KEY = "evidencebench-person";

// The name is kept for this tab, so that a person is signed in again where the server was restarted.
function peopleServer() {
  let name = recall(NAME_KEY, "sessionStorage");
  let submitted = null;
  return { session, signIn, signOut, ask, queue, paper, save, submit, review, name: () => name };

  async function session() {
    const found = await asked("session");
    name = name ?? found.person;
    remember(NAME_KEY, name, "sessionStorage");
    return { ...found, person: name };
  }

  async function signIn(typed) {
    const found = await asked("session", { method: "POST", body: { name: typed } });
    if (name !== found.person) submitted = null;
    name = found.person;
    remember(NAME_KEY, name, "sessionStorage");
    return found;
  }

  async function signOut() {
    await asked("session", { method: "DELETE" });
    name = submitted = null;
    remember(NAME_KEY, null, "sessionStorage");
  }

  async function queue() {
    return ask("queue");
  }

  async function paper(id) {
    return ask("paper", { query: { id } });
  }

  async function save(picks) {
    return ask("draft", { method: "PUT", body: picks });
  }

  // The response to a submission holds the review, so it is not asked for again.
  async function review(id) {
    return submitted?.id === id ? submitted.found : ask("review", { query: { id } });
  }

  async function submit(picks) {
    submitted = { id: picks.id, found: await ask("submit", { method: "POST", body: picks }) };
  }

  // Asks in the name of the person.
  async function ask(path, { query, body, ...request } = {}) {
    const named = () => (body ? { body: { person: name, ...body } } : { query: { person: name, ...query } });
    return asPerson(() => asked(path, { ...named(), ...request }));
  }

  // Asks; signs in again and asks once more where another tab has signed somebody else in.
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

function asked(path, request) {
  return askServer(`/api/people/${path}`, request);
}
