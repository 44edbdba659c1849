// Draws two systems paper by paper; each mark leads to its paper, or to a list where several coincide.

// Marks keep a distance from the axes, `inset`, so that one at 0 hides no number of them.
const SCATTER = { size: 480, left: 58, right: 26, top: 26, bottom: 52, inset: 26, largest: 20, listed: 20 };

// The papers at each point. Recalls are quotients of small numbers, so equal points have equal texts as keys.
function pointsOf(rows, asked) {
  const points = new Map();
  for (const row of rows) {
    const [x, y] = [scoreOf(row, asked.a, asked.task), scoreOf(row, asked.b, asked.task)];
    if (x === null || y === null) continue;
    const place = `${x.toFixed(9)} ${y.toFixed(9)}`;
    if (!points.has(place)) points.set(place, { x, y, rows: [] });
    points.get(place).rows.push(row);
  }
  return [...points.values()].sort((one, other) => one.x - one.y - (other.x - other.y) || one.x - other.x);
}

function scatterParts(points, asked) {
  if (!points.length) return [h("p.note", {}, "The task applies to no paper here, or one of the two cannot answer it.")];
  const papers = points.flatMap(({ x, y, rows }) => rows.map((row) => ({ row, x, y, apart: Math.abs(x - y) })));
  const largest = papers.filter(({ apart }) => apart > SAME).sort((one, other) => other.apart - one.apart || one.row.position - other.row.position);
  const shown = largest.slice(0, SCATTER.listed);
  const marked = h("div.scatter-list", { role: "status" });
  const show = (point) => marked.replaceChildren(paperTable(papers.filter(({ row }) => point.rows.includes(row)),
    `${counted(point.rows.length, "paper")} with A ${percent(point.x)} and B ${percent(point.y)}`));
  const frame = h("div.frame.scatter-frame", { tabindex: 0, role: "group", "aria-label": "Chart: paper by paper" },
    scatterChart(points, asked, show));
  return [h("div.scatter-columns", {}, frame, h("div", {}, marked, shown.length
    ? paperTable(shown, `The largest differences, ${shown.length} of ${largest.length}`)
    : h("p.note", {}, "A and B have the same recall on every paper.")))];
}

function sideOfLine({ x, y }) {
  if (Math.abs(x - y) <= SAME) return "equal";
  return x > y ? "a" : "b";
}

function scatterChart(points, asked, show) {
  const { size, left, right, top, bottom, inset } = SCATTER;
  const across = (value) => left + inset + value * (size - left - inset - right);
  const up = (value) => size - bottom - inset - value * (size - top - inset - bottom);
  const line = (look, x1, x2, y1, y2) => svg("line", { class: `chart-${look}`, x1, x2, y1, y2 });
  const label = (text, x, y, anchor = "middle", transform = null) =>
    svg("text", { class: "chart-tick", x, y, "text-anchor": anchor, transform }, text);
  const nameOf = (system) => `recall of ${shortened(asked.names[system])}, %`;
  const chart = svg("svg", { class: "chart scatter-chart", viewBox: `0 0 ${size} ${size}`, role: "group",
    "aria-label": `Recall of A, ${asked.names[asked.a]}, and of B, ${asked.names[asked.b]}, on ${asked.taskName}. ` +
      "Arrow keys go from mark to mark, Enter opens one." },
    [0, 20, 40, 60, 80, 100].map((tick) => [
      line("grid", across(tick / 100), across(tick / 100), size - bottom, up(1)),
      line("grid", left, across(1), up(tick / 100), up(tick / 100)),
      label(tick, across(tick / 100), size - bottom + 18),
      label(tick, left - 8, up(tick / 100) + 4, "end"),
    ]),
    line("zero", across(0), across(1), up(0), up(1)),
    label(`● A: ${nameOf(asked.a)}`, across(0.5), size - 10),
    label(`■ B: ${nameOf(asked.b)}`, -up(0.5), 16, "middle", "rotate(-90)"));
  const marks = points.map((point) => scatterMark(point, across(point.x), up(point.y), show));
  // Small marks are drawn last, above large ones, so that they can be clicked.
  const drawn = marks.map((mark, at) => [points[at].rows.length, mark]);
  chart.append(...drawn.sort(([one], [other]) => other - one).map(([, mark]) => mark));
  moveByArrows(chart, marks);
  return chart;
}

function scatterMark(point, x, y, show) {
  const n = point.rows.length;
  const side = sideOfLine(point);
  const radius = Math.min(SCATTER.largest, 5.5 + 2 * Math.sqrt(n - 1) + (n > 1 ? 2 : 0));
  const words = `A ${percent(point.x)}, B ${percent(point.y)}: ${n === 1 ? point.rows[0].id : counted(n, "paper")}`;
  const shape = [
    scatterShape(side, x, y, radius),
    n > 1 ? svg("text", { x, y: y + 4, "text-anchor": "middle", class: "scatter-number", "aria-hidden": "true" }, n) : null,
    svg("title", {}, words),
  ];
  const attributes = { class: `scatter-mark scatter-${side}`, "aria-label": words };
  if (n === 1) return svg("a", { ...attributes, href: linkTo(point.rows[0].id) }, shape);
  const open = () => show(point);
  return svg("g", { ...attributes, role: "button", onclick: open, onkeydown: (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    open();
  } }, shape);
}

function scatterShape(side, x, y, radius) {
  if (side === "a") return svg("circle", { cx: x, cy: y, r: radius });
  const reach = side === "b" ? 0.9 * radius : radius;
  const transform = side === "equal" && `rotate(45 ${x} ${y})`;
  return svg("rect", { x: x - reach, y: y - reach, width: 2 * reach, height: 2 * reach, transform });
}

// Tab reaches one mark; arrow keys go to the others, by default in the order of A's lead over B.
function moveByArrows(root, marks, stepOf = () => ({ ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 })) {
  const reach = (one) => marks.forEach((mark) => mark.setAttribute("tabindex", mark === one ? "0" : "-1"));
  reach(marks[0]);
  root.addEventListener("keydown", (event) => {
    const at = marks.indexOf(document.activeElement);
    const next = at < 0 ? null : marks[at + stepOf(at)[event.key]];
    if (!next) return;
    event.preventDefault();
    reach(next);
    next.focus();
  });
}

function paperTable(papers, caption) {
  const head = ["hypothesis", "A", "B", "A − B, points"].map((name, place) => h("th", { scope: "col", class: place ? "number" : "" }, name));
  const body = papers.map(({ row, x, y }) => h("tr", {},
    h("th", { scope: "row" }, foreign("a", { href: linkTo(row.id), title: row.id }, firstWords(row.hypothesis || row.id, 300))),
    [percent(x), percent(y), signed(100 * (x - y))].map((text) => h("td.number", {}, text))));
  return h("div.frame", { tabindex: 0, role: "group", "aria-label": caption },
    h("table", {}, h("caption", {}, caption), h("thead", {}, h("tr", {}, head)), h("tbody", {}, body)));
}
