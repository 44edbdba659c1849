"""Downloads from a server that cuts, lies, hangs and errs: the target is absent or whole, every error says why."""

import dataclasses
import hashlib
import json
import os
import re
import shutil
import ssl
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import doors
from doors import CATALOG, CatalogEntry, DownloadError, Fetched, check_file, fetch, locked_part_file
from kit.examples import examples
from kit.hostile_server import (
    Behaviour,
    Exchange,
    HostileServer,
    announce,
    answer,
    changed_to,
    chunked,
    cut_after,
    hang,
    hang_after,
    hostile_server,
    ignore_if_range,
    ignore_ranges,
    part_from,
    redirect,
    reset_at_once,
    serve,
    serve_with,
)
from kit.unwritable import no_file_longer_than

BODY = b'{"evidencebench_dev_id_1": "' + bytes(range(97, 123)) * 40 + b'"}'
OTHER = BODY.upper()  # as long, and another file
LONGER = json.dumps({"one": "tea " * 300}).encode()
DIGEST = hashlib.sha256(BODY).hexdigest()
KNOWN = CatalogEntry(
    name="dev",
    file_name="file.json",
    url="http://127.0.0.1:1/never-asked",
    n_instances=1,
    size_bytes=len(BODY),
    sha256=DIGEST,
    licence="none",
    note="",
)
UNKNOWN = dataclasses.replace(KNOWN, size_bytes=None, sha256=None)


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")


def get(server: HostileServer, folder: Path, entry: CatalogEntry = KNOWN, **options: Any) -> Fetched:
    """Fetch from the server, without waiting between attempts."""
    usual: dict[str, Any] = {"url": server.address(), "timeout_seconds": 10.0, "sleep": lambda _seconds: None}
    return fetch(entry, folder, **(usual | options))


def ranges_asked(
    folder: Path,
    *script: Behaviour,
    entry: CatalogEntry = UNKNOWN,
    body: bytes = BODY,
    part: bytes | None = None,
    expected: bytes = BODY,
    origin: dict[str, Any] | None = None,
    **served: Any,
) -> list[str | None]:
    """Return the range of each request of a fetch that ends well, beside a part that a killed one left."""
    with hostile_server(body, *script, **served) as server:
        if part is not None:
            leave_part(folder, part, server, **(origin or {}))
        assert get(server, folder, entry).path.read_bytes() == expected
    assert files(folder) == {"file.json"}
    return [asked.range for asked in server.log]


def refusal(
    folder: Path,
    *script: Behaviour,
    entry: CatalogEntry = KNOWN,
    body: bytes = BODY,
    part: bytes | None = None,
    **options: Any,
) -> str:
    """Return the message of a fetch that must fail, having checked that it left no target."""
    with hostile_server(body, *script) as server:
        if part is not None:
            leave_part(folder, part, server)
        with pytest.raises(DownloadError) as caught:
            get(server, folder, entry, **options)
    assert not (folder / entry.file_name).exists()
    return str(caught.value)


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def leave_part(folder: Path, data: bytes, server: HostileServer | None = None, **origin: str | int) -> None:
    """Leave what a killed download leaves; without a server, bytes from another address."""
    address = "http://elsewhere/" if server is None else server.address()
    (folder / "file.json.part").write_bytes(data)
    (folder / "file.json.part.json").write_text(json.dumps({"address": address, "etag": '"one"'} | origin))


# What is fetched, and what is not.


def test_a_file_is_fetched_whole_and_nothing_else_is_left(tmp_path: Path) -> None:
    with hostile_server(BODY) as server:
        fetched = get(server, tmp_path / "a" / "b")
    target = tmp_path / "a" / "b" / "file.json"
    assert fetched == Fetched(path=target, size_bytes=len(BODY), sha256=DIGEST, verified=True)
    assert target.read_bytes() == BODY
    assert files(target.parent) == {"file.json"}
    assert server.log[0].range is None
    assert server.log[0].headers["Accept-Encoding"] == "identity"


def test_a_mirror_is_asked_by_name_and_the_entrys_own_address_where_no_other_is_given(tmp_path: Path) -> None:
    with hostile_server(BODY) as server:
        get(server, tmp_path, url=None, mirror=server.address("mirror/"))
        (tmp_path / "file.json").unlink()
        get(server, tmp_path, dataclasses.replace(KNOWN, url=server.address("own")), url=None)
    assert [asked.path for asked in server.log] == ["/mirror/file.json", "/own"]


def test_a_checksum_known_by_its_ends_is_verified_and_of_an_unknown_one_that_is_said(tmp_path: Path) -> None:
    entry = dataclasses.replace(KNOWN, sha256=f"{DIGEST[:8]}...{DIGEST[-4:]}")
    with hostile_server(BODY) as server:
        assert get(server, tmp_path, entry).verified
        fetched = get(server, tmp_path / "unknown", UNKNOWN)
    assert (fetched.sha256, fetched.verified) == (DIGEST, False)
    for sha256 in ("00...00", f"{DIGEST[:8]}...0000", f"0000...{DIGEST[-4:]}", "0" * 64):
        with pytest.raises(DownloadError, match=sha256):
            check_file(dataclasses.replace(entry, sha256=sha256), tmp_path / "file.json")


@pytest.mark.parametrize(("held", "words"), [(OTHER, "checksum"), (b"{}", "1,070 bytes, got 2")])
def test_a_wrong_file_is_kept_until_forced(tmp_path: Path, held: bytes, words: str) -> None:
    target = tmp_path / "file.json"
    target.write_bytes(held)
    with hostile_server(BODY) as server:
        with pytest.raises(DownloadError, match=rf"file\.json: .*{words}.*by force"):
            get(server, tmp_path)
        assert (server.log, target.read_bytes()) == ([], held)
        get(server, tmp_path, force=True)
        assert (len(server.log), target.read_bytes()) == (1, BODY)
        assert get(server, tmp_path).verified
        assert len(server.log) == 1, "a right file is not fetched again"


def test_a_forced_fetch_that_fails_leaves_the_file_that_was_there(tmp_path: Path) -> None:
    (tmp_path / "file.json").write_bytes(BODY)
    with hostile_server(OTHER) as server, pytest.raises(DownloadError, match="checksum"):
        get(server, tmp_path, force=True)
    assert (tmp_path / "file.json").read_bytes() == BODY


def test_progress_tells_the_bytes_held_and_the_whole(tmp_path: Path) -> None:
    told: list[tuple[int, int | None]] = []
    with hostile_server(BODY, cut_after(100), serve) as server:
        get(server, tmp_path, UNKNOWN, progress=lambda held, total: told.append((held, total)))
    assert told[0] == (100, len(BODY))
    assert told[-1] == (len(BODY), len(BODY))
    assert sorted(told) == told


# Cut connections.


@given(
    body=st.text(max_size=1500).map(
        lambda text: json.dumps({"one": text}, ensure_ascii=False).encode(errors="replace")
    ),
    cuts=st.lists(st.integers(1, 400), max_size=6),
    is_known=st.booleans(),
)
@examples(30)
def test_however_often_it_is_cut_every_byte_comes_once_and_in_its_place(
    *, body: bytes, cuts: list[int], is_known: bool
) -> None:
    entry = KNOWN if is_known else UNKNOWN
    if is_known:
        entry = dataclasses.replace(entry, size_bytes=len(body), sha256=hashlib.sha256(body).hexdigest())
    with (
        tempfile.TemporaryDirectory() as folder,
        hostile_server(body, *(cut_after(n_bytes) for n_bytes in cuts), serve) as server,
    ):
        fetched = get(server, Path(folder), entry, attempts=len(cuts) + 1)
        assert fetched.path.read_bytes() == body
    assert sum(asked.sent_bytes for asked in server.log) == len(body)


DATE = "Tue, 01 Jul 2025 00:00:00 GMT"
REST = "bytes=400-"
CUT = cut_after(400)
WHOLE = f"bytes={len(BODY)}-"
WRONG_PLACES = (
    *("bytes 0-1069/1070", "bytes 399-1069/1070", "bytes 401-1069/1070", "bytes 400-1069/*", "nonsense"),
    *(f"bytes 400-1069/{'1' * 5000}", None),
)
# What the server does, what lies there or else differs from the usual, and the ranges that are asked for.
RANGES: list[tuple[Sequence[Behaviour], Mapping[str, Any], Sequence[str | None]]] = [
    # what a killed download left
    ([], {"entry": KNOWN, "part": BODY[:400]}, [REST]),
    ([], {"entry": KNOWN, "part": BODY}, []),
    ([], {"entry": KNOWN, "part": BODY + b"more"}, [None]),
    ([], {"part": BODY}, [WHOLE]),  # of unknown size: the server has no more
    ([], {"part": BODY, "origin": {"total": len(BODY)}, "body": OTHER}, []),  # as long as was announced
    ([ignore_if_range, serve], {"part": BODY + b"more"}, [f"bytes={len(BODY) + 4}-", None]),
    ([ignore_if_range, serve], {"part": BODY, "origin": {"etag": '"zero"'}}, [WHOLE, None]),
    ([answer(416, Content_Range=f"bytes */{len(BODY)}"), serve], {"part": OTHER, "etag": None}, [WHOLE, None]),
    ([redirect("/moved here"), serve], {"entry": KNOWN, "part": BODY[:400]}, [REST, REST]),
    # without a validator it starts again, and mixes nothing
    *(
        ([CUT, changed_to(BODY, etag)], {"entry": entry, "body": OTHER, "etag": etag}, [None, None])
        for entry in (KNOWN, UNKNOWN)
        for etag in (None, 'W/"one"', "")
    ),
    # a part from another place is not used
    ([CUT, ignore_ranges], {"entry": KNOWN}, [None, REST]),
    *(([CUT, part_from(place), serve], {"entry": KNOWN}, [None, REST, None]) for place in WRONG_PLACES),
    # the file changed; the server heeds If-Range, or ignores it, and keeps its ETag for another length, or says none
    ([CUT, changed_to(BODY, '"two"')], {"body": OTHER}, [None, REST]),
    *(
        ([CUT, changed_to(new, etag, ignore_if_range), serve], {"expected": new}, [None, REST, None])
        for new, etag in (
            *((LONGER, '"one"'), (BODY[:600] + b'"}', '"one"'), (OTHER, '"two"')),
            *((OTHER, None), (OTHER, 'W/"one"'), (LONGER, None)),
        )
    ),
    # a length is not announced, or in chunks
    ([announce(None)], {"entry": KNOWN}, [None]),
    ([chunked(BODY[:400], BODY[400:])], {"etag": None}, [None]),
    # servers in trouble are tried again
    *(
        ([trouble, trouble, serve], {"entry": KNOWN}, [None, None, None])
        for trouble in (reset_at_once, *map(answer, (408, 429, 500, 502, 503, 504)))
    ),
]


@pytest.mark.parametrize(("script", "usual", "ranges"), RANGES)
def test_only_what_is_lacking_is_asked_for_and_no_two_versions_are_mixed(
    tmp_path: Path, script: Sequence[Behaviour], usual: Mapping[str, Any], ranges: Sequence[str | None]
) -> None:
    assert ranges_asked(tmp_path, *script, **usual) == ranges


def test_a_killed_download_is_continued_under_the_etag_it_came_with(tmp_path: Path) -> None:
    with hostile_server(BODY, CUT, serve) as server:
        with pytest.raises(DownloadError, match=r"1,070 bytes, got 400 .*run it again"):
            get(server, tmp_path, attempts=1)
        assert files(tmp_path) == {"file.json.part", "file.json.part.json"}
        assert json.loads((tmp_path / "file.json.part.json").read_text())["total"] == len(BODY)
        get(server, tmp_path)
    assert [(asked.range, asked.headers.get("If-Range")) for asked in server.log] == [(None, None), (REST, '"one"')]
    assert files(tmp_path) == {"file.json"}


def test_the_date_guards_where_the_etag_is_weak(tmp_path: Path) -> None:
    with hostile_server(BODY, CUT, serve, etag='W/"one"', last_modified=DATE) as server:
        get(server, tmp_path, UNKNOWN)
    assert [(asked.range, asked.headers.get("If-Range")) for asked in server.log] == [(None, None), (REST, DATE)]


@pytest.mark.parametrize("torn", [b"", b'{"addr', b"[]", b'{"what": 1}', b"\xff", None])
def test_a_part_from_another_address_or_of_unknown_origin_is_not_continued(tmp_path: Path, torn: bytes | None) -> None:
    leave_part(tmp_path, OTHER[:400])
    (tmp_path / "file.json.part.lock").touch()  # which no process holds
    if torn is not None:
        (tmp_path / "file.json.part.json").write_bytes(torn)
    assert ranges_asked(tmp_path) == [None]


def test_a_pause_follows_every_failed_attempt_but_the_last(tmp_path: Path) -> None:
    pauses: list[float] = []
    refusal(tmp_path, answer(500), attempts=9, sleep=pauses.append)
    assert pauses == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]


def test_a_server_that_always_sends_another_place_is_given_up(tmp_path: Path) -> None:
    message = refusal(tmp_path, part_from("bytes 7-1069/1070"), attempts=1, part=BODY[:400])
    assert "from 400 on, got 'bytes 7-1069/1070'" in message


# Wrong files.


def test_wrong_bytes_and_a_part_of_them_are_deleted_and_both_checksums_named(tmp_path: Path) -> None:
    message = refusal(tmp_path, body=OTHER)
    assert f"{DIGEST}, got {hashlib.sha256(OTHER).hexdigest()}" in message
    assert "the part file is deleted" in message
    assert files(tmp_path) == set()
    assert "checksum" in refusal(tmp_path, part=OTHER[:400])
    assert files(tmp_path) == set()


@pytest.mark.parametrize(
    ("behaviour", "body", "entry", "words"),
    [
        (announce(1069), BODY, KNOWN, "expected 1,070 bytes"),
        (announce(1071), BODY, KNOWN, "a file of 1,071"),
        (announce(len(BODY) + 5), BODY, UNKNOWN, "1,070 in 1 attempt, the last of which failed: the connection ended"),
        (announce(None), BODY[:-5], KNOWN, "1,065 of 1,070 bytes"),
        (announce(None), BODY, UNKNOWN, "Content-Length"),
        (serve, b"", UNKNOWN, "was empty"),
        (serve_with(Content_Encoding="gzip"), BODY, KNOWN, "plain bytes"),
        (redirect("file:///etc/hosts"), BODY, KNOWN, "redirect to an http or https address, got one to file:"),
        (redirect("ftp://127.0.0.1/file.json"), BODY, KNOWN, "redirect to an http or https address"),
        (redirect("data:text/plain,x"), BODY, KNOWN, "redirect to an http or https address"),
        *((redirect(place), BODY, KNOWN, "expected") for place in ("http://", "http://[", None)),
        (redirect("/file.json"), BODY, KNOWN, "5 redirects"),
    ],
)
def test_an_answer_that_is_cut_empty_packed_or_leads_away_is_no_file(
    tmp_path: Path, behaviour: Behaviour, body: bytes, entry: CatalogEntry, words: str
) -> None:
    assert words in refusal(tmp_path, behaviour, body=body, entry=entry, attempts=1)


def test_more_bytes_than_expected_or_than_a_range_announced_stop_it_early(tmp_path: Path) -> None:
    told: list[int] = []
    message = refusal(tmp_path, announce(None), body=BODY * 3, progress=lambda held, _total: told.append(held))
    assert "1,070 bytes, got more" in message
    assert all(held <= len(BODY) for held in told)
    assert files(tmp_path) == set()
    assert "got more" in refusal(tmp_path, part_from("bytes 400-1069/1070"), part=BODY[:400])


def test_chunks_are_whole_only_with_their_end_mark(tmp_path: Path) -> None:
    message = refusal(tmp_path, chunked(BODY[:400], is_ended=False), entry=UNKNOWN, attempts=1)
    assert "got 400 in 1 attempt" in message


@pytest.mark.parametrize(
    ("kind", "page"), [("text/html; charset=utf-8", b"Log in"), ("text/plain", b"\n <!doctype html><p>Log in")]
)
def test_a_web_page_in_the_files_place_is_refused_and_costs_no_part(tmp_path: Path, kind: str, page: bytes) -> None:
    message = refusal(tmp_path, answer(200, page, Content_Type=kind), part=BODY[:400])
    assert "got a web page; open it in a browser" in message
    assert (tmp_path / "file.json.part").read_bytes() == BODY[:400]


# Servers that refuse, wait or hang.


@pytest.mark.parametrize("status", [403, 404, 410, 204, 206, 416])
def test_a_refusal_is_final(tmp_path: Path, status: int) -> None:
    with hostile_server(BODY, answer(status), serve) as server:
        with pytest.raises(DownloadError, match=f"answer {status} .*another address"):
            get(server, tmp_path)
        assert len(server.log) == 1


@pytest.mark.parametrize(
    ("asked", "seconds"),
    [
        ("7", 7.0),
        ("86400", 60.0),
        ("0", 1.0),
        ("-5", 1.0),
        ("Tue, 01 Jul 2025 00:00:00 GMT", 1.0),
        ("9" * 400, 1.0),
        ("Tue, 01 Jul 2098 00:00:00 GMT", 60.0),
    ],
)
def test_retry_after_is_obeyed_up_to_a_minute(tmp_path: Path, asked: str, seconds: float) -> None:
    pauses: list[float] = []
    with hostile_server(BODY, answer(429, Retry_After=asked), serve) as server:
        get(server, tmp_path, sleep=pauses.append)
    assert pauses == [seconds]


@pytest.mark.parametrize(
    ("behaviour", "attempts", "seconds", "n_held", "words"),
    [
        (answer(503), 2, 60.0, 0, "503 Service Unavailable"),
        (hang, 2, 0.1, 0, r"no (byte came for 0\.1|answer within 0\.2) s"),  # the second where the machine is busy
        (hang_after(400), 1, 2.0, 400, "no byte came for 2 s"),
        (cut_after(100), 3, 60.0, 300, "the connection ended before the answer did"),
    ],
)
def test_a_server_in_trouble_or_that_hangs_is_given_up_after_all_attempts_and_the_part_is_kept(
    tmp_path: Path, behaviour: Behaviour, attempts: int, seconds: float, *, n_held: int, words: str
) -> None:
    message = refusal(tmp_path, behaviour, timeout_seconds=seconds, attempts=attempts)
    assert re.search(f"got {n_held} in {attempts} attempt.*{words}", message)
    if n_held:
        assert (tmp_path / "file.json.part").read_bytes() == BODY[:n_held]


def test_nobody_listening_is_an_error_that_says_so(tmp_path: Path) -> None:
    with hostile_server(BODY) as server:
        pass
    with pytest.raises(DownloadError, match="Connection refused"):
        get(server, tmp_path, attempts=2)


# Addresses and redirects.


@pytest.mark.parametrize(
    "address",
    ["file:///etc/hosts", "ftp://host/file", "host/file", "", "http://", "http://[1", "http://h:port/", "http://a b/"],
)
def test_an_address_that_is_not_of_the_web_is_refused(tmp_path: Path, address: str) -> None:
    with pytest.raises(DownloadError, match=r"http or https address.*correct it"):
        fetch(KNOWN, tmp_path, url=address)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a certificate of 127.0.0.1 that only those trust who are told to."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("needs the openssl command to make a certificate")
    path = tmp_path_factory.mktemp("tls") / "certificate.pem"
    command = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=loopback"
    subprocess.run(
        [openssl, *command.split(), "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", path, "-out", f"{path}.crt"],
        check=True,
        capture_output=True,
    )
    path.write_bytes(path.read_bytes() + Path(f"{path}.crt").read_bytes())
    return path


@pytest.fixture
def tls(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


def test_a_certificate_that_nobody_trusts_is_refused_at_once(tmp_path: Path, tls: ssl.SSLContext) -> None:
    with hostile_server(BODY, tls=tls) as server:
        with pytest.raises(DownloadError, match=r"certificate.*another"):
            get(server, tmp_path, url=server.address(scheme="https"))
        assert server.log == []


def test_https_is_fetched_and_never_left_for_http(
    tmp_path: Path, tls: ssl.SSLContext, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with (
        hostile_server(BODY) as plain,
        hostile_server(BODY, redirect(plain.address()), redirect("/there"), tls=tls) as server,
    ):
        address = server.address(scheme="https")
        with pytest.raises(DownloadError, match=r"https.*http://127"):
            get(server, tmp_path, url=address)
        assert plain.log == []
        server.script = [serve]
        assert get(server, tmp_path, url=address).verified


# The disk, and copies on it.


def test_a_copy_on_this_machine_is_taken_and_kept(tmp_path: Path) -> None:
    source = tmp_path / "copy.json"
    source.write_bytes(BODY)
    leave_part(tmp_path, BODY[:400])
    fetched = fetch(KNOWN, tmp_path, source_file=source)
    assert (fetched.path, fetched.verified) == (tmp_path / "file.json", True)
    assert files(tmp_path) == {"copy.json", "file.json"}


def test_a_wrong_copy_is_refused_and_costs_no_part(tmp_path: Path) -> None:
    leave_part(tmp_path, BODY[:400])
    with pytest.raises(DownloadError, match=r"copy\.json: .*No such file"):
        fetch(KNOWN, tmp_path, source_file=tmp_path / "copy.json")
    (tmp_path / "copy.json").write_bytes(OTHER)
    with pytest.raises(DownloadError, match=r"copy\.json: .*checksum.*the right file"):
        fetch(KNOWN, tmp_path, source_file=tmp_path / "copy.json")
    assert (tmp_path / "file.json.part").read_bytes() == BODY[:400]


def test_a_folder_that_cannot_be_made_and_a_part_that_cannot_be_written_are_errors(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DownloadError, match=r"write there.*free space.*another folder"):
        fetch(KNOWN, tmp_path / "file")
    (tmp_path / "file.json.part").mkdir()
    assert "file.json.part: expected to write there" in refusal(tmp_path)


def test_a_folder_in_the_files_place_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file.json").mkdir()
    with hostile_server(BODY) as server:
        with pytest.raises(DownloadError, match="by force"):
            get(server, tmp_path)
        with pytest.raises(DownloadError, match="write there"):
            get(server, tmp_path, force=True)


def test_a_disk_that_takes_no_more_is_an_error_and_what_it_took_is_used(tmp_path: Path) -> None:
    with hostile_server(BODY) as server:
        with (
            no_file_longer_than(500),
            pytest.raises(DownloadError, match=r"file\.json\.part: .*File too large"),
        ):
            get(server, tmp_path)
        get(server, tmp_path)
    assert (tmp_path / "file.json").read_bytes() == BODY
    assert [asked.range for asked in server.log] == [None, "bytes=500-"]


# Arguments and the catalogue.


def test_two_places_at_once_and_impossible_attempts_or_timeouts_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match=r"mirror, url and source file.*several"):
        fetch(KNOWN, tmp_path, mirror="http://a/", url="http://b/")
    for attempts, seconds in ((0, 1.0), (1, 0.0)):
        with pytest.raises(DownloadError, match="attempts and a timeout"):
            fetch(KNOWN, tmp_path, attempts=attempts, timeout_seconds=seconds)


def test_the_catalogue_names_five_data_sets_and_cannot_be_changed() -> None:
    assert list(CATALOG) == ["train", "dev", "test", "100k-train", "100k-test"]
    assert [entry.n_instances for entry in CATALOG.values()] == [96, 37, 293, 87_461, 20_000]
    assert all(entry.name == name and entry.url.endswith(f"/{entry.file_name}") for name, entry in CATALOG.items())
    with pytest.raises(TypeError):
        CATALOG["mine"] = KNOWN  # type: ignore[index]


# The right file.


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"one": {}, "two": {}}', "1 instance, got 2"),
        (b'{"one": 1, "one": 2}', "'one' more than once"),
        (b"{}", "no instance"),
        (b'["one"]', "JSON object"),
        (b'{"one": "cut', "not valid JSON"),
    ],
)
def test_a_file_of_another_number_of_instances_is_not_installed(tmp_path: Path, body: bytes, words: str) -> None:
    with hostile_server(body) as server, pytest.raises(DownloadError, match=f"{words}.*the part file is deleted"):
        get(server, tmp_path, UNKNOWN)
    assert list(tmp_path.iterdir()) == []
    copy = tmp_path / "copy"
    copy.write_bytes(body)
    with pytest.raises(DownloadError, match=f"{words}.*give the right file"):
        fetch(UNKNOWN, tmp_path, source_file=copy)
    copy.rename(tmp_path / "file.json")
    with pytest.raises(DownloadError, match=f"{words}.*replace it by force"):
        fetch(UNKNOWN, tmp_path, url="http://127.0.0.1:1/never-asked")


# One at a time.


def test_two_that_fetch_at_once_do_not_write_one_file(tmp_path: Path) -> None:
    with hostile_server(BODY, serve) as server:
        with (
            locked_part_file(tmp_path / "file.json.part"),
            pytest.raises(DownloadError, match=r"file\.json\.part\.lock: .*other process.*wait"),
        ):
            get(server, tmp_path, UNKNOWN)
        assert server.log == []
        assert get(server, tmp_path, UNKNOWN).path.read_bytes() == BODY
    assert files(tmp_path) == {"file.json"}


def test_of_many_that_fetch_at_once_each_has_the_file_or_is_told_why_not(tmp_path: Path) -> None:
    def one(server: HostileServer) -> str | None:
        try:
            get(server, tmp_path, UNKNOWN)
        except DownloadError as error:
            return str(error)
        return None

    with hostile_server(BODY) as server, ThreadPoolExecutor(8) as pool:
        told = list(pool.map(one, [server] * 24))
    assert None in told
    assert all(words is None or "no other process" in words for words in told)
    assert (tmp_path / "file.json").read_bytes() == BODY
    assert files(tmp_path) == {"file.json"}


@pytest.mark.parametrize("name", ["file.json", "file.json.part", "file.json.part.json", "file.json.part.lock"])
def test_a_pipe_in_a_files_place_is_neither_waited_for_nor_replaced_unasked(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    with hostile_server(BODY) as server:
        if name == "file.json":
            with pytest.raises(DownloadError, match="is a pipe"):
                get(server, tmp_path, UNKNOWN)
            with pytest.raises(DownloadError, match="to replace, got a pipe"):
                get(server, tmp_path, UNKNOWN, force=True)
            assert (tmp_path / name).is_fifo()
        else:  # files of our own
            assert get(server, tmp_path, UNKNOWN).path.read_bytes() == BODY


# Servers that drip, and never end.


def dripping(data: bytes) -> Behaviour:
    """Send bytes one by one until nobody listens."""

    def behave(exchange: Exchange) -> None:
        for number in range(len(data)):
            exchange.handler.wfile.write(data[number : number + 1])
            exchange.handler.wfile.flush()
            if exchange.server.closing.wait(0.01):
                return

    return behave


def after_the_head(behaviour: Behaviour) -> Behaviour:
    def behave(exchange: Exchange) -> None:
        exchange.file_head()
        behaviour(exchange)

    return behave


def endless(data: bytes) -> Behaviour:
    def behave(exchange: Exchange) -> None:
        while not exchange.server.closing.is_set():
            exchange.handler.wfile.write(data)

    return behave


def test_an_answer_that_drips_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doors.fetch_module, "LEAST_BYTES_A_SECOND", 10**6)
    behaviour = after_the_head(dripping(BODY))
    message = refusal(tmp_path, behaviour, entry=UNKNOWN, timeout_seconds=0.2, attempts=2)
    # Beside others that are busy, the server may be silent for as long.
    assert re.search(r"1,000,000 bytes a second came for \d|no byte came for 0\.2", message)


@pytest.mark.parametrize(
    "behaviour",
    [dripping(b"HTTP/1.1 200 OK\r\nA: " + b"b" * 5000), endless(b"HTTP/1.1 100 Continue\r\n\r\n" * 100)],
    ids=["drips", "never begins"],
)
def test_a_head_that_does_not_end_is_left(tmp_path: Path, behaviour: Behaviour) -> None:
    message = refusal(tmp_path, behaviour, entry=UNKNOWN, timeout_seconds=0.3, attempts=2)
    assert "no answer within 0.6 s" in message


def test_a_body_without_end_is_left_where_no_such_file_can_end(tmp_path: Path) -> None:
    def endless_chunks(exchange: Exchange) -> None:
        exchange.handler.protocol_version = "HTTP/1.1"
        exchange.head(200, {"Transfer-Encoding": "chunked", "Connection": "close"})
        endless(b"1000\r\n" + b"x" * 0x1000 + b"\r\n")(exchange)

    assert "262,144 bytes, got more" in refusal(tmp_path, endless_chunks, entry=UNKNOWN)
    assert files(tmp_path) == set()
    message = refusal(tmp_path, announce(10**12), entry=UNKNOWN)
    assert "262,144 bytes, got a file of 1,000,000,000,000" in message
