// How well the person has done, beside the systems, on exactly the papers that were submitted.

function ownScores(means, n) {
  const ordered = means.toSorted((one, other) => other.mean - one.mean);
  const others = ordered.filter(({ is_you, label }) => !is_you && label !== "oracle");
  const runs = others.filter(({ is_control }) => !is_control);
  const said = [means[0], ...(runs.length ? runs : others)].map(({ label, mean }, place) =>
    [place ? ", " : "", foreign("bdi", {}, shortened(label)), ` ${points(mean)}`]);
  return [
    h("p", { class: "own-summary" }, said, ` on your ${counted(n, "paper")}.`),
    h("table", { class: "own-scores" },
      h("caption", {}, "Mean aspect recall in %, over exactly the papers that you submitted",
        means[0].low === null ? "; one paper has no interval." : ", with their 95 % intervals.", " * A control."),
      h("thead", {}, h("tr", {}, ["System", "Recall, %", "0 to 100 %"].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, ordered.map(ownRow))),
  ];
}

function ownRow({ label, is_you, is_control, mean, low, high, missing }) {
  const at = (share) => `${100 * share}%`;
  return h("tr", { class: is_you && "own-row" },
    h("th", { scope: "row" }, foreign("bdi", {}, label), is_control && " *", missing > 0 && ` (lacks ${counted(missing, "answer")}: 0)`),
    h("td", {}, points(mean), low !== null && ` [${points(low)}, ${points(high)}]`),
    h("td", {}, svg("svg", { class: "own-chart", "aria-hidden": "true" },
      low !== null && svg("line", { x1: at(low), x2: at(high), y1: 8, y2: 8 }), svg("circle", { cx: at(mean), cy: 8, r: 4 }))));
}

function points(share) {
  return (100 * share).toFixed(1);
}
