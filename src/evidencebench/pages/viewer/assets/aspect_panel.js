// Lists the aspects beside the paper: the text of each, the sentences that state it, and the systems that cover it.

const MOST_LINKS = 12;
const MOST_TEXT = 5000; // characters

const NO_TEXTS =
  "This data set has no texts of its aspects, only the sentences that state them; one of these is quoted.";

/* `on.choose(aspect)` toggles the highlight of an aspect; `on.next(aspect)` goes to its next sentence.
   Returns {element, showChosen(aspect or null), filter() -> name, show(name)}. */
function aspectPanel(graded, on) {
  const items = graded.aspects.map((aspect) => ({ aspect, element: aspectItem(graded, aspect, on) }));
  const list = h(
    "ol",
    { class: "aspect-list" },
    items.map((item) => item.element),
  );
  const none = h("p", { class: "none", hidden: true }, "No aspect is like that.");
  const filter = aspectFilter(graded, items, none);
  const element = h(
    "aside",
    { class: "aspects", id: "aspects", "aria-labelledby": "aspects-title", tabindex: "-1" },
    h("h2", { id: "aspects-title" }, `Aspects (${graded.aspects.length})`),
    filter?.element ?? null,
    graded.aspects.some((aspect) => aspect.text !== null) ? null : h("p", { class: "no-texts" }, NO_TEXTS),
    none,
    list,
  );
  return {
    element,
    filter: () => filter?.name(),
    show: (name) => filter?.show(name),
    showChosen: (chosen) => items.forEach((item) => showPressed(item, item.aspect.number === chosen?.number)),
  };
}

function showPressed({ element }, isPressed) {
  element.classList.toggle("is-chosen", isPressed);
  element.querySelector(".aspect-name").setAttribute("aria-pressed", String(isPressed));
  if (isPressed) showWithin(element.closest(".aspects"), element);
}

// Scrolls the panel only; the page stays where the reader is.
function showWithin(panel, element) {
  if (panel.scrollHeight <= panel.clientHeight) return;
  const top = element.getBoundingClientRect().top - panel.getBoundingClientRect().top;
  const isOutside = top < 0 || top + element.offsetHeight > panel.clientHeight;
  if (isOutside) panel.scrollTop += top - panel.clientHeight / 4;
}

function aspectFilter(graded, items, none) {
  const filters = filtersOf(graded);
  if (filters.length < 2) return null;
  const buttons = filters.map(({ name, keeps }, position) => {
    const found = items.filter((item) => keeps(item.aspect)).length;
    return h(
      "button",
      { type: "button", "aria-pressed": String(position === 0), onclick: () => apply(position) },
      `${name} `,
      h("span", { class: "number" }, found),
    );
  });
  let current = 0;
  function apply(position) {
    current = position;
    buttons.forEach((button, other) => button.setAttribute("aria-pressed", String(other === position)));
    for (const { aspect, element } of items) element.hidden = !filters[position].keeps(aspect);
    none.hidden = items.some(({ element }) => !element.hidden);
  }
  return {
    element: h("div", { class: "aspect-filter", role: "group", "aria-label": "Show aspects" }, buttons),
    name: () => filters[current].name,
    show: (wanted) => apply(Math.max(0, filters.findIndex(({ name }) => name === wanted))),
  };
}

function filtersOf({ chosen }) {
  const filters = [{ name: "All", keeps: () => true }];
  for (const side of chosen) {
    if (side.judged)
      filters.push({ name: `Missed by ${side.letter}`, keeps: (aspect) => aspect.counts && side.covers(aspect) === 0 });
  }
  if (chosen.length < 2 || !chosen.every((side) => side.judged)) return filters;
  const [a, b] = chosen;
  const only = (one, other) => (aspect) => aspect.counts && one.covers(aspect) > 0 && other.covers(aspect) === 0;
  return [...filters, { name: "Only A", keeps: only(a, b) }, { name: "Only B", keeps: only(b, a) }];
}

function aspectItem(graded, aspect, on) {
  return h(
    "li",
    { class: `aspect ${aspectClass(aspect)}`, "data-aspect": aspect.number },
    h(
      "button",
      { type: "button", class: "aspect-name", "aria-pressed": "false", onclick: () => on.choose(aspect) },
      h("span", { class: "chip", "aria-hidden": aspect.text === null ? "true" : false }, aspect.number),
      aspectText(aspect),
    ),
    aspect.text === null ? quote(graded, aspect) : null,
    h("p", { class: "aspect-facts" }, aspectFacts(graded, aspect)),
    aspect.counts
      ? h(
          "ul",
          { class: "verdicts" },
          graded.chosen.filter((side) => side.judged).map((side) => verdict(side, aspect)),
        )
      : null,
    sentenceLinks(graded, aspect, on),
    coveredBy(graded, aspect),
  );
}

function aspectText(aspect) {
  return aspect.text === null
    ? h("span", {}, `Aspect ${aspect.number}`)
    : foreign("span", {}, firstWords(aspect.text, MOST_TEXT));
}

// Quotes a sentence that states the aspect, for data without texts of aspects: the one that states the fewest others.
function quote(graded, aspect) {
  const text = quoteText(graded, aspect);
  return text === null ? null : foreign("p", { class: "quote" }, text);
}

function quoteText({ paper, stated }, aspect) {
  const [own] = [...aspect.sentences].sort((one, other) => stated[one].length - stated[other].length || one - other);
  return own === undefined ? null : `“${firstWords(paper.sentences[own], 200)}”`;
}

// The first words of an aspect's text, or of a sentence that states it.
function aspectGist(graded, aspect) {
  return foreign("span", { class: "gist" }, aspect.text === null ? quoteText(graded, aspect) : firstWords(aspect.text, 200));
}

function aspectFacts(graded, aspect) {
  return [
    aspect.is_result ? h("span", { class: "badge" }, "Results") : null,
    aspect.counts ? null : h("span", { class: "badge is-muted" }, "does not count in this task"),
  ];
}

function verdict(side, aspect) {
  const share = side.covers(aspect);
  const [sign, words] =
    share === 1
      ? ["✓", "covered by"]
      : share === 0
        ? ["✗", "missed by"]
        : ["≈", `covered with a chance of ${percent(share)} by`];
  const state = share === 1 ? "is-covered" : share === 0 ? "is-missed" : "is-partly";
  return h(
    "li",
    { class: state },
    h("span", { class: "sign", "aria-hidden": "true" }, sign),
    plainMark(side),
    h("span", {}, `${words} `, foreign("span", {}, side.label)),
  );
}

function sentenceLinks({ paper }, aspect, on) {
  if (!aspect.sentences.length) return h("p", { class: "sources" }, "No sentence of the paper states it.");
  const links = aspect.sentences.map((index) => [sentenceLink(paper, index), " "]);
  return h(
    "div",
    { class: "sources" },
    h(
      "button",
      { type: "button", class: "next", onclick: () => on.next(aspect) },
      `Next of ${counted(aspect.sentences.length, "sentence")}`,
    ),
    h("span", { class: "links" }, links.slice(0, MOST_LINKS)),
    links.length > MOST_LINKS
      ? h("details", {}, h("summary", {}, `${links.length - MOST_LINKS} more`), links.slice(MOST_LINKS))
      : null,
  );
}

function sentenceLink(paper, index) {
  return h("a", { href: linkTo(paper.id, index), title: firstWords(paper.sentences[index]) }, `#${index}`);
}

// Which of all systems, not only of A and B, cover the aspect; and the aspect's id in the data.
function coveredBy({ sides }, aspect) {
  const answering = aspect.counts ? sides.filter((side) => side.judged) : [];
  const covering = answering.filter((side) => side.covers(aspect) > 0);
  const summary = answering.length
    ? `covered by ${covering.length} of ${counted(answering.length, "system")}`
    : "its id";
  return h(
    "details",
    { class: "covered-by" },
    h("summary", {}, summary),
    covering.length
      ? h(
          "ul",
          {},
          covering.map((side) => h("li", {}, foreign("span", {}, side.label), note(side, aspect))),
        )
      : null,
    foreign("p", { class: "aspect-id" }, aspect.id),
  );
}

function note(side, aspect) {
  const share = side.covers(aspect);
  return [share < 1 ? ` (chance of ${percent(share)})` : null, side.is_control ? " (control)" : null]
    .filter(Boolean)
    .join("");
}
