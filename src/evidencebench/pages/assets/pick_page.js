// The page on which a person picks the evidence in one paper. It has the hypothesis, the paper and the budget only.

import { counted, h, percent, recall, remember } from "./dom.js";
import { firstWords } from "./graded.js";
import { listenToKeys } from "./keyboard.js";
import { stepCommands } from "./paper_text.js";
import { paperView } from "./paper_view.js";
import { leadingHere, mergePicks, mergedWords, pickBar, pickSide, pickText, submittedElsewhere, tabName } from "./pick_view.js";
import { choiceBar, chosen, cycle, go, linkTo } from "./route.js";
import { autosave, minutes, workClock } from "./server.js";
import { failed, nextOpen, pickLink } from "./task_pages.js";

const SAVE_TIME_EVERY_SECONDS = 20;

// `tell` tells the other tabs of this browser.
export function pickPage(server, tell) {
  const body = h("div");
  const element = h("section.pick-page", { hidden: true, "aria-label": "Pick sentences" }, body);
  let work = null;
  let asked = null;
  const keys = listenToKeys(element, pickCommands(() => work));
  return { element, show, leave, hear: (news) => { if (news.id === work?.id) work.hear(news); } };

  async function show({ id, sentence }, about) {
    if (work?.id === id) {
      if (sentence !== null) work.focusOn(sentence);
      return;
    }
    asked = id;
    await leave();
    body.replaceChildren(h("p.people-note", { role: "status" }, "Loading…"));
    try {
      const found = await server.task("tasks", id);
      if (asked !== id) return;
      work = pickWork(server, about, found, body, keys, tell);
      if (sentence === null) work.goOn(found.answer.reached);
      else work.focusOn(sentence);
    } catch (error) {
      if (asked !== id) return;
      if (error.status === 409) go(linkTo(id), { replaces: true });
      else body.replaceChildren(failed(error));
    }
  }

  // Waits until all picks are saved on the server.
  async function leave() {
    const ended = work?.end();
    work = null;
    body.replaceChildren();
    await ended;
  }
}

function pickCommands(work) {
  return [
    { keys: ["Space"], name: "pick the sentence, or take it back (also Enter)", run: () => {} }, // as any button does
    { keys: ["j"], name: "next sentence (also ↓)", run: () => work()?.move(1) },
    { keys: ["k"], name: "previous sentence (also ↑)", run: () => work()?.move(-1) },
    { keys: ["]"], name: "next heading", run: () => work()?.moveToHeading(1) },
    { keys: ["["], name: "previous heading", run: () => work()?.moveToHeading(-1) },
    { keys: ["u", "Ctrl+Z"], name: "undo the last change", run: () => work()?.turn("undo") },
    { keys: ["U", "Ctrl+Shift+Z", "Ctrl+Y"], name: "redo it", run: () => work()?.turn("redo") },
    { keys: ["s"], name: "submit", run: () => work()?.askToSubmit() },
    { keys: ["Escape"], name: "back to all papers", run: () => go("#/queue") },
  ];
}

// The state of one paper while it is on the page: the picks, the time, and which of them the server has.
function pickWork(server, about, { task: paper, answer: { sentences, seconds, revision } }, body, keys, tell) {
  const { id, budget } = paper;
  const tab = tabName();
  let kept = { sentences, revision }; // the state on the server that this tab has seen last
  let picks = [...sentences];
  let current = 0;
  let isOver = false;
  const changesKey = `evidencebench-changes/${server.name()}/${id}`;
  let changes = leadingHere(JSON.parse(recall(changesKey)), picks);
  const clock = workClock(seconds);
  const text = pickText(paper, { toggle, move: moveFrom, reach });
  const bar = pickBar(paper, budget);
  const side = pickSide(paper, about, { toggle, turn, askToSubmit, keys });
  const saver = autosave(save, bar.showSaved, { onHidden: keepNow });
  const timer = setInterval(keepTime, 1000 * SAVE_TIME_EVERY_SECONDS);
  let keptSeconds = seconds;
  window.addEventListener("focus", lookAgain);
  body.replaceChildren(bar.element, h("div.pick-columns", {}, text.element, side.element));
  document.title = `Pick: ${firstWords(paper.hypothesis, 80)}`;
  window.scrollTo(0, 0);
  draw();
  return { id, focusOn, goOn, move, moveToHeading, turn, askToSubmit, end, hear: handleOtherTab };

  function draw() {
    text.showPicked(new Set(picks));
    bar.showCount(picks.length);
    side.showPicks(picks, changes);
  }

  function toggle(index) {
    change(picks.includes(index) ? ~index : index);
  }

  function turn(from) {
    if (changes[from].length) change(~changes[from].at(-1), from);
  }

  // Makes a change, and notes it; one that undoes or redoes another comes `from` the list that holds the other.
  function change(made, from) {
    reach(made < 0 ? ~made : made);
    if (made >= 0 && picks.length >= budget) {
      bar.refuse(`All ${budget === 1 ? "you may pick is 1 sentence" : `${budget} picks are used`}: remove one before you pick another.`);
      return;
    }
    picks = made < 0 ? picks.filter((one) => one !== ~made) : [...picks, made];
    if (from) changes[from].pop();
    else changes.redo = [];
    changes[from === "undo" ? "redo" : "undo"].push(made);
    remember(changesKey, JSON.stringify(changes));
    bar.refuse("");
    draw();
    saver.keep(found());
  }

  function found() {
    keptSeconds = clock.seconds();
    return { task: id, sentences: picks, reached: text.place(current, bar.element), seconds: keptSeconds };
  }

  // An idle page that is in view asks too, since the picks may be changed or submitted on another machine.
  function keepTime() {
    keepNow();
    if (saver.isDone() && document.visibilityState === "visible") save(found()).catch(() => {});
  }

  // Sends picks and time to the server; where another tab has saved meanwhile, its picks come back.
  async function save(found) {
    try {
      const saved = await server.save("tasks", { ...found, revision: kept.revision, tab });
      if (saved.revision > kept.revision) tell({ id, sentences: saved.sentences, revision: saved.revision });
      noteSaved(saved);
    } catch (error) {
      if (!handleOtherTab(error.answer ?? error)) throw error;
    }
  }

  function noteSaved(found) {
    if (found.revision >= kept.revision) kept = { sentences: found.sentences, revision: found.revision };
  }

  // Handles what another tab has saved or submitted, and returns true; false: it has done neither.
  function handleOtherTab(theirs) {
    if (theirs.is_final) {
      if (!isOver) body.replaceChildren(...submittedElsewhere(id));
      stop();
      return true;
    }
    if (theirs.revision === undefined) return false;
    if (theirs.revision < kept.revision) return true;
    const { picks: together, left } = mergePicks({ base: kept.sentences, mine: picks, theirs: theirs.sentences, budget });
    noteSaved(theirs);
    picks = together;
    changes = leadingHere(changes, picks);
    draw();
    bar.refuse(mergedWords(left));
    saver.keep(found());
    return true;
  }

  // Saves when the tab gets the focus: another tab may have changed the same paper, and its picks come back.
  function lookAgain() {
    saver.keep(found());
  }

  function keepNow() {
    if (!isOver && clock.seconds() > keptSeconds) saver.keep(found());
  }

  function reach(index) {
    current = index;
    text.reach(index);
  }

  function focusOn(index, { quietly = false } = {}) {
    const reached = Math.max(0, Math.min(index, paper.sentences.length - 1));
    reach(reached);
    text.focus(reached, { preventScroll: quietly });
  }

  // Brings the person back to where the paper was left.
  function goOn(reached) {
    if (reached) bar.showPlace(reached);
    focusOn(reached, { quietly: true });
    if (reached) text.showAtTop(reached);
  }

  function move(by) {
    focusOn(current + by);
  }

  function moveFrom(index) {
    focusOn(index);
  }

  function moveToHeading(by) {
    const headings = [...paper.kinds].flatMap((kind, index) => (kind === "h" ? [index] : []));
    const next = by > 0 ? headings.find((index) => index > current) : headings.findLast((index) => index < current);
    if (next !== undefined) focusOn(next);
  }

  async function askToSubmit() {
    bar.refuse("");
    if (await confirmInDialog(submitWords(picks, budget))) await submit();
  }

  async function submit() {
    saver.forget();
    await saver.settled();
    try {
      await server.submit("tasks", { ...found(), revision: kept.revision, tab });
    } catch (error) {
      if (handleOtherTab(error.answer ?? error)) return;
      bar.refuse(error.message);
      if (error.status !== 409) return;
    }
    tell({ id, is_final: true });
    await end({ isKept: true });
    go(linkTo(id), { replaces: true });
  }

  async function end({ isKept = false } = {}) {
    if (isOver) return;
    if (isKept) remember(changesKey, null);
    else keepNow();
    await stop();
  }

  async function stop() {
    isOver = true;
    document.querySelector("dialog.confirm")?.close();
    clock.stop();
    clearInterval(timer);
    window.removeEventListener("focus", lookAgain);
    await saver.end();
  }
}

function submitWords(picks, budget) {
  const final = "This is final. You are then shown where the evidence is, and your score.";
  if (!picks.length) {
    return { title: "Submit that there is no evidence?", yes: "Submit no sentence",
      words: [`You picked none of the ${counted(budget, "sentence")} that you may. An empty answer scores 0.`, final] };
  }
  const left = budget - picks.length;
  const more = left ? [`You may pick ${left} more; a further pick never lowers the score.`] : [];
  const what = picks.length === 1 ? "this sentence" : `these ${picks.length} sentences`;
  return { title: `Submit ${what}?`, yes: `Submit ${counted(picks.length, "sentence")}`, words: [...more, final] };
}

// Asks in a dialog; resolves to true where the answer is yes.
function confirmInDialog({ title, words, yes }) {
  return new Promise((resolve) => {
    let said = false;
    const answer = (value) => { said = value; dialog.close(); };
    const no = h("button", { onclick: () => answer(false) }, "Go on picking");
    const dialog = h("dialog.key-dialog.confirm", { "aria-labelledby": "confirm-title", onclose: over },
      h("h2", { id: "confirm-title" }, title),
      words.map((line) => h("p", {}, line)),
      h("p.confirm-buttons", {}, h("button.people-main", { onclick: () => answer(true) }, yes), no));
    document.body.append(dialog);
    dialog.showModal();
    no.focus();

    function over() {
      dialog.remove();
      resolve(said);
    }
  });
}

// The page after a paper is submitted: the paper viewer, with the person as the first system.

export function reviewPage(server) {
  const status = h("p.viewer-status", { role: "status" });
  const head = h("div.review-head");
  const bar = h("div");
  const body = h("div.review-body");
  const element = h("section.review-page", { hidden: true, "aria-label": "Your answer and the evidence" }, head, bar, status, body);
  let held = null; // {id, overview, record, view, key}
  let next = null;
  let choices = null;
  const keys = listenToKeys(element, reviewCommands(() => held?.view, () => held?.overview, () => go(next ? pickLink(next.id) : "#/queue")));
  return { element, show, leave };

  async function show(route) {
    if (held?.id !== route.id) await load(route.id);
    if (held?.id !== route.id) return;
    const state = chosen(held.overview, route);
    const key = JSON.stringify([state.task, state.a, state.b]);
    choices.update(state);
    if (held.key === key) {
      if (route.sentence !== null) held.view.show(route.sentence);
      return;
    }
    const scroll = held.key === undefined ? 0 : window.scrollY;
    held.key = key;
    held.view = paperView(held.overview, held.record, { ...state, sentence: route.sentence, heading: "h2" });
    body.replaceChildren(held.view);
    window.scrollTo(0, scroll);
  }

  async function load(id) {
    leave();
    held = { id };
    status.textContent = "Loading…";
    try {
      const queue = await server.queue("tasks");
      if (queue.rows.find((row) => row.id === id)?.status !== "done") {
        held = null;
        go(pickLink(id), { replaces: true });
        return;
      }
      const found = await server.result("tasks", id);
      if (held?.id !== id) return;
      held = { id, ...found };
      next = nextOpen(queue.rows, id);
      status.textContent = "";
      head.replaceChildren(...headOf(found, queue.rows, next));
      choices = choiceBar(found.overview, h("button", { onclick: keys.open }, "Keyboard"));
      bar.replaceChildren(choices.element);
      document.title = `Your score: ${firstWords(found.record.paper.hypothesis, 80)}`;
      head.querySelector("h1").focus({ preventScroll: true });
    } catch (error) {
      if (held?.id !== id) return;
      held = null;
      status.textContent = error.message;
    }
  }

  function leave() {
    held = null;
    for (const part of [head, bar, body]) part.replaceChildren();
  }
}

function headOf({ record, seconds }, rows, next) {
  const recall = record.answers[0]?.find((judged) => judged !== null)?.recall ?? null;
  const submitted = rows.filter((row) => row.status === "done").length;
  return [
    h("h1", { tabindex: "-1" }, `Your aspect recall: ${percent(recall)}`),
    h("p.people-note", {}, `${minutes(seconds)} of work on this paper · ${submitted} of ${counted(rows.length, "paper")} submitted`),
    h("p.review-next", {},
      next ? h("a.people-main", { href: pickLink(next.id) }, "Next paper") : h("b", {}, "All papers are submitted. Thank you!"),
      h("a", { href: "#/queue" }, "All papers, and your score")),
  ];
}

function reviewCommands(view, overview, toNext) {
  return [
    ...stepCommands((kind, by) => view()?.jump(kind, by)),
    { keys: ["b"], name: "next system as B", run: () => overview() && cycle(overview(), "b") },
    { keys: ["n"], name: "next paper to pick in", run: toNext },
    { keys: ["Escape"], name: "back to all papers", run: () => go("#/queue") },
  ];
}
