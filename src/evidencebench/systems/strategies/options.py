"""Checks of the options of strategies; each function raises a `SystemSpecError` that names system and option."""

import math

from evidencebench.errors import SystemSpecError
from evidencebench.models.llm.chat import ChatModel
from evidencebench.models.llm.providers import server_of
from evidencebench.query import Query
from evidencebench.systems.strategies.paper_questions import PaperQuestion
from evidencebench.systems.strategies.prompts import prompt_named
from evidencebench.systems.strategies.windows import MIN_WINDOW_TOKENS

_MAX_REPAIRS = 3


def require_chat(system: str, chat: ChatModel, repairs: int, *, prompt: str) -> None:
    """Raise unless the options of a model are valid, and a paper fits beside the words of the first prompt."""
    provider, _, name = chat.model.partition("/")
    if not (provider.strip() and name.strip()):
        raise SystemSpecError(f"{system}: model: expected provider/name, such as openai/NAME, got '{chat.model}'")
    try:
        server_of(chat)  # asked once now, rather than failing for every instance
    except SystemSpecError as error:
        raise SystemSpecError(f"{system}: {error}") from error
    if chat.temperature is not None:
        require_within(system, "temperature", chat.temperature, 0)
    if chat.top_p is not None and not 0 < chat.top_p <= 1:
        raise SystemSpecError(f"{system}: top_p: expected a number above 0 and up to 1, got {chat.top_p}")
    require_within(system, "max_tokens", chat.max_tokens, 1)
    nothing = Query(instance_id="", paper_id="", hypothesis="", sentences=(), kinds=())
    fields = dict.fromkeys(prompt_named(prompt).fields - {"task", "reading", "wanted"}, "")
    room = PaperQuestion(prompt=prompt, query=nothing, scope="all", fields=fields).room(chat)
    if room < MIN_WINDOW_TOKENS:
        raise SystemSpecError(
            f"{system}: context_tokens: expected at least {chat.context_tokens - room + MIN_WINDOW_TOKENS}, so that a "
            f"paper fits beside the question and the {chat.max_tokens} of max_tokens, got {chat.context_tokens}"
        )
    require_within(system, "repairs", repairs, 0, _MAX_REPAIRS)


def require_section_options(system: str, section_tokens: int, min_section_tokens: int, overlap: int) -> None:
    """Raise unless the options that cut a paper into sections are within their bounds."""
    require_within(system, "section_tokens", section_tokens, MIN_WINDOW_TOKENS)
    require_within(system, "min_section_tokens", min_section_tokens, 0)
    require_within(system, "overlap", overlap, 0)


def require_within(system: str, option: str, value: float, least: float, most: float = math.inf) -> None:
    """Raise unless a number is finite and within both bounds, themselves included."""
    if not least <= value <= most or value == math.inf:
        expected = f"of at least {least}" if most == math.inf else f"in {least}..{most}"
        raise SystemSpecError(f"{system}: {option}: expected a number {expected}, got {value}")
