// Single-key shortcuts, the dialog that names them, and the switch that turns them off (WCAG 2.1.4).

const KEYS_SWITCH = "evidencebench-keys";
const TYPING = "input, textarea, select, [contenteditable]";

// A command is {keys, name, run}. Escape and "?" work also where single keys are off.
function listenToKeys(root, commands) {
  let isOn = recall(KEYS_SWITCH) !== "off";
  const dialog = keyDialog(commands, () => isOn, (value) => {
    isOn = value;
    remember(KEYS_SWITCH, value ? "on" : "off");
  });
  root.append(dialog);
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (!root.checkVisibility() || document.querySelector("dialog[open]")) return;
    if (event.target.closest?.(TYPING) || (!isOn && event.key !== "Escape")) return;
    const command = event.key === "?" ? { run: open } : commands.find(({ keys }) => keys.includes(event.key));
    if (!command) return;
    event.preventDefault();
    command.run();
  });
  return { open };

  function open() {
    dialog.showModal();
  }
}

function keyDialog(commands, isOn, turn) {
  const box = h("input", { type: "checkbox", onchange: () => turn(box.checked) });
  box.checked = isOn();
  const dialog = h("dialog", { class: "key-dialog", "aria-labelledby": "key-title" },
    h("h2", { id: "key-title" }, "Keyboard"),
    h("label", { class: "key-switch" }, box, "Single-key shortcuts on"),
    h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Key"), h("th", { scope: "col" }, "What it does"))),
      h("tbody", {}, [...commands, { keys: ["?"], name: "open this list" }].map(keyRow))),
    h("button", { type: "button", onclick: () => dialog.close() }, "Close"));
  return dialog;
}

function keyRow({ keys, name }) {
  const shown = keys.map((key, n) => [n ? " or " : "", h("kbd", {}, key === "Escape" ? "Esc" : key)]);
  return h("tr", {}, h("td", {}, shown), h("td", {}, name));
}
