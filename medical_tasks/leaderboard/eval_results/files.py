"""The files of `.eval_results/`, written and read back by huggingface_hub's own functions.

https://huggingface.co/docs/hub/eval-results. A file a task and variant; each is a list of one entry.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from medical_tasks.errors import MissingError, UsageError, system_reason
from medical_tasks.io.files import WholeFile, read_bytes

__all__ = ["EvalResult", "result_text", "write_results"]

_NEEDED: Final = "1.4"
_MOST: Final = 1_000_000


@dataclass(frozen=True, kw_only=True)
class EvalResult:
    """One number on its way to a leaderboard.

    Attributes:
        file: the file's name.
        dataset_id: the benchmark's dataset repository.
        task_id: id of the task in its `eval.yaml`.
        value: in percent.
        notes: what a reader must know of it.
        revision: commit of the dataset repository, None where it is not known.
        date: when it was run, ISO 8601; None leaves it to the commit that brings the file.
        source: `url`, and `name`, `user` or `org` of where it is from; empty for none.
    """

    file: str
    dataset_id: str
    task_id: str
    value: float
    notes: str
    revision: str | None = None
    date: str | None = None
    source: Mapping[str, str] | None = None


def result_text(result: EvalResult) -> str:
    """Writes a file's text, and makes sure that huggingface_hub reads the same back.

    Args:
        result: what it says.

    Returns:
        YAML.

    Raises:
        MissingError: The installed huggingface_hub does not know the format.
    """
    hub = _hub()
    source = result.source or {}
    entry = hub.EvalResultEntry(
        dataset_id=result.dataset_id,
        task_id=result.task_id,
        value=result.value,
        dataset_revision=result.revision,
        date=result.date,
        notes=result.notes,
        **{f"source_{name}": value for name, value in source.items()},
    )
    # Very wide, so that notes stay in one line; one line is what the Hub shows.
    text = yaml.safe_dump(hub.eval_result_entries_to_yaml([entry]), sort_keys=False, allow_unicode=True, width=_MOST)
    if hub.parse_eval_result_entries(yaml.safe_load(text)) != [entry]:
        raise RuntimeError(f"{result.file}: huggingface_hub does not read back what it was to write: {text!r}")
    return text


def _hub() -> Any:
    import huggingface_hub

    if not hasattr(huggingface_hub, "EvalResultEntry"):
        raise MissingError(
            f"Eval Results need huggingface_hub {_NEEDED} or newer; here it is {huggingface_hub.__version__}. The extra `vllm` "
            "holds it back, so use an environment without that extra (a run's folder can be read anywhere), give\n"
            f"  pip install 'huggingface_hub>={_NEEDED}'\nand the same command again."
        )
    return huggingface_hub


def write_results(results: Mapping[str, str], folder: Path, *, force: bool) -> list[Path]:
    """Writes files that are not there yet; all are checked before the first is written.

    Args:
        results: file name to text.
        folder: where they go, usually the model repository's `.eval_results`; made when absent.
        force: whether a file with other content is written over.

    Returns:
        The files written; those that say the same already are left as they are.

    Raises:
        UsageError: The folder is a file, or a file says something else and `force` is not given; nothing is written.
        IncompleteError: A file cannot be written; those before it are whole.
    """
    folder = folder.expanduser()
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder}: is a file; --out must be a folder, by default .eval_results.")
    there = {name: _content(folder / name) for name in results}
    other = [str(folder / name) for name, text in results.items() if there[name] not in (None, text.encode())]
    if other and not force:
        raise UsageError(
            f"{', '.join(other)}: there already, with other content. Nothing was written. Remove it or give --force to write over "
            "it; for another result of the same benchmark that is to stand beside it, give --variant NAME."
        )
    written: list[Path] = []
    for name, text in results.items():
        if there[name] != text.encode():
            with WholeFile(folder / name) as file:
                file.write(text)
            written.append(folder / name)
    return written


def _content(path: Path) -> bytes | None:
    if not path.exists():
        return None
    if not path.is_file():
        raise UsageError(
            f"{path}: is a folder or a device; it takes the name of a file to write. Choose another --out."
        )
    try:
        return read_bytes(path)
    except OSError as error:
        raise UsageError(
            f"{path}: is there and cannot be read ({system_reason(error)}). Choose another --out."
        ) from error
