"""The app on loopback, and a way to ask it whatever a browser or anybody else might send."""

from collections.abc import Iterator

import pytest

from doors import ViewerData, viewer_data_of
from evidencebench import load_sample
from kit.asking_app import Running
from kit.patience import MOST_SECONDS

pytest.importorskip("starlette", reason="needs the extra 'view'")
pytest.importorskip("uvicorn", reason="needs the extra 'view'")


@pytest.fixture(scope="session")
def sample_viewed() -> ViewerData:
    """Give the sample with the controls."""
    return viewer_data_of([], load_sample())


@pytest.fixture(scope="session")
def app(sample_viewed: ViewerData) -> Iterator[Running]:
    """Give the app of the sample, after its scan is over."""
    from kit.asking_app import running  # noqa: PLC0415 - beside the fixture of its name

    with running(sample_viewed) as found:
        found.scan.wait(MOST_SECONDS)
        yield found
