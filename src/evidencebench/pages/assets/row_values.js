// The values of a row of the list: its scores, and the words by which a search finds it.

const PAGE_SIZE = 50;

// The words of a text, as `words_of` in search_index.py returns them: letters and digits, without case and accents.
function wordsOf(text) {
  return folded(text).match(/[\p{L}\p{N}]+/gu) ?? [];
}

function folded(text) {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
}

// The distinct words that a route searches in a place, "hypothesis" or "text".
function searchedIn({ query }, place) {
  return [place, null].includes(query.get("in") || null) ? [...new Set(wordsOf(query.get("q") ?? ""))] : [];
}

function scoreOf(row, system, task) {
  return system === null || task === null ? null : (row.recalls[system]?.[task] ?? null);
}

function differenceOf(row, { task, a, b }) {
  const [first, second] = [scoreOf(row, a, task), scoreOf(row, b, task)];
  return first === null || second === null ? null : first - second;
}

// Recalls are quotients of small numbers: two different ones differ by more than this.
const SAME = 1e-9;
