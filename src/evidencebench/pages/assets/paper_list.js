// The list of papers: search, filters, order, the rows, and pages of them.

const LONGEST_SHOWN = 400; // characters of a hypothesis in the list; the paper shows it whole
const TYPING_PAUSE_MS = 200;

const ONLY_ENTRIES = [
  ["", "all papers"],
  ["missed", "A could have covered more"],
  ["failed", "A covers nothing"],
  ["no_answer", "A gave no answer"],
  ["a_better", "A is better than B"],
  ["b_better", "B is better than A"],
  ["has_results", "with Results aspects"],
  ["no_results", "without Results aspects"],
];
const IN_ENTRIES = [["", "everything"], ["hypothesis", "hypothesis"], ["text", "text"]];
const MISSED_BY_ALL = "found=0";

// The query of a route for a source: positions of systems and task, filter, order, and words to search.
function askedOf(overview, route) {
  const { task, a, b } = chosen(overview, route);
  return {
    ...narrowing(route),
    q: route.query.get("q") ?? "",
    task: overview.tasks.length ? task : null,
    a,
    b,
    offset: PAGE_SIZE * (pageOf(route) - 1),
    n: PAGE_SIZE,
  };
}

const KNOWN = {
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

function listPane(overview, source) {
  const form = listForm();
  let held = null; // key of the rows that are shown, to see whether they changed
  const summary = listSummary(source);
  const rows = listRows(overview);
  const advice = h("p.no-rows");
  const pages = h("nav.list-pages", { "aria-label": "Pages of the list" });
  const element = h("section.list-pane", { "aria-label": "Papers" }, h("h1", {}, "Papers"), form.element, summary.element, rows.element, advice, pages);
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
      if (link.dataset.id !== id) link.removeAttribute("aria-current");
      else {
        link.setAttribute("aria-current", "page");
        showWithin(element, link.closest(".row"));
      }
    }
  }

  function links() {
    return [...rows.element.querySelectorAll("a.row-link")];
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
  const place = picker("In", IN_ENTRIES, (value) => narrow({ in: value || null }));
  const only = picker("Show", [...ONLY_ENTRIES, [MISSED_BY_ALL, "no system finds some aspect"]], (value) =>
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

function narrow(changes) {
  choose({ ...changes, page: null });
}

// What to do where there is no row.
function adviceFor(asked, listing) {
  const way = (words, changes) => h("a", { href: linkTo(null, null, { page: null, ...changes }) }, words);
  if (listing.rows.length) return [];
  if (listing.n_found) return ["This page lies behind the end of the list. ", way("Go to its first page")];
  if (progressOf(asked, listing)) return ["Nothing found yet."];
  return ["No paper fits. ", asked.q ? "Each word must begin a word of the paper. " : "", way("Show all papers", { q: null, in: null, only: null, found: null })];
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
