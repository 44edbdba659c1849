// Shows the text of a paper with its evidence and selections; all sentences, or only the marked ones.

/* Returns {element, rows, highlight(aspect or null), only(isOn), reveal(index)}. */
function textOf(graded, onChoose) {
  const element = h(
    "div",
    { class: "text-rows", id: "text" },
    sentenceRows(graded.paper, decoration(graded, onChoose)),
  );
  const rows = [...element.querySelectorAll(".sentence")];
  element.style.setProperty("--digits", String(rows.length - 1).length);
  element.style.setProperty("--lanes", graded.chosen.length);
  const isMarked = markedRows(graded);
  return { element, rows, highlight, only, reveal };

  function highlight(aspect) {
    element.querySelectorAll(".is-chosen").forEach((row) => row.classList.remove("is-chosen"));
    element.className = aspect ? `text-rows has-chosen ${aspectClass(aspect)}` : "text-rows";
    for (const index of aspect?.sentences ?? []) rows[index].classList.add("is-chosen");
  }

  function only(isOn) {
    element.querySelectorAll(".gap").forEach((gap) => gap.remove());
    rows.forEach((row, index) => {
      row.hidden = isOn && !isMarked[index];
    });
    if (isOn) hiddenRuns(rows).forEach((run) => run[0].before(gapOf(run)));
  }

  function reveal(index) {
    if (!rows[index].hidden) return;
    const gap = [...element.querySelectorAll(".gap")].findLast(
      (found) => found.compareDocumentPosition(rows[index]) & Node.DOCUMENT_POSITION_FOLLOWING,
    );
    gap?.open();
  }
}

// The elements around a sentence: its number, the marks of the systems that selected it, and the aspects it states.
function decoration(graded, onChoose) {
  const [path, rest] = splitOnce(linkTo(graded.paper.id), "?");
  const query = rest === undefined ? "" : `?${rest}`;
  return (index) => {
    const aspects = [...graded.stated[index]].sort(
      (one, other) => other.counts - one.counts || one.number - other.number,
    );
    const marks = graded.chosen.filter((side) => side.selects(index)).map((side) => mark(side, side.selects(index)));
    const number = h(
      "a",
      { class: "index", href: `${path}/${index}${query}`, tabindex: "-1", "aria-label": `sentence ${index}` },
      index,
    );
    return {
      classes: rowClasses(graded, index, aspects),
      before: [
        number,
        marks.length ? h("span", { class: "lanes" }, marks) : null,
        aspects.length ? stripes(aspects) : null,
      ],
      after: aspects.length
        ? h(
            "span",
            { class: "chips" },
            aspects.map((aspect) => [" ", chip(aspect, onChoose)]),
          )
        : null,
    };
  };
}

function rowClasses(graded, index, aspects) {
  if (!aspects.length) return "";
  return graded.isEvidence(index) ? `is-evidence ${aspectClass(aspects[0])}` : "is-aside";
}

// Which rows are marked: evidence, selected sentences, and the headings above them.
function markedRows(graded) {
  const { paper } = graded;
  const isMarked = paper.sentences.map(
    (_, index) => graded.isEvidence(index) || graded.chosen.some((side) => side.selects(index)),
  );
  let isNeeded = false;
  for (let index = paper.sentences.length - 1; index >= 0; index -= 1) {
    if (paper.kinds[index] !== "h") isNeeded ||= isMarked[index];
    else {
      isMarked[index] ||= isNeeded;
      isNeeded = false;
    }
  }
  return isMarked;
}

// Runs of hidden rows that follow each other in the same parent element.
function hiddenRuns(rows) {
  const runs = [];
  rows.forEach((row, index) => {
    if (!row.hidden) return;
    const before = rows[index - 1];
    if (before?.hidden && before.parentNode === row.parentNode) runs.at(-1).push(row);
    else runs.push([row]);
  });
  return runs;
}

// A button in place of a run of hidden rows; it shows them.
function gapOf(run) {
  const gap = h(
    "button",
    {
      type: "button",
      class: "gap",
      onclick: () => {
        gap.open();
        run[0].focus();
      },
    },
    `… ${counted(run.length, "sentence")}`,
  );
  return Object.assign(gap, {
    open() {
      for (const row of run) row.hidden = false;
      gap.remove();
    },
  });
}

/* The bar over the text. Returns {element, showMarks(which, isShown), isLess(), showLess(isOn)}. */
function toolbar(graded, { jump, toggle, only }) {
  const marks = new Map(
    graded.chosen.map((side) => {
      const which = side.letter.toLowerCase();
      return [
        which,
        h(
          "button",
          {
            type: "button",
            class: "marks",
            "aria-pressed": "true",
            title: `Show the marks of ${side.letter}: ${side.label}`,
            onclick: () => toggle(which),
          },
          plainMark(side),
          foreign("span", { class: "label" }, shortened(side.label, 24)),
        ),
      ];
    }),
  );
  const less = h(
    "button",
    {
      type: "button",
      "aria-pressed": "false",
      title: "Only evidence and selections, with the headings over them",
      onclick: () => showLess(!isLess()),
    },
    "Only marked sentences",
  );
  const isLess = () => less.getAttribute("aria-pressed") === "true";
  const showLess = (isOn) => {
    less.setAttribute("aria-pressed", String(isOn));
    only(isOn);
  };
  const a = sideA(graded);
  const kinds = ["evidence", ...(a?.judged ? ["selected", "missed"] : [])];
  const element = h(
    "div",
    { class: "toolbar", role: "group", "aria-label": "The text" },
    h(
      "div",
      { class: "tools" },
      kinds.map((kind) => stepper(graded, kind, jump)),
      a && !a.judged ? h("span", { class: "unscored" }, "A is not scored here") : null,
    ),
    h("div", { class: "tools" }, [...marks.values()], less),
  );
  const showMarks = (which, isShown) => marks.get(which)?.setAttribute("aria-pressed", String(isShown));
  return { element, showMarks, isLess, showLess };
}

// Kind of step -> [short name, what is added where there is room, full name, end of the short name].
const STEP_NAMES = {
  evidence: ["evidence", "", "evidence sentence"],
  selected: ["selected", " by A", "sentence selected by A"],
  missed: ["evidence", " A", "sentence of an aspect missed by A", " missed"],
};

function stepper(graded, kind, jump) {
  const [name, whose, full, rest] = STEP_NAMES[kind];
  const n = targetsOf(graded, kind, null).length;
  const step = (by, sign, word) => {
    const title = `${word} ${full}`;
    return h(
      "button",
      { type: "button", class: word, disabled: !n, "aria-label": title, title, onclick: () => jump(kind, by) },
      sign,
    );
  };
  const label = h("span", {}, name, h("span", { class: "whose" }, whose), rest, " ", h("span", { class: "number" }, n));
  return h("span", { class: "stepper" }, step(-1, "‹", "previous"), label, step(1, "›", "next"));
}
