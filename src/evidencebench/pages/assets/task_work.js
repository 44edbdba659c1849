// One task while it is on the page: what the person says of it, which part of that the server has, and how to be done.

import { foreign, h } from "./dom.js";
import { firstWords } from "./graded.js";
import { go } from "./route.js";
import { autosave } from "./server.js";
import { taskLink } from "./task_pages.js";
import { isSame, mergeAnswers, sortOf } from "./task_sorts.js";

const TYPING_PAUSE = 400; // milliseconds without a letter, after which a note is saved

export function taskWork({ server, list, about, found, body, keys, leave }) {
  const sort = sortOf(about);
  const { task, ids } = found;
  const id = task.id;
  const place = ids.indexOf(id);
  let revision = 0;
  let kept = null; // the value on the server that this tab has seen last
  let isDone = false;
  note(found.answer);
  if (!found.answer && task.said) kept = agreed(task, sort); // so that only to look at a dispute saves nothing
  let value = kept;
  let isOver = false;
  let doneOnServer = Boolean(found.answer?.is_done);
  const lost = []; // what was sent, of which no reply came
  const history = [];
  const view = sort.view(task, about, { change, value: () => value, askForNote: () => noteField.focus() });
  const saver = autosave(save, showSaved, { isHeld: () => !isOver && heldBack() });
  const count = h("b");
  const saved = h("span.pick-saved");
  const refusal = h("p.people-error.pick-refusal", { role: "alert" });
  const noteField = h("textarea", { id: "task-note", rows: 2, maxlength: 5000, dir: "auto", oninput: () => change({ ...value, note: noteField.value }, { isText: true }) });
  const undoButton = h("button", { onclick: undo }, "Undo");
  const doneButton = h("button.pick-submit", { onclick: finish });
  const bar = h("header.pick-bar", {},
    h("p.pick-eyebrow", {}, `${list === "tasks" ? "Task" : "Dispute"} ${place + 1} of ${ids.length}. ${sort.ask}`),
    foreign("h1.pick-hypothesis", { tabindex: "0" }, sort.text(task)),
    sort.head(task).filter(Boolean),
    h("p.pick-facts", { role: "status" }, count, " ", saved), refusal);
  const side = h("aside.pick-side", { "aria-label": "Your answer" },
    h("div.pick-actions", {}, doneButton, undoButton,
      neighbour("Previous", -1), neighbour("Next", 1), h("button.pick-help", { onclick: () => keys.open() }, "Keyboard")),
    h("div.task-note", {}, h("label", { for: "task-note" }, "Note"), noteField),
    notesOf(task),
    sort.guideFold(about));
  const sizes = new ResizeObserver(() => bar.closest(".people")?.style.setProperty("--bar-height", `${bar.offsetHeight}px`));
  sizes.observe(bar);
  window.addEventListener("focus", lookAgain);
  body.replaceChildren(bar, h("div.pick-columns", {}, view.element, side));
  document.title = `${place + 1} of ${ids.length}: ${firstWords(sort.text(task), 80)}`;
  window.scrollTo(0, 0);
  draw();
  view.focus();
  return { id, commands: view.commands, undo, finish, go: goTo, end };

  function note(answer) {
    kept = Object.fromEntries(Object.keys(sort.empty).map((name) => [name, answer?.[name] ?? sort.empty[name]]));
    revision = answer?.revision ?? 0;
    isDone = isDone || Boolean(answer?.is_done);
  }

  function draw() {
    view.show(value);
    if (noteField.value !== value.note) noteField.value = value.note;
    undoButton.disabled = !history.length;
    const isAnswered = isDone || (list === "tasks" && about.sort === "misses" && sort.lacks(value, about) === null);
    count.textContent = isAnswered ? "Done." : "Not done yet.";
    doneButton.textContent = sort.done(value);
    doneButton.classList.toggle("people-main", value.sentences ? value.sentences.length > 0 : sort.lacks(value, about) === null);
  }

  function change(changed, { isText = false } = {}) {
    if (!isText || history.at(-1)?.isText !== true) history.push({ value, isText });
    value = changed;
    refuse("");
    draw();
    keep(isText ? TYPING_PAUSE : 0);
  }

  function undo() {
    if (!history.length) return;
    value = history.pop().value;
    refuse("");
    draw();
    keep();
  }

  // Saves when the tab gets the focus: another tab may have changed the same task.
  function lookAgain() {
    keep();
  }

  function snapshot() {
    return about.sort === "misses" ? value : { ...value, is_done: isDone };
  }

  // What the server would refuse waits until it is whole, such as a cause whose note is not written yet: why, or null.
  function heldBack() {
    return about.sort === "misses" && value.cause ? sort.lacks(value, about) : null;
  }

  function keep(pause = 0) {
    if (heldBack()) refuse(heldBack());
    else saver.keep(snapshot(), pause);
  }

  async function save(said) {
    if (isSame(said, { ...said, ...kept }) && (said.is_done ?? false) === doneOnServer) return;
    const sent = { ...said, task: id, revision: revision + 1 };
    try {
      accept(await server.save(list, sent));
    } catch (error) {
      if (error.status === 0) lost.push(sent);
      if (error.status !== 409 || !(error.answer?.revision > revision)) throw error;
      merge(error.answer, said);
      await save(snapshot());
    }
  }

  function accept(answer) {
    note(answer);
    doneOnServer = Boolean(answer?.is_done);
  }

  // Takes over what another tab has saved meanwhile; what this tab sent without a reply is its own.
  function merge(theirs) {
    const isOwn = lost.some((sent) => sent.revision === theirs.revision && isSame(sent, { ...sent, ...fieldsOf(theirs) }));
    const base = kept;
    accept(theirs);
    if (isOwn) return;
    value = mergeAnswers(base, value, kept);
    history.length = 0; // its steps do not lead to the merged answer
    draw();
    refuse("This task was changed in another tab; what you said there and here is put together now.");
  }

  function fieldsOf(answer) {
    return Object.fromEntries(Object.keys(sort.empty).map((name) => [name, answer[name] ?? sort.empty[name]]));
  }

  async function finish() {
    const lacking = sort.lacks(value, about);
    if (lacking) {
      refuse(lacking);
      if (value.cause) noteField.focus();
      return;
    }
    isDone = true;
    draw();
    keep();
    await leave(ids);
  }

  function goTo(by) {
    const next = ids[place + by];
    if (next !== undefined) go(taskLink(list, next));
  }

  function neighbour(words, by) {
    return h("button", { disabled: ids[place + by] === undefined, onclick: () => goTo(by) }, words);
  }

  function showSaved(how, error) {
    saved.textContent = { saving: "Saving…", saved: "Saved.", failed: "Not saved." }[how];
    if (how === "failed") refuse(error.message);
    else if (how === "saved" && refusal.dataset.isAboutSaving) refuse("");
    if (how === "failed") refusal.dataset.isAboutSaving = "yes";
  }

  function refuse(words) {
    delete refusal.dataset.isAboutSaving;
    if (refusal.textContent !== words) refusal.textContent = words;
  }

  async function end() {
    if (isOver) return;
    isOver = true;
    keep();
    sizes.disconnect();
    window.removeEventListener("focus", lookAgain);
    await saver.end();
  }
}

// What all annotators agree on, with which an adjudication begins.
function agreed(task, sort) {
  const [first, ...others] = Object.values(task.said);
  if (first.sentences) return { ...sort.empty, sentences: first.sentences.filter((index) => others.every(({ sentences }) => sentences.includes(index))) };
  const same = Object.entries(first.ratings).filter(([name, rating]) => others.every(({ ratings }) => ratings[name] === rating));
  return { ...sort.empty, ratings: Object.fromEntries(same) };
}

// The annotators' notes, beside a dispute.
function notesOf(task) {
  const noted = Object.entries(task.said ?? {}).filter(([, { note }]) => note);
  return noted.length ? h("ul.task-notes", {}, noted.map(([name, { note }]) => h("li", {}, foreign("b", {}, name), ": ", foreign("span", {}, note)))) : null;
}
