// Explains the words and marks of the paper view to somebody who sees them for the first time.

const DEFINITIONS = [
  [
    "Hypothesis",
    "the statement on top. Somebody who checks it wants the sentences of the paper that speak for or against it.",
  ],
  ["Aspect", "one thing the paper has to say about the hypothesis. Each has a colour and a number here, from 1 on; pointing at the number tells its id in the data, which counts from 0."],
  [
    "Evidence",
    "a sentence that states an aspect which counts. It has a bar at its left, and its aspects' numbers behind it.",
  ],
  [
    "Covered",
    "an aspect is covered when at least one of the sentences that state it is selected. A second one adds nothing.",
  ],
  ["Aspect recall", "the share of aspects that are covered, of all that count. This is the score."],
  [
    "Budget",
    "how many sentences may be selected. Selecting everything would cover everything, so most tasks allow few.",
  ],
  ["Ceiling", "the highest score that the budget allows, worked out exactly."],
];

function definitions({ chosen }) {
  const drawn = chosen.some((side) => side.judged?.n_drawn);
  return h(
    "details",
    { class: "definitions" },
    h("summary", {}, "What do these words and marks mean?"),
    h(
      "dl",
      {},
      DEFINITIONS.map(([word, meaning]) => [h("dt", {}, word), h("dd", {}, meaning)]),
    ),
    chosen.length
      ? h(
          "p",
          { class: "legend" },
          chosen.map((side) => [mark(side), " selected by ", foreign("span", {}, side.label), "   "]),
        )
      : null,
    drawn
      ? h(
          "p",
          {},
          "A hollow mark: named, but chance decides whether it counts, since more were named than the budget allows.",
        )
      : null,
  );
}
