// The pane of one paper: loads it, shows it, and keeps the reader's place in it.

function paperPane(overview, { step, foldList }) {
  const number = h("span", { class: "paper-place" });
  const status = h("p", { class: "viewer-status", role: "status" });
  const body = h("div", { class: "paper-holder" });
  const back = h("a", { class: "button back", href: "#/papers" }, "Back", wide("\u00a0to the list"));
  const previous = h("button", { type: "button", onclick: () => step(-1) }, "‹", wide("\u00a0Previous"));
  const next = h("button", { type: "button", onclick: () => step(1) }, wide("Next\u00a0"), "›");
  const copy = h("button", { type: "button", class: "copy", onclick: copyLink }, "Copy", wide("\u00a0link"));
  const fold = h("button", { type: "button", class: "fold", onclick: foldList });
  const bar = h("nav", { class: "paper-bar", "aria-label": "Papers of the list" }, back, fold, copy, h("span", { class: "turner" }, previous, number, next));
  const element = h("section", { class: "paper-pane", "aria-label": "Paper", hidden: true }, bar, status, body);
  let origin = null;
  const held = { id: null, record: null, view: null, reading: null, key: null, asked: null, isNoting: false, sentence: null };
  return { element, follow, showPlace, showFold, position, jump, toggle, toggleLess, focus, say };

  async function follow(source, route, state) {
    element.hidden = route.id === null;
    if (route.id === null) {
      Object.assign(held, { id: null, record: null });
      return;
    }
    back.href = linkTo(null);
    origin = source;
    const isNew = held.id !== route.id;
    if (isNew && !(await load(source, route.id))) return;
    if (held.record) show(route, state, isNew);
  }

  // Returns false where the reader has gone to another paper meanwhile, or the paper cannot be loaded.
  async function load(source, id) {
    Object.assign(held, { id, reading: held.view?.reading() ?? held.reading, record: null, view: null, key: null });
    say("Loading…");
    try {
      const record = await source.instance(id);
      if (held.id !== id) return false;
      held.record = record;
      copy.disabled = false;
      say("");
      return true;
    } catch (error) {
      if (held.id !== id) return false;
      body.replaceChildren();
      copy.disabled = true;
      document.title = `Not found · ${overview.title}`;
      say(error.message);
      return false;
    }
  }

  // Makes a new view for another paper, task or system; a link to a sentence of the same view only scrolls there.
  function show(route, state, isNew) {
    const key = JSON.stringify([route.id, state.task, state.a, state.b]);
    const asked = JSON.stringify(readingOf(route));
    const isPointed = route.sentence !== null && (isNew || route.sentence !== held.sentence);
    held.sentence = route.sentence;
    document.title = `${cleaned(held.record.paper.id).slice(0, 100)} · ${overview.title}`;
    if (held.key !== key || (held.asked !== asked && !held.isNoting)) {
      const view = paperView(overview, held.record, { ...state, ...readingOf(route), sentence: null }, { reach, note });
      view.querySelector(".folds").append(...exchangeBlocks(overview, held.record, state, origin));
      if (isNew) place(view);
      else exchange(view);
      held.key = key;
    }
    held.asked = asked;
    if (isNew) focus();
    if (isNew && !isPointed) window.scrollTo(0, 0);
    if (isPointed) pointAt(route.sentence);
  }

  // Writes the sentence of every jump into the address, so that a reload or a copied link leads there.
  function reach(index) {
    held.sentence = index;
    noteSentence(held.id, index);
  }

  // Writes the filter, the chosen aspect and "only marked" into the address; links of the list take them along.
  function note(changes) {
    held.isNoting = true; // the view has made these changes itself
    go(linkTo(held.id, held.sentence, changes), { replaces: true });
    held.isNoting = false;
  }

  function place(view) {
    const reading = held.view?.reading() ?? held.reading;
    held.view = view;
    body.replaceChildren(view);
    if (reading) view.resume(reading);
  }

  // Shows another system or task; sentence, scroll position and focus stay the same.
  function exchange(view) {
    const { scrollY } = window;
    const focused = document.activeElement;
    const target = body.querySelector(".is-target")?.id ?? null;
    const anchor = anchorIn(body, target);
    place(view);
    if (target !== null) view.show(Number(target.slice(2)));
    if (focused !== document.body && focused.isConnected) focused.focus({ preventScroll: true });
    const row = anchor && document.getElementById(anchor.id);
    const moved = row?.checkVisibility() ? row.getBoundingClientRect().top - anchor.top : scrollY - window.scrollY;
    window.scrollBy({ top: moved, behavior: "instant" });
  }

  function pointAt(index) {
    const last = held.record.paper.sentences.length - 1;
    say(index > last ? `The paper has no sentence ${index}; its last is ${last}.` : "");
    held.view.show(index);
  }

  function focus() {
    const heading = body.querySelector("h1, h2, h3");
    heading?.setAttribute("tabindex", "-1");
    heading?.focus({ preventScroll: true });
  }

  function showPlace(at) {
    previous.disabled = next.disabled = !at && !held.record;
    number.textContent = at ? `${at.number.toLocaleString("en")} of ${at.of.toLocaleString("en")}` : "";
  }

  function showFold(isFolded) {
    fold.textContent = isFolded ? "Show the list" : "Hide the list";
  }

  // The paper's position in the data; null while it is not loaded.
  function position() {
    return held.record?.paper.position ?? null;
  }

  function jump(kind, by) {
    held.view?.jump(kind, by);
  }

  function toggle(which) {
    held.view?.toggle(which);
  }

  function toggleLess() {
    held.view?.toggleLess();
  }

  function say(text) {
    announce(status, text);
  }

  // Some browsers refuse the clipboard; then the message points to the address bar.
  async function copyLink() {
    try {
      await navigator.clipboard.writeText(location.href);
      say("The link is copied.");
    } catch {
      say("The browser does not let this page copy; the address bar holds the link.");
    }
  }
}

// What the address says about reading a paper, beside the task and the systems.
function readingOf({ query }) {
  const aspect = query.get("aspect") ?? "";
  return { filter: query.get("aspects"), marked: query.get("marked") === "1", aspect: /^\d{1,6}$/.test(aspect) ? Number(aspect) : null };
}

// A sentence on the screen, if possible the link's target, and its distance from the top; null where there is none.
function anchorIn(body, targetId) {
  const onScreen = (row) => row.getBoundingClientRect().bottom > 0 && row.getBoundingClientRect().top < window.innerHeight;
  const target = targetId && document.getElementById(targetId);
  const row = target && onScreen(target) ? target : [...body.querySelectorAll(".sentence")].find(onScreen);
  return row ? { id: row.id, top: row.getBoundingClientRect().top } : null;
}
