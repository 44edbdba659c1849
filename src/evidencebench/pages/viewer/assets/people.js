// The pages of people who pick: signing in, the queue of papers, and the choice of page by the address.

// "#/pick/ID" is the page to pick, "#/papers/ID" the review after submission; every other address is the queue.
function readPick() {
  const parts = splitOnce(location.hash, "?")[0].split("/");
  if (parts[0] !== "#" || parts[1] !== "pick" || parts.length < 3) return null;
  return { id: decodePart(parts[2]), sentence: /^\d{1,9}$/.test(parts[3] ?? "") ? Number(parts[3]) : null };
}

function pickLink(id) {
  return `#/pick/${encodeURIComponent(id)}`;
}

const SIGN_NOTE = "It stands beside your score, and it is how you find your picks again: type it the same way every time.";

async function showPeople(root) {
  const server = peopleServer();
  const tabs = new BroadcastChannel("evidencebench-people");
  const tell = (news) => tabs.postMessage({ person: server.name(), ...news });
  root.classList.add("people");
  const pages = { sign: signPage(server, enter, { title: "Find the evidence", note: SIGN_NOTE, explain: explained }), queue: queuePage(server), pick: pickPage(server, tell), review: reviewPage(server) };
  const bar = personBar(server, leave, [["#/queue", "All papers"]]);
  root.replaceChildren(bar.element, ...Object.values(pages).map((page) => page.element));
  let about = null;
  let shown = null;
  show(null);
  onRoute(follow);
  tabs.addEventListener("message", hear);
  try {
    about = await server.session();
  } catch (error) {
    show("sign", error.message);
    return;
  }
  await follow();

  function show(name, ...told) {
    if (shown !== name) pages[shown]?.leave?.(); // while it can be measured
    for (const [other, page] of Object.entries(pages)) page.element.hidden = other !== name;
    shown = name;
    return name === null ? null : pages[name].show(...told);
  }

  // Hears what another tab of this browser has saved.
  function hear({ data }) {
    if (data.person !== server.name()) return;
    pages.pick.hear(data);
    if (shown === "queue") follow();
  }

  async function follow() {
    bar.update();
    document.title = about.title;
    const route = readRoute();
    if (server.name() === null) return show("sign", about);
    const pick = readPick();
    if (pick !== null) return show("pick", pick.id, pick.sentence);
    if (route.place === "papers" && route.id !== null) return show("review", route);
    return show("queue", about);
  }

  async function enter(found) {
    about = { ...about, person: found.person, is_new: found.is_new };
    await follow();
  }

  async function leave() {
    await pages[shown]?.leave?.();
    await server.signOut();
    about = { ...about, person: null };
    if (location.hash === "" || location.hash === "#/") await follow();
    else location.hash = "#/";
  }
}

// The instructions for people; language models get the same in their prompt.
function explained({ n_instances, scope }) {
  return [
    h("p", {}, `You will read ${counted(n_instances, "paper")}. With each comes a hypothesis, and the number of sentences `,
      "that you may pick. Pick those that are evidence on the hypothesis, for or against it; what they miss is shown to you ",
      "once you have submitted."),
    h("details.people-guide", {}, h("summary", {}, "What counts as evidence"), guide(scope)),
  ];
}

function guide(scope) {
  const wanted = scope === "results"
    ? "Wanted are outcomes and analyses only: what was found, how large it was and how certain, in whom, and what was adjusted for."
    : "Wanted is evidence of every sort: how the study was made, in whom or in what, with which comparison, and what came out.";
  return h("ul", {},
    h("li", {}, "What the paper itself did and found that bears on the hypothesis. Evidence against it, and finding no ",
      "difference, count as much as evidence for it. Background, aims and findings of other papers do not count."),
    h("li", {}, wanted),
    h("li", {}, "Think of the handful of points that an expert’s summary of this paper for this hypothesis would hold. ",
      "Your score is the share of these points that your sentences state."),
    h("li", {}, "A sentence that states several points is worth more than one that states one; a second sentence for the same ",
      "point adds nothing. The abstract often states several points at once."));
}

function queuePage(server) {
  const body = h("div");
  return { element: h("section.people-page", { hidden: true }, body), show };

  async function show(about) {
    let found;
    try {
      found = await server.queue();
    } catch (error) {
      body.replaceChildren(h("p.people-error", { role: "alert" }, error.message));
      return;
    }
    body.replaceChildren(...queueOf(found, about));
  }
}

const QUEUE_STEP = 100;

function queueOf({ rows, last, scores }, about) {
  const submitted = rows.filter((row) => row.status === "submitted").length;
  const next = rows.find((row) => row.id === last) ?? nextRow(rows, null);
  const list = h("ol.queue");
  const more = h("button", { onclick: () => grow(list, rows, more) }, "Show more papers");
  grow(list, rows, more);
  return [
    h("h1", {}, "Your papers"),
    about.is_new && rows.every((row) => row.status === "open") ? h("p.people-note", {},
      "Nothing was picked under this name before. If you have been here already, sign out and type your name as you did then.") : null,
    h("p.queue-progress", {},
      h("progress", { max: rows.length, value: submitted, "aria-label": "Papers submitted" }), ` ${submitted} of ${rows.length} submitted`),
    next ? h("p", {}, h("a.people-main", { href: pickLink(next.id) }, submitted || last !== null ? "Go on" : "Begin with the first paper"),
      last !== null && [" with the paper that you left: ", foreign("q", {}, firstWords(next.hypothesis, 100))])
      : h("p.people-done", {}, "All papers are submitted. Thank you!"),
    scores && [h("h2", {}, next ? "Your score so far" : "Your score"), ...ownScores(scores)],
    h("details.people-guide", {}, h("summary", {}, "What counts as evidence"), guide(about.scope)),
    list, more,
  ].flat().filter(Boolean);
}

function grow(list, rows, more) {
  const from = list.childElementCount;
  list.append(...rows.slice(from, from + QUEUE_STEP).map(queueItem));
  more.hidden = list.childElementCount >= rows.length;
}

function queueItem(row) {
  const said = { open: "open", draft: `${row.n_picked} picked, not submitted`, submitted: "submitted" }[row.status];
  return h("li", { class: `queue-item queue-${row.status}` },
    foreign("a", { href: row.status === "submitted" ? linkTo(row.id) : pickLink(row.id) }, firstWords(row.hypothesis, 300) || row.id),
    h("span.queue-facts", {}, `${counted(row.n_sentences, "sentence")} · `, h("span.queue-status", {}, said),
      row.recall !== undefined && ` · ${percent(row.recall)}`));
}

// The next paper in the queue that is not submitted; after the last one follows the first. Null: all are submitted.
function nextRow(rows, id) {
  const at = rows.findIndex((row) => row.id === id);
  const behind = [...rows.slice(at + 1), ...rows.slice(0, Math.max(at, 0))];
  return behind.find((row) => row.status !== "submitted") ?? null;
}
