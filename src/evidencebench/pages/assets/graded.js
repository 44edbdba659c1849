// Computes what the paper view shows: the aspects that count, each system's sentences, and the aspects they cover.

// For display only: the scores are those of the record, which Python computed.
function gradedOf(overview, record, state) {
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
  const chosen = ["a", "b"].flatMap((key) => {
    const side = sides[state[key]];
    return side ? [{ ...side, key, letter: key.toUpperCase() }] : [];
  });
  return {
    task,
    terms: record.terms[state.task] ?? null,
    paper: record.paper,
    reviewId: record.review_id,
    aspects,
    counting: aspects.filter((aspect) => aspect.counts),
    stated,
    sides,
    chosen,
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
function onlyOf(graded, side, other) {
  return graded.counting.filter((aspect) => side.covers(aspect) > 0 && other.covers(aspect) === 0);
}

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

function firstWords(text, length = 90) {
  const start = String(text).slice(0, length);
  return start.length < text.length ? `${start}…` : start;
}
