// Makes elements. Text is added as text nodes only, so that no text of a paper or a run can become markup.

const SVG_NAMESPACE = "http://www.w3.org/2000/svg";

// Characters that cannot be shown: control characters except tab and line ends, and lone surrogates.
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g;

export function cleaned(text) {
  return String(text).toWellFormed().replace(CONTROLS, "\ufffd");
}

// Makes an element; "p.note" is a p of the class "note".
export function h(name, attributes = {}, ...children) {
  const [tag, ...classes] = name.split(".");
  const element = document.createElement(tag);
  if (classes.length) element.className = classes.join(" ");
  if (tag === "button") element.type = "button"; // it sends a form only where its type is given
  return fill(element, attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG_NAMESPACE, tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name.replace(/^on/, ""), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, cleaned(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : cleaned(child));
  }
  return element;
}

// Text from a paper, a run or a person. Its direction comes from the text, and does not change that of the page.
export function foreign(tag, attributes, text) {
  const element = h(tag, { dir: "auto", ...attributes }, text);
  element.classList.add("foreign");
  return element;
}

// Words that a screen reader reads, and a small screen has no room for.
export function wide(text) {
  return h("span.wide", {}, text);
}

// A sign for small screens, which show it in place of the words.
export function iconed(sign, words) {
  return [h("span.icon", { "aria-hidden": "true" }, sign), wide(words)];
}

export function percent(value) {
  return value === null || value === undefined ? "–" : `${(100 * value).toFixed(1)} %`;
}

// A difference of points with its sign; a minus, not a hyphen.
export function signed(points) {
  const shown = Math.abs(points).toFixed(1);
  return `${points < 0 && Number(shown) ? "−" : "+"}${shown}`;
}

// Cuts a text in the middle, since names that are alike differ at their ends more often.
export function shortened(text, most = 36) {
  if (text.length <= most) return text;
  const end = Math.floor((most - 1) / 2);
  return `${text.slice(0, most - 1 - end)}…${text.slice(-end)}`;
}

// Empties the element first, so that a screen reader reads the same text a second time.
export function announce(element, text) {
  if (element.textContent !== text) {
    element.textContent = text;
    return;
  }
  element.textContent = "";
  setTimeout(() => {
    if (!element.textContent) element.textContent = text;
  }, 50);
}

// "1 sentence", "2,000 sentences".
export function counted(n, noun) {
  return `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;
}

export function saveFile(name, type, parts) {
  const address = URL.createObjectURL(new Blob(parts, { type }));
  h("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000); // a browser may ask the reader first
}

// A figure is saved as a file of its own, which has the looks of the chart's parts in attributes, since the page's style is not in it.
export function addSaving(figure) {
  figure.querySelector("figcaption").append(h("button", { onclick: () => {
    const drawn = [...figure.querySelectorAll("svg.chart")].find((one) => one.checkVisibility());
    const [copy, parts] = [drawn.cloneNode(true), [drawn, ...drawn.querySelectorAll("*")]];
    [copy, ...copy.querySelectorAll("*")].forEach((part, at) => {
      for (const name of ["class", "tabindex", "href"]) part.removeAttribute(name);
      for (const name of LOOKS) part.setAttribute(name, getComputedStyle(parts[at]).getPropertyValue(name));
    });
    const { width, height } = drawn.viewBox.baseVal;
    copy.prepend(svg("rect", { width, height, fill: getComputedStyle(document.body).backgroundColor }));
    fill(copy, { xmlns: SVG_NAMESPACE, width, height }, []);
    const named = [figure.closest("section").querySelector("h2"), drawn.querySelector(":scope > title")].filter(Boolean);
    saveFile(`${named.map((one) => one.textContent).join(", ")}.svg`, "image/svg+xml", [new XMLSerializer().serializeToString(copy)]);
  } }, "Save as SVG"));
}

const LOOKS = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "opacity", "font-family", "font-size", "font-weight", "display"];

// Keeps the reader's choices in the browser: in "localStorage", or in "sessionStorage" for this tab only.

// A browser may refuse storage to a page from a file or in a private window; then nothing is kept.
export function recall(key, storage = "localStorage") {
  try {
    return window[storage].getItem(key);
  } catch {
    return null;
  }
}

export function remember(key, value, storage = "localStorage") {
  try {
    if (value === null) window[storage].removeItem(key);
    else window[storage].setItem(key, value);
  } catch {
    // The choice holds until the page is left.
  }
}

// Lets the reader choose a theme: light, dark or the system's; keeps the choice where storage is allowed.

const THEMES = { auto: "automatic", light: "light", dark: "dark" };
const THEME_KEY = "evidencebench-theme";

// A button that goes to the next theme; its text names the current one.
export function themeButton() {
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
    document.documentElement.dataset.theme = current;
    remember(THEME_KEY, current);
    button.title = `Theme: ${THEMES[current]}`;
    button.replaceChildren(...iconed("◐", button.title));
  }
}

// Unpacks what a page in one file holds: `compressed` of pages/html.py packed it.

export async function unpacked(text) {
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let at = 0; at < letters.length; at += 1) bytes[at] = letters.charCodeAt(at);
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
}
