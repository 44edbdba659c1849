// The bar above list and paper: the task, the two systems, and help for the keyboard.

// Changes the given parameters of the address; its place and other parameters stay.
function choose(changes) {
  const { place, section, id, sentence } = readRoute();
  go(place === "papers" ? linkTo(id, sentence, changes) : linkToResults(section, changes));
}

function taskTitle(task) {
  return task.title || task.name;
}

// A list to choose from. Entries are [value, text, full name where the text is cut]; the listener gets the value.
function picker(name, entries, onchange, mark = null) {
  const select = h("select", { onchange: () => onchange(select.value) }, entries.map(optionOf));
  const label = h("label", { class: "picker" }, h("span", { class: "picker-name" }, mark, name), select);
  return { label, select };
}

function optionOf([value, text, title = null]) {
  return h("option", { value, dir: "auto", title }, text);
}

// A is a circle and B a square on every page, so that they differ in shape as well as in colour.
function systemMark(letter) {
  const mark = letter === "a" ? "●" : "■";
  return h("span", { class: `system-mark system-mark-${letter}`, "aria-hidden": "true" }, mark);
}

function choiceBar(overview, helpButton) {
  const names = systemNames(overview);
  const systems = names.map((name, n) => {
    const { unfinished } = overview.systems[n];
    return [name, `${shortened(name)}${unfinished && ` (${unfinished} answered)`}`, name];
  });
  const tasks = overview.tasks.map((task) => [task.name, taskTitle(task)]);
  const task = picker("Task", tasks, (name) => choose({ task: name }));
  const taskName = foreign("code", { class: "task-name" }, "");
  task.label.firstChild.append(" ", taskName);
  const a = picker([wide("System "), "A"], systems, (name) => choose({ a: name }), systemMark("a"));
  const b = picker([wide("System "), "B"], [["", "none"], ...systems], (name) => choose({ b: name }), systemMark("b"));
  const title = "Swap A and B";
  const swap = h("button", { class: "swap", "aria-label": title, title, onclick: () => swapSystems(overview) }, "⇄");
  if (!systems.length) a.select.append(optionOf(["", "none"]));
  const element = h("div", { class: "choice-bar", role: "group", "aria-label": "What is compared" },
    task.label, a.label, swap, b.label, helpButton);
  return { element, update };

  function update(state) {
    task.select.value = overview.tasks[state.task]?.name ?? "";
    a.select.value = state.a === null ? "" : names[state.a];
    b.select.value = state.b === null ? "" : names[state.b];
    for (const { select } of [a, b]) select.title = select.value;
    taskName.textContent = task.select.value;
    swap.disabled = state.a === null || state.b === null;
  }
}

function swapSystems(overview) {
  const names = systemNames(overview);
  const { a, b } = chosen(overview, readRoute());
  if (a !== null && b !== null) choose({ a: names[b], b: names[a] });
}

// Chooses the next system as A or B; after the last one, B becomes "none".
function cycleSystem(overview, letter) {
  const names = letter === "b" ? [...systemNames(overview), ""] : systemNames(overview);
  if (!names.length) return;
  const position = chosen(overview, readRoute())[letter] ?? names.length - 1;
  choose({ [letter]: names[(position + 1) % names.length] });
}

function cycleTask(overview) {
  if (!overview.tasks.length) return;
  const { task } = chosen(overview, readRoute());
  choose({ task: overview.tasks[(task + 1) % overview.tasks.length].name });
}
