// The pane of one paper: loads it, shows it, and keeps the reader's place in it.

function paperPane(overview, { step, foldList }) {
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
    if (held.key !== keyOf(route)) {
      const state = { ...chosen(overview, route), ...readingOf(route) };
      const view = paperView(overview, held.record, state, { reach, note });
      view.querySelector(".folds").append(...exchangeBlocks(overview, held.record, state, source));
      if (isNew) place(view);
      else exchange(view);
      held.key = keyOf(route);
    }
    if (isNew) focus();
    if (isNew && !isPointed) window.scrollTo(0, 0);
    if (isPointed) pointAt(route.sentence);
  }

  // Says for which addresses a view of this paper holds.
  function keyOf(route) {
    return JSON.stringify([chosen(overview, route), readingOf(route)]);
  }

  // Writes the sentence of every jump into the address, so that a reload or a copied link leads there.
  function reach(index) {
    held.sentence = index;
    noteSentence(held.id, index);
  }

  // Writes the filter, the chosen aspect and "only marked" into the address; links of the list take them along.
  function note(changes) {
    const address = linkTo(held.id, held.sentence, changes);
    held.key = keyOf(readRoute(address)); // the view has made these changes itself
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
    const anchor = [body.querySelector(".is-target"), ...body.querySelectorAll(".sentence")].find((row) => row && isOnScreen(row));
    const top = anchor?.getBoundingClientRect().top;
    change();
    const row = anchor && document.getElementById(anchor.id);
    const { hash } = location;
    settle(() => {
      const moved = row?.checkVisibility() ? row.getBoundingClientRect().top - top : scrollY - window.scrollY;
      window.scrollBy({ top: moved, behavior: "instant" });
    }, () => location.hash === hash);
  }

  function pointAt(index) {
    const last = held.record.paper.sentences.length - 1;
    say(index > last ? `The paper has no sentence ${index}; its last is ${last}.` : "");
    held.view.show(index);
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

// What the address says about reading a paper, beside the task and the systems.
function readingOf({ query }) {
  const aspect = query.get("aspect") ?? "";
  return {
    filter: query.get("aspects"),
    marked: query.get("marked") === "1",
    aspect: /^\d{1,6}$/.test(aspect) ? Number(aspect) : null,
  };
}

function isOnScreen(element) {
  const { top, bottom } = element.getBoundingClientRect();
  return bottom > 0 && top < window.innerHeight;
}
