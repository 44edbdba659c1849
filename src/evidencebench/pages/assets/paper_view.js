// Shows one paper: its text with marks first, a strip and folded accounts above it, a map and the aspects beside it.

/* `state` is {task, a, b, sentence, aspect, filter, marked, heading}: positions, or null where there is none; the
   filter of aspects by its name; whether only marked sentences are shown; and the element of the hypothesis.
   `on.reach(index)` is told each sentence that the reader is led to, `on.note(changes)` what of the address changes.
   The element has jump("evidence" | "selected" | "missed", step), toggle("a" | "b"), toggleLess(), show(index), and
   resume(view) to take over what a reader has set in another; all work once it is on the page. */
function paperView(overview, record, state, on = {}) {
  const graded = gradedOf(overview, record, state);
  const element = h("article.paper");
  const told = h("p.visually-hidden", { role: "status" });
  const note = (changes) => on.note?.(changes);
  const text = textOf(graded, press);
  const map = mapOf(graded, show);
  const title = h("h2.text-title", {}, `The paper (${counted(record.paper.sentences.length, "sentence")})`);
  const nextOf = (aspect) => show(nextTarget(aspect.sentences, current, 1));
  const matrix = aspectMatrix(graded, { choose, next: nextOf, filter: (name) => note({ aspects: name }) });
  const tools = toolbar(graded, jump, toggleLess);
  const strip = stripOf(graded, { goTo, toggle, toAspects });
  let current = null;
  let pressed = null; // the aspect that is highlighted

  element.append(
    stripHypothesis(record.paper),
    paperHead(graded, state.heading ?? "h1"),
    strip,
    h("div.folds", {},
      scoreExplanation(graded, goTo),
      graded.chosen.map((side) => picksFold(graded, side, goTo)),
      definitions(graded)),
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
    scrollTo(row, () => row.classList.contains("is-target"));
    on.reach?.(index);
  }

  function toAspects() {
    matrix.element.focus({ preventScroll: true });
    if (!isBeside()) scrollTo(matrix.element, () => document.activeElement === matrix.element);
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

function paperHead({ paper, reviewId }, heading) {
  const ids = [["paper", paper.id], ["text", paper.paper_id], ["review", reviewId]].filter(([, id]) => id !== null);
  return h("header.paper-head", {},
    h("p.eyebrow", {}, "Hypothesis", ids.map(([name, id]) => [` · ${name} `, foreign("span", {}, id)])),
    foreign(heading, { class: "hypothesis", tabindex: "-1" }, paper.hypothesis));
}

// The first of two lines that stay on top of the text: the hypothesis, cut. It lies behind the head until that is gone.
function stripHypothesis({ hypothesis }) {
  const turn = ({ currentTarget: button }) => { button.ariaExpanded = button.ariaExpanded !== "true"; };
  return h("button.strip-hypothesis", { "aria-expanded": "false", title: hypothesis, onclick: turn },
    foreign("span", {}, hypothesis));
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
        plainMark(side), foreign("span.label", {}, shortened(label, 24))),
      judged && h("b.score", {}, percentage(judged.recall)),
      status !== "answered" && h("span.strip-status", {}, status),
      only.length > 0 && h("span.strip-only", {}, h("span.strip-word", {}, "alone finds "), chips(only, goTo)));
  });
  return h("div.strip", { role: "group", "aria-label": "How the systems did" }, sides,
    h("button.to-aspects", { onclick: toAspects }, "Aspects"));
}

function sideA({ chosen }) {
  return chosen.find(({ key }) => key === "a");
}

// The sentences to step through, in reading order; with an aspect highlighted, its evidence only.
function targetsOf(graded, kind, pressed = null) {
  const a = sideA(graded);
  if (kind === "selected") return a?.selected ?? [];
  if (kind === "evidence" && pressed) return pressed.sentences;
  const isMissed = (aspect) => a?.judged && aspect.counts && !a.covers(aspect);
  const isTarget = kind === "evidence" ? graded.isEvidence : (index) => graded.stated[index].some(isMissed);
  return [...graded.stated.keys()].filter(isTarget);
}

// The next target after the current sentence, or before it; after the last one follows the first.
function nextTarget(targets, current, step) {
  const from = current ?? -1;
  if (step < 0) return targets.findLast((index) => index < from) ?? targets.at(-1);
  return targets.find((index) => index > from) ?? targets[0];
}

function scrollTo(element, isWanted) {
  settle(() => element.scrollIntoView({ block: "start", behavior: "instant" }), isWanted);
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
