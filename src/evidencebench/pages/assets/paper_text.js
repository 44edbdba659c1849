// Shows the text of a paper with its evidence and selections; all sentences, or only the marked ones.

/* Returns {element, rows, highlight(aspect or null), only(isOn), reveal(row)}. */
function textOf(graded, onChoose) {
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
    gaps = hiddenRuns(rows).map(gapOf);
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
  return h("div",
    {
      class: `sentence kind-${kind}${fate ? ` is-evidence fate-${fate}` : ""}`,
      id: `s-${index}`,
      tabindex: "-1",
      "data-index": index,
    },
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

// Runs of hidden rows that follow each other in the same parent element.
function hiddenRuns(rows) {
  const runs = [];
  for (const row of rows.filter(({ hidden }) => hidden)) {
    if (runs.length && runs.at(-1).at(-1) === row.previousElementSibling) runs.at(-1).push(row);
    else runs.push([row]);
  }
  return runs;
}

// A button in place of a run of hidden rows; it shows them.
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
function toolbar(graded, jump, toggleLess) {
  const title = "Only evidence and selections, with the headings over them";
  const less = h("button.less", { "aria-pressed": "false", title, onclick: toggleLess },
    wide("Only\u00a0"), "marked");
  const a = sideA(graded);
  const isLabelled = graded.aspects.length > 0;
  const kinds = Object.keys(STEPS).filter((kind) =>
    (kind === "evidence" || a?.judged) && (isLabelled || kind === "selected"));
  const fates = fatesOf(graded).map(([fate, words, short]) =>
    [h("span", { class: `fate-${fate}`, title: words }, h("i.edge"), short), " "]);
  const element = h("div.toolbar", { role: "group", "aria-label": "The text" },
    kinds.map((kind) => stepper(graded, kind, jump)),
    a && !a.judged && h("span.unscored", {}, "A is not scored here"),
    isLabelled && h("p.legend", {}, fates),
    less);
  return { element, less };
}

// Kind of step -> [key, short name, full name, what is said where there is none].
const STEPS = {
  evidence: ["e", "evidence", "evidence sentence", "No sentence of this paper is evidence."],
  selected: ["x", "A chose", "sentence selected by A", "A selected no sentence."],
  missed: ["m", "A missed", "sentence of an aspect missed by A", "A missed no aspect that could be covered."],
};

// Commands of the keyboard that step through a paper; with Shift backwards.
function stepCommands(jump) {
  return Object.entries(STEPS).flatMap(([kind, [key, , name]]) => [
    { keys: [key], name: `next ${name}`, run: () => jump(kind, 1) },
    { keys: [key.toUpperCase()], name: `previous ${name}`, run: () => jump(kind, -1) },
  ]);
}

function stepper(graded, kind, jump) {
  const [, name, full] = STEPS[kind];
  const n = targetsOf(graded, kind).length;
  const step = (by, sign, word) => {
    const title = `${word} ${full}`;
    return h("button", { class: word, disabled: !n, "aria-label": title, title, onclick: () => jump(kind, by) }, sign);
  };
  return h("span.stepper", {},
    step(-1, "‹", "previous"), h("span", {}, `${name} `, h("span.number", {}, n)), step(1, "›", "next"));
}
