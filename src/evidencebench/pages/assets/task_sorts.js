/* The sorts of tasks: papers to pick in, sentences to mark, questions to rate, misses to audit. A sort says what is shown
   of a task, and what people say of it, by:
   `answer`, the name of the form of answers (none for cells of a review), and `empty`, the value of a task of which nothing was said, such as
   {sentences, ratings, choice, note, is_done};
   `lists`, the server's names of its lists by those in addresses, and `link(list, row)`, the address of a task;
   `ask`, `guide`, `explain`, `words`, `merged` and `done(value)`, words for people;
   `text(task)`, the question, `limit(task)`, what is said below it, and `head(task)`, elements between the two;
   `status(value, task, about)`, how far the person is; `lacks(value, about)`, why it is not done, or null;
   `refuses(value, task)`, why it cannot be changed to this; `holds(value, about)`, why it cannot be saved yet;
   `isTimed`, whether working time and place are kept; `isOrdered`, whether the order of sentences is;
   `confirm(value, task)`, what is asked before it is submitted, where an answer can be final, with a result afterwards;
   `view(task, about, on)`, which returns {element, show(value), begin(sentence, reached), commands}, also `side`, an element
   below the buttons, and where it is timed `place(bar)`. `on` has change(value), value() and askForNote(). */

import { counted, foreign, h, stepKeys } from "./dom.js";
import { firstWords } from "./graded.js";
import { beyond, pickText } from "./paper_text.js";
import { linkTo } from "./route.js";

const WIDE = "(min-width: 900px)";

const TASKS = {
  one: "Task", title: "Your tasks", progress: "Tasks done", done: "done", begin: "Begin with the first", over: "All tasks are done. Thank you!",
  isNew: "There are no answers under this name yet. If you have been here before, sign out and type your name as you did then.",
};

const DISPUTES = {
  one: "Dispute", title: "Tasks on which annotators differ", progress: "Tasks done", done: "done", begin: "Begin with the first",
  over: "All disputes are decided. Thank you!",
  note: "Each shows who answered what. Decide what is right; your decisions are stored in a separate file and change nobody’s answers.",
  none: "There is no task that several people have done and on which they differ. Annotators see only the disputes of tasks that they have done.",
};

// What all sorts but picking share: they can be changed at any time.
const CHANGEABLE = {
  title: null,
  signNote: "You need it to find your answers again: type it the same way every time.",
  links: [["#/tasks", "All tasks"], ["#/adjudication", "Adjudicate"]],
  lists: { tasks: TASKS, adjudication: DISPUTES },
  link: (list, { id }) => taskLink(list, id),
  guideTitle: "How to decide",
  limit: () => "",
  status: (value) => (value.is_done ? "Done." : "Not done yet."),
  done: () => "Done",
  merged: "This task was changed in another tab; both changes are now combined.",
};

export const taskLink = (list, id = null) => (id === null ? `#/${list}` : `#/${list}/${encodeURIComponent(id)}`);

export const guideFold = (sort, about) =>
  h("details.people-guide", {}, h("summary", {}, sort.guideTitle), h("ul", {}, sort.guide(about).map((line) => h("li", {}, line))));

// Papers in which people pick, until they submit. The instructions are those that language models get in their prompt.
const PICKING = {
  title: "Find the evidence",
  signNote: "It is shown with your score, and you need it to find your selections again: type it the same way every time.",
  links: [["#/queue", "All papers"]],
  lists: {
    tasks: {
      title: "Your papers", progress: "Papers submitted", done: "submitted", begin: "Begin with the first paper",
      over: "All papers are submitted. Thank you!",
      isNew: "There are no selections under this name yet. If you have been here before, sign out and type your name as you did then.",
    },
  },
  link: (_, { id, status }) => (status === "done" ? linkTo(id) : taskLink("pick", id)),
  answer: "ranking",
  empty: { sentences: [] },
  isTimed: true,
  isOrdered: true,
  ask: "Hypothesis",
  text: (task) => task.hypothesis,
  limit: ({ budget }) => `Select up to ${counted(budget, "sentence")}.`,
  head: () => [],
  status: ({ sentences }, { budget }) => `${sentences.length} of ${budget} selected.`,
  done: ({ sentences: { length } }) => (length ? `Submit ${counted(length, "sentence")}…` : "I find no evidence…"),
  lacks: () => null,
  refuses: ({ sentences }, { budget }) => sentences.length > budget &&
    `You have selected ${budget === 1 ? "the 1 sentence" : `all ${budget} sentences`} that you may: remove one before you select another.`,
  merged: "Your selections in this paper were changed in another tab; both are now combined.",
  confirm: submitWords,
  view: sentencesView,
  guideTitle: "What counts as evidence",
  explain: (about) => [
    h("p", {}, `You will read ${counted(about.n_tasks, "paper")}. With each comes a hypothesis, and the number of sentences `,
      "that you may select. Select those that are evidence for or against the hypothesis. You see what you missed ",
      "after you submit."),
    guideFold(PICKING, about),
  ],
  guide: ({ scope }) => [
    "Evidence is what the paper itself did and found that bears on the hypothesis. Evidence against it, and a finding of no difference, count as much as evidence for it. Background, aims and findings of other papers do not count.",
    scope === "results"
      ? "Select outcomes and analyses only: what was found, how large and how certain it was, in whom, and what was adjusted for."
      : "Select evidence of every kind: how the study was done, in whom or in what, with which comparison, and what was found.",
    "Think of the few points that an expert’s summary of this paper for this hypothesis would make. Your score is the share of these points that your sentences state.",
    "A sentence that states several points is worth more than one that states one; a second sentence for the same point adds nothing. The abstract often states several points at once.",
  ],
};

function submitWords({ sentences: { length } }, { budget }) {
  const final = "This is final. You will then see where the evidence is, and your score.";
  if (!length) {
    return { title: "Submit that there is no evidence?", yes: "Submit no sentence",
      words: [`You selected none of the ${counted(budget, "sentence")} that you may. An empty answer scores 0.`, final] };
  }
  const more = length < budget ? [`You may select ${budget - length} more; another sentence never lowers the score.`] : [];
  const what = length === 1 ? "this sentence" : `these ${length} sentences`;
  return { title: `Submit ${what}?`, yes: `Submit ${counted(length, "sentence")}`, no: "Continue selecting", words: [...more, final] };
}

const MARKING = {
  ...CHANGEABLE,
  answer: "marks",
  empty: { sentences: [], note: "", is_done: false },
  ask: "Which sentences state this aspect?",
  done: (value) => `Done: ${value.sentences.length ? `${counted(value.sentences.length, "sentence")} selected` : "no sentence states it"}`,
  text: (task) => task.aspect,
  lacks: () => null,
  explain: (about) => [
    h("p", {}, `You will read ${counted(about.n_tasks, "paper")}. With each comes one aspect: a statement that an expert’s summary of that paper makes. `,
      "Select every sentence of the paper that states it. You do not see the selections of others, nor they yours, until both are done."),
  ],
  guide: () => [
    "A sentence states the aspect if it implies most of it, and the rest can be inferred from the sentences around it.",
    "Select every such sentence, also in the abstract and where it repeats another. Headings count as sentences.",
    "A sentence on the same subject that does not say it, such as a method or an aim, does not state it.",
    "Often no sentence states the aspect; then finish without selecting any.",
  ],
  head: (task) => [
    contextOf("Hypothesis", task.hypothesis),
    task.summary ? h("details.task-summary", {}, h("summary", {}, "The expert’s summary"), foreign("p", { tabindex: "0" }, task.summary)) : null,
  ],
  view: sentencesView,
};

const RATING = {
  ...CHANGEABLE,
  answer: "ratings",
  empty: { ratings: {}, note: "", is_done: false },
  ask: "Answer each question with yes or no.",
  text: (task) => task.aspect || task.hypothesis || `What a review says about the paper that it cites as ${task.cited || task.paper_id}`,
  lacks: (value, about) => (about.criteria.every(({ name }) => name in value.ratings) ? null : "Some questions are not answered yet."),
  explain: (about) => [h("p", {}, `You will answer ${counted(about.criteria.length, "question")} about each of ${counted(about.n_tasks, "task")}.`)],
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
  lists: { tasks: TASKS },
  answer: "decision",
  empty: { choice: "", note: "" },
  ask: "Why does this aspect count as missed?",
  text: (task) => task.aspect || `(the data has no text for ${task.aspect_id}; read its source sentences)`,
  lacks: (value, about) => {
    if (!value.choice) return "Choose a cause first.";
    const { needs_note: needsNote } = about.causes.find(({ name }) => name === value.choice);
    return needsNote && !value.note.trim() ? "This cause needs a note that explains it." : null;
  },
  status: (value, _, about) => CHANGEABLE.status({ is_done: AUDIT.lacks(value, about) === null }),
  holds: (value, about) => value.choice && AUDIT.lacks(value, about),
  explain: (about) => [
    h("p", {}, "You will look at ", h("b", {}, `${about.n_tasks} ${about.n_tasks === 1 ? "miss" : "misses"}`), " of ", foreign("b", {}, about.system),
      ": aspects that, by the labels, none of its selected sentences states. Say why each counts as missed. ",
      "Selected sentences and sources (the sentences that state the aspect, by the labels) are marked in the paper."),
  ],
  guide: () => [
    "Read the selected sentences first: does one of them state the aspect? Then the labels lack that sentence.",
    "Then read the sources: does one of them state the aspect by itself? If none does, no single sentence could be found.",
    "If the sources state it and the selection does not, the system missed it, unless the aspect has nothing to do with the hypothesis, or no selection of that size could cover more.",
  ],
  head: (task) => [
    contextOf("Hypothesis", task.hypothesis),
    contextOf("Labelled as", task.is_result ? "a result" : "no result"),
    task.limit ? contextOf("The limit", task.limit) : null,
  ],
  view: auditView,
};

export const sortOf = (about) => ({ picks: PICKING, sentences: MARKING, misses: AUDIT }[about.sort] ?? RATING);

const contextOf = (name, text) => h("p.task-context", { tabindex: "0" }, h("span", {}, `${name}: `), foreign("span", {}, text));

// All sentences of the paper; each can be marked, in a dispute those on which annotators differ.
function sentencesView(task, about, on) {
  const text = pickText(task, toggle);
  const isFree = task.said ? decorate(task, text.element) : () => true;
  const showWhole = () => whole.setAttribute("aria-pressed", text.element.classList.toggle("is-whole"));
  const whole = h("button", { "aria-pressed": "false", onclick: showWhole }, "Show the whole paper");
  const picks = task.budget ? pickList(task, toggle) : null;
  const headings = [...task.kinds].flatMap((kind, index) => (kind === "h" ? [index] : []));
  return { element: task.said ? h("div", {}, whole, text.element) : text.element, side: picks?.element, show, begin, place: text.place, commands: [
    { keys: ["x"], name: `select the sentence, or undo (also Space${picks ? " or Enter" : ""})`, run: () => toggle(text.reached()) },
    { keys: ["j"], name: "next sentence (also ↓)", run: () => move(1) },
    { keys: ["k"], name: "previous sentence (also ↑)", run: () => move(-1) },
    ...stepKeys(["]"], ["["], "heading", (by) => text.focus(beyond(headings, text.reached(), by) ?? text.reached())),
    ...(task.said ? [{ keys: ["a"], name: "show the whole paper, or only the disputed part", run: showWhole }] : []),
  ] };

  // Goes to a sentence that a link names, to where the paper was left, or to the first that is disputed.
  function begin(sentence, reached = 0) {
    if (sentence !== null) return text.focus(sentence);
    const first = task.said ? task.sentences.findIndex((_, index) => isFree(index)) : reached;
    text.focus(first, { preventScroll: !task.said });
    if (reached) text.showAtTop(reached);
  }

  function show({ sentences }) {
    text.showPicked(sentences);
    picks?.show(sentences);
  }

  function toggle(index) {
    text.reach(index);
    if (!isFree(index)) return;
    const { sentences } = on.value();
    on.change({ ...on.value(), sentences: sentences.includes(index) ? sentences.filter((one) => one !== index) : [...sentences, index] });
  }

  // Goes to the next sentence; in a dispute, to the next on which annotators differ.
  function move(by) {
    let next = text.reached() + by;
    while (task.said && next >= 0 && next < task.sentences.length && !isFree(next)) next += by;
    text.focus(next);
  }
}

// The list of picks, each with a button that removes it.
function pickList(task, toggle) {
  const none = h("p.people-note");
  const list = h("ul.picks");
  const element = h("details.pick-list", { open: matchMedia(WIDE).matches }, h("summary", {}, "Your selection"), none, list);
  return { element, show };

  function show(picks) {
    none.textContent = picks.length ? "" : "None yet: click a sentence, or press Space on it.";
    list.replaceChildren(...picks.toSorted((one, other) => one - other).map((index) => h("li", {},
      h("a", { href: `${taskLink("pick", task.id)}/${index}` }, h("b", {}, String(index)), " ", foreign("span", {}, firstWords(task.sentences[index], 90))),
      h("button.pick-remove", { "aria-label": `Remove sentence ${index}`, onclick: () => remove(index) }, "Remove"))));
  }

  // The pressed button goes away with its pick, so the next button gets the focus.
  function remove(index) {
    const at = [...list.querySelectorAll(".pick-remove")].indexOf(document.activeElement);
    toggle(index);
    const left = list.querySelectorAll(".pick-remove");
    (left[Math.min(at, left.length - 1)] ?? element.querySelector("summary")).focus();
  }
}

/* Shows who marked what beside each sentence on which annotators differ, and folds away what is far from these. Returns
   whether they differ on a sentence. */
function decorate({ said }, list) {
  const isFree = (index) => new Set(Object.values(said).map(({ sentences }) => sentences.includes(index))).size > 1;
  list.querySelectorAll(".pick-row").forEach((row, index) => {
    row.classList.toggle("is-agreed", !isFree(index));
    row.classList.toggle("is-far", ![-2, -1, 0, 1, 2].some((by) => isFree(index + by)));
    row.querySelector("button").disabled = !isFree(index);
    if (isFree(index)) row.append(h("ul.task-said", { "aria-label": `Who selected sentence ${index}` },
      Object.entries(said).map(([name, { sentences }]) => h("li", { class: sentences.includes(index) ? "is-marked" : "" },
        foreign("b", {}, name), sentences.includes(index) ? " selected it" : " did not"))));
  });
  return isFree;
}

// The questions, each with yes and no, and the paper where one is asked about.
function ratingView(task, about, on) {
  let current = 0;
  const rate = (name, value) => on.change({ ...on.value(), ratings: { ...on.value().ratings, [name]: value } });
  const questions = about.criteria.map(({ name, question }, place) => {
    const buttons = [["Yes", true], ["No", false]].map(([words, value]) =>
      h("button.task-choice", { "aria-pressed": "false", onfocus: () => { current = place; }, onclick: () => rate(name, value) }, words));
    const said = Object.entries(task.said ?? {}).map(([who, { ratings }]) => h("li", {}, foreign("b", {}, who), `: ${ratings[name] ? "yes" : "no"}`));
    return { name, buttons, element: h("div.task-question", { role: "group", "aria-label": question },
      foreign("p", {}, question), said.length > 0 && h("ul.task-said", {}, said), h("div.task-choices", {}, buttons)) };
  });
  const form = h("div.task-form", {}, questions.map(({ element }) => element));
  const answer = (value) => { rate(questions[current].name, value); focusAt(current + 1); };
  return { element: h("div", {}, form, task.sentences.length > 0 && paperList(task)), show, begin: () => focusAt(0), commands: [
    { keys: ["y"], name: "yes", run: () => answer(true) },
    { keys: ["x"], name: "no", run: () => answer(false) },
    ...stepKeys(["j", "ArrowDown"], ["k", "ArrowUp"], "question", (by) => focusAt(current + by)),
  ] };

  function show({ ratings }) {
    for (const { name, buttons } of questions) buttons.forEach((button, n) => { button.ariaPressed = ratings[name] === (n === 0); });
  }

  function focusAt(place) {
    current = Math.max(0, Math.min(place, questions.length - 1));
    questions[current]?.buttons[0].focus();
  }
}

// The paper to read; the sentences with tags can be focused.
const paperList = (task, tagsOf = () => []) =>
  h("ol.pick-text", { role: "list", "aria-label": "Sentences of the paper" }, task.sentences.map((sentence, index) => {
    const tags = tagsOf(index);
    return h("li", { class: `audit-row pick-${task.kinds[index]} ${tags.map((tag) => `is-${tag}`).join(" ")}`, id: `sentence-${index}`, tabindex: tags.length ? "-1" : null },
      h("span.pick-number", {}, String(index)), foreign("span.pick-words", {}, sentence.trim() ? sentence : "(no text)"),
      tags.length ? h("span.audit-tags", {}, tags.join(", ")) : null);
  }));

// Buttons to choose one of, each also by the key of its number. Returns {buttons, command, show(a name)}.
export function numbered(choices, wordsOfChoice, choose, first = 1) {
  const buttons = choices.map((choice, n) =>
    h("button.task-choice", { "aria-pressed": "false", onclick: () => choose(choice) }, h("kbd", {}, n + first), h("span", {}, wordsOfChoice(choice))));
  return {
    buttons,
    command: { keys: choices.map((_, n) => String(n + first)), run: (key) => choose(choices[Number(key) - first]) },
    show: (chosenName) => buttons.forEach((button, n) => { button.ariaPressed = choices[n].name === chosenName; }),
  };
}

// The selected sentences beside the sources, the causes, and the paper with both marked.
function auditView(task, about, on) {
  const tags = { source: task.sources, selected: task.selected.toSorted((one, other) => one - other) };
  const causes = numbered(about.causes, (cause) => [cause.words, h("small", {}, cause.is_fault ? " The system’s fault." : " Not its fault.")], choose);
  const paper = paperList(task, (index) => Object.keys(tags).filter((tag) => tags[tag].includes(index)));
  const marked = [...new Set([...task.selected, ...task.sources])].sort((one, other) => one - other);
  const listed = (name, tag) => h("section", { tabindex: "0", "aria-label": name }, h("h2", {}, `${name} (${tags[tag].length})`),
    h("ol", { role: "list" }, tags[tag].map((index) => h("li", { class: `is-${tag}` },
      h("button.audit-link", { "aria-label": `sentence ${index}, in the paper`, onclick: () => look(index) }, index), foreign("span", {}, task.sentences[index])))));
  const evidence = h("div.audit-evidence", {}, listed("Selected by the system", "selected"), listed("Sources by the labels", "source"));
  let looked = -1;
  return { element: h("div", {}, evidence, h("div.task-causes", { role: "group", "aria-label": AUDIT.ask }, causes.buttons), paper),
    show: ({ choice }) => causes.show(choice), begin: () => causes.buttons[0].focus({ preventScroll: true }), commands: [
    { ...causes.command, name: "choose that cause" },
    ...stepKeys(["j", "ArrowDown"], ["k", "ArrowUp"], "source or selected sentence", step),
  ] };

  function choose(cause) {
    on.change({ ...on.value(), choice: on.value().choice === cause.name ? "" : cause.name });
    if (cause.needs_note && on.value().choice) on.askForNote();
  }

  function step(by) {
    const next = beyond(marked, looked, by);
    if (next !== undefined) look(next);
  }

  function look(index) {
    looked = index;
    paper.children[index].focus();
  }
}
