// Makes the parts of all papers' pages: the numbers of aspects, a system's mark, and the label of an abstract.

import { counted, foreign, h, percent, wide } from "./dom.js";

// Buttons with the numbers of aspects.
export const chips = (aspects, onChoose) => aspects.map((aspect) => {
  const text = aspect.text === null ? "" : `: ${firstWords(aspect.text, 200)}`;
  const name = `aspect ${aspect.number}${text}${aspect.counts ? "" : " (does not count in this task)"}`;
  const told = { "aria-label": name, "aria-pressed": "false", title: `${name} (id ${aspect.id})`, "data-aspect": aspect.number };
  return [h(aspect.counts ? "button.chip" : "button.chip.is-muted", { ...told, onclick: () => onChoose(aspect) }, aspect.number), " "];
});

// The mark of a system: a disc for A, a square for B; hollow where chance decides whether the sentence counts.
export function mark(side, share = 1) {
  const words = share < 1 ? `named by ${side.label}; counts with probability ${percent(share)}` : `selected by ${side.label}`;
  return h(`span.mark.mark-${side.key}${share < 1 ? ".is-drawn" : ""}`, { role: "img", "aria-label": words, title: words });
}

// The same mark without words, for places where the text beside it says what it means.
export const plainMark = (side) => h(`span.mark.mark-${side.key}`, { "aria-hidden": "true" });

// The label "Abstract", which this page adds where the paper has no such heading.
export function abstractLabel(paper, index) {
  const before = index ? paper.sentences[index - 1].trim().toLowerCase() : "";
  return before === "abstract" ? null : h("p.abstract-label", {}, "Abstract");
}

// Computes what the paper view shows: the aspects that count, each system's sentences, and the aspects they cover.
// For display only: the scores are those of the record, which Python computed.
export function gradedOf(overview, record, state) {
  const task = overview.tasks[state.task];
  const n = record.paper.sentences.length;
  const aspects = record.aspects.map((aspect, position) => ({
    ...aspect,
    number: position, // from 0, as in the data
    counts: task.scope === "all" || aspect.is_result,
    sentences: aspect.sentences.filter((index) => index < n),
  }));
  const stated = record.paper.sentences.map(() => []); // sentence -> the aspects that it is evidence for
  for (const aspect of aspects) for (const index of aspect.sentences) stated[index].push(aspect);
  chooseQuotes(aspects, stated);
  const sides = overview.systems.map((system, position) => {
    const judged = record.answers[position]?.[state.task] ?? null;
    return { ...system, position, judged, ...gradedAnswer(judged, aspects) };
  });
  const chosen = ["a", "b"].filter((key) => sides[state[key]]).map((key) => ({ ...sides[state[key]], key, letter: key.toUpperCase() }));
  return {
    task, aspects, stated, sides, chosen,
    terms: record.terms[state.task] ?? null,
    paper: record.paper,
    counting: aspects.filter((aspect) => aspect.counts),
    competing: sides.filter((side) => side.judged && side.is_counted), // those that an aspect can be missed by
    isEvidence: (index) => stated[index].some((aspect) => aspect.counts),
    fateOf: stated.map((aspects, index) => fateOf(index, aspects.filter((aspect) => aspect.counts), chosen)),
  };
}

/* Where the data has no texts, a sentence is quoted for each aspect: of those that state it, one that states the fewest
   others; of these one that no aspect before it quotes, where there is one; of these the first. */
function chooseQuotes(aspects, stated) {
  const taken = new Set();
  for (const aspect of aspects) {
    [aspect.quoted] = aspect.sentences.toSorted((one, other) =>
      stated[one].length - stated[other].length || taken.has(one) - taken.has(other) || one - other);
    taken.add(aspect.quoted);
  }
}

// What became of a sentence that states these aspects: its class, which is also its colour in text and map.
function fateOf(index, aspects, chosen) {
  if (!aspects.length) return null;
  const judged = chosen.filter((side) => side.judged);
  const finders = judged.filter((side) => side.selects(index));
  if (finders.length === 2) return "both";
  if (finders.length) return finders[0].key;
  return judged.length && aspects.some((aspect) => judged.every((side) => !side.covers(aspect))) ? "missed" : "plain";
}

// The aspects that one of two systems covers and the other misses.
export const onlyOf = (graded, side, other) => graded.counting.filter((aspect) => side.covers(aspect) > 0 && other.covers(aspect) === 0);

// One system's answer: the chance that a sentence is selected, and that an aspect is covered, each 0 to 1.
function gradedAnswer(judged, aspects) {
  const { certain = [], tied = [], n_drawn: nDrawn = 0 } = judged ?? {};
  const shares = new Map(tied.map((index) => [index, nDrawn / tied.length]));
  for (const index of certain) shares.set(index, 1);
  const covered = aspects.map((aspect) => (judged ? coveredShare(aspect, judged) : 0));
  return {
    nSelected: certain.length + nDrawn,
    selected: [...shares.keys()].sort((one, other) => one - other),
    selects: (index) => shares.get(index) ?? 0,
    covers: (aspect) => covered[aspect.number],
  };
}

// k of n tied sentences are drawn, and c of the n state the aspect: its chance to be missed is C(n - c, k) / C(n, k).
function coveredShare(aspect, judged) {
  const holders = new Set(aspect.sentences);
  if (judged.certain.some((index) => holders.has(index))) return 1;
  const n = judged.tied.length;
  const c = judged.tied.filter((index) => holders.has(index)).length;
  if (!c || !judged.n_drawn) return 0;
  if (judged.n_drawn > n - c) return 1;
  let missed = 1;
  for (let drawn = 0; drawn < judged.n_drawn; drawn += 1) missed *= (n - c - drawn) / (n - drawn);
  return 1 - missed;
}

// A number of aspects as text, with one decimal where it is not whole.
function tally(number) {
  const whole = Math.round(number);
  return Math.abs(number - whole) < 1e-6 ? whole.toLocaleString("en") : number.toFixed(1);
}

export function firstWords(text, length = 90) {
  const start = String(text).slice(0, length);
  return start.length < text.length ? `${start}…` : start;
}

// Explains the words and marks of the paper view to somebody who sees them for the first time.
const DEFINITIONS = {
  Hypothesis: "the statement at the top. The task is to find sentences that are evidence for or against it.",
  Aspect: "one point that the paper makes about the hypothesis. Aspects are numbered from 0; a chosen one is coloured.",
  Evidence:
    "a sentence that states an aspect that counts. The numbers of its aspects follow it; its edge and colour show " +
    "who selected it: both systems, A or B. It is missed if it states an aspect that neither covers; " +
    "without colour, another selected sentence states the same.",
  Covered: "an aspect with at least one selected sentence. A second one adds nothing.",
  "Aspect recall": "covered aspects / all aspects that count. This is the score.",
  Budget: "how many sentences may be selected.",
  Ceiling: "the highest score that the budget allows, computed exactly.",
};

export const definitions = ({ chosen }) => h("details.definitions", { "data-fold": "words" },
  h("summary", {}, h("h2", {}, "Words", wide(" and marks"))),
  h("dl", {}, Object.entries(DEFINITIONS).map(([word, meaning]) => [h("dt", {}, word), h("dd", {}, meaning)])),
  chosen.map((side) => h("p", {}, mark(side), " selected by ", foreign("span", {}, side.label))),
  chosen.some((side) => side.judged?.n_drawn) &&
    h("p", {}, "A hollow mark: the sentence counts with a probability, since more sentences were named than the budget allows."));

// Explains in sentences how the score of each chosen system comes about, side by side where there are two; folded at first.
export function scoreExplanation(graded, onChoose) {
  const { chosen, terms, aspects } = graded;
  const isPair = terms && chosen.length === 2 && chosen.every(({ judged }) => judged);
  const nCommon = isPair && chosen[0].selected.filter(chosen[1].selects).length;
  const unstated = graded.counting.filter((aspect) => !aspect.sentences.length);
  const isScored = chosen.some(({ judged }) => judged && judged.recall !== null);
  const title = !chosen.length ? "task" : isScored ? "this score" : "there is no score";
  return h("details.explanation", { "data-fold": "account", open: !aspects.length },
    h("summary", {}, h("h2", {}, chosen.length ? "Why" : "The", wide(`\u00a0${title}`))),
    h("p.terms", {}, taskTerms(graded).join(" ")),
    terms && unstated.length > 0 && h("p.uncoverable", {},
      `${counted(unstated.length, "aspect")} ${unstated.length === 1 ? "has" : "have"} no sentence in the paper and cannot be covered, ` +
        `but ${unstated.length === 1 ? "it counts" : "they count"}: `,
      chips(unstated, onChoose)),
    terms && chosen.length > 0 && h("div.sides", {}, chosen.map((side) => sideExplanation(graded, side))),
    isPair && h("p.in-common", {}, nCommon ? `They selected ${counted(nCommon, "sentence")} in common.` : "They selected no sentence in common."));
}

const NO_LABELS = "The paper has no labels, so ";

// Budget, aspects that count, and ceiling of the task on this paper; they are the same for every system.
function taskTerms({ task, terms, aspects, counting }) {
  if (terms?.n_aspects === 0)
    return [`${NO_LABELS}there is nothing to score: this is what the systems selected.`, budgetWords(task, terms)];
  if (terms) return [budgetWords(task, terms), scopeWords(task, aspects.length, counting.length), ceilingWords(terms)];
  if (!aspects.length && ["optimal", "aspects"].includes(task.budget))
    return [`${NO_LABELS}it is not known how many sentences are enough.`, "Choose a task with a fixed number of sentences to see what the systems selected."];
  const lack = task.scope === "results" ? "This task counts Results aspects only, and the paper has none." : "The paper has no aspects.";
  return [lack, "It is left out of this task's scores."];
}

function budgetWords(task, { budget }) {
  if (budget === 0) return "No sentence of the paper states an aspect, so none may be selected, and every score is 0 %.";
  if (budget === null) return "Any number of sentences may be selected.";
  const most = `At most ${counted(budget, "sentence")} may be selected`;
  return task.budget === "optimal" ? `${most}: the fewest that cover every aspect that can be covered.` : `${most}.`;
}

function scopeWords({ scope }, nAspects, nCounting) {
  if (scope === "all") return nAspects === 1 ? "The paper's only aspect counts." : `All ${nAspects} aspects of the paper count.`;
  const count = nCounting === 1 ? "counts" : "count";
  return `Of the paper's ${counted(nAspects, "aspect")}, only the ${nCounting} labelled Results ${count}.`;
}

function ceilingWords({ budget, n_aspects: n, ceiling }) {
  if (budget === 0) return "";
  if (ceiling === null) return "The ceiling is not known: it could not be proven.";
  const many = budget ? `The best ${counted(budget, "sentence")} cover` : "All sentences together cover";
  const best = budget === 1 ? "The best sentence covers" : many;
  if (ceiling >= 1) return `${best} ${n === 1 ? "it" : `all ${n}`} (${percentage(ceiling)}).`;
  return `${best} ${tally(ceiling * n)} of ${n} (${percentage(ceiling)}), so no system can score more here.`;
}

function sideExplanation(graded, side) {
  const { judged, letter, label } = side;
  const isScored = judged && judged.recall !== null;
  return h(`div.side.side-${side.key}`, {},
    h("h3.side-name", {}, plainMark(side), foreign("span", {}, label), h("span.letter", {}, ` ${letter}`)),
    h("p.score", {}, h("b", {}, percentage(judged?.recall)), isScored ? " aspect recall" : " no score"),
    h("p.why", {}, foreign("b", {}, label), " ", whyWords(graded, side)),
    judged?.error && foreign("p.error", {}, firstWords(judged.error, 2000)),
    side.knows_labels && h("p.aside", {}, "It knows the labels: it is the ceiling, and does not compete."));
}

const NO_ANSWER = {
  empty: "answered, but selected no sentence. An empty answer covers nothing.",
  failed: "failed on this instance and gave no answer, which counts as 0 %. The error:",
  missing: "has no answer for this instance in its run, which counts as 0 %.",
  invalid: "gave an answer that cannot be scored, which counts as 0 %:",
};

function whyWords(graded, side) {
  const { judged, knows_labels: knowsLabels } = side;
  const { terms } = graded;
  if (!judged && terms.n_aspects === 0 && knowsLabels) return "knows the labels, but there are none here.";
  if (!judged) return "cannot answer this task: it ranks sentences, and without a budget there is no place to stop.";
  if (judged.status === "empty" && terms.budget === 0) return "could select nothing here.";
  if (judged.status !== "answered") return NO_ANSWER[judged.status];
  return `${selectionWords(graded, side)} ${coverWords(graded, side)}`;
}

function selectionWords({ terms: { budget } }, { judged, nSelected }) {
  const { certain, tied, n_drawn: nDrawn } = judged;
  if (!nDrawn) {
    const allowed = budget === null || nSelected === budget ? "" : ` of the ${budget} allowed`;
    return `selected ${counted(nSelected, "sentence")}${allowed}.`;
  }
  const kept = certain.length
    ? `${certain.length} of them always and ${nDrawn} of the ${tied.length} that are tied`
    : "each with the same probability";
  const named = `named ${counted(certain.length + tied.length, "sentence")}, of which only ${nSelected} count`;
  return `${named}, ${kept}: the score is the mean over all possible selections.`;
}

function coverWords(graded, { judged, selected, selects }) {
  const { recall, n_drawn: nDrawn } = judged;
  if (recall === null) return "";
  const { n_aspects: n, ceiling, budget } = graded.terms;
  const counting = n === 1 ? "1 aspect that counts" : `${n} aspects that count`;
  // the expected number where chance decides which of them count
  const nEvidence = selected.filter(graded.isEvidence).reduce((sum, index) => sum + selects(index), 0);
  if (!nEvidence) return `None of them is evidence, so it covers 0 of the ${counting}.`;
  const verbs = tally(nEvidence) === "1" ? "is evidence and covers" : "are evidence and cover";
  const isBest = ceiling !== null && budget !== null && recall >= ceiling - 1e-9;
  const covered = `${tally(recall * n)} of the ${counting}: ${percentage(recall)}`;
  const praise = isBest ? ", the highest possible score" : "";
  return `${nDrawn ? "On average, " : ""}${tally(nEvidence)} of them ${verbs} ${covered}${praise}.`;
}

// With a space that does not break, so that "%" never begins a line.
export const percentage = (value) => percent(value).replace(" ", "\u00a0");
