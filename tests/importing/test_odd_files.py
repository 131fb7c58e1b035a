"""Files that are damaged, hostile or of something else: one message with what to do, and no traceback."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.errors import MissingError, UsageError
from medical_tasks.importing import (
    every_eval_ever,
    helm,
    inspect_log,
    lighteval_details,
    lm_eval,
    opening,
)
from medical_tasks.importing.published import Published
from tests.importing import sources
from tests.importing.sources import Sample

SAMPLES = [
    Sample(
        id=str(number),
        note=f"Note {number}.",
        question="How old?",
        answer=f"{number} years",
    )
    for number in range(1, 4)
]
Read = Callable[..., Published]


def _cut(path: Path) -> Path:
    path.write_bytes(path.read_bytes()[:-40])
    return path


def _changed(path: Path, **more: Any) -> Path:
    """Other fields in the last line of JSON Lines."""
    *lines, last = path.read_text().splitlines()
    path.write_text("\n".join([*lines, json.dumps(json.loads(last) | more)]) + "\n")
    return path


def _written(path: Path, content: str) -> Path:
    path.write_text(content)
    return path


def _helm(folder: Path, name: str, content: str) -> Path:
    sources.helm(folder, SAMPLES)
    (folder / name).write_text(content)
    return folder


def _zip(path: Path, **members: str) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "/") + ".json", content)
    return path


def _samples(*changes: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        sources.inspect_sample(sample, number=number) | change
        for number, (sample, change) in enumerate(
            zip(SAMPLES, changes, strict=False), start=1
        )
    ]


ODD: dict[str, tuple[Read, Callable[[Path], Path], str]] = {
    "helm without answers": (
        helm.read, lambda tmp: tmp, "has no display_predictions.json. Give the folder of a HELM run",
    ),
    "helm cut off": (
        helm.read,
        lambda tmp: _cut(sources.helm(tmp / "run", SAMPLES) / "display_predictions.json"),
        "display_predictions.json: not whole JSON (.*at line .*as if the file was cut off",
    ),
    "helm packed and cut off": (
        helm.read,
        lambda tmp: _cut(sources.helm(tmp / "run", SAMPLES, packed=True) / "instances.json.gz"),
        "instances.json.gz: cut off, the gzip data end amid",
    ),
    "helm of another form": (
        helm.read,
        lambda tmp: _helm(tmp / "run", "display_predictions.json", '[{"instance_id": [1]}]'),
        "display_predictions.json, record 1: instance_id.*got a list of 1",
    ),
    "helm nested deeply": (
        helm.read,
        lambda tmp: _helm(tmp / "run", "stats.json", "[" * 200_000),
        "stats.json: not whole JSON (nested too deeply)",
    ),
    "no zip file": (
        inspect_log.read,
        lambda tmp: _cut(sources.inspect_eval(tmp / "log.eval", _samples({}))),
        "log.eval: a damaged zip file (BadZipFile: File is not a zip file). Give a complete log of inspect",
    ),
    "a log without samples": (
        inspect_log.read,
        lambda tmp: sources.inspect_eval(tmp / "log.eval", []),
        "log.eval: has no samples",
    ),
    "a log without its start": (
        inspect_log.read,
        lambda tmp: _zip(tmp / "log.eval", samples__1_epoch_1="{}"),
        "log.eval: has no _journal/start.json, as if it was not written completely",
    ),
    "a sample without its input": (
        inspect_log.read,
        lambda tmp: sources.inspect_json(tmp / "log.json", _samples({}, {"input": 7})),
        "log.json, sample 2: input",
    ),
    "several logs": (
        inspect_log.read,
        lambda tmp: sources.inspect_json(
            sources.inspect_json(tmp / "a.json", _samples({})).with_name("b.json"), _samples({})
        ).parent,
        r"has 2 logs of inspect (.eval or .json) (a.json, b.json). Give the path of one",
    ),
    "probabilities": (
        lm_eval.read,
        lambda tmp: _changed(
            sources.lm_eval(tmp, SAMPLES), filter="none", resps=[[[-1.5, "False"]], [[-2.5, "True"]]]
        ),
        "line 6: has probabilities instead of the text of one reply, or replies to 2 requests",
    ),
    "samples cut off": (
        lm_eval.read,
        lambda tmp: _cut(sources.lm_eval(tmp, SAMPLES)),
        "line 6: not whole JSON",
    ),
    "two models": (
        every_eval_ever.read,
        lambda tmp: _changed(
            sources.every_eval_ever(tmp / "items.jsonl", SAMPLES), model_id="acme/other"
        ),
        "has answers of acme/llm-7b, acme/other. Select one: --model NAME",
    ),
    "two evaluations": (
        every_eval_ever.read,
        lambda tmp: _changed(sources.every_eval_ever(tmp / "items.jsonl", SAMPLES), evaluation_id="b"),
        "has records of 2 evaluations of acme/llm-7b. Give a file of one",
    ),
    "a record of something else": (
        every_eval_ever.read,
        lambda tmp: _written(tmp / "x.jsonl", '{"id": "1", "response": "2"}\n'),
        "x.jsonl, line 1: evaluation_id: is missing. Give a complete file of instance records",
    ),
    "no parquet file": (
        lighteval_details.read,
        lambda tmp: _cut(sources.lighteval(tmp / "out", SAMPLES)),
        "not a parquet file (ArrowInvalid)",
    ),
    "nothing there": (
        lighteval_details.read, lambda tmp: tmp, "has no files of details (details_*.parquet)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_unreadable_files_are_refused_with_a_message(name: str, tmp_path: Path) -> None:
    read, write, message = ODD[name]
    path = write(tmp_path)
    with pytest.raises((UsageError, MissingError)) as caught:
        read(path)
    before, _, rest = message.partition(".*")
    assert before in str(caught.value)
    assert all(fragment in str(caught.value) for fragment in rest.split(".*"))


def test_no_more_is_unpacked_than_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "LARGEST", 10_000)
    folder = sources.helm(tmp_path / "run", SAMPLES, packed=True)
    import gzip

    (folder / "instances.json.gz").write_bytes(
        gzip.compress(b"[" + b" " * 20_000_000 + b"]")
    )
    with pytest.raises(
        UsageError, match="has more than 10,000 bytes, the largest size"
    ):
        helm.read(folder)
    log = _zip(tmp_path / "log.eval", header="{}", samples__1_epoch_1=" " * 20_000)
    with pytest.raises(
        UsageError, match="has more than 10,000 bytes, the largest size"
    ):
        inspect_log.read(log)


def test_a_log_packed_by_zstd_is_read_without_inspect(tmp_path: Path) -> None:
    """Newer versions of inspect pack so; Python's own zipfile of today cannot."""
    pa = pytest.importorskip("pyarrow")
    log = sources.inspect_eval(tmp_path / "log.eval", _samples({}, {}))
    with zipfile.ZipFile(log) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(log, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, pa.Codec("zstd").compress(content, asbytes=True))
    _declare_zstd(log, {name: len(content) for name, content in members.items()})
    answers = inspect_log.read(log).answers
    assert [answer.text for answer in answers] == ["1 years", "2 years"]


def _declare_zstd(path: Path, sizes: dict[str, int]) -> None:
    """Names zstd as the method of stored members, and their lengths unpacked."""
    content = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
    at = content.index(b"PK\x01\x02")
    for member in members:
        content[at + 10 : at + 12] = (93).to_bytes(2, "little")
        content[at + 24 : at + 28] = sizes[member.filename].to_bytes(4, "little")
        at += 46 + len(member.filename)
    path.write_bytes(bytes(content))
