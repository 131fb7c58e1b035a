"""Translates options of other harnesses to ours.

    answer("--limit", options=["--max-samples", ...])
    # --limit (lm_eval, inspect) is --max-samples N here

Users type options that they know from lm_eval, inspect, lighteval or HELM. For each of
these, this module has our option, or the reason why there is none.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, NamedTuple

LM_EVAL: Final = "lm_eval"
INSPECT: Final = "inspect"
LIGHTEVAL: Final = "lighteval"
HELM: Final = "HELM"


class Peer(NamedTuple):
    """An option of other harnesses.

    Attributes:
        whose: The harnesses with this option.
        ours: Our options for it with their values, the most likely first; those that a
            command does not have are left out.
        note: A remark; the whole answer if `ours` is empty.
    """

    whose: tuple[str, ...]
    ours: tuple[str, ...] = ()
    note: str = ""


_SETTING: Final = "--model-args {}"
_IN_TASK: Final = "It is part of the task: choose one by its name (medical-tasks list)."
_KEPT: Final = "Every answer is kept in the run's folder anyway, and `report` shows them. Leave it out."
_RESUMES: Final = "The same command continues with what it has. Leave it out."
_TEMPLATE: Final = "The model's own chat template is applied anyway (--show-prompt shows it). Leave it out."
_SAMPLE: Final = ("--max-samples N", "--subset N")


def _setting(name: str, value: str = "...") -> str:
    return _SETTING.format(f"{name}={value}")


PEERS: Final[dict[str, Peer]] = {
    "apply_chat_template": Peer((LM_EVAL,), note=_TEMPLATE),
    "batch_size": Peer((LM_EVAL,), (_setting("batch_size", "16"),)),
    "cache_requests": Peer((LM_EVAL,), note=_RESUMES),
    "check_integrity": Peer(
        (LM_EVAL,),
        note="Data are checked by hash whenever they are read. Leave it out.",
    ),
    "conf_paths": Peer((HELM,), ("--tasks T", "--config-file run.yaml")),
    "confirm_run_unsafe_code": Peer(
        (LM_EVAL,), note="Code of models runs in a sandbox alone. Leave it out."
    ),
    "cost_limit": Peer((INSPECT,), ("--max-cost USD",)),
    "custom_tasks": Peer(
        (LIGHTEVAL,), note="Tasks of your own: medical-tasks --plugin PLACE run ..."
    ),
    "device": Peer(
        (LM_EVAL,), note="The GPUs are those of CUDA_VISIBLE_DEVICES. Leave it out."
    ),
    "dry_run": Peer((HELM,), ("--show-prompt", "--forecast")),
    "epochs": Peer((INSPECT,), ("--repeats K",)),
    "fail_on_error": Peer(
        (INSPECT,),
        note="What fails is unanswered, and the exit code is 5. Leave it out.",
    ),
    "fewshot_as_multiturn": Peer((LM_EVAL,), note=_IN_TASK),
    "frequency_penalty": Peer((INSPECT,), (_setting("frequency_penalty"),)),
    "gen_kwargs": Peer(
        (LM_EVAL,), (_setting("temperature", "0.7,top_p=0.9"), "--max-new-tokens N")
    ),
    "include_path": Peer(
        (LM_EVAL,), note="Tasks of your own: medical-tasks --plugin PLACE run ..."
    ),
    "job_id": Peer((LIGHTEVAL,), ("--out DIR",)),
    "limit": Peer((LM_EVAL, INSPECT), _SAMPLE),
    "load_responses_from_details_date_id": Peer(
        (LIGHTEVAL,), note="Answers that are there: medical-tasks score, or import."
    ),
    "local_path": Peer((HELM,), ("--data DIR",)),
    "log_dir": Peer((INSPECT,), ("--out DIR",)),
    "log_samples": Peer((LM_EVAL,), note=_KEPT),
    "max_connections": Peer((INSPECT,), (_setting("concurrency", "16"),)),
    "max_eval_instances": Peer((HELM,), _SAMPLE),
    "max_retries": Peer((INSPECT,), (_setting("max_retries"),)),
    "max_tokens": Peer((INSPECT,), ("--max-new-tokens N",)),
    "max_train_instances": Peer((HELM,), note=_IN_TASK),
    "model_base_url": Peer((INSPECT,), (_setting("base_url"),)),
    "model_role": Peer((INSPECT,), ("--role ROLE=MODEL", "--judge MODEL")),
    "models_to_run": Peer((HELM,), ("--model M",)),
    "no_score": Peer((INSPECT,), note="Answers are always scored. Leave it out."),
    "num_fewshot": Peer((LM_EVAL,), note=_IN_TASK),
    "num_threads": Peer((HELM,), (_setting("concurrency", "16"),)),
    "output_dir": Peer((LIGHTEVAL,), ("--out DIR",)),
    "output_path": Peer((LM_EVAL, HELM), ("--out DIR",)),
    "override_batch_size": Peer((LIGHTEVAL,), (_setting("batch_size", "16"),)),
    "predict_only": Peer((LM_EVAL,), note="Answers are always scored. Leave it out."),
    "push_to_hub": Peer((LIGHTEVAL,), note="Afterwards: medical-tasks submit."),
    "reasoning_effort": Peer((INSPECT,), (_setting("reasoning_effort", "low"),)),
    "revision": Peer((LIGHTEVAL,), (_setting("revision"),)),
    "run_entries": Peer((HELM,), ("--tasks T",)),
    "sample_id": Peer((INSPECT,), ("--show-prompt ID", *_SAMPLE)),
    "sample_shuffle": Peer((INSPECT,), ("--subset N --seed S",)),
    "save_details": Peer((LIGHTEVAL,), note=_KEPT),
    "show_config": Peer(
        (LM_EVAL,), note="The recipe is in results.json, the options in run.yaml."
    ),
    "suite": Peer((HELM,), ("--out DIR",)),
    "system_instruction": Peer((LM_EVAL,), note=_IN_TASK),
    "system_message": Peer((INSPECT,), note=_IN_TASK),
    "system_prompt": Peer((LIGHTEVAL,), note=_IN_TASK),
    "temperature": Peer((INSPECT,), (_setting("temperature", "0.7"),)),
    "time_limit": Peer((INSPECT,), ("--max-minutes M",)),
    "token_limit": Peer((INSPECT,), ("--max-tokens-total N",)),
    "top_p": Peer((INSPECT,), (_setting("top_p"),)),
    "trust_remote_code": Peer(
        (LM_EVAL,), note="No code that comes with a model is run. Leave it out."
    ),
    "use_cache": Peer((LM_EVAL,), note=_RESUMES),
    "use_chat_template": Peer((LIGHTEVAL,), note=_TEMPLATE),
    "wandb_args": Peer((LM_EVAL,), note="Afterwards: medical-tasks export."),
    "write_out": Peer((LM_EVAL,), ("--show-prompt",)),
}
"""The options by name, with `_` between words."""
_ABOUT_ANSWERS: Final = frozenset({"--model", "--responses"})
"""Options of the commands that query a model or score answers; notes are for these."""
_LETTERS: Final = {
    "-T": Peer((INSPECT,), ("--task-args K=V,...",)),
    "-M": Peer((INSPECT,), ("--model-args K=V,...",)),
    "-m": Peer((HELM,), _SAMPLE),
    "-o": Peer((LM_EVAL,), ("--out DIR",)),
}


def find_peer(word: str) -> Peer | None:
    """Finds the option of another harness by its word."""
    if word in _LETTERS:
        return _LETTERS[word]
    if not word.startswith("--"):
        return None
    return PEERS.get(word.removeprefix("--").replace("-", "_"))


def answer(word: str, options: Collection[str]) -> str:
    """Translates a word of another harness; "" if it is none.

    Args:
        word: The typed word, such as `--limit`.
        options: The options of the command.
    """
    peer = find_peer(word)
    if peer is None:
        return ""

    available = [option for option in peer.ours if option.split()[0] in options]
    whose = " and ".join(peer.whose)
    if available:
        return f"{word} ({whose}) is {' or '.join(available)} here."
    if peer.note and not _ABOUT_ANSWERS.isdisjoint(options):
        return f"{word} is an option of {whose}. {peer.note}"

    return ""
