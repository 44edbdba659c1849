// Draws two systems instance by instance; each mark leads to its paper, or to a list where several coincide.

const SCATTER = { size: 480, left: 58, right: 16, top: 16, bottom: 52, largest: 20, listed: 20 };

async function showScatter(root, source) {
  const overview = await source.overview();
  const { rows } = await source.rows({ n: overview.n_instances });
  const names = systemNames(overview);
  if (names.length < 2) {
    root.replaceChildren(h("p", { class: "note" }, "There is one system, so there are no two to set against each other."));
    return;
  }
  const state = { task: 0, a: 0, b: 1 };
  const systems = names.map((name, position) => [position, shortened(name), name]);
  const tasks = overview.tasks.map((task, position) => [position, taskTitle(task)]);
  const change = (name) => (value) => {
    state[name] = Number(value);
    draw();
  };
  const task = picker("Task", tasks, change("task"));
  const a = picker("System A (to the right)", systems, change("a"), systemMark("a"));
  const b = picker("System B (upwards)", systems, change("b"), systemMark("b"));
  b.select.value = state.b;
  const plot = h("div", { class: "scatter" });
  root.replaceChildren(h("div", { class: "scatter-choices" }, task.label, a.label, b.label), plot);
  draw();

  function draw() {
    const asked = { ...state, names, taskName: overview.tasks[state.task].name };
    plot.replaceChildren(...scatterParts(pointsOf(rows, asked), asked));
  }
}

// The instances at each point. Recalls are quotients of small numbers, so equal points have equal texts as keys.
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
  if (!points.length) return [h("p", { class: "note" }, "The task applies to no instance here, or one of the two cannot answer it.")];
  const chosenList = h("div", { class: "scatter-list", role: "status" });
  const show = (point) => chosenList.replaceChildren(...pointList(point, asked));
  const counts = { a: 0, b: 0, equal: 0 };
  for (const point of points) counts[sideOfLine(point)] += point.rows.length;
  const told = h("p", { class: "scatter-counts" },
    systemMark("a"), ` A is better on ${counts.a}, `, systemMark("b"), ` B on ${counts.b}; equal on ${counts.equal} (◆).`);
  const frame = h("div", { class: "frame scatter-frame", tabindex: 0, role: "group", "aria-label": "Chart: instance by instance" },
    scatterChart(points, asked, show));
  return [told, h("div", { class: "scatter-columns" }, frame, h("div", {}, chosenList, differenceTable(points, asked)))];
}

function sideOfLine({ x, y }) {
  if (Math.abs(x - y) <= SAME) return "equal";
  return x > y ? "a" : "b";
}

function scatterChart(points, asked, show) {
  const { size, left, right, top, bottom } = SCATTER;
  const across = (value) => left + value * (size - left - right);
  const up = (value) => size - bottom - value * (size - top - bottom);
  const ticks = [0, 0.2, 0.4, 0.6, 0.8, 1];
  const chart = svg("svg", { class: "chart scatter-chart", viewBox: `0 0 ${size} ${size}`, role: "group",
    "aria-label": `Recall of A, ${asked.names[asked.a]}, and of B, ${asked.names[asked.b]}, on ${asked.taskName}. ` +
      "Arrow keys go from mark to mark, Enter opens one." },
    ticks.map((tick) => [
      svg("line", { class: "chart-grid", x1: across(tick), x2: across(tick), y1: up(0), y2: up(1) }),
      svg("line", { class: "chart-grid", x1: across(0), x2: across(1), y1: up(tick), y2: up(tick) }),
      svg("text", { class: "chart-tick", x: across(tick), y: up(0) + 18, "text-anchor": "middle" }, String(100 * tick)),
      svg("text", { class: "chart-tick", x: across(0) - 8, y: up(tick) + 4, "text-anchor": "end" }, String(Math.round(100 * tick))),
    ]),
    svg("line", { class: "chart-zero", x1: across(0), x2: across(1), y1: up(0), y2: up(1) }),
    svg("text", { class: "chart-tick", x: across(0.5), y: size - 10, "text-anchor": "middle" }, `● A: recall of ${shortened(asked.names[asked.a])}, %`),
    svg("text", { class: "chart-tick", x: -up(0.5), y: 16, transform: "rotate(-90)", "text-anchor": "middle" }, `■ B: recall of ${shortened(asked.names[asked.b])}, %`));
  const marks = points.map((point) => scatterMark(point, across(point.x), up(point.y), asked, show));
  // Small marks are drawn last, above large ones, so that they can be clicked.
  const drawn = marks.map((mark, at) => [points[at].rows.length, mark]);
  chart.append(...drawn.sort(([one], [other]) => other - one).map(([, mark]) => mark));
  moveByArrows(chart, marks);
  return chart;
}

function scatterMark(point, x, y, asked, show) {
  const n = point.rows.length;
  const side = sideOfLine(point);
  const radius = Math.min(SCATTER.largest, 5.5 + 2 * Math.sqrt(n - 1) + (n > 1 ? 2 : 0));
  const words = `A ${percent(point.x)}, B ${percent(point.y)}: ${n === 1 ? point.rows[0].id : counted(n, "instance")}`;
  const shape = [
    scatterShape(side, x, y, radius),
    n > 1 ? svg("text", { x, y: y + 4, "text-anchor": "middle", class: "scatter-number", "aria-hidden": "true" }, String(n)) : null,
    svg("title", {}, words),
  ];
  const attributes = { class: `scatter-mark scatter-${side}`, tabindex: -1, "aria-label": words };
  if (n === 1) return svg("a", { ...attributes, href: paperLink(point.rows[0], asked) }, shape);
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
  const turned = side === "equal" ? { transform: `rotate(45 ${x} ${y})` } : {};
  return svg("rect", { x: x - reach, y: y - reach, width: 2 * reach, height: 2 * reach, ...turned });
}

// Tab reaches one mark; arrow keys go to the others, in the order of A's lead over B.
function moveByArrows(chart, marks) {
  marks[0]?.setAttribute("tabindex", "0");
  chart.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    const at = marks.indexOf(document.activeElement);
    if (!step || at < 0) return;
    event.preventDefault();
    const next = marks[Math.min(marks.length - 1, Math.max(0, at + step))];
    marks[at].setAttribute("tabindex", "-1");
    next.setAttribute("tabindex", "0");
    next.focus();
  });
}

function paperLink(row, asked) {
  return linkTo(row.id, null, { task: asked.taskName, a: asked.names[asked.a], b: asked.names[asked.b] });
}

function paperAnchor(row, asked) {
  return foreign("a", { href: paperLink(row, asked), title: row.id }, firstWords(row.hypothesis || row.id, 300));
}

function pointList(point, asked) {
  return [
    h("h3", {}, `${counted(point.rows.length, "instance")} with A ${percent(point.x)} and B ${percent(point.y)}`),
    h("ul", {}, point.rows.map((row) => h("li", {}, paperAnchor(row, asked)))),
  ];
}

function differenceTable(points, asked) {
  const all = points.flatMap((point) => point.rows.map((row) => ({ row, ...point, difference: point.x - point.y })));
  const largest = all.filter(({ difference }) => Math.abs(difference) > SAME);
  largest.sort((one, other) => Math.abs(other.difference) - Math.abs(one.difference) || one.row.position - other.row.position);
  if (!largest.length) return h("p", { class: "note" }, "A and B have the same recall on every instance.");
  const shown = largest.slice(0, SCATTER.listed);
  const head = ["hypothesis", "A", "B", "A - B, points"].map((name, position) =>
    h("th", { scope: "col", class: position ? "number" : "" }, name));
  const body = shown.map(({ row, x, y, difference }) => h("tr", {},
    h("th", { scope: "row" }, paperAnchor(row, asked)),
    [percent(x), percent(y), pointsText(difference)].map((text) => h("td", { class: "number" }, text))));
  const caption = `The largest differences, ${shown.length} of ${largest.length}`;
  return h("div", { class: "frame", tabindex: 0, role: "group", "aria-label": caption },
    h("table", {}, h("caption", {}, caption), h("thead", {}, h("tr", {}, head)), h("tbody", {}, body)));
}

function pointsText(difference) {
  return `${difference > 0 ? "+" : ""}${(100 * difference).toFixed(1)}`;
}
