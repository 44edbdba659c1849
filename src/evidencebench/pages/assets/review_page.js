// The page after a paper is submitted: the paper viewer, with the person as the first system.

function reviewPage(server) {
  const status = h("p.viewer-status", { role: "status" });
  const head = h("div.review-head");
  const bar = h("div");
  const body = h("div.review-body");
  const element = h("section.review-page", { hidden: true, "aria-label": "Your answer and the evidence" }, head, bar, status, body);
  let held = null; // {id, overview, record, view, key}
  let next = null;
  let choices = null;
  const keys = listenToKeys(element, reviewCommands(() => held?.view, () => held?.overview, () => go(next ? pickLink(next.id) : "#/queue")));
  return { element, show, leave };

  async function show(route) {
    if (held?.id !== route.id) await load(route.id);
    if (held?.id !== route.id) return;
    const state = chosen(held.overview, route);
    const key = JSON.stringify([state.task, state.a, state.b]);
    choices.update(state);
    if (held.key === key) {
      if (route.sentence !== null) held.view.show(route.sentence);
      return;
    }
    const scroll = held.key === undefined ? 0 : window.scrollY;
    held.key = key;
    held.view = paperView(held.overview, held.record, { ...state, sentence: route.sentence, heading: "h2" });
    body.replaceChildren(held.view);
    window.scrollTo(0, scroll);
  }

  async function load(id) {
    leave();
    held = { id };
    status.textContent = "Loading…";
    try {
      const queue = await server.queue("tasks");
      if (queue.rows.find((row) => row.id === id)?.status !== "done") {
        held = null;
        go(pickLink(id), { replaces: true });
        return;
      }
      const found = await server.result("tasks", id);
      if (held?.id !== id) return;
      held = { id, ...found };
      next = nextOpen(queue.rows, id);
      status.textContent = "";
      head.replaceChildren(...headOf(found, queue.rows, next));
      choices = choiceBar(found.overview, h("button", { onclick: keys.open }, "Keyboard"));
      bar.replaceChildren(choices.element);
      document.title = `Your score: ${firstWords(found.record.paper.hypothesis, 80)}`;
      head.querySelector("h1").focus({ preventScroll: true });
    } catch (error) {
      if (held?.id !== id) return;
      held = null;
      status.textContent = error.message;
    }
  }

  function leave() {
    held = null;
    for (const part of [head, bar, body]) part.replaceChildren();
  }
}

function headOf({ record, seconds }, rows, next) {
  const recall = record.answers[0]?.find((judged) => judged !== null)?.recall ?? null;
  const submitted = rows.filter((row) => row.status === "done").length;
  return [
    h("h1", { tabindex: "-1" }, `Your aspect recall: ${percent(recall)}`),
    h("p.people-note", {}, `${minutes(seconds)} of work on this paper · ${submitted} of ${counted(rows.length, "paper")} submitted`),
    h("p.review-next", {},
      next ? h("a.people-main", { href: pickLink(next.id) }, "Next paper") : h("b", {}, "All papers are submitted. Thank you!"),
      h("a", { href: "#/queue" }, "All papers, and your score")),
  ];
}

function reviewCommands(view, overview, toNext) {
  return [
    ...stepCommands((kind, by) => view()?.jump(kind, by)),
    { keys: ["b"], name: "next system as B", run: () => overview() && cycle(overview(), "b") },
    { keys: ["n"], name: "next paper to pick in", run: toNext },
    { keys: ["Escape"], name: "back to all papers", run: () => go("#/queue") },
  ];
}
