// Shows the text of a paper with its evidence and selections; all sentences, or only the marked ones.

import { cleaned, counted, foreign, h, svg, wide } from "./dom.js";
import { abstractLabel, chips, firstWords, mark } from "./graded.js";
import { sideA, targetsOf } from "./paper_view.js";
import { linkTo } from "./route.js";

/* Returns {element, rows, highlight(aspect or null), only(isOn), reveal(row)}. */
export function textOf(graded, onChoose) {
  const element = h("div.text-rows", { id: "text" }, paperRows(graded, onChoose));
  const rows = [...element.querySelectorAll(".sentence")];
  element.style.setProperty("--digits", String(rows.length - 1).length);
  element.style.setProperty("--lanes", graded.chosen.length);
  const isMarked = markedRows(graded);
  let gaps = [];
  return { element, rows, highlight, only, reveal };

  function highlight(aspect) {
    rows.forEach((row, index) => row.classList.toggle("is-chosen", Boolean(aspect?.sentences.includes(index))));
  }

  function only(isOn) {
    gaps.forEach((gap) => gap.remove());
    rows.forEach((row, index) => {
      row.hidden = isOn && !isMarked[index];
    });
    const runs = [];
    for (const row of rows.filter(({ hidden }) => hidden)) {
      if (runs.at(-1)?.at(-1) === row.previousElementSibling) runs.at(-1).push(row);
      else runs.push([row]);
    }
    gaps = runs.map(gapOf);
  }

  function reveal(row) {
    if (row.hidden) gaps.find((gap) => gap.run.includes(row)).open();
  }
}

// The paper in reading order, its abstract set apart; kinds of sentences are h(eading), a(bstract) and b(ody).
function paperRows(graded, onChoose) {
  const { paper } = graded;
  const words = Object.fromEntries(fatesOf(graded));
  const blocks = [];
  let abstract = null;
  [...paper.kinds].forEach((kind, index) => {
    const row = sentenceRow(graded, index, kind, words, onChoose);
    if (kind === "a" && !abstract) {
      abstract = h("section.abstract", { "aria-label": "Abstract" }, abstractLabel(paper, index));
      blocks.push(abstract);
    }
    if (kind !== "a") abstract = null;
    if (abstract) abstract.append(row);
    else blocks.push(row);
  });
  return blocks;
}

// A sentence with its number, the marks of the systems that selected it, who found it, and the aspects it states.
function sentenceRow(graded, index, kind, words, onChoose) {
  const { paper, chosen, stated, fateOf } = graded;
  const fate = fateOf[index];
  const aspects = stated[index].toSorted((one, other) => other.counts - one.counts || one.number - other.number);
  const marks = chosen.filter((side) => side.selects(index)).map((side) => mark(side, side.selects(index)));
  return h(`div.sentence.kind-${kind}${fate ? `.is-evidence.fate-${fate}` : ""}`, { id: `s-${index}`, tabindex: "-1", "data-index": index },
    h("a.index", { href: linkTo(paper.id, index), tabindex: "-1", "aria-label": `sentence ${index}` }, index),
    marks.length > 0 && h("span.lanes", {}, marks),
    fate && h("span.edge", { role: "img", "aria-label": words[fate], title: words[fate] }),
    h("div.body", {},
      foreign(kind === "h" ? "h3" : "span", { class: "text" }, paper.sentences[index]),
      aspects.length > 0 && h("span.chips", {}, " ", chips(aspects, onChoose))));
}

// What becomes of evidence, as [class, words, short words]: those that can occur with the systems that are compared.
function fatesOf({ chosen }) {
  const judged = chosen.filter((side) => side.judged);
  if (!judged.length) return [["plain", "evidence", "evidence"]];
  const isPair = judged.length > 1;
  const choosers = [...judged.map(({ key, letter }) => [key, letter]), ...(isPair ? [["both", "both"]] : [])];
  return [
    ...choosers.map(([fate, name], place) =>
      [fate, `evidence chosen by ${name}`, [!place && wide("chosen by\u00a0"), name]]),
    ["missed", `evidence missed by ${isPair ? "both" : judged[0].letter}`, "missed"],
    ["plain", "evidence, but found in another sentence", "elsewhere"],
  ];
}

// Which rows are marked: evidence, selected sentences, and the headings above them.
function markedRows({ paper, chosen, isEvidence }) {
  const isMarked = paper.sentences.map((_, index) => isEvidence(index) || chosen.some((side) => side.selects(index)));
  let isNeeded = false;
  for (let index = isMarked.length - 1; index >= 0; index -= 1) {
    const isHeading = paper.kinds[index] === "h";
    if (isHeading) isMarked[index] ||= isNeeded;
    isNeeded = !isHeading && (isNeeded || isMarked[index]);
  }
  return isMarked;
}

// A button in place of a run of hidden rows that follow each other; it shows them.
function gapOf(run) {
  const open = () => {
    for (const row of run) row.hidden = false;
    gap.remove();
  };
  const turn = () => {
    open();
    run[0].focus();
  };
  const gap = h("button.gap", { onclick: turn }, `… ${counted(run.length, "sentence")}`);
  run[0].before(gap);
  return Object.assign(gap, { run, open });
}

// The bar below the text: steps, what the colours mean, and the button "only marked". Returns {element, less}.
export function toolbar(graded, jump, toggleLess) {
  const title = "Only evidence and selections, with the headings over them";
  const less = h("button.less", { "aria-pressed": "false", title, onclick: toggleLess },
    wide("Only\u00a0"), "marked");
  const a = sideA(graded);
  const isLabelled = graded.aspects.length > 0;
  const kinds = Object.keys(STEPS).filter((kind) =>
    (kind === "evidence" || a?.judged) && (isLabelled || kind === "selected"));
  const fates = fatesOf(graded).map(([fate, words, short]) => [h(`span.fate-${fate}`, { title: words }, h("i.edge"), short), " "]);
  const element = h("div.toolbar", { role: "group", "aria-label": "The text" },
    kinds.map((kind) => {
      const [, name, full] = STEPS[kind];
      const n = targetsOf(graded, kind).length;
      return stepper(full, !n, (by) => jump(kind, by), h("span", {}, `${name} `, h("span.number", {}, n)));
    }),
    a && !a.judged && h("span.unscored", {}, "A is not scored here"),
    isLabelled && h("p.legend", {}, fates),
    less);
  return { element, less };
}

// Kind of step -> [key, short name, full name, what is said where there is none].
export const STEPS = {
  evidence: ["e", "evidence", "evidence sentence", "No sentence of this paper is evidence."],
  selected: ["x", "A chose", "sentence selected by A", "A selected no sentence."],
  missed: ["m", "A missed", "sentence of an aspect missed by A", "A missed no aspect that could be covered."],
};

// Commands of the keyboard that step through a paper; with Shift backwards.
export function stepCommands(jump) {
  return Object.entries(STEPS).flatMap(([kind, [key, , name]]) => [
    { keys: [key], name: `next ${name}`, run: () => jump(kind, 1) },
    { keys: [key.toUpperCase()], name: `previous ${name}`, run: () => jump(kind, -1) },
  ]);
}

// Two buttons, which go back and forward, and between them what they step through.
export function stepper(what, disabled, step, ...between) {
  const button = (by, sign, word) =>
    h(`button.${word}`, { disabled, "aria-label": `${word} ${what}`, title: `${word} ${what}`, onclick: () => step(by) }, sign);
  return h("span.stepper", {}, button(-1, "‹", "previous"), between, button(1, "›", "next"));
}

// Draws a map of the paper beside its text, a line for each sentence: the evidence, and what A and B selected.

const MAP_WIDTH = 60;
const LANES = { A: [0, 9], text: [13, 34], B: [51, 9] }; // where each lane begins, and how wide it is
const FULL_LINE = 220; // characters that fill the lane of the text

// Two drawings of the map, upright and lying, for wide and narrow pages; `onPick(index)` gets the clicked sentence.
export function mapOf(graded, onPick) {
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
    title, svg("g", { transform: turn }, shapes.map(([name, d]) => svg("path", { class: name, d }))));
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
  const element = h(`div.map.map-${isUpright ? "upright" : "lying"}`, {}, picture);
  element.style.setProperty("--n", n);
  return element;
}

// The path of a rectangle: `length` sentences from `index` on down the map, `width` units from `start` across it.
export function blockPath(index, start, width, length = 1) {
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
