// The records of a page in one file, which holds them; its methods are those of `ServerSource`.

// All words of the texts, each after a space: " kin" finds the words that begin with "kin".
function searchable(texts) {
  return ` ${texts.flatMap(wordsOf).join(" ")}`;
}

// The recall of the oracle on a row, where it is among the systems; else 1.
function ceilingOf(row, overview, task) {
  const oracle = overview.systems.findIndex((system) => system.is_control && system.label === "oracle");
  return oracle < 0 ? 1 : scoreOf(row, oracle, task);
}

const FILTERS = {
  has_results: (row) => row.n_results > 0,
  no_results: (row) => row.n_results === 0,
  missed: (row, { task, a }, overview) => {
    const [score, highest] = [scoreOf(row, a, task), ceilingOf(row, overview, task)];
    return score !== null && highest !== null && score < highest - SAME;
  },
  failed: (row, { task, a }) => scoreOf(row, a, task) === 0,
  a_better: (row, asked) => (differenceOf(row, asked) ?? 0) > SAME,
  b_better: (row, asked) => (differenceOf(row, asked) ?? 0) < -SAME,
};

const SORT_VALUES = {
  position: (row) => row.position,
  score: (row, { task, a }) => scoreOf(row, a, task),
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

const PIECE_SIZE = 16; // as PAPERS_A_PIECE in page_parts.py
const SEARCH_SLICE_MS = 300;

// The records are lines of JSON in script elements of the page, compressed in pieces; a piece is unpacked when asked for.
class EmbeddedSource {
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
    const words = named.length ? [] : wordsOf(asked.q ?? "");
    const { matching, n_searched } = words.length ? await this.#searched(words) : { matching: named.length ? named : all, n_searched: all.length };
    const fits = FILTERS[asked.only] ?? (() => true);
    const found = matching.filter((row) => fits(row, asked, overview));
    const offset = asked.offset ?? 0;
    return {
      n_found: found.length,
      n_without_results: found.filter((row) => row.n_results === 0).length,
      rows: sorted(found, asked).slice(offset, offset + (asked.n ?? PAGE_SIZE)),
      n_searched,
      n_scored: all.length,
      n_instances: all.length,
    };
  }

  async instance(id) {
    const place = this.#all().findIndex((one) => one.id === id);
    if (place < 0) throw new Error(`There is no instance “${id}” in this page.`);
    const lines = await this.#piece(Math.floor(place / PIECE_SIZE));
    return JSON.parse(lines[place % PIECE_SIZE]);
  }

  #all() {
    this.#rows ??= JSON.parse(document.getElementById("rows").textContent);
    return this.#rows;
  }

  // The last piece is kept, since the next paper that is asked for is often in it.
  async #piece(number) {
    if (this.#unpacked.number === number) return this.#unpacked.lines;
    const element = document.getElementById(`papers-${number}`);
    if (!element) throw new Error("This page lists the paper, but does not hold it.");
    const lines = (await unpacked(element.textContent)).split("\n");
    this.#unpacked = { number, lines };
    return lines;
  }

  // What a search has found so far; it goes on, and whoever asks again gets more. A new search ends the last one.
  async #searched(words) {
    const key = words.join(" ");
    if (this.#search?.key !== key) {
      this.#search = { key, matching: [], n_searched: 0 };
      this.#search.ended = this.#scan(words, this.#search);
    }
    const search = this.#search;
    await Promise.race([search.ended, new Promise((resume) => setTimeout(resume, SEARCH_SLICE_MS))]);
    return search;
  }

  async #scan(words, search) {
    for (const row of this.#all()) {
      const place = search.n_searched;
      if (place % PIECE_SIZE === 0) await new Promise((resume) => setTimeout(resume)); // so that the reader can go on typing
      if (this.#search !== search) return;
      const { paper } = JSON.parse((await this.#piece(Math.floor(place / PIECE_SIZE)))[place % PIECE_SIZE]);
      const text = searchable([row.id, row.hypothesis, ...paper.sentences]);
      if (words.every((word) => text.includes(` ${word}`))) search.matching.push(row);
      search.n_searched += 1;
    }
  }
}

async function unpacked(text) {
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let at = 0; at < letters.length; at += 1) bytes[at] = letters.charCodeAt(at);
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
}
