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
  const label = h("label.picker", {}, h("span.picker-name", {}, mark, name), select);
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
  const names = namesOf(overview);
  const systems = names.map((name, n) => {
    const { unfinished } = overview.systems[n];
    return [name, `${shortened(name)}${unfinished && ` (${unfinished} done)`}`, name];
  });
  const tasks = overview.tasks.map((task) => [task.name, taskTitle(task)]);
  const task = picker("Task", tasks, (name) => choose({ task: name }));
  const taskName = foreign("code.task-name", {}, "");
  task.label.firstChild.append(" ", taskName);
  const a = picker([wide("System "), "A"], systems, (name) => choose({ a: name }), systemMark("a"));
  const b = picker([wide("System "), "B"], [["", "none"], ...systems], (name) => choose({ b: name }), systemMark("b"));
  const title = "Swap A and B";
  const swap = h("button.swap", { "aria-label": title, title, onclick: () => swapSystems(overview) }, "⇄");
  if (!systems.length) a.select.append(optionOf(["", "none"]));
  const element = h("div.choice-bar", { role: "group", "aria-label": "What is compared" },
    task.label, a.label, swap, b.label, helpButton);
  return { element, update };

  function update(state) {
    task.select.value = overview.tasks[state.task]?.name ?? "";
    for (const [key, { select }] of Object.entries({ a, b })) select.value = select.title = names[state[key]] ?? "";
    taskName.textContent = task.select.value;
    swap.disabled = state.a === null || state.b === null;
  }
}

function swapSystems(overview) {
  const names = namesOf(overview);
  const { a, b } = chosen(overview, readRoute());
  if (a !== null && b !== null) choose({ a: names[b], b: names[a] });
}

// Chooses the next task, or the next system as A or B; after the last one, B becomes "none".
function cycle(overview, key) {
  const systems = namesOf(overview);
  const names = { task: overview.tasks.map(({ name }) => name), a: systems, b: [...systems, ""] }[key];
  if (!names.length) return;
  const position = chosen(overview, readRoute())[key] ?? names.length - 1;
  choose({ [key]: names[(position + 1) % names.length] });
}
