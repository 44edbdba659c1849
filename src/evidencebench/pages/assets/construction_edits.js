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
  const isJudged = stepNames.indexOf(row.step) >= stepNames.indexOf("judge") && stepNames.includes("judge") && haveSameTexts(aspects, record.judged);
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
        h("button", { "aria-label": `Take back: ${editText(edit)}`, onclick: () => save({ step: edit.step, ...NOTHING }) }, "Take back"))),
      h("div.bench-edit", {}, h("label", {}, "Your name, which stands beside your edits ", name)),
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
    const open = h("button", { "aria-expanded": "false", onclick: () => show(value) }, words);
    if (label !== words) open.setAttribute("aria-label", `${words}: ${label}`);
    area.addEventListener("input", () => unsaved.set(key, area.value));
    if (unsaved.has(key)) show(unsaved.get(key), false);
    return h("div.bench-editor", {}, open, form);

    function show(shown, takesFocus = true) {
      area.value = shown;
      form.hidden = false;
      open.setAttribute("aria-expanded", "true");
      if (takesFocus) area.focus();
    }

    function close() {
      unsaved.delete(key);
      form.hidden = true;
      open.setAttribute("aria-expanded", "false");
      open.focus();
    }

    function finish() {
      const typed = area.value.trim();
      if (typed) save(changeOf(typed), key);
      else say("Write something first.");
    }
  }

  // Shows all sentences of the paper; a click says that one holds the aspect, or takes that back, and is kept at once.
  function mark(place) {
    const picked = new Set(sources[place]);
    const done = h("button.people-main", { onclick: async () => { await saving; await shown(await source.record(row)); } }, "Done");
    const rows = pickText(record.paper, { toggle, reach: (index) => rows.reach(index), move: focusAt });
    const bar = h("div.bench-marking", {}, foreign("p", {}, `Which sentences hold aspect ${place + 1}? ${aspects[place]}`), done);
    text.element.replaceWith(h("div.people", {}, bar, rows.element));
    rows.showPicked(picked);
    focusAt(sources[place][0] ?? 0);

    function focusAt(index) {
      rows.reach(index);
      rows.focus(index);
    }

    function toggle(index) {
      if (!picked.delete(index)) picked.add(index);
      rows.showPicked(picked);
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
      return source.save({ ...before, ...beside, ...change, draft: row.id, step, by, at: "", seen: revision });
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

  function say(words) {
    refused({ message: words });
  }
}

function haveSameTexts(texts, others) {
  return texts.length === others.length && texts.every((one, place) => one === others[place]);
}

function linesOf(typed) {
  return typed.split("\n").map((line) => line.trim()).filter(Boolean);
}

// "Edited: hypothesis, by Ada, 2026-11-27 18:02".
function editText(edit) {
  const isSaid = (field) => edit[field] !== null && edit[field] !== undefined && (field !== "aspects" || edit.step === "aspects");
  const what = Object.entries(EDITED).filter(([field]) => isSaid(field)).map(([, [, name]]) => name);
  const words = [what.length && `Edited: ${what.join(", ")}`, edit.rejected && `Rejected: ${edit.rejected}`, edit.by && `by ${edit.by}`, edit.at];
  return words.filter(Boolean).join(", ");
}

showConstruction(document.getElementById("viewer"));
