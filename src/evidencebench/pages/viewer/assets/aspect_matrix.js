// Shows the aspects as one matrix: a row for each aspect, a column for each system, and which system found which aspect.

const MOST_LINKS = 12;
const MOST_TEXT = 5000; // characters

const NO_TEXTS = "The data has no texts of aspects: a sentence is quoted.";

/* `on.choose(aspect)` toggles the highlight of an aspect; `on.next(aspect)` goes to its next sentence; `on.filter(name)`
   is told the filter, by its name in the address. Returns {element, showChosen(aspect or null), show(name of a filter)}. */
function aspectMatrix(graded, on) {
  const columns = columnsOf(graded);
  const items = graded.aspects.map((aspect) => matrixRow(graded, aspect, columns, on));
  const body = h("tbody", {});
  const heads = new Map([[null, sortHead("Aspect", null, sort)], ...columns.map((side) => [side, sortHead(side.label, side, sort)])]);
  const none = h("p", { class: "none", hidden: true }, "No aspect is like that.");
  const filter = aspectFilter(graded, items, none, on);
  const element = h("aside", { class: "aspects", id: "aspects", "aria-labelledby": "aspects-title", tabindex: "-1" },
    h("h2", { id: "aspects-title" }, `Aspects (${graded.aspects.length})`),
    filter?.element ?? null,
    graded.aspects.some((aspect) => aspect.text !== null) ? null : h("p", { class: "no-texts" }, items.length ? NO_TEXTS : "The paper has none."),
    none,
    h("div", { class: "matrix-frame", hidden: !items.length }, h("table", { class: "matrix" },
      h("caption", { class: "visually-hidden" }, "Which system found which aspect; those that most systems missed come first"),
      h("thead", {}, h("tr", {}, [...heads.values()])),
      body)));
  let sorted = { by: null, isTurned: false };
  order();
  return { element, show: (name) => filter?.show(name), showChosen };

  // A second press on the same head turns the order around.
  function sort(by) {
    sorted = { by, isTurned: sorted.by === by && !sorted.isTurned };
    order();
  }

  // At first the aspects that most systems missed; a system's head brings those that it found; "Aspect" turns to numbers.
  function order() {
    const { by, isTurned } = sorted;
    const rank = ({ aspect, nFound }) => (by ? (isTurned ? 1 : -1) * by.covers(aspect) : isTurned ? 0 : nFound);
    const last = ({ aspect }) => (by || !isTurned) && !aspect.counts;
    const rows = [...items].sort((one, other) => last(one) - last(other) || rank(one) - rank(other) || one.aspect.number - other.aspect.number);
    body.append(...rows.flatMap((item) => [item.element, item.details]));
    for (const [side, head] of heads) {
      if (side !== by) head.removeAttribute("aria-sort");
      else head.setAttribute("aria-sort", by ? (isTurned ? "ascending" : "descending") : isTurned ? "ascending" : "other");
    }
  }

  function showChosen(chosen) {
    for (const item of items) {
      const isChosen = item.aspect === chosen;
      item.element.classList.toggle("is-chosen", isChosen);
      item.element.querySelector(".aspect-name").setAttribute("aria-expanded", String(isChosen));
      item.details.hidden = !isChosen || item.element.hidden;
      if (isChosen) item.details.replaceChildren(detailsOf(graded, item.aspect, columns.length, on));
      else item.details.replaceChildren();
      if (isChosen) showWithin(element.querySelector(".matrix-frame"), item.element);
    }
  }
}

// A and B first, so that they are in sight however many systems there are.
function columnsOf({ chosen, sides }) {
  const first = chosen.filter((side, place) => side.judged && chosen.findIndex((other) => other.position === side.position) === place);
  return [...first, ...sides.filter((side) => side.judged && !first.some((other) => other.position === side.position))];
}

function sortHead(name, side, sort) {
  const inner = side ? [side.letter ? plainMark(side) : null, foreign("span", { class: "head-name" }, name)] : name;
  return h("th", { scope: "col", class: side ? columnClass(side) : "of-aspects" },
    h("button", { type: "button", title: side ? `${name}: found or missed first` : "Missed by most first, or by number", onclick: () => sort(side) }, inner));
}

function columnClass({ letter }) {
  return letter ? `of-${letter.toLowerCase()}` : "of-other";
}

function matrixRow(graded, aspect, columns, on) {
  const name = h("button", { type: "button", class: "aspect-name", "aria-expanded": "false", onclick: () => on.choose(aspect) },
    h("b", { class: "number" }, aspect.number),
    aspectGist(graded, aspect));
  const cells = columns.map((side) => h("td", { class: columnClass(side) }, aspect.counts ? cell(side.covers(aspect)) : null));
  return {
    aspect,
    nFound: graded.competing.filter((side) => side.covers(aspect) > 0).length,
    element: h("tr", { class: aspect.counts ? "aspect" : "aspect is-muted", "data-aspect": aspect.number }, h("th", { scope: "row" }, name), cells),
    details: h("tr", { class: "aspect-details", hidden: true }),
  };
}

function cell(share) {
  const [state, words] = share === 1 ? ["found", "found"] : share === 0 ? ["missed", "missed"] : ["chance", `found with a chance of ${percent(share)}`];
  return h("span", { class: `cell is-${state}`, role: "img", "aria-label": words, title: words });
}

// Scrolls the frame only; the page stays where the reader is.
function showWithin(frame, element) {
  if (frame.scrollHeight <= frame.clientHeight) return;
  const top = element.getBoundingClientRect().top - frame.getBoundingClientRect().top;
  const isOutside = top < 0 || top + element.offsetHeight > frame.clientHeight;
  if (isOutside) frame.scrollTop += top - frame.clientHeight / 4;
}

function aspectFilter(graded, items, none, on) {
  const filters = filtersOf(graded);
  if (filters.length < 2 || !items.length) return null;
  const buttons = filters.map(({ name, words, keeps }) => {
    const found = items.filter((item) => keeps(item)).length;
    return h("button", { type: "button", "aria-pressed": "false", onclick: () => { show(name); on.filter(name); } },
      `${words} `,
      h("span", { class: "number" }, found));
  });
  show(null);
  return { element: h("div", { class: "aspect-filter", role: "group", "aria-label": "Show aspects" }, buttons), show };

  function show(wanted) {
    const at = Math.max(0, filters.findIndex(({ name }) => name === wanted));
    buttons.forEach((button, place) => button.setAttribute("aria-pressed", String(place === at)));
    for (const item of items) {
      item.element.hidden = !filters[at].keeps(item);
      item.details.hidden = item.element.hidden || !item.element.classList.contains("is-chosen");
    }
    none.hidden = items.some(({ element }) => !element.hidden);
  }
}

// Filters as {name in the address, words, keeps(item)}.
function filtersOf(graded) {
  const judged = graded.chosen.filter((side) => side.judged);
  const both = judged.length === 2 ? [judged, [...judged].reverse()] : [];
  return [
    { name: null, words: "All", keeps: () => true },
    ...(graded.competing.length ? [{ name: "missed-by-all", words: "Missed by all", keeps: (item) => item.aspect.counts && !item.nFound }] : []),
    ...judged.map((side) => ({
      name: `missed-by-${side.letter.toLowerCase()}`,
      words: `Missed by ${side.letter}`,
      keeps: ({ aspect }) => aspect.counts && side.covers(aspect) === 0,
    })),
    ...both.map(([side, other]) => {
      const only = onlyOf(graded, side, other);
      return { name: `only-${side.letter.toLowerCase()}`, words: `Only ${side.letter}`, keeps: ({ aspect }) => only.includes(aspect) };
    }),
  ];
}

// Quotes a sentence that states the aspect, for data without texts of aspects: the one that states the fewest others.
function quoteText({ paper, stated }, aspect, length = 200) {
  const [own] = [...aspect.sentences].sort((one, other) => stated[one].length - stated[other].length || one - other);
  return own === undefined ? `Aspect ${aspect.number}, which no sentence states` : `“${firstWords(paper.sentences[own], length)}”`;
}

// The first words of an aspect's text, or of a sentence that states it.
function aspectGist(graded, aspect) {
  return foreign("span", { class: "gist" }, aspect.text === null ? quoteText(graded, aspect) : firstWords(aspect.text, 200));
}

// The whole text of the chosen aspect, where it is stated, and who found it.
function detailsOf(graded, aspect, nColumns, on) {
  const badge = (words) => h("span", { class: "badge" }, words);
  return h("td", { colspan: nColumns + 1 },
    h("div", { class: "details-body" },
      foreign("p", {}, aspect.text === null ? quoteText(graded, aspect, MOST_TEXT) : firstWords(aspect.text, MOST_TEXT)),
      aspect.is_result ? badge("Results") : null,
      aspect.counts ? null : badge("does not count in this task"),
      sentenceLinks(graded, aspect, on),
      aspect.counts ? foundBy(graded, aspect) : null,
      foreign("p", { class: "aspect-id" }, aspect.id)));
}

function sentenceLinks({ paper }, aspect, on) {
  if (!aspect.sentences.length) return h("p", { class: "sources" }, "No sentence of the paper states it.");
  const links = aspect.sentences.map((index) => [sentenceLink(paper, index), " "]);
  return h("div", { class: "sources" },
    h("button", { type: "button", class: "next", onclick: () => on.next(aspect) },
      `Next of ${counted(aspect.sentences.length, "sentence")}`),
    h("span", { class: "links" }, links.slice(0, MOST_LINKS)),
    links.length > MOST_LINKS
      ? h("details", {}, h("summary", {}, `${links.length - MOST_LINKS} more`), links.slice(MOST_LINKS))
      : null);
}

function sentenceLink(paper, index) {
  return h("a", { href: linkTo(paper.id, index), title: firstWords(paper.sentences[index]) }, `#${index}`);
}

// Which systems find the aspect, of those that could miss it. Those that know the labels are named apart.
function foundBy({ sides, competing }, aspect) {
  const finders = competing.filter((side) => side.covers(aspect) > 0);
  const told = sides.filter((side) => side.judged && side.knows_labels && side.covers(aspect) > 0);
  const name = (side) => [foreign("span", {}, side.label), side.covers(aspect) < 1 ? ` (chance of ${percent(side.covers(aspect))})` : null];
  const list = (named) => named.map((side, place) => [place ? ", " : "", name(side)]);
  return h("p", { class: "found-by" },
    competing.length ? `Found by ${finders.length} of ${counted(competing.length, "system")}` : null, finders.length ? ": " : ". ", list(finders), finders.length ? ". " : null,
    told.length ? ["Not counted, since it knows the labels: ", list(told), "."] : null);
}
