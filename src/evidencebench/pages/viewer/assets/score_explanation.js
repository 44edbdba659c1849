// Explains in sentences how a score comes about.

// The explanation of each chosen system's score, side by side where there are two; folded at first.
function scoreExplanation(graded, onChoose) {
  const { chosen } = graded;
  return h("details", { class: "explanation", "data-fold": "account", open: !graded.aspects.length },
    h("summary", {}, h("h2", {}, explanationTitle(chosen))),
    h("p", { class: "terms" }, taskTerms(graded).join(" ")),
    uncoverable(graded, onChoose),
    graded.terms && chosen.length
      ? h("div", { class: "sides" },
          chosen.map((side) => sideExplanation(graded, side)))
      : null,
    graded.terms && chosen.length === 2 && chosen.every(({ judged }) => judged) ? inCommon(chosen) : null);
}

function inCommon([a, b]) {
  const nBoth = a.selected.filter((index) => b.selects(index)).length;
  return h("p", { class: "in-common" }, nBoth ? `Both selected ${counted(nBoth, "sentence")} in common.` : "They selected no sentence in common.");
}

function explanationTitle(chosen) {
  if (!chosen.length) return ["What", wide("\u00a0is asked")];
  return ["Why", wide(chosen.some(({ judged }) => judged && judged.recall !== null) ? "\u00a0the score is what it is" : "\u00a0there is no score")];
}

// Budget, aspects that count, and ceiling of the task on this paper; they are the same for every system.
function taskTerms({ task, terms, aspects, counting }) {
  if (!terms) {
    const lack =
      task.scope === "results"
        ? "This task counts Results aspects only, and the paper has none"
        : "The paper has no aspects";
    if (!aspects.length && task.budget === "optimal") {
      return ["The paper has no labels, so nobody knows how many sentences suffice. Choose a task with a fixed number to see what the systems selected."];
    }
    return [`${lack}. It is left out of this task's scores.`];
  }
  if (!terms.n_aspects) return ["The paper has no labels, so there is nothing to score: this is what the systems selected.", budgetWords(task, terms)];
  return [budgetWords(task, terms), scopeWords(task, aspects.length, counting.length), ceilingWords(terms)];
}

function budgetWords(task, { budget }) {
  if (budget === 0) return "No sentence of the paper states an aspect, so none may be selected and every score is 0 %.";
  if (budget === null) return "Any number of sentences may be selected.";
  const most = `At most ${counted(budget, "sentence")} may be selected`;
  return task.budget === "optimal" ? `${most}: the fewest that cover every aspect that can be covered.` : `${most}.`;
}

function scopeWords(task, nAspects, nCounting) {
  if (task.scope === "all")
    return nAspects === 1 ? "The paper's only aspect counts." : `All ${nAspects} aspects of the paper count.`;
  const count = nCounting === 1 ? "counts" : "count";
  return `Of the paper's ${counted(nAspects, "aspect")}, only the ${nCounting} labelled Results ${count}.`;
}

function ceilingWords({ budget, n_aspects: n, ceiling }) {
  if (budget === 0) return "";
  const best =
    budget === null ? "All sentences together" : `The best ${budget === 1 ? "sentence" : counted(budget, "sentence")}`;
  if (ceiling === null) return "How much the best choice could cover is not known: it could not be proven.";
  const verb = budget === 1 ? "covers" : "cover";
  if (ceiling >= 1) return `${best} ${verb} ${n === 1 ? "it" : `all ${n}`} (${percentage(ceiling)}).`;
  return `${best} ${verb} ${tally(ceiling * n)} of ${n} (${percentage(ceiling)}), so nobody can score more here.`;
}

function uncoverable({ terms, counting }, onChoose) {
  const withoutSource = counting.filter((aspect) => !aspect.sentences.length);
  if (!terms || !withoutSource.length) return null;
  const [has, theyCount] = withoutSource.length === 1 ? ["has", "it counts"] : ["have", "they count"];
  const words = `${counted(withoutSource.length, "aspect")} ${has} no sentence in the paper and cannot be covered`;
  return h("p", { class: "uncoverable" }, `${words}, but ${theyCount}: `, chips(withoutSource, onChoose));
}

function sideExplanation(graded, side) {
  return h("div", { class: `side side-${side.letter.toLowerCase()}` },
    h("h3", { class: "side-name" },
      plainMark(side),
      foreign("span", {}, side.label),
      h("span", { class: "letter" }, ` ${side.letter}`)),
    side.judged && side.judged.recall !== null
      ? h("p", { class: "score" }, h("b", {}, percentage(side.judged.recall)), " aspect recall")
      : h("p", { class: "score" }, h("b", {}, "–"), " no score"),
    h("p", { class: "why" }, whyWords(graded, side)),
    side.judged?.error ? foreign("p", { class: "error" }, firstWords(side.judged.error, 2000)) : null,
    side.knows_labels ? h("p", { class: "aside" }, "It knows the answers: a yardstick, not a competitor.") : null);
}

const NO_ANSWER = {
  empty: "answered, but selected no sentence. An empty answer covers nothing.",
  failed: "failed on this paper and gave no answer, which counts as 0 %. Its error:",
  missing: "has no answer to this paper in its run, which counts as 0 %.",
  invalid: "gave an answer that cannot be graded, which counts as 0 %:",
};

function whyWords(graded, side) {
  const { judged } = side;
  const name = foreign("b", {}, side.label);
  if (!judged && graded.terms.n_aspects === 0 && side.knows_labels) return [name, " knows the labels, and here are none."];
  if (!judged)
    return [name, " cannot answer this task: it ranks sentences, and without a budget nothing says where to stop."];
  if (judged.status === "empty" && graded.terms.budget === 0) return [name, " could select nothing here."];
  if (judged.status !== "answered") return [name, " ", NO_ANSWER[judged.status]];
  return [name, " ", selectionWords(graded, side), " ", coverWords(graded, side)];
}

function selectionWords({ terms }, { judged, nSelected }) {
  if (judged.n_drawn) {
    const nNamed = judged.certain.length + judged.tied.length;
    const kept = judged.certain.length
      ? `${judged.certain.length} of them for certain and ${judged.n_drawn} of the ${judged.tied.length} that tie`
      : "any of them with the same chance";
    const named = `named ${counted(nNamed, "sentence")}, of which only ${nSelected} count`;
    return `${named}, ${kept}: the score is the mean over all choices.`;
  }
  const allowed = terms.budget === null || nSelected === terms.budget ? "" : ` of the ${terms.budget} allowed`;
  return `selected ${counted(nSelected, "sentence")}${allowed}.`;
}

function coverWords(graded, side) {
  const { terms } = graded;
  const { judged } = side;
  const nEvidence = evidenceIn(graded, side);
  if (judged.recall === null) return "";
  const nCovered = judged.recall * terms.n_aspects;
  const mean = judged.n_drawn ? "On average, " : "";
  if (!nEvidence) return `None of them is evidence, so it covers 0 of the ${aspectsThatCount(terms)}.`;
  const [is, covers] = tally(nEvidence) === "1" ? ["is", "covers"] : ["are", "cover"];
  const words = `${tally(nCovered)} of the ${aspectsThatCount(terms)}: ${percentage(judged.recall)}`;
  return `${mean}${tally(nEvidence)} of them ${is} evidence and ${covers} ${words}${praise(terms, judged.recall)}.`;
}

// With a space that does not break, so that "%" never begins a line.
function percentage(value) {
  return percent(value).replace(" ", "\u00a0");
}

function aspectsThatCount({ n_aspects: n }) {
  return n === 1 ? "1 aspect that counts" : `${n} aspects that count`;
}

function praise({ ceiling, budget }, recall) {
  if (ceiling === null || budget === null || recall < ceiling - 1e-9) return "";
  return ", the most that is possible";
}
