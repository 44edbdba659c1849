// Shows list and paper side by side (on a small screen one of them), as the address says.

import { cleaned, h, iconed, listenToKeys, recall, remember, saveFile, setText, wide } from "./dom.js";
import { KNOWN, askedOf, listPane, paperHits, progressOf } from "./paper_list.js";
import { stepCommands } from "./paper_text.js";
import { paperPane } from "./paper_view.js";
import { PAGE_SIZE, choiceBar, chosen, cycle, go, linkTo, namesOf, readRoute, shared, swapSystems, unknownIn, withQuery } from "./route.js";

const ASK_AGAIN_MS = 1000;
const LIST_FOLD = "evidencebench-list-folded";

export async function showViewer(root, source) {
  root.classList.add("viewer");
  const status = h("p.viewer-status", { role: "status" }, "Loading…");
  root.replaceChildren(status);
  const overview = await source.overview().catch((error) => { status.textContent = error.message; });
  if (!overview) return;
  status.remove();
  const viewer = makeViewer(root, source, overview);
  window.addEventListener("hashchange", viewer.follow);
  await viewer.follow();
}

function makeViewer(root, source, overview) {
  const list = listPane(overview, source);
  const paper = paperPane(overview, { step, foldList: () => foldList() });
  paper.element.querySelector(".fold").after(shareButton(source, overview, paper.say));
  const hits = paperHits(root);
  const listing = listingOf(source, overview, list);
  const keys = listenToKeys(root, [
    { keys: ["n", "j"], name: "next paper of the list", run: () => step(1) },
    { keys: ["p", "k"], name: "previous paper of the list", run: () => step(-1) },
    ...stepCommands((kind, by) => paper.view()?.jump(kind, by)),
    { keys: ["h"], name: "next sentence with a search word", run: () => hits.step(1) },
    { keys: ["H"], name: "previous sentence with a search word", run: () => hits.step(-1) },
    { keys: ["o"], name: "only marked sentences, or all", run: () => paper.view()?.toggleLess() },
    { keys: ["1"], name: "hide or show the marks of A", run: () => paper.view()?.toggle("a") },
    { keys: ["2"], name: "hide or show the marks of B", run: () => paper.view()?.toggle("b") },
    { keys: ["a"], name: "next system as A", run: () => cycle(overview, "a") },
    { keys: ["b"], name: "next system as B", run: () => cycle(overview, "b") },
    { keys: ["s"], name: "swap A and B", run: () => swapSystems(overview) },
    { keys: ["t"], name: "next task", run: () => cycle(overview, "task") },
    { keys: ["l"], name: "hide or show the list beside the paper", run: () => foldList() },
    { keys: ["/"], name: "search", run: toSearch },
    { keys: ["Escape"], name: "back to the list", run: () => readRoute().id !== null && go(linkTo(null)) },
  ]);
  const bar = choiceBar(overview);
  const unknown = h("p.viewer-status.unknown", { role: "status" });
  const skip = h("a.skip-link", { href: "#/papers", onclick: (event) => { event.preventDefault(); paper.focus(); } }, "Skip the list");
  const head = document.querySelector(".page-head"); // one line, so that the paper has the room
  head.prepend(skip);
  head.lastChild.before(bar.element, h("button.help", { onclick: keys.open, title: "Keyboard" }, iconed("⌨", "Keyboard")));
  root.prepend(unknown, h("div.panes", {}, list.element, paper.element));
  foldList(recall(LIST_FOLD) === "yes");
  let returning = { scroll: 0 };
  return { follow };

  async function follow() {
    const route = readRoute();
    if (route.place !== "papers") return;
    if (route.id === null && root.dataset.place) return go(root.dataset.place, { replaces: true }); // the only paper
    const state = chosen(overview, route);
    bar.update(state);
    list.update(route);
    const names = namesOf(overview);
    setText(unknown, unknownIn(route, { a: names, b: names, task: overview.tasks.map(({ name }) => name), ...KNOWN }));
    skip.hidden = route.id === null;
    turnTo(route);
    await Promise.all([listing.follow(route), paper.follow(source, route)]);
    hits.follow(readRoute());
    paper.showPlace(listing.placeOf(route.id));
    if (route.id !== null && listing.placeOf(route.id) === null) turnPage(route, paper.record()?.paper.position);
  }

  // A link to a paper may name no page of the list; in the order of the data, the paper's position gives the page.
  function turnPage(route, position) {
    const isNarrowed = ["page", "q", "only", "found", "sort"].some((name) => route.query.has(name));
    if (isNarrowed || !(position >= PAGE_SIZE) || readRoute().id !== route.id) return;
    go(linkTo(route.id, route.sentence, { page: Math.floor(position / PAGE_SIZE) + 1 }), { replaces: true });
  }

  // Goes between list and paper; the list keeps its scroll position.
  function turnTo(route) {
    const before = root.dataset.shows;
    root.dataset.shows = route.id === null ? "list" : "paper";
    if (before === "list" && route.id !== null) returning = { scroll: window.scrollY };
    if (route.id !== null) returning.id = route.id;
    list.mark(route.id);
    if (before !== "paper" || route.id !== null) return;
    document.title = overview.title;
    window.scrollTo(0, returning.scroll);
    list.focusOn(returning.id);
  }

  async function step(by) {
    const route = readRoute();
    if (route.id === null) return list.move(by);
    const next = await listing.neighbour(route.id, by);
    if (next === null) paper.say(`This is the ${by > 0 ? "last" : "first"} paper of the list.`);
    else go(linkTo(next.id, next.sentence, { page: next.page }));
  }

  function foldList(isFolded = root.dataset.list !== "folded") {
    paper.keepPlace(() => { root.dataset.list = isFolded ? "folded" : "open"; });
    if (!root.dataset.place) remember(LIST_FOLD, isFolded ? "yes" : "no");
    paper.showFold(isFolded);
  }

  // On a small screen a paper hides the list, so the list is shown before its search gets the focus.
  function toSearch() {
    if (!list.element.checkVisibility()) go(linkTo(null));
    setTimeout(list.focusSearch);
  }
}

// The page of rows that the list shows, and the papers before and after a paper in it.
function listingOf(source, overview, list) {
  let held = null; // {key, asked, found}
  return { follow, placeOf, neighbour };

  async function follow(route) {
    const asked = askedOf(overview, route);
    const key = JSON.stringify(asked);
    if (held?.key === key) return;
    if (!held) list.say("Loading…");
    held = { key, asked, found: null };
    await load(route, key, asked);
  }

  // A server may still be scanning the data after its first response: it is asked again until it is done.
  async function load(route, key, asked) {
    try {
      const found = await source.rows(asked);
      if (held?.key !== key) return;
      held.found = found;
      list.show(readRoute(), asked, found);
      if (progressOf(asked, found)) setTimeout(() => held?.key === key && load(route, key, asked), ASK_AGAIN_MS);
    } catch (error) {
      if (held?.key !== key) return;
      held = null; // so that the next call asks again
      list.showError(error);
    }
  }

  function placeOf(id) {
    const at = held?.found?.rows.findIndex((row) => row.id === id) ?? -1;
    return at < 0 ? null : { number: held.asked.offset + at + 1, of: held.found.n_found };
  }

  // The paper before or after a paper, also on another page of the list; for a paper not in the list, the page's first.
  async function neighbour(id, by) {
    if (!held?.found) return null;
    const { asked, found } = held;
    const at = found.rows.findIndex((row) => row.id === id);
    const wanted = at < 0 ? asked.offset : asked.offset + at + by;
    if (wanted < 0 || wanted >= found.n_found) return null;
    const offset = PAGE_SIZE * Math.floor(wanted / PAGE_SIZE);
    const rows = offset === asked.offset ? found.rows : (await source.rows({ ...asked, offset })).rows;
    const row = rows[wanted - offset];
    return row ? { id: row.id, sentence: row.hits?.index, page: offset ? offset / PAGE_SIZE + 1 : null } : null;
  }
}

// Saves one paper as one small file: the same page with this paper only, which needs neither network nor other files.
function shareButton(source, overview, say) {
  return h("button.share", { onclick: () => share().catch((error) => say(error.message)) }, "Share", wide("\u00a0this paper"));

  async function share() {
    const { id, query } = readRoute();
    const [parts, record, { rows }] = await Promise.all([source.pageParts(), source.instance(id), source.rows({ q: id, n: 1 })]);
    const place = withQuery(`#/papers/${encodeURIComponent(id)}`, shared(query), {});
    const name = `paper_${id.replace(/[^\w.-]+/g, "_").slice(0, 80)}.html`;
    saveFile(name, "text/html", sharedPage(parts, place, { overview: { ...overview, n_instances: 1, has_exchanges: false }, rows, paper: record }));
    say(`Saved as ${name}: one file with this paper and what every system selected.`);
  }
}

/* The text of the file: policy, style and script of a report, and the data as JSON. `place` is the address inside it.
   JSON in a page holds no "<", so that no text can end its element. */
function sharedPage({ policy, style, script }, place, data) {
  const quoted = (text) => cleaned(text).replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
  const elements = Object.entries(data).map(([id, value]) =>
    `<script type="application/json" id="${id}">${JSON.stringify(value).replaceAll("<", "\\u003c")}<\/script>\n`);
  const title = quoted(`${data.paper.paper.id} · ${data.overview.title}`);
  return [
    '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
    `<meta http-equiv="Content-Security-Policy" content="${quoted(policy)}">\n`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
    `<title>${title}</title>\n<style>${style}</style>\n</head>\n<body>\n`,
    `<header class="page-head"><p class="page-title">${title}</p></header>\n`,
    `<main id="results" hidden></main>\n<main id="viewer" data-place="${quoted(place)}" hidden></main>\n`,
    ...elements,
    `<script>${script}<\/script>\n</body>\n</html>\n`,
  ];
}
