"""Data that lies elsewhere is read as data that lies here: copied once, and again where it changed."""

import gzip
import json
import shutil
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import fsspec
import pytest

from doors import UnreadableError, local_copy, sample_path
from evidencebench import load_sample, open_dataset, write_dataset

SAMPLE = sample_path().read_bytes()


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVIDENCEBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture
def store() -> Iterator[fsspec.AbstractFileSystem]:
    """Give a store in memory, which answers as S3 does."""
    files = fsspec.filesystem("memory")
    yield files
    files.rm("/", recursive=True)


class Handler(SimpleHTTPRequestHandler):
    n_sent = 0
    is_cut = False

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def copyfile(self, source: Any, outputfile: Any) -> None:
        type(self).n_sent += 1
        outputfile.write(source.read(1000 if self.is_cut else -1))


@pytest.fixture
def web(tmp_path: Path) -> Iterator[tuple[str, Path, type[Handler]]]:
    """Give the address of a server, the folder that it serves, and its handler."""
    folder = tmp_path / "web"
    folder.mkdir()

    class Own(Handler):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments, directory=str(folder))

    with ThreadingHTTPServer(("127.0.0.1", 0), Own) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", folder, Own
        server.shutdown()


def test_a_data_set_on_the_web_is_fetched_once_and_again_where_it_changed(
    web: tuple[str, Path, type[Handler]],
) -> None:
    address, folder, handler = web
    (folder / "sample.json").write_bytes(SAMPLE)
    for _ in range(2):
        data = open_dataset(f"{address}/sample.json")
        assert (data.ids, data.name) == (load_sample().ids, "sample.json")
    assert handler.n_sent == 1
    first = load_sample().ids[0]
    (folder / "sample.json").write_text(json.dumps({first: json.loads(SAMPLE)[first]}))
    assert open_dataset(f"{address}/sample.json").ids == (first,)


def test_what_does_not_come_whole_is_not_kept(web: tuple[str, Path, type[Handler]], tmp_path: Path) -> None:
    address, folder, handler = web
    with pytest.raises(UnreadableError, match=r"none\.json: cannot be read"):
        open_dataset(f"{address}/none.json")
    (folder / "sample.json").write_bytes(SAMPLE)
    handler.is_cut = True
    with pytest.raises(UnreadableError, match=r"cannot be read|expected"):
        open_dataset(f"{address}/sample.json")
    assert not list(tmp_path.glob("cache/remote/*"))
    handler.is_cut = False
    assert len(open_dataset(f"{address}/sample.json")) == 10


def test_a_pattern_is_all_files_that_fit_it(store: fsspec.AbstractFileSystem, tmp_path: Path) -> None:
    sample = load_sample()
    for number, ids in enumerate((sample.ids[:4], sample.ids[4:])):
        path = tmp_path / f"part-{number}.json"
        write_dataset(path, [sample[one] for one in ids])
        store.pipe(f"/shards/{path.name}", path.read_bytes())
    store.pipe("/shards/notes.txt", b"no data")
    told: list[tuple[int, int]] = []
    folder = local_copy("memory://shards/*.json", on_progress=lambda *done: told.append(done))
    assert set(open_dataset(folder).ids) == set(sample.ids)
    assert told[-1][0] == told[-1][1] > 0


def test_of_files_of_one_name_none_is_lost_unsaid(store: fsspec.AbstractFileSystem) -> None:
    for folder in "ab":
        store.pipe(f"/{folder}/data.json", SAMPLE)
    with pytest.raises(UnreadableError, match="different names"):
        local_copy("memory://*/data.json")


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("memory://none/data.json", "none/data.json"),
        ("memory://none/*.json", "no file fits"),
        ("foo://host/data.json", "not known: foo"),
        ("http://127.0.0.1:1/data.json", "127.0.0.1"),
    ],
)
def test_what_cannot_be_had_is_told_with_its_address(address: str, words: str) -> None:
    with pytest.raises(UnreadableError, match=f"^{address.replace('*', '[*]')}: .*{words}"):
        open_dataset(address)


def test_without_a_cache_a_copy_is_made_all_the_same(
    store: fsspec.AbstractFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVIDENCEBENCH_CACHE", "off")
    packed = gzip.compress(SAMPLE)
    store.pipe("/sample.json.gz", packed)
    path = local_copy("memory://sample.json.gz")
    assert path.read_bytes() == packed
    assert len(open_dataset(path)) == 10
    shutil.rmtree(path.parent)
