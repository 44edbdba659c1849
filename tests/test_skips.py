"""What the tests say of those that they skip."""

import pytest

from skips import DATA_FOLDER, skip_lines

pytest_plugins = ["pytester"]


def test_reasons_are_grouped_by_what_is_missing_with_how_to_get_it() -> None:
    reasons = [
        "Skipped: needs the real file /somewhere/shared/data/one.json, which is not here",
        "needs Chromium (one of chromium, google-chrome), which is not here",
        "needs ../shared/data, which is not here",
        "needs the extra 'llm'",
        "this system does not fork",
    ]
    assert skip_lines(reasons) == [
        f"2 skipped for want of the real data: put the published files into {DATA_FOLDER}",
        "1 skipped for want of a browser: apt-get install chromium",
        "1 skipped for want of an optional package: pip install -e '.[test]'",
        "1 skipped: this system does not fork",
    ]
    assert skip_lines([]) == []


def test_they_are_told_at_the_end(pytester: pytest.Pytester) -> None:
    pytester.makeconftest("from skips import pytest_terminal_summary")
    pytester.makepyfile(
        test_one="import pytest\ndef test_page():\n    pytest.skip('needs Chromium')\n",
        test_two="import pytest\npytest.importorskip('no_such_package', reason=\"needs the extra 'none'\")\n",
    )
    pytester.runpytest_inprocess("-p", "no:cacheprovider").stdout.fnmatch_lines_random(
        [
            "*not tested here*",
            "1 skipped for want of a browser: apt-get install chromium",
            "1 skipped for want of an optional package: pip install -e '.[test]'",
        ]
    )
    pytester.makeconftest("from skips import pytest_terminal_summary")
    nothing = pytester.makepyfile(test_three="def test_it():\n    pass\n")
    assert "not tested here" not in pytester.runpytest_inprocess(nothing).stdout.str()
