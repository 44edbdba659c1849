// Lists over all papers: the aspects that no system finds, those that only A or only B finds, and a model's replies.

import { counted, foreign, h, longList, setText, shortened } from "./dom.js";
import { firstWords } from "./graded.js";
import { PAGE_SIZE, chosen, folded, go, linkTo, linkToList, namesOf, picker, readRoute, systemMark, unknownIn } from "./route.js";

/* What each place lists: `kinds` are the columns of its table, `first` those that are listed at first (else all), and
   `entriesOf(paper, asked, source)` makes its entries {kind, groups, text, draw}. */
const LISTS = {
  missed: {
    title: "What all systems missed",
    told: "Aspects that count in this task and that a sentence of the paper states. Systems that know the labels are not counted.",
    noun: "aspect", by: "Found by", kinds: { missed: "no system", found: "some system" }, first: ["missed"], sides: [],
    entriesOf: (paper, asked) => aspectEntries(paper, asked, (finds) => (asked.counted.some(finds) ? "found" : "missed")),
  },
  why: {
    title: "Where A and B differ",
    told: "Aspects that count in this task and that a sentence of the paper states. A system finds an aspect if it selects a sentence that states it, even if that sentence counts only with a probability.",
    noun: "aspect", by: "Found by", kinds: { a: "only A", b: "only B", both: "both", neither: "neither" }, first: ["a", "b"], sides: ["a", "b"],
    entriesOf: (paper, asked) => aspectEntries(paper, asked, (finds) => {
      const [a, b] = [asked.a, asked.b].map(finds);
      return a && b ? "both" : a ? "a" : b ? "b" : "neither";
    }),
  },
  replies: {
    title: "Replies of a language model",
    told: "Each links to the paper, with the whole prompt and reply.",
    noun: "answer", by: "Outcome", sides: ["a"],
    kinds: { answered: "answered", empty: "empty", unread: "no readable answer", failed: "failed or missing" },
    entriesOf: replyEntries,
  },
};

// The sections of papers by what their headings say, tried in this order; a heading that says nothing is of the section before it.
const SECTIONS = [
  ["Conclusion", /^\W*(conclu|summary|interpretation|implication)/i],
  ["Results", /result|finding/i],
  ["Discussion", /discussion/i],
  ["Methods", /method|material|procedure|design|patients|subjects|participants|statisti/i],
  ["Introduction", /introduc|background|objective|\baims?\b/i],
];
const LONGEST_HEADING = 8; // words; a longer one is about something else
const WHERE = ["Abstract only", "Abstract and body", "Body only"];
const GROUPS = ["Results aspects", "Other aspects", ...WHERE, ...["Introduction", "Methods", "Results", "Discussion", "Conclusion", "Other"].map((name) => `Section: ${name}`)];
const UNREAD = /\b(unparseable|truncated|refused): /;
const REDRAW_MS = 100;

function sectionsOf({ sentences, kinds }) {
  let section = "Other";
  return sentences.map((text, index) => {
    if (kinds[index] === "a") return "Abstract";
    if (kinds[index] === "h" && text.trim().split(/\s+/).length <= LONGEST_HEADING)
      section = SECTIONS.find(([, words]) => words.test(text))?.[0] ?? section;
    return section;
  });
}

// What the lists keep of a paper: its aspects that a sentence states, with these sentences and the rows that count them.
function keptOf({ paper, aspects, answers, terms, spent }) {
  const sections = sectionsOf(paper);
  const kept = aspects.map((aspect, number) => {
    const stating = aspect.sentences.filter((index) => index < sections.length);
    const inBody = new Set(stating.map((index) => sections[index]));
    const where = inBody.delete("Abstract") ? Number(inBody.size > 0) : 2;
    const groups = [GROUPS[aspect.is_result ? 0 : 1], WHERE[where], ...[...inBody].map((name) => `Section: ${name}`)];
    return { ...aspect, number, groups, sentences: stating.map((index) => ({ index, text: paper.sentences[index], section: sections[index] })) };
  });
  return { id: paper.id, hypothesis: paper.hypothesis, answers, terms, spent, aspects: kept.filter(({ sentences }) => sentences.length) };
}

function aspectEntries(paper, { overview, task }, kindOf) {
  if (!paper.terms[task]) return [];
  const chose = paper.answers.map((of) => [...(of[task]?.certain ?? []), ...(of[task]?.tied ?? [])]);
  const counting = paper.aspects.filter((aspect) => overview.tasks[task].scope === "all" || aspect.is_result);
  return counting.map((aspect) => {
    const finds = (system) => aspect.sentences.some(({ index }) => chose[system]?.includes(index));
    return {
      kind: kindOf(finds),
      groups: aspect.groups,
      text: () => [aspect.text, paper.hypothesis, ...aspect.sentences.map(({ text }) => text)].join(" "),
      draw: () => aspectItem(paper, aspect, overview.systems.filter((system, at) => !system.knows_labels && finds(at))),
    };
  });
}

function aspectItem(paper, { number, text, is_result: isResult, sentences }, finders) {
  const link = (words, index) => foreign("a", { href: linkTo(paper.id, index, { aspect: number }) }, words);
  return h("li", {},
    text !== null && foreign("p.listed-text", {}, text),
    h("p.listed-facts", {}, `Aspect ${number}${isResult ? " (Results)" : ""} of `, link(firstWords(paper.hypothesis, 160) || paper.id, sentences[0].index),
      " · found by ", foreign("span", {}, finders.map(({ label }) => shortened(label)).join(", ") || "none")),
    h("ul", {}, sentences.map(({ index, text: said, section }) =>
      h("li", {}, foreign("span", {}, firstWords(said, 600)), " ", link(`${section === "Other" ? "" : `${section}, `}sentence ${index}`, index)))));
}

async function replyEntries(paper, { overview, task, a }, source) {
  const answer = paper.answers[a]?.[task];
  if (!paper.spent?.[a] || !answer) return [];
  const { status, error } = answer;
  const asked = overview.has_exchanges ? await source.exchanges(paper.id, a, task) : { requests: [], note: "" };
  const replies = asked.requests.flatMap(({ texts }) => texts.filter(({ name }) => name === "Reply").map(({ text }) => text));
  const kind = status === "answered" || status === "empty" ? status : UNREAD.test(error ?? "") ? "unread" : "failed";
  return [{
    kind,
    groups: [],
    text: () => [paper.hypothesis, error, ...replies].join(" "),
    draw: () => h("li", {},
      foreign("a", { href: linkTo(paper.id, null, { a: overview.systems[a].label, asked: "a" }) }, firstWords(paper.hypothesis, 300) || paper.id),
      h("p.listed-facts", {}, [status, paper.spent[a][task], asked.note].filter(Boolean).join("; ")),
      error && foreign("p.listed-facts", {}, firstWords(error, 600)),
      replies.length > 0 && foreign("pre", {}, firstWords(replies.at(-1), 1200))),
  }];
}

// Draws the list that the address names, and goes on as more papers are read.
export function aspectLists(root, source) {
  const pieces = []; // the papers that are read, as promises
  let held = { key: null };
  return { follow };

  async function follow() {
    const route = readRoute();
    const overview = await source.overview();
    const { task, a, b } = chosen(overview, route);
    const asking = [...overview.systems.keys()].filter((at) => overview.systems[at].asks_model);
    const first = route.place === "replies" && !asking.includes(a) ? (asking[0] ?? null) : a;
    const counting = [...overview.systems.keys()].filter((at) => overview.systems[at].is_counted);
    const asked = { overview, task, counted: counting, a: first, b: b ?? overview.systems.findIndex((_, at) => at !== first) };
    const key = JSON.stringify([route.place, task, asked.a, asked.b]);
    const isNew = held.key !== key;
    if (isNew) {
      const at = [...root.querySelectorAll("select")].indexOf(document.activeElement);
      held = { key, page: pageOfList(root, route.place, asked, asking), entries: [], n_read: 0 };
      (root.querySelectorAll("select")[at] ?? root.querySelector("h1")).focus({ preventScroll: true });
    }
    held.page.update(route, held);
    document.title = `${LISTS[route.place].title} · ${overview.title}`;
    if (isNew) await read(held, LISTS[route.place], asked);
  }

  async function read(mine, { entriesOf }, asked) {
    let due = performance.now() + REDRAW_MS;
    for (let number = 0; ; number += 1) {
      pieces[number] ??= source.records(number).then((records) => records.map(keptOf));
      const papers = await pieces[number];
      for (const paper of papers) mine.entries.push(...(await entriesOf(paper, asked, source)));
      if (held !== mine) return; // the reader has gone to another list
      mine.n_read += papers.length;
      if (papers.length && performance.now() < due) continue;
      const route = readRoute();
      if (LISTS[route.place]) mine.page.update(route, mine); // else the reader has opened a paper
      if (!papers.length) return;
      await new Promise((resume) => setTimeout(resume));
      due = performance.now() + REDRAW_MS;
    }
  }
}

// The parts of a list's page; `update(route, {entries, n_read})` shows what the address asks of its entries.
function pageOfList(root, place, asked, asking) {
  const list = LISTS[place];
  const { overview, task } = asked;
  const names = namesOf(overview);
  const to = (changes) => linkToList(place, changes);
  const isPair = list.sides.length > 1;
  const choices = list.sides.map((key) => {
    const offered = (isPair ? [...names.keys()] : asking).map((at) => [names[at], shortened(names[at]), names[at]]);
    const made = picker(isPair ? `System ${key.toUpperCase()}` : "System", offered, (name) => go(to({ [key]: name })), isPair && systemMark(key));
    made.select.value = names[asked[key]] ?? "";
    return made.label;
  });
  const about = [...list.sides.map((key) => `${isPair ? `${key.toUpperCase()}: ` : ""}${shortened(names[asked[key]] ?? "none")}`), overview.tasks[task].title || overview.tasks[task].name].join(", ");
  const tasks = picker("Task", overview.tasks.map(({ name, title }) => [name, title || name]), (name) => go(to({ task: name })));
  tasks.select.value = overview.tasks[task].name;
  const first = list.first ?? Object.keys(list.kinds);
  const entriesOfKinds = Object.entries(list.kinds).filter(([kind]) => String(first) !== kind);
  const kinds = picker(list.by, [["", list.first?.map((kind) => list.kinds[kind]).join(", or ") ?? "all"], ...entriesOfKinds], (kind) => go(to({ kind: kind || null })));
  const groups = picker("Where", [["", "everywhere"], ...GROUPS.map((name) => [name, name])], (group) => go(to({ group: group || null })));
  const search = h("input", { type: "search", maxlength: 1000, oninput: () => go(to({ q: search.value.trim() || null }), { replaces: true }) });
  const unknown = h("p.task-told", { role: "status" });
  const told = h("p", { role: "status" });
  const table = h("tbody");
  const items = longList("ol.listed", PAGE_SIZE, (entry) => entry.draw());
  const head = h("thead", {}, h("tr", {}, h("td"), Object.values(list.kinds).map((words) => h("th.number", { scope: "col" }, words))));
  let shown = null; // what is asked of the entries
  const hasGroups = list.noun === "aspect";
  const form = (...pickers) => h("form.pair-choices", { role: "search", onsubmit: (event) => event.preventDefault() }, pickers);
  root.replaceChildren(h("div", {},
    h("h1", { tabindex: "-1" }, list.title), h("p.note", {}, list.told), unknown,
    form(overview.tasks.length > 1 && tasks.label, choices),
    h("div.listed-columns", {},
      h("div", {},
        h("div.frame", { tabindex: 0, role: "group", "aria-label": "How many" },
          h("table.listed-counts", {}, foreign("caption", {}, `${about}. Click a number to list what it counts.`), head, table)),
        hasGroups && h("p.note", {}, "An aspect that several sections state is counted in each.")),
      h("div", {},
        form(kinds.label, hasGroups && groups.label, h("label.picker", {}, h("span.picker-name", {}, "Words"), search)),
        told, items.list, items.more))));
  return { update };

  function update(route, { entries, n_read: nRead }) {
    const [kind, group, q] = ["kind", "group", "q"].map((name) => route.query.get(name) ?? "");
    const known = { kind: Object.keys(list.kinds), group: GROUPS, a: names, b: names, task: overview.tasks.map(({ name }) => name) };
    unknown.textContent = unknownIn(route, known);
    const isOf = (one) => (known.kind.includes(kind) ? one.kind === kind : first.includes(one.kind)) && (!GROUPS.includes(group) || one.groups.includes(group));
    const words = folded(q).split(/\s+/).filter(Boolean);
    const holds = (text) => words.every((word) => text.includes(word));
    const fitting = entries.filter((one) => isOf(one) && (!words.length || holds(folded(one.text()))));
    kinds.select.value = known.kind.includes(kind) && kind !== String(first) ? kind : "";
    groups.select.value = GROUPS.includes(group) ? group : "";
    if (search.value.trim() !== q) search.value = q;
    const focused = [...table.querySelectorAll("td > *")].indexOf(document.activeElement);
    table.replaceChildren(...countRows(entries, list, { kind, group }, to));
    table.querySelectorAll("td > *")[focused]?.focus();
    const rest = nRead < overview.n_instances ? `; read ${nRead.toLocaleString("en")} of ${counted(overview.n_instances, "instance")} so far` : "";
    setText(told, `${fitting.length.toLocaleString("en")} of ${counted(entries.length, list.noun)}${rest}`);
    const key = JSON.stringify([kind, group, q]);
    items.show(fitting, shown !== key);
    shown = key;
  }
}

// A row for all entries and for each group that has some, a number for each kind; it lists what it counts.
function countRows(entries, list, chosenNow, to) {
  const counts = new Map(["", ...GROUPS].map((group) => [group, Object.fromEntries(Object.keys(list.kinds).map((kind) => [kind, 0]))]));
  for (const { kind, groups } of entries) for (const group of ["", ...groups]) counts.get(group)[kind] += 1;
  const rows = [...counts].filter(([group, of]) => !group || Object.values(of).some(Boolean));
  return rows.map(([group, of]) => h("tr", {}, h("th", { scope: "row" }, group || "All"), Object.entries(of).map(([kind, n]) => {
    const isChosen = chosenNow.kind === kind && chosenNow.group === group;
    const link = { href: to({ kind, group: group || null }), "aria-current": isChosen && "true" };
    return h("td.number", {}, n ? h("a", link, n.toLocaleString("en")) : h("span", {}, 0));
  })));
}
