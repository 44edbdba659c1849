"""A law over random data: the page that holds its papers lists and finds what the app's server lists and finds.

The report has no server and the app may have 100,000 instances, so both are there: `assets/embedded_source.js`, and
`list` and `search` of the app.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, get_args

import pytest
from playwright.sync_api import Page

from doors import Only, Sort, ViewerData, Where, viewer_data_of
from doors import search_words_of as words_of
from evidencebench import Instance, Kind, Labels, Query, open_dataset, write_dataset
from kit.asking_app import running
from kit.bare_pages import bare_page
from kit.browsing import address_of
from kit.examples import IS_THOROUGH
from kit.patience import MOST_SECONDS

ODD_TEXTS = (
    "IL-6 and naïve T_cells", "ΣΊΣΥΦΟΣ", "ﬁne ½ cup", "İstanbul \u0131ss\u0131z", "東京 2020年", "ß ẞ STRASSE",
    "e\u0301clair", "x²+y₃=①", "co\u00adoperate", "मलयालम", "שָׁלוֹם", "p<0.05; n=12", "β-blocker", "a\u200bb", "🫖tea",
    "O\u2019Neill", "\uff11\uff12\uff13", "words in common", "common ground", "<&>\"'", "",
)  # fmt: skip
N_ASKED = 150

# Asks the page's own source, as the list does: one after the other, and again until a search is over.
_ROWS_OF_PAGE = """async (asked) => {
  const all = [];
  for (const one of asked) {
    let found = await source.rows(one);
    while (found.n_searched < found.n_instances) found = await source.rows(one);
    all.push(found);
  }
  return all;
}"""


def random_instance(position: int, random: Random) -> Instance:
    n_sentences = random.randint(1, 12)
    query = Query(
        instance_id=f"id_{position}",
        paper_id="p",
        hypothesis=random.choice(ODD_TEXTS),
        sentences=tuple(random.choice(ODD_TEXTS) or "." for _ in range(n_sentences)),
        kinds=(Kind.BODY,) * n_sentences,
    )
    aspects = tuple(f"a{n}" for n in range(random.randint(0, 4)))  # 0: without labels
    sources = {
        aspect: tuple(random.sample(range(n_sentences), random.randint(0, min(3, n_sentences)))) for aspect in aspects
    }
    results = tuple(aspect for aspect in aspects if random.random() < 0.4)
    return Instance(query=query, labels=Labels(aspects=aspects, sources=sources, results=results))


def random_asked(viewed: ViewerData, random: Random) -> dict[str, Any]:
    """Draw the query of a list; a value of None is left out."""
    words = [word[: random.randint(1, 6)] for text in ODD_TEXTS for word in words_of(text)]
    texts = (
        None,
        " ".join(random.sample(words, 2)),
        random.choice(words),
        random.choice(ODD_TEXTS),
        "id_3",
        "none",
        "_",
    )
    positions = [None, *range(len(viewed.systems))]
    return {
        "q": random.choice(texts) or None,
        "in": random.choice(get_args(Where)) or None,
        "found": random.choice((None, None, 0, 1, 2, 9)),
        "sort": random.choice(get_args(Sort)),
        "order": random.choice(["asc", "desc"]),
        "only": random.choice(get_args(Only)) or None,
        "task": random.randrange(len(viewed.tasks)),
        "a": random.choice(positions),
        "b": random.choice(positions),
        "offset": random.choice((0, 0, 3)),
        "n": random.choice((1, 5, 50)),
    }


def given_of(asked: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in asked.items() if value is not None}


@pytest.mark.parametrize("seed", range(10 if IS_THOROUGH else 2))
def test_the_page_lists_and_finds_random_data_as_the_server_does(page: Page, tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    instances = [random_instance(position, random) for position in range(30)]
    instances[0] = replace(
        instances[0],
        query=replace(
            instances[0].query, sentences=tuple(filter(None, ODD_TEXTS)), kinds=(Kind.BODY,) * (len(ODD_TEXTS) - 1)
        ),
    )
    write_dataset(tmp_path / "random.json", instances)
    viewed = viewer_data_of((), open_dataset(tmp_path / "random.json"))
    asked = [random_asked(viewed, random) for _ in range(N_ASKED)]
    asked.append({"sort": "position", "order": "asc"})
    asked += [{"q": word, "sort": "position", "order": "asc"} for text in ODD_TEXTS for word in words_of(text)]

    path = tmp_path / "random.html"
    path.write_text(bare_page(viewed), encoding="utf-8")
    page.goto(address_of(path))
    by_page = page.evaluate(_ROWS_OF_PAGE, asked)

    with running(viewed) as app:
        app.scan.wait(MOST_SECONDS)
        by_server = [app.ask("/api/rows", **given_of(one)).json for one in asked]

    for one, of_page, of_server in zip(asked, by_page, by_server, strict=True):
        assert of_page.pop("means") == pytest.approx(of_server.pop("means")), one  # sums differ in their last digit
        assert of_page == of_server, one
    assert {0, 1, len(instances)} < {found["n_found"] for found in by_server}
