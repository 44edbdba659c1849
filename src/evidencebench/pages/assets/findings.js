// A page of many findings: its table sorts and filters; a chosen paper stands beside it (below, without scripts).

import { announce, counted, h } from "./dom.js";

const VERDICT_CHOICES = { "": "any verdict", found: "found", unsure: "unsure", none: "none" };

function showFindings(answers) {
  const body = answers.querySelector("tbody");
  const rows = [...body.rows];
  const words = rows.map((row) => row.textContent.toLowerCase());
  const main = document.querySelector("main");
  const status = h("span", { role: "status" });
  const verdict = h("select", { id: "verdict", onchange: filter }, ...Object.entries(VERDICT_CHOICES).map(([value, text]) => h("option", { value }, text)));
  const text = h("input", { id: "words", type: "search", oninput: filter });
  const close = h("button", { hidden: true, onclick: () => (location.hash = "") }, "Close the paper");
  let open = null;

  answers.parentElement.before(h("div.filters", {}, h("label", {}, "Show ", verdict), h("label", {}, "with the words ", text), status, close));
  answers.querySelectorAll("thead th").forEach((head, column) => {
    const name = head.textContent;
    head.replaceChildren(h("button", { onclick: () => sort(head, column), title: `Sort by: ${name}` }, name));
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && open) location.hash = "";
  });
  addEventListener("hashchange", show);
  main.classList.add("is-live");
  filter();
  show();

  function filter() {
    const wanted = text.value.toLowerCase().trim();
    const isShown = rows.map((row, place) => words[place].includes(wanted) && (!verdict.value || row.querySelector(`[data-verdict="${verdict.value}"]`)));
    rows.forEach((row, place) => (row.hidden = !isShown[place]));
    announce(status, `${isShown.filter(Boolean).length} of ${counted(rows.length, "paper")}`);
  }

  // Sorts papers by name, or by the strength of an answer, the strongest first.
  function sort(head, column) {
    for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", column ? "descending" : "ascending");
    const level = (row) => Number(row.cells[column].dataset.level ?? -1);
    rows.sort((a, b) => (column ? level(b) - level(a) : a.cells[0].textContent.localeCompare(b.cells[0].textContent)));
    words.splice(0, words.length, ...rows.map((row) => row.textContent.toLowerCase()));
    body.append(...rows);
  }

  // Shows the paper that the address names; of a question of it, only that answer and its marks.
  function show() {
    const section = document.getElementById(/^#(paper-\d+)/.exec(location.hash)?.[1] ?? "");
    const target = section && document.getElementById(location.hash.slice(1));
    const isSentence = target?.matches("mark");
    if (open !== section) open?.classList.remove("is-open");
    open = section;
    main.classList.toggle("is-beside", open !== null);
    close.hidden = open === null;
    for (const link of answers.querySelectorAll("[aria-current]")) if (!isSentence) link.removeAttribute("aria-current");
    if (open === null) return;
    open.classList.add("is-open");
    if (!isSentence) {
      const number = target?.matches(".answer") ? target.id.split("-").at(-1) : "";
      answers.querySelector(`a[href="${location.hash}"]`)?.setAttribute("aria-current", "true");
      for (const answer of open.querySelectorAll(".answer")) answer.hidden = number !== "" && answer !== target;
      for (const mark of open.querySelectorAll("mark")) mark.classList.toggle("is-other", number !== "" && !mark.dataset.of.split(" ").includes(number));
      open.scrollIntoView();
      return;
    }
    target.scrollIntoView({ block: "center" });
  }
}

showFindings(document.querySelector(".answers"));
