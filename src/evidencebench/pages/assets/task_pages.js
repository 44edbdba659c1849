// The pages of people who answer tasks: signing in, the list of tasks, one task, and the result of one that is final.

import { cleaned, counted, foreign, h, listenToKeys, longList, percent, setText, stepKeys, svg } from "./dom.js";
import { firstWords } from "./graded.js";
import { stepCommands } from "./paper_text.js";
import { paperView } from "./paper_view.js";
import { choiceBar, chosen, cycle, decodePart, go, readRoute, splitOnce } from "./route.js";
import { minutes, taskServer } from "./server.js";
import { guideFold, sortOf, taskLink } from "./task_sorts.js";
import { taskWork } from "./task_work.js";

// `links` are [address, words].
function personBar(server, leave, links) {
  const name = foreign("strong", {}, "");
  const element = h("div.person-bar", {},
    h("span", {}, "Signed in as ", name),
    links.map(([href, words]) => h("a", { href }, words)),
    h("button", { onclick: leave }, "Sign out"));
  return { element, update: () => { element.hidden = server.name() === null; name.textContent = cleaned(server.name() ?? ""); } };
}

// `sort` is null where the server does not answer.
function signPage(server, enter, sort) {
  const field = h("input", { id: "person-name", name: "name", autocomplete: "off", maxlength: 200, required: true, dir: "auto", "aria-describedby": "person-note" });
  const error = h("p.people-error", { role: "alert" });
  const about = h("div");
  const form = h("form.sign-in", { onsubmit: (event) => sign(event).catch((refused) => { error.textContent = refused.message; }) },
    h("label", { for: "person-name" }, "Your name"),
    h("p.people-note", { id: "person-note" }, sort?.signNote ?? ""),
    field,
    h("button", { type: "submit", class: "people-main" }, "Begin"));
  return { element: h("section.people-page", { hidden: true }, h("h1", {}, sort?.title ?? document.title), about, form, error), show };

  function show(found, failure = "") {
    error.textContent = failure;
    if (found) about.replaceChildren(...sort.explain(found));
    field.focus();
  }

  async function sign(event) {
    event.preventDefault();
    error.textContent = "";
    await enter(await server.signIn(field.value));
    field.value = "";
  }
}

/* The place that the address names: {page, list, id, sentence}. "#/tasks/ID" is a task, "#/adjudication" the tasks on
   which annotators differ; "#/pick/ID" is a paper to pick in, "#/papers/ID" its result. Every other address is the list. */
function taskPlace(sort) {
  const [mark, place, id, sentence] = splitOnce(location.hash, "?")[0].split("/");
  if (mark === "#" && place === "papers" && id && sort.confirm) return { ...readRoute(), page: "result", list: "tasks" };
  const list = place === "pick" ? "tasks" : place;
  const isKnown = mark === "#" && Object.hasOwn(sort.lists, list ?? "");
  if (!isKnown || id === undefined) return { page: "list", list: isKnown ? list : Object.keys(sort.lists)[0], id: null };
  return { page: "task", list, id: decodePart(id), sentence: /^\d{1,9}$/.test(sentence ?? "") ? Number(sentence) : null };
}

// `own` is a sort that is not among those of task_sorts.js; it may have a place() and pages(server, tell) of its own.
export async function showTasks(root, own = null) {
  const server = taskServer();
  const tabs = new BroadcastChannel("evidencebench-people");
  const tell = (news) => tabs.postMessage({ person: server.name(), ...news });
  root.classList.add("people");
  let shown = null;
  let turn = 0;
  let failure = "";
  let about = await server.session().catch((error) => { failure = error.message; });
  const sort = own ?? (about && sortOf(about));
  const sign = signPage(server, enter, sort);
  if (!about) {
    root.replaceChildren(sign.element);
    sign.element.hidden = false;
    return sign.show(null, failure);
  }
  const pages = { sign, ...(sort.pages?.(server, tell) ?? { list: askedPage(async (list, about) => listOf(sort, list, await server.queue(list), about)), task: taskPage(server, sort, tell), result: resultPage(server, sort) }) };
  const bar = personBar(server, leave, sort.links);
  root.replaceChildren(bar.element, ...Object.values(pages).map((page) => page.element));
  window.addEventListener("hashchange", follow);
  tabs.addEventListener("message", hear);
  await follow();

  async function show(name, ...told) {
    const asked = ++turn;
    if (shown !== name) await pages[shown]?.leave?.(); // while it can be measured
    if (asked !== turn) return;
    for (const [other, page] of Object.entries(pages)) page.element.hidden = other !== name;
    if (document.activeElement?.closest("[hidden]")) document.activeElement.blur(); // browsers wait for the next frame
    shown = name;
    await pages[name].show(...told);
  }

  // Hears what another tab of this browser has saved.
  function hear({ data }) {
    if (data.person !== server.name()) return;
    pages.task?.hear(data);
    if (shown === "list") follow();
  }

  async function follow() {
    bar.update();
    document.title = about.title;
    if (server.name() === null) return show("sign", about);
    const place = sort.place?.() ?? taskPlace(sort);
    return show(place.page, place, about);
  }

  async function enter(found) {
    about = { ...about, person: found.person, is_new: found.is_new };
    await follow();
  }

  async function leave() {
    await pages[shown]?.leave?.();
    await server.signOut();
    about = { ...about, person: null };
    if (["", "#/", "#/tasks"].includes(location.hash)) await follow();
    else location.hash = "#/";
  }
}

// A page whose parts are asked for each time it is shown.
function askedPage(partsOf) {
  const body = h("div");
  return { element: h("section.people-page", { hidden: true }, body), show };

  async function show({ list }, about) {
    body.replaceChildren(...await partsOf(list, about).catch((error) => [failed(error)]));
    if (document.activeElement === document.body) body.querySelector(".people-main")?.focus({ preventScroll: true });
  }
}

// What stands in the place of a page that cannot be shown.
const failed = (error) =>
  h("div.people-page", {}, h("p.people-error", { role: "alert" }, error.message), h("p", {}, h("a", { href: "#/tasks" }, "All tasks")));

const QUEUE_STEP = 100;

function listOf(sort, list, { rows, last = null, scores }, about) {
  const words = sort.lists[list];
  if (words.none && !rows.length) return [h("h1", {}, words.title), h("p.people-note", {}, words.none)];
  const done = rows.filter(({ status }) => status === "done").length;
  const next = rows.find(({ id }) => id === last) ?? nextOpen(rows, null);
  const isBegun = done || last !== null || rows.some(({ status }) => status === "draft");
  const tasks = longList("ol.queue", QUEUE_STEP, (row) => h("li", { class: `queue-item queue-${row.status}` },
    foreign("a", { href: sort.link(list, row) }, firstWords(row.text, 300) || row.id),
    h("span.queue-facts", {}, row.facts ? `${row.facts} · ` : "", h("span.queue-status", {}, row.words), row.recall !== null && ` · ${percent(row.recall)}`)));
  tasks.show(rows);
  return [
    h("h1", {}, words.title),
    words.note ? h("p.people-note", {}, words.note) : null,
    list === "tasks" && about.is_new && rows.every(({ status }) => status === "open") ? h("p.people-note", {}, words.isNew) : null,
    h("p.queue-progress", {}, h("progress", { max: rows.length, value: done, "aria-label": words.progress }), ` ${done} of ${rows.length} ${words.done}`),
    next ? h("p", {}, h("a.people-main", { href: sort.link(list, next) }, isBegun ? "Continue" : words.begin),
      last !== null && [" with the paper where you stopped: ", foreign("q", {}, firstWords(next.text, 100))])
      : [h("p.people-done", {}, words.over), about.report && [
        h("p.people-note", {}, "When the others are done too, make the report in the terminal:"),
        h("pre.task-command", { tabindex: "0" }, about.report)]],
    scores && [h("h2", {}, next ? "Your score so far" : "Your score"), ...ownScores(scores)],
    guideFold(sort, about),
    tasks.list, tasks.more,
  ].flat(2).filter(Boolean);
}

// How well the person has done, beside the systems, on exactly the papers that were submitted.
function ownScores({ summary, means }) {
  const at = (share) => `${100 * share}%`;
  return [
    foreign("p.own-summary", {}, summary),
    h("table.own-scores", {},
      h("caption", {}, "Mean aspect recall in %, on the papers that you submitted only. In brackets: 95 % intervals. * A baseline."),
      h("tbody", {}, means.map(({ label, text, is_you, mean, low, high }) => h("tr", { class: is_you && "own-row" },
        foreign("th", { scope: "row" }, label), h("td", {}, text),
        h("td", {}, svg("svg", { class: "own-chart", "aria-hidden": "true" },
          low !== null && svg("line", { x1: at(low), x2: at(high), y1: 8, y2: 8 }), svg("circle", { cx: at(mean), cy: 8, r: 4 }))))))),
  ];
}

// The next task that is not done; after the last one follows the first. Null: all are done.
export function nextOpen(rows, id) {
  const at = rows.findIndex((row) => row.id === id);
  return [...rows.slice(at + 1), ...rows.slice(0, Math.max(at, 0))].find(({ status }) => status !== "done") ?? null;
}

// The page of one task, as its sort describes it.
export function taskPage(server, sort, tell) {
  const body = h("div");
  const element = h("section.pick-page", { hidden: true, "aria-label": "Task" }, body);
  const keys = listenToKeys(element, []);
  let shown = null; // {work, view}
  let asked = null;
  return { element, show, leave, hear: (news) => { if (news.list === shown?.work.list && news.id === shown.work.id) shown.work.hear(news); } };

  async function show({ list, id, sentence = null }, about) {
    if (shown?.work.list === list && shown.work.id === id) return sentence !== null && shown.view.begin(sentence);
    await leave();
    const place = (asked = { list, id });
    body.replaceChildren(h("p.people-note", { role: "status" }, "Loading…"));
    try {
      const found = await server.task(list, id);
      if (asked === place) shown = openTask({ server, sort, list, about, found, body, keys, tell, sentence });
    } catch (error) {
      if (asked !== place) return;
      if (error.is_final) go(sort.link(list, { id, status: "done" }), { replaces: true });
      else body.replaceChildren(failed(error));
    }
  }

  // Waits until all is saved on the server.
  async function leave() {
    asked = null;
    keys.use([]); // else a key that is pressed before the next task is drawn would change the one that was left
    const ended = shown?.work.end(); // measures the page
    shown = null;
    body.replaceChildren();
    await ended;
  }
}

function openTask({ server, sort, list, about, found, body, keys, tell, sentence }) {
  const { task, answer, ids = task.ids ?? [] } = found;
  const place = ids.indexOf(task.id);
  const step = (by) => place + by in ids && go(taskLink(list, ids[place + by]));
  const work = taskWork({ server, list, sort, about, found, tell, page: { draw, showSaved, refuse, closed, saved: (kept) => view.saved?.(kept), place: () => view.place(bar) } });
  const view = sort.view(task, about, { change: work.change, value: work.value, askForNote: () => noteField.focus(), step, finish });
  const count = h("b.pick-count");
  const saved = h("span.pick-saved");
  const refusal = h("p.people-error.pick-refusal", { role: "alert" });
  const noteField = h("textarea", { id: "task-note", rows: 2, maxlength: 5000, dir: "auto", oninput: () => work.change({ ...work.value(), note: noteField.value }, { isText: true }) });
  const turns = { undo: h("button", { onclick: () => work.turn("undo") }, "Undo"), redo: h("button.pick-redo", { onclick: () => work.turn("redo") }, "Redo") };
  const doneButton = h("button.pick-submit", { onclick: finish });
  const bar = h("header.pick-bar", {},
    h("p.pick-eyebrow", {}, place < 0 ? "" : `${sort.lists[list].one} ${place + 1} of ${ids.length}. `, sort.ask),
    foreign("h1.pick-hypothesis", { tabindex: "0" }, sort.text(task)),
    sort.head(task),
    h("p.pick-facts", { role: "status" }, count, ` ${sort.limit(task)} `, saved), refusal);
  const side = h("aside.pick-side", { "aria-label": "Your answer" },
    h("div.pick-actions", {}, doneButton, Object.values(turns),
      ids.length > 0 && [["Previous", -1], ["Next", 1]].map(([words, by]) => h("button", { disabled: !(place + by in ids), onclick: () => step(by) }, words)),
      h("button.pick-help", { onclick: keys.open }, "Keyboard")),
    view.side,
    "note" in sort.empty && h("div.task-note", {}, h("label", { for: "task-note" }, "Note"), noteField),
    notesOf(task),
    guideFold(sort, about));
  // No sentence may be scrolled below the bar, whose height depends on the question.
  new ResizeObserver(() => bar.closest(".people")?.style.setProperty("--bar-height", `${bar.offsetHeight}px`)).observe(bar);
  const own = new Set(view.commands.flatMap((command) => command.keys)); // these go before what all sorts share
  const free = (commands) => commands.map((command) => ({ ...command, keys: command.keys.filter((key) => !own.has(key)) })).filter((command) => command.keys.length);
  keys.use([...view.commands, ...free([
    ...(ids.length ? stepKeys(["n"], ["p"], "task", step) : []),
    { keys: ["u", "Ctrl+Z"], name: "undo the last change", run: () => work.turn("undo") },
    { keys: ["U", "Ctrl+Shift+Z", "Ctrl+Y"], name: "redo it", run: () => work.turn("redo") },
    sort.confirm ? { keys: ["s"], name: "submit", run: finish }
      : { keys: ["Enter"], on: ".pick-sentence, .task-choice, .audit-row, .cell-quote, body", name: "done, and on to the next task", run: finish },
    { keys: ["Escape"], name: "back to the list", run: () => go(taskLink(list)) }])]);
  body.replaceChildren(bar, h("div.pick-columns", {}, view.element, side));
  document.title = `${place < 0 ? "" : `${place + 1} of ${ids.length}: `}${firstWords(sort.text(task), 80)}`;
  window.scrollTo(0, 0);
  draw();
  if (answer?.reached && sentence === null) saved.textContent = `You stopped at sentence ${answer.reached}.`;
  view.begin(sentence, answer?.reached);
  return { work, view };

  function draw() {
    const value = work.value();
    view.show(value);
    if (noteField.value !== value.note) noteField.value = value.note ?? "";
    for (const [from, button] of Object.entries(turns)) button.disabled = !work.can(from);
    count.textContent = sort.status(value, task, about);
    count.classList.toggle("is-full", value.sentences?.length >= task.budget);
    doneButton.textContent = sort.done(value);
    doneButton.classList.toggle("people-main", value.sentences ? value.sentences.length > 0 : sort.lacks(value, about) === null);
  }

  function showSaved(how, error) {
    saved.textContent = { saving: "Saving…", saved: "Saved.", failed: "Not saved." }[how];
    if (how === "failed") refuse(error.message);
    else if (how === "saved" && refusal.dataset.isAboutSaving) refuse("");
    if (how === "failed") refusal.dataset.isAboutSaving = "yes";
  }

  function refuse(words) {
    delete refusal.dataset.isAboutSaving;
    setText(refusal, words);
  }

  // Done: goes to the next task that is not; after the last one, to the list. What can be final is asked about first.
  async function finish() {
    const lacking = sort.lacks(work.value(), about);
    refuse(lacking ?? "");
    if (lacking) {
      if (work.value().choice) noteField.focus();
    } else if (!sort.confirm) {
      work.finish();
      await work.end();
      go(taskLink(list, await (sort.next ?? nextInQueue)(list, task.id, about)));
    } else if (await confirmInDialog(sort.confirm(work.value(), task)) && await work.submit()) {
      go(sort.link(list, { id: task.id, status: "done" }), { replaces: true });
    }
  }

  // Where the server is away, this task is sent when it is back.
  async function nextInQueue() {
    const { rows } = await server.queue(list).catch(() => ({ rows: ids.map((id) => ({ id, status: "open" })) }));
    return nextOpen(rows, task.id)?.id ?? null;
  }

  // Shown in the place of a task whose answer was submitted in another tab.
  function closed() {
    document.querySelector("dialog.confirm")?.close();
    body.replaceChildren(
      h("p.people-error", { role: "alert" },
        "You have submitted this paper in another tab. That submission is final; later changes here do not count."),
      h("p", {}, h("a.people-main", { href: sort.link(list, { id: task.id, status: "done" }) }, "Your answer and the evidence"), " ", h("a", { href: "#/queue" }, "All papers")));
  }
}

// The annotators' notes, beside a dispute.
function notesOf(task) {
  const noted = Object.entries(task.said ?? {}).filter(([, { note }]) => note);
  return noted.length ? h("ul.task-notes", {}, noted.map(([name, { note }]) => h("li", {}, foreign("b", {}, name), ": ", foreign("span", {}, note)))) : null;
}

// Asks in a dialog; resolves to true where the answer is yes.
const confirmInDialog = ({ title, words, yes, no }) => new Promise((resolve) => {
  const dialog = h("dialog.key-dialog.confirm", { "aria-labelledby": "confirm-title", onclose: over },
    h("h2", { id: "confirm-title" }, title),
    words.map((line) => h("p", {}, line)),
    h("p.confirm-buttons", {}, h("button.people-main", { onclick: () => dialog.close("yes") }, yes), h("button", { autofocus: true, onclick: () => dialog.close() }, no)));
  document.body.append(dialog);
  dialog.showModal();

  function over() {
    dialog.remove();
    resolve(dialog.returnValue === "yes");
  }
});

// The page after a paper is submitted: the paper viewer, with the person as the first system.
function resultPage(server, sort) {
  const body = h("div");
  const element = h("section.review-page", { hidden: true, "aria-label": "Your answer and the evidence" }, body);
  let held = null; // {id, overview, record, next, choices, holder, view, key}
  const toNext = () => go(held?.next ? sort.link("tasks", held.next) : "#/queue");
  const keys = listenToKeys(element, [
    ...stepCommands((kind, by) => held?.view?.jump(kind, by)),
    { keys: ["b"], name: "next system as B", run: () => held?.overview && cycle(held.overview, "b") },
    { keys: ["n"], name: "next open paper", run: toNext },
    { keys: ["Escape"], name: "back to all papers", run: () => go("#/queue") }]);
  return { element, show, leave: () => { held = null; body.replaceChildren(); } };

  async function show(route) {
    if (held?.id !== route.id) await load(route.id);
    if (held?.id !== route.id || !held.overview) return;
    const state = chosen(held.overview, route);
    const key = JSON.stringify([state.task, state.a, state.b]);
    held.choices.update(state);
    if (held.key === key) return route.sentence !== null && held.view.show(route.sentence);
    const scroll = held.key ? window.scrollY : 0;
    held.view = paperView(held.overview, held.record, { ...state, sentence: route.sentence, heading: "h2" });
    held.key = key;
    held.holder.replaceChildren(held.view);
    window.scrollTo(0, scroll);
  }

  async function load(id) {
    const asked = (held = { id });
    body.replaceChildren(h("p.viewer-status", { role: "status" }, "Loading…"));
    try {
      const { rows } = await server.queue("tasks");
      if (rows.find((row) => row.id === id)?.status !== "done") return go(sort.link("tasks", { id }), { replaces: true });
      const found = await server.result("tasks", id);
      if (held !== asked) return;
      const choices = choiceBar(found.overview, h("button", { onclick: keys.open }, "Keyboard"));
      Object.assign(held, found, { next: nextOpen(rows, id), choices, holder: h("div.review-body") });
      body.replaceChildren(h("div.review-head", {}, headOf(held, rows, sort)), choices.element, held.holder);
      document.title = `Your score: ${firstWords(found.record.paper.hypothesis, 80)}`;
      body.querySelector("h1").focus({ preventScroll: true });
    } catch (error) {
      if (held !== asked) return;
      held = null;
      body.replaceChildren(failed(error));
    }
  }
}

function headOf({ record, seconds, next }, rows, sort) {
  const recall = record.answers[0]?.find((judged) => judged !== null)?.recall ?? null;
  const submitted = rows.filter((row) => row.status === "done").length;
  return [
    h("h1", { tabindex: "-1" }, `Your aspect recall: ${percent(recall)}`),
    h("p.people-note", {}, `${minutes(seconds)} of work on this paper · ${submitted} of ${counted(rows.length, "paper")} submitted`),
    h("p.review-next", {},
      next ? h("a.people-main", { href: sort.link("tasks", next) }, "Next paper") : h("b", {}, "All papers are submitted. Thank you!"),
      h("a", { href: "#/queue" }, "All papers, and your score")),
  ];
}
