// The desk of a review: a table of papers and questions that fills as it goes, and its cells, one at a time.

import { announce, counted, foreign, h, listenToKeys, recall, remember, stepKeys, svg, themeButton, wide } from "./dom.js";
import { firstWords } from "./graded.js";
import { pickText } from "./paper_text.js";
import { folded } from "./route.js";
import { nextOpen, showTasks, taskPage } from "./task_pages.js";
import { numbered, taskLink } from "./task_sorts.js";

const SURE = ["no evidence", "unsure", "slightly sure", "fairly sure", "very sure"]; // by the level of a cell
const SIGNS = { increase: "↑", decrease: "↓", no_difference: "=", not_reported: "–", unclear: "?" };
const FORMATS = {
  xlsx: "Table for a spreadsheet (xlsx)", csv: "Table as CSV", docx: "Document with quotations (docx)", ris: "Notes for a reference manager (RIS)",
  pdf: "PDFs with highlights (zip)", data: "Data set of the decisions (JSON)",
};
const isAnswered = ({ decision, written }) => Boolean(decision || written.trim());
const isUndecided = ({ decision, status }) => !decision && status === "found";
const SHOWN = { // choice -> [words, whether a cell is meant]
  all: ["all cells", () => true], undecided: ["undecided", isUndecided], decided: ["decided", ({ decision }) => decision],
  mine: ["assigned to me", (_, isMine) => isMine], disputed: ["disputed", ({ disputed }) => disputed], changed: ["changed", ({ changed }) => changed],
};

// "#/review" is the table, "#/review/17.3" a cell of it, "#/agreed" the disputes, "#/agreed/17.3" one of them.
function deskPlace() {
  const [, place, id = ""] = location.hash.split("/");
  const list = place === "agreed" ? place : "review";
  if (/^\d+\.\d+$/.test(id)) return { page: "task", list, id };
  return { page: list === "agreed" ? "disputes" : "list", list, id: null };
}

const DESK = {
  title: null,
  signNote: "It is shown with your decisions, and you need it to find them again: type it the same way every time.",
  links: [["#/review", "Table"], ["#/agreed", "Disputes"]],
  lists: { review: { one: "Cell" }, agreed: { one: "Dispute, in cell" } },
  link: (list, { id }) => taskLink(list, id),
  explain: (about) => [
    h("p", {}, "For each paper and question, the best sentences are found for you. Accept or reject each, add others, and decide what the paper reports."),
    h("p", {}, about.is_blind ? "You work blind: you do not see the decisions of others, and they do not see yours." : "You see what others decided after you have decided."),
  ],
  empty: { decision: "", written: "", accepted: [], rejected: [], lost: [], note: "" },
  ask: "What does this paper report?",
  text: (task) => task.question.text,
  head: ({ paper, found }) => [
    h("p.task-context", { tabindex: "0" }, "Paper: ", foreign("b", {}, paper.title || paper.name), paper.cited && foreign("span", {}, ` ${paper.cited}`)),
    h("p.task-context", { tabindex: "0" }, found ? [foreign("span", {}, found.error || found.summary), found.chance_words && ` The best sentence is evidence in ${found.chance_words} such cases.`] : "The paper has not been read yet."),
  ],
  limit: () => "",
  status: (value, _, about) => (isAnswered(value) ? `Your decision: ${wordsFor(value, about)}.` : value.accepted.length ? "Started; not decided yet." : "Not decided yet."),
  done: () => "Next undecided",
  lacks: () => null,
  merged: "This cell was changed in another tab; both changes are now combined.",
  clash: (theirs, mine, about) => (!isAnswered(theirs) || wordsFor(theirs, about) === wordsFor(mine, about) ? "" : `You decided there: ${wordsFor(theirs, about)}. Here: ${wordsFor(mine, about)}, which is kept unless you change it.`),
  joined: (value) => ({ ...value, written: value.decision ? "" : value.written, rejected: value.rejected.filter((index) => !value.accepted.includes(index)) }),
  guideTitle: "How to decide",
  guide: () => [
    "Decide by what the paper itself found, not by what it cites or expects.",
    "Accept the sentences that you would quote for your decision, and reject those that only look relevant. Accepted sentences are in every export.",
    "Type a number as 120, 3.1 mg or 12 of 100, or for each arm as tea: 61; water: 59. The numbers of the current sentence are offered.",
    "“Does not report it” is for a paper that says nothing on the question; “unclear” is for one that mentions it but does not settle it.",
  ],
  place: deskPlace,
  pages: (server, tell) => {
    const table = tablePage(server);
    const view = (task, about, on) => cellView(server, { ...task, changed: table.changed(task.id) }, about, on);
    const disputes = async () => (await server.disputes()).map(({ id, agreed }) => ({ id, status: agreed ? "done" : "open" }));
    const next = async (list, id, about) => (list === "agreed" ? nextOpen(await disputes(), id)?.id ?? null : table.next(id, about));
    return { list: table, task: taskPage(server, { ...DESK, view, next }, tell), disputes: disputesPage(server) };
  },
};

// The table.

const MOVES = { // by a key, so many rows and columns
  ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], PageUp: [-6, 0], PageDown: [6, 0],
  Home: [0, -1e9], End: [0, 1e9], "Ctrl+Home": [-1e9, -1e9], "Ctrl+End": [1e9, 1e9],
};

function tablePage(server) {
  let found = null; // the newest queue, with all cells
  let rows = []; // {row, head, links, words}
  let current = [0, 0];
  let timer = null;
  let isShown = false;
  let asked = 0;
  const focusAt = (place, question) => rows[place].links[question].focus();
  const progress = h("progress", { "aria-label": "Answers found" });
  const told = h("span");
  const problem = h("p.people-error", { role: "alert" });
  const choice = h("select", { id: "desk-show", "aria-label": "Show", onchange: filter }, Object.entries(SHOWN).map(([value, [name]]) => h("option", { value }, name)));
  const question = h("select", { id: "desk-question", "aria-label": "Questions", onchange: filter });
  const order = h("select", { id: "desk-order", "aria-label": "Order of the papers", onchange: sort }, [["", "papers in order"], ["sure", "most certain first"], ["unsure", "least certain first"]].map(([value, name]) => h("option", { value }, name)));
  const words = h("input", { id: "desk-words", type: "search", placeholder: "words in papers and sentences", "aria-label": "With the words", oninput: filter });
  const matches = h("span", { role: "status" });
  const exports = h("ul.desk-exports");
  const frame = h("div.desk-frame", { onscroll: drawMore });
  const more = h("button.desk-more", { hidden: true, onclick: () => frame.scrollBy({ left: frame.clientWidth / 2, behavior: "smooth" }) });
  const element = h("section.desk", { hidden: true, "aria-label": "Papers and questions" });
  const keys = listenToKeys(element, [
    { keys: ["↑", "↓", "←", "→"], name: "go to the next cell", run: () => {} },
    { keys: ["Home", "End"], name: "go to the first, the last question; with Ctrl to the first, the last cell", run: () => {} },
    { keys: ["Enter"], on: "a", name: "open the cell", run: () => document.activeElement.click() },
    { keys: ["u"], name: "next undecided cell", run: () => focusAt(...(nextUndecided(found, current, isMine) ?? current)) },
    { keys: ["/"], name: "filter by words", run: () => words.focus() },
  ]);
  element.append(
    h("header.desk-head", {}, h("h1.visually-hidden", {}, "Papers and questions"),
      h("p.desk-progress", {}, progress, told),
      h("div.desk-tools", {},
        h("label", { for: "desk-show" }, "Show"), choice, question, order, words, matches,
        h("details.desk-download", {}, h("summary.button", {}, "Download"), exports),
        h("button", { onclick: () => keys.open() }, "Keyboard")),
      problem),
    frame,
    h("p.desk-legend", {}, h("b", {}, "Certainty"), SURE.map((one, level) => h("span", { class: `level-${level}` }, one)), more));
  window.addEventListener("focus", () => { if (isShown) refresh(found?.about); });
  new ResizeObserver(drawMore).observe(frame);
  const leave = () => { isShown = false; clearTimeout(timer); };
  return { element, show, leave, next, changed: (id) => { const [paper, question] = id.split("."); return found?.cells[paper]?.[question].changed; } };

  async function show(_, about) {
    isShown = true;
    await refresh(about);
    if (rows.length) focusAt(...current);
  }

  // Asks for what has changed since; while the desk still reads, once a second.
  async function refresh(about = null) {
    clearTimeout(timer);
    const turn = ++asked;
    if (about && found?.person !== server.name()) found = null;
    try {
      const news = await server.queue("review", found && { since: found.stamp });
      if (turn !== asked) return;
      if (found) update(news);
      else build(news, about);
      problem.textContent = "";
    } catch (error) {
      problem.textContent = error.message;
    }
    if (isShown && (problem.textContent || found?.progress.is_running)) timer = setTimeout(() => refresh(found?.about), 1000);
  }

  // The id of the next cell to decide, after another.
  async function next(id, about) {
    await refresh(about);
    return (found && nextUndecided(found, id.split(".").map(Number), isMine))?.join(".") ?? null;
  }

  function build(news, about) {
    found = { ...news, cells: news.papers.map(() => []), about };
    rows = news.papers.map((_, place) => {
      const links = news.questions.map((__, question) => h("a", { href: taskLink("review", `${place}.${question}`), tabindex: "-1", onfocus: () => reach(place, question) }));
      const head = h("div");
      return { links, head, row: h("tr", {}, h("th", { scope: "row" }, head), links.map((link) => h("td", {}, link))) };
    });
    frame.style.setProperty("--columns", news.questions.length);
    frame.replaceChildren(h("table.desk-table", { role: "grid", "aria-label": "Papers and questions", onkeydown: step },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, counted(news.papers.length, "paper")),
        news.questions.map(({ text }, n) => h("th", { scope: "col" }, h("div", { title: text }, h("small", {}, `${n + 1} `), foreign("span", {}, text)),
          h("span.desk-column", {}, kindChoice(n), h("button", { title: "Copy your answers as a column, with the papers", "aria-label": `Copy your answers to question ${n + 1}`, onclick: (event) => copyColumn(n, event.currentTarget) }, "Copy")))))),
      h("tbody", {}, rows.map(({ row }) => row))));
    question.replaceChildren(h("option", { value: "" }, "all questions"), ...news.questions.map(({ text }, n) => h("option", { value: n }, `${n + 1} ${firstWords(text, 60)}`)));
    exports.replaceChildren(...about.formats.map((format) => h("li", {}, h("a", { href: server.link("export", { format }), download: true }, FORMATS[format] ?? format))));
    exports.parentElement.hidden = !about.formats.length;
    reach(Math.min(current[0], rows.length - 1), Math.min(current[1], news.questions.length - 1));
    update(news);
    sort();
  }

  // What an answer to a question is: guessed from its words, changed here for everybody.
  function kindChoice(n) {
    const { kind, choices, unit } = found.questions[n];
    const kinds = found.about.kinds.filter(({ name }) => name !== "choice" || choices.length);
    const change = async () => {
      try {
        found.questions[n] = await server.act("kind", { question: n, kind: select.value });
        problem.textContent = "";
      } catch (error) {
        select.value = found.questions[n].kind;
        problem.textContent = error.message;
      }
    };
    const select = h("select.desk-kind", { "aria-label": `What answers question ${n + 1}`, onchange: change }, kinds.map(({ name, words: text }) => h("option", { value: name }, name === "number" && unit ? `${text}, in ${unit}` : text)));
    select.value = kind;
    return select;
  }

  // Whether a question is shown: the chosen one, or all.
  function isAsked(column) {
    return question.value === "" || column === Number(question.value);
  }

  // Whether the person answers of a paper: it is assigned to the person, or to nobody.
  function isMine(place) {
    const { assigned } = found.papers[place];
    return assigned.length === 0 || assigned.includes(found.person);
  }

  // Papers and one's own answers to a question, as a spreadsheet takes them.
  async function copyColumn(n, button) {
    const plain = (text) => text.replace(/\s+/g, " ").trim();
    const lines = found.papers.map(({ name, title }, place) => `${plain(title || name)}\t${plain(found.cells[place][n].said)}`);
    await navigator.clipboard.writeText(`Paper\t${plain(found.questions[n].text)}\n${lines.join("\n")}\n`);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  }

  // The rows by how sure the best cell is, of all questions or of the chosen one; else as the files are ordered.
  function sort() {
    const levels = found.cells.map((cells) => Math.max(0, ...cells.filter((_, n) => isAsked(n)).map(({ level }) => level)));
    const places = [...rows.keys()];
    if (order.value) places.sort((one, other) => (order.value === "sure" ? levels[other] - levels[one] : levels[one] - levels[other]) || one - other);
    frame.querySelector("tbody").append(...places.map((place) => rows[place].row));
  }

  function update(news) {
    for (const [paper, question, cell] of news.cells) {
      found.cells[paper][question] = cell;
      drawCell(paper, question);
    }
    Object.assign(found, { stamp: news.stamp, progress: news.progress, papers: news.papers ?? found.papers });
    for (const paper of new Set(news.cells.map(([place]) => place))) drawPaper(paper);
    drawProgress();
  }

  function drawCell(place, question) {
    const cell = found.cells[place][question];
    const link = rows[place].links[question];
    link.className = `is-${cell.status} level-${cell.level}${cell.decision ? " is-decided" : ""}`;
    link.replaceChildren(...cellParts(cell).filter(Boolean));
  }

  function drawPaper(place) {
    const { name, title, n_sentences: n, error, is_pdf: isPdf, assigned } = found.papers[place];
    const decided = found.cells[place].filter(({ decision }) => decision).length;
    const row = rows[place];
    const facts = [wide(`${isPdf ? "PDF · " : ""}${n === null ? "not read yet" : counted(n, "sentence")} · `), `${decided} of ${found.questions.length} decided`, assigned.length > 0 && ` · ${assigned.join(", ")}`].filter(Boolean);
    const silent = found.cells[place].map((cell, n) => [cell, n]).filter(([cell]) => isUndecided(cell) && cell.is_none && !cell.accepted && !cell.note).map(([, n]) => n);
    const decideAll = silent.length > 1 && h("button.desk-silent", { title: "Decide these cells at once", onclick: () => decideSilent(place, silent) }, `${silent.length} “none found”: not reported`);
    row.head.replaceChildren(...[foreign("b", { title }, title || name), error ? foreign("small", { class: "people-error", title: error }, error) : h("small", {}, facts), decideAll].filter(Boolean));
    row.words = folded([name, title, ...found.cells[place].flatMap(({ verdict, best, said }) => [verdict, best, said])].join(" "));
  }

  // Says of cells of a paper in which nothing was found that the paper does not report it.
  async function decideSilent(place, questions) {
    try {
      for (const n of questions) await saveOnce(server, "review", { task: `${place}.${n}`, decision: "not_reported" }, found.cells[place][n].revision);
    } catch (error) {
      problem.textContent = error.message;
    }
    await refresh(found.about);
    rows[place].links[questions[0]].focus();
  }

  function drawProgress() {
    const { done, of, failed, is_running: isRunning } = found.progress;
    const decided = found.cells.flat().filter(({ decision }) => decision).length;
    Object.assign(progress, { max: of || 1, value: done });
    const fails = failed ? ` ${failed.toLocaleString("en")} could not be answered.` : "";
    told.textContent = `${isRunning ? "Reading the papers: " : ""}${done.toLocaleString("en")} of ${counted(of, "answer")} found.${fails} You have decided ${decided.toLocaleString("en")}.`;
    filter();
  }

  // Rows without a cell to show are hidden; in the others, the cells that are not meant step back.
  function filter() {
    const wanted = folded(words.value).split(/\s+/);
    const [, isMeant] = SHOWN[choice.value];
    let n = 0;
    frame.querySelectorAll("thead th:not(:first-child)").forEach((head, column) => { head.hidden = !isAsked(column); });
    rows.forEach(({ row, links, words: text }, place) => {
      const meant = links.map((link, column) => isAsked(column) && Boolean(isMeant(found.cells[place][column], isMine(place))));
      links.forEach((link, column) => {
        link.parentElement.hidden = !isAsked(column);
        link.classList.toggle("is-far", !meant[column]);
      });
      row.hidden = !wanted.every((word) => text.includes(word)) || !meant.includes(true);
      if (!row.hidden) n += meant.filter(Boolean).length;
    });
    const first = rows.findIndex(({ row }) => !row.hidden);
    if (first >= 0 && (rows[current[0]].row.hidden || !isAsked(current[1]))) reach(first, isAsked(current[1]) ? current[1] : Number(question.value));
    drawMore();
    const count = n < found.cells.length * found.questions.length ? counted(n, "cell") : "";
    if (matches.textContent !== count) announce(matches, count);
  }

  // Says how many questions lie beyond the right edge.
  function drawMore() {
    const edge = frame.getBoundingClientRect().right;
    const n = [...frame.querySelectorAll("thead th")].filter((head) => !head.hidden && head.getBoundingClientRect().left > edge - 40).length;
    more.hidden = n === 0;
    more.textContent = `${counted(n, "more question")} →`;
  }

  function reach(place, question) {
    rows[current[0]]?.links[current[1]]?.setAttribute("tabindex", "-1");
    current = [place, question];
    rows[place]?.links[question]?.setAttribute("tabindex", "0");
  }

  function step(event) {
    const move = MOVES[`${event.ctrlKey ? "Ctrl+" : ""}${event.key}`];
    if (!move || event.altKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const places = new Map(rows.map(({ row }, place) => [row, place]));
    const open = [...frame.querySelectorAll("tbody tr")].map((row) => places.get(row)).filter((place) => !rows[place].row.hidden);
    const columns = [...found.questions.keys()].filter(isAsked);
    const beside = (list, at, by) => list[Math.max(0, Math.min(list.indexOf(at) + by, list.length - 1))];
    focusAt(beside(open, current[0], move[0]), beside(columns, current[1], move[1]));
  }
}

// The next cell, in the order of the table, that the person is to decide and has not; after the last one follows the first.
function nextUndecided({ cells, questions: { length } }, [paper, question], isMine) {
  const flat = cells.flat();
  const begin = paper * length + question + 1;
  const step = flat.findIndex((_, n) => isMine(Math.floor(((begin + n) % flat.length) / length)) && isUndecided(flat[(begin + n) % flat.length]));
  const at = (begin + step) % flat.length;
  return step < 0 ? null : [Math.floor(at / length), at % length];
}

function cellParts(cell) {
  if (cell.status === "waiting") return [h("span.desk-verdict", {}, "…", h("span.visually-hidden", {}, "not answered yet"))];
  if (cell.status === "failed") return [h("span.desk-verdict", {}, "not answered")];
  const isStarted = !cell.decision && (cell.accepted > 0 || cell.note);
  return [
    cell.decision && h("b.desk-decision", {}, h("span", { "aria-hidden": "true" }, SIGNS[cell.decision] ?? "✓"), h("span.visually-hidden", {}, "You: "), cell.said),
    cell.disputed && h("b.desk-disputed", {}, "disputed"),
    cell.agreed && h("b.desk-agreed", {}, `agreed: ${cell.agreed_words}`),
    isStarted && h("b.desk-started", {}, "started"),
    !cell.decision && h("span.desk-verdict", {}, cell.verdict, h("span.visually-hidden", {}, cell.verdict === SURE[cell.level] ? ". " : `, ${SURE[cell.level]}. `)),
    cell.changed && foreign("b.desk-changed", {}, cell.changed),
    cell.best && foreign("span.desk-best", {}, cell.best),
  ];
}

// Saves an answer that is given outside of its cell, behind the revision that is shown.
const saveOnce = (server, list, answer, revision) => server.save(list, { ...answer, tab: crypto.randomUUID(), request: 1, revision: revision + 1 });

const SHOWN_KEY = "evidencebench-paper-shown";

// What was found in a paper and what the person says of it; the paper's text beside it, or its pages.
function cellView(server, task, about, on) {
  const { paper } = task;
  const evidence = task.found?.evidence ?? [];
  const acceptedBy = (index) => task.others.filter(({ accepted }) => accepted.includes(index)).map(({ person }) => person);
  const ofOthers = task.others.flatMap(({ accepted }) => accepted.map((sentence) => ({ sentence }))); // behind one's own
  const offered = new Map();
  for (const one of [...evidence, ...ofOthers]) if (!offered.has(one.sentence)) offered.set(one.sentence, one);
  const text = pickText(paper, (index) => mark("accepted", index), reach);
  const { buttons } = text;
  const unitAt = (index) => paper.units[index - paper.sentences.length]; // behind the sentences: rows, captions, notes
  const wordsAt = (index) => paper.sentences[index] ?? unitAt(index).text;
  const nameAt = (index) => (index < paper.sentences.length ? `sentence ${index}` : unitAt(index).name);
  for (const { sentence, rank, strength } of evidence) {
    const words = buttons[sentence]?.querySelector(".pick-words");
    if (words) Object.assign(words.dataset, { rank: ` found, ${rank}`, strength });
  }
  const pages = pdfPages(server, task, (index) => mark("accepted", index));
  const units = paper.units.map((unit, n) => unitButton(unit, paper.sentences.length + n));
  const beside = units.length > 0 && h("details.cell-units", { open: task.question.kind === "number" },
    h("summary", {}, `Tables, captions and notes (${units.length})`), h("ul", { role: "list" }, units.map((unit) => h("li", {}, unit))));
  const modes = [["answer", "Answer"], ["text", "Text"], ...(pages.length ? [["pdf", "PDF"]] : [])].map(([mode, words]) =>
    [mode, h("button", { class: `mode-${mode}`, "aria-pressed": "false", onclick: () => turnTo(mode) }, words)]);
  const element = h("div.cell-paper", {},
    h("div.cell-modes", { role: "group", "aria-label": "What is shown", "data-n": modes.length }, modes.map(([, button]) => button)), text.element, beside, h("div.pdf", {}, pages));
  const answer = answerPart(task, { value: on.value, decide, take });
  const rows = [...offered.values()].map(markRow);
  const listName = task.found?.are_nearest ? "Nearest sentences" : "Found sentences";
  const own = h("ol.cell-rows", { role: "list", "aria-label": "Sentences that you added" });
  const gone = h("ul.cell-rows", { role: "list", "aria-label": "Sentences that are no longer in the file" });
  const others = h("ul.cell-others", { "aria-label": "Answers of others", hidden: true });
  let added = []; // rows
  let current = null; // a sentence
  const side = h("div", {},
    answer.element,
    others,
    task.changed && h("p.people-note", {}, "Another system found something else here: ", foreign("span", {}, task.changed)),
    h("h2", {}, rows.length ? listName : "No sentence was found"),
    rows.length > 0 && h("ol.cell-rows", { role: "list", "aria-label": listName }, rows.map((row) => row.element)),
    h("p.people-note", {}, "Click a sentence in the paper to add it."), own, gone);
  turnTo(matchMedia("(min-width: 900px)").matches ? recall(SHOWN_KEY) ?? "pdf" : "answer");
  const begin = () => (rows[0]?.quote ?? answer.element.querySelector("button, input")).focus({ preventScroll: true });
  showOthers(task.others);
  return { element, side, show, begin, saved: askOthers, commands: [
    ...answer.commands,
    ...stepKeys(["j"], ["k"], "found sentence", step),
    ...[["a", "accepted", "accept the sentence, or undo"], ["r", "rejected", "reject it, or undo"]].map(([key, how, name]) =>
      ({ keys: [key], name, run: () => current !== null && mark(how, current) })),
    { keys: ["t"], name: "go to the text: ↑ and ↓ move, Space adds a sentence", run: () => { turnTo("text"); text.focus(current ?? 0); } },
    { keys: ["n"], name: "write a note (Esc leaves it)", run: on.askForNote },
    ...stepKeys(["]"], ["["], "cell", on.step),
    { keys: ["u"], name: "next undecided cell", run: on.finish },
    ...(pages.length ? [{ keys: ["p"], name: "show the pages of the PDF", run: () => { turnTo("pdf"); reveal(); } }] : []),
  ] };

  function markRow({ sentence, rank = "", message = "", strength = 0 }) {
    const page = paper.boxes?.[sentence]?.[0]?.[0];
    const by = acceptedBy(sentence);
    const facts = [rank, message || (page ? `page ${page}` : nameAt(sentence)), by.length > 0 && `accepted by ${by.join(", ")}`].filter(Boolean).join(" · ");
    const quote = h("button.cell-quote", { onclick: () => look(sentence), onfocus: () => { reach(sentence); reveal(); } }, foreign("span", {}, wordsAt(sentence)));
    const [accept, reject] = [["accepted", "Accept", "✓"], ["rejected", "Reject", "✗"]].map(([name, words, sign]) =>
      h("button", { class: `cell-${name}`, "aria-pressed": "false", "aria-label": `${words} ${nameAt(sentence)}`, title: words, onclick: () => mark(name, sentence) }, sign));
    return { sentence, quote, accept, reject, element: h("li", { "data-strength": strength }, quote, foreign("small", {}, facts), accept, reject) };
  }

  function reach(index) {
    current = index;
    answer.offer(index);
  }

  function decide(said) {
    on.change({ ...on.value(), decision: "", written: "", ...said });
  }

  // Takes a value, with the sentence or row that states it.
  function take(written) {
    const { accepted, rejected, ...rest } = on.value();
    const isNew = current !== null && !accepted.includes(current);
    on.change({ ...rest, decision: "", written, rejected: rejected.filter((one) => one !== current),
      accepted: isNew ? [...accepted, current].sort((one, other) => one - other) : accepted });
  }

  // A sentence is accepted, rejected, or neither.
  function mark(name, index) {
    reach(index);
    const { accepted, rejected, ...rest } = on.value();
    const without = { accepted: accepted.filter((one) => one !== index), rejected: rejected.filter((one) => one !== index) };
    if (!on.value()[name].includes(index)) without[name] = [...without[name], index].sort((one, other) => one - other);
    on.change({ ...rest, ...without });
  }

  // A row of a table, a caption or a note: a click accepts it; once it has the focus, its values are offered.
  function unitButton({ text: words, name }, index) {
    return h("button.cell-unit", { "aria-pressed": "false", "data-index": index, onclick: () => mark("accepted", index), onfocus: () => reach(index) },
      h("b", {}, name), " ", foreign("span", {}, words.replace(`${name.split(",")[0]}. `, "")));
  }

  // What others say is told once the person has decided.
  async function askOthers() {
    if (about.is_blind || task.others.length > 0 || !isAnswered(on.value())) return;
    const found = await server.task("review", task.id).catch(() => null);
    if (found) showOthers(found.task.others);
  }

  function showOthers(said) {
    others.hidden = said.length === 0;
    others.replaceChildren(...said.map((one) => h("li", {}, saidBy(one))));
  }

  function goneRow(words) {
    const drop = () => on.change({ ...on.value(), lost: on.value().lost.filter((one) => one !== words) });
    return h("li", {}, foreign("span", {}, words), h("small", {}, "accepted before; no longer in the file"),
      h("button.cell-rejected", { "aria-label": "Drop this sentence", title: "Drop", onclick: drop }, "✗"));
  }

  function show({ decision, written, accepted, rejected, lost }) {
    gone.replaceChildren(...lost.map(goneRow));
    const classOf = (index) => (accepted.includes(index) ? "is-accepted" : rejected.includes(index) ? "is-rejected" : offered.has(index) ? "is-found" : "");
    answer.show(decision, written);
    const others = accepted.filter((index) => !offered.has(index));
    if (others.join() !== added.map(({ sentence }) => sentence).join()) {
      const isHere = own.contains(document.activeElement);
      added = others.map((sentence) => markRow({ sentence }));
      own.replaceChildren(...added.map((row) => row.element));
      if (isHere) (added[0] ?? rows.at(-1))?.quote.focus();
    }
    for (const { sentence, accept, reject, element: row } of [...rows, ...added]) {
      accept.setAttribute("aria-pressed", accepted.includes(sentence));
      reject.setAttribute("aria-pressed", rejected.includes(sentence));
      row.className = classOf(sentence);
    }
    text.showPicked(accepted);
    for (const unit of units) unit.ariaPressed = accepted.includes(Number(unit.dataset.index));
    buttons.forEach((button, index) => button.classList.toggle("is-rejected", rejected.includes(index)));
    for (const rect of element.querySelectorAll("rect")) rect.setAttribute("class", classOf(Number(rect.dataset.index)));
  }

  function step(by) {
    const all = [...rows, ...added];
    const at = all.findIndex(({ sentence }) => sentence === current);
    all[Math.max(0, Math.min(at + by, all.length - 1))]?.quote.focus();
  }

  function turnTo(mode) {
    const turned = modes.some(([name]) => name === mode) ? mode : "text";
    element.dataset.shows = turned;
    if (mode !== "answer" && modes.length === 3) remember(SHOWN_KEY, turned);
    for (const [name, button] of modes) button.setAttribute("aria-pressed", name === turned);
  }

  function look(index) {
    reach(index);
    if (element.dataset.shows === "answer") turnTo(recall(SHOWN_KEY) ?? "pdf");
    reveal();
  }

  // Brings the current sentence into view in the paper, where the paper is shown.
  function reveal() {
    for (const one of element.querySelectorAll(".is-current")) one.classList.remove("is-current");
    const shown = element.dataset.shows === "pdf" ? element.querySelectorAll(`rect[data-index="${current}"]`) : [buttons[current]];
    for (const one of shown) one?.classList.add("is-current");
    shown[0]?.scrollIntoView({ block: "center" });
  }
}

/* What answers a question: decisions, and where values are asked for, a field for them and what the current sentence
   offers. `on` has value(), decide(said), and take(written), which accepts the sentence too. */
function answerPart({ question, offered }, on) {
  const { kind, choices, unit } = question;
  const hasField = kind === "number" || kind === "text";
  const names = [...choices.map((name) => ({ name, words: name, isValue: true })), ...question.decisions];
  const decisions = numbered(names, ({ words }) => words, choose, hasField ? FIRST_KEY_BEHIND_VALUES : 1);
  const group = h("div.task-causes.cell-choices", { role: "group", "aria-label": "Your decision" }, decisions.buttons);
  const command = { ...decisions.command, name: "choose this decision, or undo" };
  if (!hasField) return { element: group, commands: [command], offer: () => {}, show: (decision, written) => decisions.show(decision || written) };
  let values = []; // offered by the current sentence
  const field = h("input", { id: "cell-value", dir: "auto", autocomplete: "off", maxlength: 1000, placeholder: kind === "number" ? `120${unit && ` ${unit}`}, 12 of 100, tea: 61; water: 59` : "a quotation, or your own words", onchange: commit, onkeydown: leave });
  const list = h("div.cell-offered", { role: "group", "aria-label": "Values in the sentence" });
  const words = h("button", { onclick: takeWords }, h("kbd", {}, "q"), h("span", {}, "Use these words"));
  const element = h("div", {}, h("div.cell-value", {}, h("label", { for: "cell-value" }, kind === "number" ? `Number${unit && ` in ${unit}`}` : "Answer"), field), kind === "number" ? list : h("div.cell-offered", {}, words), group);
  const commands = [
    { keys: ["v"], name: "type the answer (Enter keeps it, Esc leaves it)", run: () => field.focus() },
    kind === "number" ? { keys: ["1", "2", "3", "4", "5", "6", "7"], name: "use that value of the sentence", run: (key) => values[key - 1] && takeValue(values[key - 1]) }
      : { keys: ["q"], name: "use the selected words, or the sentence", run: takeWords },
    command,
  ];
  let current = null;
  return { element, commands, offer, show: (decision, written) => { decisions.show(decision); if (document.activeElement !== field) field.value = written; } };

  function choose({ name, isValue }) {
    const { decision, written } = on.value();
    on.decide(isValue ? { written: written === name ? "" : name } : { decision: decision === name ? "" : name });
  }

  function commit() {
    if (field.value.trim() !== on.value().written) on.decide({ written: field.value.trim() });
  }

  function leave(event) {
    if (event.key === "Escape") field.value = on.value().written;
    if (event.key === "Enter" || event.key === "Escape") field.blur(); // Enter keeps it, by the change
  }

  function offer(index) {
    current = index;
    values = offered[index] ?? [];
    list.replaceChildren(...values.map((value, n) => h("button", { onclick: () => takeValue(value) }, h("kbd", {}, n + 1), foreign("span", {}, value))));
  }

  // A value of an arm stands beside those of the others; one of all stands alone.
  function takeValue(value) {
    const armOf = (one) => one.slice(0, Math.max(0, one.lastIndexOf(":"))).trim();
    const others = on.value().written.split(";").map((one) => one.trim()).filter((one) => one && armOf(one) && armOf(one) !== armOf(value));
    on.take(armOf(value) ? [...others, value].join("; ") : value);
  }

  function takeWords() {
    const words = String(getSelection()).trim() || document.querySelector(".cell-rows li:focus-within .cell-quote")?.textContent || (current === null ? "" : document.getElementById(`pick-${current}`)?.querySelector(".pick-words").textContent);
    if (words) on.take(words.slice(0, 1000));
  }
}

const FIRST_KEY_BEHIND_VALUES = 8;

const saidBy = ({ person, words, accepted, note }) =>
  [foreign("b", {}, person), `: ${words || "nothing decided"}, ${counted(accepted.length, "sentence")} accepted. `, note && foreign("span.cell-note", {}, `Note: ${note}`)];

const wordsFor = ({ decision, written }, { decisions }) => decisions.find(({ name }) => name === decision)?.words ?? (written || "nothing decided");

// The pages of a PDF as pictures, each under rectangles over its sentences; a page is asked for once it is near.
function pdfPages(server, { id, paper }, toggle) {
  const rects = paper.pages.map(() => []);
  for (const [index, boxes] of Object.entries(paper.boxes ?? {})) {
    for (const [page, left, bottom, right, top] of boxes) {
      const place = { x: left, y: paper.pages[page - 1][1] - top, width: right - left, height: top - bottom };
      rects[page - 1].push(svg("rect", { ...place, "data-index": index, onclick: () => toggle(Number(index)) }, svg("title", {}, firstWords(paper.sentences[index], 200))));
    }
  }
  return paper.pages.map(([width, height], n) => h("div.pdf-page", {},
    h("img", { src: server.link("page", { paper: id.split(".")[0], n: n + 1, scale: 2 }), width: Math.round(width), height: Math.round(height), loading: "lazy", alt: `Page ${n + 1} of ${paper.pages.length}; its text is under “Text”` }),
    svg("svg", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" }, rects[n])));
}

// Where people differ: both answers with their quotations side by side, and a key for each that takes it.
function disputesPage(server) {
  const body = h("div");
  const element = h("section.people-page.disputes-page", { hidden: true, "aria-label": "Disputes" }, body);
  const focused = () => body.querySelector(".dispute:focus-within") ?? body.querySelector(".dispute.queue-open");
  const move = (by) => {
    const items = [...body.querySelectorAll(".dispute")];
    items[Math.max(0, Math.min(items.indexOf(focused()) + by, items.length - 1))]?.querySelector("a").focus();
  };
  listenToKeys(element, [
    ...stepKeys(["j"], ["k"], "dispute", move),
    { keys: ["1", "2", "3", "4", "5", "6", "7", "8", "9"], name: "use that person’s answer", run: (key) => focused()?.querySelectorAll(".dispute-take")[key - 1]?.click() },
  ]);
  return { element, show };

  async function show({ id = null }, about) {
    const disputes = await server.disputes().catch((error) => { body.replaceChildren(h("p.people-error", { role: "alert" }, error.message)); });
    if (!disputes) return;
    const isOther = about.adjudicator && about.adjudicator !== server.name();
    const none = isOther ? `Only ${about.adjudicator} sees and resolves them.` : about.is_blind && !about.adjudicator ? "You work blind: disputes are shown when the review is served without --blind." : "There are none.";
    body.replaceChildren(h("h1", {}, "Cells on which people differ"),
      h("p.people-note", {}, disputes.length ? "Use one of the answers, or open the cell to give another. What you agree on is stored in a separate file and changes nobody’s answer." : none),
      h("ol.queue.disputes", {}, disputes.map((one) => item(one, about))));
    const link = id === null ? focused()?.querySelector("a") : body.querySelector(`a[href="${taskLink("agreed", id)}"]`);
    link?.focus({ preventScroll: true });
  }

  function item({ id, paper, question, sides, agreed }, about) {
    const refusal = h("p.people-error", { role: "alert" });
    const take = async ({ decision, written, accepted, note }) => {
      try {
        await saveOnce(server, "agreed", { task: id, decision, written, accepted, note }, agreed?.revision ?? 0);
        await show({ id }, about);
      } catch (error) {
        refusal.textContent = error.message;
      }
    };
    return h("li", { class: `queue-item dispute queue-${agreed ? "done" : "open"}` },
      h("div", {}, foreign("a", { href: taskLink("agreed", id) }, question), " – ", foreign("span", {}, firstWords(paper, 120))),
      h("div.dispute-sides", {}, sides.map((one, n) => h("section", {},
        h("p", {}, foreign("b", {}, one.person), ": ", foreign("strong", {}, one.words)),
        one.quotations.map((words) => foreign("blockquote", {}, words)),
        one.note && foreign("p.cell-note", {}, `Note: ${one.note}`),
        h("button.dispute-take", { onclick: () => take(one) }, h("kbd", {}, n + 1), h("span", {}, "Use this answer"))))),
      h("p.queue-status", {}, agreed ? `Agreed: ${agreed.words}` : ""), refusal);
  }
}

if (location.search) history.replaceState(null, "", location.pathname + location.hash); // the token is in a cookie now
document.querySelector(".page-head").append(h("p.page-title", {}, document.title), themeButton());
showTasks(document.getElementById("viewer"), DESK).then(() => document.querySelector(".page-title").after(document.querySelector(".person-bar") ?? ""));
