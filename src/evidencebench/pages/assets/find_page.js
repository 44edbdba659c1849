// The text of a paper with the evidence in it marked, and the list of that evidence.

import { announce, counted, foreign, h, saveFile, themeButton } from "./dom.js";
import { askServer } from "./server.js";

// Returns the paper's element, and a function that marks sentences: [{sentence, direction}], best first.
function foundPaper(paper) {
  const about = foreign("p.found-about", {}, `${paper.name}: ${paper.format}, ${counted(paper.sentences.length, "sentence")}`);
  const article = h("article.found-paper", { "aria-label": "The paper" }, about);
  const sentences = new Map(); // without headings
  let paragraph = null;
  paper.sentences.forEach((text, index) => {
    const id = `sentence-${index}`;
    const isHeading = paper.kinds[index] === "h";
    if (isHeading) article.append(foreign(index ? `h${Math.min(6, 3 + paper.levels[index])}` : "h2", { id }, text));
    else {
      if (paragraph !== paper.paragraphs[index]) article.append(h("p", { class: paper.kinds[index] === "a" ? "in-abstract" : "", dir: "auto" }));
      sentences.set(index, h("span.sentence", { id, tabindex: -1 }, text, h("sup.rank")));
      article.lastChild.append(sentences.get(index), " ");
    }
    paragraph = isHeading ? null : paper.paragraphs[index];
  });
  return { article, mark };

  function mark(evidence, strengths, isSplit) {
    for (const [index, element] of sentences) {
      const rank = evidence.findIndex((found) => found.sentence === index) + 1;
      const direction = (isSplit && evidence[rank - 1]?.direction) || "not said";
      element.classList.toggle("is-evidence", rank > 0);
      element.dataset.direction = direction;
      element.dataset.strength = (rank && strengths[index]) || "";
      element.lastChild.textContent = [rank || "", direction !== "not said" && direction].filter(Boolean).join(" ");
    }
  }
}

// A link to a sentence, with its rank, where it stands and how likely it is evidence.
// A row of a table, a caption or a note stands beside the text that is shown.
const evidenceItem = ({ sentence, rank, text, message, start }) =>
  h("li", { value: rank }, start === null ? foreign("span", {}, text) : h("a", { href: `#sentence-${sentence}`, dir: "auto" }, text), h("small", {}, message));

// The page for a paper of the reader's own: drop or paste a paper, ask, see its evidence, change how much of it, export.

const EXPORTS = { csv: "CSV", markdown: "Markdown", json: "JSON", ris: "RIS notes", html: "Page (HTML)" };
const GOALS = { answer: "sentences that answer the hypothesis", study: "all that a reviewer would extract" };
const EXAMPLE = "Tea lowers blood pressure.";
const MOST_FILE_BYTES = 64 * 1024 * 1024;

function showFindPage(root) {
  // lacking: why there is no paper. turn: counted up where an answer on its way would be one to other words or papers.
  const state = { file: null, paper: null, answer: null, pasted: "", lacking: "Give a paper first.", turn: 0 };
  const status = h("p.find-status", { role: "status" });
  const takeFile = ([given]) => given && take(given, given.name);
  const file = h("input", { type: "file", id: "find-file", onchange: () => takeFile(file.files) });
  const takeTyped = () => pasted.value !== state.pasted && takePasted(); // when the box is left
  const pasted = h("textarea", { id: "find-text", rows: 4, placeholder: "or paste its text here", onpaste: () => setTimeout(takePasted), onchange: takeTyped });
  const askOnEnter = (event) => event.key === "Enter" && !event.shiftKey && !askButton.disabled && ask(event);
  const hypothesis = h("textarea", { id: "find-hypothesis", rows: 2, placeholder: EXAMPLE, onkeydown: askOnEnter, oninput: forgetAnswer });
  const goal = h("select", { id: "find-goal", onchange: forgetAnswer }, ...optionsOf(GOALS));
  const budget = h("input", { id: "find-budget", type: "number", min: 1, max: 100, value: 10, oninput: showAnswer });
  const split = h("input", { id: "find-split", type: "checkbox", onchange: showAnswer });
  const askButton = h("button", { type: "submit", class: "find-ask" }, "Find the evidence");
  const format = h("select", { id: "find-format" }, ...optionsOf(EXPORTS));
  const exporting = h("div.find-export", { hidden: true }, labelled("Export as", format), h("button", { onclick: () => exportAnswer().catch(({ message }) => announce(status, message)) }, "Export"));
  const answer = h("div.find-answer");
  const empty = h("p.find-empty", {}, "Drop a paper anywhere on this page. It does not leave this machine.");
  const text = h("div.find-text", {}, empty);
  let marked = null;
  const question = () => ({ paper: state.paper.key, hypothesis: hypothesis.value.trim(), goal: goal.value });
  const isNear = () => ["none", "unsure"].includes(state.answer?.verdict); // it may hold no evidence: its nearest sentences are shown

  root.classList.add("find");
  root.append(
    h("div.find-side", {},
      h("form.find-form", { onsubmit: ask },
        labelled("Paper: PDF, XML, HTML, Word, EPUB, Markdown or text", file), pasted,
        labelled("Hypothesis", hypothesis), labelled("Show", goal), labelled("Number of sentences", budget),
        h("div.find-check", {}, split, h("label", { for: split.id }, "Group by what they report")),
        askButton),
      status, answer, exporting),
    text);
  pasted.setAttribute("aria-label", "Text of the paper");
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    takeFile(event.dataTransfer.files);
  });

  function takePasted() {
    state.pasted = pasted.value;
    if (pasted.value.trim()) take(new Blob([pasted.value]), "the pasted text");
  }

  async function take(content, name) {
    Object.assign(state, { file: { content, name }, paper: null });
    marked = null;
    text.replaceChildren(empty);
    forgetAnswer();
    announce(status, (state.lacking = `Reading ${name} …`));
    try {
      if (content.size > MOST_FILE_BYTES) throw new Error(`${name} is too large: at most ${counted(MOST_FILE_BYTES, "byte")}.`);
      const found = await askServer("/api/find/paper", { method: "POST", query: { name }, file: content });
      if (state.file.content === content) state.paper = found; // else another one was given since
    } catch (error) {
      if (state.file.content === content) announce(status, (state.lacking = error.message));
    }
    if (state.paper === null || state.file.content !== content) return;
    marked = foundPaper(state.paper);
    text.replaceChildren(marked.article);
    announce(status, `${state.paper.title || name}: ${state.paper.format}, ${counted(state.paper.sentences.length, "sentence")}.`);
    if (hypothesis.value.trim()) await ask();
  }

  // Takes away an answer, also one that is on its way: it is none to what stands in the form now.
  function forgetAnswer() {
    if (state.answer || askButton.disabled) announce(status, "");
    state.answer = null;
    askButton.disabled = false;
    showAnswer();
    return ++state.turn;
  }

  async function ask(event) {
    event?.preventDefault();
    if (state.paper === null || !hypothesis.value.trim())
      return announce(status, state.paper === null ? state.lacking : "Type a hypothesis first.");
    const turn = forgetAnswer();
    askButton.disabled = true;
    announce(status, "Looking …");
    try {
      const found = await askAboutPaper("/api/find/answer", question());
      if (turn !== state.turn) return;
      state.answer = found;
      const n = shown().length;
      announce(status, [found.summary, found.message, n && `${counted(n, "sentence")} ${isNear() ? "nearest" : "found"}.`].filter(Boolean).join(" "));
    } catch (error) {
      if (turn !== state.turn) return;
      announce(status, error.message);
    }
    askButton.disabled = false;
    showAnswer();
  }

  // Sends the paper again where the server has forgotten it, as after a restart.
  function askAboutPaper(path, body) {
    return askServer(path, { method: "POST", body }).catch(async (error) => {
      if (error.status !== 410) throw error;
      await askServer("/api/find/paper", { method: "POST", query: { name: state.file.name }, file: state.file.content });
      return askServer(path, { method: "POST", body });
    });
  }

  function shown() {
    const most = Math.max(1, Math.min(100, Math.floor(Number(budget.value)) || 1));
    return state.answer === null ? [] : state.answer.evidence.slice(0, isNear() ? Math.min(most, state.answer.most_nearest) : most);
  }

  function showAnswer() {
    const evidence = shown();
    marked?.mark(evidence, state.answer?.strengths ?? {}, split.checked);
    answer.replaceChildren(h("div", {}, groupsOf(evidence), meaningsOf(evidence)));
    status.classList.toggle("is-warning", Boolean(state.answer?.message) || isNear());
    exporting.hidden = state.answer === null;
  }

  // The lists of the sentences, with their ranks; where they are split, each below what it reports, the best one first.
  function groupsOf(evidence) {
    const ranked = evidence.map((found, place) => ({ ...found, rank: place + 1 }));
    return [...Map.groupBy(ranked, ({ direction }) => split.checked && direction)].map(([direction, ofGroup]) => [
      direction && h("h2.evidence-group", { "data-direction": direction }, `${state.answer.headings[direction]} (${ofGroup.length})`), h("ol.evidence-list", {}, ofGroup.map(evidenceItem))]);
  }

  function meaningsOf(evidence) {
    const chances = evidence.some((found) => found.chance !== null) && state.answer.chances;
    const directions = evidence.some((found) => found.direction && found.direction !== "not said") && state.answer.directions;
    return [chances, directions].map((words) => words && h("p.find-meaning", {}, words));
  }

  async function exportAnswer() {
    const body = { ...question(), budget: Math.max(1, shown().length), format: format.value, split: split.checked };
    const found = await askAboutPaper("/api/find/export", body);
    saveFile(found.name, "", [found.text]);
  }
}

const labelled = (words, control) => h("div.find-label", {}, h("label", { for: control.id }, words), control);

const optionsOf = (choices) => Object.entries(choices).map(([value, words]) => h("option", { value }, words));

if (document.body.dataset.source === "find") {
  if (location.search) history.replaceState(null, "", location.pathname); // the token is in a cookie now
  document.querySelector(".page-head").append(h("h1.page-title", {}, document.title), themeButton());
  showFindPage(document.getElementById("viewer"));
}
