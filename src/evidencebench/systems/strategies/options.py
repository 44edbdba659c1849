"""What the options of strategies must be; each function raises a message that names system and option."""

import math

from evidencebench.errors import SystemSpecError
from evidencebench.models.llm.chat import ChatModel
from evidencebench.models.llm.providers import server_of
from evidencebench.query import Query
from evidencebench.systems.strategies.drafts import Draft
from evidencebench.systems.strategies.prompts import prompt_named
from evidencebench.systems.strategies.windows import MIN_WINDOW_TOKENS

_MAX_REPAIRS = 3


def require_chat(system: str, chat: ChatModel, repairs: int, *, prompt: str) -> None:
    """Raise unless a model can be asked as the options say.

    Parameters
    ----------
    system
        What messages call it.
    chat
        Which model, and how it samples.
    repairs
        How often a reply without an answer is asked for again, 0..3.
    prompt
        Name of its first question's prompt, whose words alone must leave room for a paper.

    Raises
    ------
    SystemSpecError
        Naming system and option.
    """
    provider, _, name = chat.model.partition("/")
    if not (provider.strip() and name.strip()):
        raise SystemSpecError(f"{system}: model: expected provider/name, such as openai/NAME, got '{chat.model}'")
    try:
        server_of(chat)  # asked once now, rather than failing for every instance
    except SystemSpecError as error:
        raise SystemSpecError(f"{system}: {error}") from error
    if chat.temperature is not None and not 0 <= chat.temperature < math.inf:
        raise SystemSpecError(f"{system}: temperature: expected a number of at least 0, got {chat.temperature}")
    if chat.top_p is not None and not 0 < chat.top_p <= 1:
        raise SystemSpecError(f"{system}: top_p: expected a number above 0 and up to 1, got {chat.top_p}")
    require_at_least(system, "max_tokens", chat.max_tokens, 1)
    nothing = Query(instance_id="", paper_id="", hypothesis="", sentences=(), kinds=())
    fields = dict.fromkeys(prompt_named(prompt).fields - {"task", "reading", "wanted"}, "")
    room = Draft(prompt=prompt, query=nothing, scope="all", fields=fields).room(chat)
    if room < MIN_WINDOW_TOKENS:
        raise SystemSpecError(
            f"{system}: context_tokens: expected at least {chat.context_tokens - room + MIN_WINDOW_TOKENS}, so that a "
            f"paper fits beside the question and the {chat.max_tokens} of max_tokens, got {chat.context_tokens}"
        )
    require_within(system, "repairs", repairs, 0, _MAX_REPAIRS)


def require_at_least(system: str, option: str, value: float, least: float) -> None:
    """Raise unless a number is finite and at least so large.

    Raises
    ------
    SystemSpecError
        Naming system and option.
    """
    if not least <= value < math.inf:
        raise SystemSpecError(f"{system}: {option}: expected a number of at least {least}, got {value}")


def require_within(system: str, option: str, value: int, least: int, most: int) -> None:
    """Raise unless a number is between two, both included.

    Raises
    ------
    SystemSpecError
        Naming system and option.
    """
    if not least <= value <= most:
        raise SystemSpecError(f"{system}: {option}: expected a number in {least}..{most}, got {value}")
