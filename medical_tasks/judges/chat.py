"""Chat models as judges, behind an OpenAI-compatible `/v1/chat/completions` or in this process.

The budget must admit every request, retries included, before it is sent.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from medical_tasks.errors import UsageError
from medical_tasks.judges.base import Backend, Call, NoReply, OnReply, Reply
from medical_tasks.models.base import Answer, Failure, Model, Request
from medical_tasks.models.batch_provider import Line, Sent
from medical_tasks.models.batches import Batches
from medical_tasks.models.budget import (
    SPENT,
    Amount,
    Ceiling,
    Reserved,
    RunBudget,
    admitted,
    estimate_chat,
)
from medical_tasks.models.call_pool import run_calls
from medical_tasks.models.chat_client import (
    CallFailed,
    ChatClient,
    ChatSettings,
    Completion,
    completion_body,
    texts_of,
)
from medical_tasks.models.endpoint import PREFIX, EndpointModel, open_endpoint
from medical_tasks.models.opener import CHAT_OPTIONS, FLAG, Reader, read_options
from medical_tasks.models.server import (
    SERVED_OPTIONS,
    TRANSFORMERS,
    ServedModel,
    open_served,
)
from medical_tasks.models.spending import taken_by
from medical_tasks.models.till import Till

CONCURRENCY: Final = 32
"""Default of requests in flight at each replica; it is high because judged statements are short."""


CHAT_JUDGE_OPTIONS: Mapping[str, Reader] = {
    "n_choices": FLAG,
    "structured": FLAG,
    "varies": FLAG,
}
"""Options of judges alone; of these, only `structured` changes a verdict's key."""

_MAY_TAKE_ONE: Final = ("http 400", "http 422")

_Group = tuple[Call, ...]
"""Calls that share one request: the same chat, one vote each."""


class ChatJudge(Backend):
    """A judge asked over HTTP.

    With `n_choices` the votes on a question share one request; with `structured` the
    server holds a reply to its form.
    """

    def __init__(
        self,
        model: EndpointModel | ServedModel,
        *,
        n_choices: bool = False,
        varies: bool = False,
        structured: bool = False,
        per_replica: int | None = None,
    ) -> None:
        """Prepares a judge at an endpoint; sends nothing.

        Args:
            model: the model at its endpoint. A `seed` of its sampling is the first
                vote's.
            n_choices: whether several votes on a question come from one request (`n`).
            varies: whether the server's own settings make it sample.
            structured: whether the server constrains replies to a JSON Schema.
            per_replica: requests in flight at each replica; None for the model's own
                setting.
        """
        self.name = model.name
        self.identity: Mapping[str, str] = {
            **model.identity,
            **({"structured": "true"} if structured else {}),
        }
        self.endpoint = model.endpoint
        # Without an explicit temperature, the server is assumed to sample.
        self.samples = varies or model.sampling.get("temperature") != 0
        self._model = model
        self._per_replica = per_replica
        self._shares = n_choices
        self._structured = structured
        self._batches: Batches | None = None

    def ask_in_batches(self, journal: Path) -> None:
        """Makes `answer` send batches from now on."""
        if isinstance(self._model, ServedModel):
            raise UsageError(
                f"--judge-batch: {self.name} is started for the run, and asked one by one. Leave "
                "it out."
            )
        with self._model.asking() as settings:
            self._batches = Batches(replace(settings, purpose="judge"), journal)

    def answer(
        self, calls: Sequence[Call], budget: RunBudget, on_reply: OnReply
    ) -> None:
        """Asks for all replies.

        A call fails with `budget spent` when no call in flight can free budget.
        """
        if not calls:
            return

        with self._model.asking() as settings:
            self.endpoint = " ".join(settings.addresses)
            most = (
                self._per_replica * len(settings.addresses)
                if self._per_replica
                else settings.concurrency
            )
            settings = replace(settings, purpose="judge", concurrency=most)
            if self._batches is not None:
                self._answer_in_batches(
                    self._batches, settings, calls, budget, on_reply
                )
                return

            till = Till(Ceiling(budget))
            left = self._round(settings, self._groups(calls), till, on_reply)
            self._round(settings, [(call,) for call in left], till, on_reply)

    def _groups(self, calls: Sequence[Call]) -> list[_Group]:
        """Groups the calls that one request answers: with `n`, the votes on one chat."""
        groups: dict[Any, list[Call]] = {}
        for call in calls:
            chat = tuple(
                (message["role"], message["content"]) for message in call.messages
            )
            same = (
                (call.question.id, call.question.max_tokens, chat)
                if self._shares
                else call.key
            )
            groups.setdefault(same, []).append(call)

        return [tuple(group) for group in groups.values()]

    def _round(
        self,
        settings: ChatSettings,
        groups: Sequence[_Group],
        till: Till,
        on_reply: OnReply,
    ) -> Sequence[Call]:
        """Sends a request for each group; returns the calls that shared one and got no reply."""
        alone: list[Call] = []

        async def ask(client: ChatClient, group: _Group) -> Completion | None:
            return await self._ask(client, group, till)

        def deliver(group: _Group, outcome: Completion | CallFailed | None) -> None:
            keys = [call.key for call in group]
            answered = 0 if outcome is None else _deliver(keys, outcome, on_reply)
            alone.extend(group[answered:])

        run_calls(settings, groups, ask, deliver)

        return alone

    def _answer_in_batches(
        self,
        batches: Batches,
        settings: ChatSettings,
        calls: Sequence[Call],
        budget: RunBudget,
        on_reply: OnReply,
    ) -> None:
        """Asks for all replies, with a batch in each round.

        Further rounds ask for replies that a shared request did not bring, or that the
        budget held back.
        """
        waiting = {call.key: call for call in calls}
        reserved = Reserved(budget)

        def lines(keys: Collection[str]) -> Iterator[Line]:
            for group in self._groups([waiting[key] for key in keys]):
                first = group[0]
                if not reserved.admit(first.key, _most(group)):
                    continue

                body = completion_body(
                    settings,
                    first.messages,
                    max_tokens=first.question.max_tokens,
                    n=len(group),
                    extra=self._asked_with(first),
                )
                yield Line(keys=tuple(call.key for call in group), body=body)

        def hear(reply: Reply | NoReply) -> None:
            if waiting.pop(reply.key, None) is not None:
                on_reply(reply)

        def deliver(keys: Sequence[str], outcome: Completion | CallFailed) -> None:
            reserved.settle(keys[0], _used(outcome))
            if _too_many(keys, outcome):
                self._shares = False
                return

            answered = _deliver(keys, outcome, hear)
            self._shares = self._shares and not answered == 1 < len(keys)

        while waiting:
            before, shared = len(waiting), self._shares
            sent = {
                key: Sent(texts=texts_of(call.messages))
                for key, call in waiting.items()
            }
            batches.ask(sent, lines, deliver)
            if len(waiting) == before and self._shares == shared:
                for key in list(waiting):
                    hear(NoReply(key=key, reason=SPENT))

    async def _ask(
        self, client: ChatClient, group: _Group, till: Till
    ) -> Completion | None:
        """Sends one request for a group; None if its calls need requests of their own."""
        if len(group) > 1 and not self._shares:
            return None

        first = group[0]
        tokens = first.question.max_tokens
        try:
            completion = await client.complete(
                first.messages,
                max_tokens=tokens,
                n=len(group),
                extra=self._asked_with(first),
                spending=till.call(_most(group)),
            )
        except CallFailed as failed:
            # Several votes can be too much for a server, or for the rest of the budget,
            # where one is not.
            if len(group) == 1 or failed.reason not in (*_MAY_TAKE_ONE, SPENT):
                raise

            self._shares = self._shares and failed.reason == SPENT
            return None

        if len(completion.choices) == 1 < len(group):
            self._shares = False

        return completion

    def _asked_with(self, call: Call) -> dict[str, object]:
        """The fields of a request besides the chat."""
        body = self._model.fields(call.vote)
        if self._structured and call.question.schema is not None:
            form = {"name": "verdict", "strict": True, "schema": call.question.schema}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        return body

    def close(self) -> None:
        """Stops the server if one was started for this judge."""
        self._model.close()


def _most(group: _Group) -> Amount:
    """An upper estimate of a request's tokens: the prompt and all replies."""
    first = group[0]
    return Amount(estimate_chat(first.messages), first.question.max_tokens * len(group))


def _too_many(keys: Sequence[str], outcome: Completion | CallFailed) -> bool:
    """Whether a server refused several votes in one request; it may accept one."""
    failed = isinstance(outcome, CallFailed) and outcome.reason in _MAY_TAKE_ONE
    return failed and len(keys) > 1


def _used(outcome: Completion | CallFailed) -> Amount | None:
    """What a request of a batch took; None if unknown."""
    if isinstance(outcome, CallFailed):
        return Amount()
    if outcome.prompt_tokens is None or outcome.output_tokens is None:
        return None
    return Amount(outcome.prompt_tokens, outcome.output_tokens)


def _deliver(
    keys: Sequence[str], outcome: Completion | CallFailed, on_reply: OnReply
) -> int:
    """Delivers the replies of a request for several; returns how many calls it settled."""
    if isinstance(outcome, CallFailed):
        for number, key in enumerate(keys):
            sent = 0 if number else outcome.attempts
            on_reply(NoReply(key=key, reason=outcome.reason, attempts=sent))

        return len(keys)

    prompt, output = outcome.prompt_tokens, outcome.output_tokens
    for number, (key, choice) in enumerate(zip(keys, outcome.choices, strict=False)):
        on_reply(
            Reply(
                key=key,
                text=choice.text,
                finish=choice.finish,
                # the request's usage is booked on its first reply
                prompt_tokens=0 if number and prompt is not None else prompt,
                output_tokens=0 if number and output is not None else output,
                reasoning_tokens=0 if number else outcome.reasoning_tokens,
                cached_tokens=0 if number else outcome.cached_tokens,
                provider=outcome.provider,
                served_model=outcome.served_model,
                adapted=outcome.adapted,
                attempts=0 if number else outcome.attempts,
            )
        )

    return min(len(keys), len(outcome.choices))


def open_chat(name: str, options: Mapping[str, str], *, log_dir: Path) -> ChatJudge:
    """Opens `openai-api/<host alias>/<model>`, `vllm-server/<name>` or `transformers-server/<path>`. Nothing is sent yet."""
    kind = name.partition("/")[0]
    readers = {**SERVED_OPTIONS.get(kind, CHAT_OPTIONS), **CHAT_JUDGE_OPTIONS}
    values = read_options(options, readers, model=name, what="judge")
    for_model = {
        option: text
        for option, text in options.items()
        if option not in CHAT_JUDGE_OPTIONS
    }
    is_endpoint = name.startswith(PREFIX)
    model = (
        open_endpoint(name, options=for_model)
        if is_endpoint
        else open_served(name, options=for_model, log_dir=log_dir)
    )

    return ChatJudge(
        model,
        n_choices=values.get("n_choices", False),
        varies=values.get("varies", False),
        structured=values.get("structured", False),
        # `transformers serve` answers one request at a time, and has its own default.
        per_replica=None
        if kind == TRANSFORMERS or "concurrency" in options
        else CONCURRENCY,
    )


class LocalJudge(Backend):
    """A model asked as a judge."""

    def __init__(self, model: Model) -> None:
        self.name = model.name
        self.identity: Mapping[str, str] = model.identity
        self.endpoint = model.endpoint
        decoding = model.identity.get("decoding", "greedy")
        self.samples = (
            not decoding.startswith("greedy")
            or float(model.identity.get("temperature", "0")) > 0
        )
        self._model = model

    def answer(
        self, calls: Sequence[Call], budget: RunBudget, on_reply: OnReply
    ) -> None:
        """Asks for all replies, and delivers them batch by batch.

        Calls that the budget refuses are tried again after each batch.
        """

        def refuse(call: Call) -> None:
            on_reply(NoReply(key=call.key, reason=SPENT))

        for group in admitted(calls, _most_of, budget, refuse):
            self._generate({call.key: call for call in group}, budget, on_reply)

    def _generate(
        self, calls: Mapping[str, Call], budget: RunBudget, on_reply: OnReply
    ) -> None:
        """Asks for all replies, and settles each with the budget as it arrives."""

        def on_result(result: Answer | Failure) -> None:
            most = _most_of(calls[result.key])
            budget.settle(most, self._used(result, most))
            on_reply(self.reply(result))

        self._model.generate([self.request(call) for call in calls.values()], on_result)

    def _used(self, result: Answer | Failure, most: Amount) -> Amount | None:
        """What a call took; None if unknown."""
        if isinstance(result, Answer):
            return taken_by(result, most, None)
        return (
            Amount() if self.endpoint is None or result.reason == "connection" else None
        )

    def request(self, call: Call) -> Request:
        """The model's request for a call."""
        return Request(
            key=call.key,
            messages=call.messages,
            max_new_tokens=call.question.max_tokens,
        )

    def reply(self, result: Answer | Failure) -> Reply | NoReply:
        """The judge's reply for a model's answer."""
        if isinstance(result, Failure):
            return NoReply(key=result.key, reason=result.reason, attempts=1)

        return Reply(
            key=result.key,
            text=result.text,
            finish=result.finish,
            prompt_tokens=result.prompt_tokens,
            output_tokens=result.output_tokens,
            reasoning_tokens=result.reasoning_tokens,
            cached_tokens=result.cached_tokens,
            provider=result.provider,
            served_model=result.served_model,
            adapted=result.adapted,
        )

    def close(self) -> None:
        """Frees the model's memory."""
        self._model.close()


def _most_of(call: Call) -> Amount:
    """An upper estimate of what one reply takes."""
    return Amount(estimate_chat(call.messages), call.question.max_tokens)
