"""Estimate how many tokens a text has, without a tokenizer."""

from evidencebench.models.llm.chat import ChatRequest

_LETTERS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_DIGITS = b"0123456789"
_SPACES = b" \t\n\r\x0b\x0c"
_BEYOND_ASCII = bytes(range(128, 256))
_MESSAGE_TOKENS = 8  # tokens that a chat template puts around a message


def estimated_tokens(text: str) -> int:
    """Return about how many tokens a text has.

    Source
    ------
    Our own: a weight for each letter, digit, other visible character of ASCII, and character beyond it, fitted to the
    MiniLM WordPiece tokenizer on the 96 papers of the train split and raised so that it is rarely too low. There, with
    sentences numbered and not: 12 % above on average, standard deviation 8 %; for papers in English from 4 % below to
    27 % above, and for the one in Polish 18 % below. Vocabularies of recent language models are larger and give fewer
    tokens. Long words of no language, such as sequences of DNA, are underestimated.

    Examples
    --------
    >>> estimated_tokens("Green tea lowered blood pressure by 2.1 mmHg (P = 0.03).")
    21
    """
    content = text.encode(errors="replace")
    n_letters, n_digits, n_spaces, n_beyond = (
        len(content) - len(content.translate(None, kind)) for kind in (_LETTERS, _DIGITS, _SPACES, _BEYOND_ASCII)
    )
    n_wide = n_beyond - (len(content) - len(text))  # characters, not bytes
    n_other = len(content) - n_letters - n_digits - n_spaces - n_beyond
    return round(0.235 * n_letters + 0.6 * n_digits + 1.55 * n_other + 2.4 * n_wide)


def prompt_tokens_of(request: ChatRequest) -> int:
    """Return about how many tokens a request's prompt has, chat template included."""
    return sum(_MESSAGE_TOKENS + estimated_tokens(message.text) for message in request.messages)
