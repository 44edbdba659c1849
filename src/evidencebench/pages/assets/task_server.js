// The requests of a person: sign in, get tasks, save answers and submit them.

const NAME_KEY = "evidencebench-person";

// The name is kept for this tab, so that a person is signed in again where the server was restarted.
function taskServer() {
  let name = recall(NAME_KEY, "sessionStorage");
  let submitted = null;
  return { session, signIn, signOut, queue, task, save, submit, result, name: () => name };

  async function session() {
    const found = await asked("session");
    keepName(name ?? found.person);
    return { ...found, person: name };
  }

  async function signIn(typed) {
    const found = await asked("session", { method: "POST", body: { name: typed } });
    if (name !== found.person) submitted = null;
    keepName(found.person);
    return found;
  }

  async function signOut() {
    await asked("session", { method: "DELETE" });
    submitted = null;
    keepName(null);
  }

  async function queue(list) {
    return ask("queue", { query: { list } });
  }

  async function task(list, id) {
    return ask("task", { query: { list, id } });
  }

  // Returns the answer as the server has kept it.
  async function save(list, answer) {
    return (await ask("answer", { method: "PUT", body: { list, answer } })).answer;
  }

  async function submit(list, answer) {
    submitted = { id: answer.task, found: await ask("submit", { method: "POST", body: { list, answer } }) };
  }

  // The response to a submission is the result, so it is not asked for again.
  async function result(list, id) {
    return submitted?.id === id ? submitted.found : ask("result", { query: { list, id } });
  }

  function keepName(found) {
    name = found;
    remember(NAME_KEY, name, "sessionStorage");
  }

  // Asks in the name of the person; signs in again and asks once more where another tab has signed somebody else in.
  async function ask(path, { query, body, ...request } = {}) {
    const named = () => (body ? { body: { person: name, ...body } } : { query: { person: name, ...query } });
    try {
      return await asked(path, { ...named(), ...request });
    } catch (error) {
      if (error.status !== 401 || name === null) throw error;
      await signIn(name);
      return asked(path, { ...named(), ...request });
    }
  }
}

function asked(path, request) {
  return askServer(`/api/people/${path}`, request);
}
