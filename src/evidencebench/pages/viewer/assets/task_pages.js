// The pages of people who answer tasks: signing in, the list of tasks, one task, and the tasks to adjudicate.

// "#/tasks/ID" is a task, "#/adjudication" the tasks on which annotators differ; every other address is the list.
function readTask() {
  const [mark, list, id] = splitOnce(location.hash, "?")[0].split("/");
  if (mark !== "#" || !["tasks", "adjudication"].includes(list)) return { list: "tasks", id: null };
  return { list, id: id ? decodePart(id) : null };
}

function taskLink(list, id = null) {
  return id === null ? `#/${list}` : `#/${list}/${encodeURIComponent(id)}`;
}

async function showTasks(root) {
  const server = peopleServer();
  root.classList.add("people");
  let about = null;
  let shown = null;
  let asked = 0;
  let work = null;
  const sign = signPage(server, enter, { title: document.title, explain: (found) => sortOf(found).explain(found),
    note: "It is how you find your answers again: type it the same way every time." });
  const body = h("div");
  const listSection = h("section.people-page", { hidden: true });
  const taskSection = h("section.pick-page", { hidden: true, "aria-label": "Task" }, body);
  const bar = personBar(server, leave, [["#/tasks", "All tasks"], ["#/adjudication", "Adjudicate"]]);
  const keys = listenToKeys(taskSection, []);
  root.replaceChildren(bar.element, sign.element, listSection, taskSection);
  bar.element.hidden = true;
  onRoute(follow);
  try {
    about = await server.session();
  } catch (error) {
    show(sign.element);
    sign.show(error.message);
    return;
  }
  if (about.sort === "misses") bar.element.querySelector('a[href="#/adjudication"]').remove();
  await follow();

  function show(section) {
    for (const one of [sign.element, listSection, taskSection]) one.hidden = one !== section;
    shown = section;
  }

  async function follow() {
    const turn = ++asked;
    bar.update();
    const left = work;
    work = null;
    await left?.end();
    if (turn !== asked) return;
    if (server.name() === null) {
      show(sign.element);
      sign.show(about);
      return;
    }
    const { list, id } = readTask();
    document.title = about.title;
    try {
      if (id === null) showList(list, await server.ask("queue", { query: { list } }), turn);
      else showTask(list, await server.ask("task", { query: { list, id } }), turn);
    } catch (error) {
      if (turn !== asked) return;
      listSection.replaceChildren(h("p.people-error", { role: "alert" }, error.message), h("p", {}, h("a", { href: "#/tasks" }, "All tasks")));
      show(listSection);
    }
  }

  function showList(list, { rows }, turn) {
    if (turn !== asked) return;
    listSection.replaceChildren(...listOf(list, rows, about));
    show(listSection);
    listSection.querySelector(".people-main")?.focus({ preventScroll: true });
  }

  function showTask(list, found, turn) {
    if (turn !== asked) return;
    show(taskSection);
    work = taskWork({ server, list, about, found, body, keys, leave: goOn });
    keys.use([...work.commands,
      { keys: ["n"], name: "next task", run: () => work?.go(1) },
      { keys: ["p"], name: "previous task", run: () => work?.go(-1) },
      { keys: ["u", "Ctrl+Z"], name: "undo the last change", run: () => work?.undo() },
      { keys: ["Enter"], on: ".pick-sentence, .task-choice, .audit-row, body", name: "done, and on to the next task", run: () => work?.finish() },
      { keys: ["Escape"], name: "back to all tasks", run: () => go(taskLink(list)) }]);

    // Goes to the next task that is not done; after the last one, to the list.
    async function goOn(id, ids) {
      await work?.end();
      let rows;
      try {
        rows = (await server.ask("queue", { query: { list } })).rows;
      } catch {
        rows = ids.map((one) => ({ id: one, status: "open" })); // the server is away; this task is sent when it is back
      }
      const next = nextOpen(rows, id);
      go(next === null ? taskLink(list) : taskLink(list, next.id));
    }
  }

  async function enter(found) {
    about = { ...about, person: found.person, is_new: found.is_new };
    await follow();
  }

  async function leave() {
    await work?.end();
    await server.signOut();
    if (location.hash === "" || location.hash === "#/tasks") await follow();
    else location.hash = "#/tasks";
  }
}

function listOf(list, rows, about) {
  const done = rows.filter(({ status }) => status === "done").length;
  const next = nextOpen(rows, null);
  const sort = sortOf(about);
  const isDispute = list === "adjudication";
  const begin = done || rows.some(({ status }) => status === "draft") ? "Go on" : "Begin with the first";
  if (isDispute && !rows.length) {
    return [h("h1", {}, "Adjudicate"), h("p.people-note", {},
      "There is no task that several people have done and on which they differ. Whoever annotates sees the disputes of tasks that they have done themselves.")];
  }
  return [
    h("h1", {}, isDispute ? "Tasks on which annotators differ" : "Your tasks"),
    isDispute ? h("p.people-note", {}, "Each shows who said what. Decide what is right; your decisions stand in a file of their own, and change nobody’s answers.") : null,
    !isDispute && about.is_new && !done ? h("p.people-note", {},
      "Nothing was said under this name before. If you have been here already, sign out and type your name as you did then.") : null,
    h("p.queue-progress", {}, h("progress", { max: rows.length, value: done, "aria-label": "Tasks done" }), ` ${done} of ${rows.length} done`),
    next ? h("p", {}, h("a.people-main", { href: taskLink(list, next.id) }, begin)) : [
      h("p.people-done", {}, isDispute ? "All disputes are decided. Thank you!" : "All tasks are done. Thank you!"),
      h("p.people-note", {}, "Where the others are done too, the report is made in the terminal, by"),
      h("pre.task-command", { tabindex: "0" }, about.report),
    ],
    h("details.people-guide", {}, h("summary", {}, "How to decide"), h("ul", {}, sort.guide(about).map((line) => h("li", {}, line)))),
    h("ol.queue", {}, rows.map((row) => taskItem(list, row))),
  ].flat().filter(Boolean);
}

function taskItem(list, row) {
  const said = { open: "open", draft: "begun, not done", done: "done" }[row.status];
  return h("li", { class: `queue-item queue-${row.status === "done" ? "submitted" : row.status}` },
    foreign("a", { href: taskLink(list, row.id) }, firstWords(row.text, 300) || row.id),
    h("span.queue-facts", {}, row.facts ? `${row.facts} · ` : "", h("span.queue-status", {}, said)));
}

// The next task that is not done; after the last one follows the first. Null: all are done.
function nextOpen(rows, id) {
  const at = rows.findIndex((row) => row.id === id);
  return [...rows.slice(at + 1), ...rows.slice(0, Math.max(at, 0))].find(({ status }) => status !== "done") ?? null;
}
