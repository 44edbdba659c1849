// Opens a pair of the matrix: its interval and test, and the papers of the two. The address says which pair it is.

async function showPairs(source) {
  const root = document.getElementById("scatter");
  if (!root) return; // a shared paper, or papers without scores
  const { names, tasks } = JSON.parse(document.getElementById("pairs-data").textContent);
  const overview = await source?.overview();
  const rows = overview ? (await source.rows({ n: overview.n_instances })).rows : [];
  const viewed = overview ? namesOf(overview) : [];
  const known = [...new Set([...names, ...viewed])];
  if (known.length < 2) return;
  const pickers = ["a", "b"].map((key) => picker(`System ${key.toUpperCase()}`, known.map((name) => [name, shortened(name), name]),
    () => openPair({ a: pickers[0].select.value, b: pickers[1].select.value }), systemMark(key)));
  const opened = h("div");
  root.replaceChildren(h("div.pair-choices", {}, pickers.map(({ label }) => label)), opened);
  let drawn;
  onRoute(draw);
  draw();

  function draw() {
    const route = readRoute();
    if (route.place !== "results") return;
    const told = document.querySelector(".task-told");
    if (told) told.textContent = unknownIn(route, { a: known, b: known, task: Object.keys(tasks) });
    const task = taskShown ?? Object.keys(tasks)[0];
    const tested = { ...tasks[task], systems: tasks[task].systems.map((at) => names[at]) };
    const asked = ["a", "b"].map((key) => known.find((name) => name === route.query.get(key)));
    const [first, second] = tested.best.map((at) => names[at]);
    // As `chosen` does it for the papers.
    const pair = asked.map((name, at) => name ?? (at ? [second, first] : [first, second]).find((one) => one && !asked.includes(one)));
    const key = location.hash + task;
    if (key === drawn) return; // what is open stays
    drawn = key;
    pickers.forEach(({ select }, at) => { select.value = pair[at]; });
    markPair(task, tested, ...pair);
    opened.replaceChildren(pairNumbers(tested, ...pair), ...papersOfPair(task, ...pair));
  }

  function papersOfPair(task, a, b) {
    if (!overview) return [];
    const hidden = [a, b].find((name) => !viewed.includes(name));
    if (hidden) return [h("p.note", {}, `The papers do not show ${hidden}, which chooses no certain sentence.`)];
    const asked = { task: overview.tasks.findIndex(({ name }) => name === task), taskName: task, a: viewed.indexOf(a), b: viewed.indexOf(b), names: viewed };
    return [h("div.scatter", {}, scatterParts(pointsOf(rows, asked), asked))];
  }
}

// Notes the pair in the address, so that it can be linked; the page stays where it is.
function openPair(pair) {
  sectionShown = "pairs";
  go(linkToResults("pairs", pair));
}

// A - B in words, whichever is higher; the data have the higher one first.
function pairNumbers({ systems, pairs, told }, a, b) {
  const [one, other] = [systems.indexOf(a), systems.indexOf(b)];
  const turn = one < other ? 1 : -1;
  const [first, second] = turn > 0 ? [one, other] : [other, one];
  const found = pairs.find((pair) => pair[0] === first && pair[1] === second);
  if (!found) return h("p.note", {}, "A system is not tested against itself, nor against a ceiling.");
  const [, , mean, low, high, p, isSignificant, better, equal, worse, detectable, overlap] = found;
  const ends = (turn > 0 ? [low, high] : [high, low]).map((end) => signed(turn * end)).join(", ");
  const [onA, onB] = turn > 0 ? [better, worse] : [worse, better];
  return h("div", {},
    h("p", { role: "status" }, h("strong", {}, isSignificant ? `${turn > 0 ? "A" : "B"} is significantly better: ` : "A and B cannot be told apart: "),
      `A − B is ${signed(turn * mean)} ${low === null ? "(one paper or review: no interval)" : `[${ends}]`} points, ${p}.`),
    h("p", {}, systemMark("a"), ` A is better on ${onA}, `, systemMark("b"), ` B on ${onB}; equal on ${equal} (◆).`),
    h("p.note", {}, overlap === null ? "" : `Of the sentences that either chose, ${overlap.toFixed(1)} % were chosen by both. `,
      detectable === null ? "" : `One test alone would find ${detectable.toFixed(1)} points with 80 % power. `, told));
}

// Marks the pair in the matrix of its task, whose cells become buttons when it is first shown: one stop for Tab.
function markPair(task, { systems, pairs }, a, b) {
  const table = document.querySelector(`#pairs [data-task="${task}"] table.pairs`);
  const cells = [...(table?.querySelectorAll("tbody td:not([colspan])") ?? [])];
  if (cells[0] && !table.querySelector("button")) {
    const buttons = cells.map((cell, at) => {
      const [first, second] = pairs[at].map((place) => systems[place]);
      const told = `${first} − ${second}: ${cell.textContent.replace("*", ", significant")}`;
      const button = h("button", { "aria-label": told, title: told, onclick: () => openPair({ a: first, b: second }) }, cell.textContent);
      cell.replaceChildren(button);
      return button;
    });
    moveByArrows(table, buttons, (at) => ({ ArrowRight: 1, ArrowLeft: -1, ArrowDown: systems.length - 2 - pairs[at][0], ArrowUp: pairs[at][0] + 1 - systems.length }));
  }
  cells.forEach((cell, at) => cell.firstChild.setAttribute("aria-pressed", a !== b && [a, b].every((name) => pairs[at].slice(0, 2).includes(systems.indexOf(name)))));
}
