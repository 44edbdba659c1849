// The page on which a person picks the evidence in one paper. It knows the hypothesis, the paper and the budget, no more.

const SAVE_TIME_EVERY_SECONDS = 20;
const WIDE = "(min-width: 900px)";

function pickPage(desk) {
  const body = h("div", {});
  const element = h("section", { class: "pick-page", hidden: true, "aria-label": "Pick sentences" }, body);
  let work = null;
  let asked = null;
  const keys = listenToKeys(element, pickCommands(() => work));
  return { element, show, leave };

  async function show(id, sentence) {
    if (work?.id === id) {
      if (sentence !== null) work.focusOn(sentence);
      return;
    }
    asked = id;
    await leave();
    body.replaceChildren(h("p", { class: "people-note", role: "status" }, "Loading…"));
    try {
      const found = await desk.paper(id);
      if (asked !== id) return;
      work = pickWork(desk, found, body, keys);
      work.focusOn(sentence ?? 0, { quietly: sentence === null });
    } catch (error) {
      if (asked !== id) return;
      if (error.status === 409) go(linkTo(id), { replaces: true });
      else body.replaceChildren(h("p", { class: "people-error", role: "alert" }, error.message), h("p", {}, h("a", { href: "#/queue" }, "All papers")));
    }
  }

  // Waits until what was picked lies on the server.
  async function leave() {
    const left = work;
    work = null;
    body.replaceChildren();
    await left?.end();
  }
}

function pickCommands(work) {
  return [
    { keys: ["j"], name: "next sentence (also ↓)", run: () => work()?.move(1) },
    { keys: ["k"], name: "previous sentence (also ↑)", run: () => work()?.move(-1) },
    { keys: ["]"], name: "next heading", run: () => work()?.moveToHeading(1) },
    { keys: ["["], name: "previous heading", run: () => work()?.moveToHeading(-1) },
    { keys: ["u"], name: "undo the last change", run: () => work()?.undo() },
    { keys: ["s"], name: "submit", run: () => work()?.askToSubmit() },
    { keys: ["Escape"], name: "back to all papers", run: () => go("#/queue") },
  ];
}

// Everything about one paper while it is on the page: picks, the time, and what of it the server has.
function pickWork(desk, { paper, budget, sentences, seconds }, body, keys) {
  const id = paper.id;
  let picks = [...sentences];
  let current = 0;
  let isOver = false;
  const history = [];
  const clock = activeClock(seconds);
  const text = pickText(paper, { toggle, move: moveFrom, reach });
  const bar = pickBar(paper, budget);
  const side = pickSide(paper, { toggle, undo, askToSubmit, keys });
  const keeper = makeKeeper((found) => desk.save(found), bar.showSaved);
  const timer = setInterval(keepTime, 1000 * SAVE_TIME_EVERY_SECONDS);
  let keptSeconds = seconds;
  document.addEventListener("visibilitychange", keepAtOnce);
  window.addEventListener("pagehide", keepAtOnce);
  body.replaceChildren(bar.element, h("div", { class: "pick-columns" }, text.element, side.element));
  document.title = `Pick: ${firstWords(paper.hypothesis, 80)}`;
  window.scrollTo(0, 0);
  draw();
  return { id, focusOn, move, moveToHeading, undo, askToSubmit, end };

  function draw() {
    text.showPicked(new Set(picks));
    bar.showCount(picks.length);
    side.showPicks(picks, { budget, canUndo: history.length > 0 });
  }

  function toggle(index) {
    reach(index);
    if (picks.includes(index)) change(picks.filter((one) => one !== index));
    else if (picks.length < budget) change([...picks, index]);
    else bar.refuse(`All ${budget === 1 ? "you may pick is 1 sentence" : `${budget} picks are used`}: remove one before you pick another.`);
  }

  function change(changed) {
    history.push(picks);
    picks = changed;
    drawAndKeep();
  }

  function undo() {
    if (!history.length) return;
    picks = history.pop();
    drawAndKeep();
  }

  function drawAndKeep() {
    bar.refuse("");
    draw();
    keeper.keep(found());
  }

  function found() {
    keptSeconds = clock.seconds();
    return { id, sentences: picks, seconds: keptSeconds };
  }

  function keepTime() {
    if (clock.seconds() > keptSeconds) keeper.keep(found());
  }

  // The page may be gone in a moment: the browser sends this one even then.
  function keepAtOnce() {
    const isNews = clock.seconds() > keptSeconds || !keeper.isDone();
    if (document.visibilityState === "hidden" && !isOver && isNews) desk.save(found(), { keepalive: true }).catch(() => {});
  }

  function reach(index) {
    current = index;
    text.reach(index);
  }

  function focusOn(index, { quietly = false } = {}) {
    const reached = Math.max(0, Math.min(index, paper.sentences.length - 1));
    reach(reached);
    text.focus(reached, { preventScroll: quietly });
  }

  function move(by) {
    focusOn(current + by);
  }

  function moveFrom(index) {
    focusOn(index);
  }

  function moveToHeading(by) {
    const headings = [...paper.kinds].flatMap((kind, index) => (kind === "h" ? [index] : []));
    const next = by > 0 ? headings.find((index) => index > current) : headings.findLast((index) => index < current);
    if (next !== undefined) focusOn(next);
  }

  async function askToSubmit() {
    bar.refuse("");
    if (await confirmed(submitWords(picks, budget))) await submit();
  }

  async function submit() {
    keeper.forget();
    await keeper.settled();
    try {
      await desk.submit(found());
    } catch (error) {
      bar.refuse(error.message);
      if (error.status !== 409) return;
    }
    await end({ isKept: true });
    go(linkTo(id), { replaces: true });
  }

  async function end({ isKept = false } = {}) {
    if (isOver) return;
    if (!isKept && clock.seconds() > keptSeconds) keeper.keep(found());
    isOver = true;
    clock.stop();
    clearInterval(timer);
    document.removeEventListener("visibilitychange", keepAtOnce);
    window.removeEventListener("pagehide", keepAtOnce);
    await Promise.race([keeper.settled(), new Promise((resume) => setTimeout(resume, 1500))]);
  }
}

// Hypothesis and count, always in view.
function pickBar(paper, budget) {
  const count = h("b", { class: "pick-count" });
  const saved = h("span", { class: "pick-saved" });
  const refusal = h("p", { class: "people-error pick-refusal", role: "alert" });
  const element = h("header", { class: "pick-bar" },
    h("p", { class: "pick-eyebrow" }, "Hypothesis"),
    foreign("h1", { class: "pick-hypothesis", tabindex: "0" }, paper.hypothesis),
    h("p", { class: "pick-facts", role: "status" }, count, h("span", {}, ` Pick up to ${counted(budget, "sentence")}. `), saved),
    refusal);
  // What is scrolled to must not end up below the bar, however many lines the hypothesis has.
  new ResizeObserver(() => element.closest(".people")?.style.setProperty("--bar-height", `${element.offsetHeight}px`)).observe(element);
  return { element, showCount, showSaved, refuse };

  function showCount(n) {
    count.textContent = `${n} of ${budget} picked.`;
    count.classList.toggle("is-full", n >= budget);
  }

  function showSaved(how, error) {
    saved.textContent = { saving: "Saving…", saved: "Saved.", failed: "Not saved." }[how];
    refuse(how === "failed" ? error.message : refusal.dataset.how === "failed" ? "" : refusal.textContent);
    refusal.dataset.how = how;
  }

  function refuse(words) {
    if (refusal.textContent !== words) refusal.textContent = words;
  }
}

// The sentences; one of them can be reached by Tab, the others from it by arrows.
function pickText(paper, on) {
  const buttons = paper.sentences.map((sentence, index) => pickButton(sentence, index, on));
  const list = h("ol", { class: "pick-text", role: "list", "aria-label": "Sentences of the paper", onkeydown: step });
  buttons.forEach((button, index) => {
    const kind = paper.kinds[index];
    if (kind === "a" && paper.kinds[index - 1] !== "a") list.append(pickLabel(paper, index) ?? "");
    list.append(h("li", { class: `pick-row pick-${kind}` }, kind === "h" ? h("h2", {}, button) : button));
  });
  let reached = 0;
  return { element: list, showPicked, reach, focus };

  function step(event) {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by === undefined || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    event.preventDefault();
    on.move(Math.max(0, Math.min(reached + by, buttons.length - 1)));
  }

  function showPicked(picked) {
    buttons.forEach((button, index) => button.setAttribute("aria-pressed", picked.has(index)));
  }

  function reach(index) {
    buttons[reached]?.setAttribute("tabindex", "-1");
    buttons[index]?.setAttribute("tabindex", "0");
    reached = index;
  }

  function focus(index, options) {
    buttons[index]?.focus(options);
  }
}

function pickButton(sentence, index, on) {
  return h("button",
    { type: "button", class: "pick-sentence", id: `pick-${index}`, tabindex: "-1", "aria-pressed": "false",
      onclick: () => on.toggle(index), onfocus: () => on.reach(index) },
    h("span", { class: "pick-number" }, String(index)),
    h("span", { class: "pick-box", "aria-hidden": "true" }),
    foreign("span", { class: "pick-words" }, sentence.trim() ? sentence : "(no text)"));
}

function pickLabel(paper, index) {
  const label = abstractLabel(paper, index);
  return label && h("li", { class: "pick-label" }, label);
}

// What is picked so far, and what can be done with it.
function pickSide(paper, on) {
  const submit = h("button", { type: "button", class: "pick-submit", onclick: on.askToSubmit });
  const undo = h("button", { type: "button", onclick: on.undo }, "Undo");
  const help = h("button", { type: "button", class: "pick-help", onclick: on.keys.open }, "Keyboard");
  const none = h("p", { class: "people-note" });
  const list = h("ul", { class: "picks" });
  const details = h("details", { class: "pick-list" }, h("summary", {}, "Your picks"), none, list);
  details.open = matchMedia(WIDE).matches;
  const element = h("aside", { class: "pick-side", "aria-label": "Your picks" },
    h("div", { class: "pick-actions" }, submit, undo, help), details);
  return { element, showPicks };

  function showPicks(picks, { canUndo }) {
    submit.textContent = picks.length ? `Submit ${counted(picks.length, "sentence")}…` : "I find no evidence…";
    submit.classList.toggle("people-main", picks.length > 0);
    undo.disabled = !canUndo;
    none.textContent = picks.length ? "" : "None yet: click a sentence, or press Space on it.";
    list.replaceChildren(...[...picks].sort((one, other) => one - other).map(item));
  }

  function item(index) {
    return h("li", {},
      h("a", { href: `${pickLink(paper.id)}/${index}` }, h("b", {}, String(index)), " ", foreign("span", {}, firstWords(paper.sentences[index], 90))),
      h("button", { type: "button", class: "pick-remove", "aria-label": `Remove sentence ${index}`, onclick: () => remove(index) }, "Remove"));
  }

  // The button that was pressed is gone then: the next one takes the focus.
  function remove(index) {
    const at = [...list.querySelectorAll(".pick-remove")].indexOf(document.activeElement);
    on.toggle(index);
    const left = list.querySelectorAll(".pick-remove");
    (left[Math.min(at, left.length - 1)] ?? details.querySelector("summary")).focus();
  }
}

function submitWords(picks, budget) {
  const final = "This is final. You are then shown where the evidence is, and your score.";
  if (!picks.length) {
    return { title: "Submit that there is no evidence?", yes: "Submit no sentence",
      words: [`You have picked no sentence of the ${budget} you may. An empty answer scores 0.`, final] };
  }
  const left = budget - picks.length;
  const more = left ? [`You may pick ${left} more; a further pick never lowers the score.`] : [];
  const what = picks.length === 1 ? "this sentence" : `these ${picks.length} sentences`;
  return { title: `Submit ${what}?`, yes: `Submit ${counted(picks.length, "sentence")}`, words: [...more, final] };
}

// Asks in a dialog; resolves to whether the answer was yes.
function confirmed({ title, words, yes }) {
  return new Promise((resolve) => {
    let said = false;
    const answer = (value) => { said = value; dialog.close(); };
    const no = h("button", { type: "button", onclick: () => answer(false) }, "Go on picking");
    const dialog = h("dialog", { class: "key-dialog confirm", "aria-labelledby": "confirm-title", onclose: over },
      h("h2", { id: "confirm-title" }, title),
      words.map((line) => h("p", {}, line)),
      h("p", { class: "confirm-buttons" }, h("button", { type: "button", class: "people-main", onclick: () => answer(true) }, yes), no));
    document.body.append(dialog);
    dialog.showModal();
    no.focus();

    function over() {
      dialog.remove();
      resolve(said);
    }
  });
}
