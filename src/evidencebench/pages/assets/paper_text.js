// Shows the text of a paper with its evidence and selections; all sentences, or only the marked ones.

import { cleaned, counted, foreign, h, stepKeys, svg, wide } from "./dom.js";
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
  return {
    element, rows, only,
    highlight: (aspect) => rows.forEach((row, index) => row.classList.toggle("is-chosen", Boolean(aspect?.sentences.includes(index)))),
    reveal: (row) => row.hidden && gaps.find((gap) => gap.run.includes(row)).open(),
  };

  function only(isOn) {
    gaps.forEach((gap) => gap.remove());
    rows.forEach((row, index) => { row.hidden = isOn && !isMarked[index]; });
    const runs = [];
    for (const row of rows.filter(({ hidden }) => hidden)) {
      if (runs.at(-1)?.at(-1) === row.previousElementSibling) runs.at(-1).push(row);
      else runs.push([row]);
    }
    gaps = runs.map(gapOf);
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
    if (kind !== "a") abstract = null;
    else if (!abstract) blocks.push(abstract = h("section.abstract", { "aria-label": "Abstract" }, abstractLabel(paper, index)));
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
    ...choosers.map(([fate, name], place) => [fate, `evidence selected by ${name}`, [!place && wide("selected by\u00a0"), name]]),
    ["missed", `evidence missed by ${isPair ? "both" : judged[0].letter}`, "missed"],
    ["plain", "evidence, stated by another selected sentence", "elsewhere"],
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

// A button in place of a run of hidden rows that follow each other; `open` shows them, and returns the first.
function gapOf(run) {
  const open = () => {
    for (const row of run) row.hidden = false;
    gap.remove();
    return run[0];
  };
  const gap = h("button.gap", { onclick: () => open().focus() }, `… ${counted(run.length, "sentence")}`);
  run[0].before(gap);
  return Object.assign(gap, { run, open });
}

// The bar below the text: steps, what the colours mean, and the button "only marked". Returns {element, less}.
export function toolbar(graded, jump, toggleLess) {
  const title = "Only evidence and selected sentences, with their headings";
  const less = h("button.less", { "aria-pressed": "false", title, onclick: toggleLess }, wide("Only\u00a0"), "marked");
  const a = sideA(graded);
  const isLabelled = graded.aspects.length > 0;
  const kinds = Object.keys(STEPS).filter((kind) => (kind === "evidence" || a?.judged) && (isLabelled || kind === "selected"));
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
  selected: ["x", "A selected", "sentence selected by A", "A selected no sentence."],
  missed: ["m", "A missed", "sentence with an aspect missed by A", "A missed no aspect that could be covered."],
};

// Commands of the keyboard that step through a paper; with Shift backwards.
export const stepCommands = (jump) => Object.entries(STEPS).flatMap(([kind, [key, , name]]) =>
  stepKeys([key], [key.toUpperCase()], name, (by) => jump(kind, by)));

// Two buttons, which go back and forward, and between them what they step through.
export function stepper(what, disabled, step, ...between) {
  const button = (by, sign, word) =>
    h(`button.${word}`, { disabled, "aria-label": `${word} ${what}`, title: `${word} ${what}`, onclick: () => step(by) }, sign);
  return h("span.stepper", {}, button(-1, "‹", "previous"), between, button(1, "›", "next"));
}

// The next of these sentences, which ascend, after one or before it.
export const beyond = (indexes, from, step) =>
  step < 0 ? indexes.findLast((index) => index < from) : indexes.find((index) => index > from);

/* The sentences; Tab reaches one of them, and arrow keys go to the others. `onReach(index)` is told where the focus goes.
   Returns {element, buttons, reached(), reach(index), focus(index), showPicked(indexes), place(bar), showAtTop(index)}. */
export function pickText(paper, onToggle, onReach) {
  let pressed = null;
  const press = ({ clientX, clientY, pointerType }) => { pressed = { x: clientX, y: clientY, isTouch: pointerType === "touch" }; };
  const toggle = (index, event) => { if (!endsSelection(event, pressed)) onToggle(index); };
  const buttons = paper.sentences.map((sentence, index) => pickButton(sentence, index, { toggle, reach }));
  const list = h("ol.pick-text", { role: "list", "aria-label": "Sentences of the paper", onkeydown: step, onpointerdown: press });
  buttons.forEach((button, index) => {
    const kind = paper.kinds[index];
    const label = kind === "a" && paper.kinds[index - 1] !== "a" && abstractLabel(paper, index);
    if (label) list.append(h("li.pick-label", {}, label));
    list.append(h("li", { class: `pick-row pick-${kind}` }, kind === "h" ? h("h2", {}, button) : button));
  });
  let reached = 0;
  return {
    element: list, buttons, reach, focus, place,
    reached: () => reached,
    showPicked: (picked) => buttons.forEach((button, index) => { button.ariaPressed = picked.includes(index); }),
    showAtTop: (index) => buttons[Math.min(index, buttons.length - 1)].scrollIntoView(),
  };

  function step(event) {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by === undefined || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    event.preventDefault();
    focus(reached + by);
  }

  function reach(index) {
    buttons[reached]?.setAttribute("tabindex", "-1");
    buttons[index]?.setAttribute("tabindex", "0");
    reached = index;
    onReach?.(index);
  }

  // Where the person is: at the sentence that was reached, or where it is out of view, at the first one in view.
  function place(bar) {
    const top = bar.getBoundingClientRect().bottom;
    const isInView = (button, { y, height } = button.getBoundingClientRect()) => y + height > top && y < innerHeight;
    return isInView(buttons[reached]) ? reached : Math.max(0, buttons.findIndex((button) => isInView(button)));
  }

  function focus(index, options) {
    reach(Math.max(0, Math.min(index, buttons.length - 1)));
    buttons[reached]?.focus(options);
  }
}

const pickButton = (sentence, index, on) => h("button.pick-sentence",
  { id: `pick-${index}`, tabindex: "-1", "aria-pressed": "false",
    onclick: (event) => on.toggle(index, event), onfocus: () => on.reach(index) },
  h("span.pick-number", {}, String(index)),
  h("span.pick-box", { "aria-hidden": "true" }),
  foreign("span.pick-words", {}, sentence.trim() ? sentence : "(no text)"));

const DRAG_PIXELS = 6;

/* Whether a click selects text, and so is no pick: it ends a drag, extends the selection by Shift, or
   is the third of a triple click. The second of a double click takes back the pick of the first. A finger that
   moves scrolls the page, which makes no click. A key (`detail` 0) always picks. */
function endsSelection({ detail, clientX, clientY, shiftKey }, pressed) {
  if (detail === 0 || detail === 2) return false;
  if (detail > 2 || (shiftKey && !getSelection().isCollapsed)) return true;
  return pressed !== null && !pressed.isTouch && Math.hypot(clientX - pressed.x, clientY - pressed.y) > DRAG_PIXELS;
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
  const draw = (name, path) => [upright, lying].forEach((map) => map.querySelector(`.map-${name}`).setAttribute("d", path));
  const [start, size] = LANES.text;
  return {
    upright, lying,
    showView: (first, last) => draw("view", blockPath(first, 0, MAP_WIDTH, last - first + 1)),
    showAspect: (aspect) => draw("highlight", (aspect?.sentences ?? []).map((index) => blockPath(index, start - 3, size + 6)).join("")),
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
export const blockPath = (index, start, width, length = 1) => `M${start} ${index}h${width}v${length}h${-width}z`;

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
  const fates = [...Map.groupBy(fateOf.keys(), (index) => fateOf[index])].filter(([fate]) => fate);
  return fates.map(([fate, indexes]) => [`map-evidence fate-${fate}`, indexes.map((index) => blockPath(index, ...LANES.text)).join("")]);
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
