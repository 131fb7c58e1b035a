"""Renders chat messages to the text that a local model reads, by its tokenizer's chat template.

lighteval supports one system prompt per model and no dialogues, so messages are rendered
here:

- with exactly one beginning-of-sequence token, if the model has one
- with the system message before the first user's, where the template refuses or drops it
- with 1 January 2025 (`TEMPLATE_DAY`) as today's date, so that a run can be repeated
- without a template as `User:` and `Assistant:` turns; a new `User:` ends the answer
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from medical_tasks.errors import UsageError
from medical_tasks.models.tool_calls import offered, template_message
from medical_tasks.spec import Message, Tool

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

TEMPLATE_DAY = datetime.datetime(2025, 1, 1, tzinfo=datetime.UTC)
"""The date that templates get for today."""

PLAIN_ROLES = {"user": "User", "assistant": "Assistant"}
"""How turns are marked for a model without a chat template."""

_MARK = "ZQX-SYSTEM-MARK"
_MARKED_TOOL = Tool(
    name="zqx_tool_mark",
    description="Adds one.",
    parameters={"type": "object", "properties": {"number": {"type": "number"}}},
)
_USER: Message = {"role": "user", "content": "a"}
_TODAY = re.compile(r"""\bstrftime_now\(\s*(["'])(?P<form>.*?)\1\s*\)""")


def fold_system(messages: Sequence[Message]) -> list[Message]:
    """Moves the text of system messages to the beginning of the first user message."""
    system = [message["content"] for message in messages if message["role"] == "system"]
    folded: list[Message] = []
    for message in messages:
        if message["role"] == "system":
            continue

        if message["role"] == "user" and system:
            folded.append(
                {"role": "user", "content": "\n\n".join([*system, message["content"]])}
            )
            system = []
        else:
            folded.append(message)

    return folded


def plain_chat(messages: Sequence[Message]) -> str:
    """Lays a chat out for a model without a chat template.

    Blank lines between parts, `User:` or `Assistant:` before each turn.
    """
    parts = [
        message["content"]
        if message["role"] == "system"
        else f"{PLAIN_ROLES[message['role']]}: {message['content']}"
        for message in messages
    ]
    return "\n\n".join([*parts, f"{PLAIN_ROLES['assistant']}:"])


class ChatLayout:
    """How one model's prompts are written.

    Attributes:
        name: a description, for the identity.
        gap: white space between a rendered text and an answer, mostly "".
        stop: texts that end an answer.
        add_special_tokens: whether the tokenizer adds its special tokens.
    """

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        *,
        model: str,
        enable_thinking: bool | None = None,
    ) -> None:
        """Finds out by small renderings how the model's prompts are written.

        A marked system message shows whether the template drops it (then its text goes
        into the first user message), a marked answer shows what precedes answers, and
        the ids of "a" show which special tokens the tokenizer adds.

        Args:
            tokenizer: the model's.
            model: its name in messages.
            enable_thinking: the switch in the templates of some reasoning models; None
                leaves it to the template.

        Raises:
            UsageError: The template is ambiguous, or cannot render a user message.
        """
        self._tokenizer = tokenizer
        self._model = model
        self._switches = (
            {} if enable_thinking is None else {"enable_thinking": enable_thinking}
        )
        self._prefix = ""
        bos = tokenizer.bos_token
        own = tokenizer("a")["input_ids"]
        adds_bos = bos is not None and own[:1] == [tokenizer.bos_token_id]
        adds_end = tokenizer.eos_token_id is not None and own[-1:] == [
            tokenizer.eos_token_id
        ]
        self._templated = tokenizer.chat_template is not None
        self._template = ""
        writes_bos = False
        if self._templated:
            from jinja2 import TemplateError

            try:
                template: str = tokenizer.get_chat_template()
            except ValueError as error:
                raise UsageError(
                    f"{model}: its tokenizer has several chat templates and none is the default: "
                    f"{error}"
                ) from error

            # Each call for today's date returns `TEMPLATE_DAY`.
            self._template = _TODAY.sub(
                lambda call: json.dumps(TEMPLATE_DAY.strftime(call["form"])), template
            )
            try:
                probe = self._apply([_USER])
            except (TemplateError, ValueError) as error:
                raise UsageError(
                    f"{model}: its chat template cannot render one user message: {error}"
                ) from error

            writes_bos = bos is not None and probe.lstrip().startswith(bos)
            self._folds = _MARK not in self._rendered_or_empty(
                {"role": "system", "content": _MARK}, _USER
            )
            answered = self._rendered_or_empty(
                _USER, {"role": "assistant", "content": _MARK}, for_answer=False
            )
            gap = answered.partition(_MARK)[0].removeprefix(probe)
            # More than white space belongs to the template (an empty chain of thought),
            # not to the answer.
            self.gap = gap if gap.isspace() else ""
            self.name = (
                "chat template, system text in the first user message"
                if self._folds
                else "chat template"
            )
            self.stop: tuple[str, ...] = ()
            self.add_special_tokens = adds_bos and not writes_bos
        else:
            if enable_thinking is not None:
                raise UsageError(
                    f"enable_thinking: {model} has no chat template that could heed it; leave it "
                    "out."
                )

            self.name = "plain"
            self.gap = " "
            # Where a model continues the dialogue by itself, its answer has ended.
            self.stop = (f"\n\n{PLAIN_ROLES['user']}:",)
            self.add_special_tokens = True

        if adds_end and self.add_special_tokens:
            # An end token after the prompt would tell the model that the text is over.
            self.add_special_tokens = False
            self._prefix = bos if adds_bos else ""

    def no_tools(self) -> str:
        """Says why tools cannot be offered, and what to do; "" if the template supports them."""
        if self._writes_tools:
            return ""

        lack = (
            "chat template knows no tools"
            if self._templated
            else "tokenizer has no chat template"
        )
        return (
            f"{self._model} cannot be offered tools: its {lack}. Use a model trained to call "
            "tools, or a task without tools, such as medcalc."
        )

    @cached_property
    def _writes_tools(self) -> bool:
        """Whether the template tells the model about tools."""
        if not self._templated:
            return False
        return _MARKED_TOOL.name in self._rendered_or_empty(
            _USER, tools=(_MARKED_TOOL,)
        )

    def render(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> str:
        """Renders a chat that ends with a message of the user, a tool or the model.

        Consecutive messages of the model are joined.
        """
        if not messages or messages[-1]["role"] == "system":
            raise ValueError(
                "a chat must end with a message of the user or of the model"
            )

        if not self._templated:
            return self._prefix + plain_chat(messages)

        return self._prefix + self._apply(
            _joined(fold_system(messages) if self._folds else messages), tools=tools
        )

    def tokens(self, text: str) -> tuple[int, ...]:
        """Returns the token ids of a rendered text, as the model gets them."""
        # Not verbose: the caller checks whether a text is longer than the context.
        return tuple(
            self._tokenizer(
                text, add_special_tokens=self.add_special_tokens, verbose=False
            )["input_ids"]
        )

    def answer_tokens(
        self, text: str, answers: Sequence[str]
    ) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
        """Returns the token ids of a rendered text, and of each answer after it and `gap`.

        If the tokenizer merges the two at their border, these are the answer's ids after
        a line break, provided that they decode to the answer, else none.
        """
        wholes = [f"{text}{self.gap}{answer}" for answer in answers]
        rows = self._tokenizer(
            [text, *wholes], add_special_tokens=self.add_special_tokens, verbose=False
        )["input_ids"]
        prompt = tuple(rows[0])
        continuations: list[tuple[int, ...]] = []
        for answer, row in zip(answers, rows[1:], strict=True):
            begins = tuple(row[: len(prompt)]) == prompt
            continuations.append(
                tuple(row[len(prompt) :])
                if begins
                else self._apart(prompt, f"{self.gap}{answer}")
            )

        return prompt, continuations

    def _apart(self, prompt: tuple[int, ...], answer: str) -> tuple[int, ...]:
        """Returns the ids of an answer whose start the tokenizer merges with the prompt's end.

        The answer is tokenized after a line break, which tokenizers keep separate. These
        ids count only if prompt and answer decode together to both texts; else there are
        none.
        """
        line, whole = self._tokenizer(["\n", f"\n{answer}"], add_special_tokens=False)[
            "input_ids"
        ]
        ids = whole[len(line) :]
        before, after = (self._decode(row) for row in (prompt, [*prompt, *ids]))

        return (
            tuple(ids)
            if whole[: len(line)] == line and after == before + answer
            else ()
        )

    def _decode(self, ids: Sequence[int]) -> str:
        text: str = self._tokenizer.decode(
            list(ids), clean_up_tokenization_spaces=False
        )
        return text

    def _apply(
        self,
        messages: Sequence[Message],
        *,
        for_answer: bool = True,
        tools: Sequence[Tool] = (),
    ) -> str:
        text: str = self._tokenizer.apply_chat_template(
            [template_message(message) for message in messages],
            tools=offered(tools) or None,
            chat_template=self._template,
            tokenize=False,
            add_generation_prompt=for_answer,
            **self._switches,
        )
        return text

    def _rendered_or_empty(
        self, *messages: Message, for_answer: bool = True, tools: Sequence[Tool] = ()
    ) -> str:
        """Renders a chat by the template; returns "" where the template refuses."""
        from jinja2 import TemplateError

        try:
            return self._apply(messages, for_answer=for_answer, tools=tools)
        except TemplateError:
            return ""


def _joined(messages: Sequence[Message]) -> list[Message]:
    """Joins consecutive messages of the model, unless one calls tools.

    Many templates refuse a chat in which the roles do not alternate.
    """
    joined: list[Message] = []
    for message in messages:
        calls = message.get("tool_calls") or (joined and joined[-1].get("tool_calls"))
        if (
            joined
            and not calls
            and joined[-1]["role"] == message["role"] == "assistant"
        ):
            joined[-1] = {
                "role": "assistant",
                "content": f"{joined[-1]['content']}\n\n{message['content']}",
            }
        else:
            joined.append(message)

    return joined
