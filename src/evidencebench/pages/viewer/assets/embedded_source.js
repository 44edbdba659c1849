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

// The records are JSON in script elements of the page; an instance is parsed when it is asked for.
class EmbeddedSource {
  #overview = null;
  #rows = null;
  #texts = new Map();

  async overview() {
    this.#overview ??= JSON.parse(document.getElementById("overview").textContent);
    return this.#overview;
  }

  async rows(asked) {
    const [all, overview] = [this.#all(), await this.overview()];
    const named = all.filter((row) => row.id === asked.q); // the whole id of a paper finds that paper only
    const matching = named.length ? named : await this.#search(wordsOf(asked.q ?? ""));
    const fits = FILTERS[asked.only] ?? (() => true);
    const found = matching.filter((row) => fits(row, asked, overview));
    const offset = asked.offset ?? 0;
    return {
      n_found: found.length,
      n_without_results: found.filter((row) => row.n_results === 0).length,
      rows: sorted(found, asked).slice(offset, offset + (asked.n ?? PAGE_SIZE)),
      n_searched: all.length,
      n_scored: all.length,
      n_instances: all.length,
    };
  }

  async instance(id) {
    const row = this.#all().find((one) => one.id === id);
    if (!row) throw new Error(`There is no instance “${id}” in this page.`);
    return this.#record(row.position);
  }

  #all() {
    this.#rows ??= JSON.parse(document.getElementById("rows").textContent);
    return this.#rows;
  }

  #record(position) {
    const element = document.getElementById(`instance-${position}`);
    if (!element) throw new Error("This page lists the paper, but does not hold it.");
    return JSON.parse(element.textContent);
  }

  // The papers are read at the first search, a few at a time, so that the reader can go on typing.
  async #search(words) {
    if (!words.length) return this.#all();
    let paused = performance.now();
    const found = [];
    for (const row of this.#all()) {
      if (!this.#texts.has(row.position)) this.#texts.set(row.position, this.#textOf(row));
      const text = this.#texts.get(row.position);
      if (words.every((word) => text.includes(` ${word}`))) found.push(row);
      if (performance.now() - paused > 20) {
        await new Promise((resume) => setTimeout(resume));
        paused = performance.now();
      }
    }
    return found;
  }

  #textOf(row) {
    const held = document.getElementById(`instance-${row.position}`) ? this.#record(row.position).paper.sentences : [];
    return searchable([row.id, row.hypothesis, ...held]);
  }
}
