"""Where in somebody's own code an error was raised, as Python shows it: without the frames that led there."""

import traceback
from collections.abc import Collection

_MAX_CHARACTERS, _MAX_FRAMES = 10_000, 20
_OF_PYTHON = "<frozen "


def trace_of(error: BaseException, asking: Collection[str]) -> str | None:
    """Return the traceback of an error from where own code begins; None where none of it was reached.

    Parameters
    ----------
    error
        As it was caught.
    asking
        Files of the code that called, whose frames are left out.
    """
    step = error.__traceback__
    while step is not None and _is_asking(step.tb_frame.f_code.co_filename, asking):
        step = step.tb_next
    if step is not None:
        lines = traceback.format_exception(type(error), error, step, limit=-_MAX_FRAMES)
    elif isinstance(error, SyntaxError):  # which names the line itself
        lines = traceback.format_exception_only(error)
    else:
        return None
    return "".join(lines)[:_MAX_CHARACTERS].encode(errors="backslashreplace").decode()


def _is_asking(file: str, asking: Collection[str]) -> bool:
    return file in asking or file.startswith(_OF_PYTHON)
