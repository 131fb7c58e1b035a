"""The history of decisions: changes that a chain of hashes detects, and those that it cannot."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.errors import UsageError
from medical_tasks.site.history import FIRST, append, history, verified


def append_gates(path: Path, count: int) -> list[str]:
    return [append(path, "gate", {"verdict": f"GO {n}"}).digest for n in range(count)]


def test_lines_are_chained_and_the_head_is_the_hash_of_the_last(
    tmp_path: Path,
) -> None:
    path = tmp_path / "gates.jsonl"
    assert verified(path).head == FIRST
    digests = append_gates(path, 3)
    texts = path.read_bytes().splitlines()
    assert [hashlib.sha256(text).hexdigest() for text in texts] == digests
    assert json.loads(texts[2])["before"] == digests[1]
    chain = verified(path, heads=[digests[0], digests[2][:12]])
    assert (chain.lines, chain.head, chain.problems) == (3, digests[2], ())
    assert [line.content["verdict"] for line in history(path)] == [
        "GO 0",
        "GO 1",
        "GO 2",
    ]


@given(
    line=st.integers(0, 5), position=st.integers(0, 10_000), byte=st.integers(0, 255)
)
def test_any_changed_byte_is_found(
    line: int, position: int, byte: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("history") / "gates.jsonl"
    head = append_gates(path, 6)[-1]
    texts = path.read_bytes().splitlines()
    changed = bytearray(texts[line])
    position %= len(changed)
    if changed[position] == byte:
        return
    changed[position] = byte
    texts[line] = bytes(changed)
    path.write_bytes(b"\n".join(texts) + b"\n")
    # A change of the last line is found only by a head that is recorded elsewhere.
    assert not verified(path, heads=[head]).sound


def test_changed_removed_and_repeated_lines_are_named(tmp_path: Path) -> None:
    path = tmp_path / "gates.jsonl"
    append_gates(path, 5)
    texts = path.read_bytes().splitlines(keepends=True)

    path.write_bytes(b"".join(texts).replace(b"GO 4", b"GO 9"))
    assert "line 5 was changed" in verified(path).summary
    path.write_bytes(b"".join(texts[:1] + texts[2:]))
    assert "line 2 says that it is line 3" in verified(path).summary
    path.write_bytes(b"".join([texts[0], texts[0], *texts[2:]]))
    assert "line 2 says that it is line 1" in verified(path).summary
    with pytest.raises(UsageError, match="nothing is added to a history"):
        append(path, "gate", {})
    with pytest.raises(UsageError, match="cannot be used"):
        history(path)


def test_a_cut_end_is_found_by_a_head_that_is_recorded_elsewhere(
    tmp_path: Path,
) -> None:
    path = tmp_path / "gates.jsonl"
    *_, head = append_gates(path, 3)
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:2]))
    assert verified(path).sound
    assert "cut off" in verified(path, heads=[head]).summary


def test_a_half_written_line_stays_in_the_history(tmp_path: Path) -> None:
    path = tmp_path / "gates.jsonl"
    append_gates(path, 2)
    half = path.read_bytes()[:-40]
    path.write_bytes(half)
    append(path, "look", {"verdict": "same"})
    assert path.read_bytes().startswith(half + b"\n")
    chain = verified(path)
    assert chain.sound
    assert chain.torn == (2,)
    assert [line.number for line in history(path)] == [1, 3]


def test_processes_that_append_concurrently_write_a_single_chain(
    tmp_path: Path,
) -> None:
    path = tmp_path / "gates.jsonl"
    code = (
        "import sys; from pathlib import Path; from medical_tasks.site.history import append\n"
        "for n in range(20): append(Path(sys.argv[1]), 'gate', {'n': n})"
    )
    processes = [subprocess.Popen([sys.executable, "-c", code, path]) for _ in range(3)]
    assert [process.wait() for process in processes] == [0, 0, 0]
    assert verified(path).lines == 60
    assert verified(path).sound
