"""The app on loopback, and a way to ask it whatever a browser or anybody else might send."""

from collections.abc import Iterator

import pytest

from asking_app import Running
from evidencebench.data.sample import load_sample
from evidencebench.pages.viewer.exhibit import Exhibit, exhibit_of

pytest.importorskip("starlette", reason="needs the extra 'view'")
pytest.importorskip("uvicorn", reason="needs the extra 'view'")


@pytest.fixture(scope="session")
def sample_exhibit() -> Exhibit:
    """Give the sample with the controls."""
    return exhibit_of([], load_sample())


@pytest.fixture(scope="session")
def app(sample_exhibit: Exhibit) -> Iterator[Running]:
    """Give the app of the sample, with everything known of it."""
    from asking_app import running  # noqa: PLC0415 - beside the fixture of its name

    with running(sample_exhibit) as found:
        found.survey.wait(60)
        yield found
