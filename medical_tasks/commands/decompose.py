"""Take free-form answers apart into self-contained statements, by a judge model.

    medical-tasks decompose --source answers.jsonl --judge openai-api/my-host/my-model --out statements.jsonl

A line of --source is {"Question": "...", "Free_form_answer": "..."}; those of K-QA's own file do too. --out gets the format of
that file: Question, Free_form_answer, Must_have, Nice_to_have, Sources, ICD_10_diag. In the paper a model made a draft that
physicians amended, and physicians said what is a must-have. So with --importance must (the default) every statement is put under
Must_have for a clinician to sort; --importance judge takes the model's sorting. Replies are kept beside --out (OUT.work, or
--work DIR) and never asked for twice; exit code 5 when an answer could not be taken apart, with the others written.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from medical_tasks.errors import IncompleteError, UsageError
from medical_tasks.guard import add_guard_arguments
from medical_tasks.judge_arguments import add_judge_arguments

if TYPE_CHECKING:
    from medical_tasks.guard import Subject
    from medical_tasks.kqa.decompose import Decomposed, NotDecomposed

__all__ = ["add_arguments", "run"]

_SHOWN = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's options."""
    parser.add_argument("--source", required=True, type=Path, metavar="FILE", help="questions with free-form answers")
    parser.add_argument("--out", required=True, type=Path, metavar="FILE", help="where the statements go, JSON Lines")
    parser.add_argument("--work", type=Path, metavar="DIR", help="where replies are kept (default: OUT.work)")
    parser.add_argument(
        "--importance",
        choices=("must", "judge"),
        default="must",
        help="must: all under Must_have, for a clinician to sort (default); judge: as the judge sorts them",
    )
    parser.add_argument(
        "--credentialed",
        action="store_true",
        help="the answers hold credentialed text: it stays on this machine, and replies lie in the private store",
    )
    add_judge_arguments(parser)
    add_guard_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Takes the answers apart; exit code 5 when the judge left some."""
    import tempfile

    from medical_tasks import guard
    from medical_tasks.judge_arguments import judge_request
    from medical_tasks.judges.open_session import open_session
    from medical_tasks.kqa.decompose import decompose, read_answers
    from medical_tasks.kqa.spec import KQA
    from medical_tasks.run_folder import locked, open_run_folder

    request = judge_request(arguments, [KQA])
    if request is None or arguments.judge is None:
        raise UsageError("which model takes the answers apart? medical-tasks decompose ... --judge J. See: --help")
    if request.mode != "single" or request.options.votes != 1:
        raise UsageError("--judging and --votes: an answer is taken apart once, by one call. Leave them out.")
    answers = read_answers(arguments.source)
    out: Path = arguments.out
    opening: dict[str, Any] = {"args": request.args, "options": request.options, "label": "answers", "must_read": True}
    with guard.protect(_subjects(arguments), guard.attestation_from(arguments)):
        if request.options.forecast:
            with tempfile.TemporaryDirectory() as scratch:
                store = Path(scratch) / "none.sqlite"
                with open_session(request.name, store=store, log_dir=Path(scratch), **opening) as session:
                    decompose(answers, session, importance=arguments.importance)
            print("No judge was asked and nothing is written.")
            return 0
        work = arguments.work or out.parent / f"{out.name}.work"
        _check_out(out, arguments.source, work)
        settings = {"decompose": out.name, "judge": request.identity, "importance": arguments.importance}
        folder = open_run_folder(work, settings, private=arguments.credentialed)
        with (
            locked(folder),
            open_session(request.name, store=folder.answers, log_dir=folder.logs, **opening) as session,
        ):
            outcomes = decompose(answers, session, importance=arguments.importance)
        return _finish(outcomes, arguments, work)


def _subjects(arguments: argparse.Namespace) -> list[Subject]:
    from medical_tasks import guard

    if not arguments.credentialed:
        return []
    rule = f"{arguments.source} was said to hold credentialed text (--credentialed)"
    return [guard.Subject(name="decompose", dataset=arguments.source.name, access="credentialed", rule=rule)]


def _check_out(out: Path, source: Path, work: Path) -> None:
    """What a clinician has sorted, or anybody else has written, is never written over."""
    from medical_tasks.dataset_source import file_sha256

    if not out.name or out.is_dir():
        raise UsageError(f"{out}: is a folder. Give --out the name of a file to write.")
    if not out.exists():
        return
    if out.samefile(source):
        raise UsageError(f"{out}: is the source itself. Give --out another name.")
    if file_sha256(out) not in _written(work):
        raise UsageError(
            f"{out}: is there already, and is not as an earlier run of this command left it. Somebody may have sorted its "
            "statements. Give --out another name, or move it away."
        )


def _record(work: Path) -> Path:
    return work / "written.txt"


def _written(work: Path) -> list[str]:
    """SHA-256 of what earlier runs wrote, or were about to write, under the name of --out."""
    try:
        return _record(work).read_text(encoding="ascii").split()
    except (FileNotFoundError, NotADirectoryError):
        return []
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{_record(work)}: cannot be read. Give --out or --work another name.") from error


def _write(out: Path, work: Path, text: str, *, private: bool) -> None:
    import hashlib

    from medical_tasks.whole_file import WholeFile

    # First the record: killed in between, the next run must know whichever of the two files it finds.
    digest = hashlib.sha256(text.encode()).hexdigest()
    with WholeFile(_record(work)) as part:
        part.write("".join(f"{each}\n" for each in dict.fromkeys([*_written(work), digest])))
    with WholeFile(out, private=private) as part:
        part.write(text)


def _finish(outcomes: Sequence[Decomposed | NotDecomposed], arguments: argparse.Namespace, work: Path) -> int:
    from medical_tasks.judges.open_session import next_step
    from medical_tasks.kqa.decompose import Decomposed, NotDecomposed, official_line

    done = [outcome for outcome in outcomes if isinstance(outcome, Decomposed)]
    failed = [outcome for outcome in outcomes if isinstance(outcome, NotDecomposed)]
    out: Path = arguments.out
    if done:
        text = "".join(f"{official_line(each)}\n" for each in done)
        _write(out, work, text, private=arguments.credentialed)
        statements = sum(len(each.must_have) + len(each.nice_to_have) for each in done)
        print(f"{len(done)} answers taken apart into {statements} statements, in {out}")
        if arguments.importance == "must":
            print(
                "All of them stand under Must_have. Which are a must and which are nice to have is for a clinician to say: check "
                "each statement, then move what is only nice to have."
            )
        else:
            print("A model sorted them; in the paper physicians did. Have a clinician check both.")
    if failed:
        shown = "; ".join(f"line {each.source.line}: {each.reason}" for each in failed[:_SHOWN])
        more = f" and {len(failed) - _SHOWN} more" if len(failed) > _SHOWN else ""
        raise IncompleteError(
            f"{len(failed)} of {len(outcomes)} answers were not taken apart ({shown}{more}). "
            + ("The others are written. " if done else "Nothing is written. ")
            + next_step({each.reason for each in failed})
        )
    return 0
