// Draws a map of the paper beside its text, a line for each sentence: the evidence, and what A and B selected.

const MAP_WIDTH = 60;
const LANES = { A: [0, 9], text: [13, 34], B: [51, 9] }; // where each lane begins, and how wide it is
const FULL_LINE = 220; // characters that fill the lane of the text

// Two drawings of the map, upright and lying, for wide and narrow pages; `onPick(index)` gets the clicked sentence.
function mapOf(graded, onPick) {
  const shapes = [
    ...textShapes(graded), ...evidenceShapes(graded), ...graded.chosen.flatMap(laneShapes),
    ["map-highlight", ""], ["map-view", ""],
  ];
  const [upright, lying] = [true, false].map((isUpright) => mapDrawing(graded, shapes, isUpright, onPick));
  const draw = (name, path) =>
    [upright, lying].forEach((map) => map.querySelector(`.map-${name}`).setAttribute("d", path));
  const [start, size] = LANES.text;
  return {
    upright,
    lying,
    showView: (first, last) => draw("view", blockPath(first, 0, MAP_WIDTH, last - first + 1)),
    showAspect: (aspect) =>
      draw("highlight", (aspect?.sentences ?? []).map((index) => blockPath(index, start - 3, size + 6)).join("")),
  };
}

function mapDrawing(graded, shapes, isUpright, onPick) {
  const n = graded.paper.sentences.length;
  const title = svg("title");
  const [size, turn] = isUpright ? [`${MAP_WIDTH} ${n}`, null] : [`${n} ${MAP_WIDTH}`, "matrix(0 1 1 0 0 0)"];
  const picture = svg("svg",
    { viewBox: `0 0 ${size}`, preserveAspectRatio: "none", role: "img", "aria-label": mapWords(graded) },
    title,
    svg("g", { transform: turn }, shapes.map(([name, d]) => svg("path", { class: name, d }))));
  const indexAt = (event) => {
    const box = picture.getBoundingClientRect();
    const share = isUpright ? (event.clientY - box.top) / box.height : (event.clientX - box.left) / box.width;
    return Math.min(n - 1, Math.max(0, Math.floor(share * n)));
  };
  picture.addEventListener("click", (event) => onPick(indexAt(event)));
  picture.addEventListener("pointermove", (event) => {
    const index = indexAt(event);
    title.textContent = cleaned(`${index}: ${firstWords(graded.paper.sentences[index])}`);
  });
  const element = h("div", { class: `map map-${isUpright ? "upright" : "lying"}` }, picture);
  element.style.setProperty("--n", n);
  return element;
}

// The path of a rectangle: `length` sentences from `index` on down the map, `width` units from `start` across it.
function blockPath(index, start, width, length = 1) {
  return `M${start} ${index}h${width}v${length}h${-width}z`;
}

// Shapes are [class, path]. Each colour is one path, since long papers draw faster so.
function textShapes({ paper }) {
  const [start, size] = LANES.text;
  return ["h", "a", "b"].map((kind) => [`map-text map-${kind}`, paper.sentences.map((sentence, index) => {
    if (paper.kinds[index] !== kind) return "";
    if (kind === "h") return blockPath(index, start - 3, size + 6, 0.5);
    return blockPath(index, start, Math.max(4, size * Math.min(1, sentence.length / FULL_LINE)), 0.82);
  }).join("")]);
}

function evidenceShapes({ fateOf }) {
  const paths = {};
  fateOf.forEach((fate, index) => {
    if (fate) paths[fate] = (paths[fate] ?? "") + blockPath(index, ...LANES.text);
  });
  return Object.entries(paths).map(([fate, path]) => [`map-evidence fate-${fate}`, path]);
}

function laneShapes(side) {
  const name = `map-lane lane-${side.key}`;
  return [[name, true], [`${name} is-drawn`, false]].map(([shape, isSure]) => {
    const indexes = side.selected.filter((index) => (side.selects(index) === 1) === isSure);
    return [shape, indexes.map((index) => blockPath(index, ...LANES[side.letter])).join("")];
  });
}

function mapWords({ paper, fateOf, chosen }) {
  const evidence = `${counted(paper.sentences.length, "sentence")}, ${fateOf.filter(Boolean).length} of them evidence`;
  const selections = chosen.filter(({ judged }) => judged).map(({ letter, label, selected }) =>
    `; ${letter}, ${label}, names ${counted(selected.length, "sentence")}`);
  return `Map of the paper: ${evidence}${selections.join("")}`;
}
