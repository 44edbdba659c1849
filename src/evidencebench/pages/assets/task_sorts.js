// What a person says of a task, as plain values: {sentences | ratings | cause, note}; how two tabs' values become one.

import { counted, foreign, h } from "./dom.js";
import { pickText } from "./pick_view.js";
import { linkTo } from "./route.js";
import { pickLink, taskLink } from "./task_pages.js";

export function isSame(one, other) {
  return JSON.stringify(one) === JSON.stringify(other);
}

// Of the sentences of two tabs that both began with `base`: those of the other tab that stay, and what this one added.
export function mergeIndices(base, mine, theirs) {
  const stay = theirs.filter((index) => mine.includes(index) || !base.includes(index));
  return { stay, added: mine.filter((index) => !base.includes(index) && !stay.includes(index)) };
}

/* Merges the values of two tabs that both began with `base`: what either has changed. Where both changed the same
   text or choice, this tab's stays. */
export function mergeAnswers(base, mine, theirs) {
  return Object.fromEntries(Object.keys(mine).map((name) => [name, mergeValues(base[name], mine[name], theirs[name])]));
}

function mergeValues(base, mine, theirs) {
  if (Array.isArray(mine)) {
    const { stay, added } = mergeIndices(base, mine, theirs);
    return [...stay, ...added].sort((one, other) => one - other);
  }
  if (typeof mine === "object") {
    const changed = Object.entries(mine).filter(([name, value]) => base[name] !== value);
    return { ...theirs, ...Object.fromEntries(changed) };
  }
  return mine === base ? theirs : mine;
}

// The sorts of tasks: sentences to mark, questions to rate, misses to audit; what is shown of each, and what people say.

const TASK_WORDS = {
  title: "Your tasks", progress: "Tasks done", done: "done", begin: "Begin with the first", over: "All tasks are done. Thank you!",
  isNew: "Nothing was said under this name before. If you have been here already, sign out and type your name as you did then.",
};

export const DISPUTES = {
  title: "Tasks on which annotators differ", progress: "Tasks done", done: "done", begin: "Begin with the first",
  over: "All disputes are decided. Thank you!",
  note: "Each shows who said what. Decide what is right; your decisions stand in a file of their own, and change nobody’s answers.",
  none: "There is no task that several people have done and on which they differ. Whoever annotates sees the disputes of tasks that they have done themselves.",
};

// What all sorts but picking share.
const CHANGEABLE = {
  title: null,
  signNote: "It is how you find your answers again: type it the same way every time.",
  links: [["#/tasks", "All tasks"], ["#/adjudication", "Adjudicate"]],
  words: TASK_WORDS,
  link: (list, { id }) => taskLink(list, id),
  guideFold: (about) => guideFold("How to decide", sortOf(about).guide(about)),
};

function guideFold(summary, lines) {
  return h("details.people-guide", {}, h("summary", {}, summary), h("ul", {}, lines.map((line) => h("li", {}, line))));
}

// Papers in which people pick, until they submit. The instructions are those that language models get in their prompt.
export const PICKING = {
  ...CHANGEABLE,
  title: "Find the evidence",
  signNote: "It stands beside your score, and it is how you find your picks again: type it the same way every time.",
  links: [["#/queue", "All papers"]],
  words: {
    title: "Your papers", progress: "Papers submitted", done: "submitted", begin: "Begin with the first paper",
    over: "All papers are submitted. Thank you!",
    isNew: "Nothing was picked under this name before. If you have been here already, sign out and type your name as you did then.",
  },
  link: (_, { id, status }) => (status === "done" ? linkTo(id) : pickLink(id)),
  guideFold: (about) => guideFold("What counts as evidence", PICKING.guide(about)),
  explain: (about) => [
    h("p", {}, `You will read ${counted(about.n_tasks, "paper")}. With each comes a hypothesis, and the number of sentences `,
      "that you may pick. Pick those that are evidence on the hypothesis, for or against it; what they miss is shown to you ",
      "once you have submitted."),
    PICKING.guideFold(about),
  ],
  guide: ({ scope }) => [
    "What the paper itself did and found that bears on the hypothesis. Evidence against it, and finding no difference, count as much as evidence for it. Background, aims and findings of other papers do not count.",
    scope === "results"
      ? "Wanted are outcomes and analyses only: what was found, how large it was and how certain, in whom, and what was adjusted for."
      : "Wanted is evidence of every sort: how the study was made, in whom or in what, with which comparison, and what came out.",
    "Think of the handful of points that an expert’s summary of this paper for this hypothesis would hold. Your score is the share of these points that your sentences state.",
    "A sentence that states several points is worth more than one that states one; a second sentence for the same point adds nothing. The abstract often states several points at once.",
  ],
};

/* A sort that can be changed at any time has `empty`, the value of a task of which nothing was said; `ask`, `guide` and
   `explain`, words for people; `head(task)`, elements below the question; `lacks(value, about)`, why it is not done, or null;
   and `view(task, about, on)`, which returns {element, show(value), focus(), commands}. `on` has change(value), value() and
   askForNote(). */
const MARKING = {
  ...CHANGEABLE,
  empty: { sentences: [], note: "" },
  ask: "Which sentences hold this aspect?",
  done: (value) => `Done: ${value.sentences.length ? `${counted(value.sentences.length, "sentence")} marked` : "no sentence holds it"}`,
  text: (task) => task.aspect,
  lacks: () => null,
  explain: (about) => [
    h("p", {}, `You will read ${counted(about.n_tasks, "paper")}. With each comes one aspect: a statement that an expert’s summary of that paper makes. `,
      "Mark every sentence of the paper that holds it. Nobody’s marks are shown to you, and yours to nobody, until both are done."),
  ],
  guide: () => [
    "A sentence holds the aspect if it implies most of it, and the rest can be inferred from the sentences around it.",
    "Mark every such sentence, also in the abstract and where it repeats another. Headings count as sentences.",
    "A sentence on the same subject that does not say it, as a method or an aim, does not hold it.",
    "Often no sentence holds the aspect; then be done without a mark.",
  ],
  head: (task) => [
    contextOf("Hypothesis", task.hypothesis),
    task.summary ? h("details.task-summary", {}, h("summary", {}, "The expert’s summary"), foreign("p", { tabindex: "0" }, task.summary)) : null,
  ],
  view: markingView,
};

const RATING = {
  ...CHANGEABLE,
  empty: { ratings: {}, note: "" },
  ask: "Answer each question with yes or no.",
  done: () => "Done",
  text: (task) => task.aspect || task.hypothesis || `What a review says of the paper that it cites as ${task.cited || task.paper_id}`,
  lacks: (value, about) => (about.criteria.every(({ name }) => name in value.ratings) ? null : "Some questions are not answered yet."),
  explain: (about) => [h("p", {}, `You will answer ${counted(about.criteria.length, "question")} on each of ${counted(about.n_tasks, "task")}.`)],
  guide: (about) => about.criteria.map(({ question }) => question),
  head: (task) => [
    task.aspect ? contextOf("Hypothesis", task.hypothesis) : null,
    task.summary ? h("details.task-summary", { open: true }, h("summary", {}, "The expert’s summary"), foreign("p", { tabindex: "0" }, task.summary)) : null,
    task.text ? foreign("p.task-excerpt", { tabindex: "0" }, [task.before, " ", h("mark", {}, task.text), " ", task.after]) : null,
  ],
  view: ratingView,
};

const AUDIT = {
  ...CHANGEABLE,
  links: CHANGEABLE.links.slice(0, 1),
  empty: { cause: "", note: "" },
  ask: "Why does this aspect count as missed?",
  done: () => "Done",
  text: (task) => task.aspect || `(the data has no text of ${task.aspect_id}; read its sources)`,
  lacks: (value, about) => {
    if (!value.cause) return "Choose a cause first.";
    return causeOf(about, value).needs_note && !value.note.trim() ? "This cause needs a note that says which." : null;
  },
  explain: (about) => [
    h("p", {}, "You will look at ", h("b", {}, `${about.n_tasks} ${about.n_tasks === 1 ? "miss" : "misses"}`), " of ", foreign("b", {}, about.system),
      ": aspects of papers that none of its selected sentences holds, by the labels. Say why each counts as missed. ",
      "Sources, the sentences that hold the aspect by the labels, and selected sentences are marked in the paper."),
  ],
  guide: () => [
    "Read the selected sentences first: does one of them hold the aspect? Then the labels lack that sentence.",
    "Then read the sources: does one of them hold the aspect by itself? If none does, no single sentence could be found.",
    "If the sources hold it and the selection does not, the system missed it, unless the aspect has nothing to do with the hypothesis, or no selection of that size could hold more.",
  ],
  head: (task) => [
    contextOf("Hypothesis", task.hypothesis),
    contextOf("Labelled as", task.is_result ? "a result" : "no result"),
    task.limit ? contextOf("The limit", task.limit) : null,
  ],
  view: auditView,
};

export function sortOf(about) {
  return { picks: PICKING, sentences: MARKING, misses: AUDIT }[about.sort] ?? RATING;
}

function contextOf(name, text) {
  return h("p.task-context", { tabindex: "0" }, h("span", {}, `${name}: `), foreign("span", {}, text));
}

function causeOf(about, value) {
  return about.causes.find(({ name }) => name === value.cause);
}

// All sentences of the paper; each can be marked.
function markingView(task, about, on) {
  const isFree = task.said ? differing(task) : () => true;
  const text = pickText(task, { toggle, move: focusAt, reach: (index) => { current = index; text.reach(index); } });
  let current = 0;
  const whole = h("button", { "aria-pressed": "false", onclick: showWhole }, "Show the whole paper");
  if (task.said) decorate(task, text.element, isFree);
  return { element: task.said ? h("div", {}, whole, text.element) : text.element, show, focus: () => focusAt(first(), { preventScroll: !task.said }), commands: [
    { keys: ["x"], name: "mark the sentence, or take it back (also Space)", run: () => toggle(current) },
    { keys: ["j"], name: "next sentence (also ↓)", run: () => move(1) },
    { keys: ["k"], name: "previous sentence (also ↑)", run: () => move(-1) },
    ...(task.said ? [{ keys: ["a"], name: "show the whole paper, or only the disputed part", run: showWhole }] : []),
  ] };

  function showWhole() {
    whole.setAttribute("aria-pressed", text.element.classList.toggle("is-whole"));
  }

  function first() {
    return task.said ? Math.max(0, task.sentences.findIndex((_, index) => isFree(index))) : 0;
  }

  function show(value) {
    text.showPicked(new Set(value.sentences));
  }

  function toggle(index) {
    if (!isFree(index)) return;
    const { sentences, ...rest } = on.value();
    const changed = sentences.includes(index) ? sentences.filter((one) => one !== index) : [...sentences, index];
    on.change({ sentences: changed.sort((one, other) => one - other), ...rest });
  }

  // Goes to the next sentence; in a dispute, to the next on which annotators differ.
  function move(by) {
    let next = current + by;
    while (task.said && next >= 0 && next < task.sentences.length && !isFree(next)) next += by;
    focusAt(next);
  }

  function focusAt(index, options) {
    const reached = Math.max(0, Math.min(index, task.sentences.length - 1));
    current = reached;
    text.reach(reached);
    text.focus(reached, options);
  }
}

// Whether annotators differ on a sentence.
function differing(task) {
  const said = Object.values(task.said);
  return (index) => new Set(said.map(({ sentences }) => sentences.includes(index))).size > 1;
}

// Shows who marked what beside each sentence on which annotators differ, and folds away what is far from these.
function decorate(task, list, isFree) {
  const rows = [...list.querySelectorAll(".pick-row")];
  rows.forEach((row, index) => {
    const isNear = [-2, -1, 0, 1, 2].some((by) => isFree(index + by));
    row.classList.toggle("is-agreed", !isFree(index));
    row.classList.toggle("is-far", !isNear);
    if (!isFree(index)) {
      row.querySelector("button").disabled = true;
      return;
    }
    row.append(h("ul.task-said", { "aria-label": `Who marked sentence ${index}` },
      Object.entries(task.said).map(([name, { sentences }]) => h("li", { class: sentences.includes(index) ? "is-marked" : "" },
        foreign("b", {}, name), sentences.includes(index) ? " marked it" : " did not"))));
  });
}

// The questions, each with yes and no, and the paper where one is asked about.
function ratingView(task, about, on) {
  let current = 0;
  const questions = about.criteria.map(({ name, question }, place) => {
    const buttons = [["Yes", true], ["No", false]].map(([words, value]) =>
      h("button.task-choice", { "aria-pressed": "false", onfocus: () => { current = place; }, onclick: () => rate(name, value) }, words));
    const said = Object.entries(task.said ?? {}).map(([who, { ratings }]) =>
      h("li", {}, foreign("b", {}, who), `: ${ratings[name] ? "yes" : "no"}`));
    return { name, buttons, element: h("div.task-question", { role: "group", "aria-label": question },
      foreign("p", {}, question), said.length ? h("ul.task-said", {}, said) : null, h("div.task-choices", {}, buttons)) };
  });
  const form = h("div.task-form", {}, questions.map(({ element }) => element));
  return { element: h("div", {}, form, task.sentences.length ? paperList(task) : null), show, focus: () => focusAt(0), commands: [
    { keys: ["y"], name: "yes", run: () => answer(true) },
    { keys: ["x"], name: "no", run: () => answer(false) },
    { keys: ["j", "ArrowDown"], name: "next question", run: () => focusAt(current + 1) },
    { keys: ["k", "ArrowUp"], name: "previous question", run: () => focusAt(current - 1) },
  ] };

  function answer(value) {
    rate(questions[current].name, value);
    focusAt(current + 1);
  }

  function rate(name, value) {
    const { ratings, ...rest } = on.value();
    on.change({ ratings: { ...ratings, [name]: value }, ...rest });
  }

  function show({ ratings }) {
    for (const { name, buttons } of questions)
      buttons.forEach((button, n) => button.setAttribute("aria-pressed", ratings[name] === (n === 0)));
  }

  function focusAt(place) {
    current = Math.max(0, Math.min(place, questions.length - 1));
    questions[current]?.buttons[0].focus();
  }
}

// The paper to read; the sentences with tags can be focused.
function paperList(task, tagsOf = () => []) {
  return h("ol.pick-text", { role: "list", "aria-label": "Sentences of the paper" }, task.sentences.map((sentence, index) => {
    const tags = tagsOf(index);
    return h("li", { class: `audit-row pick-${task.kinds[index]} ${tags.map((tag) => `is-${tag}`).join(" ")}`, id: `sentence-${index}`, tabindex: tags.length ? "-1" : null },
      h("span.pick-number", {}, String(index)), foreign("span.pick-words", {}, sentence.trim() ? sentence : "(no text)"),
      tags.length ? h("span.audit-tags", {}, tags.join(", ")) : null);
  }));
}

// The selected sentences beside the sources, the causes, and the paper with both marked.
function auditView(task, about, on) {
  const sources = new Set(task.sources);
  const selected = new Set(task.selected);
  const buttons = about.causes.map((cause, place) =>
    h("button.task-choice", { "aria-pressed": "false", onclick: () => choose(cause) },
      h("kbd", {}, String(place + 1)), h("span", {}, cause.words, h("small", {}, cause.is_fault ? " The system’s fault." : " Not its fault."))));
  const paper = paperList(task, (index) => [sources.has(index) ? "source" : null, selected.has(index) ? "selected" : null].filter(Boolean));
  const marked = [...new Set([...task.selected, ...task.sources])].sort((one, other) => one - other);
  const listed = (name, tag, indices) => h("section", { tabindex: "0", "aria-label": name }, h("h2", {}, `${name} (${indices.length})`),
    h("ol", { role: "list" }, indices.map((index) => h("li", { class: `is-${tag}` },
      h("button.audit-link", { "aria-label": `sentence ${index}, in the paper`, onclick: () => look(index) }, index), foreign("span", {}, task.sentences[index])))));
  const evidence = h("div.audit-evidence", {}, listed("Selected by the system", "selected", task.selected.toSorted((one, other) => one - other)),
    listed("Sources by the labels", "source", task.sources));
  let looked = -1;
  return { element: h("div", {}, evidence, h("div.task-causes", { role: "group", "aria-label": AUDIT.ask }, buttons), paper),
    show, focus: () => buttons[0].focus({ preventScroll: true }), commands: [
    { keys: about.causes.map((_, place) => String(place + 1)), name: "choose that cause", run: (key) => choose(about.causes[Number(key) - 1]) },
    { keys: ["j", "ArrowDown"], name: "next source or selected sentence", run: () => step(1) },
    { keys: ["k", "ArrowUp"], name: "previous source or selected sentence", run: () => step(-1) },
  ] };

  function choose(cause) {
    on.change({ ...on.value(), cause: on.value().cause === cause.name ? "" : cause.name });
    if (cause.needs_note && on.value().cause) on.askForNote();
  }

  function show(value) {
    buttons.forEach((button, place) => button.setAttribute("aria-pressed", about.causes[place].name === value.cause));
  }

  function step(by) {
    const next = by > 0 ? marked.find((index) => index > looked) : marked.findLast((index) => index < looked);
    if (next !== undefined) look(next);
  }

  function look(index) {
    looked = index;
    paper.children[index].focus();
  }
}
