// A page of many findings: its table sorts and filters; a chosen paper stands beside it (below, without scripts).

import { announce, counted, h } from "./dom.js";

const VERDICT_CHOICES = { "": "any verdict", found: "found", unsure: "unsure", none: "none" };

function showFindings(answers) {
  const body = answers.querySelector("tbody");
  const rows = [...body.rows];
  const words = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));
  const main = document.querySelector("main");
  const status = h("span", { role: "status" });
  const verdict = h("select", { id: "verdict", onchange: filter }, ...Object.entries(VERDICT_CHOICES).map(([value, text]) => h("option", { value }, text)));
  const text = h("input", { id: "words", type: "search", oninput: filter });
  const close = h("button", { hidden: true, onclick: shut }, "Close the paper");
  let shown = null;

  answers.parentElement.before(h("div.filters", {}, h("label", {}, "Show ", verdict), h("label", {}, "containing ", text), status, close));
  answers.querySelectorAll("thead th").forEach((head, column) => {
    const name = head.textContent;
    head.replaceChildren(h("button", { onclick: () => sort(head, column), title: `Sort by: ${name}` }, name));
  });
  document.addEventListener("keydown", ({ key }) => key === "Escape" && shown && shut());
  answers.addEventListener("click", ({ target }) => target.hash && target.hash === location.hash && show());
  main.addEventListener("toggle", follow, { capture: true });
  addEventListener("hashchange", show);
  main.classList.add("is-live");
  filter();
  show();

  function filter() {
    const wanted = text.value.toLowerCase().trim();
    for (const row of rows) row.hidden = !words.get(row).includes(wanted) || Boolean(verdict.value && !row.querySelector(`[data-verdict="${verdict.value}"]`));
    announce(status, `${rows.filter((row) => !row.hidden).length} of ${counted(rows.length, "paper")}`);
  }

  // Sorts papers by name, or by the strength of an answer, the strongest first.
  function sort(head, column) {
    for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", column ? "descending" : "ascending");
    const level = (row) => Number(row.cells[column].dataset.level ?? -1);
    rows.sort((a, b) => (column ? level(b) - level(a) : a.cells[0].textContent.localeCompare(b.cells[0].textContent)));
    body.append(...rows);
  }

  // Shows the paper that the address names; of a question of it, only that answer and its marks.
  function show() {
    const target = document.getElementById(location.hash.slice(1));
    open(target?.closest("details") ?? null);
    if (target?.matches("mark")) return target.scrollIntoView({ block: "center" });
    answers.querySelector("[aria-current]")?.removeAttribute("aria-current");
    if (!shown) return;
    answers.querySelector(`a[href="${location.hash}"]`)?.setAttribute("aria-current", "true");
    const number = target.matches(".answer") && target.id.split("-").at(-1);
    for (const answer of shown.querySelectorAll(".answer")) answer.hidden = number && answer !== target;
    for (const mark of shown.querySelectorAll("mark")) mark.classList.toggle("is-other", number && !mark.dataset.of.split(" ").includes(number));
    shown.scrollIntoView();
  }

  function open(paper) {
    if (shown && shown !== paper) shown.open = false;
    if (paper) paper.open = true;
    shown = paper;
    main.classList.toggle("is-beside", Boolean(paper));
    close.hidden = !paper;
  }

  // Follows a paper that its summary closed, or in which the browser found words: these stay where they are on the screen.
  function follow({ target }) {
    if (!target.open && target === shown) shut();
    if (!target.open || target === shown) return;
    const { top } = target.getBoundingClientRect();
    open(target);
    scrollBy(0, target.getBoundingClientRect().top - top);
  }

  function shut() {
    location.hash = "";
    show();
  }
}

showFindings(document.querySelector(".answers"));
