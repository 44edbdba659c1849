// The rows of the list, under heads that sort them.

// What is sorted by, and in which order first.
const SORTS = { position: "asc", score: "desc", score_b: "desc", difference: "desc", aspects: "desc", length: "desc" };

function listRows(overview) {
  const names = namesOf(overview);
  const heads = Object.keys(SORTS).map((sort) => h("th", { scope: "col" }, h("button", { onclick: () => sortBy(sort) })));
  const body = h("tbody");
  const element = h("table.rows", { "aria-label": "Papers" }, h("thead", {}, h("tr", {}, heads)), body);
  return { element, updateHeads, show };

  function updateHeads({ a, b }, { sort, order }) {
    const system = (letter, place) => [systemMark(letter), foreign("span", {}, shortened(names[place] ?? "none", 24))];
    [["Paper"], system("a", a), system("b", b), ["A − B"], ["Aspects (Results)"], ["Sentences"]].forEach((words, n) => {
      heads[n].firstChild.replaceChildren(...words);
      heads[n].setAttribute("aria-sort", Object.keys(SORTS)[n] === sort ? `${order}ending` : "none");
    });
  }

  function show(rows, asked, route) {
    body.replaceChildren(...rows.map((row) => rowOf(row, asked, names, route)));
  }
}

// A head that is chosen once more sorts the other way.
function sortBy(sort) {
  const now = narrowing(readRoute());
  narrow({ sort, order: now.sort !== sort ? SORTS[sort] : now.order === "asc" ? "desc" : "asc" });
}

function rowOf(row, asked, names, route) {
  const link = foreign("a.row-link", { "data-hit": row.hits?.index }, firstWords(row.hypothesis, LONGEST_SHOWN) || "(empty hypothesis)");
  link.dataset.id = row.id;
  markHits(link, searchedIn(route, "hypothesis"));
  const unit = (word, n) => h("span.unit", {}, ` ${word}${n === 1 ? "" : "s"}`); // that a head says
  return h("tr.row", {},
    h("td.row-text", {}, link, hitsLine(row, searchedIn(route, "text")), foreign("p.row-id", {}, row.id.slice(0, 100))),
    h("td", {}, scoreLine("a", scoreOf(row, asked.a, asked.task), names[asked.a])),
    h("td", {}, scoreLine("b", scoreOf(row, asked.b, asked.task), names[asked.b])),
    h("td", {}, differenceLine(differenceOf(row, asked))),
    h("td", {}, row.n_aspects === null ? "no labels" : [row.n_aspects, unit("aspect", row.n_aspects), ` (${row.n_results}`, unit("Result"), ")"]),
    h("td", {}, row.n_sentences, unit("sentence", row.n_sentences)));
}

// Where the searched words are in the paper's text.
function hitsLine({ hits }, words) {
  if (!hits) return null;
  const snippet = foreign("span", {}, snippetOf(hits.text, words));
  markHits(snippet, words);
  return h("p.row-hits", {}, h("b", {}, `in ${counted(hits.n, "sentence")}: `), snippet);
}

function scoreLine(letter, score, name) {
  if (name === undefined) return null;
  const bar = h("span", { class: `score-bar score-bar-${letter}`, "aria-hidden": "true" }, h("span"));
  bar.firstChild.style.setProperty("width", `${100 * (score ?? 0)}%`);
  const spoken = h("span.visually-hidden", {}, `System ${letter.toUpperCase()}: `);
  return h("span.score-line", { title: name }, spoken, systemMark(letter), bar,
    h("span.score-text", {}, percent(score)));
}

function differenceLine(difference) {
  if (difference === null) return null;
  const points = signed(100 * difference);
  return h("span.difference-line", {}, points === "+0.0" ? "A = B" : [h("span.unit", {}, "A − B: "), points]);
}
