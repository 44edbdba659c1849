// Says in sentences why a score is what it is.

// The score of each chosen system explained, side by side where there are two.
function accountOf(graded, onChoose) {
  const { chosen } = graded;
  return h(
    "section",
    { class: "account", "aria-labelledby": "account-title" },
    h("h2", { id: "account-title" }, chosen.length ? "Why the score is what it is" : "What is asked"),
    h("p", { class: "terms" }, taskTerms(graded).join(" ")),
    uncoverable(graded, onChoose),
    graded.terms && chosen.length
      ? h("div", { class: "sides" }, chosen.map((side) => sideAccount(graded, side, onChoose)))
      : null,
    graded.terms && chosen.length === 2 ? comparison(graded, onChoose) : null,
    definitions(graded),
  );
}

// What the task asks of this paper, and the most it allows: the same for every system.
function taskTerms({ task, terms, aspects, counting }) {
  if (!terms) {
    const lack = task.scope === "results" ? "This task counts Results aspects only, and the paper has none" : "The paper has no aspects";
    return [`${lack}. It is left out of this task's scores.`];
  }
  return [budgetWords(task, terms), scopeWords(task, aspects.length, counting.length), ceilingWords(terms)];
}

function budgetWords(task, { budget }) {
  if (budget === null) return "Any number of sentences may be selected.";
  const most = `At most ${counted(budget, "sentence")} may be selected`;
  return task.budget === "optimal" ? `${most}: the fewest that cover every aspect that can be covered.` : `${most}.`;
}

function scopeWords(task, nAspects, nCounting) {
  if (task.scope === "all") return nAspects === 1 ? "The paper's only aspect counts." : `All ${nAspects} aspects of the paper count.`;
  return `Of the paper's ${counted(nAspects, "aspect")}, only the ${nCounting} labelled Results ${nCounting === 1 ? "counts" : "count"}.`;
}

function ceilingWords({ budget, n_aspects: n, ceiling }) {
  const best = budget === null ? "All sentences together" : `The best ${budget === 1 ? "sentence" : counted(budget, "sentence")}`;
  if (ceiling === null) return "How much the best choice could cover is not known: it could not be proven.";
  const verb = budget === 1 ? "covers" : "cover";
  if (ceiling >= 1) return `${best} ${verb} ${n === 1 ? "it" : `all ${n}`} (${percentage(ceiling)}).`;
  return `${best} ${verb} ${tally(ceiling * n)} of ${n} (${percentage(ceiling)}), so nobody can score more here.`;
}

function uncoverable({ terms, counting }, onChoose) {
  const barren = counting.filter((aspect) => !aspect.sentences.length);
  if (!terms || !barren.length) return null;
  const [has, it] = barren.length === 1 ? ["has", "it"] : ["have", "they"];
  const words = `${counted(barren.length, "aspect")} ${has} no sentence in the paper and cannot be covered, but ${it} count${it === "it" ? "s" : ""}: `;
  return h("p", { class: "uncoverable" }, words, chips(barren, onChoose));
}

function sideAccount(graded, side, onChoose) {
  return h(
    "div",
    { class: `side side-${side.letter.toLowerCase()}` },
    h("h3", { class: "side-name" }, plainMark(side), foreign("span", {}, side.label), h("span", { class: "letter" }, ` ${side.letter}`)),
    side.judged
      ? h("p", { class: "score" }, h("b", {}, percentage(side.judged.recall)), " aspect recall")
      : h("p", { class: "score" }, h("b", {}, "–"), " no score"),
    h("p", { class: "why" }, whyWords(graded, side)),
    side.judged?.error ? foreign("p", { class: "error" }, firstWords(side.judged.error, 2000)) : null,
    side.judged?.status === "answered" ? missedOf(graded, side, onChoose) : null,
    side.knows_labels ? h("p", { class: "aside" }, "It knows the answers: a yardstick, not a competitor.") : null,
  );
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
  if (!judged) return [name, " cannot answer this task: it ranks sentences, and without a budget nothing says where to stop."];
  if (judged.status !== "answered") return [name, " ", NO_ANSWER[judged.status]];
  return [name, " ", selectionWords(graded, side), " ", coverWords(graded, side)];
}

function selectionWords({ terms }, { judged, nSelected }) {
  if (judged.n_drawn) {
    const nNamed = judged.certain.length + judged.tied.length;
    const kept = judged.certain.length
      ? `${judged.certain.length} of them for certain and ${judged.n_drawn} of the ${judged.tied.length} that tie`
      : "any of them with the same chance";
    return `named ${counted(nNamed, "sentence")}, of which only ${nSelected} count, ${kept}: the score is the mean over all choices.`;
  }
  const allowed = terms.budget === null || nSelected === terms.budget ? "" : ` of the ${terms.budget} allowed`;
  return `selected ${counted(nSelected, "sentence")}${allowed}.`;
}

function coverWords(graded, side) {
  const { terms } = graded;
  const { judged } = side;
  const nEvidence = evidenceIn(graded, side);
  const nCovered = judged.recall * terms.n_aspects;
  const mean = judged.n_drawn ? "On average, " : "";
  if (!nEvidence) return `None of them is evidence, so it covers 0 of the ${aspectsThatCount(terms)}.`;
  const [is, covers] = tally(nEvidence) === "1" ? ["is", "covers"] : ["are", "cover"];
  const words = `${tally(nCovered)} of the ${aspectsThatCount(terms)}: ${percentage(judged.recall)}`;
  return `${mean}${tally(nEvidence)} of them ${is} evidence and ${covers} ${words}${praise(terms, judged.recall)}.`;
}

// As one word, so that no line ends before its sign.
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

function missedOf({ counting }, side, onChoose) {
  const coverable = counting.filter((aspect) => aspect.sentences.length);
  const missed = coverable.filter((aspect) => side.covers(aspect) === 0);
  const partly = coverable.filter((aspect) => side.covers(aspect) > 0 && side.covers(aspect) < 1);
  const covered = coverable.filter((aspect) => side.covers(aspect) === 1);
  return h(
    "dl",
    { class: "missed" },
    missed.length ? [h("dt", {}, "Missed"), h("dd", {}, chips(missed, onChoose))] : null,
    partly.length
      ? [
          h("dt", {}, "By chance"),
          h("dd", {}, partly.map((aspect) => [chip(aspect, onChoose), h("small", {}, `${percentage(side.covers(aspect))} `)])),
        ]
      : null,
    covered.length ? [h("dt", {}, "Covered"), h("dd", {}, chips(covered, onChoose))] : null,
  );
}

function chips(aspects, onChoose) {
  return aspects.map((aspect) => [chip(aspect, onChoose), " "]);
}

// Where two systems part: what only one of them covers, and the numbers beside each other.
function comparison(graded, onChoose) {
  const [a, b] = graded.chosen;
  const only = (side, other) => graded.counting.filter((aspect) => side.covers(aspect) > 0 && other.covers(aspect) === 0);
  const nBoth = a.selected.filter((index) => b.selects(index)).length;
  return h(
    "div",
    { class: "comparison" },
    h("p", {}, `${nBoth ? `Both selected ${counted(nBoth, "sentence")} in common.` : "They selected no sentence in common."} `, onlyCovered(a, b, only(a, b), onChoose), " ", onlyCovered(b, a, only(b, a), onChoose)),
    h("details", {}, h("summary", {}, "Side by side in numbers"), sideBySide(graded)),
  );
}

function onlyCovered(side, other, aspects, onChoose) {
  const [name, otherName] = [side, other].map(({ label }) => foreign("b", {}, label));
  return aspects.length ? ["Only ", name, " covers ", chips(aspects, onChoose)] : [name, " covers nothing that ", otherName, " misses."];
}

function sideBySide(graded) {
  const { terms, chosen } = graded;
  const rows = [
    ["Sentences selected", (side) => tally(side.nSelected)],
    ["Evidence among them", (side) => tally(evidenceIn(graded, side))],
    ["Aspects covered", (side) => `${tally(side.judged.recall * terms.n_aspects)} of ${terms.n_aspects}`],
    ["Aspect recall", (side) => percentage(side.judged.recall)],
    ["Ceiling (highest possible)", () => percentage(terms.ceiling)],
  ];
  const heads = chosen.map((side) => h("th", { scope: "col" }, plainMark(side), foreign("span", {}, side.label)));
  const cells = (value) => chosen.map((side) => h("td", {}, side.judged ? value(side) : "–"));
  return h(
    "table",
    { class: "side-by-side" },
    h("thead", {}, h("tr", {}, h("td"), heads)),
    h("tbody", {}, rows.map(([name, value]) => h("tr", {}, h("th", { scope: "row" }, name), cells(value)))),
  );
}

// Selected sentences that are evidence; a mean where chance decides which count.
function evidenceIn({ isEvidence }, side) {
  return side.selected.reduce((sum, index) => sum + (isEvidence(index) ? side.selects(index) : 0), 0);
}

const DEFINITIONS = [
  ["Hypothesis", "the statement on top. Somebody who checks it wants the sentences of the paper that speak for or against it."],
  ["Aspect", "one thing the paper has to say about the hypothesis, such as a finding or how it was found. Each has a number and a colour here."],
  ["Evidence", "a sentence that states an aspect which counts. It has a bar at its left edge, and the numbers of its aspects behind it."],
  ["Covered", "an aspect is covered when at least one of the sentences that state it is selected. A second one adds nothing."],
  ["Aspect recall", "the share of aspects that are covered, of all that count. This is the score."],
  ["Budget", "how many sentences may be selected. Selecting everything would cover everything, so most tasks allow few."],
  ["Ceiling", "the highest score that the budget allows, worked out exactly."],
];

function definitions({ chosen }) {
  const drawn = chosen.some((side) => side.judged?.n_drawn);
  return h(
    "details",
    { class: "definitions" },
    h("summary", {}, "What do these words and marks mean?"),
    h("dl", {}, DEFINITIONS.map(([word, meaning]) => [h("dt", {}, word), h("dd", {}, meaning)])),
    chosen.length ? h("p", { class: "legend" }, chosen.map((side) => [mark(side), " selected by ", foreign("span", {}, side.label), "   "])) : null,
    drawn ? h("p", {}, "A hollow mark: named, but chance decides whether it counts, since more were named than the budget allows.") : null,
  );
}
