"""What the ways of `medical-tasks decompose` share.

Whom to ask, where the outcome goes, and that nobody's work is written over.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from medical_tasks.construct.options import Decompose
from medical_tasks.data.dataset_source import file_sha256
from medical_tasks.errors import IncompleteError, UsageError, listed
from medical_tasks.guard.policy import Subject
from medical_tasks.io.files import WholeFile, read_text, readable
from medical_tasks.judges.base import Judge
from medical_tasks.judges.session import next_step
from medical_tasks.runs.folder import RunFolder, open_run_folder
from medical_tasks.runs.judge_arguments import judge_request
from medical_tasks.runs.judging import JudgeRequest, open_session_in
from medical_tasks.spec import TaskSpec

NOT_ASKED: Final = "No judge was asked and nothing is written."
_SHOWN: Final = 10


@dataclass(frozen=True, kw_only=True)
class Written:
    """Where a command's outcome goes.

    Attributes:
        out: The file.
        work: Folder of what the command keeps.
        private: Whether the texts are credentialed.
    """

    out: Path
    work: Path
    private: bool


def written_to(arguments: Decompose, *, private: bool) -> Written:
    """Says where the outcome of parsed options goes."""
    out: Path = arguments.out
    return Written(
        out=out, work=arguments.work or out.parent / f"{out.name}.work", private=private
    )


def said_credentialed(arguments: Decompose, *, named: str) -> list[Subject]:
    """What the guard has to know of texts that the user called credentialed."""
    if not arguments.credentialed:
        return []
    source = arguments.source or Path(named)
    rule = f"{source} was said to hold credentialed text (--credentialed)"
    return [
        Subject(name="decompose", dataset=source.name, access="credentialed", rule=rule)
    ]


def read_request(arguments: Decompose, task: TaskSpec, *, texts: str) -> JudgeRequest:
    """Reads whom to ask, of parsed options; `texts`, such as `answers`, are what is taken apart.

    The request is of one vote.
    """
    request = judge_request(
        arguments,
        [task],
        prompts=arguments.prompts or "own",
        upstream=arguments.upstream,
    )
    if request is None or arguments.judge is None:
        raise UsageError(
            f"which model takes the {texts} apart? medical-tasks decompose ... --judge J. See: "
            "--help"
        )

    if arguments.judging not in (None, "single") or arguments.votes not in (None, 1):
        raise UsageError(
            f"--judging and --votes: each of the {texts} is taken apart once, by one call. Leave "
            "them out."
        )

    return replace(request, mode="single", options=replace(request.options, votes=1))


@contextlib.contextmanager
def asked(
    request: JudgeRequest,
    written: Written,
    settings: Mapping[str, object],
    *,
    texts: str,
    sources: Sequence[Path],
) -> Iterator[Judge]:
    """Opens the judge, after checking that --out is none of `sources` and nobody else's.

    A forecast asks and leaves nothing.
    """

    def folder() -> RunFolder:
        _check_out(written, sources)
        made = {"decompose": written.out.name, "judge": request.identity, **settings}
        return open_run_folder(written.work, made, private=written.private)

    with open_session_in(
        folder,
        request.name,
        args=request.args,
        options=request.options,
        label=texts,
        must_read=True,
    ) as session:
        yield session


def write_draft(written: Written, text: str) -> None:
    """Writes the outcome, and remembers that it was this package that wrote it."""
    # First the record: killed in between, the next run must know whichever of the two
    # files it finds.
    digest = hashlib.sha256(text.encode()).hexdigest()
    with WholeFile(_record(written.work)) as part:
        part.write(
            "".join(
                f"{each}\n" for each in dict.fromkeys([*_known(written.work), digest])
            )
        )

    with WholeFile(written.out, private=written.private) as part:
        part.write(text)


def not_taken_apart(
    failed: Mapping[str, str], number: int, *, texts: str, some_done: bool
) -> IncompleteError:
    """Makes the error for texts that the judge left, with the reason of each.

    `some_done`: others are written.
    """
    shown = listed(
        [f"{name}: {reason}" for name, reason in failed.items()], _SHOWN, between="; "
    )
    return IncompleteError(
        f"{len(failed)} of {number} {texts} were not taken apart ({shown}). "
        + ("The others are written. " if some_done else "Nothing is written. ")
        + next_step(set(failed.values()))
    )


def _check_out(written: Written, sources: Sequence[Path]) -> None:
    """What somebody has sorted or mended, or anybody else has written, is never written over."""
    out = written.out
    if not out.name or out.is_dir():
        raise UsageError(f"{out}: is a folder. Give --out the name of a file to write.")
    if not out.exists():
        return
    if any(source.exists() and out.samefile(source) for source in sources):
        raise UsageError(f"{out}: is the source itself. Give --out another name.")

    if file_sha256(out) not in _known(written.work):
        raise UsageError(
            f"{out}: already exists and was changed since this command wrote it. "
            "Somebody may have gone over it since. Give --out another name, or move it away."
        )


def _record(work: Path) -> Path:
    return work / "written.txt"


def _known(work: Path) -> list[str]:
    """SHA-256 of what earlier runs wrote, or were about to write, under the name of --out."""
    record = _record(work)
    with readable(record, again="Give --out or --work another name."):
        return read_text(record, encoding="ascii").split() if record.exists() else []
