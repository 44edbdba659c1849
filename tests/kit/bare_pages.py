"""A page in one file that shows the papers of a data set and nothing else: the viewer without report or app."""

from doors import ViewerData, data_elements, one_file, page_parts, script, style

_START = """document.querySelector(".page-head").append(h("p", { class: "page-title" }, document.title), themeButton());
if (readRoute().place !== "papers") history.replaceState(null, "", "#/papers");
window.source = embeddedSource();
showViewer(document.getElementById("viewer"), source);
"""


def bare_page(viewed: ViewerData) -> str:
    """Return the page; its script is the viewer's, with a start of its own."""
    script_text = script("viewer", "embedded_source", start=_START)
    papers = ((viewed.row(*one), viewed.record(*one)) for one in enumerate(viewed.dataset))
    shell = '<header class="page-head"></header>\n<main id="viewer"></main>\n'
    parts = page_parts(style(("tokens", "viewer", "paper")), script_text)
    return one_file(viewed.title, (shell, *data_elements(viewed.overview(), papers)), parts)
