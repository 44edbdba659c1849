// Draws two systems paper by paper; each mark leads to its paper, or to a list where several coincide.

import { aspectLists } from "./aspect_list.js";
import { addSaving, counted, foreign, h, percent, signed, svg, themeButton } from "./dom.js";
import { embeddedSource } from "./embedded_source.js";
import { firstWords } from "./graded.js";
import { LIST_PLACES, SAME, SHARED, choose, go, linkTo, linkToList, linkToResults, namesOf, picker, readRoute, scoreOf, shared, splitOnce, systemMark, unknownIn, withQuery } from "./route.js";
import { showViewer } from "./viewer.js";

// Marks keep a distance from the axes, `inset`, so that one at 0 hides no number of them.
const SCATTER = { size: 480, left: 58, right: 26, top: 26, bottom: 52, inset: 26, largest: 20, listed: 20 };

// The papers at each point. Recalls are quotients of small numbers, so equal points have equal texts as keys.
function pointsOf(rows, { a, b, task }) {
  const placed = rows.map((row) => ({ row, x: scoreOf(row, a, task), y: scoreOf(row, b, task) })).filter(({ x, y }) => x !== null && y !== null);
  const points = Map.groupBy(placed, ({ x, y }) => `${x.toFixed(9)} ${y.toFixed(9)}`);
  return [...points.values()].map((same) => ({ ...same[0], rows: same.map(({ row }) => row) })).sort((one, other) => one.x - one.y - (other.x - other.y) || one.x - other.x);
}

function scatterParts(points, asked) {
  if (!points.length) return [h("p.note", {}, "The task applies to no instance here, or one of the two systems cannot answer it.")];
  const papers = points.flatMap(({ x, y, rows }) => rows.map((row) => ({ row, x, y, apart: Math.abs(x - y) })));
  const largest = papers.filter(({ apart }) => apart > SAME).sort((one, other) => other.apart - one.apart || one.row.position - other.row.position);
  const shown = largest.slice(0, SCATTER.listed);
  const marked = h("div.scatter-list", { role: "status" });
  const show = (point) => marked.replaceChildren(paperTable(papers.filter(({ row }) => point.rows.includes(row)),
    `${counted(point.rows.length, "instance")} with A ${percent(point.x)} and B ${percent(point.y)}`));
  const figure = h("figure", {},
    h("div.frame.scatter-frame", { tabindex: 0, role: "group", "aria-label": "Chart: instance by instance" }, scatterChart(points, asked, show)),
    h("figcaption", {}, `Each mark is one of ${counted(papers.length, "instance")}, or several where it has a number, at the recall of A, ${asked.names[asked.a]}, ` +
      `and of B, ${asked.names[asked.b]}, on ${asked.taskName}. Below the line A is better, above it B.`));
  addSaving(figure);
  return [h("div.scatter-columns", {}, figure, h("div", {}, marked, shown.length
    ? paperTable(shown, `The largest differences, ${shown.length} of ${largest.length}`)
    : h("p.note", {}, "A and B have the same recall on every instance.")))];
}

function scatterChart(points, asked, show) {
  const { size, left, right, top, bottom, inset } = SCATTER;
  const across = (value) => left + inset + value * (size - left - inset - right);
  const up = (value) => size - bottom - inset - value * (size - top - inset - bottom);
  const line = (look, x1, x2, y1, y2) => svg("line", { class: `chart-${look}`, x1, x2, y1, y2 });
  const label = (text, x, y, anchor = "middle", transform = null) =>
    svg("text", { class: "chart-tick", x, y, "text-anchor": anchor, transform }, text);
  const nameOf = (system) => `recall of ${asked.shown[system]}, %`;
  const chart = svg("svg", { class: "chart scatter-chart", viewBox: `0 0 ${size} ${size}`, role: "group",
    "aria-label": `Recall of A, ${asked.names[asked.a]}, and of B, ${asked.names[asked.b]}, on ${asked.taskName}. ` +
      "Arrow keys move between marks, Enter opens one." },
    [0, 20, 40, 60, 80, 100].map((tick) => [
      line("grid", across(tick / 100), across(tick / 100), size - bottom, up(1)),
      line("grid", left, across(1), up(tick / 100), up(tick / 100)),
      label(tick, across(tick / 100), size - bottom + 18),
      label(tick, left - 8, up(tick / 100) + 4, "end"),
    ]),
    line("zero", across(0), across(1), up(0), up(1)),
    label(`● A: ${nameOf(asked.a)}`, across(0.5), size - 10),
    label(`■ B: ${nameOf(asked.b)}`, -up(0.5), 16, "middle", "rotate(-90)"));
  const marks = points.map((point) => scatterMark(point, across(point.x), up(point.y), show));
  // Small marks are drawn last, above large ones, so that they can be clicked.
  const drawn = marks.map((mark, at) => [points[at].rows.length, mark]);
  chart.append(...drawn.sort(([one], [other]) => other - one).map(([, mark]) => mark));
  moveByArrows(chart, marks);
  return chart;
}

function scatterMark(point, x, y, show) {
  const n = point.rows.length;
  const side = Math.abs(point.x - point.y) <= SAME ? "equal" : point.x > point.y ? "a" : "b";
  const radius = Math.min(SCATTER.largest, 5.5 + 2 * Math.sqrt(n - 1) + (n > 1 ? 2 : 0));
  const words = `A ${percent(point.x)}, B ${percent(point.y)}: ${n === 1 ? point.rows[0].id : counted(n, "instance")}`;
  const shape = [
    scatterShape(side, x, y, radius),
    n > 1 ? svg("text", { x, y: y + 4, "text-anchor": "middle", class: "scatter-number", "aria-hidden": "true" }, n) : null,
    svg("title", {}, words),
  ];
  const attributes = { class: `scatter-mark scatter-${side}`, "aria-label": words };
  if (n === 1) return svg("a", { ...attributes, href: linkTo(point.rows[0].id) }, shape);
  return svg("g", { ...attributes, role: "button", onclick: () => show(point), onkeydown: (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    show(point);
  } }, shape);
}

function scatterShape(side, x, y, radius) {
  if (side === "a") return svg("circle", { cx: x, cy: y, r: radius });
  const reach = side === "b" ? 0.9 * radius : radius;
  const transform = side === "equal" && `rotate(45 ${x} ${y})`;
  return svg("rect", { x: x - reach, y: y - reach, width: 2 * reach, height: 2 * reach, transform });
}

// Tab reaches one mark; arrow keys go to the others, by default in the order of A's lead over B.
function moveByArrows(root, marks, stepOf = () => ({ ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 })) {
  const reach = (one) => marks.forEach((mark) => mark.setAttribute("tabindex", mark === one ? "0" : "-1"));
  reach(marks[0]);
  root.addEventListener("keydown", (event) => {
    const at = marks.indexOf(document.activeElement);
    const next = at < 0 ? null : marks[at + stepOf(at)[event.key]];
    if (!next) return;
    event.preventDefault();
    reach(next);
    next.focus();
  });
}

function paperTable(papers, caption) {
  const head = ["hypothesis", "A", "B", "A − B, points"].map((name, place) => h("th", { scope: "col", class: place ? "number" : "" }, name));
  const body = papers.map(({ row, x, y }) => h("tr", {},
    h("th", { scope: "row" }, foreign("a", { href: linkTo(row.id), title: row.id }, firstWords(row.hypothesis || row.id, 300))),
    [percent(x), percent(y), signed(100 * (x - y))].map((text) => h("td.number", {}, text))));
  return h("div.frame", { tabindex: 0, role: "group", "aria-label": caption },
    h("table", {}, h("caption", {}, caption), h("thead", {}, h("tr", {}, head)), h("tbody", {}, body)));
}

// Opens a pair of the matrix: its interval and test, and the papers of the two. The address says which pair it is.
async function showPairs(source) {
  const root = document.getElementById("scatter");
  if (!root) return; // a shared paper, or papers without scores
  const { names, shown, tasks } = JSON.parse(document.getElementById("pairs-data").textContent);
  const overview = await source?.overview();
  const rows = overview ? (await source.rows({ n: overview.n_instances })).rows : [];
  const viewed = overview ? namesOf(overview) : [];
  const known = [...new Set([...names, ...viewed])];
  const short = new Map(names.map((name, at) => [name, shown[at]]));
  if (known.length < 2) return;
  const pickers = ["a", "b"].map((key) => picker(`System ${key.toUpperCase()}`, known.map((name) => [name, short.get(name) ?? name, name]),
    () => openPair({ a: pickers[0].select.value, b: pickers[1].select.value }), systemMark(key)));
  const opened = h("div");
  root.replaceChildren(h("div.pair-choices", {}, pickers.map(({ label }) => label)), opened);
  let drawn;
  window.addEventListener("hashchange", draw);
  draw();

  function draw() {
    const route = readRoute();
    if (route.place !== "results") return;
    const told = document.querySelector(".task-told");
    if (told) told.textContent = unknownIn(route, { a: known, b: known, task: Object.keys(tasks) });
    const task = taskShown ?? Object.keys(tasks)[0];
    const tested = { ...tasks[task], systems: tasks[task].systems.map((at) => names[at]) };
    const asked = ["a", "b"].map((key) => known.find((name) => name === route.query.get(key)));
    const [first, second] = tested.best.map((at) => names[at]);
    // As `chosen` does it for the papers.
    const pair = asked.map((name, at) => name ?? (at ? [second, first] : [first, second]).find((one) => one && !asked.includes(one)));
    const key = location.hash + task;
    if (key === drawn) return; // what is open stays
    drawn = key;
    pickers.forEach(({ select }, at) => { select.value = pair[at]; });
    const sameRow = new Map(tested.same);
    const rows = pair.map((name) => sameRow.get(name) ?? name);
    markPair(task, tested, ...rows);
    opened.replaceChildren(h("p.on-paper", {}, `A: ${pair[0]}. B: ${pair[1]}.`), pairNumbers(tested, ...rows), ...papersOfPair(task, ...pair));
  }

  function papersOfPair(task, a, b) {
    if (!overview) return [];
    const hidden = [a, b].find((name) => !viewed.includes(name));
    if (hidden) return [h("p.note", {}, `The papers do not show ${hidden}, which selects no sentence with certainty.`)];
    const asked = { task: overview.tasks.findIndex(({ name }) => name === task), taskName: task, a: viewed.indexOf(a), b: viewed.indexOf(b), names: viewed, shown: overview.systems.map((system) => system.shown) };
    const why = h("a", { href: linkToList("why", { task, a, b }) }, "Why: the aspects that only A or only B found");
    return [h("p", {}, why), h("div.scatter", {}, scatterParts(pointsOf(rows, asked), asked))];
  }
}

// Notes the pair in the address, so that it can be linked; the page stays where it is.
function openPair(pair) {
  sectionShown = "pairs";
  go(linkToResults("pairs", pair));
}

// A - B in words, whichever is higher; the data have the higher one first.
function pairNumbers({ systems, pairs, told }, a, b) {
  const [one, other] = [systems.indexOf(a), systems.indexOf(b)];
  const turn = one < other ? 1 : -1;
  const [first, second] = turn > 0 ? [one, other] : [other, one];
  const found = pairs.find((pair) => pair[0] === first && pair[1] === second);
  if (!found) return h("p.note", {}, "No test: one of the two is a ceiling, or both gave the same answers.");
  const [, , mean, low, high, p, isSignificant, better, equal, worse, detectable, overlap] = found;
  const ends = (turn > 0 ? [low, high] : [high, low]).map((end) => signed(turn * end)).join(", ");
  const [onA, onB] = turn > 0 ? [better, worse] : [worse, better];
  return h("div", {},
    h("p", { role: "status" }, h("strong", {}, isSignificant ? `${turn > 0 ? "A" : "B"} is significantly better: ` : "A and B do not differ significantly: "),
      `A − B is ${signed(turn * mean)} ${low === null ? "(one review or paper: no interval)" : `[${ends}]`} points, ${p}.`),
    h("p", {}, systemMark("a"), ` A is better on ${onA}, `, systemMark("b"), ` B on ${onB}; equal on ${equal} (◆).`),
    h("p.note", {}, overlap === null ? "" : `Of the sentences that either selected, ${overlap.toFixed(1)} % were selected by both. `,
      detectable === null ? "" : `With this many instances, a difference below ${detectable.toFixed(1)} points is easily missed. `, told));
}

// Marks the pair in the matrix of its task, whose cells become buttons when it is first shown: one stop for Tab.
function markPair(task, { systems, pairs }, a, b) {
  const table = document.querySelector(`#pairs [data-task="${task}"] table.pairs`);
  const cells = [...(table?.querySelectorAll("tbody td:not([colspan])") ?? [])];
  if (cells[0] && !table.querySelector("button")) {
    const buttons = cells.map((cell, at) => {
      const [first, second] = pairs[at].map((place) => systems[place]);
      const told = `${first} − ${second}: ${cell.textContent.replace("*", ", significant")}`;
      const button = h("button", { "aria-label": told, title: told, onclick: () => openPair({ a: first, b: second }) }, cell.textContent);
      cell.replaceChildren(button);
      return button;
    });
    moveByArrows(table, buttons, (at) => ({ ArrowRight: 1, ArrowLeft: -1, ArrowDown: systems.length - 2 - pairs[at][0], ArrowUp: pairs[at][0] + 1 - systems.length }));
  }
  cells.forEach((cell, at) => cell.firstChild.setAttribute("aria-pressed", a !== b && [a, b].every((name) => pairs[at].slice(0, 2).includes(systems.indexOf(name)))));
}

// Starts the report: shows the results for one task, or the papers, as the address says.

const reportParts = { results: document.getElementById("results"), papers: document.getElementById("viewer"), lists: h("main", { id: "lists", hidden: true }) };
const reportTitle = document.title;
const taskSwitch = document.getElementById("task-switch");
// Links of the file to other parts of it, with their addresses; each gets the query that results and papers share, but for what it says itself.
const ownLinks = [...document.querySelectorAll('.page-head a, #results a[href^="#"]')].map((link) => [link, ...splitOnce(link.getAttribute("href"), "?")]);
let viewerShown = false;
let sectionShown = null;
let taskShown = null;
let lists = null;
const reportScroll = { results: 0 }; // where the reader left results and lists
let papersLeft = "#/papers"; // where the reader left the papers

startReport();

// The contents mark the section that is read; where they do not stand beside the text, they are folded.
function startContents() {
  const folded = document.querySelector(".contents details");
  if (!folded) return;
  const links = [...folded.querySelectorAll("a")].map((link) => [link, document.getElementById(link.hash.slice(1))]);
  const isBroad = matchMedia("(min-width: 1200px)");
  const fold = () => { folded.open = isBroad.matches; };
  const mark = () => {
    const read = links.findLast(([, section]) => section.getBoundingClientRect().top < innerHeight / 3);
    for (const one of links) one[0].setAttribute("aria-current", one === read);
  };
  isBroad.addEventListener("change", fold);
  for (const [link] of links) link.addEventListener("click", fold);
  addEventListener("scroll", mark, { passive: true });
  fold();
  mark();
}

function startReport() {
  document.querySelector(".page-head").append(themeButton());
  const source = reportParts.papers ? embeddedSource() : null;
  startContents();
  document.querySelectorAll("#results figure").forEach(addSaving);
  if (source) reportParts.papers.after(reportParts.lists);
  taskSwitch?.querySelector("select").addEventListener("change", (event) => choose({ task: event.target.value }));
  // A link to the section that the address names changes no address.
  for (const [link] of ownLinks) link.addEventListener("click", () => link.hash === location.hash && showSection(readRoute().section));
  const only = reportParts.papers?.dataset.place;
  if (only && readRoute().place !== "papers") history.replaceState(null, "", only);
  window.addEventListener("hashchange", (event) => followReport(source, event.oldURL));
  showPairs(source);
  followReport(source);
}

function followReport(source, left = "") {
  const route = readRoute();
  const place = source ? route.place : "results";
  const part = LIST_PLACES.includes(place) ? "lists" : place;
  const before = Object.keys(reportParts).find((name) => reportParts[name] && !reportParts[name].hidden);
  const returns = before !== part && part === "results";
  if (before !== part) reportScroll[before === "lists" ? new URL(left || location.href).hash : before] = window.scrollY;
  for (const [name, element] of Object.entries(reportParts)) if (element) element.hidden = name !== part;
  for (const link of document.querySelectorAll(".page-head a[data-place]")) link.ariaCurrent = link.dataset.place === place ? "page" : null;
  if (before === "papers" && part !== before) papersLeft = new URL(left || location.href).hash || "#/papers";
  updateLinks(place);
  if (before === "lists" && part !== before) document.title = reportTitle;
  if (part === "lists") {
    lists ??= aspectLists(reportParts.lists, source);
    lists.follow();
    if (before !== part) window.scrollTo(0, reportScroll[location.hash] ?? 0);
    return;
  }
  if (part === "papers") {
    if (before === "results" && left && route.id === null) window.scrollTo(0, 0);
    if (!viewerShown) showViewer(reportParts.papers, source);
    viewerShown = true;
    return;
  }
  showTask(route.query.get("task"));
  if (returns) document.title = reportTitle;
  if (returns && (!route.section || route.section === sectionShown)) window.scrollTo(0, reportScroll.results);
  else if (returns || route.section !== sectionShown) showSection(route.section);
  sectionShown = route.section;
}

function updateLinks(place) {
  const query = shared(readRoute().query);
  for (const [link, path, own] of ownLinks) link.setAttribute("href", withQuery(path, query, Object.fromEntries(new URLSearchParams(own))));
  const papers = document.querySelector('.page-head a[data-place="papers"]');
  if (!papers) return;
  const held = Object.fromEntries(SHARED.map((name) => [name, query.get(name)]));
  const [path] = splitOnce(papersLeft, "?");
  papers.setAttribute("href", place === "papers" ? linkTo(null) : withQuery(path, readRoute(papersLeft).query, held));
}

// Shows of each section the block of the task; an unknown one is replaced by the first. What is read stays in its place.
function showTask(asked) {
  if (!taskSwitch) return;
  const select = taskSwitch.querySelector("select");
  const { value: name } = [...select.options].find(({ value }) => value === asked) ?? select.options[0];
  if (name === taskShown) return;
  taskShown = select.value = name;
  taskSwitch.querySelector(".task-name").textContent = name;
  taskSwitch.hidden = false;
  const top = taskSwitch.getBoundingClientRect().bottom;
  const read = [...reportParts.results.querySelectorAll("section")].find((one) => one.getBoundingClientRect().bottom > top);
  const before = read?.getBoundingClientRect().top;
  for (const block of reportParts.results.querySelectorAll("[data-task]")) block.hidden = block.dataset.task !== name;
  if (read) window.scrollBy(0, read.getBoundingClientRect().top - before);
}

function showSection(name) {
  const section = document.getElementById(name);
  section?.scrollIntoView();
  section?.focus({ preventScroll: true });
}
