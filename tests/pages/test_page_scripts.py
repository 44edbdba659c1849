"""What holds for the scripts of the pages as they are written."""

import re
from collections import Counter

import pytest

from evidencebench.pages.viewer.page import APP_SCRIPTS, BARE_SCRIPTS, REPORT_SCRIPTS, script

_TOP_LEVEL = re.compile(r"^(?:async )?(?:function\*?|const|let|class) +(\w+)", re.MULTILINE)
_FORBIDDEN = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|setAttribute\(.style|\bstyle: "
)

PAGES = pytest.mark.parametrize(
    "names", [REPORT_SCRIPTS, APP_SCRIPTS, BARE_SCRIPTS], ids=["the report", "the app", "the bare viewer"]
)


@PAGES
def test_no_two_scripts_of_a_page_name_the_same_thing(names: tuple[str, ...]) -> None:
    found = Counter(_TOP_LEVEL.findall(script(names)))
    assert found["readRoute"] == 1
    assert [name for name, n in found.items() if n > 1] == []


@PAGES
def test_no_script_makes_markup_or_code_of_text(names: tuple[str, ...]) -> None:
    assert _FORBIDDEN.findall(script(names)) == []
