// What the list says of a paper: its scores, and the words that it is searched by.

const PAGE_SIZE = 50;

// Words as the server takes them apart: letters and digits, without case and accents.
function wordsOf(text) {
  const plain = text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  return plain.match(/[\p{L}\p{N}]+/gu) ?? [];
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
