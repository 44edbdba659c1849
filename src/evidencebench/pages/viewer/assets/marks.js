// Makes the parts of all papers' pages: an aspect's number, a system's mark, and the sentences as rows.

function aspectName(aspect) {
  return aspect.text === null ? `aspect ${aspect.number}` : `aspect ${aspect.number}: ${firstWords(aspect.text, 200)}`;
}

// An aspect's number; it is a button where `onChoose` is given.
function chip(aspect, onChoose = null) {
  const name = `${aspectName(aspect)}${aspect.counts ? "" : " (does not count in this task)"}`;
  const attributes = { class: aspect.counts ? "chip" : "chip is-muted", "aria-label": name, title: `${name} (id ${aspect.id})`, "data-aspect": aspect.number };
  if (!onChoose) return h("span", { ...attributes, role: "img" }, aspect.number);
  return h("button", { ...attributes, type: "button", "aria-pressed": "false", onclick: () => onChoose(aspect) }, aspect.number);
}

function chips(aspects, onChoose) {
  return aspects.map((aspect) => [chip(aspect, onChoose), " "]);
}

// The mark of a system: a disc for A, a square for B; hollow where chance decides whether the sentence counts.
function mark(side, share = 1) {
  const name =
    share < 1 ? `named by ${side.label}; counts with a chance of ${percent(share)}` : `selected by ${side.label}`;
  const shape = `mark mark-${side.letter.toLowerCase()}${share < 1 ? " is-drawn" : ""}`;
  return h("span", { class: shape, role: "img", "aria-label": name, title: name });
}

// The same mark without words, for places where the text beside it says what it means.
function plainMark(side) {
  return h("span", { class: `mark mark-${side.letter.toLowerCase()}`, "aria-hidden": "true" });
}

/* The paper in reading order, its abstract set apart. `decorate(index, kind)` returns what is put around a sentence:
   {classes, before, after}; kinds are h(eading), a(bstract) and b(ody). */
function sentenceRows(paper, decorate) {
  const blocks = [];
  let abstract = null;
  paper.sentences.forEach((sentence, index) => {
    const kind = paper.kinds[index];
    const row = sentenceRow(index, kind, sentence, decorate(index, kind));
    if (kind !== "a") {
      abstract = null;
      blocks.push(row);
      return;
    }
    if (!abstract) {
      abstract = h("section", { class: "abstract", "aria-label": "Abstract" }, abstractLabel(paper, index));
      blocks.push(abstract);
    }
    abstract.append(row);
  });
  return blocks;
}

// The label "Abstract", which this page adds where the paper has no such heading.
function abstractLabel(paper, index) {
  const before = index ? paper.sentences[index - 1].trim().toLowerCase() : "";
  return before === "abstract" ? null : h("p", { class: "abstract-label" }, "Abstract");
}

function sentenceRow(index, kind, sentence, { classes = "", before = [], after = [] }) {
  const text = foreign(kind === "h" ? "h3" : "span", { class: "text" }, sentence);
  return h("div", { class: `sentence kind-${kind} ${classes}`.trim(), id: `s-${index}`, tabindex: "-1", "data-index": index },
    before,
    h("div", { class: "body" }, text, after));
}
