"""What every test file shares: where the real data lies, and how long hypothesis may take."""

import gc
import io
import math
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import doors
from doors import FinderTraining, draw_examples, hold, main, usable_processors, write_examples
from evidencebench import Dataset, load_sample, open_dataset
from kit.command_line import Command, Outcome
from kit.examples import IS_THOROUGH, load_profile
from kit.hostile_server import hostile_server
from kit.line_programs import write_program
from kit.made_once import MadeOnce
from kit.skips import DATA_FOLDER, pytest_terminal_summary  # noqa: F401 - pytest calls the second

load_profile()

# Where processes test side by side, threads of torch and LightGBM in each would only wait for one another.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")

# Behind `&` of a shell, or `nohup`, the tests and their processes would ignore signals that some tests send.
for _number, _handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _handler)


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist, which the environments of neighbours do without
def pytest_xdist_auto_num_workers() -> int:
    """Have three workers on two cores, as many tests wait for a process, a server or a browser."""
    return math.ceil(1.5 * usable_processors())


def pytest_collection_finish() -> None:
    """Leave all tests and modules out of what is searched for garbage: some libraries search it in every step."""
    gc.collect()
    gc.freeze()


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Leave out what the tests of a file have left, too."""
    if nextitem is None or nextitem.path != item.path:
        gc.collect()
        gc.freeze()


@pytest.fixture(scope="session")
def data_file() -> Callable[[str], Path]:
    """Give the path of a real file, or skip the test that needs it; mark such tests ``data``."""

    def path_of(name: str) -> Path:
        path = DATA_FOLDER / name
        if not path.is_file():
            pytest.skip(f"needs the real file {path}, which is not here")
        return path

    return path_of


@pytest.fixture(scope="session")
def train(data_file: Callable[[str], Path]) -> Dataset:
    """Give the published train split."""
    return open_dataset(data_file("evidencebench_train_set.json"))


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> MadeOnce:
    """Give a function that makes what takes seconds in a folder of that name, once for all processes of this session.

    No test may change what lies there.
    """
    root = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        root = root.parent  # each worker has a folder of its own in there

    def made(name: str, make: Callable[[Path], object]) -> Path:
        folder, is_made = root / f"once_{name}", root / f"once_{name}.made"
        folder.mkdir(exist_ok=True)
        with hold(root / f"once_{name}.lock", waits=True):
            if not is_made.exists():
                make(folder)
                is_made.touch()
        return folder

    return made


@pytest.fixture(scope="session", autouse=True)
def _doors_for_processes() -> Iterator[None]:
    """Let the processes that tests start import what the tests do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parent), prepend=os.pathsep)
        yield


@pytest.fixture(scope="session", autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory, made_once: MadeOnce) -> Iterator[None]:
    """Keep embeddings of the tests apart from the user's, and models that one of their processes converted for all."""
    cache = tmp_path_factory.mktemp("cache")
    (cache / "onnx").symlink_to(made_once("onnx", lambda _: None), target_is_directory=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EVIDENCEBENCH_CACHE", str(cache))
        yield


@pytest.fixture(autouse=True)
def _search_path() -> Iterator[None]:
    """Forget the folders of own code, which stay on the search path while a process lives."""
    before = [*sys.path]
    yield
    sys.path[:] = before


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Give a function that calls the command line in this process."""

    def run(arguments: str, text: str = "") -> Outcome:
        words = [word.strip("{}") for word in re.findall(r"\{[^}]*\}|\S+", arguments)]
        monkeypatch.setattr(sys, "argv", ["evidencebench", *words])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return Outcome(code=int(ended.value.code or 0), out=out, err=err)

    return run


@pytest.fixture(scope="session")
def embedding_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the folder of a tiny embedding model with random weights."""
    from kit.embedding_models import make_embedding_model  # noqa: PLC0415 - torch, which few tests need

    return make_embedding_model(tmp_path_factory.mktemp("embedding_model"))


@pytest.fixture(scope="session")
def finder_model(made_once: MadeOnce) -> Path:
    """Give the folder of a finder trained on the sample."""
    pytest.importorskip("lightgbm", reason="needs the extra 'train'")
    data = {"sha256": load_sample().sha256}
    fit = FinderTraining(figures=False).fit
    return made_once("finder", lambda folder: fit(list(load_sample()), folder / "model", data=data)) / "model"


@pytest.fixture
def small_forests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let finders grow a tenth of their trees by default, where how well they answer is not the point."""
    if not IS_THOROUGH:
        monkeypatch.setattr(doors.finder_training, "_N_TREES", 20)


@pytest.fixture(scope="session")
def embedding_server() -> Iterator[str]:
    """Give the address of an embeddings server that keeps the rules."""
    from kit.embedding_server import embeddings  # noqa: PLC0415 - beside the fixture of its name

    with hostile_server(b"", embeddings()) as server:
        yield server.address("v1")


@pytest.fixture(scope="session")
def model_server() -> Iterator[str]:
    """Give the address of a language model that always names the first sentences."""
    for package in ("aiohttp", "starlette"):
        pytest.importorskip(package, reason="needs the extras 'llm' and 'serve'")
    from kit.fake_models import running_fake_server  # noqa: PLC0415 - needs an extra, which neighbours' tests do without

    with running_fake_server(load_sample(), behaviour="lead") as server:
        yield server.base_url


@pytest.fixture(scope="session")
def examples_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a file of in-context examples, drawn from the sample."""
    path = tmp_path_factory.mktemp("examples") / "examples.json"
    write_examples(path, draw_examples(load_sample(), n=2, seed=0))
    return path


@pytest.fixture(scope="session")
def word_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the path of a program that answers lines of JSON."""
    return write_program(tmp_path_factory.mktemp("word_program") / "words")


@pytest.fixture(scope="session")
def cross_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the folder of a tiny cross-encoder with random weights."""
    from kit.cross_encoders import make_cross_encoder  # noqa: PLC0415 - torch, which few tests need

    return make_cross_encoder(tmp_path_factory.mktemp("cross_encoder"))
