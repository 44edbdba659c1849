// How well the person has done, beside the systems, on exactly the papers that were submitted.

function ownScores({ summary, means }) {
  const at = (share) => `${100 * share}%`;
  return [
    foreign("p.own-summary", {}, summary),
    h("table.own-scores", {},
      h("caption", {}, "Mean aspect recall in %, over exactly the papers that you submitted. In brackets: 95 % intervals. * A control."),
      h("tbody", {}, means.map(({ label, text, is_you, mean, low, high }) => h("tr", { class: is_you && "own-row" },
        foreign("th", { scope: "row" }, label), h("td", {}, text),
        h("td", {}, svg("svg", { class: "own-chart", "aria-hidden": "true" },
          low !== null && svg("line", { x1: at(low), x2: at(high), y1: 8, y2: 8 }), svg("circle", { cx: at(mean), cy: 8, r: 4 }))))))),
  ];
}
