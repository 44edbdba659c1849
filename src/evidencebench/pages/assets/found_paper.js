// The text of a paper with the evidence in it marked, and the list of that evidence.

// Returns the paper's element, and a function that marks sentences: [{sentence, direction}], best first.
function foundPaper(paper) {
  const marks = new Map();
  const about = foreign("p.found-about", {}, `${paper.name}: ${paper.format}, ${counted(paper.sentences.length, "sentence")}`);
  const article = h("article.found-paper", { "aria-label": "The paper" }, about, ...blocksOf(paper, marks));
  return { article, mark };

  function mark(evidence, strengths, isSplit) {
    for (const [index, { element, label }] of marks) {
      const rank = evidence.findIndex((found) => found.sentence === index) + 1;
      const direction = rank > 0 && isSplit ? evidence[rank - 1].direction : "not said";
      element.classList.toggle("is-evidence", rank > 0);
      element.dataset.direction = direction;
      element.dataset.strength = (rank > 0 && strengths[index]) || "";
      label.textContent = rank > 0 ? [rank, direction !== "not said" && direction].filter(Boolean).join(" ") : "";
    }
  }
}

function blocksOf(paper, marks) {
  const blocks = [];
  let block = null;
  paper.sentences.forEach((text, index) => {
    const isHeading = paper.kinds[index] === "section_name";
    if (isHeading) {
      const tag = `h${Math.min(6, 3 + paper.levels[index])}`;
      blocks.push(foreign(index ? tag : "h2", { id: `sentence-${index}` }, text));
      block = null;
      return;
    }
    if (block === null || block.paragraph !== paper.paragraphs[index]) {
      const element = h("p", { class: paper.kinds[index] === "abstract" ? "in-abstract" : "", dir: "auto" });
      block = { paragraph: paper.paragraphs[index], element };
      blocks.push(element);
    }
    const label = h("sup.rank");
    const element = h("span", { id: `sentence-${index}`, class: "sentence", tabindex: -1 }, text, label);
    marks.set(index, { element, label });
    block.element.append(element, " ");
  });
  return blocks;
}

// Returns a list of links to the sentences, each with its rank, where it stands and how likely it is evidence.
function evidenceList(evidence) {
  return h("ol.evidence-list", {},
    ...evidence.map((found) =>
      h("li", { value: found.rank }, h("a", { href: `#sentence-${found.sentence}`, dir: "auto", onclick: show }, found.text), h("small", {}, found.told)),
    ),
  );

  function show(event) {
    event.preventDefault();
    const sentence = document.querySelector(event.currentTarget.getAttribute("href"));
    sentence.scrollIntoView({ block: "center" });
    sentence.focus({ preventScroll: true });
  }
}
