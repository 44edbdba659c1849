// Lists what a system chose, in its order, and says what each sentence adds to those before it.

const MOST_PICKED_TEXT = 600; // characters
const VERDICTS = { new: "new evidence", redundant: "adds nothing", none: "no evidence", heading: "heading" };

/* Picks are {index, share, kind, aspects}: sentences that chance decides on are compared with the certain ones only.
   picks.py counts the same. */
function picksOf({ stated, paper }, { judged, selects }) {
  const covered = new Set();
  const pickOf = (index) => {
    const aspects = stated[index].filter((aspect) => aspect.counts);
    const fresh = aspects.filter((aspect) => !covered.has(aspect));
    const without = paper.kinds[index] === "h" ? "heading" : "none";
    const kind = fresh.length ? "new" : aspects.length ? "redundant" : without;
    return { index, share: selects(index), kind, aspects: fresh.length ? fresh : aspects };
  };
  const certain = judged.certain.map((index) => {
    const pick = pickOf(index);
    pick.aspects.forEach((aspect) => covered.add(aspect));
    return pick;
  });
  return [...certain, ...judged.tied.map(pickOf)];
}

function picksFold(graded, side, onChoose) {
  if (!side.judged || !side.selected.length) return null;
  const picks = picksOf(graded, side);
  const counts = Object.entries(VERDICTS).flatMap(([kind, words]) => {
    const n = picks.filter((pick) => pick.kind === kind).length;
    return n ? [`${n} ${words}`] : [];
  });
  const { certain, tied, n_drawn: nDrawn } = side.judged;
  const words = hypothesisWords(graded.paper.hypothesis);
  const isLabelled = graded.aspects.length > 0;
  return h("details.picked", { "data-fold": `picks-${side.letter}` },
    h("summary", {}, h("h2", {}, plainMark(side), wide("What "), `${side.letter} chose`)),
    h("p", {}, foreign("b", {}, side.label), ", in its order", isLabelled && `: ${counts.join(", ")}`,
      ". Words of the hypothesis are underlined."),
    nDrawn > 0 && h("p", {}, `Chance draws ${nDrawn} of ${certain.length ? "the last " : ""}`,
      `${counted(tied.length, "sentence")}. What each adds is said as if it were drawn alone.`),
    h("ol", {}, picks.map(({ index, share, kind, aspects }) => h("li", {},
      sentenceLink(graded.paper, index), " ",
      underlined(firstWords(graded.paper.sentences[index], MOST_PICKED_TEXT), words),
      h("p", { class: `pick-verdict is-${kind}` },
        isLabelled && h("b", {}, VERDICTS[kind]),
        share < 1 ? ` (counts with a chance of ${percent(share)}) ` : " ",
        kind === "redundant" && "stated before: ",
        chips(aspects, onChoose))))));
}

// Words that say nothing about the subject.
const COMMON = new Set((
  "and are but can for from had has have into its more not than that the their them then there these they this those " +
  "was were which while will with").split(" "));

function hypothesisWords(hypothesis) {
  return wordsOf(hypothesis).filter((word) => word.length > 2 && !COMMON.has(word));
}

// Whether at least four letters begin both words, and at most three follow, as in "keeps" and "keeping".
function isAlike(one, other) {
  let n = 0;
  while (n < one.length && one[n] === other[n]) n += 1;
  return one === other || (n > 3 && Math.max(one.length, other.length) - n <= 3);
}

function underlined(text, words) {
  const element = foreign("span", {}, text);
  markWords(element, "u", (found) => words.some((word) => isAlike(found, word)));
  return element;
}
