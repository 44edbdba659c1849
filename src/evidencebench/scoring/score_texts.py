"""Scores as text for people: in tables, after signatures and on pages."""

from collections.abc import Callable, Mapping
from math import ceil

from evidencebench.scoring.resampling import Estimate
from evidencebench.scoring.significance import ALPHA, AdjustedP
from evidencebench.tables import Column, Row, printable
from evidencebench.wording import counted

SPENT = (
    "requests",
    "prompt_tokens",
    "completion_tokens",
    "cost_microusd",
    "unpriced_replies",
    "maybe_charged",
    "prices_of",
)
"""How the names of notes begin that say what was asked of language models, and what that cost."""


def notes_line(notes: Mapping[str, int]) -> str:
    """Return the notes of answers on one line: replies by class and by reader, requests, tokens, cost, then the others.

    Examples
    --------
    >>> notes_line({"reply_answered": 9, "reply_refused": 1, "requests": 10, "prompt_tokens": 41000,
    ...             "completion_tokens": 900, "cost_microusd": 12345, "truncated_sentences": 7})
    'replies: answered 9, refused 1; 10 requests; 41,000 + 900 tokens; $0.0123; 7 truncated sentences'
    >>> notes_line({"reply_answered": 9, "read_by answer line": 8, "read_by json": 1})
    'replies: answered 9; read by: answer line 8, json 1'
    >>> notes_line({"requests": 1, "truncated_sentences": 1})
    '1 request; 1 truncated sentence'
    """
    left = dict(notes)
    parts = []
    for prefix, title in (("reply_", "replies"), ("read_by ", "read by")):
        found = {name: left.pop(name) for name in notes if name.startswith(prefix)}
        shown = (f"{name.removeprefix(prefix).replace('_', ' ')} {count:,}" for name, count in found.items())
        parts += [f"{title}: {', '.join(shown)}"] if found else []
    if requests := notes.get("requests", 0):
        parts.append(counted(requests, "request"))
    prompt, completion = notes.get("prompt_tokens", 0), notes.get("completion_tokens", 0)
    if prompt or completion:
        parts.append(f"{prompt:,} + {completion:,} tokens")
    if cost := cost_text(notes):
        parts.append(cost)
    others = (f"{n:,} {_note_text(name, n)}" for name, n in left.items() if name.partition(" ")[0] not in SPENT)
    return "; ".join([*parts, *others])


def cost_text(notes: Mapping[str, int]) -> str | None:
    """Return what answers cost, in dollars, and what of it is not known; None where nothing was asked.

    >>> cost_text({"cost_microusd": 810600, "prices_of 2026-11-10": 99, "maybe_charged": 21})
    'at least $0.8106 at prices of 2026-11-10; 21 attempts without a reply, perhaps charged for'
    >>> cost_text({"requests": 3, "unpriced_replies": 3})
    'cost unknown: 3 replies of unknown price'
    """
    n_unpriced, n_maybe = notes.get("unpriced_replies", 0), notes.get("maybe_charged", 0)
    unknown = [f"{counted(n_unpriced, 'reply', 'replies')} of unknown price"] if n_unpriced else []
    unknown += [f"{counted(n_maybe, 'attempt')} without a reply, perhaps charged for"] if n_maybe else []
    if "cost_microusd" not in notes:
        return f"cost unknown: {'; '.join(unknown)}" if unknown else None
    days = " and ".join(sorted(name.removeprefix("prices_of ") for name in notes if name.startswith("prices_of ")))
    known = f"${notes['cost_microusd'] / 1e6:,.4f}{f' at prices of {days}' if days else ''}"
    return "; ".join([f"at least {known}", *unknown]) if unknown else known


def spent_line(notes: Mapping[str, int]) -> str:
    """Return what answers took of language models: requests, tokens and cost; empty where nothing was asked.

    >>> spent_line({"reply_answered": 1, "requests": 1, "prompt_tokens": 4100, "completion_tokens": 90,
    ...             "cost_microusd": 1234})
    '1 request; 4,100 + 90 tokens; $0.0012'
    """
    return notes_line({name: count for name, count in notes.items() if name.partition(" ")[0] in SPENT})


def _note_text(name: str, count: int) -> str:
    """Return a note's name as words; the part after a space, such as a model's name, stays as it is."""
    ours, space, theirs = printable(name).partition(" ")
    ours = ours.removesuffix("s") if count == 1 and ours.endswith("_sentences") else ours
    return f"{ours.replace('_', ' ')}{space}{theirs}"


NO_TEST = "no test"


def p_text(p: AdjustedP | None, name: str = "") -> str:
    """Return a p-value with four decimals; with ``name``, such as ``"p"``, as a statement.

    There are more decimals where four would hide that it is significant. A value that no drawn flip reached is shown as
    ``≤``, rounded up, since more flips might make it smaller. A value from all patterns of signs is exact, so it is
    shown as it is, also where it is the smallest that so few papers allow. None is for a test that could not be
    significant, whatever the signs: it is `NO_TEST`.

    Examples
    --------
    >>> p_text(AdjustedP(value=0.0441)), p_text(AdjustedP(value=0.00281, is_bound=True)), p_text(AdjustedP(value=1e-9))
    ('0.0441', '≤ 0.0029', '< 0.0001')
    >>> p_text(AdjustedP(value=0.0441), "p"), p_text(AdjustedP(value=0.0028, is_bound=True), "p"), p_text(None, "p")
    ('p = 0.0441', 'p ≤ 0.0028', 'no test')
    >>> p_text(AdjustedP(value=0.049996)), p_text(AdjustedP(value=0.05))
    ('0.049996', '0.0500')
    """
    if p is None:
        return NO_TEST
    digits = 4
    while ALPHA - 10.0**-digits < p.value < ALPHA:  # rounding would hide that it is significant
        digits += 1
    step = 10.0**-digits
    if p.value < step:
        sign, shown = "<", step
    elif p.is_bound:
        sign, shown = "≤", ceil(round(p.value / step, 6)) * step
    else:
        sign, shown = "=" if name else "", p.value
    return " ".join(filter(None, (name, sign, f"{shown:.{digits}f}")))


def percent(estimate: Estimate | None, alone: str | None = None) -> str:
    """Return a mean with its interval in percent; None is a dash.

    ``alone`` replaces the interval of a single paper or review; None: by what it is of.

    Examples
    --------
    >>> percent(Estimate(mean=0.45, low=0.381, high=0.519, n=9, n_clusters=7))
    '45.0 [38.1, 51.9]'
    >>> percent(Estimate(mean=0.45, low=None, high=None, n=2, n_clusters=1))
    '45.0 (one review or text)'
    """
    if estimate is None:
        return "-"
    if estimate.interval is None:
        alone = estimate.alone if alone is None else alone
        return f"{100 * estimate.mean:.1f}{f' ({alone})' if alone else ''}"
    low, high = estimate.interval
    return f"{100 * estimate.mean:.1f} [{100 * low:.1f}, {100 * high:.1f}]"


def mean_or_none(estimate: Estimate | None) -> float | None:
    """Return the mean, if there is one."""
    return None if estimate is None else estimate.mean


def estimate_columns(
    names: tuple[str, str, str], heading: str, estimate: Callable[[Row], Estimate | None], *, none: str = "-"
) -> list[Column[Row]]:
    """Return the columns of a mean and the ends of its interval, which stand in one column for readers.

    ``none`` is what readers see where there is no mean.
    """

    def end(name: str) -> Callable[[Row], float | None]:
        return lambda row: getattr(estimate(row), name, None)

    def text(row: Row) -> str:
        return none if (mean := estimate(row)) is None else percent(mean)

    mean, low, high = names
    return [Column(mean, heading, end("mean"), text), Column(low, "", end("low")), Column(high, "", end("high"))]


def signed(points: float, form: str = "+.1f") -> str:
    """Return a difference with its sign; minus is U+2212, as wide as plus and never taken for a hyphen.

    >>> signed(-3.14), signed(-0.04), signed(2)
    ('−3.1', '+0.0', '+2.0')
    """
    shown = f"{points:{form}}"
    return f"{0.0:{form}}" if float(shown) == 0 else shown.replace("-", "−")


def score_text(estimate: Estimate) -> str:
    """Return a mean with its interval, as it is shown after a signature.

    Examples
    --------
    >>> score_text(Estimate(mean=0.37, low=0.29, high=0.439, n=10, n_clusters=10))
    '0.370 [0.290, 0.439]'
    """
    if estimate.interval is None:
        return f"{estimate.mean:.3f} ({estimate.alone}: no interval)"
    low, high = estimate.interval
    return f"{estimate.mean:.3f} [{low:.3f}, {high:.3f}]"
