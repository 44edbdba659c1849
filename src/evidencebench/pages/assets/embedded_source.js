// The records of a page in one file, which holds them; its methods are those of `ServerSource`.

import { h, unpacked } from "./dom.js";
import { PAGE_SIZE, SAME, differenceOf, folded, linkToList, scoreOf, wordsOf } from "./route.js";

// The words of a text, each after a space: " kin" finds the words that begin with "kin".
function searchable(text) {
  return ` ${wordsOf(text).join(" ")}`;
}

const LONGEST_HIT = 2000;

// The sentences with a searched word: how many, and the first with most of them; null: none. As in search_index.py.
function hitsOf(texts, sentences, words) {
  const held = texts.map((text) => words.filter((word) => text.includes(word)).length);
  const most = Math.max(...held);
  if (!(most > 0)) return null;
  const index = held.indexOf(most);
  return { n: held.filter(Boolean).length, index, text: sentences[index].slice(0, LONGEST_HIT) };
}

function oracleOf(overview) {
  return overview.systems.findIndex((system) => system.is_control && system.signature === "oracle");
}

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
export class EmbeddedSource {
  #overview = null;
  #rows = null;
  #unpacked = { number: null, lines: null };
  #search = null;

  async overview() {
    this.#overview ??= JSON.parse(document.getElementById("overview").textContent);
    return this.#overview;
  }

  async rows(asked) {
    const [all, overview] = [this.#all(), await this.overview()];
    const named = all.filter((row) => row.id === asked.q); // the whole id of a paper finds that paper only
    const words = named.length ? [] : [...new Set(wordsOf(asked.q ?? ""))].map((word) => ` ${word}`);
    const { hits, n_searched } = words.length ? await this.#searched(words, asked.in) : { n_searched: all.length };
    const matching = hits ? all.filter((row) => hits.has(row)) : named.length ? named : all;
    const fits = FILTERS[asked.only] ?? (() => true);
    const before = matching.filter((row) => fits(row, asked, overview));
    const found = asked.found === null || asked.found === undefined ? before : before.filter((row) => row.found[asked.task]?.[asked.found]);
    const offset = asked.offset ?? 0;
    const rows = sorted(found, asked).slice(offset, offset + (asked.n ?? PAGE_SIZE));
    return {
      n_found: found.length,
      n_without_results: found.filter((row) => row.n_results === 0).length,
      ...meansOf(found, asked, overview),
      found: foundOf(before, asked, overview),
      rows: rows.map((row) => (hits?.get(row) ? { ...row, hits: hits.get(row) } : row)),
      n_searched,
      n_scored: all.length,
      n_instances: all.length,
    };
  }

  async instance(id) {
    const place = this.#all().findIndex((one) => one.id === id);
    if (place < 0) throw new Error(`There is no paper “${id}” in this page.`);
    const lines = await this.#piece(Math.floor(place / PIECE_SIZE));
    return JSON.parse(lines[place % PIECE_SIZE]);
  }

  // The records of one piece of the papers; none behind the last piece.
  async records(number) {
    if (number * PIECE_SIZE >= this.#all().length) return [];
    return (await this.#piece(number)).map((line) => JSON.parse(line));
  }

  // Links beside the list of papers.
  linksOf({ a, b }) {
    return a === null || b === null ? [] : [h("a", { href: linkToList("why") }, "Aspects that only A or only B finds")];
  }

  // What a shared paper has of this page.
  async pageParts() {
    const [policy, style, script] = ["meta[http-equiv]", "style", "script:not([type])"].map((part) => document.querySelector(part));
    return { policy: policy.content, style: style.textContent, script: script.textContent };
  }

  // A run with one answer for all tasks has its requests once.
  async exchanges(id, system, task) {
    const place = this.#all().findIndex((one) => one.id === id);
    const found = JSON.parse(await unpacked(document.getElementById(`exchanges-${place}`).textContent))[system];
    return found[task] ?? found[0];
  }

  #all() {
    this.#rows ??= JSON.parse(document.getElementById("rows").textContent);
    return this.#rows;
  }

  // The last piece is kept, since the next paper that is asked for is often in it.
  async #piece(number) {
    if (this.#unpacked.number === number) return this.#unpacked.lines;
    const only = document.getElementById("paper"); // of a page with one paper, which is not compressed
    if (only) return [only.textContent];
    const element = document.getElementById(`papers-${number}`);
    if (!element) throw new Error("This page lists the paper, but does not hold it.");
    const lines = (await unpacked(element.textContent)).split("\n");
    this.#unpacked = { number, lines };
    return lines;
  }

  // What a search has found so far; it goes on, and whoever asks again gets more. A new search ends the last one.
  async #searched(words, place) {
    const key = JSON.stringify([words, place]);
    if (this.#search?.key !== key) {
      this.#search = { key, hits: new Map(), n_searched: 0 };
      this.#search.ended = this.#scan(words, place, this.#search);
    }
    const search = this.#search;
    await Promise.race([search.ended, new Promise((resume) => setTimeout(resume, SEARCH_SLICE_MS))]);
    return search;
  }

  // Hypotheses and ids are searched at once, then the texts as they are unpacked. `search.hits` gets the rows found.
  async #scan(words, place, search) {
    const all = this.#all();
    const holds = (texts) => words.every((word) => texts.some((text) => text.includes(word)));
    const heads = all.map((row) => [place !== "text" && row.hypothesis, !place && row.id].filter(Boolean).map(searchable));
    all.forEach((row, at) => holds(heads[at]) && search.hits.set(row, null));
    if (place === "hypothesis") search.n_searched = all.length;
    while (search.n_searched < all.length) {
      const at = search.n_searched;
      if (at % PIECE_SIZE === 0) await new Promise((resume) => setTimeout(resume)); // so that the reader can go on typing
      if (this.#search !== search) return;
      const line = (await this.#piece(Math.floor(at / PIECE_SIZE)))[at % PIECE_SIZE];
      search.n_searched += 1;
      if (!mayHold(line, words)) continue;
      const { paper } = JSON.parse(line);
      const texts = paper.sentences.map(searchable);
      if (holds([...heads[at], texts.join("")])) search.hits.set(all[at], hitsOf(texts, paper.sentences, words));
    }
  }
}

// Whether a record may hold the words: quicker than to read it, and never false where it does. An escape may be a letter.
function mayHold(json, words) {
  if (/\\u(?!003c|003e|0026)/.test(json)) return true;
  const plain = folded(json);
  return words.every((word) => plain.includes(word.trim()));
}
