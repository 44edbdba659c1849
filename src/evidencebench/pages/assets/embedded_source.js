// The records of a page in one file, which holds them; its methods are those of `serverSource`.

import { h, unpacked } from "./dom.js";
import { PAGE_SIZE, SAME, differenceOf, folded, linkToList, scoreOf, wordsOf } from "./route.js";

// The words of a text, each after a space: " kin" finds the words that begin with "kin".
const searchable = (text) => ` ${wordsOf(text).join(" ")}`;

const LONGEST_HIT = 2000;

// The sentences with a searched word: how many, and the first with most of them; null: none. As in search_index.py.
function hitsOf(texts, sentences, words) {
  const held = texts.map((text) => words.filter((word) => text.includes(word)).length);
  const most = Math.max(...held);
  if (!(most > 0)) return null;
  const index = held.indexOf(most);
  return { n: held.filter(Boolean).length, index, text: sentences[index].slice(0, LONGEST_HIT) };
}

const oracleOf = (overview) => overview.systems.findIndex((system) => system.is_control && system.signature === "oracle");

const FILTERS = {
  has_results: (row) => row.n_results > 0,
  no_results: (row) => row.n_results === 0,
  missed: (row, { task, a }, overview) => {
    const [score, ceiling] = [a, oracleOf(overview)].map((system) => scoreOf(row, system, task));
    return score !== null && score < (oracleOf(overview) < 0 ? 1 : ceiling) - SAME;
  },
  failed: (row, { task, a }) => scoreOf(row, a, task) === 0,
  no_answer: (row, { task, a }) => row.unanswered[task]?.[a],
  ...Object.fromEntries(["failed", "empty", "missing"].map((status) => [`answer_${status}`, (row, { task, a }) => row.unanswered[task]?.[a] === status])),
  a_better: (row, asked) => (differenceOf(row, asked) ?? 0) > SAME,
  b_better: (row, asked) => (differenceOf(row, asked) ?? 0) < -SAME,
};

const SORT_VALUES = {
  position: (row) => row.position,
  score: (row, { task, a }) => scoreOf(row, a, task),
  score_b: (row, { task, b }) => scoreOf(row, b, task),
  difference: differenceOf,
  aspects: (row) => row.n_aspects,
  length: (row) => row.n_sentences,
};

// Rows without a value come last in both orders; rows with the same value are in the order of the data.
function sorted(rows, asked) {
  const value = SORT_VALUES[asked.sort] ?? SORT_VALUES.position;
  const sign = asked.order === "desc" ? -1 : 1;
  const keyed = rows.map((row) => [value(row, asked), row]);
  keyed.sort(([one, first], [other, second]) => {
    if ((one === null) !== (other === null)) return one === null ? 1 : -1;
    return sign * ((one ?? 0) - (other ?? 0)) || first.position - second.position;
  });
  return keyed.map(([, row]) => row);
}

// The means of A, B and the ceiling over the rows that have one, and over how many rows.
function meansOf(rows, { task, a, b }, overview) {
  const known = [a, b, oracleOf(overview)].map((system) => rows.map((row) => scoreOf(row, system, task)).filter((score) => score !== null));
  return {
    means: known.map((scores) => (scores.length ? scores.reduce((sum, score) => sum + score) / scores.length : null)),
    n_means: Math.max(...known.map((scores) => scores.length)),
  };
}

// How many aspects no system, one, two ... of the counted systems find.
function foundOf(rows, { task }, overview) {
  if (task === null || task === undefined) return [];
  const counts = [0, ...overview.systems.filter((system) => system.is_counted).map(() => 0)];
  for (const row of rows) row.found[task].forEach((n, systems) => (counts[systems] += n));
  return counts;
}

const PIECE_SIZE = 16; // as PAPERS_A_PIECE in page_parts.py
const SEARCH_SLICE_MS = 300;

// The records are lines of JSON in script elements of the page, compressed in pieces; a piece is unpacked when asked for.
export function embeddedSource() {
  const heldIn = (id) => JSON.parse(document.getElementById(id).textContent);
  const parsed = {}; // {overview, rows}
  const all = () => (parsed.rows ??= heldIn("rows"));
  const overview = async () => (parsed.overview ??= heldIn("overview"));
  const placeOf = (id) => all().findIndex((row) => row.id === id);
  let last = null; // {number, lines} of a piece: the next paper that is asked for is often in it
  let newest = null; // search
  const lineOf = async (place) => (await piece(Math.floor(place / PIECE_SIZE)))[place % PIECE_SIZE];
  return {
    overview, rows, instance, exchanges,
    // The records of one piece of the papers; none behind the last piece.
    records: async (number) => (number * PIECE_SIZE < all().length ? (await piece(number)).map((line) => JSON.parse(line)) : []),
    // Links beside the list of papers.
    linksOf: ({ a, b }) => (a === null || b === null ? [] : [h("a", { href: linkToList("why") }, "Aspects that only A or only B found")]),
    // What a shared paper has of this page.
    pageParts: async () => {
      const [policy, style, script] = ["meta[http-equiv]", "style", "script:not([type])"].map((part) => document.querySelector(part));
      return { policy: policy.content, style: style.textContent, script: script.textContent };
    },
  };

  async function rows(asked) {
    const [papers, about] = [all(), await overview()];
    const named = papers.filter((row) => row.id === asked.q); // the whole id of a paper finds that paper only
    const words = named.length ? [] : [...new Set(wordsOf(asked.q ?? ""))].map((word) => ` ${word}`);
    const { hits, n_searched } = words.length ? await searched(words, asked.in) : { n_searched: papers.length };
    const matching = hits ? papers.filter((row) => hits.has(row)) : named.length ? named : papers;
    const fits = FILTERS[asked.only] ?? (() => true);
    const before = matching.filter((row) => fits(row, asked, about));
    const found = asked.found === null || asked.found === undefined ? before : before.filter((row) => row.found[asked.task]?.[asked.found]);
    const offset = asked.offset ?? 0;
    const shown = sorted(found, asked).slice(offset, offset + (asked.n ?? PAGE_SIZE));
    return {
      n_found: found.length,
      n_without_results: found.filter((row) => row.n_results === 0).length,
      ...meansOf(found, asked, about),
      found: foundOf(before, asked, about),
      rows: shown.map((row) => (hits?.get(row) ? { ...row, hits: hits.get(row) } : row)),
      n_searched,
      n_scored: papers.length,
      n_instances: papers.length,
    };
  }

  async function instance(id) {
    const place = placeOf(id);
    if (place < 0) throw new Error(`There is no paper “${id}” in this page.`);
    return JSON.parse(await lineOf(place));
  }

  // A run with one answer for all tasks has its requests once.
  async function exchanges(id, system, task) {
    const found = JSON.parse(await unpacked(document.getElementById(`exchanges-${placeOf(id)}`).textContent))[system];
    return found[task] ?? found[0];
  }

  async function piece(number) {
    if (last?.number === number) return last.lines;
    const only = document.getElementById("paper"); // of a page with one paper, which is not compressed
    if (only) return [only.textContent];
    const element = document.getElementById(`papers-${number}`);
    if (!element) throw new Error("This page lists the paper, but does not contain it.");
    last = { number, lines: (await unpacked(element.textContent)).split("\n") };
    return last.lines;
  }

  // What a search has found so far; it goes on, and whoever asks again gets more. A new search ends the last one.
  async function searched(words, place) {
    const key = JSON.stringify([words, place]);
    if (newest?.key !== key) {
      newest = { key, hits: new Map(), n_searched: 0 };
      newest.ended = scan(words, place, newest);
    }
    const search = newest;
    await Promise.race([search.ended, new Promise((resume) => setTimeout(resume, SEARCH_SLICE_MS))]);
    return search;
  }

  // Hypotheses and ids are searched at once, then the texts as they are unpacked. `search.hits` gets the rows found.
  async function scan(words, place, search) {
    const papers = all();
    const holds = (texts) => words.every((word) => texts.some((text) => text.includes(word)));
    const heads = papers.map((row) => [place !== "text" && row.hypothesis, !place && row.id].filter(Boolean).map(searchable));
    papers.forEach((row, at) => holds(heads[at]) && search.hits.set(row, null));
    if (place === "hypothesis") search.n_searched = papers.length;
    while (search.n_searched < papers.length) {
      const at = search.n_searched;
      if (at % PIECE_SIZE === 0) await new Promise((resume) => setTimeout(resume)); // so that the reader can go on typing
      if (newest !== search) return;
      const line = await lineOf(at);
      search.n_searched += 1;
      if (!mayHold(line, words)) continue;
      const { paper } = JSON.parse(line);
      const texts = paper.sentences.map(searchable);
      if (holds([...heads[at], texts.join("")])) search.hits.set(papers[at], hitsOf(texts, paper.sentences, words));
    }
  }
}

// Whether a record may hold the words: quicker than to read it, and never false where it does. An escape may be a letter.
function mayHold(json, words) {
  if (/\\u(?!003c|003e|0026)/.test(json)) return true;
  const plain = folded(json);
  return words.every((word) => plain.includes(word.trim()));
}
