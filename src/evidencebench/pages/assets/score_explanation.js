// Explains in sentences how a score comes about.

// The explanation of each chosen system's score, side by side where there are two; folded at first.
function scoreExplanation(graded, onChoose) {
  const { chosen, terms, aspects } = graded;
  const isPair = chosen.length === 2 && chosen.every(({ judged }) => judged);
  return h("details.explanation", { "data-fold": "account", open: !aspects.length },
    h("summary", {}, h("h2", {}, explanationTitle(chosen))),
    h("p.terms", {}, taskTerms(graded).join(" ")),
    uncoverable(graded, onChoose),
    terms && chosen.length > 0 && h("div.sides", {}, chosen.map((side) => sideExplanation(graded, side))),
    terms && isPair && h("p.in-common", {}, commonWords(chosen)));
}

function commonWords([a, b]) {
  const n = a.selected.filter(b.selects).length;
  return n ? `Both selected ${counted(n, "sentence")} in common.` : "They selected no sentence in common.";
}

function explanationTitle(chosen) {
  if (!chosen.length) return ["What", wide("\u00a0is asked")];
  const isScored = chosen.some(({ judged }) => judged && judged.recall !== null);
  return ["Why", wide(isScored ? "\u00a0the score is what it is" : "\u00a0there is no score")];
}

const NO_LABELS = "The paper has no labels, so ";

// Budget, aspects that count, and ceiling of the task on this paper; they are the same for every system.
function taskTerms({ task, terms, aspects, counting }) {
  if (terms?.n_aspects === 0)
    return [`${NO_LABELS}there is nothing to score: this is what the systems selected.`, budgetWords(task, terms)];
  if (terms) return [budgetWords(task, terms), scopeWords(task, aspects.length, counting.length), ceilingWords(terms)];
  if (!aspects.length && ["optimal", "aspects"].includes(task.budget))
    return [
      `${NO_LABELS}nobody knows how many sentences suffice.`,
      "Choose a task with a fixed number to see what the systems selected.",
    ];
  const isOfResults = task.scope === "results";
  return [
    isOfResults ? "This task counts Results aspects only, and the paper has none." : "The paper has no aspects.",
    "It is left out of this task's scores.",
  ];
}

function budgetWords(task, { budget }) {
  if (budget === 0) return "No sentence of the paper states an aspect, so none may be selected and every score is 0 %.";
  if (budget === null) return "Any number of sentences may be selected.";
  const most = `At most ${counted(budget, "sentence")} may be selected`;
  return task.budget === "optimal" ? `${most}: the fewest that cover every aspect that can be covered.` : `${most}.`;
}

function scopeWords({ scope }, nAspects, nCounting) {
  if (scope === "all")
    return nAspects === 1 ? "The paper's only aspect counts." : `All ${nAspects} aspects of the paper count.`;
  const count = nCounting === 1 ? "counts" : "count";
  return `Of the paper's ${counted(nAspects, "aspect")}, only the ${nCounting} labelled Results ${count}.`;
}

function ceilingWords({ budget, n_aspects: n, ceiling }) {
  if (budget === 0) return "";
  if (ceiling === null) return "How much the best choice could cover is not known: it could not be proven.";
  const many = budget ? `The best ${counted(budget, "sentence")} cover` : "All sentences together cover";
  const best = budget === 1 ? "The best sentence covers" : many;
  if (ceiling >= 1) return `${best} ${n === 1 ? "it" : `all ${n}`} (${percentage(ceiling)}).`;
  return `${best} ${tally(ceiling * n)} of ${n} (${percentage(ceiling)}), so nobody can score more here.`;
}

function uncoverable({ terms, counting }, onChoose) {
  const unstated = counting.filter((aspect) => !aspect.sentences.length);
  if (!terms || !unstated.length) return null;
  const [has, theyCount] = unstated.length === 1 ? ["has", "it counts"] : ["have", "they count"];
  return h("p.uncoverable", {},
    `${counted(unstated.length, "aspect")} ${has} no sentence in the paper and cannot be covered, but ${theyCount}: `,
    chips(unstated, onChoose));
}

function sideExplanation(graded, side) {
  const { judged, letter, label } = side;
  const isScored = judged && judged.recall !== null;
  return h("div", { class: `side side-${side.key}` },
    h("h3.side-name", {}, plainMark(side), foreign("span", {}, label), h("span.letter", {}, ` ${letter}`)),
    h("p.score", {}, h("b", {}, percentage(judged?.recall)), isScored ? " aspect recall" : " no score"),
    h("p.why", {}, foreign("b", {}, label), " ", whyWords(graded, side)),
    judged?.error && foreign("p.error", {}, firstWords(judged.error, 2000)),
    side.knows_labels && h("p.aside", {}, "It knows the answers: a yardstick, not a competitor."));
}

const NO_ANSWER = {
  empty: "answered, but selected no sentence. An empty answer covers nothing.",
  failed: "failed on this paper and gave no answer, which counts as 0 %. Its error:",
  missing: "has no answer to this paper in its run, which counts as 0 %.",
  invalid: "gave an answer that cannot be graded, which counts as 0 %:",
};

function whyWords(graded, side) {
  const { judged, knows_labels: knowsLabels } = side;
  const { terms } = graded;
  if (!judged && terms.n_aspects === 0 && knowsLabels) return "knows the labels, and here are none.";
  if (!judged) return "cannot answer this task: it ranks sentences, and without a budget nothing says where to stop.";
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
    ? `${certain.length} of them for certain and ${nDrawn} of the ${tied.length} that tie`
    : "any of them with the same chance";
  const named = `named ${counted(certain.length + tied.length, "sentence")}, of which only ${nSelected} count`;
  return `${named}, ${kept}: the score is the mean over all choices.`;
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
  const praise = isBest ? ", the most that is possible" : "";
  return `${nDrawn ? "On average, " : ""}${tally(nEvidence)} of them ${verbs} ${covered}${praise}.`;
}

// With a space that does not break, so that "%" never begins a line.
function percentage(value) {
  return percent(value).replace(" ", "\u00a0");
}
