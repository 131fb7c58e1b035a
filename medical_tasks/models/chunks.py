"""Which prompts are answered together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from medical_tasks.models.base import Request

__all__ = ["Prompt", "plan_chunks"]


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """A request as the model gets it.

    Attributes:
        request: the question.
        text: the rendered chat.
        tokens: the text's token ids, special tokens included.
        stop: the request's stop sequences and those of the layout.
    """

    request: Request
    text: str
    tokens: tuple[int, ...]
    stop: tuple[str, ...]


def plan_chunks(prompts: Sequence[Prompt], size: int | None) -> Iterator[list[Prompt]]:
    """Sorts prompts by length, longest first, and cuts them into chunks.

    A chunk has one answer length and one set of stop sequences. The order depends on the prompts alone, so that every
    process of a distributed run makes the same chunks.

    lighteval cuts prompts silently at the token count of the prompt with the most *characters*, plus the answer length. A
    text of many tokens and few characters (numbers, other scripts) can be over that; such prompts get another chunk.

    Args:
        prompts: what to answer.
        size: most prompts a chunk, None for no limit.

    Yields:
        Non-empty chunks that hold each prompt once.
    """
    groups: dict[tuple[int, tuple[str, ...]], list[Prompt]] = {}
    for prompt in prompts:
        groups.setdefault((prompt.request.max_new_tokens, prompt.stop), []).append(prompt)
    for (room, _), group in groups.items():
        ordered = sorted(group, key=lambda prompt: (-len(prompt.tokens), prompt.request.key))
        chunk: list[Prompt] = []
        widest: Prompt | None = None  # the first with the most characters, as lighteval's stable sort finds it
        for prompt in ordered:
            next_widest = prompt if widest is None or len(prompt.text) > len(widest.text) else widest
            longest = len(chunk[0].tokens) if chunk else len(prompt.tokens)
            if chunk and (len(chunk) == size or longest > len(next_widest.tokens) + room):
                yield chunk
                chunk, next_widest = [], prompt
            chunk.append(prompt)
            widest = next_widest
        yield chunk
