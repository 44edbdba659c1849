// Shows one paper: the explanation of each score, the text with its marks, a map of it, and the aspects.

/* `state` is {task, a, b, sentence, heading}: positions, or null where there is none, and the element of the hypothesis;
   `onReach(index)` is told each sentence that the reader is led to. The element returned also has
   jump("evidence" | "selected" | "missed", step), toggle("a" | "b"), toggleLess(), show(index), and reading() with
   resume(reading) to carry what a reader has set to another view; all of them work once it is on the page. */
function paperView(overview, record, state, onReach = () => {}) {
  const graded = gradedOf(overview, record, state);
  const element = h("article", { class: "paper" });
  const told = h("p", { class: "visually-hidden", role: "status" });
  const text = textOf(graded, chooseFromText);
  const map = mapOf(graded, show);
  const title = h(
    "h2",
    { class: "text-title", tabindex: "-1" },
    `The paper (${counted(record.paper.sentences.length, "sentence")})`,
  );
  const panel = aspectPanel(graded, { choose, next: nextOf });
  const tools = toolbar(graded, { jump, toggle, only: text.only });
  const bars = h("div", { class: "bars" }, tools.element, map.lying);
  let current = null;
  let pressed = null; // the aspect that is highlighted

  element.append(
    paperHead(graded, state.heading ?? "h1"),
    h("button", { type: "button", class: "to-text", onclick: toText }, "To the paper's text"),
    scoreExplanation(graded, goTo),
    h(
      "div",
      { class: "paper-columns" },
      map.upright,
      h(
        "div",
        { class: "text-column" },
        h(
          "div",
          { class: "text-head" },
          title,
          h("button", { type: "button", class: "to-aspects", onclick: toAspects }, "To the aspects"),
        ),
        bars,
        text.element,
      ),
      panel.element,
    ),
    told,
  );
  watchView(text.rows, map.showView);
  text.element.addEventListener("click", (event) => {
    const row = event.target.closest(".sentence");
    if (row) current = Number(row.dataset.index);
  });
  if (state.sentence !== null && state.sentence !== undefined)
    requestAnimationFrame(() => element.isConnected && show(state.sentence));
  return Object.assign(element, { jump, toggle, toggleLess, show, reading, resume });

  // Goes to a sentence and gives it the focus; it is shown first where it is hidden.
  function show(index) {
    const row = text.rows[index];
    if (!row) return;
    text.reveal(index);
    text.rows[current]?.classList.remove("is-target");
    current = index;
    row.classList.add("is-target");
    row.focus({ preventScroll: true });
    element.style.setProperty("--bar", `${bars.offsetHeight}px`); // so that no sentence is scrolled below the bar
    scrollTo(row);
    onReach(index);
  }

  function toText() {
    title.focus({ preventScroll: true });
    title.scrollIntoView({ block: "start", behavior: "instant" });
  }

  // A link that skips the text, which has a link and buttons in every row.
  function toAspects() {
    panel.element.focus({ preventScroll: true });
    panel.element.scrollIntoView({ block: "nearest", behavior: "instant" });
  }

  function jump(kind, step) {
    const targets = targetsOf(graded, kind, pressed);
    if (!targets.length) {
      announce(told, kind !== "evidence" && sideA(graded)?.judged === null ? "A is not scored here." : NOTHING[kind]);
      return null;
    }
    const next = nextTarget(targets, current, step);
    show(next);
    announce(told, `${STEP_NAMES[kind][2]}, ${targets.indexOf(next) + 1} of ${targets.length}`);
    return next;
  }

  function toggle(which) {
    const isHidden = element.classList.toggle(`hides-${which}`);
    tools.showMarks(which, !isHidden);
  }

  function toggleLess() {
    tools.showLess(!tools.isLess());
  }

  function reading() {
    const hidden = ["a", "b"].filter((which) => element.classList.contains(`hides-${which}`));
    return { aspect: pressed?.number ?? null, filter: panel.filter(), isLess: tools.isLess(), hidden };
  }

  function resume({ aspect, filter, isLess, hidden }) {
    if (filter) panel.show(filter);
    if (isLess) tools.showLess(true);
    if (aspect !== null) highlight(graded.aspects[aspect - 1]);
    hidden.forEach(toggle);
  }

  function highlight(aspect) {
    pressed = aspect;
    panel.showChosen(aspect);
    map.showAspect(aspect);
    text.highlight(aspect);
  }

  function choose(aspect) {
    if (pressed?.number === aspect.number) highlight(null);
    else goTo(aspect);
  }

  // In the text the reader is at one of its sentences already.
  function chooseFromText(aspect) {
    highlight(pressed?.number === aspect.number ? null : aspect);
  }

  function goTo(aspect) {
    highlight(aspect);
    if (aspect.sentences.length) show(aspect.sentences[0]);
  }

  function nextOf(aspect) {
    highlight(aspect);
    show(nextTarget(aspect.sentences, current, 1));
  }
}

const NOTHING = {
  evidence: "No sentence of this paper is evidence.",
  selected: "A selected no sentence.",
  missed: "A missed no aspect that could be covered.",
};

function paperHead({ paper, reviewId, task }, heading) {
  const ids = [
    ["instance", paper.id],
    ["paper", paper.paper_id],
    ["review", reviewId],
  ];
  return h(
    "header",
    { class: "paper-head" },
    h("p", { class: "eyebrow" }, "Hypothesis"),
    foreign(heading, { class: "hypothesis", tabindex: "-1" }, paper.hypothesis),
    h(
      "dl",
      { class: "ids" },
      ids.map(([name, id]) => (id === null ? null : h("div", {}, h("dt", {}, name), foreign("dd", {}, id)))),
      h("div", {}, h("dt", {}, "task"), foreign("dd", {}, task.name)),
    ),
  );
}

function sideA({ chosen }) {
  return chosen.find(({ letter }) => letter === "A") ?? null;
}

// The sentences to step through, in reading order; with an aspect highlighted, its evidence only.
function targetsOf(graded, kind, pressed) {
  const a = sideA(graded);
  const indexes = graded.paper.sentences.map((_, index) => index);
  if (kind === "selected") return a ? a.selected : [];
  if (kind === "missed")
    return a?.judged
      ? indexes.filter((index) => graded.stated[index].some((aspect) => aspect.counts && a.covers(aspect) === 0))
      : [];
  if (pressed) return pressed.sentences;
  return indexes.filter(graded.isEvidence);
}

// The next target after the current sentence, or before it; after the last one follows the first.
function nextTarget(targets, current, step) {
  if (step < 0) return targets.findLast((index) => current !== null && index < current) ?? targets[targets.length - 1];
  return targets.find((index) => current === null || index > current) ?? targets[0];
}

const N_SETTLING_FRAMES = 3;

/* Scrolls at once, without animation. Rows that were never on the screen have a guessed height until they are
   laid out, one frame later; so the row is scrolled to again in the next frames. */
function scrollTo(row, nFrames = N_SETTLING_FRAMES) {
  row.scrollIntoView({ block: "start", behavior: "instant" });
  if (nFrames) requestAnimationFrame(() => document.activeElement === row && scrollTo(row, nFrames - 1));
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
