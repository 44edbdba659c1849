// Explains the words and marks of the paper view to somebody who sees them for the first time.

const DEFINITIONS = {
  Hypothesis: "the statement on top. Sentences of the paper are wanted that speak for or against it.",
  Aspect: "one thing the paper has to say about the hypothesis. Each has a number, from 0, and a colour while chosen.",
  Evidence:
    "a sentence that states an aspect which counts. Its aspects' numbers stand behind it; its edge and colour say " +
    "who chose it: both systems, A or B. It is missed where it states an aspect that neither covers; " +
    "without colour, what it says is found in another sentence.",
  Covered: "an aspect of which at least one sentence is selected. A second one adds nothing.",
  "Aspect recall": "the share of aspects that are covered, of all that count. This is the score.",
  Budget: "how many sentences may be selected. Selecting all would cover everything.",
  Ceiling: "the highest score that the budget allows, worked out exactly.",
};

function definitions({ chosen }) {
  return h("details.definitions", { "data-fold": "words" },
    h("summary", {}, h("h2", {}, "Words", wide(" and marks"))),
    h("dl", {}, Object.entries(DEFINITIONS).map(([word, meaning]) => [h("dt", {}, word), h("dd", {}, meaning)])),
    chosen.map((side) => h("p", {}, mark(side), " selected by ", foreign("span", {}, side.label))),
    chosen.some((side) => side.judged?.n_drawn) &&
      h("p", {}, "A hollow mark: chance decides whether the sentence counts, since more were named than may be."));
}
