"""A model behind an OpenAI-compatible endpoint: `openai-api/<host alias>/<model>`.

The alias stands for a host, as in inspect: for `my-host` the address is read from `MY_HOST_BASE_URL` and the key from
`MY_HOST_API_KEY`. The endpoint applies the chat template; questions are sent as messages.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from medical_tasks.errors import MissingError, UsageError
from medical_tasks.models.base import Answer, Failure, Length, OnResult, Request
from medical_tasks.models.call_pool import run_calls
from medical_tasks.models.chat_client import CallFailed, ChatClient, Completion
from medical_tasks.models.chat_settings import ChatSettings, check_base_url
from medical_tasks.models.choice_scores import ChoiceScores
from medical_tasks.models.endpoint_choices import ALTERNATIVES, ChoiceAsker, ChoiceSettings
from medical_tasks.models.endpoint_length import FolderTokens, LengthMeter
from medical_tasks.models.model_options import TESTED_OPTIONS, read_options

__all__ = ["EndpointModel", "alias_variables", "asked_of", "chat_settings", "open_endpoint", "sampling_of"]

PREFIX = "openai-api/"
_NO_KEY = "none"  # sent where no key is known; servers that check keys answer 401, which stops the run and says so


class EndpointModel:
    """A model under test that answers over HTTP. Implements `models.base.Model`.

    Args:
        name: the name the user gave.
        settings: the endpoint and its limits.
        sampling: fields of the request body that decide the answer (`temperature`, `top_p`, `seed`); a field left out
            is the server's to choose.
        backend: first word of the identity.
        identity: more that makes the answers what they are; the default is the base URL. A server started for the run
            gives its own, without the port, which is another one each time.
        choices: how probabilities are asked for.
        context: longest prompt and answer together, in tokens; None to ask the server.
        tokens: counts the tokens of a question; None to ask the server.
    """

    def __init__(
        self,
        name: str,
        settings: ChatSettings,
        *,
        sampling: Mapping[str, Any],
        backend: str = "openai-api",
        identity: Mapping[str, str] | None = None,
        choices: ChoiceSettings | None = None,
        context: int | None = None,
        tokens: FolderTokens | None = None,
    ) -> None:
        self._choices = choices or ChoiceSettings()
        self.name = name
        self.endpoint: str | None = settings.base_url
        self.is_main = True
        self.identity: Mapping[str, str] = {
            "backend": backend,
            "model": settings.model,
            **({"base_url": settings.base_url} if identity is None else identity),
            **{field: str(value) for field, value in sorted(sampling.items())},
            **self._choices.identity,
        }
        self.sampling: Mapping[str, Any] = dict(sampling)
        self.meter = LengthMeter(context=context, tokens=tokens, generated=self._generated)
        self._settings = settings

    def share(self, keys: list[str]) -> list[str]:
        """Returns the keys: there is one process."""
        return keys

    def generate(self, requests: Sequence[Request], on_result: OnResult) -> None:
        """Answers all requests, at most `concurrency` in flight; results come in order of completion.

        Args:
            requests: the questions.
            on_result: called in this thread, once for each request.

        Raises:
            MissingError: The endpoint cannot answer any request; those finished before were delivered.
            UsageError: The endpoint does not know the model, or rejects these requests; likewise.
        """

        def deliver(request: Request, outcome: Completion | CallFailed) -> None:
            on_result(_result(request.key, outcome))

        with self.asking() as settings:
            run_calls(settings, requests, self._ask, deliver)

    def loglikelihood(self, requests: Sequence[Request], on_result: OnResult) -> None:
        """Says how probable the continuations of each request are; results come in order of completion.

        Args:
            requests: the questions, each with its continuations.
            on_result: called in this thread, once for each request.

        Raises:
            MissingError: As in `generate`.
            UsageError: The endpoint gives no log-probabilities, or not in the way these questions need; says what to use.
        """

        def deliver(request: Request, outcome: ChoiceScores | CallFailed) -> None:
            on_result(_scored(request.key, outcome))

        with self.asking() as settings:
            asker = ChoiceAsker(settings, self._choices, sampling=self.sampling)
            run_calls(settings, requests, asker.ask, deliver)

    def lengths(self, requests: Sequence[Request]) -> list[Length | None]:
        """Measures requests before they are asked; None for all when neither folder nor server tells.

        Raises:
            MissingError: The server has to be asked, and nothing answers.
            UsageError: The folder's tokenizer cannot be used.
        """
        with self.asking() as settings:
            return self.meter.measure(settings, requests)

    def _generated(self, request: Request) -> int:
        if not request.continuations:
            return request.max_new_tokens
        # A letter is the token that is generated; behind a text that is sent the server generates one more.
        return 0 if self._choices.way_of(request.continuations) == "top" else 1

    @contextmanager
    def asking(self) -> Iterator[ChatSettings]:
        """Gives the endpoint's settings, for callers that ask it in their own way."""
        yield self._settings

    async def _ask(self, client: ChatClient, request: Request) -> Completion:
        return await client.complete(
            request.messages, max_tokens=request.max_new_tokens, stop=request.stop, extra=self.sampling
        )

    def close(self) -> None:
        """Does nothing: connections are closed at the end of each `generate`."""


def _result(key: str, outcome: Completion | CallFailed) -> Answer | Failure:
    if isinstance(outcome, CallFailed):
        return Failure(key=key, reason=outcome.reason, detail=outcome.detail)
    finish = outcome.choices[0].finish
    return Answer(
        key=key,
        text=outcome.text,
        prompt_tokens=outcome.prompt_tokens,
        output_tokens=outcome.output_tokens,
        finish=finish if finish in ("stop", "length") else "",
    )


def _scored(key: str, outcome: ChoiceScores | CallFailed) -> Answer | Failure:
    if isinstance(outcome, CallFailed):
        return Failure(key=key, reason=outcome.reason, detail=outcome.detail)
    return Answer(key=key, text=outcome.to_text())


def alias_variables(alias: str) -> tuple[str, str]:
    """Names the environment variables of a host alias.

    Args:
        alias: letters, digits, `-` and `_`, as in `openai-api/<alias>/<model>`.

    Returns:
        The variable of the base URL, and that of the key.

    Raises:
        UsageError: The alias cannot stand in a variable's name.
    """
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", alias):
        raise UsageError(f"a host alias starts with a letter and holds letters, digits, - and _, got {alias!r}.")
    stem = alias.upper().replace("-", "_")
    return f"{stem}_BASE_URL", f"{stem}_API_KEY"


def chat_settings(alias: str, model: str, values: Mapping[str, Any]) -> ChatSettings:
    """Puts an endpoint's settings together from arguments and environment.

    Args:
        alias: the host alias.
        model: name under which the server knows the model.
        values: arguments as `read_options` returns them; `base_url` goes before the environment.

    Returns:
        The settings.

    Raises:
        MissingError: A variable that is needed is not set; says how to set it.
        UsageError: The base URL is not usable.
    """
    url_name, key_name = alias_variables(alias)
    key_name = values.get("api_key_env", key_name)
    base_url = values.get("base_url") or os.environ.get(url_name, "")
    key = os.environ.get(key_name, "")
    missing = []
    if not base_url:
        missing.append(f"export {url_name}=http://127.0.0.1:8000/v1   # the endpoint's address, up to its version")
    # With an address given outright and no variable named, a local server that checks no key needs no ceremony.
    if not key and ("api_key_env" in values or "base_url" not in values):
        missing.append(f"export {key_name}=...   # its key; any word when the server checks none")
    if missing:
        raise MissingError(
            f"the endpoint of openai-api/{alias}/{model} is not set up. Set in the environment:\n  "
            + "\n  ".join(missing)
        )
    check_base_url(base_url)
    return ChatSettings(
        base_url=base_url.rstrip("/"),
        model=model,
        api_key=key or _NO_KEY,
        key_name=key_name,
        **limits_of(values),
    )


def limits_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """Picks from the arguments what `ChatSettings` takes besides address, model and key."""
    limits = {name: values[name] for name in ("concurrency", "timeout", "max_retries", "total_time") if name in values}
    if "max_tokens_field" in values:
        limits["token_field"] = values["max_tokens_field"]
    return limits


def sampling_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """Picks from the arguments the body fields that decide the answer; temperature is 0 unless said otherwise."""
    sampling = {
        "temperature": 0.0,
        **{name: values[name] for name in ("temperature", "top_p", "seed") if name in values},
    }
    return {name: value for name, value in sampling.items() if value is not None}


def asked_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """Picks from the arguments what `EndpointModel` takes besides the endpoint.

    Raises:
        MissingError: No tokenizer lies in the folder named.
    """
    folder = values.get("tokenizer")
    return {
        "sampling": sampling_of(values),
        "choices": ChoiceSettings(
            way=values.get("logprobs", "auto"), alternatives=values.get("top_logprobs", ALTERNATIVES)
        ),
        "context": values.get("context"),
        "tokens": None if folder is None else FolderTokens(Path(folder).expanduser()),
    }


def open_endpoint(name: str, *, options: Mapping[str, str]) -> EndpointModel:
    """Opens `openai-api/<host alias>/<model>`. Nothing is sent yet.

    Args:
        name: the model's name, prefix included; the model part may hold slashes.
        options: model arguments (`TESTED_OPTIONS`).

    Returns:
        The model. Whether its `endpoint` may be sent to is the caller's to ask the guard.

    Raises:
        UsageError: The name, an argument or the base URL does not follow its form.
        MissingError: The base URL or the key is not set, or no tokenizer is in the folder named; says what to do.
    """
    alias, _, model = name.removeprefix(PREFIX).partition("/")
    if not name.startswith(PREFIX) or not alias or not model:
        raise UsageError(f"an endpoint model is named openai-api/<host alias>/<model>, got {name!r}.")
    values = read_options(options, TESTED_OPTIONS, model=name)
    return EndpointModel(name, chat_settings(alias, model, values), **asked_of(values))
