"""Local models on the workers of a Ray cluster, `ray/<folder or repository>`, which Ray Data sends batches to.

Batches are made here, as a single process would make them, so that no answer depends on
the number of workers.
"""

from __future__ import annotations

import importlib.util
import json
import logging
import math
import os
import platform
import secrets
import shutil
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar
from unittest import mock

import medical_tasks.errors as errors
from medical_tasks.errors import (
    MedicalTasksError,
    MissingError,
    RefusedError,
    UsageError,
    install_command,
)
from medical_tasks.guard import policy
from medical_tasks.models.base import (
    Answer,
    Failure,
    Model,
    OnResult,
    Request,
    read_request,
    write_request,
)
from medical_tasks.models.checkpoint import MESSAGES, find_checkpoint, quiet_libraries
from medical_tasks.models.lighteval_models import (
    CPU_BATCH,
    DEFAULT_CONTEXT,
    hf_identity,
    open_hf,
    open_vllm,
    vllm_identity,
)
from medical_tasks.models.local_model import (
    ChoicePrompt,
    LocalSetup,
    MeasuredModel,
    Prompt,
    most_tokens,
    plan_chunks,
    plan_texts,
)
from medical_tasks.models.opener import (
    HF_OPTIONS,
    LOG_LEVELS,
    RAY_OPTIONS,
    VLLM_OPTIONS,
    read_options,
)
from medical_tasks.models.spending import in_groups

_VLLM_BATCH = (
    256  # enough to keep vLLM's own batching busy, few enough to spread over workers
)
_TRIES = 3  # retries of a batch whose worker died: it may be what kills every worker
_ROUNDS = 4  # batches per worker between two checks of the time limit
_PURPOSE = "workers of a Ray cluster, which keeps texts in memory and spill folders; address=local starts one here"


@dataclass(frozen=True, kw_only=True)
class _Cluster:
    address: str | None  # None when it was started for this run
    nodes: Mapping[str, str]  # id to IP address
    shape: tuple[int, int, float]  # workers, cores and GPUs of each
    folders: Sequence[str] = ()  # to be removed at the end


def _leave(folders: Sequence[str]) -> None:
    import ray

    ray.shutdown()
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


def open_ray(name: str, *, options: Mapping[str, str], log_dir: Path) -> Model:
    """Joins or starts a cluster; workers load their models with the first question.

    Ray spills what does not fit into memory to `log_dir`.
    """
    vllm = options.get("engine") == "vllm"
    needed = ("ray", "lighteval", *["vllm"] * vllm)
    if missing := [
        package for package in needed if importlib.util.find_spec(package) is None
    ]:
        step = install_command("vllm") if vllm else install_command("ray")
        raise MissingError(
            f"{name} needs {' and '.join(missing)}, on every machine of the cluster: {step}"
        )

    own = VLLM_OPTIONS if vllm else HF_OPTIONS
    address = os.environ.get("RAY_ADDRESS") or "local"
    values = read_options(
        {"address": address, **options}, {**own, **RAY_OPTIONS}, model=name
    )
    checkpoint = find_checkpoint(
        name.removeprefix("ray/"), revision=values.get("revision")
    )
    with quiet_libraries(values.get("log_level", LOG_LEVELS["error"])):
        setup = LocalSetup(name, checkpoint, values)
        cluster = _connect(name, values, log_dir)
        return RayModel(
            setup, cluster, {key: text for key, text in options.items() if key in own}
        )


def _connect(name: str, values: Mapping[str, Any], log_dir: Path) -> _Cluster:
    """Joins a cluster, or starts one on this machine, and counts its resources.

    What Ray leaves open to others by default is closed: its port needs a token, and its
    folder is inside one that only the owner can enter.
    """
    # Ray reports every worker that is replaced as an error; and it gives its core 20 s to
    # start, too little on a busy machine.
    os.environ |= {
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_BACKEND_LOG_LEVEL": "fatal",
        "RAY_NUM_REDIS_GET_RETRIES": "60",
    }
    if values["address"] == "local":
        # Ray listens on every interface, and checks the token unless this variable is
        # set otherwise.
        os.environ.pop("RAY_AUTH_MODE", None)
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))

    import ray
    import ray.data

    address, level = values["address"], values.get("log_level", LOG_LEVELS["error"])
    if ray.is_initialized() or "://" in address:
        raise UsageError(MESSAGES["ray_address"].format(name=name, address=address))

    logging.getLogger("ray.data").setLevel(level)
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = context.print_on_execution_start = False
    settings: dict[str, Any] = {
        "address": address,
        "log_to_driver": level < logging.ERROR,
        "logging_level": level,
    }
    folders: list[str] = []
    if address == "local":
        # Everybody can enter Ray's folder, so it is put inside a closed one.
        log_dir.mkdir(parents=True, exist_ok=True)
        folders = [
            tempfile.mkdtemp(prefix="ray-"),
            tempfile.mkdtemp(prefix="ray-", dir=log_dir),
        ]
        settings |= {
            "include_dashboard": False,
            "_temp_dir": f"{folders[0]}/ray",
            "object_spilling_directory": folders[1],
        }

    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)  # Ray's core echoes its logging settings
        ray.init(**settings)
        nodes = [node for node in ray.nodes() if node["Alive"]]
        return _Cluster(
            address=None if folders else ray.get_runtime_context().gcs_address,
            nodes={node["NodeID"]: node["NodeManagerAddress"] for node in nodes},
            shape=_shape(name, values, [node["Resources"] for node in nodes]),
            folders=folders,
        )
    except Exception as error:
        _leave(folders)
        if isinstance(error, MedicalTasksError):
            raise

        raise MissingError(
            f"{name}: no Ray cluster at address={address}: {str(error).strip().splitlines()[0]}"
        ) from None
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def _shape(
    name: str, values: Mapping[str, Any], machines: Sequence[Mapping[str, float]]
) -> tuple[int, int, float]:
    """Decides on the number of workers, and on the cores and GPUs of each.

    Raises:
        UsageError: The cluster has no room for them; Ray would wait for ever.
    """
    devices = sum(machine.get("GPU", 0) for machine in machines)
    split = values.get("tensor_parallel_size", 1) * values.get(
        "pipeline_parallel_size", 1
    )
    gpus = values.get("gpus_per_worker", split if devices else 0)
    workers = values.get(
        "workers", max(1, int(devices / gpus) if gpus else len(machines))
    )
    cores = int(min(machine.get("CPU", 0) for machine in machines))
    cpus = values.get(
        "cpus_per_worker",
        1 if gpus else max(1, cores // math.ceil(workers / len(machines))),
    )
    room = sum(
        min(
            machine.get("CPU", 0) // cpus,
            machine.get("GPU", 0) // gpus if gpus else math.inf,
        )
        for machine in machines
    )
    if room < workers:
        raise UsageError(
            MESSAGES["ray_room"].format(
                name=name, workers=workers, cpus=cpus, gpus=gpus, room=room
            )
        )

    return workers, cpus, gpus


_AnyPrompt = TypeVar("_AnyPrompt", Prompt, ChoicePrompt)


class RayModel(MeasuredModel):
    """A model that each worker of a cluster loads.

    Its identity, and so every key, is that of `hf/` or `vllm/`.
    """

    def __init__(
        self, setup: LocalSetup, cluster: _Cluster, options: Mapping[str, str]
    ) -> None:
        values, revision = setup.values, setup.checkpoint.revision
        engine = values.get("engine", "hf")
        self._batch = self._texts = values.get(
            "batch_size", _VLLM_BATCH if engine == "vllm" else CPU_BATCH
        )
        more = {"revision": revision} if revision else {}
        if engine == "vllm":
            identity, context, self._spare = (
                vllm_identity(setup),
                values.get("max_model_length"),
                1,
            )
        else:
            identity = hf_identity(setup, device="cuda" if cluster.shape[2] else "cpu")
            context, self._texts = (
                values.get("max_length"),
                max(1, self._batch // 8 * 8),
            )
            more["batch_size"] = str(self._batch)

        context = context or setup.checkpoint.context() or DEFAULT_CONTEXT
        super().__init__(setup, identity, context=context, is_main=True)
        self.endpoint = cluster.address and f"tcp://{cluster.address}"
        self._cluster, self._chunk = cluster, values.get("chunk_size")
        target = setup.checkpoint.label if revision else str(setup.checkpoint.folder)
        self._worker = {
            "name": f"{engine}/{target}",
            "options": {**options, **more},
            "identity": dict(identity),
        }

    def generate(self, requests: Sequence[Request], on_result: OnResult) -> None:
        """Answers all requests, batches of the longest prompts first.

        A batch's answers are delivered as soon as it is done.
        """
        prompts = self._askable(requests, self._prompt, on_result)
        for group, tell in self._groups(prompts, on_result):
            chunks = plan_chunks(group, self._chunk or self._batch)
            self._spread(
                [[prompt.request for prompt in chunk] for chunk in chunks], tell
            )

    def loglikelihood(self, requests: Sequence[Request], on_result: OnResult) -> None:
        """Scores how probable the continuations of each request are, longest prompts first."""
        prompts = self._askable(requests, self._choice_prompt, on_result)
        for group, tell in self._groups(prompts, on_result):
            self._spread(list(_choice_rows(group, self._chunk or self._texts)), tell)

    def _groups(
        self, prompts: Sequence[_AnyPrompt], on_result: OnResult
    ) -> Iterator[tuple[list[_AnyPrompt], OnResult]]:
        """Yields what is answered next: all, or what the ceiling admits, a few batches per worker."""
        size = _ROUNDS * self._cluster.shape[0] * (self._chunk or self._batch)
        return in_groups(
            prompts,
            lambda prompt: prompt.request,
            most_tokens,
            self.ceiling,
            on_result,
            size,
        )

    def close(self) -> None:
        """Leaves the cluster, or shuts down the one that was started."""
        _leave(self._cluster.folders)

    def _spread(self, rows: Sequence[Sequence[Request]], on_result: OnResult) -> None:
        """Sends groups of requests to workers, and delivers results as they arrive.

        The data guard checks every machine of a cluster that was joined. While
        credentialed text is held, a worker on a machine that joined later refuses it.
        """
        if not rows:
            return

        for host in sorted(self._cluster.nodes.values()) if self.endpoint else ():
            policy.require_endpoint(
                f"tcp://[{host}]" if ":" in host else f"tcp://{host}", _PURPOSE
            )

        import ray

        workers, cpus, gpus = self._cluster.shape
        # Credentialed text goes only to machines that the guard has checked.
        settings = {
            **self._worker,
            "nodes": list(self._cluster.nodes) if policy.protecting() else [],
        }
        texts = [
            {"asked": json.dumps([write_request(request) for request in row])}
            for row in rows
        ]
        with warnings.catch_warnings():
            # Ray 2.64 renames an argument; setup.cfg requires an older version
            warnings.simplefilter("ignore")
            answered = ray.data.from_items(
                texts, override_num_blocks=len(rows)
            ).map_batches(
                Worker,
                fn_constructor_kwargs=settings,
                batch_size=1,
                compute=ray.data.ActorPoolStrategy(size=min(workers, len(rows))),
                num_cpus=cpus,
                num_gpus=gpus,
                ray_remote_args_fn=lambda: {
                    "max_restarts": _TRIES,
                    "max_task_retries": _TRIES,
                },
            )

        try:
            # Ray reports workers that died on standard output, whatever its settings.
            with mock.patch("ray._private.worker.print_to_stdstream"):
                for row in answered.iter_rows():
                    for result in _read(row["answered"]):
                        on_result(result)
        except ray.exceptions.RayError as error:
            kind = type(error).__name__
            raise MissingError(
                MESSAGES["ray_died"].format(name=self.name, kind=kind, times=_TRIES + 1)
            ) from None


def _choice_rows(prompts: Sequence[ChoicePrompt], size: int) -> Iterator[list[Request]]:
    """Joins batches of texts until one ends with a prompt's last text.

    So a worker splits them into the same batches again.
    """
    row: list[Request] = []
    for batch in plan_texts(prompts, size):
        row += [
            prompt.request
            for prompt, index in batch
            if index == len(prompt.continuations) - 1
        ]
        prompt, index = batch[-1]
        if index == len(prompt.continuations) - 1:
            yield row
            row = []


class Worker:
    """Answers batches on a machine of the cluster.

    It returns errors instead of answers, since Ray would wrap them in a traceback.
    """

    def __init__(
        self,
        *,
        name: str,
        options: Mapping[str, str],
        identity: Mapping[str, str],
        nodes: Sequence[str],
    ) -> None:
        """Loads the model.

        By its identity it must be the same model as where the run was started. An error
        is kept, and returned instead of answers: otherwise Ray would restart the worker
        for ever.
        """
        self._error = ""
        try:
            if nodes:
                import ray

                if ray.get_runtime_context().get_node_id() not in nodes:
                    raise RefusedError(
                        "this machine joined the cluster after it was asked where text may go."
                    )

            self._model = (open_vllm if name.startswith("vllm/") else open_hf)(
                name, options=options
            )
            there = self._model.identity
            if wrong := [
                f"{key} {there.get(key)}, not {expected}"
                for key, expected in identity.items()
                if there.get(key) != expected
            ]:
                raise UsageError(
                    "another model or other packages than where the run was started: "
                    f"{'; '.join(wrong)}."
                )
        except Exception as error:
            self._error = _written(error)

    def __call__(self, rows: Mapping[str, Any]) -> dict[str, list[str]]:
        """Answers the rows of the column `asked`, each a list of requests."""
        return {
            "answered": [self._error or self._answer(text) for text in rows["asked"]]
        }

    def _answer(self, text: str) -> str:
        """Answers requests in JSON; returns results, or an error, as JSON."""
        requests = [read_request(request) for request in json.loads(text)]
        results: list[Answer | Failure] = []
        try:
            (
                self._model.loglikelihood
                if requests[0].continuations
                else self._model.generate
            )(requests, results.append)
        except Exception as error:
            return _written(error)

        return json.dumps([asdict(result) for result in results])


def _written(error: Exception) -> str:
    return json.dumps(
        {
            "kind": type(error).__name__,
            "text": f"a worker on {platform.node()}: {error}",
        }
    )


def _read(text: str) -> list[Answer | Failure]:
    """Parses a worker's reply; raises the error that it holds instead of results."""
    reply = json.loads(text)
    if isinstance(reply, dict):
        kind = getattr(errors, reply["kind"], None)
        if isinstance(kind, type) and issubclass(kind, MedicalTasksError):
            raise kind(reply["text"])
        raise RuntimeError(f"{reply['kind']} of {reply['text']}")
    return [
        Failure(**result) if "reason" in result else Answer(**result)
        for result in reply
    ]
