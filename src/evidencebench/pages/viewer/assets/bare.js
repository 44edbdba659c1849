// Starts a page that holds papers and nothing else.

document.querySelector(".page-head")?.append(h("p", { class: "page-title" }, document.title), themeButton());
if (readRoute().place !== "papers") history.replaceState(null, "", "#/papers");
showViewer(document.getElementById("viewer"), new EmbeddedSource());
