"""`medical-tasks decompose kqa`: answers taken apart into statements."""

from __future__ import annotations

import argparse

from medical_tasks.benchmarks.kqa.decompose import (
    Decomposed,
    Importance,
    NotDecomposed,
    decompose,
    official_line,
    read_answers,
)
from medical_tasks.benchmarks.kqa.spec import KQA
from medical_tasks.errors import UsageError
from medical_tasks.guard import policy
from medical_tasks.runs.decomposing import (
    NOT_ASKED,
    asked,
    not_taken_apart,
    read_request,
    said_credentialed,
    write_draft,
    written_to,
)

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options that no other benchmark has."""
    group = parser.add_argument_group("kqa")
    group.add_argument(
        "--importance",
        choices=("must", "judge"),
        help="must: all under Must_have, for a clinician to sort (default); judge: as the judge sorts them",
    )


def run(arguments: argparse.Namespace) -> int:
    """Takes the answers apart; exit code 5 when the judge left some."""
    if arguments.source is None:
        raise UsageError("decompose kqa needs --source, a file of questions with free-form answers. See: --help")
    request = read_request(arguments, KQA, texts="answers")
    answers = read_answers(arguments.source)
    importance: Importance = arguments.importance or "must"
    written = written_to(arguments, private=arguments.credentialed)
    with policy.protect(said_credentialed(arguments, named=""), policy.attestation_from(arguments)):
        settings = {"importance": importance}
        with asked(request, written, settings, texts="answers", sources=[arguments.source]) as judge:
            outcomes = decompose(answers, judge, importance=importance)
        if request.options.forecast:
            print(NOT_ASKED)
            return 0
        done = [outcome for outcome in outcomes if isinstance(outcome, Decomposed)]
        if done:
            write_draft(written, "".join(f"{official_line(each)}\n" for each in done))
            statements = sum(len(each.must_have) + len(each.nice_to_have) for each in done)
            print(f"{len(done)} answers taken apart into {statements} statements, in {written.out}")
            if importance == "must":
                print(
                    "All of them stand under Must_have. Which are a must and which are nice to have is for a clinician to say: "
                    "check each statement, then move what is only nice to have."
                )
            else:
                print("A model sorted them; in the paper physicians did. Have a clinician check both.")
        failed = {
            f"line {outcome.source.line}": outcome.reason for outcome in outcomes if isinstance(outcome, NotDecomposed)
        }
        if failed:
            raise not_taken_apart(failed, len(outcomes), texts="answers", some_done=bool(done))
        return 0
