"""Run a command where what only POSIX has is missing: `python -m kit.as_on_windows find ...`."""

import os
import select
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

POSIX_MODULES = {"fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty"}
POSIX_NAMES = {
    "os": {
        *("O_CLOEXEC", "O_DIRECTORY", "O_NOCTTY", "O_NOFOLLOW", "O_NONBLOCK", "chown", "fchmod", "fork", "getpgid"),
        *("getuid", "killpg", "mkfifo", "pread", "pwrite", "register_at_fork", "sched_getaffinity", "setsid", "uname"),
    },
    "select": {"epoll", "poll"},
    "signal": {"SIGHUP", "SIGKILL", "SIGUSR1", "SIGUSR2", "alarm", "pthread_kill", "sigwait"},
}

NEEDED_BY_PYTHON = {"fork", "getuid", "pread", "epoll", "uname", "getpgid"}  # which other packages call on POSIX


class Refusing(MetaPathFinder):
    """Finds no module that only POSIX has, where this package looks for it."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002 - as below
        target: ModuleType | None = None,  # noqa: ARG002 - the protocol
    ) -> ModuleSpec | None:
        frame = sys._getframe(1)  # noqa: SLF001 - who imports
        while frame is not None and frame.f_globals.get("__name__", "").startswith("importlib"):
            frame = frame.f_back  # type: ignore[assignment]
        if fullname in POSIX_MODULES and frame.f_globals.get("__name__", "").startswith("evidencebench"):
            raise ModuleNotFoundError(f"No module named '{fullname}'", name=fullname)
        return None


def take_away() -> None:
    for imported in POSIX_MODULES - set(sys.builtin_module_names):
        sys.modules.pop(imported, None)
    sys.meta_path.insert(0, Refusing())
    for module in (os, select, signal):
        for name in POSIX_NAMES[module.__name__] - NEEDED_BY_PYTHON:
            if hasattr(module, name):
                delattr(module, name)


if __name__ == "__main__":
    for name in ("asyncio", "multiprocessing.popen_spawn_posix", "socketserver", "subprocess", "tempfile", "uuid"):
        import_module(name)  # which Python makes for POSIX
    take_away()
    from doors import main

    main()
