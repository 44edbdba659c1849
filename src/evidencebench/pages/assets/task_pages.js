// Signing in by name, and the bar that says who is signed in.

import { cleaned, foreign, h, percent, svg } from "./dom.js";
import { firstWords } from "./graded.js";
import { listenToKeys } from "./keyboard.js";
import { pickPage, reviewPage } from "./pick_page.js";
import { decodePart, go, onRoute, readRoute, splitOnce } from "./route.js";
import { taskServer } from "./server.js";
import { DISPUTES, sortOf } from "./task_sorts.js";
import { taskWork } from "./task_work.js";

// `links` are [address, words].
function personBar(server, leave, links) {
  const name = foreign("strong", {}, "");
  const bar = h("div.person-bar", {},
    h("span", {}, "Signed in as ", name),
    links.map(([href, words]) => h("a", { href }, words)),
    h("button", { onclick: leave }, "Sign out"));
  return { element: bar, update };

  function update() {
    bar.hidden = server.name() === null;
    name.textContent = cleaned(server.name() ?? "");
  }
}

// `explain` returns what stands above the field, from what the server tells of all tasks.
function signPage(server, enter, { title, note, explain }) {
  const field = h("input", { id: "person-name", name: "name", autocomplete: "off", maxlength: 200, required: true, dir: "auto" });
  const error = h("p.people-error", { role: "alert" });
  const about = h("div");
  const form = h("form.sign-in", { onsubmit: sign },
    h("label", { for: "person-name" }, "Your name"),
    h("p.people-note", { id: "person-note" }, note),
    field,
    h("button", { type: "submit", class: "people-main" }, "Begin"));
  field.setAttribute("aria-describedby", "person-note");
  return { element: h("section.people-page", { hidden: true }, h("h1", {}, title), about, form, error), show };

  function show(found) {
    error.textContent = typeof found === "string" ? found : "";
    if (typeof found !== "string") about.replaceChildren(...explain(found));
    field.focus();
  }

  async function sign(event) {
    event.preventDefault();
    error.textContent = "";
    try {
      await enter(await server.signIn(field.value));
      field.value = "";
    } catch (refusal) {
      error.textContent = refusal.message;
    }
  }
}

// The pages of people who answer tasks: signing in, the list of tasks, one task, and what is shown of a submitted one.

/* The place that the address names: {page, list, id, sentence}. "#/tasks/ID" is a task, "#/adjudication" the tasks on
   which annotators differ; "#/pick/ID" is a paper to pick in, "#/papers/ID" its review after submission. Every other
   address is the list. */
function readTaskPlace(isPicking) {
  const [mark, place, id, sentence] = splitOnce(location.hash, "?")[0].split("/");
  const known = isPicking ? ["pick", "papers"] : ["tasks", "adjudication"];
  const list = place === "adjudication" ? place : "tasks";
  if (mark !== "#" || !known.includes(place)) return { page: "list", list: "tasks", id: null };
  if (id === undefined || (!id && place !== "pick")) return { page: "list", list, id: null };
  if (place === "papers") return { ...readRoute(), page: "review", list };
  return { page: "task", list, id: decodePart(id ?? ""), sentence: /^\d{1,9}$/.test(sentence ?? "") ? Number(sentence) : null };
}

export function taskLink(list, id = null) {
  return id === null ? `#/${list}` : `#/${list}/${encodeURIComponent(id)}`;
}

export function pickLink(id) {
  return taskLink("pick", id);
}

export async function showTasks(root) {
  const server = taskServer();
  const tabs = new BroadcastChannel("evidencebench-people");
  const tell = (news) => tabs.postMessage({ person: server.name(), ...news });
  root.classList.add("people");
  let about = null;
  let shown = null;
  let turn = 0;
  let failure = "";
  try {
    about = await server.session();
  } catch (error) {
    failure = error.message;
  }
  const isPicking = about?.sort === "picks";
  const sort = about && sortOf(about);
  const sign = signPage(server, enter, { title: sort?.title ?? document.title, explain: (found) => sort.explain(found), note: sort?.signNote ?? "" });
  if (about === null) {
    root.replaceChildren(sign.element);
    sign.element.hidden = false;
    sign.show(failure);
    return;
  }
  const pages = { sign, list: listPage(server), task: isPicking ? pickPage(server, tell) : taskPage(server), ...(isPicking && { review: reviewPage(server) }) };
  const bar = personBar(server, leave, sort.links);
  root.replaceChildren(bar.element, ...Object.values(pages).map((page) => page.element));
  onRoute(follow);
  tabs.addEventListener("message", hear);
  await follow();

  async function show(name, ...told) {
    const asked = ++turn;
    if (shown !== name) await pages[shown]?.leave?.(); // while it can be measured
    if (asked !== turn) return;
    for (const [other, page] of Object.entries(pages)) page.element.hidden = other !== name;
    if (document.activeElement?.closest("[hidden]")) document.activeElement.blur(); // browsers wait for the next frame
    shown = name;
    await pages[name].show(...told);
  }

  // Hears what another tab of this browser has saved.
  function hear({ data }) {
    if (data.person !== server.name()) return;
    pages.task.hear?.(data);
    if (shown === "list") follow();
  }

  async function follow() {
    bar.update();
    document.title = about.title;
    if (server.name() === null) return show("sign", about);
    const place = readTaskPlace(isPicking);
    return show(place.page, place, about);
  }

  async function enter(found) {
    about = { ...about, person: found.person, is_new: found.is_new };
    await follow();
  }

  async function leave() {
    await pages[shown]?.leave?.();
    await server.signOut();
    about = { ...about, person: null };
    if (["", "#/", "#/tasks"].includes(location.hash)) await follow();
    else location.hash = "#/";
  }
}

function listPage(server) {
  const body = h("div");
  return { element: h("section.people-page", { hidden: true }, body), show };

  async function show({ list }, about) {
    try {
      body.replaceChildren(...listOf(list, await server.queue(list), about));
      if (document.activeElement === document.body) body.querySelector(".people-main")?.focus({ preventScroll: true });
    } catch (error) {
      body.replaceChildren(failed(error));
    }
  }
}

// What stands in the place of a page that cannot be shown.
export function failed(error) {
  return h("div.people-page", {}, h("p.people-error", { role: "alert" }, error.message), h("p", {}, h("a", { href: "#/tasks" }, "All tasks")));
}

const QUEUE_STEP = 100;

function listOf(list, { rows, last = null, scores }, about) {
  const sort = sortOf(about);
  const words = list === "adjudication" ? DISPUTES : sort.words;
  if (words.none && !rows.length) return [h("h1", {}, words.title), h("p.people-note", {}, words.none)];
  const done = rows.filter(({ status }) => status === "done").length;
  const next = rows.find(({ id }) => id === last) ?? nextOpen(rows, null);
  const isBegun = done || last !== null || rows.some(({ status }) => status === "draft");
  const ordered = h("ol.queue");
  const more = h("button", { onclick: () => grow(ordered, list, rows, more, sort) }, "Show more");
  grow(ordered, list, rows, more, sort);
  return [
    h("h1", {}, words.title),
    words.note ? h("p.people-note", {}, words.note) : null,
    list === "tasks" && about.is_new && rows.every(({ status }) => status === "open") ? h("p.people-note", {}, words.isNew) : null,
    h("p.queue-progress", {}, h("progress", { max: rows.length, value: done, "aria-label": words.progress }), ` ${done} of ${rows.length} ${words.done}`),
    next ? h("p", {}, h("a.people-main", { href: sort.link(list, next) }, isBegun ? "Go on" : words.begin),
      last !== null && [" with the paper that you left: ", foreign("q", {}, firstWords(next.text, 100))])
      : [h("p.people-done", {}, words.over), about.report && [
        h("p.people-note", {}, "Where the others are done too, the report is made in the terminal, by"),
        h("pre.task-command", { tabindex: "0" }, about.report)]],
    scores && [h("h2", {}, next ? "Your score so far" : "Your score"), ...ownScores(scores)],
    sort.guideFold(about),
    ordered, more,
  ].flat(2).filter(Boolean);
}

function grow(ordered, list, rows, more, sort) {
  const from = ordered.childElementCount;
  ordered.append(...rows.slice(from, from + QUEUE_STEP).map((row) => taskItem(sort.link(list, row), row)));
  more.hidden = ordered.childElementCount >= rows.length;
}

function taskItem(href, row) {
  return h("li", { class: `queue-item queue-${row.status}` },
    foreign("a", { href }, firstWords(row.text, 300) || row.id),
    h("span.queue-facts", {}, row.facts ? `${row.facts} · ` : "", h("span.queue-status", {}, row.words),
      row.recall !== null && ` · ${percent(row.recall)}`));
}

// How well the person has done, beside the systems, on exactly the papers that were submitted.
function ownScores({ summary, means }) {
  const at = (share) => `${100 * share}%`;
  return [
    foreign("p.own-summary", {}, summary),
    h("table.own-scores", {},
      h("caption", {}, "Mean aspect recall in %, over exactly the papers that you submitted. In brackets: 95 % intervals. * A control."),
      h("tbody", {}, means.map(({ label, text, is_you, mean, low, high }) => h("tr", { class: is_you && "own-row" },
        foreign("th", { scope: "row" }, label), h("td", {}, text),
        h("td", {}, svg("svg", { class: "own-chart", "aria-hidden": "true" },
          low !== null && svg("line", { x1: at(low), x2: at(high), y1: 8, y2: 8 }), svg("circle", { cx: at(mean), cy: 8, r: 4 }))))))),
  ];
}

// The next task that is not done; after the last one follows the first. Null: all are done.
export function nextOpen(rows, id) {
  const at = rows.findIndex((row) => row.id === id);
  return [...rows.slice(at + 1), ...rows.slice(0, Math.max(at, 0))].find(({ status }) => status !== "done") ?? null;
}

// The page of one task that can be changed at any time.
function taskPage(server) {
  const body = h("div");
  const element = h("section.pick-page", { hidden: true, "aria-label": "Task" }, body);
  const keys = listenToKeys(element, []);
  let work = null;
  let asked = null;
  return { element, show, leave };

  async function show({ list, id }, about) {
    const place = (asked = { list, id });
    await end();
    try {
      const found = await server.task(list, id);
      if (asked !== place) return;
      work = taskWork({ server, list, about, found, body, keys, leave: goOn });
    } catch (error) {
      if (asked === place) body.replaceChildren(failed(error));
      return;
    }
    keys.use([...work.commands,
      { keys: ["n"], name: "next task", run: () => work?.go(1) },
      { keys: ["p"], name: "previous task", run: () => work?.go(-1) },
      { keys: ["u", "Ctrl+Z"], name: "undo the last change", run: () => work?.undo() },
      { keys: ["Enter"], on: ".pick-sentence, .task-choice, .audit-row, body", name: "done, and on to the next task", run: () => work?.finish() },
      { keys: ["Escape"], name: "back to all tasks", run: () => go(taskLink(list)) }]);

    // Goes to the next task that is not done; after the last one, to the list.
    async function goOn(ids) {
      await work?.end();
      let rows;
      try {
        ({ rows } = await server.queue(list));
      } catch {
        rows = ids.map((one) => ({ id: one, status: "open" })); // the server is away; this task is sent when it is back
      }
      go(taskLink(list, nextOpen(rows, id)?.id ?? null));
    }
  }

  async function leave() {
    asked = null;
    await end();
  }

  async function end() {
    const ended = work?.end();
    work = null;
    await ended;
  }
}
