"""How much of its context a question to a model behind HTTP takes, told before it is asked.

The number of tokens comes from a tokenizer in a folder, or from the server (`/tokenize`, vLLM's). The context comes from the user,
from the server's list of models (vLLM's `max_model_len`), or from the folder's `config.json`. Where one of the two cannot be had,
lengths are unknown, and no text is sent a second time to find out.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from medical_tasks.errors import MissingError, UsageError
from medical_tasks.models.base import Length, Request
from medical_tasks.models.call_pool import run_calls
from medical_tasks.models.chat_client import CallFailed, ChatClient, encodable, encodable_chat
from medical_tasks.models.chat_settings import ChatSettings
from medical_tasks.models.checkpoint import Checkpoint, check_config
from medical_tasks.spec import Message

__all__ = ["FolderTokens", "LengthMeter"]

_MODELS = "/models"
_TOKENIZE = "/../tokenize"
_Text = tuple[Message, ...] | str
"""What is counted: a chat ready for its answer, or a text alone."""


class FolderTokens:
    """Counts tokens with a tokenizer on this machine, laid out by its own chat template.

    Args:
        folder: of the tokenizer; of the whole model, often.

    Raises:
        MissingError: No tokenizer lies there.
    """

    def __init__(self, folder: Path) -> None:
        if not (folder / "tokenizer_config.json").is_file():
            raise MissingError(
                f"tokenizer={folder}: no tokenizer_config.json there. Give the folder of the served model's tokenizer, as "
                "save_pretrained or `hf download` writes it."
            )
        self._folder = folder

    def context(self) -> int | None:
        """The longest prompt and answer by the `config.json` beside it, None when it does not say."""
        return Checkpoint(folder=self._folder, label=self._folder.name, revision="").context()

    def counts(self, texts: Sequence[_Text]) -> list[int]:
        """Counts tokens.

        Raises:
            UsageError: The tokenizer does not load here, or has no chat template.
        """
        from medical_tasks.models.quiet import quiet_libraries

        with quiet_libraries(logging.ERROR):
            return [self._count(text) for text in texts]

    @cached_property
    def _count(self) -> Callable[[_Text], int]:
        import transformers

        from medical_tasks.models.chat_template import ChatLayout

        check_config(self._folder)
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(str(self._folder), local_files_only=True)
        except (ValueError, OSError, ImportError, KeyError) as error:
            raise UsageError(
                f"tokenizer={self._folder} does not load with transformers {transformers.__version__}: {error}\nAnother folder "
                "is named with --model-args tokenizer=FOLDER."
            ) from error
        if tokenizer.chat_template is None:
            raise UsageError(
                f"tokenizer={self._folder} has no chat template, so that it cannot tell how long a chat is. Give the folder of "
                "the model that is served."
            )
        layout = ChatLayout(tokenizer, model=self._folder.name)

        def count(text: _Text) -> int:
            if isinstance(text, str):
                return len(tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])
            return len(layout.tokens(layout.render(text)))

        return count


class LengthMeter:
    """Measures requests to one model.

    Args:
        context: longest prompt and answer together, in tokens; None to ask the server.
        tokens: counts them; None to ask the server.
        generated: tokens the server must leave room for behind a request's text.
    """

    def __init__(
        self, *, context: int | None, tokens: FolderTokens | None, generated: Callable[[Request], int]
    ) -> None:
        self._context = context
        self._tokens = tokens
        self._generated = generated
        self._unknown = False
        self._serves: bool | None = True if tokens is not None else None  # whether tokens can be counted
        self._known: dict[str, int] = {}  # continuations, which many questions share

    @property
    def needs_server(self) -> bool:
        """Whether the server is asked."""
        return self._context is None or self._tokens is None

    def measure(self, settings: ChatSettings, requests: Sequence[Request]) -> list[Length | None]:
        """Measures requests.

        Args:
            settings: the endpoint.
            requests: what is going to be asked.

        Returns:
            One length each; None where it cannot be known.

        Raises:
            MissingError: Nothing answers at the endpoint.
            UsageError: The tokenizer of the folder cannot be used.
        """
        nothing: list[Length | None] = [None] * len(requests)
        if not requests or self._unknown:
            return nothing
        if self._context is None:
            self._context = _served_context(settings) or (self._tokens.context() if self._tokens else None)
        if self._context is None:
            self._unknown = True
            return nothing
        chats = [encodable_chat(request.messages) for request in requests]
        counted = self._counts(settings, [tuple(chat) for chat in chats])
        texts = dict.fromkeys(text for request in requests for text in request.continuations)
        new = [text for text in texts if text not in self._known]
        sizes = self._counts(settings, [encodable(text) for text in new])
        self._known.update({text: size for text, size in zip(new, sizes, strict=True) if size is not None})
        return [self._length(request, count) for request, count in zip(requests, counted, strict=True)]

    def _counts(self, settings: ChatSettings, texts: Sequence[_Text]) -> Sequence[int | None]:
        if self._unknown or not texts:
            return [None] * len(texts)
        if self._tokens is not None:
            return self._tokens.counts(texts)
        if self._serves is None:
            # One alone, so that a server that does not count is sent no more than that.
            first = _served_counts(settings, texts[:1])
            self._serves = first[0] is not None
            self._unknown = not self._serves
            return [*first, *self._counts(settings, texts[1:])]
        return _served_counts(settings, texts)

    def _length(self, request: Request, count: int | None) -> Length | None:
        behind = [self._known.get(text) for text in request.continuations]
        known = [size for size in behind if size is not None]
        if count is None or self._context is None or len(known) < len(behind):
            return None
        return Length(tokens=count + max(known, default=0), room=self._context - self._generated(request))


def _served_context(settings: ChatSettings) -> int | None:
    """Asks the server's list of models; no text is sent."""
    found: list[int | None] = []

    async def ask(client: ChatClient, _: str) -> int | None:
        return _context_in(await _fetch(client, _MODELS), settings.model)

    run_calls(settings, [_MODELS], ask, lambda _, outcome: found.append(_whole(outcome)))
    return found[0]


def _served_counts(settings: ChatSettings, texts: Sequence[_Text]) -> list[int | None]:
    found: dict[int, int | None] = {}

    async def ask(client: ChatClient, index: int) -> int | None:
        text = texts[index]
        body: dict[str, Any] = {"model": settings.model}
        if isinstance(text, str):
            body |= {"prompt": text, "add_special_tokens": False}
            said = [text]
        else:
            body |= {"messages": list(text), "add_generation_prompt": True}
            said = [message["content"] for message in text]
        reply = await _fetch(client, _TOKENIZE, body, texts=said)
        return _whole(reply.get("count") if isinstance(reply, dict) else None)

    run_calls(settings, range(len(texts)), ask, lambda index, outcome: found.update({index: _whole(outcome)}))
    return [found[index] for index in range(len(texts))]


async def _fetch(
    client: ChatClient, path: str, body: Mapping[str, Any] | None = None, *, texts: Sequence[str] = ()
) -> Any:
    """Asks one of the server's addresses; None when it has none such, or refuses.

    Raises:
        CallFailed: Nothing answers at all.
    """
    try:
        return await client.fetch(path, body, texts=texts)
    except CallFailed as failed:
        if failed.reason != "connection":
            return None
        every_call = body is None  # before any text is sent; later on it may have been this call alone
        raise CallFailed(failed.reason, failed.detail, attempts=failed.attempts, every_call=every_call) from failed


def _context_in(reply: Any, model: str) -> int | None:
    listed = reply.get("data") if isinstance(reply, dict) else None
    for entry in listed if isinstance(listed, list) else []:
        if isinstance(entry, dict) and entry.get("id") == model:
            return _whole(entry.get("max_model_len"))
    return None


def _whole(value: object) -> int | None:
    """A number of tokens, from 1; None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 1 else None
