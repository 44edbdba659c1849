"""Types of JSON are decoded by many threads at once."""

import ast
import subprocess
import sys
from pathlib import Path

import evidencebench

# msgspec 0.22 ends this process within seconds where the type is not prepared.
_THREADS = """
import sys, threading
from dataclasses import dataclass
import msgspec
from doors import prepared
sys.setswitchinterval(1e-7)
for _ in range(400):
    @dataclass(frozen=True)
    class Inner:
        a: int | None = None
    @dataclass(frozen=True)
    class Outer:
        inner: Inner | None = None
        texts: dict[str, list[int]] | None = None
        either: int | str | None = None
    def decode():
        barrier.wait()
        assert msgspec.json.decode(b'{"inner":{"a":1},"either":"q"}', type=prepared(Outer)).inner.a == 1
    barrier = threading.Barrier(4)
    threads = [threading.Thread(target=decode) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""

_OF_PYTHON = {"str", "int", "float", "bool", "dict", "list", "tuple", "object", "bytes", "Any", "msgspec"}


def test_threads_that_are_the_first_to_decode_a_type_do_not_end_the_process() -> None:
    tests = Path(__file__).parent
    ran = subprocess.run([sys.executable, "-c", _THREADS], capture_output=True, text=True, check=False, cwd=tests)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_every_type_of_our_own_is_prepared_before_it_is_decoded() -> None:
    unprepared = []
    for path in Path(evidencebench.__file__).parent.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        within = {id(one) for part in ast.walk(tree) if isinstance(part, ast.FunctionDef) for one in ast.walk(part)}
        for call in ast.walk(tree):
            if isinstance(call, ast.Call) and id(call) in within and path.name != "decoding.py":
                unprepared += [f"{path.name}: {ast.unparse(call)}" for kind in _kinds(call) if not _is_ready(kind)]
    assert not unprepared


def _kinds(call: ast.Call) -> list[ast.expr]:
    """Return the type that a call of msgspec decodes."""
    named = [keyword.value for keyword in call.keywords if keyword.arg == "type"]
    match ast.unparse(call.func):
        case "msgspec.json.decode" | "msgspec.msgpack.decode":
            return named
        case "msgspec.convert":
            return named or call.args[1:2]
        case "msgspec.json.Decoder" | "msgspec.msgpack.Decoder":
            return call.args[:1]
    return []


def _is_ready(kind: ast.expr) -> bool:
    is_prepared = isinstance(kind, ast.Call) and ast.unparse(kind.func) == "prepared"
    return is_prepared or {name.id for name in ast.walk(kind) if isinstance(name, ast.Name)} <= _OF_PYTHON
