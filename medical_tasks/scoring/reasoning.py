"""Separates the answer in a model's reply from reasoning that the server left in it.

Recognises `<think>` and similar tags, and the marks of OpenThinker and Command A
(`<|...|>`), MedGemma (`<unused94>`), Gemma 4 (`<|channel>`), gpt-oss
(`<|channel|>analysis`, or bare `analysisWe ...assistantfinal`), HuatuoGPT-o1 (`##
Thinking`) and Granite 3 (a sentence).
"""

from __future__ import annotations

import re
from typing import Final

from medical_tasks.io.patterns import Pattern

_TAGS: Final = {"think": ("", "think(?:ing)?|thoughts?")} | {
    name: (r"(?<!\[)", name.replace("_", "[_ -]"))  # "[analysis]" is text
    for name in (
        "reasoning",
        "reflection",
        "analysis",
        "scratchpad",
        "cot",
        "chain_of_thought",
        "inner_monologue",
    )
}
_REST: Final = r"(?: [^<>=\n]{1,60}=[^<>\n]{0,200})?[]>▷＞]"
_HEADER: Final = r"[^<]{0,200}(?:<\|constrain\|>[^<]{0,100})?"
# Marks by action and kind of block: they `open` or `close` a block, `end` it only if it
# is open, or begin the answer (`to`). All begin with a bracket and have a bounded
# length, so a search is fast, and linear in the text.
_MARKS: Final = {
    f"{action}_{kind}": rf"{bracket}{slash}(?:[a-z]{{1,20}}:)?(?:{name}){_REST}"
    for kind, (bracket, name) in _TAGS.items()
    for action, slash in (("open", ""), ("close", "/"))
} | {
    "open_words": r"\|(?:begin|start)_(?:of_)?(?:thought|thinking)\|>",
    "close_words": r"\|end_(?:of_)?(?:thought|thinking)\|>",
    "open_unused": "unused94>",
    "close_unused": "unused95>",
    "open_gemma": r"\|channel>",
    "close_gemma": r"channel\|>",
    "to_answer": rf"\|channel\|>\s{{0,4}}final\b{_HEADER}<\|message\|>",
    "open_message": rf"\|channel\|>{_HEADER}(?:<\|message\|>)?",
    "end_message": r"\|(?:end|return|call)\|>",
    "end_header": r"\|start\|>assistant|\|message\|>",
    "open_turn": r"\|start\|>",
}
_MARK: Final = Pattern(
    rf"[\[<◁＜](?:{'|'.join(f'(?P<{name}>{mark})' for name, mark in _MARKS.items())})",
    re.IGNORECASE,
)
_MARK_WORDS: Final = (
    "|", "think", "thought", "reasoning", "reflection", "analysis", "scratchpad", "cot", "chain",
    "monologue", "unused9",
)  # fmt: skip
"""Each mark contains one of these. Most replies contain none and are not searched for marks."""
# Reasoning without brackets, at the beginning of a reply.
_PLAIN: Final = tuple(
    (Pattern(opening, re.IGNORECASE), Pattern(closing, re.IGNORECASE | re.MULTILINE))
    for opening, closing in (
        (r"\s*analysis(?=[a-z])", "assistantfinal"),
        (r"\s*#{1,6} ?Thinking[ \r]*\n", r"^#{1,6} ?Final Response[ \r]*$"),
        (
            r"\s*Here(?: is|['’]s) my thought process:",
            r"Here(?: is|['’]s) my response:",
        ),
    )
)


def without_reasoning(text: str) -> str:
    """Removes the reasoning from a reply; a reply of reasoning alone becomes blank.

    A block ends at the first mark that closes its kind, so reasoning may mention its
    own opening mark. Text after an opening mark that is never closed is reasoning. So is
    all text before a closing mark without an opening one: chat templates open the
    reasoning themselves, and blocks may be nested.
    """
    text = _after_plain(text)
    if not any(bracket in text for bracket in "<[◁＜"):
        return text

    folded = text.casefold()
    if not any(word in folded for word in _MARK_WORDS):
        return text

    answers: list[str] = []
    inside = ""  # the kind of block that is open
    start = 0
    for mark in _MARK.finditer(text):
        action, _, kind = str(mark.lastgroup).partition("_")
        if (action == "to" and inside != "turn") or (action == "close" and not inside):
            answers, inside = [], ""
        elif not inside:
            answers.append(text[start : mark.start()])
            inside = kind if action == "open" else ""
        elif kind == inside and action != "open":
            inside = ""
        else:
            continue

        start = mark.end()

    if not inside:
        answers.append(text[start:])

    if len(answers) == 1:
        return answers[0]
    return "\n".join(answer for answer in answers if answer.strip())


def _after_plain(text: str) -> str:
    """Removes reasoning without brackets from the beginning of a reply."""
    for opening, closing in _PLAIN:
        if opening.match(text):
            closed = closing.search(text)
            text = text[closed.end() :] if closed else ""
    return text


def as_written(text: str) -> str:
    r"""Returns the answer in a reply with its surrounding white space.

    Authors' scripts also send the white space to their judges. White space next to
    removed reasoning is removed.

        >>> as_written(" It was a marble.\n"), as_written("<think>So.</think>\n\nIt was a marble.")
        (' It was a marble.\n', 'It was a marble.')
    """
    answer = without_reasoning(text)
    return answer if answer == text else answer.strip()
