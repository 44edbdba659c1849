// Lists what a system chose, in its order, and says what each sentence adds to those before it.

const MOST_PICKED_TEXT = 600; // characters
const VERDICTS = { new: "new evidence", redundant: "adds nothing", none: "no evidence", heading: "heading" };

// {index, share, kind, aspects}: sentences that chance decides on are compared with the certain ones only. picks.py counts the same.
function picksOf(graded, { judged, selects }) {
  const covered = new Set();
  const pickOf = (index) => {
    const aspects = graded.stated[index].filter((aspect) => aspect.counts);
    const fresh = aspects.filter((aspect) => !covered.has(aspect));
    const kind = fresh.length ? "new" : aspects.length ? "redundant" : graded.paper.kinds[index] === "h" ? "heading" : "none";
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
  const nOf = (kind) => picks.filter((pick) => pick.kind === kind).length;
  const counts = Object.entries(VERDICTS).filter(([kind]) => nOf(kind)).map(([kind, words]) => `${nOf(kind)} ${words}`).join(", ");
  const { certain, tied, n_drawn: nDrawn } = side.judged;
  const words = hypothesisWords(graded.paper.hypothesis);
  return h("details", { class: "picked", "data-fold": `picks-${side.letter}` },
    h("summary", {}, h("h2", {}, plainMark(side), wide("What "), `${side.letter} chose`)),
    h("p", {}, foreign("b", {}, side.label), `, in its order${graded.aspects.length ? `: ${counts}` : ""}. Words of the hypothesis are underlined.`),
    nDrawn
      ? h("p", {}, `Chance draws ${nDrawn} of ${certain.length ? "the last " : ""}${counted(tied.length, "sentence")}. What each adds is said as if it were drawn alone.`)
      : null,
    h("ol", {}, picks.map((pick) => pickItem(graded, pick, words, onChoose))));
}

function pickItem({ paper, aspects: known }, { index, share, kind, aspects }, words, onChoose) {
  const parts = h("span", { class: "pick-aspects" }, kind === "redundant" ? "stated before: " : null, chips(aspects, onChoose));
  return h("li", {},
    sentenceLink(paper, index), " ", underlined(firstWords(paper.sentences[index], MOST_PICKED_TEXT), words),
    h("p", { class: `pick-verdict is-${kind}` }, known.length ? h("b", {}, VERDICTS[kind]) : null, share < 1 ? ` (counts with a chance of ${percent(share)}) ` : " ", aspects.length ? parts : null),
  );
}

// Words that say nothing about the subject.
const COMMON = new Set("and are but can for from had has have into its more not than that the their them then there these they this those was were which while will with".split(" "));

function hypothesisWords(hypothesis) {
  return [...new Set(wordsOf(hypothesis))].filter((word) => word.length > 2 && !COMMON.has(word));
}

// Whether two words are alike: their first four or more letters are the same, and at most three follow, as in "keeps" and "keeping".
function isAlike(one, other) {
  let n = 0;
  while (n < one.length && one[n] === other[n]) n += 1;
  return one === other || (n > 3 && Math.max(one.length, other.length) - n <= 3);
}

function underlined(text, words) {
  const parts = cleaned(text).split(/([\p{L}\p{N}]+)/u); // every second part is a word
  const isHit = (part) => wordsOf(part).some((found) => words.some((word) => isAlike(found, word)));
  const element = foreign("span", {}, "");
  append(element, parts.map((part, place) => (place % 2 && isHit(part) ? h("u", {}, part) : part)));
  return element;
}
