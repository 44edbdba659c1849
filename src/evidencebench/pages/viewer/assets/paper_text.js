// Shows the text of a paper with its evidence and selections; all sentences, or only the marked ones.

/* Returns {element, rows, highlight(aspect or null), only(isOn), reveal(index)}. */
function textOf(graded, onChoose) {
  const element = h("div", { class: "text-rows", id: "text" }, sentenceRows(graded.paper, decoration(graded, onChoose)));
  const rows = [...element.querySelectorAll(".sentence")];
  element.style.setProperty("--digits", String(rows.length - 1).length);
  element.style.setProperty("--lanes", graded.chosen.length);
  const isMarked = markedRows(graded);
  return { element, rows, highlight, only, reveal };

  function highlight(aspect) {
    element.querySelectorAll(".is-chosen").forEach((row) => row.classList.remove("is-chosen"));
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
  const words = Object.fromEntries(fatesOf(graded));
  return (index) => {
    const aspects = [...graded.stated[index]].sort((one, other) => other.counts - one.counts || one.number - other.number);
    const fate = graded.fateOf[index];
    const marks = graded.chosen.filter((side) => side.selects(index)).map((side) => mark(side, side.selects(index)));
    const number = h("a", { class: "index", href: `${path}/${index}${query}`, tabindex: "-1", "aria-label": `sentence ${index}` },
      index);
    return {
      classes: fate ? `is-evidence fate-${fate}` : aspects.length ? "is-aside" : "",
      before: [
        number,
        marks.length ? h("span", { class: "lanes" }, marks) : null,
        fate ? h("span", { class: "edge", role: "img", "aria-label": words[fate], title: words[fate] }) : null,
      ],
      after: aspects.length ? h("span", { class: "chips" }, " ", chips(aspects, onChoose)) : null,
    };
  };
}

// What becomes of evidence, as [class, words, short words]: those that can occur with the systems that are compared.
function fatesOf({ chosen }) {
  const judged = chosen.filter((side) => side.judged).map((side) => side.letter);
  if (!judged.length) return [["plain", "evidence", "evidence"]];
  const only = judged.length > 1;
  return [
    ...(only ? [["both", "evidence found by both", "both"]] : []),
    ...judged.map((letter) => [letter.toLowerCase(), `evidence found by ${only ? "only " : ""}${letter}`, [only && wide("only\u00a0"), letter]]),
    ["missed", `evidence missed by ${only ? "both" : judged[0]}`, "missed"],
    ["plain", "evidence, but found in another sentence", "elsewhere"],
  ];
}

// Which rows are marked: evidence, selected sentences, and the headings above them.
function markedRows(graded) {
  const { paper } = graded;
  const isMarked = paper.sentences.map((_, index) => graded.isEvidence(index) || graded.chosen.some((side) => side.selects(index)));
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
  const gap = h("button",
    {
      type: "button",
      class: "gap",
      onclick: () => {
        gap.open();
        run[0].focus();
      },
    },
    `… ${counted(run.length, "sentence")}`);
  return Object.assign(gap, {
    open() {
      for (const row of run) row.hidden = false;
      gap.remove();
    },
  });
}

/* The bar below the text: steps, "only marked", and what the colours mean. Returns {element, less, isLess(), showLess(isOn)}. */
function toolbar(graded, { jump, only }) {
  const less = h("button",
    {
      type: "button",
      class: "less",
      "aria-pressed": "false",
      title: "Only evidence and selections, with the headings over them",
      onclick: () => showLess(!isLess()),
    },
    wide("Only\u00a0"),
    "marked");
  const isLess = () => less.getAttribute("aria-pressed") === "true";
  const showLess = (isOn) => {
    less.setAttribute("aria-pressed", String(isOn));
    only(isOn);
  };
  const a = sideA(graded);
  const isLabelled = graded.aspects.length > 0;
  const kinds = ["evidence", ...(a?.judged ? ["selected", "missed"] : [])].filter((kind) => isLabelled || kind === "selected");
  const element = h("div", { class: "toolbar", role: "group", "aria-label": "The text" },
    kinds.map((kind) => stepper(graded, kind, jump)),
    a && !a.judged ? h("span", { class: "unscored" }, "A is not scored here") : null,
    isLabelled && h("p", { class: "legend" }, fatesOf(graded).map(([fate, words, short]) => [h("span", { class: `fate-${fate}`, title: words }, h("i", { class: "edge" }), short), " "])),
    less);
  return { element, less, isLess, showLess };
}

// Kind of step -> [short name, full name].
const STEP_NAMES = {
  evidence: ["evidence", "evidence sentence"],
  selected: ["A chose", "sentence selected by A"],
  missed: ["A missed", "sentence of an aspect missed by A"],
};

function stepper(graded, kind, jump) {
  const [name, full] = STEP_NAMES[kind];
  const n = targetsOf(graded, kind, null).length;
  const step = (by, sign, word) => {
    const title = `${word} ${full}`;
    return h("button", { type: "button", class: word, disabled: !n, "aria-label": title, title, onclick: () => jump(kind, by) },
      sign);
  };
  return h("span", { class: "stepper" }, step(-1, "‹", "previous"), h("span", {}, `${name} `, h("span", { class: "number" }, n)), step(1, "›", "next"));
}
