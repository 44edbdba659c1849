// Makes the parts of all papers' pages: the numbers of aspects, a system's mark, and the label of an abstract.

// Buttons with the numbers of aspects.
function chips(aspects, onChoose) {
  return aspects.map((aspect) => {
    const text = aspect.text === null ? "" : `: ${firstWords(aspect.text, 200)}`;
    const name = `aspect ${aspect.number}${text}${aspect.counts ? "" : " (does not count in this task)"}`;
    const attributes = {
      class: aspect.counts ? "chip" : "chip is-muted",
      "aria-label": name,
      "aria-pressed": "false",
      title: `${name} (id ${aspect.id})`,
      "data-aspect": aspect.number,
      onclick: () => onChoose(aspect),
    };
    return [h("button", attributes, aspect.number), " "];
  });
}

// The mark of a system: a disc for A, a square for B; hollow where chance decides whether the sentence counts.
function mark(side, share = 1) {
  const isDrawn = share < 1;
  const chance = `named by ${side.label}; counts with a chance of ${percent(share)}`;
  const words = isDrawn ? chance : `selected by ${side.label}`;
  const shape = `mark mark-${side.key}${isDrawn ? " is-drawn" : ""}`;
  return h("span", { class: shape, role: "img", "aria-label": words, title: words });
}

// The same mark without words, for places where the text beside it says what it means.
function plainMark(side) {
  return h("span", { class: `mark mark-${side.key}`, "aria-hidden": "true" });
}

// The label "Abstract", which this page adds where the paper has no such heading.
function abstractLabel(paper, index) {
  const before = index ? paper.sentences[index - 1].trim().toLowerCase() : "";
  return before === "abstract" ? null : h("p.abstract-label", {}, "Abstract");
}
