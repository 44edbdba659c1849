// Starts the report: shows the results for one task, or the papers, as the address says.

const reportParts = { results: document.getElementById("results"), papers: document.getElementById("viewer") };
const reportTitle = document.title;
const taskSwitch = document.getElementById("task-switch");
// Links of the file to other parts of it, with their addresses; each gets the query that results and papers share.
const ownLinks = [...document.querySelectorAll('.page-head a, #results a[href^="#"]')].map((link) => [link, link.getAttribute("href")]);
let viewerShown = false;
let sectionShown = null;
let taskShown = null;
let resultsScroll = 0;
let papersLeft = "#/papers"; // where the reader left the papers

startReport();

function startReport() {
  document.querySelector(".page-head").append(themeButton());
  const source = reportParts.papers ? new EmbeddedSource() : null;
  taskSwitch?.querySelector("select").addEventListener("change", (event) => choose({ task: event.target.value }));
  // A link to the section that the address names changes no address.
  for (const [link] of ownLinks) link.addEventListener("click", () => link.hash === location.hash && showSection(readRoute().section));
  const only = reportParts.papers?.dataset.place;
  if (only && readRoute().place !== "papers") history.replaceState(null, "", only);
  onRoute((event) => followReport(source, event.oldURL));
  showPairs(source);
  followReport(source);
}

function followReport(source, left = "") {
  const route = readRoute();
  const place = source ? route.place : "results";
  const returns = reportParts.results.hidden && place === "results";
  const leaves = !reportParts.results.hidden && place === "papers";
  if (leaves) resultsScroll = window.scrollY;
  reportParts.results.hidden = place === "papers";
  if (source) reportParts.papers.hidden = place !== "papers";
  markPlace(place);
  if (returns) papersLeft = new URL(left || location.href).hash || "#/papers";
  updateLinks(place);
  if (place === "papers") {
    if (leaves && left && route.id === null) window.scrollTo(0, 0);
    if (!viewerShown) showViewer(reportParts.papers, source);
    viewerShown = true;
    return;
  }
  showTask(route.query.get("task"));
  if (returns) document.title = reportTitle;
  if (returns && (!route.section || route.section === sectionShown)) window.scrollTo(0, resultsScroll);
  else if (returns || route.section !== sectionShown) showSection(route.section);
  sectionShown = route.section;
}

function updateLinks(place) {
  const query = shared(readRoute().query);
  for (const [link, path] of ownLinks) link.setAttribute("href", withQuery(path, query, {}));
  const papers = document.querySelector('.page-head a[data-place="papers"]');
  if (!papers) return;
  const held = Object.fromEntries(SHARED.map((name) => [name, query.get(name)]));
  const [path] = splitOnce(papersLeft, "?");
  papers.setAttribute("href", place === "papers" ? linkTo(null) : withQuery(path, readRoute(papersLeft).query, held));
}

// Shows of each section the block of the task; an unknown one is replaced by the first. What is read stays in its place.
function showTask(asked) {
  if (!taskSwitch) return;
  const select = taskSwitch.querySelector("select");
  const { value: name } = [...select.options].find(({ value }) => value === asked) ?? select.options[0];
  if (name === taskShown) return;
  taskShown = select.value = name;
  taskSwitch.querySelector(".task-name").textContent = name;
  taskSwitch.hidden = false;
  const top = taskSwitch.getBoundingClientRect().bottom;
  const read = [...reportParts.results.querySelectorAll("section")].find((one) => one.getBoundingClientRect().bottom > top);
  const before = read?.getBoundingClientRect().top;
  for (const block of reportParts.results.querySelectorAll("[data-task]")) block.hidden = block.dataset.task !== name;
  if (read) window.scrollBy(0, read.getBoundingClientRect().top - before);
}

function showSection(name) {
  const section = document.getElementById(name);
  section?.scrollIntoView();
  section?.focus({ preventScroll: true });
}

function markPlace(place) {
  for (const link of document.querySelectorAll(".page-head a[data-place]")) {
    if (link.dataset.place === place) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}
