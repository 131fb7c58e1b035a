"""What the forms of `medical-tasks decompose` share.

They read which judge to ask, open it, and write the output without overwriting anybody's
work.
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

NOT_ASKED: Final = "No judge was asked, and nothing was written."
_SHOWN: Final = 10


@dataclass(frozen=True, kw_only=True)
class Destination:
    """Where a command's output goes.

    Attributes:
        out: The output file.
        work: The folder for replies and records.
        private: Whether the texts are credentialed.
    """

    out: Path
    work: Path
    private: bool


def destination_of(arguments: Decompose, *, private: bool) -> Destination:
    """Reads the destination from parsed options."""
    out: Path = arguments.out
    return Destination(
        out=out, work=arguments.work or out.parent / f"{out.name}.work", private=private
    )


def credentialed_subjects(arguments: Decompose, *, named: str) -> list[Subject]:
    """Returns a subject for the guard if the user declared the texts credentialed."""
    if not arguments.credentialed:
        return []
    source = arguments.source or Path(named)
    rule = f"{source} was declared to hold credentialed text (--credentialed)"
    return [
        Subject(name="decompose", dataset=source.name, access="credentialed", rule=rule)
    ]


def read_request(arguments: Decompose, task: TaskSpec, *, texts: str) -> JudgeRequest:
    """Reads the judge from parsed options, for one vote on each text.

    `texts` names what is decomposed, such as `answers`, in messages.
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
def open_judge(
    request: JudgeRequest,
    destination: Destination,
    settings: Mapping[str, object],
    *,
    texts: str,
    sources: Sequence[Path],
) -> Iterator[Judge]:
    """Opens the judge, after checking that --out overwrites no source and nobody's work.

    A forecast asks nothing and writes nothing.
    """

    def folder() -> RunFolder:
        _check_out(destination, sources)
        recipe = {
            "decompose": destination.out.name,
            "judge": request.identity,
            **settings,
        }
        return open_run_folder(destination.work, recipe, private=destination.private)

    with open_session_in(
        folder,
        request.name,
        args=request.args,
        options=request.options,
        label=texts,
        must_read=True,
    ) as session:
        yield session


def write_draft(destination: Destination, text: str) -> None:
    """Writes the output, and records its digest, by which the next run recognises it."""
    digest = hashlib.sha256(text.encode()).hexdigest()
    digests = dict.fromkeys([*_written_digests(destination.work), digest])
    # The record is written first: if the command is killed in between, the next run must
    # recognise either version of the output.
    with WholeFile(_digests_path(destination.work)) as stream:
        stream.write("".join(f"{line}\n" for line in digests))

    with WholeFile(destination.out, private=destination.private) as stream:
        stream.write(text)


def not_taken_apart(
    failed: Mapping[str, str], number: int, *, texts: str, some_done: bool
) -> IncompleteError:
    """Makes the error for texts that the judge did not decompose, with the reason of each.

    `some_done` says whether others were written.
    """
    shown = listed(
        [f"{name}: {reason}" for name, reason in failed.items()], _SHOWN, between="; "
    )
    return IncompleteError(
        f"{len(failed)} of {number} {texts} were not taken apart ({shown}). "
        + ("The others were written. " if some_done else "Nothing was written. ")
        + next_step(set(failed.values()))
    )


def _check_out(destination: Destination, sources: Sequence[Path]) -> None:
    """Refuses to overwrite a source, or a file that this command did not write."""
    out = destination.out
    if not out.name or out.is_dir():
        raise UsageError(f"{out}: is a folder. Give --out the name of a file to write.")
    if not out.exists():
        return
    if any(source.exists() and out.samefile(source) for source in sources):
        raise UsageError(f"{out}: is the source itself. Give --out another name.")

    if file_sha256(out) not in _written_digests(destination.work):
        raise UsageError(
            f"{out}: already exists and was changed after this command wrote it. "
            "Somebody may have edited it. Give --out another name, or move it away."
        )


def _digests_path(work: Path) -> Path:
    return work / "written.txt"


def _written_digests(work: Path) -> list[str]:
    """Reads the SHA-256 of everything that earlier runs wrote, or were about to write."""
    path = _digests_path(work)
    with readable(path, again="Give --out or --work another name."):
        return read_text(path, encoding="ascii").split() if path.exists() else []
