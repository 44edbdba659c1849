// Lets the reader choose a theme: light, dark or the system's; keeps the choice where storage is allowed.

const THEMES = { auto: "automatic", light: "light", dark: "dark" };
const THEME_KEY = "evidencebench-theme";

function setTheme(name) {
  if (name === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  remember(THEME_KEY, name);
}

// A button that goes to the next theme; its text names the current one.
function themeButton() {
  const names = Object.keys(THEMES);
  let current = names.includes(recall(THEME_KEY)) ? recall(THEME_KEY) : "auto";
  const button = h("button.theme-button", { onclick: next });
  show();
  return button;

  function next() {
    current = names[(names.indexOf(current) + 1) % names.length];
    show();
  }

  function show() {
    setTheme(current);
    button.textContent = `Theme: ${THEMES[current]}`;
  }
}
