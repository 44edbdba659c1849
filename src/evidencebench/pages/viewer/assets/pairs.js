// Opens a pair of the matrix: its interval and test, and the papers of the two. The address says which pair it is.

async function showPairs(source) {
  const root = document.getElementById("scatter");
  if (!root) return; // a shared paper, or papers without labels
  const { names, tasks } = JSON.parse(document.getElementById("pairs-data").textContent);
  const overview = await source?.overview();
  const rows = overview ? (await source.rows({ n: overview.n_instances })).rows : [];
  const viewed = overview ? systemNames(overview) : [];
  const known = [...new Set([...names, ...viewed])];
  if (known.length < 2) return;
  const entries = known.map((name) => [name, shortened(name), name]);
  const chosenPair = {};
  const [a, b] = ["a", "b"].map((key) =>
    picker(`System ${key.toUpperCase()}`, entries, (name) => openPair({ ...chosenPair, [key]: name }), systemMark(key)));
  const opened = h("div");
  root.replaceChildren(h("div", { class: "pair-choices" }, a.label, b.label), opened);
  onRoute(draw);
  draw();

  function draw() {
    const { place, query } = readRoute();
    if (place !== "results") return;
    const task = query.get("task") in tasks ? query.get("task") : Object.keys(tasks)[0];
    const tested = { ...tasks[task], systems: tasks[task].systems.map((at) => names[at]) };
    const pair = ["a", "b"].map((key, at) => (known.includes(query.get(key)) ? query.get(key) : names[tested.best[at]] ?? known[at]));
    [a.select.value, b.select.value] = [chosenPair.a, chosenPair.b] = pair;
    markPair(task, tested, ...pair);
    opened.replaceChildren(pairNumbers(tested, ...pair), ...papersOfPair(task, ...pair));
  }

  function papersOfPair(task, a, b) {
    if (!overview) return [];
    const hidden = [a, b].find((name) => !viewed.includes(name));
    if (hidden) return [h("p", { class: "note" }, `The papers do not show ${hidden}, which chooses no certain sentence.`)];
    const at = overview.tasks.findIndex(({ name }) => name === task);
    const asked = { task: at, taskName: task, a: viewed.indexOf(a), b: viewed.indexOf(b), names: viewed };
    return [h("div", { class: "scatter" }, scatterParts(pointsOf(rows, asked), asked))];
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
  const found = pairs.find(([first, second]) => first === Math.min(one, other) && second === Math.max(one, other));
  if (!found) return h("p", { class: "note" }, "A system is not tested against itself, nor against a ceiling.");
  const [, , mean, low, high, p, isSignificant, better, equal, worse, detectable, overlap] = found;
  const turn = one < other ? 1 : -1;
  const ends = low === null ? [] : [turn * low, turn * high].sort((first, second) => first - second);
  const verdict = isSignificant ? `${turn > 0 ? "A" : "B"} is significantly better` : "A and B cannot be told apart";
  const counts = turn > 0 ? [better, worse] : [worse, better];
  return h("div", {},
    h("p", { role: "status" }, h("strong", {}, `${verdict}: `), `A − B is ${signed(turn * mean)} `,
      ends.length ? `[${ends.map(signed).join(", ")}]` : "(one paper: no interval)", ` points, ${p}.`),
    ends.length ? differenceChart(turn * mean, ends) : null,
    h("p", {}, systemMark("a"), ` A is better on ${counts[0]}, `, systemMark("b"), ` B on ${counts[1]}; equal on ${equal} (◆).`),
    h("p", { class: "note" }, overlap === null ? "" : `Of the sentences that either chose, ${overlap.toFixed(1)} % were chosen by both. `,
      detectable === null ? "" : `A difference of ${detectable.toFixed(1)} points would be found with 80 % power. `, told));
}

function differenceChart(mean, ends) {
  const reach = 1.1 * Math.max(5, ...ends.map(Math.abs));
  const [at, ...between] = [mean, ...ends].map((points) => `${(50 + (50 * points) / reach).toFixed(2)}%`);
  const upright = (x, y1, y2, look) => svg("line", { class: look, x1: x, x2: x, y1, y2 });
  return svg("svg", { class: "chart row-plot pair-plot", "aria-hidden": "true" },
    upright("50%", "0", "60%", "chart-zero"),
    svg("line", { class: "chart-interval", x1: between[0], x2: between[1], y1: "30%", y2: "30%" }),
    between.map((end) => upright(end, "18%", "42%", "chart-interval")),
    svg("circle", { class: "chart-marker", cx: at, cy: "30%", r: 5 }),
    svg("text", { class: "chart-tick", x: "0", y: "95%" }, "← ■ B better"),
    svg("text", { class: "chart-tick", x: "100%", y: "95%", "text-anchor": "end" }, "● A better →"));
}

// Marks the pair in the matrix of its task, whose cells become buttons when it is first shown: one stop for Tab.
function markPair(task, { systems, pairs }, a, b) {
  const table = document.querySelector(`#pairs [data-task="${task}"] table.pairs`);
  if (!table) return;
  if (!table.querySelector("button")) {
    const made = [...table.querySelectorAll("tbody td:not([colspan])")].map((cell, at) => {
      const [first, second] = pairs[at].map((place) => systems[place]);
      const told = `${first} − ${second}: ${cell.textContent.replace("*", ", significant")}`;
      const button = h("button", { type: "button", "aria-label": told, title: told, onclick: () => openPair({ a: first, b: second }) }, cell.textContent);
      cell.replaceChildren(button);
      return button;
    });
    moveByArrows(table, made, (at, key) => {
      const [down, right] = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[key] ?? [];
      return made[pairs.findIndex(([first, second]) => first === pairs[at][0] + down && second === pairs[at][1] + right)];
    });
  }
  const wanted = [systems.indexOf(a), systems.indexOf(b)].sort((one, other) => one - other).join();
  table.querySelectorAll("button").forEach((button, at) => button.setAttribute("aria-pressed", pairs[at].slice(0, 2).join() === wanted));
}
