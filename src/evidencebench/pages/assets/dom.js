// Makes elements. Text is added as text nodes only, so that no text of a paper or a run can become markup.

const SVG_NAMESPACE = "http://www.w3.org/2000/svg";

// Characters that cannot be shown: control characters except tab and line ends, and lone surrogates.
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g;

function cleaned(text) {
  return String(text).toWellFormed().replace(CONTROLS, "\ufffd");
}

// Makes an element; "p.note" is a p of the class "note".
function h(name, attributes = {}, ...children) {
  const [tag, ...classes] = name.split(".");
  const element = document.createElement(tag);
  if (classes.length) element.className = classes.join(" ");
  if (tag === "button") element.type = "button"; // it sends a form only where its type is given
  return fill(element, attributes, children);
}

function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG_NAMESPACE, tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name.replace(/^on/, ""), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, cleaned(value));
  }
  append(element, children);
  return element;
}

function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : cleaned(child));
  }
}

// Text from a paper, a run or a person. Its direction comes from the text, and does not change that of the page.
function foreign(tag, attributes, text) {
  const element = h(tag, { dir: "auto", ...attributes }, text);
  element.classList.add("foreign");
  return element;
}

// Words that a screen reader reads, and a small screen has no room for.
function wide(text) {
  return h("span.wide", {}, text);
}

function percent(value) {
  return value === null || value === undefined ? "–" : `${(100 * value).toFixed(1)} %`;
}

// A difference of points with its sign; a minus, not a hyphen.
function signed(points) {
  const shown = Math.abs(points).toFixed(1);
  return `${points < 0 && Number(shown) ? "−" : "+"}${shown}`;
}

// Cuts a text in the middle, since names that are alike differ at their ends more often.
function shortened(text, most = 36) {
  if (text.length <= most) return text;
  const end = Math.floor((most - 1) / 2);
  return `${text.slice(0, most - 1 - end)}…${text.slice(-end)}`;
}

// Empties the element first, so that a screen reader reads the same text a second time.
function announce(element, text) {
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
function counted(n, noun) {
  return `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;
}
