"""Reading answers people already have: JSON Lines, or a JSON list, either maybe in a zip file as `submission.json`.

Fields have our names, DocLens's, or those of submissions to ArchEHR-QA's shared tasks (2025 and 2026).
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Final

from medical_tasks.data.task_data import TaskData
from medical_tasks.errors import MissingError, UsageError, system_reason
from medical_tasks.io.files import check_line, read_bytes
from medical_tasks.io.json_records import is_text, json_values, named, once, shown
from medical_tasks.models.base import Failure, Length, OnResult, Request
from medical_tasks.runs.baselines import run_baseline
from medical_tasks.runs.folder import existing_run_folder
from medical_tasks.runs.recipes import mapping
from medical_tasks.runs.runner import RunOptions, load_task_prompts, run_model
from medical_tasks.spec import TaskSpec

SUBMISSION: Final = "submission.json"
"""The file in a zip file."""

LARGEST: Final = 10_000_000
"""Most bytes of a zip file, and of what is in it; a submission of 200 cases has about 100,000."""

_FORM: Final = '{"id": "17", "response": "the raw text of the model"}'
_LIST_FORM: Final = '{"example_id": "17", "output": "the raw text of the model"}'
_SHOWN: Final = 5
_BOM: Final = b"\xef\xbb\xbf"
_ZIP: Final = b"PK"
_ENCRYPTED: Final = 1
_PACKED: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # others can need gigabytes to unpack a few bytes
_NAMES: Final = (("id", "example_id"), ("response", "output"))
"""Ours and the authors' name of each field."""
_PREDICTION: Final = "prediction"
_SUBMITTED: Final = (("case_id",), (_PREDICTION, "answer"))
"""Their names in a submission. Never mixed with others: "answer" may be the gold beside a response or a prediction."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One answer of a file."""

    id: str
    text: str | None  # the model's raw text; None where the file says that there is none
    place: str  # where it stands (`line 3`, `record 3`)


def read_file(path: Path, *, option: str = "--responses") -> bytes:
    """Reads a responses file; `option` is the one that named it, for messages."""
    try:
        return read_bytes(path)
    except FileNotFoundError as error:
        raise MissingError(f"{path}: no such file. Give {option} a JSON Lines file with lines like {_FORM}") from error
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be read ({system_reason(error)}). Give {option} a JSON Lines file."
        ) from error


def read_responses(
    path: Path,
    known_ids: Collection[str],
    *,
    content: bytes | None = None,
    check: Callable[[Sequence[Any]], Sequence[str]] | None = None,
) -> dict[str, str]:
    """Reads the model's text by item id, of a list its JSON; null is no answer. `check`: says what is wrong with a submission."""
    known = set(known_ids)
    values = _values(path, read_file(path) if content is None else content)
    if check is not None and any(_submitted(value) and _PREDICTION in value for _, value in values):
        problems = check([value for _, value in values])
        if problems:
            raise UsageError(
                f"{path}: nothing is scored, since the submission has {len(problems)} problem{'s' * (len(problems) > 1)}"
                + "".join(f"\n  {problem}" for problem in problems)
                + "\nMend them and score it again."
            )
    answers = _answers(path, values)
    unknown = [f"{named(answer.id)} ({answer.place})" for answer in answers if answer.id not in known]
    if unknown:
        shown_ids = ", ".join(unknown[:_SHOWN]) + (
            f" and {len(unknown) - _SHOWN} more" if len(unknown) > _SHOWN else ""
        )
        sample = ", ".join(repr(known_id) for known_id in sorted(known)[:3])
        counted = "1 id is no item" if len(unknown) == 1 else f"{len(unknown)} ids are not items"
        raise UsageError(
            f"{path}: {counted} of the task: {shown_ids}. Its ids look like {sample}. Is it the right task and --config?"
        )
    return {answer.id: answer.text for answer in answers if answer.text is not None}


def parse_answers(path: Path, content: bytes) -> list[Answer]:
    """Reads the answers of a file, of whatever items; one or more."""
    return _answers(path, _values(path, content))


def unzipped(path: Path, content: bytes) -> tuple[str, bytes]:
    """Takes the one `submission.json` and its folder ("" for none) out of a zip file; other content comes back as it is."""
    if not content.startswith(_ZIP):
        return "", content
    again = f"Zip {SUBMISSION} again; either may have at most {LARGEST:,} bytes."
    if len(content) > LARGEST:
        raise UsageError(f"{path}: has {len(content):,} bytes. {again}")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            files = [
                each
                for each in archive.infolist()
                if not each.is_dir() and not _left_by_system(PurePosixPath(each.filename))
            ]
            if len(files) != 1 or PurePosixPath(files[0].filename).name != SUBMISSION:
                raise UsageError(f"{path}: holds {_names(files)}, and must hold {SUBMISSION} alone. {again}")
            (member,) = files
            if member.flag_bits & _ENCRYPTED or member.compress_type not in _PACKED:
                raise UsageError(f"{path}: {SUBMISSION} is encrypted in it, or packed otherwise than deflated. {again}")
            with archive.open(member) as stream:
                found = stream.read(LARGEST + 1)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, OSError, ValueError) as error:
        raise UsageError(f"{path}: a damaged zip file ({type(error).__name__}). {again}") from None
    if len(found) > LARGEST:
        raise UsageError(f"{path}: {SUBMISSION} has more than {LARGEST:,} bytes in it. {again}")
    folder = str(PurePosixPath(member.filename).parent)
    return "" if folder == "." else folder, found


def _left_by_system(place: PurePosixPath) -> bool:
    """Whether a file is one of those that macOS packs beside what is meant."""
    return place.parts[:1] == ("__MACOSX",) or place.name.startswith(".")


def _names(files: Sequence[zipfile.ZipInfo]) -> str:
    more = [f"{len(files) - _SHOWN} more"] if len(files) > _SHOWN else []
    return ", ".join([*(named(each.filename) for each in files[:_SHOWN]), *more]) or "no files"


def _values(path: Path, content: bytes) -> list[tuple[str, Any]]:
    """The places of a file's records and what stands there."""
    _, content = unzipped(path, content)
    if content.removeprefix(_BOM).lstrip()[:1] == b"[":
        return [(f"record {n}", value) for n, value in enumerate(json_values(path, content, form=_LIST_FORM), start=1)]
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8 text ({error.reason} at byte {error.start}). Save it as UTF-8.") from error
    found = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        check_line(path, line, where=f", line {number}")
        try:
            found.append((f"line {number}", json.loads(line, object_pairs_hook=once)))
        except (ValueError, RecursionError) as error:  # ValueError also for a number of thousands of digits
            raise UsageError(f"{path}, line {number}: not JSON ({error}). A line is like {_FORM}") from error
    if not found:
        raise UsageError(f"{path}: no lines. Give one line an item, like {_FORM}")
    return found


def _answers(path: Path, values: Sequence[tuple[str, Any]]) -> list[Answer]:
    found: dict[str, Answer] = {}
    for place, value in values:
        answer = _answer(path, place, value)
        if answer.id in found:
            kind, number = found[answer.id].place.split()
            raise UsageError(
                f"{path}: {kind}s {number} and {place.split()[1]} both answer id {named(answer.id)}; one answer an item "
                "is scored. Remove one of them."
            )
        found[answer.id] = answer
    return list(found.values())


def _submitted(value: Any) -> bool:
    return isinstance(value, dict) and _SUBMITTED[0][0] in value and not any(name in value for name in _NAMES[0])


def _answer(path: Path, place: str, value: Any) -> Answer:
    listed = place.startswith("record")
    form = f"A record is like {_LIST_FORM}" if listed else f"A line is like {_FORM}"
    if not isinstance(value, dict):
        raise UsageError(f"{path}, {place}: an object is needed, got {shown(value)}. {form}")
    for ours, theirs in _NAMES:
        if listed and ours in value and theirs in value:
            raise UsageError(
                f"{path}, {place}: has both {ours!r} and {theirs!r}, of which one is meant. Leave the other out."
            )
    submitted = _submitted(value)
    names = [next((name for name in each if name in value), None) for each in (_SUBMITTED if submitted else _NAMES)]
    if names[0] is None or names[1] is None:
        wanted = (
            "'case_id' and 'answer' or 'prediction'"
            if submitted
            else " and ".join(repr(each[listed]) for each in _NAMES)
        )
        got = ", ".join(map(named, sorted(value)))
        raise UsageError(f"{path}, {place}: needs the keys {wanted}, got keys [{got}]. {form}")
    identifier, response = value[names[0]], value[names[1]]
    if isinstance(identifier, bool) or not isinstance(identifier, str | int):
        got = repr(identifier) if isinstance(identifier, bool | float) else type(identifier).__name__
        raise UsageError(f"{path}, {place}: {names[0]!r} must be text or a whole number, got {got}.")
    if names[1] == _PREDICTION and isinstance(response, list):
        response = json.dumps(response)
    if response is not None and not isinstance(response, str):
        raise UsageError(
            f"{path}, {place}: {names[1]!r} must be the model's raw text (or null for no answer), got "
            f"{type(response).__name__}."
        )
    if response is not None and not is_text(blank=True).holds(response):
        raise UsageError(f"{path}, {place}: {names[1]!r} has characters that are none (half of a pair). Write it anew.")
    return Answer(id=str(identifier), text=response, place=place)


_RESPONSES = "responses/"
_BASELINE = "baseline/"


class _Replay:
    """Stands for the run's model and answers nothing. Implements `models.base.Model`."""

    endpoint: str | None = None
    is_main = True

    def __init__(self, recorded: Mapping[str, Any]) -> None:
        self.name = str(recorded["name"])
        self.identity: Mapping[str, str] = {key: value for key, value in recorded.items() if key != "name"}

    def share(self, keys: list[str]) -> list[str]:
        return keys

    def generate(self, requests: Sequence[Request], on_result: OnResult) -> None:
        for request in requests:
            on_result(Failure(key=request.key, reason="not in the store", detail="the run did not answer it"))

    loglikelihood = generate

    def lengths(self, requests: Sequence[Request]) -> list[Length | None]:
        return [None for _ in requests]

    def close(self) -> None:
        pass


def check_recipe(folder: Path, recipe: Any) -> None:
    """Refuses a recipe that lacks what a run is found again by."""
    parts = mapping(recipe)
    wanted = {"data": {"config"}, "model": {"name"}}
    if not str(mapping(parts.get("model")).get("name")).startswith((_RESPONSES, _BASELINE)):
        wanted |= {"prompts": {"set", "sha256"}, "generation": {"max_new_tokens"}}
    sound = {"max_samples", "prompts", "generation"} <= parts.keys()
    if not sound or not all(names <= mapping(parts.get(part)).keys() for part, names in wanted.items()):
        raise UsageError(
            f"{folder}: its results.json does not say how it was run (the recipe is damaged). Give that run's command again "
            "to write it anew."
        )


def check_same_data(task: TaskSpec, data: TaskData, recipe: Mapping[str, Any]) -> None:
    """Refuses data that is not what the run was on."""
    ran, here = recipe["data"].get("rows_sha256"), data.revision["rows_sha256"]
    if ran != here:
        raise UsageError(
            f"{data.folder}: {task.name} ran on other rows (rows_sha256 {str(ran)[:12]}, here {here[:12]}). Give --data the folder "
            "the run was made with, or run again on this one."
        )


def run_responses(
    task: TaskSpec,
    data: TaskData,
    recipe: Mapping[str, Any],
    folder: Path,
    *,
    responses: Path | None = None,
    upstream: Path | None = None,
) -> dict[str, str]:
    """Finds the answers a run scored by item id; `responses`: the file of a run of `medical-tasks score`."""
    check_recipe(folder, recipe)
    check_same_data(task, data, recipe)
    name = str(recipe["model"]["name"])
    if name.startswith(_RESPONSES):
        return _from_file(name, data, recipe, responses)
    if responses is not None:
        raise UsageError(
            f"{folder}: --responses is for runs of `medical-tasks score`; this one asked {name}. Leave it out."
        )
    if name.startswith(_BASELINE):
        made = run_baseline(
            name.removeprefix(_BASELINE),
            task,
            data,
            max_samples=None,
            task_args=recipe.get("task_args", {}),
            prompts=recipe.get("baseline", {}).get("prompts", "own"),
            upstream=upstream,
        )
        _check_same(folder, "baseline", recipe.get("baseline"), made.recipe.get("baseline"))
        return dict(made.responses)
    run = existing_run_folder(folder)
    if not run.answers.is_file():
        raise MissingError(f"{run.answers}: not there. Give the folder that `medical-tasks run` wrote, whole.")
    ran = recipe["prompts"]
    prompts = load_task_prompts(
        task, RunOptions(prompts=ran["set"], upstream=upstream, task_args=recipe.get("task_args", {})), data
    )
    if prompts.sha256 != ran["sha256"]:
        raise UsageError(
            f"{folder}: the run asked with other prompts ({ran['set']}, sha256 {ran['sha256'][:12]}, now {prompts.sha256[:12]}), "
            "so its answers cannot be found. Use the version that made it "
            f"({recipe['suite']}), or run again."
        )
    _check_same(folder, "prompts", ran.get("settings"), dict(prompts.settings))
    options = RunOptions(
        prompts=ran["set"],
        upstream=upstream,
        max_new_tokens=recipe["generation"]["max_new_tokens"],
        max_samples=None,
        task_args=recipe.get("task_args", {}),
        shortened=recipe.get("truncation", {}).get("words_left_out", {}),
    )
    answered = run_model([task], {task.name: data}, _Replay(recipe["model"]), run, options)
    return {} if answered is None else dict(answered[0].responses)


def _check_same(folder: Path, part: str, ran: Any, here: Any) -> None:
    """Refuses settings that decide the answers, or the questions, where they are no longer what the recipe says."""
    if (ran or {}) != (json.loads(json.dumps(here)) or {}):
        raise UsageError(
            f"{folder}: the run's answers cannot be found again: its {part} had the settings {ran!r}, here they are {here!r}. "
            "Bring back what has changed (a checkpoint, documents), or run again."
        )


def _from_file(name: str, data: TaskData, recipe: Mapping[str, Any], responses: Path | None) -> dict[str, str]:
    if responses is None:
        raise MissingError(
            f"{name.removeprefix(_RESPONSES)}: this run scored it and keeps no texts. Give it with --responses FILE."
        )
    found = read_responses(responses, [item.id for item in data.items])
    digest = hashlib.sha256(read_bytes(responses)).hexdigest()
    if digest != recipe["model"].get("sha256"):
        raise UsageError(
            f"{responses}: not the file that was scored (its sha256 differs). Give that one, or score this one."
        )
    return found
