// What a language model was asked about a paper and what it replied, beside the paper; loaded when a reader opens it.

import { aspectMatrix } from "./aspect_matrix.js";
import { announce, cleaned, counted, foreign, h, wide } from "./dom.js";
import { chips, definitions, gradedOf, onlyOf, percentage, plainMark, scoreExplanation } from "./graded.js";
import { STEPS, mapOf, textOf, toolbar } from "./paper_text.js";
import { picksFold } from "./pick_view.js";
import { chosen, go, linkTo, noteSentence, readRoute, systemMark } from "./route.js";

// For each of A and B that asks a model: what its answer took, and a fold where the page can show the requests.
function exchangeBlocks(overview, record, state, source) {
  return ["a", "b"].filter((letter) => record.spent?.[state[letter]]).map((letter) => {
    const system = state[letter];
    const mark = systemMark(letter);
    const spent = h("p.exchanges", {}, mark.cloneNode(true), " ",
      foreign("b", {}, overview.systems[system].label), `: ${record.spent[system][state.task] || "no request noted"}.`);
    if (!overview.has_exchanges) return spent;
    const body = h("div", { role: "status" });
    return h("details.exchanges", { "data-fold": `asked-${letter}`, open: state.asked === letter, ontoggle: open },
      h("summary", {}, h("h2", {}, mark, wide(" What"), ` ${letter.toUpperCase()} was asked`, wide(" and answered"))),
      spent, body);

    async function open() {
      if (body.childElementCount) return;
      body.textContent = "Loading…";
      try {
        const { requests, note } = await source.exchanges(record.paper.id, system, state.task);
        body.replaceChildren(...requests.map(requestPart), h("p", {}, note));
      } catch (error) {
        body.textContent = error.message;
      }
    }
  });
}

function requestPart({ title, facts, texts }) {
  return h("section", {}, foreign("h3", {}, title), foreign("p", {}, facts), texts.map(({ name, text }) =>
    h("details", { open: name === "Reply" }, h("summary", {}, name), foreign("pre", {}, text))));
}

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
  const tools = toolbar(graded, jump, toggleLess);
  const strip = stripOf(graded, { goTo, toggle, toAspects });
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

  // Shows the hypothesis whole, or cut.
  function turn() {
    cut.ariaExpanded = cut.ariaExpanded !== "true";
  }

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

  // Whether the matrix stands beside the text, and not below it.
  function isBeside() {
    return getComputedStyle(matrix.element).position === "sticky";
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
      only.length > 0 && h("span.strip-only", {}, h("span.strip-word", {}, "alone finds "), chips(only, goTo)));
  });
  return h("div.strip", { role: "group", "aria-label": "How the systems did" }, sides,
    h("button.to-aspects", { onclick: toAspects }, "Aspects"));
}

export function sideA({ chosen }) {
  return chosen.find(({ key }) => key === "a");
}

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
export function nextTarget(targets, current, step) {
  const from = current ?? -1;
  if (step < 0) return targets.findLast((index) => index < from) ?? targets.at(-1);
  return targets.find((index) => index > from) ?? targets[0];
}

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

// The pane of one paper: loads it, shows it, and keeps the reader's place in it.

export function paperPane(overview, { step, foldList }) {
  const number = h("span.paper-place");
  const status = h("p.viewer-status", { role: "status" });
  const body = h("div.paper-holder");
  const back = h("a.button.back", { href: "#/papers" }, "Back", wide("\u00a0to the list"));
  const previous = h("button", { onclick: () => step(-1) }, "‹", wide("\u00a0Previous"));
  const next = h("button", { onclick: () => step(1) }, wide("Next\u00a0"), "›");
  const fold = h("button.fold", { onclick: foldList });
  const bar = h("nav.paper-bar", { "aria-label": "Papers of the list" },
    back, fold, h("span.turner", {}, previous, number, next));
  const element = h("section.paper-pane", { "aria-label": "Paper", hidden: true }, bar, status, body);
  const held = { id: null, record: null, view: null, key: null, sentence: null };
  // The record and the view are null while no paper is loaded.
  const [record, view] = [() => held.record, () => held.record && held.view];
  return { element, follow, showPlace, showFold, keepPlace, record, view, focus, say };

  async function follow(source, route) {
    element.hidden = route.id === null;
    if (route.id === null) {
      Object.assign(held, { id: null, record: null });
      return;
    }
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
    say(route.sentence > last ? `The paper has no sentence ${route.sentence}; its last is ${last}.` : "");
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

  function focus() {
    body.querySelector(".hypothesis")?.focus({ preventScroll: true });
  }

  function showPlace(at) {
    previous.disabled = next.disabled = !at && !held.record;
    number.textContent = at ? `${at.number.toLocaleString("en")} of ${at.of.toLocaleString("en")}` : "";
  }

  function showFold(isFolded) {
    fold.textContent = isFolded ? "Show the list" : "Hide the list";
  }

  function say(text) {
    announce(status, text);
  }
}
