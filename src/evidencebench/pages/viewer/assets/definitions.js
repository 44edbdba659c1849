// Explains the words and marks of the paper view to somebody who sees them for the first time.

const DEFINITIONS = [
  ["Hypothesis", "the statement on top. Somebody who checks it wants the sentences of the paper that speak for or against it."],
  ["Aspect", "one thing the paper has to say about the hypothesis. Each has a number, from 0 in the order of the data, and a colour only while it is chosen."],
  [
    "Evidence",
    "a sentence that states an aspect which counts. It has an edge at its left, and its aspects' numbers behind it. Its colour says who found it: both systems, only A or only B. It is missed where it states an aspect that neither covers; without colour, what it says is found in another sentence.",
  ],
  ["Covered", "an aspect is covered when at least one of the sentences that state it is selected. A second one adds nothing."],
  ["Aspect recall", "the share of aspects that are covered, of all that count. This is the score."],
  ["Budget", "how many sentences may be selected. Selecting everything would cover everything, so most tasks allow few."],
  ["Ceiling", "the highest score that the budget allows, worked out exactly."],
];

function definitions({ chosen }) {
  return h("details", { class: "definitions", "data-fold": "words" },
    h("summary", {}, h("h2", {}, "Words", wide(" and marks"))),
    h("dl", {}, DEFINITIONS.map(([word, meaning]) => [h("dt", {}, word), h("dd", {}, meaning)])),
    chosen.map((side) => h("p", {}, mark(side), " selected by ", foreign("span", {}, side.label))),
    chosen.some((side) => side.judged?.n_drawn)
      ? h("p", {}, "A hollow mark: named, but chance decides whether it counts, since more were named than the budget allows.")
      : null);
}
