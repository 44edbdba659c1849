// Saves the list as found, with the recall of every system on the task, as comma-separated values.

const FILE_FIELDS = ["position", "id", "paper_id", "hypothesis", "n_sentences", "n_aspects", "n_results"];

// `tell` gets the number of rows that are there, after each part.
async function saveList(overview, source, asked, tell) {
  const lines = [[...FILE_FIELDS, ...systemNames(overview).map((name) => `${name}, ${overview.tasks[asked.task].name}`)]];
  for (let found; !found || (found.rows.length && lines.length <= found.n_found); tell(lines.length - 1)) {
    found = await source.rows({ ...asked, offset: lines.length - 1, n: MOST_ROWS });
    lines.push(...found.rows.map((row) => [...FILE_FIELDS.map((name) => row[name]), ...row.recalls.map((recalls) => recalls[asked.task])]));
  }
  save("papers.csv", "text/csv", lines.map((line) => `${line.map(cellOf).join(",")}\r\n`));
}

const MOST_ROWS = 200; // as in routes.py

// A text that a spreadsheet would take for a formula stands behind an apostrophe.
function cellOf(value) {
  const text = `${typeof value === "string" && /^\s*[=+\-@＝＋－＠]/.test(value) ? "'" : ""}${value ?? ""}`.toWellFormed();
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
