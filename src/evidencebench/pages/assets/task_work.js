// What a person says of one task while it is on the page: what changes it, undoes it, keeps it, and makes it final.

import { recall, remember } from "./dom.js";
import { autosave, workClock } from "./server.js";

const TYPING_PAUSE = 400; // milliseconds without a letter, after which a note is saved
const SAVE_TIME_EVERY_SECONDS = 20;
const MOST_STEPS = 200; // that can be undone

/* `page` has draw(), showSaved(how, error), saved(answer), refuse(words), closed() and, where the sort is timed, place():
   the sentence that is reached. `tell` tells the other tabs of this browser. */
export function taskWork({ server, list, sort, about, found: { task, answer }, tell, page }) {
  const { id } = task;
  // A random name. The server keeps it with the answer, so that a tab is not told of its own changes.
  const tab = [...crypto.getRandomValues(new Uint32Array(4))].map((part) => part.toString(36)).join("-");
  const stepsKey = `evidencebench-steps/${server.name()}/${list}/${id}`;
  let revision = answer?.revision ?? 0;
  // The value on the server that this tab has seen last; only to look at a dispute saves nothing.
  let kept = valueOf(answer ?? (task.said ? agreed(task) : null));
  let value = kept;
  let steps = leadingHere(JSON.parse(recall(stepsKey)), value); // {undo, redo}, each with the newest last
  let isOver = false;
  const lost = []; // what was sent, of which no reply came
  let elsewhere = null; // what was said last in another tab
  const clock = sort.isTimed ? workClock(answer.seconds) : null;
  const saver = autosave(save, page.showSaved, { onHidden: () => clock && !isOver && keep(), isHeld: () => !isOver && sort.holds?.(value, about) });
  // Time counts on, and the task may be changed or submitted on another machine.
  const askAgain = () => saver.isDone() && document.visibilityState === "visible" && save(snapshot()).catch(() => {});
  const timer = clock && setInterval(askAgain, 1000 * SAVE_TIME_EVERY_SECONDS);
  const snapshot = () => (clock ? { ...value, reached: page.place(), seconds: clock.seconds() } : value);
  let nSent = 0; // by which the server knows a request that comes twice, or late
  const outgoing = (said) => ({ ...said, ...(task.of && { of: task.of }), ...(sort.answer ? { answer: sort.answer, id } : { task: id }), tab, request: nSent += 1, revision: revision + 1 });
  const lookAgain = () => keep(); // another tab may have changed the same task
  window.addEventListener("focus", lookAgain);
  return { id, list, value: () => value, can: (from) => steps[from].length > 0, change, turn, finish, submit, hear, end };

  // What a person says, of an answer or of what a view makes of it; marks ascend, picks stay in their order.
  function valueOf(said) {
    return Object.fromEntries(Object.entries(sort.empty).map(([name, none]) => {
      const one = said?.[name] ?? none;
      return [name, Array.isArray(one) && !sort.isOrdered ? one.toSorted((a, b) => a - b) : one];
    }));
  }

  function change(changed, { isText = false } = {}) {
    if (isRefused(changed)) return;
    const last = steps.undo.at(-1);
    const goesOn = isText && last?.isText && isSame(last.after, value);
    const step = { before: goesOn ? last.before : value, after: valueOf(changed), isText };
    steps = { undo: [...(goesOn ? steps.undo.slice(0, -1) : steps.undo), step].slice(-MOST_STEPS), redo: [] };
    set(changed, isText ? TYPING_PAUSE : 0);
  }

  // Takes back the newest step of "undo", or of "redo"; the other list then leads back.
  function turn(from) {
    const turned = steps[from].length ? reverted(value, steps[from].at(-1)) : value;
    if (!steps[from].length || isRefused(turned)) return;
    steps[from].pop();
    steps[from === "undo" ? "redo" : "undo"].push({ before: value, after: turned });
    set(turned);
  }

  function isRefused(changed) {
    const why = sort.refuses?.(changed, task);
    if (why) page.refuse(why);
    return Boolean(why);
  }

  function set(changed, pause) {
    value = valueOf(changed);
    remember(stepsKey, JSON.stringify(steps));
    page.refuse(clash());
    page.draw();
    keep(pause);
  }

  // What the server would refuse waits until it is whole, such as a cause whose note is not written yet.
  function keep(pause = 0) {
    const why = sort.holds?.(value, about);
    if (why) page.refuse(why);
    else saver.keep(snapshot(), pause);
  }

  async function save(said) {
    if (!clock && isSame(said, kept)) return;
    const sent = outgoing(said);
    try {
      const saved = await server.save(list, sent);
      if (clock && saved.revision > revision) tell({ list, id, ...saved });
      page.saved?.(saved);
      note(saved);
    } catch (error) {
      if (error.status === 0) lost.push(sent);
      if (!hear(error.answer ?? error)) throw error;
    }
  }

  function note(answer) {
    if (answer.revision >= revision) [kept, revision] = [valueOf(answer), answer.revision];
  }

  /* Takes over what another tab has saved or submitted meanwhile, and returns true; false: it has done neither. What this
     tab sent without a reply is its own. */
  function hear(theirs) {
    if (theirs.is_final) {
      if (!isOver) page.closed();
      stop();
      return true;
    }
    if (!(theirs.revision >= revision)) return false;
    if (theirs.revision === revision) return true;
    const isOwn = lost.some((sent) => sent.revision === theirs.revision && isSame(valueOf(sent), valueOf(theirs)));
    const base = kept;
    note(theirs);
    if (!isOwn) {
      const merged = Object.fromEntries(Object.keys(value).map((name) => [name, mergeValues(base[name], value[name], kept[name])]));
      value = valueOf(sort.joined?.(merged) ?? merged);
      const left = [];
      while (sort.refuses?.(value, task)) left.push(value.sentences.pop());
      steps = leadingHere(steps, value);
      page.draw();
      elsewhere = kept;
      page.refuse([mergedWords(sort.merged, left), clash()].filter(Boolean).join(" "));
    }
    keep();
    return true;
  }

  /* Says where this tab decided otherwise than another, as long as that is so: whichever came first, the other tab's news
     or the decision here. */
  function clash() {
    return (elsewhere && sort.clash?.(elsewhere, value, about)) ?? "";
  }

  function finish() {
    set("is_done" in value ? { ...value, is_done: true } : value);
    remember(stepsKey, null);
  }

  // Returns whether the answer is final now.
  async function submit() {
    saver.forget();
    await saver.settled();
    try {
      await server.submit(list, outgoing(snapshot()));
    } catch (error) {
      if (hear(error.answer ?? error)) return false;
      page.refuse(error.message);
      if (error.status !== 409) return false;
    }
    tell({ list, id, is_final: true });
    remember(stepsKey, null);
    await stop();
    return true;
  }

  // Waits until all is saved on the server.
  async function end() {
    if (isOver) return;
    keep();
    await stop();
  }

  async function stop() {
    isOver = true;
    clock?.stop();
    clearInterval(timer);
    window.removeEventListener("focus", lookAgain);
    await saver.end();
  }
}

const isSame = (one, other) => JSON.stringify(one) === JSON.stringify(other);

/* Merges what two tabs that both began with `base` say under a name: what either has changed. Where both changed the
   same text or choice, this tab's stays. */
function mergeValues(base, mine, theirs) {
  if (Array.isArray(mine)) {
    const stay = theirs.filter((one) => mine.includes(one) || !base.includes(one));
    return [...stay, ...mine.filter((one) => !base.includes(one) && !stay.includes(one))];
  }
  if (typeof mine === "object") {
    return { ...theirs, ...Object.fromEntries(Object.entries(mine).filter(([name, value]) => base[name] !== value)) };
  }
  return mine === base ? theirs : mine;
}

function mergedWords(words, left) {
  if (!left.length) return words;
  const which = left.sort((one, other) => one - other).join(", ");
  return `${words} Left out, since the budget is used up: ${left.length === 1 ? "sentence" : "sentences"} ${which}.`;
}

// The value without what a step has changed; what was changed since stays, and a sentence that comes back is the last.
const reverted = (value, { before, after }) => Object.fromEntries(Object.entries(value).map(([name, now]) => [name,
  Array.isArray(now) ? mergeValues(after[name], before[name], now) : mergeValues(after[name], now, before[name])]));

// The steps that lead to a value; another tab may have made others void.
function leadingHere(steps, value) {
  const leading = (list = []) => {
    let at = value;
    return list.toReversed().filter((step) => {
      const turned = reverted(at, step);
      return !isSame(at, turned) && (at = turned);
    }).reverse();
  };
  return { undo: leading(steps?.undo), redo: leading(steps?.redo) };
}

// What all annotators agree on, with which an adjudication begins.
function agreed({ said }) {
  const [first, ...others] = Object.values(said);
  if (first.sentences) return { sentences: first.sentences.filter((index) => others.every(({ sentences }) => sentences.includes(index))) };
  const same = Object.entries(first.ratings).filter(([name, rating]) => others.every(({ ratings }) => ratings[name] === rating));
  return { ratings: Object.fromEntries(same) };
}
