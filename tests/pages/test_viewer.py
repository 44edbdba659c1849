"""A page's records have the scores of `evaluate`, cannot end their script element, and are shown as text only."""

import json
import re
from collections.abc import Sequence
from importlib.resources import files
from itertools import product
from pathlib import Path
from random import Random
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from doors import (
    SHOWN_CONTROLS,
    Failure,
    GradedInstance,
    OverLength,
    Overview,
    RunMismatchError,
    Status,
    Ties,
    case_of,
    encode_json,
    graded_answer,
    html,
    paper_of,
    tasks_of,
    viewer_data_of,
    viewer_of,
)
from doors import report_papers_of as papers_of
from evidencebench import (
    TASKS,
    Instance,
    Ranking,
    Resampling,
    Rules,
    answers_from,
    answers_of,
    evaluate,
    execute,
    load_sample,
    make_system,
    open_run,
    task_named,
)
from kit.bare_pages import bare_page
from kit.hostile_data import hostile_dataset
from kit.report_pages import findings_in, parsed
from kit.strategies import instances, json_values

SAMPLE = load_sample()
ASSETS = files("evidencebench.pages") / "assets"
SCRIPTS = {asset.name: asset.read_text(encoding="utf-8") for asset in ASSETS.iterdir() if asset.name.endswith(".js")}
STYLES = {asset.name: asset.read_text(encoding="utf-8") for asset in ASSETS.iterdir() if asset.name.endswith(".css")}


def line(instance: Instance, random: Random) -> dict[str, Any] | None:
    """Draw an answer of any kind: ordered, tied, a set, over and under the budget, empty, failed or missing."""
    indices = random.sample(range(len(instance.query.sentences)), random.randrange(1, 25))
    scores = sorted((random.randrange(4) for _ in indices), reverse=True)
    kinds: Sequence[dict[str, Any] | None] = (
        {"sentences": indices},
        {"sentences": indices, "scores": scores},
        {"sentences": indices, "ordered": False},
        {"sentences": [*indices, *indices[:3]], "ordered": False},
        {"sentences": []},
        {"error": "no reply <b>"},
        None,
    )
    kind = random.choice(kinds)
    return None if kind is None else {"id": instance.id, **kind}


def write_lines(path: Path, seed: int) -> None:
    lines = (line(instance, Random(f"{seed} {instance.id}")) for instance in SAMPLE)
    path.write_text("".join(f"{json.dumps(one)}\n" for one in lines if one is not None), encoding="utf-8")


def write_per_task(path: Path, seed: int) -> None:
    execute("oracle", SAMPLE, path, seed=seed, tasks=tuple(TASKS.values()))


def write_run(path: Path, seed: int) -> None:
    execute("bm25", SAMPLE, path, seed=seed, limit=7)


FORMS = (write_lines, write_per_task, write_run)
RULES = [Rules(over_length=over, ties=ties) for over, ties in product(get_args(OverLength), get_args(Ties))]


@pytest.mark.parametrize("rules", RULES, ids=lambda rules: f"{rules.over_length}-{rules.ties}")
@pytest.mark.parametrize("write", FORMS, ids=lambda write: write.__name__)
def test_what_is_shown_of_an_answer_has_the_recall_that_evaluate_gives_it(
    tmp_path: Path, write: Any, rules: Rules
) -> None:
    for seed in range(3 if write is write_lines else 1):
        path = tmp_path / f"run{seed}"
        write(path, seed)
        run = open_run(path)
        tasks = (*tasks_of(run, SAMPLE), *((task_named("er_at_3"),) if write is not write_per_task else ()))
        viewed = viewer_data_of([path], SAMPLE, tasks, rules=rules)
        sources = {"run": answers_of(run)} | {name: answers_from(make_system(name)) for name in SHOWN_CONTROLS}
        expected = evaluate(sources, SAMPLE, tasks, rules={"run": rules})
        names = ["run", *SHOWN_CONTROLS]
        for position, instance in enumerate(SAMPLE):
            row, record = viewed.row(position, instance), viewed.record(position, instance)
            assert viewed.row(position, instance, viewed.grades_of(instance, record)) == row
            for system, at in product(range(len(names)), range(len(tasks))):
                scores, shown = expected[names[system]][tasks[at].name], record.answers[system][at]
                assert row.recalls[system][at] == (None if shown is None else shown.recall)
                if instance.id not in scores.ids:
                    assert shown is None
                    assert record.terms[at] is None
                elif shown is None:
                    assert tasks[at].budget is None, "only what no budget ends may stand without an answer"
                    assert not make_system(names[system]).selects
                else:
                    place = scores.ids.index(instance.id)
                    assert shown.recall == scores.scores["aspect_recall"][place]
                    selection = scores.selections[place]
                    assert (shown.certain, shown.tied, shown.n_drawn) == (
                        selection.certain,
                        selection.tied,
                        selection.n_drawn,
                    )


def test_the_papers_of_a_report_are_made_of_the_scores_as_they_would_be_by_grading_each_answer(tmp_path: Path) -> None:
    random = Random(7)
    for name in ("one", "other"):
        lines = [{"id": one.id, **found} for one in SAMPLE for found in [line(one, random)] if found]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(found) + "\n" for found in lines))
    for rules in (Rules(), Rules(over_length="first", ties="expected")):
        paths = [tmp_path / "one.jsonl", tmp_path / "other.jsonl"]
        findings = findings_in(paths, SAMPLE, rules=rules, resampling=Resampling(n_draws=10))
        viewed = viewer_of(findings, "")
        found = list(papers_of(findings, viewed))
        assert [row for row, _ in found] == [viewed.row(*one) for one in enumerate(SAMPLE)]
        assert [record for _, record in found] == [viewed.record(*one) for one in enumerate(SAMPLE)]
        shown = {answer.status for _, record in found for answers in record.answers for answer in answers if answer}
        assert shown == {"answered", "empty", "failed", "missing"}


def test_every_way_an_answer_can_go_wrong_has_a_name_and_says_why() -> None:
    instance = SAMPLE[0]
    case = case_of(instance, TASKS["er_at_10"])
    assert case is not None
    beyond = Ranking(sentences=(0, 10_000))
    shown = {
        "answered": graded_answer(case, Ranking(sentences=(0,)), Rules()),
        "empty": graded_answer(case, Ranking(sentences=()), Rules()),
        "failed": graded_answer(case, Failure(error="the server said no"), Rules()),
        "missing": graded_answer(case, None, Rules()),
        "invalid": graded_answer(case, beyond, Rules()),
    }
    assert set(shown) == set(get_args(Status))
    for status, found in shown.items():
        assert found.status == status
    assert shown["failed"].error == "the server said no"
    assert re.search(r"sentence 10000, but the paper has sentences 0\.\.", shown["invalid"].error or "")
    assert graded_answer(case, beyond, Rules(out_of_range="drop")).certain == (0,)


def test_viewing_without_runs_shows_the_controls_on_every_task_with_a_budget() -> None:
    overview = viewer_data_of((), SAMPLE).overview()
    assert [system.label for system in overview.systems] == list(SHOWN_CONTROLS)
    assert all(system.is_control for system in overview.systems)
    assert [task.name for task in overview.tasks] == [name for name, task in TASKS.items() if task.budget is not None]
    assert overview.n_instances == len(SAMPLE)


@given(instances())
def test_a_paper_as_it_is_shown_holds_nothing_of_the_labels(instance: Instance) -> None:
    record = paper_of(3, instance.query)
    query = instance.query
    assert {field: getattr(record, field) for field in record.__struct_fields__} == {
        "position": 3,
        "id": instance.id,
        "paper_id": query.paper_id,
        "hypothesis": query.hypothesis,
        "sentences": query.sentences,
        "kinds": "".join({"section_name": "h", "abstract": "a", "normal_paragraph": "b"}[kind] for kind in query.kinds),
    }


HOSTILE = st.sampled_from(
    ["</script>", "<!--", "]]>", "&lt;", "\u2028", "\x00", "<img src=x onerror=alert(1)>", "\u202e"]
)


@given(st.recursive(json_values | HOSTILE, lambda inner: st.dictionaries(HOSTILE, inner), max_leaves=4))
def test_encoded_data_cannot_end_its_element_and_say_the_same(value: Any) -> None:
    data = encode_json(value)
    assert not re.search(rb"[<>&]", data)
    assert json.loads(data) == value


def test_a_page_of_hostile_data_holds_the_elements_it_should_and_no_other(tmp_path: Path) -> None:
    dataset = hostile_dataset(tmp_path)
    viewed = viewer_data_of((), dataset, title="</title><script>alert(1)</script>")
    page = parsed(bare_page(viewed))
    head, body = (f"{[part[0] for part in page.all(tag)[0].skeleton()]}" for tag in ("head", "body"))
    assert head == "['meta', 'meta', 'meta', 'title', 'style']"
    assert body == "['header', 'main', 'script', 'script', 'script', 'script']"
    assert page.all("title")[0].text == "</title><script>alert(1)</script>"
    assert msgspec.convert(page.data("overview"), Overview) == viewed.overview()
    for one in enumerate(dataset):
        assert msgspec.convert(page.record(one[0]), GradedInstance) == viewed.record(*one)


# Patterns of code that turns text into markup or code, or sets a style by an attribute.
FORBIDDEN = (
    r"innerHTML",
    r"outerHTML",
    r"insertAdjacentHTML",
    r"document\.write",
    r"createContextualFragment",
    r"DOMParser",
    r"srcdoc",
    r"\beval\b",
    r"\bnew\s+Function\b",
    r"\bimport\s*\(",
    r"set(Timeout|Interval)\(\s*[\"'`]",
    r"setAttribute\(\s*[\"'](style|on)",
    r"\bstyle:\s*[\"'`{]",
    r"javascript:",
    r"https?://(?!www\.w3\.org/2000/svg)",
    r"</script",
)


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_makes_no_markup_of_text_and_asks_nothing_of_the_network(name: str) -> None:
    for pattern in FORBIDDEN:
        assert not re.search(pattern, SCRIPTS[name]), pattern


@pytest.mark.parametrize("name", STYLES)
def test_a_style_sheet_loads_nothing(name: str) -> None:
    assert not re.search(r"@import|url\(|</style", STYLES[name])


@pytest.mark.parametrize("name", [*SCRIPTS, *STYLES])
def test_an_asset_begins_by_saying_what_it_does(name: str) -> None:
    text = {**SCRIPTS, **STYLES}[name]
    assert re.match(r"// [A-Z].+\.\n|/\* [A-Z](?s:.+?)\*/\n", text), text[:80]


_TOP_LEVEL = re.compile(r"^(?:export )?(?:async )?(?:function\*?|class|const|let|var) (\w+|[\[{].*)", re.MULTILINE)


_EXPORTED = r"^export (?:async )?(?:function\*?|class|const|let) (\w+)"


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_module_imports_what_others_export_and_nothing_that_it_does_not_use(name: str) -> None:
    body = re.sub(r"^import .+\n", "", SCRIPTS[name], flags=re.MULTILINE)
    for names, module in re.findall(r'^import \{ (.+) \} from "\./(\w+\.js)";$', SCRIPTS[name], re.MULTILINE):
        exported = set(
            re.findall(r"^export (?:async )?(?:function\*?|class|const|let) (\w+)", SCRIPTS[module], re.MULTILINE)
        )
        assert set(names.split(", ")) <= exported, module
        assert not [one for one in names.split(", ") if not re.search(rf"\b{one}\b", body)], module


def test_no_two_scripts_name_the_same_thing() -> None:
    places: dict[str, list[str]] = {}
    for name, text in SCRIPTS.items():
        for found in _TOP_LEVEL.findall(text):
            assert re.fullmatch(r"\w+", found), f"{name}: names taken apart at the top level: {found}"
            places.setdefault(found, []).append(name)
    assert len(places) > 50
    assert not {found: where for found, where in places.items() if len(where) > 1}


def test_every_asset_is_joined_into_some_page() -> None:
    joined = html.script("report", "app", "find_page", "findings", "construction", "review")
    assert len(SCRIPTS) > 10
    assert not [name for name, text in SCRIPTS.items() if text.partition("\n")[0] not in joined]
    styles = {one for name, names in vars(html).items() if name.endswith("_STYLES") for one in names}
    assert {f"{name}.css" for name in styles} == set(STYLES)


def test_the_hash_of_a_text_is_the_one_that_browsers_compute() -> None:
    # The known SHA-256 of the empty text. The tests in a browser show that the hashes of whole scripts are right.
    assert html.content_hash("") == "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"


def test_a_run_of_two_papers_is_refused_since_a_page_shows_one(tmp_path: Path) -> None:
    execute("bm25", load_sample(), tmp_path / "two.jsonl", control="two_papers")
    with pytest.raises(RunMismatchError, match=r"two\.jsonl: answers queries of two papers, and this page shows one"):
        viewer_data_of([tmp_path / "two.jsonl"], load_sample())
