"""Downloads from a server that cuts, lies, hangs and errs: the target is absent or whole, every error says why."""

import dataclasses
import gzip
import hashlib
import json
import shutil
import ssl
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidencebench.data.catalog import CATALOG, CatalogEntry, Fetched, check_file, sha256_matches
from evidencebench.data.download import fetch
from evidencebench.errors import DownloadError
from evidencebench.storage.reading import file_sha256
from evidencebench.storage.user_folders import data_folder
from examples import examples
from hostile_server import (
    Behaviour,
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

BODY = b'{"evidencebench_dev_id_1": "' + bytes(range(97, 123)) * 40 + b'"}'
OTHER = BODY.upper()  # as long, and another file
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


def refusal(folder: Path, *script: Behaviour, entry: CatalogEntry = KNOWN, body: bytes = BODY, **options: Any) -> str:
    """Return the message of a fetch that must fail, having checked that it left no target."""
    with hostile_server(body, *script) as server, pytest.raises(DownloadError) as caught:
        get(server, folder, entry, **options)
    assert not (folder / entry.file_name).exists()
    return str(caught.value)


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def leave_part(folder: Path, data: bytes, **origin: str | None) -> None:
    """Leave what a killed download leaves."""
    (folder / "file.json.part").write_bytes(data)
    if origin:
        (folder / "file.json.part.json").write_text(json.dumps({"etag": None, "last_modified": None} | origin))


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


def test_a_mirror_is_asked_for_the_file_by_its_name(tmp_path: Path) -> None:
    with hostile_server(BODY) as server:
        get(server, tmp_path, url=None, mirror=server.address("mirror/"))
    assert [asked.path for asked in server.log] == ["/mirror/file.json"]


def test_the_entrys_own_address_is_asked_where_no_other_is_given(tmp_path: Path) -> None:
    with hostile_server(BODY) as server:
        get(server, tmp_path, dataclasses.replace(KNOWN, url=server.address("own")), url=None)
    assert [asked.path for asked in server.log] == ["/own"]


def test_a_file_of_unknown_checksum_is_fetched_and_said_to_be_unverified(tmp_path: Path) -> None:
    with hostile_server(BODY) as server:
        fetched = get(server, tmp_path, UNKNOWN)
    assert (fetched.sha256, fetched.verified) == (DIGEST, False)


def test_a_checksum_known_by_its_ends_is_verified(tmp_path: Path) -> None:
    entry = dataclasses.replace(KNOWN, sha256=f"{DIGEST[:8]}...{DIGEST[-4:]}")
    with hostile_server(BODY) as server:
        assert get(server, tmp_path, entry).verified
    with pytest.raises(DownloadError, match=r"expected the sha256 checksum 00\.\.\.00, got"):
        check_file(dataclasses.replace(entry, sha256="00...00"), tmp_path / "file.json")


def test_a_right_file_is_not_fetched_again(tmp_path: Path) -> None:
    (tmp_path / "file.json").write_bytes(BODY)
    with hostile_server(BODY) as server:
        assert get(server, tmp_path).verified
    assert server.log == []


@pytest.mark.parametrize(
    ("held", "words"), [(OTHER, "expected the sha256 checksum"), (b"{}", r"expected 1,070 bytes, got 2")]
)
def test_a_wrong_file_is_kept_until_forced(tmp_path: Path, held: bytes, words: str) -> None:
    target = tmp_path / "file.json"
    target.write_bytes(held)
    with hostile_server(BODY) as server:
        with pytest.raises(DownloadError, match=rf"file\.json: {words}.*; replace it by force"):
            get(server, tmp_path)
        assert (server.log, target.read_bytes()) == ([], held)
        get(server, tmp_path, force=True)
    assert target.read_bytes() == BODY


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


def test_a_killed_download_goes_on_and_asks_only_for_the_rest(tmp_path: Path) -> None:
    leave_part(tmp_path, BODY[:400])
    with hostile_server(BODY) as server:
        get(server, tmp_path)
    assert (tmp_path / "file.json").read_bytes() == BODY
    assert [(asked.range, asked.sent_bytes) for asked in server.log] == [("bytes=400-", len(BODY) - 400)]


def test_a_killed_download_is_continued_under_the_etag_it_came_with(tmp_path: Path) -> None:
    with hostile_server(BODY, cut_after(400), serve) as server:
        with pytest.raises(DownloadError, match=r"expected 1,070 bytes, got 400 in 1 attempt.*run it again"):
            get(server, tmp_path, attempts=1)
        assert files(tmp_path) == {"file.json.part", "file.json.part.json"}
        get(server, tmp_path)
    assert [asked.headers.get("If-Range") for asked in server.log] == [None, '"one"']
    assert [asked.range for asked in server.log] == [None, "bytes=400-"]
    assert files(tmp_path) == {"file.json"}


def test_the_date_guards_where_the_etag_is_weak(tmp_path: Path) -> None:
    date = "Tue, 01 Jul 2025 00:00:00 GMT"
    with hostile_server(BODY, cut_after(400), serve, etag='W/"one"', last_modified=date) as server:
        get(server, tmp_path, UNKNOWN)
    assert [(asked.range, asked.headers.get("If-Range")) for asked in server.log] == [
        (None, None),
        ("bytes=400-", date),
    ]


@pytest.mark.parametrize("etag", [None, 'W/"one"', ""])
def test_without_checksum_and_validator_it_starts_again_and_mixes_nothing(tmp_path: Path, etag: str | None) -> None:
    with hostile_server(OTHER, cut_after(400), changed_to(BODY, etag), etag=etag) as server:
        get(server, tmp_path, UNKNOWN)
    assert (tmp_path / "file.json").read_bytes() == BODY
    assert [asked.range for asked in server.log] == [None, None]


def test_without_checksum_a_part_from_another_address_is_not_continued(tmp_path: Path) -> None:
    with hostile_server(BODY) as server:
        leave_part(tmp_path, OTHER[:400], address=server.address("elsewhere"), etag='"one"')
        get(server, tmp_path, UNKNOWN)
    assert (tmp_path / "file.json").read_bytes() == BODY
    assert [asked.range for asked in server.log] == [None]


@pytest.mark.parametrize("torn", [b"", b'{"addr', b"[]", b'{"what": 1}', b"\xff"])
def test_a_torn_record_of_the_origin_is_as_good_as_none(tmp_path: Path, torn: bytes) -> None:
    leave_part(tmp_path, BODY[:400])
    (tmp_path / "file.json.part.json").write_bytes(torn)
    with hostile_server(BODY) as server:
        get(server, tmp_path)
    assert [(asked.range, asked.headers.get("If-Range")) for asked in server.log] == [("bytes=400-", None)]


def test_a_part_that_lacks_nothing_is_not_asked_for(tmp_path: Path) -> None:
    leave_part(tmp_path, BODY)
    with hostile_server(BODY) as server:
        assert get(server, tmp_path).verified
    assert server.log == []


def test_a_part_that_is_too_long_is_fetched_from_the_start(tmp_path: Path) -> None:
    leave_part(tmp_path, BODY + b"more")
    with hostile_server(BODY) as server:
        get(server, tmp_path)
    assert [asked.range for asked in server.log] == [None]


def test_a_part_of_unknown_size_is_whole_when_the_server_has_no_more(tmp_path: Path) -> None:
    with hostile_server(BODY) as server:
        leave_part(tmp_path, BODY, address=server.address(), etag='"one"')
        get(server, tmp_path, UNKNOWN)
    assert (tmp_path / "file.json").read_bytes() == BODY
    assert [asked.range for asked in server.log] == [f"bytes={len(BODY)}-"]


@pytest.mark.parametrize("rest", [b"more", b""])
def test_a_416_for_another_length_or_version_starts_again(tmp_path: Path, rest: bytes) -> None:
    etag = '"one"' if rest else '"zero"'
    with hostile_server(BODY, ignore_if_range, serve) as server:
        leave_part(tmp_path, BODY + rest, address=server.address(), etag=etag)
        get(server, tmp_path, UNKNOWN)
    assert (tmp_path / "file.json").read_bytes() == BODY
    assert [asked.range for asked in server.log] == [f"bytes={len(BODY + rest)}-", None]


def test_a_connection_that_is_reset_is_tried_again(tmp_path: Path) -> None:
    with hostile_server(BODY, reset_at_once, serve) as server:
        get(server, tmp_path)
    assert len(server.log) == 2


def test_attempts_are_bounded_and_the_part_is_kept(tmp_path: Path) -> None:
    message = refusal(tmp_path, cut_after(100), attempts=3)
    assert "expected 1,070 bytes, got 300 in 3 attempts" in message
    assert "the connection ended after 300 of 1,070 bytes; run it again to go on from there" in message
    assert (tmp_path / "file.json.part").read_bytes() == BODY[:300]


def test_nobody_listening_is_an_error_that_says_so(tmp_path: Path) -> None:
    with hostile_server(BODY) as server:
        pass
    with pytest.raises(DownloadError, match=r"got 0 in 2 attempts, the last of which failed: Connection refused"):
        get(server, tmp_path, attempts=2)


def test_a_pause_follows_every_failed_attempt_but_the_last(tmp_path: Path) -> None:
    pauses: list[float] = []
    refusal(tmp_path, answer(500), attempts=9, sleep=pauses.append)
    assert pauses == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]


# Ranges that are not kept.


def test_a_server_that_ignores_ranges_is_read_from_the_start(tmp_path: Path) -> None:
    with hostile_server(BODY, cut_after(400), ignore_ranges) as server:
        get(server, tmp_path)
    assert (tmp_path / "file.json").read_bytes() == BODY
    assert [asked.range for asked in server.log] == [None, "bytes=400-"]


@pytest.mark.parametrize(
    "place",
    [
        "bytes 0-1069/1070",
        "bytes 399-1069/1070",
        "bytes 401-1069/1070",
        "bytes 400-1069/*",
        "nonsense",
        f"bytes 400-1069/{'1' * 5000}",
        None,
    ],
)
def test_a_part_from_another_place_is_not_used(tmp_path: Path, place: str | None) -> None:
    with hostile_server(BODY, cut_after(400), part_from(place), serve) as server:
        get(server, tmp_path)
    assert (tmp_path / "file.json").read_bytes() == BODY
    assert [asked.range for asked in server.log] == [None, "bytes=400-", None]


def test_a_server_that_always_sends_another_place_is_given_up(tmp_path: Path) -> None:
    leave_part(tmp_path, BODY[:400])
    message = refusal(tmp_path, part_from("bytes 7-1069/1070"), attempts=1)
    assert "asked for the bytes from 400 on, got 'bytes 7-1069/1070', so it starts again" in message


def test_a_file_that_changed_between_two_parts_is_fetched_anew(tmp_path: Path) -> None:
    with hostile_server(OTHER, cut_after(400), changed_to(BODY, '"two"')) as server:
        get(server, tmp_path, UNKNOWN)
    assert (tmp_path / "file.json").read_bytes() == BODY
    assert [asked.sent_bytes for asked in server.log] == [400, len(BODY)]


def test_a_changed_etag_is_seen_though_the_server_ignores_if_range(tmp_path: Path) -> None:
    with hostile_server(OTHER, cut_after(400), changed_to(BODY, '"two"', ignore_if_range), serve) as server:
        get(server, tmp_path, UNKNOWN)
    assert (tmp_path / "file.json").read_bytes() == BODY
    assert [asked.range for asked in server.log] == [None, "bytes=400-", None]


# Wrong files.


def test_wrong_bytes_are_deleted_and_both_checksums_named(tmp_path: Path) -> None:
    message = refusal(tmp_path, body=OTHER)
    assert f"expected the sha256 checksum {DIGEST}, got {hashlib.sha256(OTHER).hexdigest()}" in message
    assert "the part file is deleted: run it again" in message
    assert files(tmp_path) == set()


def test_a_part_of_wrong_bytes_is_deleted_too(tmp_path: Path) -> None:
    leave_part(tmp_path, OTHER[:400])
    assert "expected the sha256 checksum" in refusal(tmp_path)
    assert files(tmp_path) == set()


@pytest.mark.parametrize("length", [len(BODY) - 1, len(BODY) + 1])
def test_a_content_length_that_is_not_the_files_is_refused_at_once(tmp_path: Path, length: int) -> None:
    message = refusal(tmp_path, announce(length))
    assert f"expected 1,070 bytes, got a file of {length:,}; give another address" in message


def test_a_content_length_too_large_is_a_cut_where_the_size_is_not_known(tmp_path: Path) -> None:
    message = refusal(tmp_path, announce(len(BODY) + 5), entry=UNKNOWN, attempts=1)
    assert "the connection ended after 1,070 of 1,075 bytes" in message


def test_more_bytes_than_expected_stop_it_early(tmp_path: Path) -> None:
    told: list[int] = []
    message = refusal(tmp_path, announce(None), body=BODY * 3, progress=lambda held, _total: told.append(held))
    assert "expected 1,070 bytes, got more" in message
    assert all(held <= len(BODY) for held in told)
    assert files(tmp_path) == set()


def test_more_bytes_than_a_range_announced_are_refused(tmp_path: Path) -> None:
    leave_part(tmp_path, BODY[:400])
    assert "expected 1,070 bytes, got more" in refusal(tmp_path, part_from("bytes 400-1069/1070"))


def test_fewer_bytes_than_expected_are_no_file(tmp_path: Path) -> None:
    message = refusal(tmp_path, announce(None), body=BODY[:-5], attempts=1)
    assert "the connection ended after 1,065 of 1,070 bytes" in message


def test_bytes_of_no_announced_length_are_enough_where_the_checksum_is_known(tmp_path: Path) -> None:
    with hostile_server(BODY, announce(None)) as server:
        assert get(server, tmp_path).verified


def test_bytes_of_no_announced_length_are_refused_where_nothing_else_shows_a_cut(tmp_path: Path) -> None:
    message = refusal(tmp_path, announce(None), entry=UNKNOWN)
    assert "expected a Content-Length, got none, so that a cut would go unnoticed" in message


def test_chunks_are_whole_only_with_their_end_mark(tmp_path: Path) -> None:
    message = refusal(tmp_path, chunked(BODY[:400], is_ended=False), entry=UNKNOWN, attempts=1)
    assert "got 400 in 1 attempt" in message
    with hostile_server(BODY, chunked(BODY[:400], BODY[400:]), etag=None) as server:
        get(server, tmp_path, UNKNOWN)
    assert (tmp_path / "file.json").read_bytes() == BODY


def test_an_empty_answer_is_no_file(tmp_path: Path) -> None:
    assert "the answer was empty" in refusal(tmp_path, body=b"", entry=UNKNOWN, attempts=1)


@pytest.mark.parametrize(
    ("kind", "page"), [("text/html; charset=utf-8", b"Log in"), ("text/plain", b"\n <!doctype html><p>Log in")]
)
def test_a_web_page_in_the_files_place_is_refused_and_costs_no_part(tmp_path: Path, kind: str, page: bytes) -> None:
    leave_part(tmp_path, BODY[:400])
    message = refusal(tmp_path, answer(200, page, Content_Type=kind))
    assert "expected a JSON file, got a web page; open it in a browser" in message
    assert (tmp_path / "file.json.part").read_bytes() == BODY[:400]


def test_encoded_bytes_are_refused(tmp_path: Path) -> None:
    message = refusal(tmp_path, serve_with(Content_Encoding="gzip"), body=gzip.compress(BODY))
    assert "expected plain bytes, got them encoded as gzip" in message


# Servers that refuse, wait or hang.


@pytest.mark.parametrize("status", [403, 404, 410, 204, 206, 416])
def test_a_refusal_is_final(tmp_path: Path, status: int) -> None:
    with hostile_server(BODY, answer(status), serve) as server:
        with pytest.raises(
            DownloadError, match=rf"expected the file, got the answer {status} .*; give another address"
        ):
            get(server, tmp_path)
        assert len(server.log) == 1


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_a_server_in_trouble_is_tried_again(tmp_path: Path, status: int) -> None:
    with hostile_server(BODY, answer(status), answer(status), serve) as server:
        get(server, tmp_path)
    assert len(server.log) == 3


def test_a_server_in_trouble_is_given_up_after_all_attempts(tmp_path: Path) -> None:
    assert "got 0 in 2 attempts, the last of which failed: the server answered 503 Service Unavailable" in refusal(
        tmp_path, answer(503), attempts=2
    )


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


def test_a_server_that_hangs_before_its_answer_is_left(tmp_path: Path) -> None:
    message = refusal(tmp_path, hang, timeout_seconds=0.1, attempts=2)
    assert "got 0 in 2 attempts, the last of which failed: timed out" in message


def test_a_server_that_hangs_in_the_middle_keeps_what_it_sent(tmp_path: Path) -> None:
    message = refusal(tmp_path, hang_after(400), timeout_seconds=0.1, attempts=1)
    assert "expected 1,070 bytes, got 400 in 1 attempt, the last of which failed: timed out" in message


# Addresses and redirects.


def test_a_redirect_is_followed_with_its_range(tmp_path: Path) -> None:
    leave_part(tmp_path, BODY[:400])
    with hostile_server(BODY, redirect("/moved here"), serve) as server:
        get(server, tmp_path)
    assert [(asked.path, asked.range) for asked in server.log] == [
        ("/file.json", "bytes=400-"),
        ("/moved%20here", "bytes=400-"),
    ]


@pytest.mark.parametrize("place", ["file:///etc/hosts", "ftp://127.0.0.1/file.json", "data:text/plain,x"])
def test_a_redirect_away_from_the_web_is_refused(tmp_path: Path, place: str) -> None:
    message = refusal(tmp_path, redirect(place))
    assert f"expected a redirect to an http or https address, got one to {place}" in message


@pytest.mark.parametrize("place", ["http://", "http://[", None])
def test_a_redirect_to_nowhere_is_refused(tmp_path: Path, place: str | None) -> None:
    assert "expected" in refusal(tmp_path, redirect(place))


def test_redirects_without_end_are_refused(tmp_path: Path) -> None:
    assert "expected at most 5 redirects, got more" in refusal(tmp_path, redirect("/file.json"))


@pytest.mark.parametrize(
    "address",
    ["file:///etc/hosts", "ftp://host/file", "host/file", "", "http://", "http://[1", "http://h:port/", "http://a b/"],
)
def test_an_address_that_is_not_of_the_web_is_refused(tmp_path: Path, address: str) -> None:
    with pytest.raises(DownloadError, match=r"expected an http or https address, got .*; correct it"):
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
        with pytest.raises(DownloadError, match=r"expected a certificate that can be trusted, got .*; give another"):
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
        with pytest.raises(DownloadError, match="expected a redirect that stays on https, got one to http://127"):
            get(server, tmp_path, url=address)
        assert plain.log == []
        server.script = [serve]
        assert get(server, tmp_path, url=address).verified


# The disk, and copies on it.


def test_a_copy_on_this_machine_is_taken_and_kept(tmp_path: Path) -> None:
    source = tmp_path / "copy.json"
    source.write_bytes(BODY)
    leave_part(tmp_path, BODY[:400], address="http://elsewhere/")
    fetched = fetch(KNOWN, tmp_path, source_file=source)
    assert (fetched.path, fetched.verified) == (tmp_path / "file.json", True)
    assert files(tmp_path) == {"copy.json", "file.json"}


def test_a_wrong_copy_is_refused_and_costs_no_part(tmp_path: Path) -> None:
    source = tmp_path / "copy.json"
    source.write_bytes(OTHER)
    leave_part(tmp_path, BODY[:400])
    with pytest.raises(DownloadError, match=r"copy\.json: expected the sha256 checksum .*; give the right file"):
        fetch(KNOWN, tmp_path, source_file=source)
    assert (tmp_path / "file.json.part").read_bytes() == BODY[:400]


def test_a_copy_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match=r"copy\.json: expected a file that can be read, got: No such file"):
        fetch(KNOWN, tmp_path, source_file=tmp_path / "copy.json")


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DownloadError, match=r"expected to write there, got .*; free the place or choose another"):
        fetch(KNOWN, tmp_path / "file")


def test_a_folder_in_the_files_place_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file.json").mkdir()
    with hostile_server(BODY) as server:
        with pytest.raises(DownloadError, match="replace it by force"):
            get(server, tmp_path)
        with pytest.raises(DownloadError, match=r"file\.json: expected to write there, got"):
            get(server, tmp_path, force=True)


def test_a_part_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file.json.part").mkdir()
    assert "file.json.part: expected to write there, got" in refusal(tmp_path)


def test_a_disk_that_takes_no_more_is_an_error_and_what_it_took_is_used(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource", reason="needs the limit that Unix can put on a file's size")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with hostile_server(BODY) as server:
        resource.setrlimit(resource.RLIMIT_FSIZE, (500, limits[1]))
        try:
            with pytest.raises(
                DownloadError, match=r"file\.json\.part: expected to write there, got File too large; free"
            ):
                get(server, tmp_path)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        get(server, tmp_path)
    assert (tmp_path / "file.json").read_bytes() == BODY
    assert [asked.range for asked in server.log] == [None, "bytes=500-"]


# Arguments, the catalogue and the folder.


def test_two_places_at_once_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match="at most one of mirror, url and source file, got several"):
        fetch(KNOWN, tmp_path, mirror="http://a/", url="http://b/")


@pytest.mark.parametrize("options", [{"attempts": 0}, {"timeout_seconds": 0.0}])
def test_attempts_and_timeout_must_be_possible(tmp_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(DownloadError, match="expected 1 or more attempts and a timeout above 0 s, got"):
        fetch(KNOWN, tmp_path, **options)


def test_the_catalogue_names_five_data_sets_and_cannot_be_changed() -> None:
    assert list(CATALOG) == ["train", "dev", "test", "100k-train", "100k-test"]
    assert [entry.n_instances for entry in CATALOG.values()] == [96, 37, 293, 87_461, 20_000]
    assert all(entry.name == name and entry.url.endswith(f"/{entry.file_name}") for name, entry in CATALOG.items())
    with pytest.raises(TypeError):
        CATALOG["mine"] = KNOWN  # type: ignore[index]


@pytest.mark.data
def test_the_published_training_file_is_the_one_of_the_catalogue() -> None:
    path = Path(__file__).parents[3] / "shared" / "data" / CATALOG["train"].file_name
    if not path.exists():
        pytest.skip(f"needs {path}")
    assert check_file(CATALOG["train"], path).verified


def test_a_checksum_known_by_its_ends_matches_nothing_else() -> None:
    assert sha256_matches(DIGEST, DIGEST)
    assert sha256_matches(f"{DIGEST[:8]}...{DIGEST[-4:]}", DIGEST)
    assert not sha256_matches(f"{DIGEST[:8]}...0000", DIGEST)
    assert not sha256_matches("0" * 64, DIGEST)


def test_a_files_checksum_is_that_of_its_bytes(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(BODY)
    assert file_sha256(tmp_path / "file") == DIGEST


@pytest.mark.parametrize(
    ("environ", "folder"),
    [
        ({"EVIDENCEBENCH_DATA": "/d", "XDG_DATA_HOME": "/x", "HOME": "/h"}, Path("/d")),
        ({"EVIDENCEBENCH_DATA": "", "XDG_DATA_HOME": "/x", "HOME": "/h"}, Path("/x/evidencebench")),
        ({"XDG_DATA_HOME": "relative", "HOME": "/h"}, Path("/h/.local/share/evidencebench")),
        ({"HOME": "/h"}, Path("/h/.local/share/evidencebench")),
    ],
)
def test_the_data_folder_is_ours_else_the_desktops_else_in_the_home(environ: dict[str, str], folder: Path) -> None:
    assert data_folder(environ) == folder
