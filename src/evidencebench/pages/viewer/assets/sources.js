// Where the records come from: the page itself, or the server of the app. Both answer the same questions alike.

const PAGE_SIZE = 50;
const LONGEST_ASKED = 2000;

// Words as the server takes them apart: letters and digits, without case and accents.
function wordsOf(text) {
  const plain = text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  return plain.match(/[\p{L}\p{N}]+/gu) ?? [];
}

// All words of a text so that a word's beginning is found by looking for " beginning".
function searchable(texts) {
  return ` ${texts.flatMap(wordsOf).join(" ")}`;
}

function scoreOf(row, system, task) {
  return system === null || task === null ? null : (row.recalls[system]?.[task] ?? null);
}

function differenceOf(row, { task, a, b }) {
  const [first, second] = [scoreOf(row, a, task), scoreOf(row, b, task)];
  return first === null || second === null ? null : first - second;
}

// Recalls are quotients of small numbers: what differs at all differs by more.
const SAME = 1e-9;

// The highest recall there can be, where the ceiling is shown as a system; else 1.
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

// Rows with no value last, whichever the order; rows with the same value as they stand in the data.
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

// Everything lies in the page, as JSON in script elements; an instance is parsed when it is asked for.
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
    const named = all.filter((row) => row.id === asked.q); // an id given whole means that one paper
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

  // The papers are read on the first search, a few at a time, so that typing goes on meanwhile.
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

// Everything is asked of the server that the page came from.
class ServerSource {
  #positions = new Map();

  async overview() {
    return this.#ask("/api/overview", {});
  }

  async rows(asked) {
    const found = await this.#ask("/api/rows", asked);
    for (const row of found.rows) this.#positions.set(row.id, row.position);
    return found;
  }

  // An id that is too long for an address is asked for by its position, which the list has told.
  async instance(id) {
    const isLong = encodeURIComponent(id).length > LONGEST_ASKED && this.#positions.has(id);
    return this.#ask("/api/instances", isLong ? { position: this.#positions.get(id) } : { id });
  }

  async #ask(path, parameters) {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(parameters)) {
      if (value !== null && value !== undefined) query.set(name, value);
    }
    let reply;
    try {
      reply = await fetch(`${path}?${query}`, { headers: { Accept: "application/json" } });
    } catch {
      throw new Error("The app does not answer; is “evidencebench view” still running?");
    }
    const body = await reply.json().catch(() => ({}));
    if (!reply.ok) throw new Error(body.error ?? `The app answers with status ${reply.status}.`);
    return body;
  }
}
