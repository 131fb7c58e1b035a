"""Fetching official files: the right files or none, whatever server, disk and other processes do."""

from __future__ import annotations

import dataclasses
import errno
import hashlib
import io
import os
import re
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import medical_tasks as mt
from medical_tasks.catalog import benchmarks, dataset_source
from medical_tasks.cli.entry import main
from medical_tasks.data import fetching
from medical_tasks.data.dataset_source import DatasetSource, OfficialFile, Pin
from medical_tasks.data.dataset_store import built_configs
from medical_tasks.data.upstream_source import blob_id
from medical_tasks.errors import IncompleteError, MissingError, UsageError
from medical_tasks.io.progress import Progress
from tests.fault_server import Call, Fault, FaultServer
from tests.support import SHARED, needs_shared
from tests.tiny_dataset import CREDENTIALED, SOURCE, files_of

CONTENT = b"".join(b"%07d\n" % number for number in range(12_800))  # 102,400 bytes
CHANGED = CONTENT[:-1] + b"x"
TENTH = len(CONTENT) // 10
ADDRESS = f"/v1/someone/data/{'0' * 40}/notes.jsonl"
Answer = Callable[[Call], Fault]


def tiny(*, blob: bool = False, source: DatasetSource = SOURCE) -> DatasetSource:
    """The tiny dataset with a pin; a pin by git's id has no size."""
    sums = (
        {"blob": blob_id(CONTENT)}
        if blob
        else {"sha256": hashlib.sha256(CONTENT).hexdigest()}
    )
    pin = Pin(
        "someone/data", "0" * 40, "notes.jsonl", None if blob else len(CONTENT), **sums
    )
    file = OfficialFile(places=("data/notes.jsonl",), description="the notes", pin=pin)
    return dataclasses.replace(source, files={"full": {"notes": file}, "demo": {}})


TINY = tiny()


def served(call: Call, content: bytes = CONTENT, *, sent: int | None = None) -> Fault:
    """The requested range of a file, of which `sent` bytes arrive."""
    start = int(call.headers.get("range", "bytes=0-")[6:-1])
    if start >= len(content):
        return Fault.status_code(416)
    headers = {"Content-Length": str(len(content) - start)}
    headers |= (
        {"Content-Range": f"bytes {start}-{len(content) - 1}/{len(content)}"}
        if start
        else {}
    )
    kind = "reply" if sent is None else "cut"
    return Fault(kind, 206 if start else 200, headers, content[start:][:sent])


class Mirror(FaultServer):
    """Serves `files`, or the responses of `steps`: one for each request, the last one repeated."""

    lists_models = True

    def __init__(self) -> None:
        super().__init__()
        self.files, self.steps, self.pauses = (
            {ADDRESS: CONTENT},
            list[Answer](),
            list[float](),
        )

    def good(self, call: Call) -> Fault:
        if self.steps:
            return self.steps[min(call.number, len(self.steps)) - 1](call)
        return (
            served(call, self.files[call.path])
            if call.path in self.files
            else Fault.status_code(404)
        )


@pytest.fixture(autouse=True)
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Mirror]:
    monkeypatch.setenv("MEDICAL_TASKS_DATA", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    with Mirror() as opened:
        monkeypatch.setenv(fetching.MIRROR, opened.base_url)
        monkeypatch.setattr(fetching, "pause", opened.pauses.append)
        yield opened


def fetched_files() -> dict[str, bytes]:
    return files_of(Path("home"))


RIGHT = {"downloads/tiny_notes/full/data/notes.jsonl": CONTENT}


def test_a_file_is_fetched_once_and_checked_before_it_is_used_again(
    mirror: Mirror,
) -> None:
    folder = fetching.fetch(TINY, "full")
    assert (folder, fetched_files()) == (
        Path.cwd() / "home/downloads/tiny_notes/full",
        RIGHT,
    )
    fetching.fetch(TINY, "full")
    assert len(mirror.calls) == 1
    (folder / "data/notes.jsonl").write_bytes(CHANGED)
    fetching.fetch(TINY, "full")
    assert (fetched_files(), len(mirror.calls)) == (RIGHT, 2)


def cut_reply(at: int) -> Answer:
    return lambda call: served(call, sent=at)


def reply(content: bytes = CONTENT, code: int = 200, **headers: str) -> Answer:
    return lambda call: Fault(
        "reply",
        code,
        {name.replace("_", "-"): value for name, value in headers.items()},
        content,
    )


@pytest.mark.parametrize("blob", [False, True])
@pytest.mark.parametrize(
    ("steps", "ranges", "waits"),
    [
        ([cut_reply(TENTH)] * 9 + [served], [TENTH * number for number in range(10)], [1] * 9),
        ([cut_reply(0), cut_reply(TENTH), reply()], [0, 0, TENTH], [2, 1]),  # no range is given
        ([reply(b"", 429, Retry_After="7"), reply(b"", 503), served], [0, 0, 0], [7, 4]),
        ([reply(b"", 429, Retry_After="9" * 5000), reply(b"", 500, Retry_After="soon"), served], [0, 0, 0], [60, 4]),
        ([cut_reply(TENTH), reply(b"", 416), served], [0, TENTH, 0], [1, 0]),
        ([cut_reply(TENTH), reply(b"", 206, Content_Range="bytes 5-9/10"), served], [0, TENTH, 0], [1, 0]),
        ([reply(b"", 302, Location="/elsewhere"), reply()], [0, 0], []),
    ],
)  # fmt: skip
def test_temporary_failures_are_retried(
    mirror: Mirror,
    steps: list[Answer],
    ranges: list[int],
    waits: list[int],
    *,
    blob: bool,
) -> None:
    mirror.steps = steps
    fetching.fetch(tiny(blob=blob), "full")
    assert (fetched_files(), mirror.pauses) == (RIGHT, waits)
    requested = [call.headers.get("range", "bytes=0-") for call in mirror.calls]
    assert requested == [f"bytes={start}-" for start in ranges]


@pytest.mark.parametrize("size", [TENTH, len(CONTENT), len(CONTENT) + 1])
def test_a_damaged_partial_file_is_fetched_again(size: int) -> None:
    partial = Path("home/downloads/tiny_notes/full/data/notes.jsonl.part")
    partial.parent.mkdir(parents=True)
    partial.write_bytes(b"x" * size)
    fetching.fetch(TINY, "full")
    assert fetched_files() == RIGHT


@pytest.mark.parametrize(
    ("steps", "message", "requests"),
    [
        ([reply(b"", 404)], "the server answers 404 Not Found", 1),
        ([reply(b"", 500)], "the server answers 500 Internal Server Error", 4),
        ([cut_reply(0)], "disconnected", 4),
        ([reply(CONTENT + b"x")], "the server has a file of 102,401 bytes", 1),
        ([reply(CONTENT[:-1])], "the server has a file of 102,399 bytes", 1),
        ([reply(CHANGED)], f"the server has another file, SHA-256 {hashlib.sha256(CHANGED).hexdigest()}", 1),
        ([cut_reply(TENTH), lambda call: served(call, CHANGED)], "the server has another file", 3),
        ([reply(b"", 302, Location="http://localhost:9/x")], "redirects to another server, http://localhost:9, not followed", 1),
    ],
)  # fmt: skip
def test_lasting_failures_are_reported_and_leave_nothing(
    mirror: Mirror, steps: list[Answer], message: str, requests: int
) -> None:
    mirror.steps = steps
    with pytest.raises(MissingError, match="102,400 bytes, SHA-256") as caught:
        fetching.fetch(TINY, "full")
    where = f"{mirror.base_url}{ADDRESS.removeprefix('/v1')}"
    assert str(caught.value).startswith(
        f"tiny_notes, config full: {where} cannot be fetched: "
    )
    assert message in str(caught.value)
    assert str(caught.value).endswith("  - medical-tasks build tiny_notes --source DIR")
    assert (fetched_files(), len(mirror.calls)) == ({}, requests)


def test_bad_addresses_proxies_and_disks_are_reported(
    mirror: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    for wrong in "mirror.example/raw file:///mirror http://me:secret@host http://host/a?b http:// http://host:port".split():
        monkeypatch.setenv(fetching.MIRROR, wrong)
        with pytest.raises(
            UsageError, match=r"^MEDICAL_TASKS_MIRROR must be an address"
        ) as caught:
            fetching.fetch(TINY, "full")
        assert "secret" not in str(caught.value)
    monkeypatch.setenv(fetching.MIRROR, "http://127.0.0.1:9")
    with pytest.raises(MissingError, match="cannot be fetched: .*refused"):
        fetching.fetch(TINY, "full")
    assert mirror.pauses == []
    monkeypatch.setenv("ALL_PROXY", "what://proxy")
    with pytest.raises(UsageError, match=r"cannot be used to fetch files: .*what"):
        fetching.fetch(TINY, "full")
    monkeypatch.delenv("ALL_PROXY")
    monkeypatch.setenv(fetching.MIRROR, mirror.base_url)
    monkeypatch.setattr(fetching, "_MOST_BYTES", 9)
    with pytest.raises(
        MissingError, match="more than 9 bytes are sent. Expected: git blob "
    ):
        fetching.fetch(tiny(blob=True), "full")

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Progress, "advance_to", full)  # after a piece was written
    with pytest.raises(
        IncompleteError,
        match=r"no space to write .* another place with MEDICAL_TASKS_DATA, and give",
    ):
        fetching.fetch(TINY, "full")
    assert fetched_files() == {}


def test_of_two_concurrent_fetches_the_second_finds_the_files(mirror: Mirror) -> None:
    mirror.steps = [cut_reply(TENTH), served]
    with ThreadPoolExecutor(2) as pool:
        assert len({*pool.map(lambda _: fetching.fetch(TINY, "full"), range(2))}) == 1
    assert (fetched_files(), len(mirror.calls)) == (RIGHT, 2)


@pytest.mark.parametrize(
    ("source", "config", "message"),
    [
        (tiny(source=CREDENTIALED), "full", "config full: is not fetched, only open datasets are.\nHow to get Tiny Notes:"),
        (SOURCE, "full", "is not fetched, only open datasets are"),
        (TINY, "demo", "made from this package alone, nothing is fetched. Leave out --fetch."),
        (dataset_source("medcalc_bench"), "own", "is not fetched, only v1.0, corrected, v1.2 and verified can be"),
    ],
)  # fmt: skip
def test_datasets_that_are_not_fetched_are_never_requested(
    mirror: Mirror, source: Any, config: str, message: str
) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        fetching.fetch(source, config)
    assert mirror.calls == []


SOURCES = [source for benchmark in benchmarks() for source in benchmark.sources()]


def test_open_datasets_name_fetch_as_the_first_step() -> None:
    fetched = []
    for source in SOURCES:
        first, *others = ["--fetch" in step for step in source.spec.how_to_get]
        assert first is bool(source.pins(source.spec.default_config)), source.spec.name
        assert not any(others), source.spec.name
        fetched += [source.spec.name] * first
    assert {"medcalc_bench", "kqa"} <= set(fetched)


def test_pins_name_a_known_path_a_commit_and_a_checksum() -> None:
    pins = [pin for source in SOURCES for pin in source.beside]
    for file in (
        file
        for source in SOURCES
        for files in source.files.values()
        for file in files.values()
    ):
        if file.pin is not None:
            assert file.pin.checkout_path in file.places
            pins.append(file.pin)
    assert pins
    for pin in pins:
        assert re.fullmatch(
            r"\w{40}:(\w{64}:|:\w{40})", f"{pin.commit}:{pin.sha256}:{pin.blob}"
        )


@needs_shared
@pytest.mark.upstream
def test_real_datasets_by_command_in_python_and_after_a_question(
    mirror: Mirror, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names = {
        path.name: path
        for name in ("kqa", "meqsum")
        for path in (SHARED / "data" / name).rglob("*.*")
    }
    pins = (
        *dataset_source("kqa").pins("answered"),
        *dataset_source("meqsum").pins("full"),
    )
    addresses = {pin: f"/v1/{pin.repository}/{pin.commit}/{pin.path}" for pin in pins}
    mirror.files = {
        address: names[Path(pin.path).name].read_bytes()
        for pin, address in addresses.items()
    }
    assert len(mirror.files) == 7
    with pytest.raises(
        MissingError,
        match="How to get MeQSum.*:\n  - medical-tasks build meqsum --fetch",
    ):
        mt.load("meqsum", fetch=False)
    with pytest.raises(MissingError, match="not built in elsewhere"):
        mt.load("meqsum", data="elsewhere")
    assert mirror.calls == []
    last = mirror.files.popitem()
    with pytest.raises(MissingError, match="404"):
        mt.load("meqsum")
    assert built_configs(Path("home/meqsum")) == {}
    mirror.files |= [last]
    assert mt.load("meqsum", split="train+test").num_rows == 1100
    words = "run --tasks kqa --model baseline/reference --judge lexical --out run --max-samples 3".split()
    assert main(words) == MissingError.exit_code  # not on a terminal: no question
    assert "[y/N]" not in capsys.readouterr().err
    for answer, code in (("n\n", MissingError.exit_code), ("y\n", 0)):
        monkeypatch.setattr(sys, "stdin", io.StringIO(answer))
        for stream in (sys.stdin, sys.stderr):
            monkeypatch.setattr(stream, "isatty", lambda: True)
        assert main(words) == code
        question = f"Fetch K-QA (0.8 MB, MIT) from github.com/Itaymanes/K-QA ({mirror.base_url}) and build it? [y/N] "
        assert question in capsys.readouterr().err
    mirror.files.clear()
    assert main(["build", "kqa", "--fetch"]) == 0  # of what was fetched
    out = capsys.readouterr().out
    assert "configuration answered: 201 rows" in out
    (folder,) = re.findall(r"official files: (.*) \(", out)
    assert (
        main(
            [
                "judge-check",
                "kqa",
                "--judge",
                "lexical",
                "--source",
                folder,
                "--max-pairs",
                "5",
            ]
        )
        == 0
    )
