"""What models write in place of the JSON object that they should: shapes that are repaired, and those that are not."""

# ruff: noqa: RUF001 - models write marks that look like others

import json
from collections.abc import Callable

from kit.examples import IS_THOROUGH, SHORTER

Shape = Callable[[str], str]
"""What a model makes of the JSON text that it should have written."""

REFUSALS_ELSEWHERE = (
    "Es tut mir leid, aber dabei kann ich nicht helfen.",
    "Je suis désolé, mais je ne peux pas répondre à cette question.",
    "Lo siento, pero no puedo ayudar con eso.",
    "Desculpe, mas não posso ajudar com isso.",
    "Mi dispiace, ma non posso aiutarti.",
    "Извините, я не могу помочь с этим.",
    "抱歉，我无法回答这个问题。",
    "申し訳ありませんが、お答えできません。",
)

REPAIRED: dict[str, Shape] = {
    "words in braces behind it": lambda text: f"{text} (see {{any}})",
    "a trailing comma": lambda text: f"{text[:-1]},}}",
    "a fence": lambda text: f"```json\n{text}\n```",
    "a marked fence and a comma": lambda text: f"Sure!\n```JSON\n{text[:-1]} , }}\n```\nThat is it.",
    "in a list": lambda text: f"[{text}]",
    "line breaks": lambda text: json.dumps(json.loads(text), indent=2).replace("\n", "\r\n"),
    "a break within a text": lambda text: text.replace("I thought", "I\nthought"),
    "a byte order mark and a turn mark": lambda text: f"\ufeff{text}<|im_end|>",
    "wide braces": lambda text: f"｛{text[1:-1]}｝",
    "no number": lambda text: text.replace('"I thought"', "NaN"),
    "a broken draft first": lambda text: f"{text[:-2]}\nNo, whole:\n{text}",
    "half a character in the thoughts": lambda text: text.replace("I thought", r"I \ud800"),
}
ASKED_AGAIN: dict[str, Shape] = {
    "single quotes": lambda text: repr(json.loads(text)),
    "a comment": lambda text: f"{{// so I say\n{text[1:]}",
    "a comment between marks": lambda text: f"{{ /* so */ {text[1:]}",
    "an unclosed brace": lambda text: text[:-1],
    "an unclosed text": lambda text: f'{text[:-1]}, "note": "so}}',
    "no comma": lambda text: text.replace('", "', '" "', 1),
    "no colon": lambda text: text.replace('": "', '" "', 1),
    "bare keys": lambda text: text.replace('"reasoning"', "reasoning"),
    "dots": lambda text: text.replace('"I thought"', "..."),
    "no escape": lambda text: text.replace("I thought", r"I \x thought"),
    "quotes within quotes": lambda text: text.replace("I thought", f"I thought {text}"),
    "far too long a number": lambda text: text.replace('"I thought"', "9" * 5000),
    "nested beyond measure": lambda text: '{"a":' * (9000 if IS_THOROUGH else 2000) + text,
    "twice encoded": json.dumps,
    "taken back by half an object": lambda text: f"{text}\nOr rather: {text[:-1]}",
    "an equals sign": lambda text: text.replace('": "', '" = "', 1),
    "another object": lambda _: '{"answer": {"so": [["yes"]]}}',
    "nothing in braces": lambda _: "{}",
    "a brace": lambda _: "{",
    "braces": lambda _: "{" * (5000 // SHORTER),
    "the other way round": lambda text: text[::-1],
    "null": lambda _: "null",
    "nothing": lambda _: "",
    "prose": lambda _: "I cannot say {really}.",
}
SHAPES = REPAIRED | ASKED_AGAIN
