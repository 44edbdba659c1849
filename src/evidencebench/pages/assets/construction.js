// The drafts of a construction: what became of them; each with its passage, its aspects, and the votes on its paper.

import { announce, cleaned, counted, foreign, h, listenToKeys, recall, remember, stepKeys, themeButton, unpacked } from "./dom.js";
import { beyond, pickText, textOf } from "./paper_text.js";
import { go, linkTo, readRoute } from "./route.js";
import { askServer } from "./server.js";

// State -> its name in the list, and the words for one draft.
const STATES = {
  doubtful: ["votes are split", (row) => `Kept. Votes are split ${counted(row.n_doubtful, "time")}.`],
  kept: ["kept", () => "Kept."],
  waiting: ["waiting", (row) => `Waiting for the next step; “${row.step}” was the last.`],
  dropped: ["dropped", (row, detail) => `Dropped at “${row.step}”: ${[row.reason, detail].filter(Boolean).join(": ")}`],
};
const SHORT_PAPER = 30; // sentences; such a paper is shown as a whole

// The drafts that a page in one file holds. `ServedDrafts` has the same methods.
const EMBEDDED_DRAFTS = {
  overview: async () => JSON.parse(document.getElementById("overview").textContent),
  record: async ({ number }) => JSON.parse(await unpacked(document.getElementById(`draft-${number}`).textContent)),
};

async function showConstruction(root) {
  const source = document.getElementById("overview") ? EMBEDDED_DRAFTS : SERVED_DRAFTS;
  if (location.search) history.replaceState(null, "", location.pathname + location.hash); // the token is in a cookie now
  const [told, list, holder] = [h("p.viewer-status", { role: "status" }), h("section.bench-list"), h("section.bench-draft", { hidden: true })];
  const shown = { only: "", words: "", overview: null, rows: [], draft: null, scroll: 0 };
  const keys = listenToKeys(root, [
    ...stepKeys(["j", "n"], ["k", "p"], "draft of the list", step),
    ...stepKeys(["e"], ["E"], "marked sentence", (by) => shown.draft?.jump(by)),
    { keys: ["o"], name: "only marked sentences, or all", run: () => shown.draft?.toggleLess() },
    { keys: ["Escape"], name: "back to the list", run: () => go(linkTo(null)) },
  ]);
  root.classList.add("bench");
  root.append(told, list, holder);
  const failure = await renew().catch((error) => error);
  if (failure) return announce(told, failure.message);
  document.querySelector(".page-head").append(h("p.page-title", {}, shown.overview.title),
    h("button", { onclick: keys.open }, "Keyboard"), themeButton());
  window.addEventListener("hashchange", follow);
  await follow();

  async function renew() {
    shown.overview = await source.overview();
    list.replaceChildren(...overviewParts(shown.overview, shown, fillRows));
    fillRows();
  }

  function fillRows() {
    const wanted = shown.words.toLowerCase().trim();
    const holds = (row) => `${row.number} ${row.id} ${row.text} ${row.reason}`.toLowerCase().includes(wanted);
    shown.rows = shown.overview.rows.filter((row) => (!shown.only || row.state === shown.only) && holds(row));
    list.querySelector(".bench-rows").replaceChildren(...shown.rows.map(listRow));
    announce(list.querySelector(".list-count"), `${counted(shown.rows.length, "draft")} of ${shown.overview.rows.length.toLocaleString("en")}`);
  }

  function step(by) {
    const at = shown.rows.findIndex((row) => row.id === readRoute().id);
    const next = shown.rows[at < 0 ? 0 : at + by];
    if (next) go(linkTo(next.id));
    else announce(told, `This is the ${by > 0 ? "last" : "first"} draft of the list.`);
  }

  // Goes between the list, which keeps its scroll position, and a draft.
  async function follow() {
    const { id, sentence } = readRoute();
    announce(told, "");
    if (!list.hidden) shown.scroll = window.scrollY;
    list.hidden = id !== null;
    holder.hidden = id === null;
    if (id === null) {
      const left = shown.draft?.id;
      shown.draft = null;
      document.title = shown.overview.title;
      window.scrollTo(0, shown.scroll);
      [...list.querySelectorAll(".row-link")].find((link) => link.hash === linkTo(left ?? ""))?.focus({ preventScroll: true });
      return;
    }
    if (shown.draft?.id !== id) await open(id).catch((error) => announce(told, error.message));
    if (sentence !== null) shown.draft?.show(sentence);
  }

  async function open(id) {
    const row = shown.overview.rows.find((one) => one.id === id);
    shown.draft = null;
    if (!row) {
      holder.replaceChildren(h("a.button", { href: linkTo(null) }, "Back to the list"));
      return announce(told, "There is no such draft.");
    }
    const record = await source.record(row);
    if (readRoute().id !== id) return; // the reader has gone on meanwhile
    draw(record);
    window.scrollTo(0, 0);
    holder.querySelector("h1").focus({ preventScroll: true });
  }

  // Shows a draft; one that was just edited stays where it is.
  function draw(record) {
    const at = shown.rows.findIndex((row) => row.id === record.row.id);
    const edits = shown.overview.is_editable ? editsOf(shown.overview, record, source, { draw, renew }) : null;
    shown.draft = draftView(record, edits, shown.draft);
    const turn = (words, by) => h("button", { disabled: !shown.rows[at + by], onclick: () => step(by) }, words);
    const place = at < 0 ? "" : `${at + 1} of ${shown.rows.length}`;
    holder.replaceChildren(h("nav.bench-bar", { "aria-label": "Drafts" }, h("a.button", { href: linkTo(null) }, "Back to the list"),
      turn("‹ Previous", -1), h("span.paper-place", {}, place), turn("Next ›", 1)), shown.draft.element);
    document.title = `${cleaned(record.row.text).slice(0, 100)} · ${shown.overview.title}`;
  }
}

// What stands above the list: the answer, and what a reader may search and filter by.
function overviewParts(overview, shown, fillRows) {
  const counts = Object.groupBy(overview.rows, ({ state }) => state);
  const filters = ["", ...Object.keys(STATES)].filter((state) => !state || counts[state]).map((state) =>
    h("button", { "aria-pressed": String(shown.only === state), "data-state": state, onclick: (event) => filter(state, event.currentTarget) },
      `${state ? STATES[state][0] : "all"} (${(state ? counts[state] : overview.rows).length})`));
  const search = h("input", { type: "search", value: shown.words, oninput: () => { shown.words = search.value; fillRows(); } });
  return [
    h("h1", {}, "What became of the drafts"),
    h("p.bench-answer", {}, foreign("span", {}, overview.answer)),
    foreign("p", {}, `Labels: ${overview.noise}`),
    overview.warning && foreign("p.bench-told", {}, `Warning: ${overview.warning}.`),
    foreign("p", {}, `Cost: ${overview.cost}.`),
    overview.next && foreign("p.bench-told", {}, overview.next),
    h("div.bench-steps", { tabindex: "0", role: "region", "aria-label": "Steps" }, h("table", {},
      h("thead", {}, h("tr", {}, ["Step", "Drafts", "Kept", "Dropped", "Reasons"].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, overview.steps.map(stepRow)))),
    h("h2", {}, "Drafts"),
    h("div.bench-filters", { role: "group", "aria-label": "Which drafts" }, filters, h("label", {}, "containing ", search)),
    h("p.list-count", { role: "status" }),
    h("ol.bench-rows", { role: "list" }),
  ].flat(Infinity).filter(Boolean);

  function filter(state, pressed) {
    shown.only = state;
    for (const button of pressed.parentElement.querySelectorAll("button")) button.setAttribute("aria-pressed", button === pressed);
    fillRows();
  }
}

function stepRow({ step, n_drafts: nDrafts, n_kept: nKept, dropped }) {
  const reasons = Object.entries(dropped).sort(([, one], [, other]) => other - one);
  const n = (number) => h("td.bench-number", {}, number.toLocaleString("en"));
  return h("tr", {}, h("th", { scope: "row" }, step), n(nDrafts), n(nKept), n(nDrafts - nKept),
    h("td", {}, reasons.map(([reason, count]) => foreign("div", {}, `${count.toLocaleString("en")}: ${reason}`))));
}

function listRow(row) {
  const facts = row.state === "dropped" ? `${row.step}: ${row.reason}`
    : [counted(row.n_aspects, "aspect"), counted(row.n_sources, "marked sentence"), row.n_doubtful && `${row.n_doubtful} split`].filter(Boolean).join(", ");
  return h("li.row", {}, h("span.bench-number", {}, row.number, "."), h("div", {},
    foreign("a.row-link", { href: linkTo(row.id) }, row.text),
    h("p.row-id", {}, badge(row.state), " ", foreign("span", {}, facts), row.n_edits ? `; ${counted(row.n_edits, "edit")}` : "", "; ", foreign("span", {}, row.id))));
}

const badge = (state) => h("b", { class: `bench-badge is-${state}` }, STATES[state][0]);

/* A draft. `edits` has elements that change it, or is null. It takes over from the view `before` of the same draft what a
   reader chose in it. Returns {id, element, show(index), jump(by), toggleLess()}. */
function draftView(record, edits, before) {
  const { row, draft } = record;
  const aspects = draft.aspects ?? [];
  const votesOf = (text) => record.votes[record.judged.indexOf(text)] ?? []; // none of an aspect that was edited since
  const paper = paperPart(record, aspects.map(votesOf), edits, (place) => choose(place));
  const chips = aspects.map((_, place) => h("button.chip",
    { "aria-pressed": "false", "aria-label": `aspect ${place + 1}: mark its sentences`, onclick: () => choose(place) }, place + 1));
  let pressed = null;
  const results = draft.results ?? [];
  const warned = (name) => record.warnings.filter(([of]) => of === name).map(([, why]) => foreign("p.bench-told", {}, `Check this: ${why}.`));
  const field = (name, label) => (draft[name] || edits?.texts[name]) && h("section", {}, h("h2", {}, label),
    draft[name] === record.passage[1] ? h("p", {}, "The whole passage.") : foreign("p", {}, draft[name] ?? ""), warned(name), edits?.texts[name]);
  const element = h("article", {},
    foreign("h1", { tabindex: "-1" }, draft.hypothesis || "(no hypothesis)"),
    h("p.bench-state", {}, badge(row.state), " ", foreign("span", {}, STATES[row.state][1](row, draft.detail))),
    warned("edits"), edits?.head,
    h("dl.bench-facts", {}, facts(record).map(([name, text]) => [h("dt", {}, name), foreign("dd", {}, text)])),
    h("section", {}, h("h2", {}, "Passage"), passagePart(record)),
    field("summary", "Summary"), field("purpose", "Purpose, according to the model"), field("hypothesis", "Hypothesis"),
    aspects.length > 0 && h("section", {}, h("h2", {}, "Aspects"), h("ol.bench-aspects", { role: "list" }, aspects.map((text, place) => h("li", {}, chips[place],
      h("div", {}, foreign("span", {}, text), " ", !edits && results.includes(place) && h("b.bench-badge", {}, "Results"), " ",
        h("small", {}, votesText(votesOf(text))), edits?.ofAspect(place)))))),
    warned("aspects"), edits?.aspects,
    draft.dropped_aspects && h("section", {}, h("h2", {}, "Aspects left out"),
      h("ul", {}, draft.dropped_aspects.map(([text, why]) => h("li", {}, foreign("span", {}, text), ": ", foreign("small", {}, why))))),
    paper.element);
  if (before?.id === row.id) {
    if (before.pressed() !== null && aspects[before.pressed()]) choose(before.pressed());
    if (before.isLess() !== paper.isLess()) paper.toggleLess();
  }
  return { ...paper, id: row.id, element, pressed: () => pressed };

  function choose(place) {
    pressed = pressed === place ? null : place;
    chips.forEach((chip, at) => chip.setAttribute("aria-pressed", at === pressed));
    paper.highlight(pressed);
  }
}

function facts({ row, draft, paper, n_unread: nUnread, cost }) {
  const { passage } = draft;
  const place = passage ? [passage.review_file, ...(passage.section ?? [])].join(" > ") : "";
  const named = [draft.paper_id, draft.paper_file, paper && counted(paper.sentences.length, "sentence")];
  return [
    ["Draft", `${row.number}, ${row.id}`],
    ["Review", [draft.review_id, place].filter(Boolean).join(", ")],
    ["Paper", named.filter(Boolean).join(", ")],
    ["Cost", cost],
    ["Not read", nUnread ? `${nUnread.toLocaleString("en")} replies of windows could not be read` : ""],
  ].filter(([, text]) => text);
}

// The passage between what stands around it; the marks of the citation are bold.
function passagePart({ passage: [before, text, behind], draft }) {
  const parts = [text];
  for (const mark of new Set(draft.passage?.marks ?? []))
    parts.splice(0, parts.length, ...parts.flatMap((part) => (typeof part === "string" && mark
      ? part.split(mark).flatMap((piece, at) => (at ? [h("b", {}, mark), piece] : [piece])) : [part])));
  return h("p.bench-passage", { dir: "auto" }, before, h("mark", {}, parts), behind);
}

// "2 sentences, 1 split".
function votesText(votes = []) {
  const nSplit = votes.filter(isSplit).length;
  return `${counted(votes.filter((vote) => vote.is_source).length, "sentence")}${nSplit ? `, ${nSplit} split` : ""}`;
}

const isSplit = ({ yes, no }) => yes.length > 0 && no.length > 0;

// The paper with its marked sentences, and below each who voted how; without its text, the votes alone.
function paperPart(record, votes, edits, choose) {
  const { note, voters } = record;
  const paper = record.paper && { ...record.paper, id: record.row.id };
  const bySentence = new Map();
  votes.forEach((ofAspect, aspect) => ofAspect.forEach((vote) =>
    bySentence.set(vote.sentence, [...(bySentence.get(vote.sentence) ?? []), { ...vote, aspect }])));
  const title = h("h2", {}, "Paper");
  if (!paper) {
    const items = [...bySentence].sort(([one], [other]) => one - other).map(([index, said]) => h("li", {}, `Sentence ${index}`, votesPart(said, voters)));
    const [show, jump, highlight, toggleLess, isLess] = Array(5).fill(() => false);
    return { element: h("section", {}, title, foreign("p.bench-told", {}, note), h("ul", {}, items)), show, jump, highlight, toggleLess, isLess };
  }
  const aspects = votes.map((ofAspect, place) => ({ id: place + 1, number: place + 1, text: record.draft.aspects[place], counts: true,
    sentences: ofAspect.filter((vote) => vote.is_source).map((vote) => vote.sentence) }));
  const stated = paper.sentences.map((_, index) => aspects.filter((aspect) => aspect.sentences.includes(index)));
  const isEvidence = (index) => bySentence.has(index);
  const graded = { paper, aspects, chosen: [], stated, isEvidence, fateOf: paper.sentences.map((_, index) => (isEvidence(index) ? "plain" : null)) };
  const text = textOf(graded, (aspect) => choose(aspect.number - 1));
  for (const [index, said] of bySentence) {
    const row = text.rows[index];
    row?.querySelector(".body").append(votesPart(said, voters));
    row?.classList.toggle("is-split", said.some(isSplit));
    row?.classList.toggle("is-no-source", !said.some((vote) => vote.is_source));
  }
  const marked = [...bySentence.keys()].sort((one, other) => one - other);
  const less = h("button.less", { "aria-pressed": "false", onclick: toggleLess }, "Only marked sentences");
  const isLess = () => less.ariaPressed === "true";
  let current = -1;
  if (paper.sentences.length > SHORT_PAPER && marked.length) toggleLess();
  const element = h("section", {}, title, note && foreign("p.bench-told", {}, note),
    h("p.bench-key", {}, less, h("button", { onclick: () => jump(-1), disabled: !marked.length }, "‹ Previous marked"), h("button", { onclick: () => jump(1), disabled: !marked.length }, "Next marked ›"),
      h("span.bench-swatch", {}, "marked"), h("span.bench-swatch.is-split", {}, "votes are split")),
    text.element);
  edits?.follow(text);
  return { element, show, jump, highlight, toggleLess, isLess };

  function toggleLess() {
    less.ariaPressed = !isLess();
    text.only(isLess());
  }

  function highlight(place) {
    text.highlight(place === null ? null : aspects[place]);
    for (const chip of text.element.querySelectorAll(".chip")) chip.setAttribute("aria-pressed", Number(chip.dataset.aspect) - 1 === place);
  }

  function jump(by) {
    const next = beyond(marked, current, by);
    if (next !== undefined) show(next);
  }

  function show(index) {
    const row = text.rows[index];
    if (!row) return;
    text.reveal(row);
    text.rows[current]?.classList.remove("is-target");
    row.classList.add("is-target");
    current = index;
    row.focus({ preventScroll: true });
    row.scrollIntoView({ block: "center" });
  }
}

// What was said of a sentence, aspect by aspect; it is open where votes are split.
function votesPart(said, voters) {
  const words = said.map((vote) => {
    const counts = vote.yes.length || vote.no.length ? `${vote.yes.length} yes${vote.no.length ? `, ${vote.no.length} no` : ""}` : "no votes";
    return `aspect ${vote.aspect + 1}: ${counts}${isSplit(vote) ? " (split)" : ""}${vote.is_source ? "" : ", no source"}`;
  });
  const who = ({ aspect, yes, no }) => [["yes", yes], ["no", no]].flatMap(([word, places]) =>
    places.map((place) => foreign("li", {}, `aspect ${aspect + 1}, ${word}: ${voters[place]}`)));
  return h("details.bench-votes", { open: said.some(isSplit) }, h("summary", {}, words.join("; ")), h("ul", {}, said.map(who)));
}

// Changes drafts in the app: each change is kept at once, and one to a draft that changed meanwhile is refused and told.
const SERVED_DRAFTS = {
  overview: () => askServer("/api/construction"),
  record: ({ id }) => askServer("/api/construction/draft", { query: { id } }),
  save: (edit) => askServer("/api/construction/edit", { method: "POST", body: edit }),
};
const EDITOR_KEY = "evidencebench-editor";
// What an edit may change -> its step, and its name in words.
const EDITED = {
  summary: ["summaries", "summary"],
  hypothesis: ["hypotheses", "hypothesis"],
  aspects: ["aspects", "aspects"],
  sources: ["judge", "sentences"], // or what `overview.marked_at` says
  results: ["label-results", "Results"],
};
const NOTHING = { ...Object.fromEntries(Object.keys(EDITED).map((field) => [field, null])), rejected: "" };

const unsaved = new Map(); // "draft id, field" -> what was typed and is not saved yet
window.addEventListener("beforeunload", (event) => unsaved.size && event.preventDefault());

/* What changes a draft: {head, texts, aspects, ofAspect(place), follow(text)}. `hooks` has draw(record) and renew(), which
   loads the list again. */
function editsOf(overview, record, source, { draw, renew }) {
  const { row, draft } = record;
  const aspects = draft.aspects ?? [];
  const stepNames = overview.steps.map(({ step }) => step);
  const sources = record.votes.map((ofAspect) => ofAspect.filter((vote) => vote.is_source).map((vote) => vote.sentence));
  const isJudged = stepNames.indexOf(row.step) >= stepNames.indexOf("judge") && stepNames.includes("judge") && JSON.stringify(aspects) === JSON.stringify(record.judged);
  const lastStep = row.step === "filter" ? "label-results" : row.step; // of those whose drafts people edit
  const told = h("p.bench-told", { role: "alert", hidden: true });
  let { revision, edits } = record;
  let saving = Promise.resolve();
  let text = null; // the paper's text
  return {
    head: headPart(),
    texts: { summary: textPart("summary"), hypothesis: textPart("hypothesis") },
    aspects: (aspects.length > 0 || row.step === "aspects") && editor("aspect+", "Add an aspect", "", (typed) => ({ aspects: [...aspects, ...linesOf(typed)] })),
    ofAspect,
    follow: (shown) => { text = shown; },
  };

  function headPart() {
    const name = h("input", { type: "text", maxlength: "100", autocomplete: "name", value: recall(EDITOR_KEY) ?? "",
      onchange: () => remember(EDITOR_KEY, name.value.trim()) });
    const isRejected = edits.some((edit) => edit.rejected);
    return h("section.bench-edits", { "aria-label": "Edits" }, told,
      edits.map((edit) => h("p.bench-edit", {}, foreign("span", {}, editText(edit)),
        h("button", { "aria-label": `Undo: ${editText(edit)}`, onclick: () => save({ step: edit.step, ...NOTHING }) }, "Undo"))),
      h("div.bench-edit", {}, h("label", {}, "Your name, shown with your edits ", name)),
      !isRejected && row.step !== "harvest" && editor("rejected", "Reject this draft", "", (typed) => ({ step: lastStep, rejected: typed }), "Why is it rejected?"));
  }

  function textPart(field) {
    const isMade = stepNames.indexOf(EDITED[field][0]) > 0; // by a step that is run, not read from a table
    return isMade && (draft[field] || row.step === EDITED[field][0]) ? editor(field, `Edit the ${field}`, draft[field] ?? "", (typed) => ({ [field]: typed })) : null;
  }

  function ofAspect(place) {
    const others = (texts) => aspects.toSpliced(place, 1, ...texts);
    const { results } = draft;
    const isResult = results?.includes(place);
    const toggled = isResult ? results.filter((one) => one !== place) : [...(results ?? []), place].sort((one, other) => one - other);
    const button = (words, onclick, more = {}) => h("button", { "aria-label": `${words}: aspect ${place + 1}`, onclick, ...more }, words);
    return h("div.bench-edit", {},
      editor(`aspect ${place}`, "Edit or split", aspects[place], (typed) => ({ aspects: others(linesOf(typed)) }), `Aspect ${place + 1}; several lines split it`),
      button("Remove", () => save({ aspects: others([]) }), { disabled: aspects.length === 1 }),
      results && button("Results", () => save({ results: toggled }), { "aria-pressed": String(isResult) }),
      isJudged && record.paper && button("Change its sentences", () => mark(place)));
  }

  // A button that opens a field for a text, of which `changeOf` makes a change; what was typed stays until it is saved.
  function editor(field, words, value, changeOf, label = words) {
    const key = `${row.id}, ${field}`;
    const area = h("textarea", { rows: "3" });
    const form = h("div.bench-edit", { hidden: true }, h("label", {}, label, area),
      h("button.people-main", { onclick: finish }, "Save"), h("button", { onclick: close }, "Cancel"));
    const open = h("button", { "aria-expanded": "false", onclick: () => { show(value); area.focus(); } }, words);
    if (label !== words) open.setAttribute("aria-label", `${words}: ${label}`);
    area.addEventListener("input", () => unsaved.set(key, area.value));
    if (unsaved.has(key)) show(unsaved.get(key));
    return h("div.bench-editor", {}, open, form);

    function show(typed) {
      area.value = typed ?? "";
      form.hidden = typed === null;
      open.setAttribute("aria-expanded", !form.hidden);
    }

    function close() {
      unsaved.delete(key);
      show(null);
      open.focus();
    }

    function finish() {
      const typed = area.value.trim();
      if (typed) save(changeOf(typed), key);
      else refused({ message: "Write something first." });
    }
  }

  // Shows all sentences of the paper; a click says that one holds the aspect, or takes that back, and is kept at once.
  function mark(place) {
    const picked = new Set(sources[place]);
    const done = h("button.people-main", { onclick: async () => { await saving; await shown(await source.record(row)); } }, "Done");
    const rows = pickText(record.paper, toggle);
    const bar = h("div.bench-marking", {}, foreign("p", {}, `Which sentences state aspect ${place + 1}? ${aspects[place]}`), done);
    text.element.replaceWith(h("div.people", {}, bar, rows.element));
    rows.showPicked([...picked]);
    rows.focus(sources[place][0] ?? 0);

    function toggle(index) {
      if (!picked.delete(index)) picked.add(index);
      rows.showPicked([...picked]);
      sources[place] = [...picked].sort((one, other) => one - other);
      keep({ sources }).catch(() => {}); // it was told
    }
  }

  // Sends one change after the other, each with what the page knows of the draft by then.
  function keep(change) {
    const [field] = Object.keys(change);
    const step = change.step ?? (field === "sources" ? overview.marked_at : EDITED[field][0]);
    const by = recall(EDITOR_KEY) ?? "";
    const sent = saving.then(() => {
      const before = edits.find((edit) => edit.step === step) ?? NOTHING;
      const beside = field === "sources" || field === "results" ? { aspects } : {}; // those that it was said of
      return source.save({ ...before, ...beside, ...change, answer: "edit", id: row.id, step, by, at: "", seen: revision });
    });
    saving = sent.then((made) => { ({ revision, edits } = made); }, refused);
    return sent;
  }

  async function save(change, key) {
    try {
      const made = await keep(change);
      const isVoid = (name) => name === key || (change.aspects && name.startsWith(`${row.id}, aspect`));
      for (const name of [...unsaved.keys()].filter(isVoid)) unsaved.delete(name);
      await shown(made);
    } catch {
      // It was told; what was typed is still there.
    }
  }

  // Shows the draft as it is now; the focus stays where it was, or goes to where the same button is.
  async function shown(made) {
    const name = (element) => element.getAttribute("aria-label") ?? element.textContent;
    const focused = name(document.activeElement);
    const { scrollY } = window;
    await renew();
    draw(made);
    window.scrollTo(0, scrollY);
    [...document.querySelectorAll(".bench-draft button")].find((button) => name(button) === focused)?.focus({ preventScroll: true });
  }

  function refused(error) {
    if (error.record) draw(error.record);
    const alert = error.record ? document.querySelector(".bench-edits [role=alert]") : told;
    alert.hidden = false;
    announce(alert, error.message);
    alert.scrollIntoView({ block: "center" });
  }
}

const linesOf = (typed) => typed.split("\n").map((line) => line.trim()).filter(Boolean);

// "Edited: hypothesis, by Ada, 2026-11-27 18:02".
function editText(edit) {
  const isSaid = (field) => edit[field] !== null && edit[field] !== undefined && (field !== "aspects" || edit.step === "aspects");
  const what = Object.entries(EDITED).filter(([field]) => isSaid(field)).map(([, [, name]]) => name);
  const words = [what.length && `Edited: ${what.join(", ")}`, edit.rejected && `Rejected: ${edit.rejected}`, edit.by && `by ${edit.by}`, edit.at];
  return words.filter(Boolean).join(", ");
}

showConstruction(document.getElementById("viewer"));
