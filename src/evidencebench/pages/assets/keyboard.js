// Single-key shortcuts, the dialog that names them, and the switch that turns them off (WCAG 2.1.4).

import { h, recall, remember } from "./dom.js";

const KEYS_SWITCH = "evidencebench-keys";
const TYPING = "input, textarea, select, [contenteditable]";

/* A command is {keys, name, run}, and `on` where it holds only while an element of that selector has the focus. Escape,
   "?" and keys with Ctrl (on a Mac Cmd) work also where single keys are off. */
export function listenToKeys(root, commands) {
  let isOn = recall(KEYS_SWITCH) !== "off";
  let dialog = makeDialog();
  root.append(dialog);
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.altKey || event.isComposing) return;
    if (!root.checkVisibility() || document.querySelector("dialog[open]")) return;
    const isControl = event.ctrlKey || event.metaKey;
    const key = isControl ? `Ctrl+${event.shiftKey ? "Shift+" : ""}${event.key.toUpperCase()}` : event.key;
    if (key === "Escape" && event.target.matches?.("textarea")) event.target.blur();
    if (event.target.closest?.(TYPING) || (!isOn && !isControl && key !== "Escape")) return;
    const holds = ({ keys, on }) => keys.includes(key) && (!on || event.target.matches?.(on));
    const command = key === "?" ? { run: open } : commands.find(holds);
    if (!command) return;
    event.preventDefault();
    command.run(event.key);
  });
  return { open, use };

  function makeDialog() {
    const box = h("input", { type: "checkbox", onchange: () => { isOn = box.checked; remember(KEYS_SWITCH, isOn ? "on" : "off"); } });
    box.checked = isOn;
    return h("dialog.key-dialog", { "aria-labelledby": "key-title" },
      h("h2", { id: "key-title" }, "Keyboard"),
      h("label.key-switch", {}, box, "Single-key shortcuts on"),
      h("table", {},
        h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Key"), h("th", { scope: "col" }, "What it does"))),
        h("tbody", {}, [...commands, { keys: ["?"], name: "open this list" }].map(({ keys, name }) => h("tr", {},
          h("td", {}, keys.map((key, n) => [n ? " or " : "", h("kbd", {}, key === "Escape" ? "Esc" : key)])), h("td", {}, name))))),
      h("button", { onclick: () => dialog.close() }, "Close"));
  }

  // Replaces the commands.
  function use(others) {
    commands = others;
    const made = makeDialog();
    dialog.replaceWith(made);
    dialog = made;
  }

  function open() {
    dialog.showModal();
  }
}
