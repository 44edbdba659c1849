// The list of papers: search, filters, order, the rows, and pages of them.

const LONGEST_SHOWN = 400; // characters of a hypothesis in the list; the paper shows it whole
const TYPING_PAUSE_MS = 200;

const ONLY_ENTRIES = [
  ["", "all papers"],
  ["missed", "A could have covered more"],
  ["failed", "A covers nothing"],
  ["a_better", "A is better than B"],
  ["b_better", "B is better than A"],
  ["has_results", "with Results aspects"],
  ["no_results", "without Results aspects"],
];

const SORT_ENTRIES = [
  ["position asc", "as in the data"],
  ["position desc", "as in the data, backwards"],
  ["score asc", "score of A, lowest first"],
  ["score desc", "score of A, highest first"],
  ["difference desc", "A − B, A ahead first"],
  ["difference asc", "A − B, B ahead first"],
  ["aspects desc", "aspects, most first"],
  ["aspects asc", "aspects, fewest first"],
  ["length desc", "length, longest first"],
  ["length asc", "length, shortest first"],
];

// The query of a route for a source: positions of systems and task, filter, order, and words to search.
function askedOf(overview, route) {
  const { task, a, b } = chosen(overview, route);
  const { sort, order, only } = narrowing(route);
  return {
    q: route.query.get("q") || null,
    only: only || null,
    sort,
    order,
    task: overview.tasks.length ? task : null,
    a,
    b,
    offset: PAGE_SIZE * (pageOf(route) - 1),
    n: PAGE_SIZE,
  };
}

// Filter and order of a route; unknown ones are ignored.
function narrowing(route) {
  const only = ONLY_ENTRIES.some(([value]) => value === route.query.get("only")) ? route.query.get("only") : "";
  const ways = SORT_ENTRIES.map(([value]) => value.split(" "));
  const fitting = ways.filter(([sort]) => sort === route.query.get("sort"));
  const [sort, order] = fitting.find(([, way]) => way === route.query.get("order")) ?? fitting[0] ?? ways[0];
  return { only, sort, order };
}

// Messages about filters and orders of a link that do not exist.
function unknownInList({ query }) {
  const known = { only: ONLY_ENTRIES.map(([value]) => value), sort: SORT_ENTRIES.map(([value]) => value.split(" ")[0]), order: ["asc", "desc"] };
  const words = { only: "“Show”", sort: "“Order”", order: "“Order”" };
  return Object.keys(known)
    .filter((name) => query.get(name) && !known[name].includes(query.get(name)))
    .map((name) => `There is no “${shortened(cleaned(query.get(name)))}” under ${words[name]}.`);
}

function pageOf(route) {
  const page = Number(route.query.get("page") ?? 1);
  return Number.isInteger(page) && page >= 1 && page < 1e7 ? page : 1;
}

function listPane() {
  const form = listForm();
  let held = null; // key of the rows that are shown, to see whether they changed
  const count = h("p", { class: "list-count", role: "status" });
  const legend = h("p", { class: "list-legend" });
  const rows = h("ol", { class: "rows" });
  const pages = h("nav", { class: "list-pages", "aria-label": "Pages of the list" });
  const element = h("section", { class: "list-pane", "aria-label": "Papers" }, h("h1", {}, "Papers"), form.element, h("div", { class: "list-head" }, count, legend), rows, pages);
  return { element, focusSearch: form.focusSearch, update: form.update, say, show, showError, mark, move, focusOn };

  // Rows are made again only where they changed; the row that had the focus gets it again.
  function show(overview, route, asked, listing) {
    say(countText(asked, listing));
    const key = JSON.stringify([route.query.toString(), listing.rows, listing.n_found]);
    if (key === held) return;
    held = key;
    const focused = rows.contains(document.activeElement) ? document.activeElement.dataset.id : null;
    const names = systemNames(overview);
    legend.replaceChildren(...legendOf(overview, asked, names));
    rows.replaceChildren(...listing.rows.map((row) => rowItem(row, asked, names)));
    rows.start = asked.offset + 1;
    pages.replaceChildren(...pageLinks(pageOf(route), listing.n_found));
    if (!listing.rows.length) rows.replaceChildren(h("li", { class: "no-rows" }, adviceFor(route, asked, listing)));
    mark(route.id);
    if (focused !== null) focusOn(focused);
  }

  function showError(error) {
    held = null;
    say(error.message);
    rows.replaceChildren();
    pages.replaceChildren();
    legend.replaceChildren();
  }

  // Sets the text only where it changed, since a screen reader reads it aloud each time it is set.
  function say(text) {
    if (count.textContent !== text) count.textContent = text;
  }

  function mark(id) {
    for (const link of links()) {
      link.href = linkTo(link.dataset.id); // with what a paper has noted in the address
      if (link.dataset.id !== id) link.removeAttribute("aria-current");
      else {
        link.setAttribute("aria-current", "page");
        showWithin(element, link.closest("li"));
      }
    }
  }

  function links() {
    return [...rows.querySelectorAll("a.row-link")];
  }

  function focusOn(id) {
    links().find((link) => link.dataset.id === id)?.focus();
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
    type: "search", placeholder: "words of hypothesis, text or id", autocomplete: "off", spellcheck: "false",
    maxlength: 1000, oninput: () => { clearTimeout(timer); timer = setTimeout(find, TYPING_PAUSE_MS); },
  });
  const only = picker("Show", ONLY_ENTRIES, (value) => narrow({ only: value || null }));
  const order = picker("Order", SORT_ENTRIES, (value) => {
    const [sort, way] = value.split(" ");
    narrow(value === "position asc" ? { sort: null, order: null } : { sort, order: way });
  });
  const element = h("form", { class: "list-form", role: "search", onsubmit: (event) => { event.preventDefault(); find(); } },
    h("label", { class: "picker search" }, h("span", { class: "picker-name" }, "Search"), search), only.label, order.label);
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
    only.select.value = asked.only;
    order.select.value = `${asked.sort} ${asked.order}`;
  }
}

function narrow(changes) {
  choose({ ...changes, page: null });
}

function rowItem(row, asked, names) {
  const text = row.hypothesis.length > LONGEST_SHOWN ? `${row.hypothesis.slice(0, LONGEST_SHOWN)}…` : row.hypothesis;
  const link = foreign("a", { class: "row-link", href: linkTo(row.id) }, text || "(empty hypothesis)");
  link.dataset.id = row.id;
  const facts = [
    counted(row.n_sentences, "sentence"),
    `${counted(row.n_aspects, "aspect")} (${row.n_results || "no"} Results)`,
  ].join(" · ");
  return h("li", { class: "row" },
    h("div", { class: "row-text" }, link,
      h("p", { class: "row-facts" }, foreign("span", { class: "row-id" }, row.id.slice(0, 100)), ` · ${facts}`)),
    h("div", { class: "row-scores" }, scoreLine("a", scoreOf(row, asked.a, asked.task), names[asked.a]),
      scoreLine("b", scoreOf(row, asked.b, asked.task), names[asked.b]), differenceLine(differenceOf(row, asked))));
}

// The line that explains the numbers in the rows: the measure, the task and the systems.
function legendOf(overview, { a, b, task }, names) {
  const shown = [["a", a], ["b", b]].filter(([, system]) => system !== null);
  if (task === null || !shown.length) return [];
  const systems = shown.map(([letter, system]) => [" ", h("span", { class: "legend-system" }, systemMark(letter), foreign("span", {}, names[system]))]);
  return [h("span", {}, "aspect recall, ", foreign("span", {}, overview.tasks[task].name), ": "), ...systems.flat()];
}

function scoreLine(letter, score, name) {
  if (name === undefined) return null;
  const bar = h("span", { class: `score-bar score-bar-${letter}`, "aria-hidden": "true" }, h("span"));
  bar.firstChild.style.setProperty("width", `${100 * (score ?? 0)}%`);
  const spoken = h("span", { class: "visually-hidden" }, `System ${letter.toUpperCase()}: `);
  return h("span", { class: "score-line", title: name }, spoken, systemMark(letter), bar,
    h("span", { class: "score-text" }, percent(score)));
}

function differenceLine(difference) {
  if (difference === null) return null;
  const points = (100 * difference).toFixed(1);
  const signed = points.replace("-", "−").replace(/^(?=\d)/, "+");
  return h("span", { class: "difference-line" }, Number(points) === 0 ? "A = B" : `A − B: ${signed}`);
}

// The number of found papers in words, such as "37 of 96 papers; 3 without Results".
function countText(asked, listing) {
  const { n_found: found, n_instances: all, n_searched: searched, n_scored: scored } = listing;
  const number = (n) => n.toLocaleString("en");
  const parts = [found === all ? counted(all, "paper") : `${number(found)} of ${counted(all, "paper")}`];
  if (listing.n_without_results && scored === all) parts.push(`${number(listing.n_without_results)} without Results`);
  if (asked.q && searched < all) parts.push(`searched ${number(searched)} of ${number(all)} so far`);
  if (needsScores(asked) && scored < all) parts.push(`scored ${number(scored)} of ${number(all)} so far`);
  if (asked.q && !wordsOf(asked.q).length && !listing.rows.some((row) => row.id === asked.q)) parts.push("to search, type letters or digits");
  return parts.join("; ");
}

// Whether the list may still change, since the server has not read all data.
function isUnfinished(asked, { n_searched: searched, n_scored: scored, n_instances: all }) {
  return (asked.q && searched < all) || (needsScores(asked) && scored < all);
}

function needsScores({ sort, only }) {
  return sort !== "position" || only !== null;
}

function adviceFor(route, asked, listing) {
  if (listing.n_found) return ["This page lies behind the end of the list. ", h("a", { href: linkTo(null, null, { page: null }) }, "Go to its first page")];
  if (!listing.n_instances) return "The data set holds no paper.";
  if (isUnfinished(asked, listing)) return "Nothing found yet.";
  const hints = [];
  if (route.query.get("q")) hints.push("fewer or shorter words (each must begin a word of the paper, its hypothesis or its id)");
  if (route.query.get("only")) hints.push("another choice under “Show”");
  return [`No paper fits. Try ${hints.join(", or ") || "another search"}, or `,
    h("a", { href: linkTo(null, null, { q: null, only: null, page: null }) }, "show all papers"), "."];
}

function pageLinks(page, nFound) {
  const last = Math.max(1, Math.ceil(nFound / PAGE_SIZE));
  if (last === 1) return [];
  const { id } = readRoute();
  const link = (to, text) => to < 1 || to > last || to === page
    ? h("span", { class: "page-link off" }, text)
    : h("a", { class: "page-link", href: linkTo(id, null, { page: to === 1 ? null : to }) }, text);
  return [link(1, "First"), link(page - 1, "Previous"),
    h("span", { class: "page-number" }, `page ${page.toLocaleString("en")} of ${last.toLocaleString("en")}`),
    link(page + 1, "Next"), link(last, "Last")];
}
