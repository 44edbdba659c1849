"""Keys: where they are read from, and that they are shown nowhere."""

import os
from pathlib import Path
from string import ascii_letters, digits, punctuation

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doors import ChatModel, Key, Server, SystemSpecError, key_for, read_dotenv, server_of, without_key
from doors import hide_key as shown
from kit.llm_servers import KEY

HOSTED = server_of(ChatModel(model="openai/m"))


def to(base_url: str, key_env: str = "MINE") -> Server:
    return server_of(ChatModel(model="local/m", base_url=base_url, key_env=key_env))


def test_the_environment_comes_before_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text("OPENAI_API_KEY=from-file\n")
    assert key_for(HOSTED, environ={"OPENAI_API_KEY": "from-environment"}).value == "from-environment"
    assert key_for(HOSTED, environ={}).value == "from-file"


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("A=b", "b"),
        ("  export A = b  ", "b"),
        ("A='b c'", "b c"),
        ('A="b # c" # d', "b # c"),
        ("A=b # c", "b"),
        ("A=", ""),
        ("A=$HOME", "$HOME"),
        ("# A=c\n\nA=b", "b"),
        ("A=c\nA=b", "b"),
        ("\ufeffA=b", "b"),
    ],
)
def test_lines_of_the_file_are_read(line: str, value: str) -> None:
    assert read_dotenv(line) == {"A": value}


@pytest.mark.parametrize("line", ["A", "A='b", 'A="b"c', "1A=b", "export", "A B=c", "=b", "A: b"])
def test_other_lines_are_refused_by_their_number_and_not_shown(line: str) -> None:
    with pytest.raises(SystemSpecError, match=r"\.env: line 2.*NAME=VALUE") as caught:
        read_dotenv(f"X=1\n{line}")
    assert line not in str(caught.value).replace("NAME=VALUE", "")


@given(st.text(max_size=200))
def test_any_file_is_read_or_refused(text: str) -> None:
    try:
        assert all(name.isidentifier() for name in read_dotenv(text))
    except SystemSpecError as error:
        assert "line" in str(error)  # noqa: PT017 - both ends are right


def test_a_file_that_cannot_be_read_or_a_pipe_or_a_device_in_its_place_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / ".env"
    os.mkfifo(path)
    with pytest.raises(SystemSpecError, match=r"\.env.*pipe.*set OPENAI_API_KEY"):
        key_for(HOSTED, environ={})
    path.unlink()
    for content, words in ((b"\xff", "UTF-8"), (b"#" * (1 << 21), "1,048,576")):
        path.write_bytes(content)
        with pytest.raises(SystemSpecError, match=words):
            key_for(HOSTED, environ={})
    path.unlink()
    path.symlink_to("/dev/zero")
    with pytest.raises(SystemSpecError, match="device"):
        key_for(HOSTED, environ={})
    assert key_for(HOSTED, environ={"OPENAI_API_KEY": KEY}).value == KEY


@pytest.mark.parametrize("key", ["a\nb", "a b", "schlüssel", "a\x00"])
def test_a_key_that_cannot_stand_in_a_header_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(SystemSpecError, match=r"character.*set it") as caught:
        key_for(HOSTED, environ={"OPENAI_API_KEY": key})
    assert key not in str(caught.value)


def test_a_key_is_needed_for_other_machines_and_travels_by_https_only() -> None:
    with pytest.raises(SystemSpecError, match=r"OPENAI_API_KEY.*not set"):
        key_for(HOSTED, environ={})
    with pytest.raises(SystemSpecError, match="expected https"):
        key_for(to("http://example.org/v1"), environ={"MINE": KEY})
    assert key_for(to("http://example.org/v1", key_env=""), environ={"MINE": KEY}).value == ""
    assert key_for(to("http://127.0.0.1/v1"), environ={}).value == ""
    assert key_for(to("http://[::1]/v1"), environ={"MINE": KEY}).value == KEY


@pytest.mark.parametrize("name", [KEY, "sk-123", "MINE=x", "1A", "A B", "A\n", "é"])
def test_a_key_in_the_place_of_its_variable_is_refused_and_not_shown(name: str) -> None:
    with pytest.raises(SystemSpecError, match=r"key_env: .*environment variable") as caught:
        to("http://127.0.0.1:9/v1", key_env=name)
    assert name not in str(caught.value)


def test_a_key_shows_itself_in_no_way() -> None:
    key = Key(KEY)
    assert KEY not in f"{key} {key!r} {[key]} {key!s:>40}"
    assert repr(Key("")) == "Key()"


@given(
    st.text(alphabet=ascii_letters + digits + punctuation, min_size=8, max_size=60),
    st.text(max_size=20),
    st.text(max_size=20),
)
def test_no_text_around_a_key_keeps_it_in(key: str, before: str, after: str) -> None:
    assert key not in without_key(f"{before} {key} {after}", key).replace("***", "\n")
    assert key not in shown(f"{before} {key} {after}", key).replace("***", "\n")
