"""The report in a real Chromium: by mouse, by keyboard, on a small screen, dark, and printed."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pypdfium2
import pytest
from playwright.sync_api import Page, expect

from doors import report_page
from evidencebench import TASKS, Resampling, execute, load_sample
from kit.browsing import NewPage, address_of, assert_accessible, assert_fits, box_of, open_report
from kit.report_pages import header_of, made, record, run_at

SAMPLE = load_sample()
HOSTILE = "\u202e</script><img src=x onerror='window.owned=1'><svg onload=window.owned=1>\x00"
OPEN_ALL = "document.querySelectorAll('details').forEach((one) => { one.open = true; })"


def test_results_and_papers_take_turns_back_goes_back_and_a_link_leads_to_a_section_even_from_a_paper(
    opened: Page,
) -> None:
    expect(opened.get_by_role("heading", level=1)).to_have_text("Two rankings")
    expect(opened.locator("#viewer")).to_be_hidden()
    opened.get_by_role("link", name="Papers", exact=True).click()
    expect(opened.locator("a.row-link")).to_have_count(len(SAMPLE))
    expect(opened.locator("#results")).to_be_hidden()
    expect(opened.get_by_role("link", name="Papers", exact=True)).to_have_attribute("aria-current", "page")
    opened.go_back()
    expect(opened.locator("#results")).to_be_visible()
    expect(opened.locator("#viewer")).to_be_hidden()
    expect(opened.get_by_role("link", name="Results", exact=True)).to_have_attribute("aria-current", "page")
    opened.get_by_role("link", name="Does it use the hypothesis?").click()
    expect(opened.locator("#hypotheses h2")).to_be_in_viewport()
    opened.evaluate("location.hash = '#/papers'")
    expect(opened.locator("#results")).to_be_hidden()
    opened.evaluate("location.hash = '#signatures'")
    expect(opened.locator("#signatures h2")).to_be_in_viewport()
    opened.go_back()
    opened.go_back()
    expect(opened.locator("#hypotheses h2")).to_be_in_viewport()


def shown_tasks(page: Page) -> set[str]:
    """Return the names of the tasks whose blocks are shown."""
    blocks = page.locator("#results [data-task]").all()
    return {block.get_attribute("data-task") or "" for block in blocks if block.is_visible()}


def test_one_switch_chooses_the_task_of_the_whole_page_the_address_keeps_it_and_what_is_read_stays(
    opened: Page, report: Path
) -> None:
    assert shown_tasks(opened) == {"er_at_10"}
    opened.locator("#task-switch").get_by_label("Task").select_option("Results aspects, 5 sentences")
    expect(opened.locator("#leaderboard [data-task=result_er_at_5]")).to_be_visible()
    assert shown_tasks(opened) == {"result_er_at_5"}
    assert opened.url.endswith("#?task=result_er_at_5")
    opened.locator(".contents").get_by_role("link", name="Pair by pair").click()
    expect(opened.locator("#pairs h2")).to_be_in_viewport()
    assert opened.url.endswith("#pairs?task=result_er_at_5")
    expect(opened.locator("#task-switch")).to_be_in_viewport()  # it stays in sight
    opened.reload()
    assert shown_tasks(opened) == {"result_er_at_5"}
    expect(opened.locator("#pairs h2")).to_be_in_viewport()
    opened.goto(address_of(report, "#?task=er_at_99"))
    expect(opened.locator(".task-told")).to_have_text("This page has no task=er_at_99.")
    opened.evaluate("location.hash = '#method'")
    before = box_of(opened.locator("#method"))
    opened.locator("#task-switch select").select_option(index=1)
    expect(opened.locator("#leaderboard [data-task=result_er_at_5]")).to_be_visible()
    after = box_of(opened.locator("#method"))
    assert after["y"] == pytest.approx(before["y"], abs=1)


def test_the_task_and_the_pair_of_the_results_are_those_of_the_papers_and_back(page: Page, report: Path) -> None:
    bar = page.locator(".choice-bar")
    for task in ("er_at_10", "result_er_at_5"):  # at first, the pair are the two best runs of the task
        page.goto(address_of(report, f"#/papers?task={task}"))
        names = page.locator(f"#leaderboard [data-task={task}] tbody th").all_text_contents()
        best = [name for name in names if name in {"bm25", "tfidf"}]
        for letter, name in zip("AB", best, strict=True):
            expect(bar.get_by_label(f"System {letter}")).to_have_value(name)
    page.goto(address_of(report, "#pairs?task=result_er_at_5&a=lead&b=bm25"))
    page.get_by_role("link", name="Papers", exact=True).click()
    expect(bar.get_by_label("Task")).to_have_value("result_er_at_5")
    expect(bar.get_by_label("System A")).to_have_value("lead")
    expect(bar.get_by_label("System B")).to_have_value("bm25")
    bar.get_by_label("System B").select_option("tfidf")
    bar.get_by_label("Task").select_option("er_at_10")
    page.get_by_label("Show").select_option("A covers nothing")
    page.get_by_role("link", name="Results", exact=True).click()
    expect(page.locator("#results")).to_be_visible()
    assert shown_tasks(page) == {"er_at_10"}
    assert page.url.endswith("#?task=er_at_10&a=lead&b=tfidf")  # filters of the list stay with the list
    page.locator("#task-switch select").select_option(index=1)
    expect(page.locator("#leaderboard [data-task=result_er_at_5]")).to_be_visible()
    page.get_by_role("link", name="Papers", exact=True).click()
    expect(page.get_by_label("Show")).to_have_value("failed")
    expect(bar.get_by_label("Task")).to_have_value("result_er_at_5")


def test_without_a_script_the_results_of_all_tasks_are_shown_under_their_titles(
    new_page: NewPage, report: Path
) -> None:
    page = new_page(java_script_enabled=False)
    page.goto(address_of(report))
    assert shown_tasks(page) == {"er_at_10", "result_er_at_5"}
    expect(page.locator("#leaderboard").get_by_text("Results aspects, 5 sentences")).to_be_visible()
    expect(page.locator("#task-switch")).to_be_hidden()


@pytest.fixture(scope="module")
def report_of_many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a report of seven runs over the sample; one of them was asked each task apart."""
    folder = tmp_path_factory.mktemp("many")
    paths = [folder / f"{system}.jsonl" for system in ("bm25", "cues", "tfidf", "longest", "structure", "most_digits")]
    for path in paths:
        execute(path.stem, SAMPLE, path)
    paths.append(folder / "an_answers_file_with_a_name_that_is_long.json")
    paths[-1].write_text(json.dumps({instance_id: [3, 5, 8] for instance_id in SAMPLE.ids}))
    tasks = (TASKS["er_at_10"], TASKS["result_er_at_5"])
    made = report_page(paths, SAMPLE, tasks, resampling=Resampling(n_draws=200))
    (folder / "report.html").write_text(made, "utf-8")
    return folder / "report.html"


def test_counts_of_failed_answers_lead_to_the_list_of_just_their_papers(page: Page, tmp_path: Path) -> None:
    a, b, c, *_ = SAMPLE.ids
    errors = [{"id": one, "error": "TimeoutError: no reply"} for one in (a, b)]
    run = run_at(tmp_path / "a&b.jsonl", *errors, {"id": c, "sentences": []})
    made = report_page(run, SAMPLE, ("er_at_5", "er_at_10"), resampling=Resampling(n_draws=50))
    (tmp_path / "report.html").write_text(made, "utf-8")
    page.goto(address_of(tmp_path / "report.html", "#failures?task=er_at_5"))
    for words, ids in {"2 of 10": {a, b}, "1 of 10": {c}, "7 of 10": {*SAMPLE.ids} - {a, b, c}}.items():
        page.locator("#failures").get_by_role("link", name=words).click()
        expect(page.locator("a.row-link")).to_have_count(len(ids))
        found = page.locator("a.row-link").evaluate_all("links => links.map((link) => link.dataset.id)")
        assert {*found} == ids
        page.go_back()


def test_curves_are_as_wide_as_the_page_readable_on_a_phone_and_named_in_their_colours(
    new_page: NewPage, report_of_many: Path
) -> None:
    page = new_page(1440)
    open_report(page, report_of_many)
    page.evaluate(OPEN_ALL)
    for width, least in ((1440, 1000), (768, 700), (360, 300)):
        page.set_viewport_size({"width": width, "height": 844})
        charts = [chart for chart in page.locator("#curves figure .chart").all() if chart.is_visible()]
        assert len(charts) == 2
        for chart in charts:
            box = box_of(chart)
            assert 0 <= box["x"] < box["x"] + box["width"] <= width
            assert box["width"] >= least
            size = chart.evaluate(
                """(one) => {
                     const zoom = one.getBoundingClientRect().width / one.viewBox.baseVal.width;
                     const texts = [...one.querySelectorAll("text")];
                     return zoom * Math.min(...texts.map((text) => parseFloat(getComputedStyle(text).fontSize)));
                   }"""
            )
            assert size >= 11
            assert chart.evaluate(
                """(one) => [...one.querySelectorAll("text")].every((text) => {
                     const [inner, outer] = [text.getBoundingClientRect(), one.getBoundingClientRect()];
                     return inner.left >= outer.left - 1 && inner.right <= outer.right + 1;
                   })"""
            )
            coloured = chart.evaluate(
                """(one) => [...one.querySelectorAll("g[class^=chart-series]:has(text)")].map((label) => {
                     const name = label.querySelector("title").textContent;
                     const curve = [...one.querySelectorAll("g:not(:has(text))")]
                       .find((part) => part.querySelector("title").textContent === name);
                     const line = curve.querySelector(".chart-line, .chart-interval");
                     return getComputedStyle(label.querySelector("text")).fill === getComputedStyle(line).stroke;
                   })"""
            )
            assert coloured == [True] * 4
            assert chart.locator(".chart-band").count() > 0
        assert page.locator("#curves figcaption").first.evaluate("(one) => one.checkVisibility()")
        for frame in [one for one in page.locator("#results .frame:has(.bins)").all() if one.is_visible()]:
            assert box_of(frame)["x"] + box_of(frame)["width"] <= width  # it scrolls inside


def test_the_contents_stay_mark_the_section_that_is_read_and_are_folded_on_a_phone(opened: Page) -> None:
    contents = opened.locator(".contents")
    read = contents.locator("[aria-current=true]")
    expect(read).to_have_count(0)
    opened.locator("#picks h2").evaluate("(one) => one.scrollIntoView()")
    expect(read).to_have_text("What each selection adds")
    expect(contents.get_by_role("link", name="Leaderboard")).to_be_in_viewport()
    opened.set_viewport_size({"width": 390, "height": 844})
    expect(contents.get_by_role("link")).to_have_count(0)
    assert_accessible(opened)
    contents.locator("summary").focus()
    opened.keyboard.press("Enter")
    assert_accessible(opened)
    opened.keyboard.press("Tab")
    expect(contents.get_by_role("link").first).to_be_focused()
    contents.get_by_role("link", name="Recall by budget").click()
    expect(contents.get_by_role("link")).to_have_count(0)
    expect(opened.locator("#curves h2")).to_be_in_viewport()
    opened.evaluate("location.hash = '#/papers'")
    expect(contents).to_be_hidden()


def test_a_figure_is_saved_as_a_file_that_needs_no_other_and_has_the_colours_of_the_page(opened: Page) -> None:
    names = {"#curves": "Recall by budget, All aspects, 10 instances.svg", "#scatter": "Pair by pair.svg"}
    for place, name in names.items():
        figure = opened.locator(f"{place} figure").first
        with opened.expect_download() as saved:
            figure.get_by_role("button", name="Save as SVG").click()
        assert saved.value.suggested_filename == name
        text = saved.value.path().read_text("utf-8")
        root = ET.fromstring(text)  # noqa: S314 - the page's own
        assert not re.search(r"var\(|\b(style|class|href|onclick)=|<script|currentcolor", text)
        drawn = figure.locator("svg.chart").locator("visible=true")
        colour = drawn.locator("circle").first.evaluate("(one) => getComputedStyle(one).fill")
        assert colour in {part.get("fill") for part in root.iter("{http://www.w3.org/2000/svg}circle")}
        assert root.get("width") == drawn.evaluate("(one) => `${one.viewBox.baseVal.width}`")


def test_long_names_leave_room_for_the_numbers_on_a_small_screen(new_page: NewPage, tmp_path: Path) -> None:
    paths = [tmp_path / f"my_very_long_system_name_with_many_parts_and_a_date_20261121_{end}.json" for end in "ab"]
    for path in paths:
        path.write_text(json.dumps({instance_id: [3, 5, 8] for instance_id in SAMPLE.ids}))
    tasks = (TASKS["er_at_10"], TASKS["result_er_at_5"])
    (tmp_path / "report.html").write_text(report_page(paths, SAMPLE, tasks, resampling=Resampling(n_draws=50)), "utf-8")
    page = new_page(360, 740)
    page.goto(address_of(tmp_path / "report.html"))
    frame = page.locator("#leaderboard .frame").first
    name, score = frame.locator("tbody tr").nth(-1).locator("th, td").all()[:2]
    name.scroll_into_view_if_needed()
    for cell in (name, score):
        box = box_of(cell)
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 360
    before = box_of(name)
    frame.evaluate("(one) => { one.scrollLeft = one.scrollWidth }")
    assert frame.evaluate("(one) => one.scrollLeft") > 0
    assert box_of(name) == before  # stays beside the numbers
    assert "linear-gradient" in frame.evaluate("(one) => getComputedStyle(one).backgroundImage")


def test_the_papers_are_found_again_as_they_were_left(page: Page, report: Path) -> None:
    page.goto(address_of(report, f"#/papers/{SAMPLE.ids[2]}?a=lead&sort=length"))
    page.locator("#s-0").wait_for()
    page.keyboard.press("e")
    left = page.url
    assert "sort=length" in left
    page.get_by_role("link", name="Results", exact=True).click()
    expect(page.locator("#results")).to_be_visible()
    page.get_by_role("link", name="Papers", exact=True).click()
    expect(page.locator("#results")).to_be_hidden()
    assert page.url == left
    page.get_by_role("link", name="Papers", exact=True).click()  # from a paper to the list
    expect(page.locator(".list-pane h1")).to_be_visible()
    assert page.url.endswith("#/papers?a=lead&sort=length")


def test_a_mark_leads_to_its_paper_with_the_two_systems(opened: Page) -> None:
    opened.locator("#task-switch select").select_option("result_er_at_5")
    opened.get_by_label("System A").select_option("lead")
    opened.get_by_label("System B").select_option("bm25")
    opened.locator("a.scatter-mark").first.click()
    expect(opened.locator("#s-0")).to_be_attached()
    assert opened.evaluate("location.hash").endswith("?task=result_er_at_5&a=lead&b=bm25")


def test_the_plot_and_its_table_agree_with_the_rows_and_marks_that_coincide_are_counted_and_listed(
    opened: Page,
) -> None:
    rows = json.loads(opened.locator("#rows").text_content() or "")
    recalls = [(row["recalls"][0][0], row["recalls"][1][0]) for row in rows]
    better = sum(a > b + 1e-9 for a, b in recalls)
    worse = sum(b > a + 1e-9 for a, b in recalls)
    told = re.sub(r"\s+", " ", opened.locator("#scatter p:has(.system-mark)").text_content() or "")
    assert f"A is better on {better}, ■ B on {worse}; equal on {len(rows) - better - worse}" in told
    largest = max(abs(a - b) for a, b in recalls)
    first = opened.locator(".scatter tbody tr").first.locator("td").last.text_content() or ""
    assert abs(float(first.replace("−", "-"))) == pytest.approx(100 * largest, abs=0.051)
    assert opened.locator(".scatter tbody tr").count() == better + worse
    opened.get_by_label("System A").select_option("oracle")
    opened.get_by_label("System B").select_option("oracle")
    mark = opened.locator("g.scatter-mark").first
    number = int(mark.locator(".scatter-number").text_content() or "")
    mark.click()
    links = opened.locator(".scatter-list a")
    expect(links).to_have_count(number)
    assert number > 1
    expect(opened.locator(".scatter-list caption")).to_contain_text(f"{number} instances with A 100.0 %")
    links.first.click()
    expect(opened.locator("#results")).to_be_hidden()


def test_the_plot_is_used_by_keyboard_alone(opened: Page) -> None:
    opened.get_by_label("System B").focus()
    for _ in range(3):  # the link to why, the chart's frame, then its marks, one stop for all
        opened.keyboard.press("Tab")
    assert "scatter-mark" in opened.evaluate("document.activeElement.getAttribute('class')")
    seen = [opened.evaluate("document.activeElement.getAttribute('aria-label')")]
    for _ in range(opened.locator(".scatter-mark").count() - 1):
        opened.keyboard.press("ArrowRight")
        seen.append(opened.evaluate("document.activeElement.getAttribute('aria-label')"))
    assert len(set(seen)) == len(seen)
    opened.keyboard.press("ArrowLeft")
    assert opened.evaluate("document.activeElement.getAttribute('aria-label')") == seen[-2]
    is_link = opened.evaluate("document.activeElement.localName") == "a"
    opened.keyboard.press("Enter")
    expect(opened.locator("#s-0" if is_link else ".scatter-list a").first).to_be_attached()


def test_the_report_fits_its_window_and_axe_finds_nothing_serious(opened: Page) -> None:
    opened.evaluate(OPEN_ALL)
    assert_accessible(opened, 1280, 360)


def test_print_is_on_white_has_the_chosen_task_or_the_paper_and_not_what_is_folded(
    new_page: NewPage, report: Path
) -> None:
    page = new_page(dark=True)
    open_report(page, report)
    page.get_by_role("button", name="Theme").click()
    page.get_by_role("button", name="Theme").click()  # dark by choice too
    page.locator("#curves summary").click()
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    expect(page.locator(".page-head")).to_be_hidden()
    expect(page.locator("#curves table").first).to_be_visible()
    for folded in page.locator("details:not([open]):not(.facts *)").all():
        expect(folded).to_be_hidden()
    page.goto(address_of(report, "#?task=result_er_at_5"))
    expect(page.locator("#summary").get_by_text("Results aspects, 5 sentences")).to_be_visible()
    assert shown_tasks(page) == {"result_er_at_5"}
    expect(page.locator("#task-switch")).to_be_hidden()
    page.goto(address_of(report, f"#/papers/{SAMPLE.ids[2]}"))
    expect(page.locator(".hypothesis")).to_be_visible()
    for hidden in ("#results", ".list-pane", ".choice-bar", ".paper-bar"):
        expect(page.locator(hidden)).to_be_hidden()


def test_no_heading_stands_alone_at_the_end_of_a_sheet(page: Page, report_of_many: Path) -> None:
    open_report(page, report_of_many)
    follows = {
        "What each selection adds": "sentences:",
        "Recall by budget": "sentences that count",
        "Recall by kind of paper": "n = ",
    }
    for paper in ("A4", "A5", "Letter"):
        sheets = [sheet.get_textpage().get_text_bounded() for sheet in pypdfium2.PdfDocument(page.pdf(format=paper))]
        for heading, first in follows.items():
            (sheet,) = [sheet for sheet in sheets if heading in sheet]
            assert first in sheet.partition(heading)[2], (paper, heading)


def test_a_sheet_has_no_choices_keeps_the_pairs_and_their_tints_together_and_its_charts_have_their_axes(
    new_page: NewPage, report_of_many: Path
) -> None:
    page = new_page(680, 960)
    open_report(page, report_of_many)
    page.emulate_media(media="print")
    for hidden in (".contents", ".pair-choices", "figcaption button", ".narrow"):
        for one in page.locator(hidden).all():
            expect(one).to_be_hidden()
    expect(page.locator("#scatter .on-paper")).to_have_text(re.compile("^A: .+ B: .+"))
    matrix = page.locator("#pairs .frame:has(.pairs)").first
    assert matrix.evaluate("(one) => getComputedStyle(one).breakInside") == "avoid"
    for tinted in (*page.locator("#pairs td.apart").all()[:1], page.locator(".level span").first):
        assert tinted.evaluate("(one) => getComputedStyle(one).printColorAdjust") == "exact"
    wide = box_of(page.locator("#results"))["width"]
    for place in ("#curves figure .broad .chart", ".scatter-columns .frame:has(tbody)"):
        assert box_of(page.locator(place).first)["width"] > 0.9 * wide


def test_numbers_and_ranks_are_not_broken_over_lines_in_print(new_page: NewPage, report_of_many: Path) -> None:
    page = new_page(680, 960)  # as wide as a sheet of A4
    open_report(page, report_of_many)
    page.evaluate(OPEN_ALL)
    page.emulate_media(media="print")
    lines = page.evaluate(
        """() => [...document.querySelectorAll("#results table")]
             .filter((table) => table.querySelectorAll("thead th").length < 9)
             .flatMap((table) => [...table.querySelectorAll("td.value, td.number")])
             .filter((cell) => cell.textContent && cell.checkVisibility())
             .map((cell) => { const range = document.createRange(); range.selectNodeContents(cell);
               return new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size; })"""
    )
    assert len(lines) > 50
    assert set(lines) == {1}


def test_the_cells_of_the_list_are_filled_in_print(new_page: NewPage, report: Path) -> None:
    page = new_page(680, 960)  # as wide as a sheet of A4
    page.goto(address_of(report, "#/papers?sort=score"))
    page.locator("td.recall").first.wait_for()
    page.emulate_media(media="print")
    shown = page.locator("td.recall.of-a").first.evaluate("(cell) => getComputedStyle(cell).backgroundColor")
    page.evaluate("document.querySelectorAll('.system-mark').forEach((mark) => mark.remove())")  # they have it too
    sheet = pypdfium2.PdfDocument(page.pdf(format="A4"))[0].render(scale=2).to_pil().convert("RGB")
    wanted = tuple(round(255 * float(part)) for part in re.findall(r"[\d.]+", shown)[:3])
    assert max(wanted) - min(wanted) > 40, "a colour"
    colours = sheet.getcolors(2**24)
    assert sum(n for n, found in colours if max(abs(a - b) for a, b in zip(found, wanted, strict=True)) < 12) > 500


def test_hostile_texts_are_shown_as_text_and_nothing_runs(new_page: NewPage, tmp_path: Path) -> None:
    members = {f"{HOSTILE}{n}": record({HOSTILE: [n]}, ["normal_paragraph"] * 12, HOSTILE) for n in range(3)}
    for member in members.values():
        member["paper_as_candidate_pool"][1] = "x" * 1_000_000  # type: ignore[index]  # a list
    dataset = made(tmp_path, members)
    lines = [{"id": f"{HOSTILE}0", "error": HOSTILE}, *({"id": f"{HOSTILE}{n}", "sentences": [n]} for n in (1, 2))]
    header = header_of(HOSTILE, {HOSTILE: "y" * 5000}, dataset=dataset, tasks=["er_at_10"])
    run = run_at(tmp_path / "run.jsonl", header, *lines)
    content = report_page([run], dataset, resampling=Resampling(n_draws=50), title=HOSTILE, command=HOSTILE)
    (tmp_path / "report.html").write_text(content, encoding="utf-8")
    page = new_page(360)
    open_report(page, tmp_path / "report.html")
    page.evaluate(OPEN_ALL)
    assert_fits(page)
    page.locator(".scatter tbody a").first.click()
    page.locator("#s-0").wait_for()
    assert page.evaluate("window.owned") is None
    assert page.locator("img").count() == 0
    expect(page.locator("#s-0")).to_contain_text("<img src=x")


def test_a_report_without_papers_has_no_link_to_them_and_no_error(page: Page, sample_runs: tuple[Path, ...]) -> None:
    made = report_page(sample_runs, SAMPLE, resampling=Resampling(n_draws=50), papers=False)
    path = sample_runs[0].parent / "bare_report.html"
    path.write_text(made, encoding="utf-8")
    page.goto(address_of(path, "#/papers"))
    expect(page.locator("#results")).to_be_visible()
    expect(page.get_by_role("link", name="Papers", exact=True)).to_have_count(0)
    expect(page.get_by_role("button", name="Theme")).to_be_visible()
