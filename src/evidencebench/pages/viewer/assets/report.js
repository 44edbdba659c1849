// Starts the report: shows the results, or the papers where the address names them; opens all parts for print.

const reportParts = { results: document.getElementById("results"), papers: document.getElementById("viewer") };
const reportTitle = document.title;
let viewerShown = false;
let resultsScroll = 0;
let papersLeft = "#/papers"; // where the reader left the papers

startReport();

function startReport() {
  document.querySelector(".page-head").append(themeButton());
  window.addEventListener("beforeprint", openForPrint);
  window.addEventListener("afterprint", closeAfterPrint);
  const scatter = document.getElementById("scatter-plot");
  if (reportParts.papers) {
    const source = new EmbeddedSource();
    onRoute((event) => followReport(source, event.oldURL));
    papersLink()?.addEventListener("click", (event) => {
      event.currentTarget.href = readRoute().place === "papers" ? linkTo(null) : papersLeft;
    });
    if (scatter) showScatter(scatter, source);
    followReport(source);
  } else {
    markPlace("results");
  }
}

function followReport(source, left = "") {
  const { place } = readRoute();
  const before = reportParts.results.hidden ? "papers" : "results";
  if (before === "results" && place === "papers") resultsScroll = window.scrollY;
  reportParts.results.hidden = place === "papers";
  reportParts.papers.hidden = place !== "papers";
  markPlace(place);
  if (place === "papers" && !viewerShown) {
    viewerShown = true;
    showViewer(reportParts.papers, source);
  }
  if (place === "results" && before === "papers") {
    papersLeft = new URL(left || location.href).hash || "#/papers";
    returnToResults();
  }
}

function papersLink() {
  return document.querySelector('.page-head a[data-place="papers"]');
}

// Scrolls to the section of the link; without one, to where the reader left the results.
function returnToResults() {
  document.title = reportTitle;
  const section = location.hash.length > 1 ? document.getElementById(decodePart(location.hash.slice(1))) : null;
  if (section) section.scrollIntoView();
  else window.scrollTo(0, resultsScroll);
}

function markPlace(place) {
  for (const link of document.querySelectorAll(".page-head a[data-place]")) {
    if (link.dataset.place === place) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

function openForPrint() {
  for (const part of reportParts.results.querySelectorAll("details:not([open])")) {
    part.open = true;
    part.dataset.closed = "";
  }
  document.documentElement.dataset.themeBefore = document.documentElement.dataset.theme ?? "";
  document.documentElement.dataset.theme = "light";
}

function closeAfterPrint() {
  for (const part of reportParts.results.querySelectorAll("details[data-closed]")) {
    part.open = false;
    delete part.dataset.closed;
  }
  const before = document.documentElement.dataset.themeBefore;
  delete document.documentElement.dataset.themeBefore;
  if (before) document.documentElement.dataset.theme = before;
  else delete document.documentElement.dataset.theme;
}
