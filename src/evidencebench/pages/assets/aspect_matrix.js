// Shows the aspects as one matrix: a row an aspect, a column a system, and which system found which aspect.

import { counted, foreign, h, percent } from "./dom.js";
import { firstWords, onlyOf, plainMark } from "./graded.js";
import { linkTo } from "./route.js";

const MOST_TEXT = 5000; // characters

const NO_TEXTS = "The data has no texts of aspects: a sentence is quoted.";

/* `on.choose(aspect)` toggles the highlight of an aspect; `on.next(aspect)` goes to its next sentence;
   `on.filter(name)` is told the filter, by its name in the address.
   Returns {element, showChosen(aspect or null), show(a filter's name)}. */
export function aspectMatrix(graded, on) {
  // A and B first, so that they are in sight however many systems there are.
  const all = [...graded.chosen, ...graded.sides].filter((side) => side.judged);
  const columns = all.filter((side, place) => all.findIndex(({ position }) => position === side.position) === place);
  const items = graded.aspects.map((aspect) => matrixRow(graded, aspect, columns, on));
  const heads = new Map([null, ...columns].map((side) => [side, h("th", { scope: "col", class: side ? side.key && `of-${side.key}` : "of-aspects" },
    h("button", { title: side ? `${side.label}: found or missed first` : "Missed by most first, or by number", onclick: () => order(side, sorted.by === side && !sorted.isTurned) },
      side ? [side.letter && plainMark(side), foreign("span.head-name", {}, side.label)] : "Aspect"))]));
  const filters = filtersOf(graded);
  const buttons = filters.map(([words, keeps], place) => {
    const name = place ? nameOf(words) : null; // the first shows all
    return h("button", { onclick: () => { show(name); on.filter(name); } }, `${words} `, h("span.number", {}, items.filter(keeps).length));
  });
  const none = h("p.none", {}, "There is no such aspect.");
  const hasTexts = graded.aspects.some((aspect) => aspect.text !== null);
  const body = h("tbody");
  const caption = "Which system found which aspect; those missed by most systems come first";
  const frame = h("div.matrix-frame", { hidden: !items.length },
    h("table.matrix", {}, h("caption.visually-hidden", {}, caption), h("thead", {}, h("tr", {}, [...heads.values()])), body));
  frame.style.setProperty("--n", columns.length); // for print
  const element = h("aside.aspects", { id: "aspects", "aria-labelledby": "aspects-title", tabindex: "-1" },
    h("h2", { id: "aspects-title" }, `Aspects (${items.length})`),
    filters.length > 1 && items.length > 0 && h("div.aspect-filter", { role: "group", "aria-label": "Show aspects" }, buttons),
    !hasTexts && h("p.no-texts", {}, items.length ? NO_TEXTS : "The paper has no labels."),
    none,
    frame);
  let shown = 0; // the place of the filter
  let chosen = null;
  let sorted = {}; // {by, isTurned}
  order(null, false);
  return { element, show, showChosen };

  /* At first what most systems missed; a system's head brings what it found; "Aspect" turns to numbers. A second press
     on the same head turns the order around. */
  function order(by, isTurned) {
    sorted = { by, isTurned };
    const rank = ({ aspect, nFound }) => (by ? (isTurned ? 1 : -1) * by.covers(aspect) : isTurned ? 0 : nFound);
    const last = ({ aspect }) => (by || !isTurned) && !aspect.counts;
    const rows = items.toSorted((one, other) =>
      last(one) - last(other) || rank(one) - rank(other) || one.aspect.number - other.aspect.number);
    body.append(...rows.flatMap((item) => [item.element, item.details]));
    for (const head of heads.values()) head.ariaSort = null;
    heads.get(by).ariaSort = isTurned ? "ascending" : by ? "descending" : "other";
  }

  function show(name) {
    shown = Math.max(0, filters.findIndex(([words]) => nameOf(words) === name));
    buttons.forEach((button, place) => { button.ariaPressed = place === shown; });
    update();
  }

  function showChosen(aspect) {
    chosen = aspect;
    update();
    if (chosen) showWithin(frame, items[chosen.number].element);
  }

  function update() {
    for (const item of items) {
      const isChosen = item.aspect === chosen;
      item.element.hidden = !filters[shown][1](item);
      item.element.classList.toggle("is-chosen", isChosen);
      item.name.ariaExpanded = isChosen;
      item.details.hidden = !isChosen || item.element.hidden;
      item.details.replaceChildren(...(isChosen ? [detailsOf(graded, item.aspect, columns.length, on)] : []));
    }
    none.hidden = !items.length || items.some((item) => !item.element.hidden);
  }
}

function matrixRow(graded, aspect, columns, on) {
  const name = h("button.aspect-name", { onclick: () => on.choose(aspect) },
    h("b.number", {}, aspect.number),
    // the first words of its text, or of a sentence that states it
    foreign("span.gist", {}, textOfAspect(graded, aspect, 200)));
  const cell = (share) => {
    const state = share === 1 ? "found" : share === 0 ? "missed" : "chance";
    const words = state === "chance" ? `found with probability ${percent(share)}` : state;
    return h(`span.cell.is-${state}`, { role: "img", "aria-label": words, title: words });
  };
  const cells = columns.map((side) => h("td", { class: side.key && `of-${side.key}` }, aspect.counts && cell(side.covers(aspect))));
  return {
    aspect, name,
    nFound: graded.competing.filter((side) => side.covers(aspect)).length,
    element: h("tr", { class: aspect.counts ? "aspect" : "aspect is-muted", "data-aspect": aspect.number },
      h("th", { scope: "row" }, name), cells),
    details: h("tr.aspect-details"),
  };
}

// Scrolls the frame only; the page stays where the reader is.
export function showWithin(frame, element) {
  const top = element.getBoundingClientRect().top - frame.getBoundingClientRect().top;
  if (top < 0 || top + element.offsetHeight > frame.clientHeight) frame.scrollTop += top - frame.clientHeight / 4;
}

// Filters as [words, keeps(item)].
function filtersOf(graded) {
  const judged = graded.chosen.filter((side) => side.judged);
  const missedBy = ({ letter, covers }) => [`Missed by ${letter}`, ({ aspect }) => aspect.counts && !covers(aspect)];
  const foundOnlyBy = (side, place) => [`Only ${side.letter}`, ({ aspect }) => onlyOf(graded, side, judged[1 - place]).includes(aspect)];
  return [
    ["All", () => true],
    ...(graded.competing.length ? [["Missed by all", ({ aspect, nFound }) => aspect.counts && !nFound]] : []),
    ...judged.map(missedBy),
    ...(judged.length === 2 ? judged.map(foundOnlyBy) : []),
  ];
}

// A filter's name in the address, as "missed-by-all".
const nameOf = (words) => words.toLowerCase().replaceAll(" ", "-");

// The text of an aspect, or the sentence that is quoted for it.
function textOfAspect({ paper }, { text, quoted, number }, length) {
  if (text !== null) return firstWords(text, length);
  return quoted === undefined
    ? `Aspect ${number}, which no sentence states`
    : `#${quoted} “${firstWords(paper.sentences[quoted], length)}”`;
}

// The whole text of the chosen aspect, where it is stated, and who found it.
function detailsOf(graded, aspect, nColumns, on) {
  const badge = (words) => h("span.badge", {}, words);
  return h("td", { colspan: nColumns + 1 },
    h("div.details-body", {},
      foreign("p", {}, textOfAspect(graded, aspect, MOST_TEXT)),
      aspect.is_result && badge("Results"),
      !aspect.counts && badge("does not count in this task"),
      aspect.sentences.length
        ? h("div.sources", {}, h("button.next", { onclick: () => on.next(aspect) }, `Next of ${counted(aspect.sentences.length, "sentence")}`),
          aspect.sentences.map((index) => [sentenceLink(graded.paper, index), " "]))
        : h("p.sources", {}, "No sentence of the paper states it."),
      aspect.counts && foundBy(graded, aspect),
      foreign("p.aspect-id", {}, aspect.id)));
}

export const sentenceLink = (paper, index) =>
  h("a", { href: linkTo(paper.id, index), title: firstWords(paper.sentences[index]) }, `#${index}`);

// Which systems find the aspect, of those that could miss it. The others are named apart.
function foundBy({ sides, competing }, aspect) {
  const finders = competing.filter((side) => side.covers(aspect));
  const others = sides.filter((side) => !side.is_counted && (side.knows_labels || !side.is_control) && side.covers(aspect));
  const list = (named) => named.map(({ label, covers }, place) => [
    place > 0 && ", ",
    foreign("span", {}, label),
    covers(aspect) < 1 && ` (probability ${percent(covers(aspect))})`,
  ]);
  return h("p.found-by", {},
    competing.length > 0 && `Found by ${finders.length} of ${counted(competing.length, "system")}`,
    finders.length > 0 && [": ", list(finders)],
    competing.length > 0 && ". ",
    others.length > 0 && ["Not competing: ", list(others), "."]);
}
