// What a language model was asked about a paper and what it replied, beside the paper; loaded when a reader opens it.

import { aspectMatrix, sentenceLink } from "./aspect_matrix.js";
import { announce, cleaned, counted, foreign, h, percent, wide } from "./dom.js";
import { chips, definitions, firstWords, gradedOf, onlyOf, percentage, plainMark, scoreExplanation } from "./graded.js";
import { markWords } from "./paper_list.js";
import { STEPS, beyond, mapOf, textOf, toolbar } from "./paper_text.js";
import { chosen, go, linkTo, noteSentence, readRoute, systemMark, wordsOf } from "./route.js";

// For each of A and B that asks a model: what its answer took, and a fold where the page can show the requests.
const exchangeBlocks = (overview, record, state, source) => ["a", "b"].filter((letter) => record.spent?.[state[letter]]).map((letter) => {
  const system = state[letter];
  const mark = systemMark(letter);
  const spent = h("p.exchanges", {}, mark.cloneNode(true), " ",
    foreign("b", {}, overview.systems[system].label), `: ${record.spent[system][state.task] || "no request recorded"}.`);
  if (!overview.has_exchanges) return spent;
  const body = h("div", { role: "status" });
  return h("details.exchanges", { "data-fold": `asked-${letter}`, open: state.asked === letter, ontoggle: () => open().catch((error) => { body.textContent = error.message; }) },
    h("summary", {}, h("h2", {}, mark, wide(" What"), ` ${letter.toUpperCase()} was asked`, wide(" and answered"))),
    spent, body);

  async function open() {
    if (body.childElementCount) return;
    body.textContent = "Loading…";
    const { requests, note } = await source.exchanges(record.paper.id, system, state.task);
    body.replaceChildren(...requests.map(requestPart), h("p", {}, note));
  }
});

const requestPart = ({ title, facts, texts }) =>
  h("section", {}, foreign("h3", {}, title), foreign("p", {}, facts), texts.map(({ name, text }) =>
    h("details", { open: name === "Reply" }, h("summary", {}, name), foreign("pre", {}, text))));

// Shows one paper: its text with marks first, a strip and folded accounts above it, a map and the aspects beside it.
/* `state` is {task, a, b, sentence, aspect, filter, marked, heading}: positions, or null where there is none; the
   filter of aspects by its name; whether only marked sentences are shown; and the element of the hypothesis.
   `on.reach(index)` is told each sentence that the reader is led to, `on.note(changes)` what of the address changes.
   The element has jump("evidence" | "selected" | "missed", step), toggle("a" | "b"), toggleLess(), show(index), and
   resume(view) to take over what a reader has set in another; all work once it is on the page. */
export function paperView(overview, record, state, on = {}) {
  const graded = gradedOf(overview, record, state);
  const element = h("article.paper");
  const told = h("p.visually-hidden", { role: "status" });
  const note = (changes) => on.note?.(changes);
  const text = textOf(graded, press);
  const map = mapOf(graded, show);
  const { paper, review_id: reviewId } = record;
  const title = h("h2.visually-hidden", {}, "The paper");
  const ids = [["paper", paper.id], ["text", paper.paper_id], ["review", reviewId]].filter(([, id]) => id !== null);
  const nextOf = (aspect) => show(nextTarget(aspect.sentences, current, 1));
  const matrix = aspectMatrix(graded, { choose, next: nextOf, filter: (name) => note({ aspects: name }) });
  const isBeside = () => getComputedStyle(matrix.element).position === "sticky"; // else it stands below the text
  const tools = toolbar(graded, jump, toggleLess);
  const strip = stripOf(graded, { goTo, toggle, toAspects });
  const turn = () => { cut.ariaExpanded = cut.ariaExpanded !== "true"; }; // shows the hypothesis whole, or cut
  // The first of two lines that stay on top of the text: the hypothesis, cut. It lies behind the title until that is gone.
  const cut = h("button.strip-hypothesis", { "aria-expanded": "false", title: paper.hypothesis, onclick: turn }, foreign("span", {}, paper.hypothesis));
  let current = null;
  let pressed = null; // the aspect that is highlighted

  element.append(
    cut,
    foreign(state.heading ?? "h1", { class: "hypothesis", tabindex: "-1", title: paper.hypothesis, onclick: turn }, paper.hypothesis),
    strip,
    h("div.folds", {},
      scoreExplanation(graded, goTo),
      graded.chosen.map((side) => picksFold(graded, side, goTo)),
      definitions(graded),
      h("p.eyebrow", {}, counted(paper.sentences.length, "sentence"), ids.map(([name, id]) => [` · ${name} `, foreign("span", { title: id }, id)]))),
    h("div.paper-columns", {},
      map.upright,
      h("div.text-column", {}, title, h("div.bars", {}, tools.element, map.lying), text.element),
      matrix.element),
    told,
  );
  watchView(text.rows, map.showView);
  text.element.addEventListener("click", (event) => {
    const row = event.target.closest(".sentence");
    if (row) current = Number(row.dataset.index);
  });
  matrix.show(state.filter);
  if (state.marked) showLess(true);
  if (graded.aspects[state.aspect]) highlight(graded.aspects[state.aspect]);
  if (state.sentence !== null && state.sentence !== undefined)
    requestAnimationFrame(() => element.isConnected && show(state.sentence));
  return Object.assign(element, { jump, toggle, toggleLess, show, resume });

  // Goes to a sentence and gives it the focus; it is shown first where it is hidden.
  function show(index, { keepsFocus = false } = {}) {
    const row = text.rows[index];
    if (!row) return;
    text.reveal(row);
    text.rows[current]?.classList.remove("is-target");
    current = index;
    row.classList.add("is-target");
    if (!keepsFocus) row.focus({ preventScroll: true });
    element.style.setProperty("--strip", `${strip.offsetHeight}px`); // so that no sentence is scrolled below it
    settle(() => row.scrollIntoView({ behavior: "instant" }), () => row.classList.contains("is-target"));
    on.reach?.(index);
  }

  function toAspects() {
    matrix.element.focus({ preventScroll: true });
    if (!isBeside()) settle(() => matrix.element.scrollIntoView({ behavior: "instant" }), () => document.activeElement === matrix.element);
  }

  function jump(kind, step) {
    const targets = targetsOf(graded, kind, pressed);
    if (!targets.length) {
      announce(told, kind !== "evidence" && sideA(graded)?.judged === null ? "A is not scored here." : STEPS[kind][3]);
      return null;
    }
    const next = nextTarget(targets, current, step);
    show(next);
    announce(told, `${STEPS[kind][2]}, ${targets.indexOf(next) + 1} of ${targets.length}`);
    return next;
  }

  // Hides the marks of A or B, or shows them again.
  function toggle(which) {
    const isHidden = element.classList.toggle(`hides-${which}`);
    const button = strip.querySelector(`.marks-${which}`);
    if (button) button.ariaPressed = !isHidden;
  }

  function toggleLess() {
    const isOn = tools.less.ariaPressed !== "true";
    showLess(isOn);
    note({ marked: isOn ? 1 : null });
  }

  function showLess(isOn) {
    tools.less.ariaPressed = isOn;
    text.only(isOn);
  }

  function resume(before) {
    for (const { dataset } of before.querySelectorAll("[data-fold][open]"))
      element.querySelector(`[data-fold="${dataset.fold}"]`)?.setAttribute("open", "");
    for (const which of ["a", "b"]) if (before.classList.contains(`hides-${which}`)) toggle(which);
  }

  function highlight(aspect) {
    pressed = aspect;
    matrix.showChosen(aspect);
    map.showAspect(aspect);
    text.highlight(aspect);
    for (const one of element.querySelectorAll(".chip"))
      one.ariaPressed = Number(one.dataset.aspect) === aspect?.number;
  }

  function press(aspect) {
    highlight(pressed === aspect ? null : aspect);
    note({ aspect: pressed?.number ?? null });
  }

  // From the matrix: where it stands beside the text, the text goes to the aspect's first sentence; the focus stays.
  function choose(aspect) {
    press(aspect);
    if (pressed && isBeside()) show(aspect.sentences[0], { keepsFocus: true });
  }

  function goTo(aspect) {
    if (pressed !== aspect) press(aspect);
    show(aspect.sentences[0]);
  }
}

// The second line: how A and B did.
function stripOf(graded, { goTo, toggle, toAspects }) {
  const { chosen } = graded;
  const isPair = chosen.length === 2 && chosen.every((side) => side.judged);
  const sides = chosen.map((side, place) => {
    const { letter, key, label, judged } = side;
    const only = isPair ? onlyOf(graded, side, chosen[1 - place]) : [];
    const status = judged?.status ?? "no score";
    return h("div.strip-side", {},
      h(`button.marks.marks-${key}`,
        { "aria-pressed": "true", title: `Show the marks of ${letter}: ${label}`, onclick: () => toggle(key) },
        plainMark(side), foreign("span.label", {}, side.shown)),
      judged && h("b.score", {}, percentage(judged.recall)),
      status !== "answered" && h("span.strip-status", {}, status),
      only.length > 0 && h("span.strip-only", {}, h("span.strip-word", {}, "only it found "), chips(only, goTo)));
  });
  return h("div.strip", { role: "group", "aria-label": "Results of the systems" }, sides,
    h("button.to-aspects", { onclick: toAspects }, "Aspects"));
}

export const sideA = ({ chosen }) => chosen.find(({ key }) => key === "a");

// The sentences to step through, in reading order; with an aspect highlighted, its evidence only.
export function targetsOf(graded, kind, pressed = null) {
  const a = sideA(graded);
  if (kind === "selected") return a?.selected ?? [];
  if (kind === "evidence" && pressed) return pressed.sentences;
  const isMissed = (aspect) => a?.judged && aspect.counts && !a.covers(aspect);
  const isTarget = kind === "evidence" ? graded.isEvidence : (index) => graded.stated[index].some(isMissed);
  return [...graded.stated.keys()].filter(isTarget);
}

// The next target after the current sentence, or before it; after the last one follows the first.
export const nextTarget = (targets, current, step) => beyond(targets, current ?? -1, step) ?? targets.at(step < 0 ? -1 : 0);

/* Scrolls, and again in the next frames while the reader wants to be there: rows that were never on the screen
   have a guessed height until they are laid out, one frame later. */
function settle(scroll, isWanted, nFrames = 3) {
  scroll();
  if (nFrames) requestAnimationFrame(() => isWanted() && settle(scroll, isWanted, nFrames - 1));
}

// Tells the map which sentences are on the screen.
function watchView(rows, showView) {
  const seen = new Set();
  const observer = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) seen.add(Number(target.dataset.index));
      else seen.delete(Number(target.dataset.index));
    }
    if (seen.size) showView(Math.min(...seen), Math.max(...seen));
  });
  rows.forEach((row) => observer.observe(row));
}

// Lists what a system chose, in its order, and says what each sentence adds to those before it.

const MOST_PICKED_TEXT = 600; // characters
// Letter of a pick -> its class, and in words.
const VERDICTS = { n: ["new", "new evidence"], r: ["redundant", "adds nothing"], o: ["none", "no evidence"], h: ["heading", "heading"] };

function picksFold(graded, side, onChoose) {
  if (!side.judged || !side.selected.length) return null;
  const { certain, tied, n_drawn: nDrawn, picks } = side.judged;
  const counts = Object.entries(VERDICTS).flatMap(([letter, [, words]]) => {
    const n = picks.split(letter).length - 1;
    return n ? [`${n} ${words}`] : [];
  });
  // Of a sentence that states something new, the aspects that no certain one before it states.
  const shownOf = (index, letter) => graded.stated[index].filter((aspect) => aspect.counts &&
    (letter !== "n" || (certain.find((one) => aspect.sentences.includes(one)) ?? index) === index));
  const words = wordsOf(graded.paper.hypothesis).filter((word) => word.length > 2 && !COMMON.has(word));
  const isLabelled = graded.aspects.length > 0;
  return h("details.picked", { "data-fold": `picks-${side.letter}` },
    h("summary", {}, h("h2", {}, plainMark(side), wide("What "), `${side.letter} selected`)),
    h("p", {}, foreign("b", {}, side.label), ", in the order of its answer", isLabelled && `: ${counts.join(", ")}`,
      ". Words of the hypothesis are underlined."),
    nDrawn > 0 && h("p", {}, `${nDrawn} of ${certain.length ? "the last " : ""}`,
      `${counted(tied.length, "sentence")} ${nDrawn === 1 ? "is" : "are"} drawn at random. What each adds is shown as if it were the only one drawn.`),
    h("ol", {}, [...certain, ...tied].map((index, place) => {
      const [kind, verdict] = VERDICTS[picks[place]];
      const share = side.selects(index);
      return h("li", {},
        sentenceLink(graded.paper, index), " ",
        underlined(firstWords(graded.paper.sentences[index], MOST_PICKED_TEXT), words),
        h("p", { class: `pick-verdict is-${kind}` },
          isLabelled && h("b", {}, verdict),
          share < 1 ? ` (counts with probability ${percent(share)}) ` : " ",
          kind === "redundant" && "stated before: ",
          chips(shownOf(index, picks[place]), onChoose)));
    })));
}

// Words that say nothing about the subject.
const COMMON = new Set((
  "and are but can for from had has have into its more not than that the their them then there these they this those " +
  "was were which while will with").split(" "));

// Whether at least four letters begin both words, and at most three follow, as in "keeps" and "keeping".
function isAlike(one, other) {
  let n = 0;
  while (n < one.length && one[n] === other[n]) n += 1;
  return one === other || (n > 3 && Math.max(one.length, other.length) - n <= 3);
}

function underlined(text, words) {
  const element = foreign("span", {}, text);
  markWords(element, "u", (found) => words.some((word) => isAlike(found, word)));
  return element;
}

// The pane of one paper: loads it, shows it, and keeps the reader's place in it.
export function paperPane(overview, { step, foldList }) {
  const number = h("span.paper-place");
  const status = h("p.viewer-status", { role: "status" });
  const body = h("div.paper-holder");
  const back = h("a.button.back", { href: "#/papers" }, "Back", wide("\u00a0to the list"));
  const previous = h("button", { onclick: () => step(-1) }, "‹", wide("\u00a0Previous"));
  const next = h("button", { onclick: () => step(1) }, wide("Next\u00a0"), "›");
  const fold = h("button.fold", { onclick: foldList });
  const bar = h("nav.paper-bar", { "aria-label": "Papers of the list" }, back, fold, h("span.turner", {}, previous, number, next));
  const element = h("section.paper-pane", { "aria-label": "Paper", hidden: true }, bar, status, body);
  const held = { id: null, record: null, view: null, key: null, sentence: null };
  // The record and the view are null while no paper is loaded.
  const [record, view] = [() => held.record, () => held.record && held.view];
  const say = (text) => announce(status, text);
  const focus = () => body.querySelector(".hypothesis")?.focus({ preventScroll: true });
  const showFold = (isFolded) => { fold.textContent = isFolded ? "Show the list" : "Hide the list"; };
  return { element, follow, showPlace, showFold, keepPlace, record, view, focus, say };

  async function follow(source, route) {
    element.hidden = route.id === null;
    if (route.id === null) return Object.assign(held, { id: null, record: null });
    back.href = linkTo(null);
    const isNew = held.id !== route.id;
    if (isNew) await load(source, route.id);
    if (held.id === route.id && held.record) show(source, route, isNew);
  }

  async function load(source, id) {
    Object.assign(held, { id, record: null, key: null });
    say("Loading…");
    try {
      const record = await source.instance(id);
      if (held.id !== id) return; // the reader has gone to another paper meanwhile
      held.record = record;
      say("");
    } catch (error) {
      if (held.id !== id) return;
      body.replaceChildren();
      document.title = `Not found · ${overview.title}`;
      say(error.message);
    }
  }

  // Makes a new view for another paper, task or system; a link to a sentence of the same view only scrolls there.
  function show(source, route, isNew) {
    const isPointed = route.sentence !== null && (isNew || route.sentence !== held.sentence);
    held.sentence = route.sentence;
    document.title = `${cleaned(held.record.paper.id).slice(0, 100)} · ${overview.title}`;
    if (held.key !== JSON.stringify(stateOf(route))) {
      const state = stateOf(route);
      const view = paperView(overview, held.record, state, { reach, note });
      view.querySelector(".folds").append(...exchangeBlocks(overview, held.record, state, source));
      if (isNew) place(view);
      else exchange(view);
      held.key = JSON.stringify(state);
    }
    if (isNew) focus();
    if (isNew && !isPointed) window.scrollTo(0, 0);
    if (!isPointed) return;
    const last = held.record.paper.sentences.length - 1;
    say(route.sentence > last ? `The paper has no sentence ${route.sentence}; the last is ${last}.` : "");
    held.view.show(route.sentence);
  }

  // What the address says about a view of the paper.
  function stateOf(route) {
    const [filter, marked, aspect, asked] = ["aspects", "marked", "aspect", "asked"].map((name) => route.query.get(name)); // asked: of A or B, what it was asked is open
    return { ...chosen(overview, route), filter, asked, marked: marked === "1", aspect: /^\d{1,6}$/.test(aspect) ? Number(aspect) : null };
  }

  // Writes the sentence of every jump into the address, so that a reload or a copied link leads there.
  function reach(index) {
    held.sentence = index;
    noteSentence(held.id, index);
  }

  // Writes the filter, the chosen aspect and "only marked" into the address; links of the list take them along.
  function note(changes) {
    const address = linkTo(held.id, held.sentence, changes);
    held.key = JSON.stringify(stateOf(readRoute(address))); // the view has made these changes itself
    go(address, { replaces: true });
  }

  // The view takes over from the one before it what a reader folded and hid, also from another paper's.
  function place(view) {
    body.replaceChildren(view);
    if (held.view) view.resume(held.view);
    held.view = view;
  }

  // Shows another system or task; sentence, scroll position and focus stay the same.
  function exchange(view) {
    const focused = document.activeElement;
    const target = body.querySelector(".is-target");
    keepPlace(() => {
      place(view);
      if (target) view.show(Number(target.dataset.index));
      if (focused !== document.body && focused.isConnected) focused.focus({ preventScroll: true });
    });
  }

  // Changes the page; the sentence that is read stays where it is.
  function keepPlace(change) {
    const { scrollY } = window;
    const anchor = [body.querySelector(".is-target"), ...body.querySelectorAll(".sentence")].find((row) => {
      const box = row?.getBoundingClientRect();
      return box && box.bottom > 0 && box.top < window.innerHeight;
    });
    const top = anchor?.getBoundingClientRect().top;
    change();
    const row = anchor && document.getElementById(anchor.id);
    const { hash } = location;
    settle(() => {
      const moved = row?.checkVisibility() ? row.getBoundingClientRect().top - top : scrollY - window.scrollY;
      window.scrollBy({ top: moved, behavior: "instant" });
    }, () => location.hash === hash);
  }

  function showPlace(at) {
    previous.disabled = next.disabled = !at && !held.record;
    number.textContent = at ? `${at.number.toLocaleString("en")} of ${at.of.toLocaleString("en")}` : "";
  }
}
