// Compares two systems: the aspects that only one of them covers, and the numbers of both.

function comparison(graded, onChoose) {
  const [a, b] = graded.chosen;
  const only = (side, other) =>
    graded.counting.filter((aspect) => side.covers(aspect) > 0 && other.covers(aspect) === 0);
  const nBoth = a.selected.filter((index) => b.selects(index)).length;
  return h(
    "div",
    { class: "comparison" },
    h(
      "p",
      {},
      `${nBoth ? `Both selected ${counted(nBoth, "sentence")} in common.` : "They selected no sentence in common."} `,
      onlyCovered(a, b, only(a, b), onChoose),
      " ",
      onlyCovered(b, a, only(b, a), onChoose),
    ),
    h("details", {}, h("summary", {}, "Side by side in numbers"), sideBySide(graded)),
  );
}

function onlyCovered(side, other, aspects, onChoose) {
  const [name, otherName] = [side, other].map(({ label }) => foreign("b", {}, label));
  return aspects.length
    ? ["Only ", name, " covers ", chips(aspects, onChoose)]
    : [name, " covers nothing that ", otherName, " misses."];
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
    h(
      "tbody",
      {},
      rows.map(([name, value]) => h("tr", {}, h("th", { scope: "row" }, name), cells(value))),
    ),
  );
}

// The number of selected sentences that are evidence; the expected number where chance decides which count.
function evidenceIn({ isEvidence }, side) {
  return side.selected.reduce((sum, index) => sum + (isEvidence(index) ? side.selects(index) : 0), 0);
}
