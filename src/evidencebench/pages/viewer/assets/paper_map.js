// Draws a map of the paper beside its text, a line for each sentence: the evidence, and what A and B selected.

const MAP_WIDTH = 60;
const LANES = { A: [0, 9], text: [13, 34], B: [51, 9] }; // where each lane begins, and how wide it is
const FULL_LINE = 220; // characters that fill the lane of the text

// Two drawings of the map, upright and flat, for wide and narrow pages; `onPick(index)` gets the clicked sentence.
function mapOf(graded, onPick) {
  const drawings = [true, false].map((upright) => mapDrawing(graded, upright, onPick));
  const onEach =
    (name) =>
    (...given) =>
      drawings.forEach((drawing) => drawing[name](...given));
  return {
    upright: drawings[0].element,
    lying: drawings[1].element,
    showView: onEach("showView"),
    showAspect: onEach("showAspect"),
  };
}

function mapDrawing(graded, upright, onPick) {
  const n = graded.paper.sentences.length;
  const block = (index, start, width, length = 0.82) => blockPath(upright, index, start, width, length);
  const view = svg("path", { class: "map-view" });
  const highlight = svg("path", { class: "map-highlight" });
  const title = svg("title");
  const [width, height] = upright ? [MAP_WIDTH, n] : [n, MAP_WIDTH];
  const picture = svg("svg",
    { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img", "aria-label": mapWords(graded) },
    title,
    textPaths(graded, block),
    evidencePaths(graded, block),
    graded.chosen.map((side) => lanePaths(side, block)),
    highlight,
    view);
  const indexAt = (event) => pointedAt(event, picture, upright, n);
  picture.addEventListener("click", (event) => onPick(indexAt(event)));
  picture.addEventListener("pointermove", (event) => {
    const index = indexAt(event);
    title.textContent = cleaned(`${index}: ${firstWords(graded.paper.sentences[index])}`);
  });
  const element = h("div", { class: upright ? "map map-upright" : "map map-lying" }, picture);
  element.style.setProperty("--n", n);
  return {
    element,
    showView: (first, last) => view.setAttribute("d", block(first, 0, MAP_WIDTH, last - first + 1)),
    showAspect(aspect) {
      const [start, size] = LANES.text;
      highlight.setAttribute("d", (aspect?.sentences ?? []).map((index) => block(index, start - 3, size + 6, 1)).join(""));
    },
  };
}

// The path of a rectangle: `length` sentences from `index` on along the paper, `width` units from `start` across it.
function blockPath(upright, index, start, width, length) {
  return upright
    ? `M${start} ${index}h${width}v${length}h${-width}z`
    : `M${index} ${start}v${width}h${length}v${-width}z`;
}

function pointedAt(event, picture, upright, n) {
  const box = picture.getBoundingClientRect();
  const share = upright ? (event.clientY - box.top) / box.height : (event.clientX - box.left) / box.width;
  return Math.min(n - 1, Math.max(0, Math.floor(share * n)));
}

function textPaths({ paper }, block) {
  const [start, size] = LANES.text;
  const paths = { h: "", a: "", b: "" };
  paper.sentences.forEach((sentence, index) => {
    const isHeading = paper.kinds[index] === "h";
    const width = isHeading ? size + 6 : Math.max(4, size * Math.min(1, sentence.length / FULL_LINE));
    paths[paper.kinds[index]] += block(index, isHeading ? start - 3 : start, width, isHeading ? 0.5 : 0.82);
  });
  return Object.entries(paths)
    .map(([kind, path]) => path && svg("path", { class: `map-text map-${kind}`, d: path }))
    .filter(Boolean);
}

// Evidence in the four colours of the text. Each colour is one path, since long papers draw faster so.
function evidencePaths({ fateOf }, block) {
  const [start, size] = LANES.text;
  const paths = new Map();
  fateOf.forEach((fate, index) => {
    if (fate) paths.set(fate, (paths.get(fate) ?? "") + block(index, start, size, 1));
  });
  return [...paths].map(([fate, path]) => svg("path", { class: `map-evidence fate-${fate}`, d: path }));
}

function lanePaths(side, block) {
  const [start, size] = LANES[side.letter];
  const lane = (sure) =>
    side.selected
      .filter((index) => (side.selects(index) === 1) === sure)
      .map((index) => block(index, start, size, 1))
      .join("");
  const name = `map-lane lane-${side.letter.toLowerCase()}`;
  return [svg("path", { class: name, d: lane(true) }), svg("path", { class: `${name} is-drawn`, d: lane(false) })];
}

function mapWords({ paper, stated, chosen, isEvidence }) {
  const nEvidence = stated.filter((_, index) => isEvidence(index)).length;
  const selections = chosen.filter(({ judged }) => judged).map(
    (side) => `${side.letter}, ${side.label}, names ${counted(side.selected.length, "sentence")}`,
  );
  return [
    `Map of the paper: ${counted(paper.sentences.length, "sentence")}, ${nEvidence} of them evidence`,
    ...selections,
  ].join("; ");
}
