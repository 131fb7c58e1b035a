"""Asks a model about each item of a construction, under the data guard and as judges are asked.

The same command resumes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from medical_tasks.errors import UsageError, check_least
from medical_tasks.guard import policy
from medical_tasks.guard.private_store import redact_reason
from medical_tasks.io.files import make_folder
from medical_tasks.judges.base import JudgeOptions, Question, Verdict
from medical_tasks.judges.case import CUT, UNREADABLE
from medical_tasks.judges.session import JudgeSession
from medical_tasks.models.opener import deciding_args, full_name
from medical_tasks.options import WithModel
from medical_tasks.runs.folder import RunFolder, open_run_folder
from medical_tasks.runs.judging import open_session_in
from medical_tasks.runs.results import Json, JsonDict
from medical_tasks.spec import UNANSWERED

GENERATION: Final = "generation"
"""The folder of the model's questions and replies, inside that of the construction."""
TRIES: Final = 3


class ConstructionModel:
    """A model that answers the questions of a construction, with its failures."""

    def __init__(self, session: JudgeSession, recipe: Json) -> None:
        self.session = session
        self.failed: dict[str, str] = {}
        """Question id to the reason why it has no usable reply; reasons quote no text."""
        self.tries: dict[str, int] = {}
        """Id of each question of the last `ask` with a value to the number of its replies."""
        self.recipe = {**recipe, "model": dict(session.identity)}

    def ask(self, questions: Sequence[Question], *, step: str = "") -> JsonDict:
        """Asks questions; returns the values of those with a usable reply.

        `step` is put before the reasons of the others.
        """
        values: JsonDict = {}
        self.tries = {}
        for outcome in self.session.ask(questions):
            if isinstance(outcome, Verdict):
                values[outcome.id], self.tries[outcome.id] = (
                    outcome.value,
                    1 + outcome.reasked,
                )
            else:
                reason = redact_reason(
                    UNANSWERED + outcome.reason.removeprefix("judge: ")
                )
                self.failed[outcome.id] = (
                    f"{step}{outcome.problem}"
                    if outcome.reason in (UNREADABLE, CUT)
                    else reason
                )

        return values


@contextlib.contextmanager
def open_construction_model(
    name: str,
    arguments: WithModel,
    settings: Json,
    *,
    step: str,
    into: Path,
    what: str,
    forecast: bool = False,
    finished: str = "",
    args: Mapping[str, str] | None = None,
) -> Iterator[ConstructionModel]:
    """Opens the model of a construction's step; a forecast asks nothing and leaves no folder.

    Args:
        name: the model's name.
        arguments: how it is asked.
        settings: further settings that decide its answers.
        step: the benchmark and the step, such as `ehrnoteqa generate`.
        into: the folder of the construction.
        what: what is made, for messages.
        forecast: whether to count requests and tokens without asking.
        finished: a file that exists once an outcome was written.
        args: default settings of the model, which `arguments` overrule.
    """
    tries = TRIES if arguments.tries is None else arguments.tries
    longest = arguments.max_new_tokens
    check_least({"--tries": tries, "--max-new-tokens": longest})
    model, args = full_name(name), {**(args or {}), **arguments.model_args}
    if model.partition("/")[0] in ("lexical", "nli", "recorded") or "/" not in model:
        raise UsageError(
            f"unknown model {name!r}. Give hf/PATH, vllm/PATH, vllm-server/NAME or "
            "openai-api/HOST/NAME."
        )

    options = JudgeOptions(reasks=tries - 1, reply_tokens=longest, forecast=forecast)
    opening: JsonDict = {
        "args": args,
        "options": options,
        "label": what,
        "role": "model",
    }
    decisive = {
        "construct": step,
        **settings,
        "model": model,
        "model_args": deciding_args(model, args),
        "max_new_tokens": longest,
    }
    refusal = (
        f"{what} were begun with other settings ({{}}). Repeat that command to continue, or move "
        "this folder away to start again."
    )

    def folder() -> RunFolder:
        path = make_folder(into)
        begun = bool(finished) and (path / finished).exists()
        own = make_folder(path / GENERATION)
        return open_run_folder(
            own, decisive, private=policy.protecting(), begun=begun, refusal=refusal
        )

    with open_session_in(folder, model, **opening) as session:
        recipe = {**settings, "tries": tries, "max_new_tokens": longest}
        yield ConstructionModel(session, recipe)
