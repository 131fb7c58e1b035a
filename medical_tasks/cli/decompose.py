"""Take texts apart into single statements or claims, by a judge model.

    medical-tasks decompose --source answers.jsonl --judge openai-api/my-host/my-model --out statements.jsonl
    medical-tasks decompose doclens --source notes.json --side reference --judge J --out claims.json
    medical-tasks decompose doclens --source outputs.json --side output --judge J --out output_claims.json
    medical-tasks decompose doclens --task aci_bench --data DIR --side reference --judge J --out claims.json

kqa (the default): a line of --source is {"Question": "...", "Free_form_answer": "..."}; those of K-QA's own file do too. --out gets
the format of that file: Question, Free_form_answer, Must_have, Nice_to_have, Sources, ICD_10_diag. In the paper a model made a
draft that physicians amended, and physicians said what is a must-have. So with --importance must (the default) every statement is
put under Must_have for a clinician to sort; --importance judge takes the model's sorting.

doclens: --side reference reads a JSON list of {"example_id", "input", "reference"}, or without --source the built dataset of
--task; --side output reads a responses file as `medical-tasks score` takes it. --out gets the authors' file of claims, for
--task-args claims=FILE or output_claims=FILE. Clinical notes (--task aci_bench) are taken apart section by section.

Replies are kept beside --out (OUT.work, or --work DIR) and never asked for twice; exit code 5 when a text could not be taken
apart, with the others written.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from medical_tasks.data.dataset_source import file_sha256
from medical_tasks.errors import IncompleteError, UsageError
from medical_tasks.guard.policy import add_guard_arguments
from medical_tasks.io.files import WholeFile, read_text
from medical_tasks.judges.base import Judge
from medical_tasks.judges.session import next_step, open_session
from medical_tasks.runs.folder import locked, open_run_folder
from medical_tasks.runs.judge_arguments import add_judge_arguments, judge_request
from medical_tasks.runs.judging import JudgeRequest
from medical_tasks.spec import TaskSpec

if TYPE_CHECKING:
    from medical_tasks.benchmarks.doclens.decompose import Part
    from medical_tasks.benchmarks.kqa.decompose import Importance
    from medical_tasks.guard.policy import Subject
    from medical_tasks.spec import DatasetSpec, TaskSpec

__all__ = []


_DOCLENS: Final = "doclens"
_OWN_TASK: Final = "doclens_own"
_ONLY: Final = {
    "kqa": ("importance",),
    _DOCLENS: ("side", "task", "data", "config", "split", "prompts", "upstream"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's options."""
    parser.add_argument(
        "benchmark", nargs="?", default="kqa", choices=tuple(_ONLY), help="whose form: kqa (default) or doclens"
    )
    parser.add_argument("--source", type=Path, metavar="FILE", help="the texts")
    parser.add_argument("--out", required=True, type=Path, metavar="FILE", help="where what they say goes")
    parser.add_argument("--work", type=Path, metavar="DIR", help="where replies are kept (default: OUT.work)")
    parser.add_argument(
        "--credentialed",
        action="store_true",
        help="the texts are credentialed: they stay on this machine, and replies lie in the private store (references in a file "
        "for doclens, and tasks on credentialed data, always are)",
    )
    kqa = parser.add_argument_group("kqa")
    kqa.add_argument(
        "--importance",
        choices=("must", "judge"),
        help="must: all under Must_have, for a clinician to sort (default); judge: as the judge sorts them",
    )
    doclens = parser.add_argument_group("doclens")
    doclens.add_argument("--side", choices=("reference", "output"), help="whose texts")
    doclens.add_argument("--task", metavar="T", help=f"what they will be scored as (default: {_OWN_TASK})")
    doclens.add_argument(
        "--data", type=Path, metavar="DIR", help="without --source: folder of the task's built dataset"
    )
    doclens.add_argument("--config", metavar="NAME", help="without --source: the dataset's configuration")
    doclens.add_argument("--split", metavar="NAME", help="without --source: its split, instead of the task's own")
    doclens.add_argument("--prompts", metavar="SET", help="the judge's prompts: own (default) or official")
    doclens.add_argument(
        "--upstream", type=Path, metavar="DIR", help="checkout of the authors' repository, for --prompts official"
    )
    add_judge_arguments(parser)
    add_guard_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Takes the texts apart; exit code 5 when the judge left some."""
    for benchmark, names in _ONLY.items():
        stray = [f"--{name}" for name in names if getattr(arguments, name) is not None]
        if stray and benchmark != arguments.benchmark:
            raise UsageError(
                f"decompose {arguments.benchmark} takes no {', '.join(stray)}. Leave it out, or say: decompose {benchmark}"
            )
    return _claims(arguments) if arguments.benchmark == _DOCLENS else _statements(arguments)


def _statements(arguments: argparse.Namespace) -> int:
    from medical_tasks.benchmarks.kqa.decompose import Decomposed, NotDecomposed, decompose, official_line, read_answers
    from medical_tasks.benchmarks.kqa.spec import KQA
    from medical_tasks.guard import policy

    if arguments.source is None:
        raise UsageError("decompose kqa needs --source, a file of questions with free-form answers. See: --help")
    request = read_request(arguments, KQA, texts="answers")
    answers = read_answers(arguments.source)
    importance: Importance = arguments.importance or "must"
    written = _written(arguments, private=arguments.credentialed)
    with policy.protect(_said_credentialed(arguments), policy.attestation_from(arguments)):
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


def _claims(arguments: argparse.Namespace) -> int:
    from medical_tasks.benchmarks.catalog import dataset_spec, parse_task_names
    from medical_tasks.benchmarks.doclens.decompose import check_task, claims_text
    from medical_tasks.benchmarks.doclens.judge_prompts import load_judge_prompts
    from medical_tasks.benchmarks.doclens.judging import make_claims
    from medical_tasks.guard import policy
    from medical_tasks.judges.base import Judging, Unscored

    if arguments.side is None:
        raise UsageError("decompose doclens needs --side reference or --side output. See: --help")
    tasks = parse_task_names(arguments.task or _OWN_TASK)
    if len(tasks) != 1 or tasks[0].benchmark.name != _DOCLENS:
        raise UsageError(f"--task takes one task of DocLens, such as {_OWN_TASK} or aci_bench; got {arguments.task!r}.")
    task = tasks[0]
    check_task(task)
    spec = dataset_spec(task.dataset)
    request = read_request(arguments, task, texts="texts")
    subjects = [*_said_credentialed(arguments), policy.Subject.of(spec, task=f"decompose {_DOCLENS}")]
    if arguments.side == "reference" and arguments.source is not None:
        # Whatever they will be scored as, sources with references in a file are somebody's own.
        subjects.append(policy.Subject.of(dataset_spec(_OWN_TASK), task=f"decompose {_DOCLENS}"))
    with policy.protect(subjects, policy.attestation_from(arguments)):
        parts = _parts(arguments, task, spec)
        written = _written(arguments, private=policy.protecting())
        settings = {"side": arguments.side, "task": task.name}
        sources = [arguments.source] if arguments.source is not None else []
        prompts = load_judge_prompts(task, request.prompts, request.options.upstream)
        with asked(request, written, settings, texts="texts", sources=sources) as judge:
            made = make_claims(
                {part.name: part.text for part in parts if part.text},
                Judging(judge=judge, prompts=prompts),
                form_of={part.name: task.options["form"] for part in parts},
                section_of={part.name: part.section for part in parts},
            )
        if request.options.forecast:
            print(NOT_ASKED)
            return 0
        failed = {name: found.reason for name, found in made.items() if isinstance(found, Unscored)}
        if len(failed) < len(parts):
            write_draft(written, claims_text(parts, made, side=arguments.side))
            count = sum(len(found) for found in made.values() if not isinstance(found, Unscored))
            blank = len(parts) - len(made)
            print(
                f"{len(made) - len(failed)} texts taken apart into {count} claims, in {written.out}"
                + (f"; {blank} are blank and have none" if blank else "")
            )
            name = "claims" if arguments.side == "reference" else "output_claims"
            print(f"Go over them, then score with --task-args {name}={written.out}")
        if failed:
            raise not_taken_apart(failed, len(made), texts="texts", some_done=len(failed) < len(parts))
        return 0


def _parts(arguments: argparse.Namespace, task: TaskSpec, spec: DatasetSpec) -> Sequence[Part]:
    """Reads the texts, from wherever they are."""
    from medical_tasks.benchmarks.doclens.decompose import built_references, outputs, own_references
    from medical_tasks.benchmarks.doclens.own_data import read_own_texts
    from medical_tasks.data.task_data import load_task_data
    from medical_tasks.runs.responses import parse_answers, read_file

    source: Path | None = arguments.source
    if source is not None:
        for name in ("data", "config", "split"):
            if getattr(arguments, name) is not None:
                raise UsageError(f"--source and --{name}: the texts are in a file or a built dataset. Leave one out.")
    if arguments.side == "output":
        if source is None:
            raise UsageError("--side output needs --source, a file of responses.")
        return outputs(parse_answers(source, read_file(source, option="--source")), task)
    if source is not None:
        return own_references(read_own_texts(source), task)
    data = load_task_data(task, spec, data=arguments.data, config=arguments.config, split=arguments.split)
    return built_references(data.items)


def _written(arguments: argparse.Namespace, *, private: bool) -> Any:

    out: Path = arguments.out
    return Written(out=out, work=arguments.work or out.parent / f"{out.name}.work", private=private)


def _said_credentialed(arguments: argparse.Namespace) -> list[Subject]:
    from medical_tasks.guard import policy

    if not arguments.credentialed:
        return []
    source = arguments.source or Path(arguments.task or _OWN_TASK)
    rule = f"{source} was said to hold credentialed text (--credentialed)"
    return [policy.Subject(name="decompose", dataset=source.name, access="credentialed", rule=rule)]


NOT_ASKED: Final = "No judge was asked and nothing is written."
_SHOWN: Final = 10


@dataclass(frozen=True, kw_only=True)
class Written:
    """Where a command's outcome goes.

    Attributes:
        out: the file.
        work: folder of what the command keeps.
        private: whether the texts are credentialed.
    """

    out: Path
    work: Path
    private: bool


def read_request(arguments: argparse.Namespace, task: TaskSpec, *, texts: str) -> JudgeRequest:
    """Reads whom to ask.

    Args:
        arguments: parsed options, those of `judge_arguments` among them.
        task: whose judge it is.
        texts: what is taken apart, for messages (`answers`).

    Returns:
        The request, of one vote.

    Raises:
        UsageError: No judge is named, or votes or a way of judging are.
    """
    request = judge_request(arguments, [task], prompts=getattr(arguments, "prompts", None) or "own")
    if request is None or arguments.judge is None:
        raise UsageError(f"which model takes the {texts} apart? medical-tasks decompose ... --judge J. See: --help")
    if arguments.judging not in (None, "single") or arguments.votes not in (None, 1):
        raise UsageError(
            f"--judging and --votes: each of the {texts} is taken apart once, by one call. Leave them out."
        )
    return replace(request, mode="single", options=replace(request.options, votes=1))


@contextlib.contextmanager
def asked(
    request: JudgeRequest, written: Written, settings: Mapping[str, Any], *, texts: str, sources: Sequence[Path]
) -> Iterator[Judge]:
    """Opens the judge for the length of a `with` block; for a forecast one that is asked nothing and leaves nothing.

    Args:
        request: whom to ask, and how.
        written: where the outcome will go; what stands there now is checked before anybody is asked.
        settings: what tells this command from others in the same folder, beside file and judge.
        texts: what is taken apart, for progress and forecast.
        sources: files it is read from.

    Yields:
        A judge that reads prompts.

    Raises:
        UsageError: The file may not be written, the folder is of another command, or the judge reads no prompts.
        MissingError: What the judge needs is not there.
    """
    opening: dict[str, Any] = {"args": request.args, "options": request.options, "label": texts, "must_read": True}
    if request.options.forecast:
        with tempfile.TemporaryDirectory() as scratch:
            store = Path(scratch) / "none.sqlite"
            with open_session(request.name, store=store, log_dir=Path(scratch), **opening) as session:
                yield session
        return
    _check_out(written, sources)
    made = {"decompose": written.out.name, "judge": request.identity, **settings}
    folder = open_run_folder(written.work, made, private=written.private)
    with locked(folder), open_session(request.name, store=folder.answers, log_dir=folder.logs, **opening) as session:
        yield session


def write_draft(written: Written, text: str) -> None:
    """Writes the outcome, and remembers that it was this package that wrote it.

    Args:
        written: where it goes.
        text: the file's content.

    Raises:
        IncompleteError: It cannot be written.
    """
    # First the record: killed in between, the next run must know whichever of the two files it finds.
    digest = hashlib.sha256(text.encode()).hexdigest()
    with WholeFile(_record(written.work)) as part:
        part.write("".join(f"{each}\n" for each in dict.fromkeys([*_known(written.work), digest])))
    with WholeFile(written.out, private=written.private) as part:
        part.write(text)


def not_taken_apart(failed: Mapping[str, str], number: int, *, texts: str, some_done: bool) -> IncompleteError:
    """Makes the error for texts that the judge left.

    Args:
        failed: name of a text to the reason.
        number: of all texts.
        texts: what they are (`answers`).
        some_done: whether others are written.
    """
    shown = "; ".join(f"{name}: {reason}" for name, reason in list(failed.items())[:_SHOWN])
    more = f" and {len(failed) - _SHOWN} more" if len(failed) > _SHOWN else ""
    return IncompleteError(
        f"{len(failed)} of {number} {texts} were not taken apart ({shown}{more}). "
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
            f"{out}: is there already, and is not as an earlier run of this command left it. Somebody may have gone over it "
            "since. Give --out another name, or move it away."
        )


def _record(work: Path) -> Path:
    return work / "written.txt"


def _known(work: Path) -> list[str]:
    """SHA-256 of what earlier runs wrote, or were about to write, under the name of --out."""
    try:
        return read_text(_record(work), encoding="ascii").split()
    except (FileNotFoundError, NotADirectoryError):
        return []
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{_record(work)}: cannot be read. Give --out or --work another name.") from error
