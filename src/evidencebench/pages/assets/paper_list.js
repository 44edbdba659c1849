// Marks the words of a search, and steps through the sentences of a paper that hold them.

import { showWithin } from "./aspect_matrix.js";
import { cleaned, counted, foreign, h, percent, setText, shortened, signed, svg } from "./dom.js";
import { firstWords } from "./graded.js";
import { blockPath, stepper } from "./paper_text.js";
import { nextTarget } from "./paper_view.js";
import { PAGE_SIZE, choose, chosen, differenceOf, go, linkTo, namesOf, picker, readRoute, scoreOf, searchedIn, systemMark, wordsOf } from "./route.js";

const WORD_LIKE = /([\p{L}\p{N}\p{M}]+)/u;
const PARTS_BEFORE = 10; // words and gaps that a snippet shows before its first searched word, so that a line has that word
const LONGEST_MARKED = 1000; // characters of a word; marks on many lines are slow to draw

const isHit = (text, words) => words.length > 0 && wordsOf(text).some((word) => words.some((asked) => word.startsWith(asked)));

// Sets the words of an element that are wanted in elements of a tag, and no others.
export function markWords(element, tag, isWanted) {
  const isMarked = (part) => part.length < LONGEST_MARKED && wordsOf(part).some(isWanted);
  const parts = element.textContent.split(WORD_LIKE); // every second part is a word
  element.replaceChildren(...parts.map((part, n) => (n % 2 && isMarked(part) ? h(tag, {}, part) : part)));
  element.normalize();
}

// Marks the words that begin with one of these.
const markHits = (element, words) => markWords(element, "mark", (word) => words.some((asked) => word.startsWith(asked)));

// The hits in the paper that is shown: marks in hypothesis, text and map, and a stepper over the text.
export function paperHits(root) {
  let held = {}; // {paper, key, indexes}
  const place = h("span.number", { role: "status" });
  const asked = foreign("span", {}, "");
  const buttons = stepper("hit", false, step, asked, " ", place);
  buttons.classList.add("hits");
  return { follow, step };

  function follow(route) {
    const paper = root.querySelector(".paper");
    const words = searchedIn(route, "text");
    const key = route.query.get("q") + route.query.get("in");
    if (!paper || (held.paper === paper && held.key === key)) return;
    const texts = [...paper.querySelectorAll(".sentence .text")];
    const indexes = [...texts.keys()].filter((index) => isHit(texts[index].textContent, words));
    held = { paper, key, indexes };
    markHits(paper.querySelector(".hypothesis"), searchedIn(route, "hypothesis"));
    texts.forEach((text, index) => (text.firstElementChild || indexes.includes(index)) && markHits(text, words));
    const ticks = indexes.map((index) => blockPath(index, 47, 4)).join("");
    for (const map of paper.querySelectorAll(".map g")) {
      map.querySelector(".map-hits")?.remove();
      map.append(svg("path", { class: "map-hits", d: ticks }));
    }
    asked.textContent = cleaned(`“${shortened(route.query.get("q") ?? "", 20)}”`);
    place.textContent = indexes.length;
    buttons.remove();
    if (words.length) paper.querySelector(".toolbar").prepend(buttons);
  }

  function step(by) {
    if (!held.indexes?.length) return;
    const current = held.paper.querySelector(".is-target")?.dataset.index;
    const next = nextTarget(held.indexes, current === undefined ? null : Number(current), by);
    held.paper.show(next);
    place.textContent = `${held.indexes.indexOf(next) + 1} of ${held.indexes.length}`;
  }
}

// The rows of the list: a line a paper, with a cell of recall for each system, under heads that sort them.

// What is sorted by, and in which order first.
const SORTS = { position: "asc", score: "desc", score_b: "desc", difference: "desc", aspects: "desc", length: "desc" };
const MOST_NUMBERED = 12; // systems whose cells show their recall as a number too; those of more have their tint only

function listRows(overview) {
  const names = namesOf(overview);
  const heads = h("tr");
  const body = h("tbody");
  const element = h(names.length > MOST_NUMBERED ? "table.rows.is-many" : "table.rows", { "aria-label": "Papers" }, h("thead", {}, heads), body);
  const show = (rows, asked, route) => body.replaceChildren(...rows.map((row) => rowOf(row, asked, names, route)));
  return { element, updateHeads, show };

  function updateHeads(asked, { sort, order }) {
    // A head that is chosen once more sorts the other way.
    const sortBy = (by) => narrow({ sort: by, order: by !== sort ? SORTS[by] : order === "asc" ? "desc" : "asc" });
    const isFocused = heads.contains(document.activeElement);
    const head = (kind, by, ...words) => h(kind, { scope: "col", "aria-sort": by && (by === sort ? `${order}ending` : "none") },
      by ? h("button", { onclick: () => sortBy(by) }, words) : words);
    const systems = orderOf(names, asked).map(([at, letter]) =>
      head("th.recall", { a: "score", b: "score_b" }[letter], letter && systemMark(letter), foreign("span", { title: names[at] }, shortened(overview.systems[at].shown, 14))));
    const numbers = Object.entries({ difference: "A − B", aspects: "Aspects (Results)", length: "Sentences" });
    heads.replaceChildren(head("th", "position", "Instance"), ...systems, ...numbers.map(([by, words]) => head("th.number", by, words)));
    element.style.setProperty("--cells", systems.map((one) => (one.ariaSort ? "var(--chosen)" : "var(--cell)")).join(" "));
    if (isFocused) heads.querySelector("[aria-sort$=ending] button").focus();
  }
}

// The places of the systems with their letters, A and B first.
function orderOf(names, { a, b }) {
  const places = [...new Set([a, b, ...names.keys()])].filter((at) => at !== null);
  return places.map((at) => [at, at === a ? "a" : at === b ? "b" : null]);
}

function rowOf(row, asked, names, route) {
  const title = `${firstWords(row.hypothesis, LONGEST_SHOWN)}\n${row.id.slice(0, 100)}`;
  const link = foreign("a.row-link", { title, "data-hit": row.hits?.index }, firstWords(row.hypothesis, LONGEST_SHOWN) || "(empty hypothesis)");
  link.dataset.id = row.id;
  markHits(link, searchedIn(route, "hypothesis"));
  const recall = ([at, letter]) => {
    const score = scoreOf(row, at, asked.task);
    const cell = h(letter ? `td.recall.of-${letter}` : "td.recall", { title: `${names[at]}: ${percent(score)}` },
      score === null ? "–" : [h("span", { "aria-hidden": "true" }, Math.round(100 * score)), h("span.visually-hidden", {}, percent(score))]);
    cell.style.setProperty("--recall", score ?? 0);
    return cell;
  };
  const difference = differenceOf(row, asked);
  const aspects = row.n_aspects === null ? "no labels" : `${row.n_aspects} (${row.n_results})`;
  return h("tr.row", {}, h("td.row-text", {}, link, hitsLine(row, searchedIn(route, "text"))), orderOf(names, asked).map(recall),
    [difference === null ? "" : leadOf(difference), aspects, row.n_sentences].map((words) => h("td.number", {}, words)));
}

function leadOf(difference, words = "") {
  const points = signed(100 * difference);
  return points === "+0.0" ? "A = B" : words + points;
}

// Where the searched words are in the paper's text: a sentence from shortly before the first of them on.
function hitsLine({ hits }, words) {
  if (!hits) return null;
  const parts = hits.text.split(WORD_LIKE);
  const first = parts.findIndex((part) => isHit(part, words)) - PARTS_BEFORE;
  const snippet = foreign("span", {}, first > 0 ? `…${parts.slice(first).join("")}` : hits.text);
  markHits(snippet, words);
  return h("p.row-hits", {}, h("b", {}, `in ${counted(hits.n, "sentence")}: `), snippet);
}

// What stands over the list: how many papers, their means, and their aspects by how many systems find them.
function listSummary(source) {
  const count = h("p.list-count", { role: "status" });
  const told = h("p.list-means");
  const bars = h("nav.found-bars", { "aria-label": "Aspects found by 0, 1, 2 … systems" });
  const links = h("span");
  const element = h("div.list-head", {}, h("div", {}, h("div.list-told", {}, count, links), told), bars);
  const say = (text) => setText(count, text);
  return { element, say, show };

  function show(asked, listing) {
    say(countText(asked, listing));
    const progress = progressOf(asked, listing);
    const { means: [a, b, ceiling], n_means: n, found } = listing;
    const of = (mean, ...name) => (mean === null ? [] : [h("span", {}, ...name, " ", h("b", {}, percent(mean)))]);
    const both = a === null || b === null ? [] : [h("span", {}, leadOf(a - b, "A − B: "))];
    const means = [`Mean aspect recall over ${counted(n, "instance")}: `, ...of(a, systemMark("a"), "A"), ...of(b, systemMark("b"), "B"), ...both, ...of(ceiling, "ceiling")];
    told.replaceChildren(...(n ? means : []), progress);
    links.replaceChildren(...(progress ? [] : source.linksOf?.(asked) ?? []));
    const focused = [...bars.children].indexOf(document.activeElement);
    bars.replaceChildren(...(found.some(Boolean) ? found.map((number, systems) => barOf(asked, found, number, systems)) : []));
    bars.children[focused]?.focus();
  }

  // For no system, one, two ... the number of aspects that so many find; it opens the papers with such aspects.
  function barOf(asked, found, n, systems) {
    const isChosen = asked.found === systems;
    const name = `${counted(n, "aspect")} that ${systems} of ${counted(found.length - 1, "system")} found`;
    const href = linkTo(readRoute().id, null, { found: isChosen ? null : systems, page: null });
    const bar = h("a", { href, title: name, "aria-label": name, "aria-current": isChosen && "true" }, n.toLocaleString("en"), h("b", {}, systems));
    bar.style.setProperty("--share", n / Math.max(...found));
    return bar;
  }
}

// The number of found papers in words, such as "37 of 96 papers; 3 without Results".
function countText({ q, found }, { n_found, n_instances: all, n_scored, n_without_results: without, rows }) {
  const parts = [n_found === all ? counted(all, "instance") : `${n_found.toLocaleString("en")} of ${counted(all, "instance")}`];
  if (without && n_scored === all) parts.push(`${without.toLocaleString("en")} without Results`);
  if (found !== null) parts.push(`only with an aspect that ${found ? counted(found, "system") : "no system"} found`);
  if (q && !wordsOf(q).length && rows[0]?.id !== q) parts.push("to search, type letters or digits");
  return parts.join("; ");
}

// How far the source is that still reads the papers; empty where the list and its means cannot change any more.
export function progressOf({ q }, { n_searched, n_scored, n_instances: all }) {
  const part = (word, n) => (n < all ? [`${word} ${n.toLocaleString("en")} of ${all.toLocaleString("en")} so far`] : []);
  return [...(q ? part("searched", n_searched) : []), ...part("scored", n_scored)].join("; ");
}

// The list of papers: search, filters, order, the rows, and pages of them.

const LONGEST_SHOWN = 400; // characters of a hypothesis in the list; the paper shows it whole
const TYPING_PAUSE_MS = 200;

const ONLY_ENTRIES = [
  ["", "all instances"], ["missed", "A could have covered more"], ["failed", "A covers nothing"], ["no_answer", "A gave no answer"],
  ["answer_failed", "A’s answer failed"], ["answer_empty", "A’s answer is empty"], ["answer_missing", "A’s answer is missing"],
  ["a_better", "A is better than B"], ["b_better", "B is better than A"],
  ["has_results", "with Results aspects"], ["no_results", "without Results aspects"],
];
const IN_ENTRIES = [["", "everything"], ["hypothesis", "hypothesis"], ["text", "text"]];
const MISSED_BY_ALL = "found=0";

// The query of a route for a source: positions of systems and task, filter, order, and words to search.
export function askedOf(overview, route) {
  const { task, a, b } = chosen(overview, route);
  return {
    ...narrowing(route),
    q: route.query.get("q") ?? "",
    task: overview.tasks.length ? task : null,
    a, b,
    offset: PAGE_SIZE * (pageOf(route) - 1),
    n: PAGE_SIZE,
  };
}

export const KNOWN = {
  in: IN_ENTRIES.map(([value]) => value),
  only: ONLY_ENTRIES.map(([value]) => value),
  sort: Object.keys(SORTS),
  order: ["asc", "desc"],
};

// Filter, order and place of the search of a route; unknown ones are ignored.
function narrowing({ query }) {
  const known = (name) => (KNOWN[name].includes(query.get(name)) ? query.get(name) : "");
  const sort = known("sort") || "position";
  const found = /^\d{1,4}$/.test(query.get("found") ?? "") ? Number(query.get("found")) : null;
  return { only: known("only"), in: known("in"), sort, order: known("order") || SORTS[sort], found };
}

function pageOf(route) {
  const page = Number(route.query.get("page") ?? 1);
  return Number.isInteger(page) && page >= 1 && page < 1e7 ? page : 1;
}

export function listPane(overview, source) {
  const form = listForm();
  let held = null; // key of the rows that are shown, to see whether they changed
  const links = () => [...rows.element.querySelectorAll("a.row-link")];
  const focusOn = (id) => links().find((link) => link.dataset.id === id)?.focus();
  const summary = listSummary(source);
  const rows = listRows(overview);
  const advice = h("p.no-rows");
  const pages = h("nav.list-pages", { "aria-label": "Pages of the list" });
  const element = h("section.list-pane", { "aria-label": "Papers" }, h("h1.visually-hidden", {}, "Papers"), form.element, summary.element, rows.element, advice, pages);
  return { element, focusSearch: form.focusSearch, update, say: summary.say, show, showError, mark, move, focusOn };

  function update(route) {
    form.update(route);
    rows.updateHeads(chosen(overview, route), narrowing(route));
  }

  // Rows are made again only where they changed; the row that had the focus gets it again.
  function show(route, asked, listing) {
    summary.show(asked, listing);
    const key = JSON.stringify([route.query.toString(), listing.rows, listing.n_found]);
    if (key === held) return;
    held = key;
    const focused = element.contains(document.activeElement) ? document.activeElement.dataset.id : undefined;
    rows.show(listing.rows, asked, route);
    advice.replaceChildren(...adviceFor(asked, listing));
    pages.replaceChildren(...pageLinks(pageOf(route), listing.n_found));
    mark(route.id);
    if (focused !== undefined) focusOn(focused);
  }

  function showError(error) {
    held = null;
    summary.say(error.message);
    rows.show([]);
    pages.replaceChildren();
  }

  function mark(id) {
    for (const link of links()) {
      link.href = linkTo(link.dataset.id, link.dataset.hit); // with what a paper has noted in the address
      link.ariaCurrent = link.dataset.id === id ? "page" : null;
      if (link.ariaCurrent) showWithin(element, link.closest(".row"));
    }
  }

  // Moves the focus to the next row or the one before.
  function move(step) {
    const all = links();
    const current = all.indexOf(document.activeElement);
    const next = current < 0 ? (step > 0 ? 0 : all.length - 1) : current + step;
    all[Math.min(Math.max(next, 0), all.length - 1)]?.focus();
  }
}

function listForm() {
  let timer = null;
  const search = h("input", {
    type: "search", placeholder: "words in the hypothesis, text or id", autocomplete: "off", spellcheck: "false",
    maxlength: 1000, oninput: () => { clearTimeout(timer); timer = setTimeout(find, TYPING_PAUSE_MS); },
  });
  const place = picker("In", IN_ENTRIES, (value) => narrow({ in: value || null }));
  const only = picker("Show", [...ONLY_ENTRIES, [MISSED_BY_ALL, "an aspect that no system found"]], (value) =>
    narrow(value === MISSED_BY_ALL ? { only: null, found: 0 } : { only: value || null, found: null }));
  const element = h("form.list-form", { role: "search", onsubmit: (event) => { event.preventDefault(); find(); } },
    h("label.picker.search", {}, h("span.picker-name", {}, "Search"), search), place.label, only.label);
  return { element, update, focusSearch: () => { search.focus(); search.select(); } };

  function find() {
    clearTimeout(timer);
    const { id, sentence } = readRoute();
    go(linkTo(id, sentence, { q: search.value.trim() || null, page: null }), { replaces: true });
  }

  function update(route) {
    const text = route.query.get("q") ?? "";
    if (search.value.trim() !== text) search.value = text;
    const asked = narrowing(route);
    place.select.value = asked.in;
    only.select.value = asked.only || (asked.found === null ? "" : `found=${asked.found}`);
  }
}

const narrow = (changes) => choose({ ...changes, page: null });

// What to do where there is no row.
function adviceFor(asked, listing) {
  const way = (words, changes) => h("a", { href: linkTo(null, null, { page: null, ...changes }) }, words);
  if (listing.rows.length) return [];
  if (listing.n_found) return ["This page is after the end of the list. ", way("Go to the first page")];
  if (progressOf(asked, listing)) return ["Nothing found yet."];
  return ["No instance matches. ", asked.q ? "Each search word must be the beginning of a word in the paper. " : "", way("Show all instances", { q: null, in: null, only: null, found: null })];
}

function pageLinks(page, nFound) {
  const last = Math.max(1, Math.ceil(nFound / PAGE_SIZE));
  if (last === 1) return [];
  const { id } = readRoute();
  const link = (to, text) => to < 1 || to > last || to === page
    ? h("span.page-link.off", {}, text)
    : h("a.page-link", { href: linkTo(id, null, { page: to === 1 ? null : to }), onclick: () => document.querySelector(".list-form").scrollIntoView() }, text);
  return [link(1, "First"), link(page - 1, "Previous"),
    h("span.page-number", {}, `page ${page.toLocaleString("en")} of ${last.toLocaleString("en")}`),
    link(page + 1, "Next"), link(last, "Last")];
}
