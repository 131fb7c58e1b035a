"""Random and hostile submissions to ArchEHR-QA, scored by the organizers' scripts and by `medical-tasks score`, figure by figure.

    python -m measurements.archehr_official --upstream-2025 DIR --upstream-2026 DIR --evaluate DIR --nmt FILE --python PYTHON

The two checkouts are those of soni-sarvesh/archehr-qa and archehr-qa-2026, `--evaluate`
that of huggingface/evaluate, `--nmt` the file nmt/scripts/bleu.py of tensorflow/nmt,
which its BLEU fetches otherwise. PYTHON has evaluate, rouge_score, sacrebleu,
sacremoses, nltk and lxml; the scripts run there, a process a subtask, as they are but
for this:

- BERTScore, MEDCON and AlignScore need checkpoints and the UMLS, and are replaced on both sides by a number drawn from the metric's
  name, the reference and the prediction: the same only where the same texts are compared in the same direction. The real ones are
  compared elsewhere (docs/text_metrics.md, docs/medcon.md). BLEU, ROUGE and SARI are evaluate's.
- 2025 takes essential sentences out of a set, so that its figures depend on PYTHONHASHSEED; here it takes them out of a list, in
  the note's order.

Cases are synthetic (`measurements.archehr_twin`). Our figures are read from
results.json. Wanted is the same figure, to 1e-9, wherever a script has one, and n/a or
a refusal of the file where it ends. A case that stands there twice is counted twice by
the scripts and refused here. `score` refuses submissions to 2026 whole that a script
would end on; with `--replies` it reads the same predictions as replies of a model, and
is to say n/a instead. With `--seeds`, processes with other hashes of strings score some
of the submissions again.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib
import io
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import types
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from unittest.mock import MagicMock, patch

Records = list[dict[str, Any]]

SUBTASKS: Final = {
    "2025": "archehr_together",
    "2026-1": "archehr_question",
    "2026-2": "archehr_evidence",
    "2026-3": "archehr_answer",
    "2026-4": "archehr_alignment",
}
TEXT_WORDS: Final = {"2025": 75, "2026-1": 15, "2026-3": 75}
MODELS: Final = {"bertscore": "bertscore", "umls": "medcon", "alignscore": "alignscore"}
SCORERS: Final = {
    "BertScorer": "bertscore",
    "MedconScorer": "medcon",
    "AlignScorer": "alignscore",
}
NOT_INSTALLED: Final = ("torch", "spacy", "quickumls", "alignscore", "tqdm")
CLOSE: Final = 1e-9
HOSTILE: Final = 0.45
"""Share of the submissions in which anything may be; the others have what the scripts take."""

SPACES: Final = (
    " ",
    "  ",
    "\t",
    "\u00a0",
    "\u2003",
    "\u3000",
    "\x1f",
    "\r\n",
    "\x0b",
    "\u2028",
    "\n",
    "-\n",
    " \u200b",
)
ODD_WORDS: Final = (
    "&amp;",
    "<skipped>",
    "|",
    "||",
    "3.5",
    "1,000",
    "na\u00efve",
    "\U0001f600",
    "[2]",
    '"so"',
    "'",
    "\u7530",
    "...",
    "-",
)
EMPTY: Final = (
    "",
    " ",
    "\n",
    "\u3000\n",
    "<skipped>",
    "\u200b",
    ".",
    "|",
    "|1|",
    "\x1f",
)
CITING: Final = (
    "|{}|",
    "|{}|",
    "|{}|",
    " |{}| ",
    "| {} |",
    "|{}|.",
    "|{}| and so on",
    "|99||{}|",
    "|,{},|",
    "|{}|\r",
    "|{},|",
)
HOSTILE_CITING: Final = (
    "", "||", "|,|", "| |", "[{}]", "{}|", "|{}", "|1-3|", "|01|", "|x|",
    "|\u3000{}|", "|\uff12|", "|{};3|", "|{} and 3|", "|1||2|",
)  # fmt: skip
ODD_IDS: Final = (
    "01",
    " 1",
    "1 ",
    "1-3",
    "99",
    "",
    "\uff11",
    "x",
    "-1",
    "1,2",
    "None",
    "1\n",
)
WRONG_TYPES: Final[tuple[Any, ...]] = (
    None,
    5,
    True,
    {},
    "1,2",
    ["1", 2],
    [["1"]],
    [None],
    [{"answer_id": "1"}],
    {"1": ["2"]},
)


def stand_in(metric: str, reference: str, prediction: str) -> float:
    """Returns a number in [0, 1) that depends on the metric and on both texts in their order."""
    encoded = "\0".join((metric, reference, prediction)).encode(
        "utf-8", "surrogatepass"
    )
    return int.from_bytes(hashlib.sha256(encoded).digest()[:6], "big") / 2**48


# The organizers' side, in their environment: nothing of this package is imported here.


def drive(
    subtask: str, upstream: Path, evaluate_folder: Path, nmt: Path, work: Path
) -> None:
    """Scores the submissions in `work` by the script, and writes its figures, or the error it ends with, to `theirs.json`."""
    import evaluate  # type: ignore[import-not-found, unused-ignore]
    import nltk  # type: ignore[import-untyped, unused-ignore]

    # the script asks for data that it does not need
    vars(nltk)["download"] = lambda *_, **__: True
    metrics = work / "metrics"
    shutil.copytree(evaluate_folder / "metrics", metrics, dirs_exist_ok=True)
    bleu = metrics / "bleu" / "bleu.py"
    bleu.write_text(
        bleu.read_text().replace(
            "import compute_bleu  # From: https", "import compute_bleu\n# https"
        )
    )
    shutil.copy(nmt, bleu.with_name("nmt_bleu.py"))
    real, opened = evaluate.load, {}

    def load(name: str) -> Any:
        if name not in opened:
            opened[name] = (
                real(str(metrics / name)) if name in ("bleu", "rouge", "sari") else None
            )
        return opened[name]

    evaluate.load = load
    sys.path.insert(0, str(upstream / "evaluation"))
    sys.modules.update({name: MagicMock() for name in NOT_INSTALLED})
    script = _script(subtask, upstream)
    for name in NOT_INSTALLED:
        del sys.modules[name]  # other modules look for them there
    for name, metric in SCORERS.items():
        if hasattr(script, name):
            setattr(script, name, _scorer(metric))
    results = []
    for submission in json.loads((work / "submissions.json").read_text()):
        out = work / "scores.json"
        out.unlink(missing_ok=True)
        files = {
            "submission_path": submission["file"],
            "key_path": f"{submission['key']}/archehr-qa_key.json",
            "data_path": f"{submission['key']}/archehr-qa.xml",
            "out_file_path": str(out),
        }
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                _run(script, subtask, files)
            results.append({"figures": json.loads(out.read_text())})
        except Exception as error:
            results.append({"ended": type(error).__name__})
    (work / "theirs.json").write_text(json.dumps(results))


def _script(subtask: str, upstream: Path) -> Any:
    """Imports the script as a module; that of 2025 with its essential sentences in order."""
    if subtask != "2025":
        return importlib.import_module(f"scoring_subtask_{subtask[-1]}")
    text = (upstream / "evaluation" / "scoring.py").read_text()
    of_set = "        essential_citations = set(\n"
    if text.count(of_set) != 1:
        raise ValueError(f"{upstream}: another scoring.py than that of 2025")
    script = types.ModuleType("scoring")
    exec(text.replace(of_set, of_set.replace("set", "list")), script.__dict__)
    return script


def _run(script: Any, subtask: str, files: Mapping[str, str]) -> None:
    if subtask == "2025":
        words = [word for name, value in files.items() for word in (f"--{name}", value)]
        with patch.object(sys, "argv", ["scoring.py", *words]):
            script.main()
        return
    named = {
        name: files[name] for name in ("submission_path", "key_path", "out_file_path")
    }
    if subtask == "2026-1":
        named["key_path"] = files["data_path"]
    if subtask == "2026-3":
        named["data_path"] = files["data_path"]
    script.score_submission(**named)


def _scorer(metric: str) -> type:
    class Scorer:
        def __init__(self, **_: Any) -> None:
            pass

        def compute_overall_score(
            self, references: Sequence[str], predictions: Sequence[str]
        ) -> float:
            pairs = list(zip(references, predictions, strict=True))
            return sum(stand_in(metric, *pair) for pair in pairs) / len(pairs)

    return Scorer


# The cases and the submissions.


def write_keys(folder: Path) -> dict[str, Path]:
    """Writes cases as official files: of all kinds, without essential sentences, and a single one."""
    from dataclasses import replace

    from measurements.archehr_twin import twin_cases, write_split
    from medical_tasks.benchmarks.archehr_qa.release import FullCase

    def relabelled(case: FullCase, new: Mapping[str, str]) -> FullCase:
        labels = {
            name: new.get(label, label) for name, label in case.key.relevance.items()
        }
        return replace(case, key=replace(case.key, relevance=labels))

    cases = twin_cases(seed=14, cases=9)
    odd = [
        replace(
            sentence,
            text=sentence.text.replace(" ", "\n", 1).replace(" ", " \u00a0", 1)
            + " \u00b5g & <2",
        )
        for sentence in cases[0].case.sentences
    ]
    cases[0] = replace(cases[0], case=replace(cases[0].case, sentences=tuple(odd)))
    bare = relabelled(cases[5], {"essential": "supplementary"})
    nothing = relabelled(
        cases[6], {"essential": "not-relevant", "supplementary": "not-relevant"}
    )
    folders: dict[str, Path] = {}
    for name, some in {
        "mixed": [*cases[:5], bare, nothing],
        "bare": [bare, nothing],
        "one": cases[8:],
    }.items():
        folders[name] = write_split(folder / name / "test", some)
        path = folders[name] / "archehr-qa_key.json"
        records = json.loads(path.read_text())
        for sentence in (
            answer_sentence
            for record in records
            for answer_sentence in record["clinician_answer_sentences"]
        ):
            # The script iterates over the citations; of a string these would be its
            # characters, so they are written as a list.
            sentence["citations"] = [
                cited for cited in sentence["citations"].split(",") if cited
            ]
        path.write_text(json.dumps(records))
    return folders


def write_submissions(
    subtask: str,
    count: int,
    keys: Mapping[str, Path],
    folder: Path,
    *,
    replies: bool = False,
) -> list[tuple[Path, Path]]:
    """Writes submissions, and files of replies where every prediction can be one. Returns the files to score, each with its key."""
    files = []
    for number, (key, records) in enumerate(submissions(subtask, count, keys)):
        path = folder / f"submission-{number}.json"
        path.write_text(json.dumps(records), encoding="ascii")
        if replies and subtask != "2025":
            predictions = [
                (record["case_id"], record.get("prediction", "")) for record in records
            ]
            if not all(_is_typed(subtask, value) for _, value in predictions):
                continue
            texts = [
                (name, value if isinstance(value, str) else json.dumps(value))
                for name, value in predictions
            ]
            path = path.with_suffix(".jsonl")
            path.write_text(
                "".join(
                    json.dumps({"id": name, "response": text}) + "\n"
                    for name, text in texts
                )
            )
        files.append((path, keys[key]))
    return files


def _is_typed(subtask: str, value: Any) -> bool:
    if subtask in TEXT_WORDS:
        return isinstance(value, str)
    if subtask == "2026-2":
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    return isinstance(value, list) and all(
        isinstance(item, dict) and _is_typed("2026-2", item.get("evidence_id"))
        for item in value
    )


def submissions(
    subtask: str, count: int, keys: Mapping[str, Path]
) -> Iterator[tuple[str, Records]]:
    """Draws submissions, which depend on subtask and number alone; yields the name of the key and the records."""
    from medical_tasks.benchmarks.archehr_qa.data import read_case_rows

    rows = {
        name: list(read_case_rows(folder / "archehr-qa.xml"))
        for name, folder in keys.items()
    }
    for number in range(count):
        draw = random.Random(f"{subtask}-{number}")
        key = draw.choices(list(keys), (6, 2, 1))[0]
        hostile = draw.random() < HOSTILE
        # One hostile case ends the whole submission: in some the others are all right.
        odd = draw.choice((0.1, 0.3, 1.0)) if hostile else 0.0
        records = []
        for row in rows[key]:
            value = _prediction(draw, subtask, row, hostile=draw.random() < odd)
            records.append(
                {
                    "case_id": row["id"],
                    "answer" if subtask == "2025" else "prediction": value,
                }
            )
        if hostile:
            records = _wrong_cases(draw, records)
        draw.shuffle(records)
        yield key, records


def _wrong_cases(draw: random.Random, records: Records) -> Records:
    how = draw.randrange(16)
    if how == 0:
        return records[1:]
    if how == 1:
        return [*records, {**records[0], "case_id": "999"}]
    if how == 2:
        return [*records, records[0]]
    if how == 3:
        name = draw.choice(("0{}", " {}", "{} ", "{}-{}")).format(
            *[records[0]["case_id"]] * 2
        )
        return [{**records[0], "case_id": name}, *records[1:]]
    if how == 4:
        return [{"case_id": records[0]["case_id"]}, *records[1:]]
    return records


def _prediction(
    draw: random.Random, subtask: str, row: Mapping[str, Any], *, hostile: bool
) -> Any:
    if hostile and draw.random() < 0.1:
        return draw.choice(WRONG_TYPES)
    if subtask in TEXT_WORDS:
        return _text(draw, subtask, row, hostile=hostile)
    if subtask == "2026-2":
        return _ids(draw, row["sentence_ids"], row["relevance"], hostile=hostile)
    links = []
    for name, cited in zip(
        row["answer_sentence_ids"], row["answer_citations"], strict=True
    ):
        if draw.random() < 0.9:
            right = [
                "essential" if sentence_id in cited.split(",") else ""
                for sentence_id in row["sentence_ids"]
            ]
            of = draw.choice(ODD_IDS) if hostile and draw.random() < 0.1 else name
            links.append(
                {
                    "answer_id": of,
                    "evidence_id": _ids(
                        draw, row["sentence_ids"], right, hostile=hostile
                    ),
                }
            )
    if draw.random() < 0.1:
        links = [*links, *links[:1]]
    return [] if draw.random() < 0.1 else links


def _ids(
    draw: random.Random,
    sentence_ids: Sequence[str],
    labels: Sequence[str],
    *,
    hostile: bool,
) -> list[Any]:
    level = draw.choice((0.0, 0.1, 0.3))
    likely = {
        "essential": draw.choice((0.3, 0.7, 1.0)),
        "supplementary": draw.choice((0.0, 0.3, 1.0)),
    }
    ids: list[Any] = [
        sentence_id
        for sentence_id, label in zip(sentence_ids, labels, strict=True)
        if draw.random() < likely.get(label, level)
    ]
    if ids and draw.random() < 0.2:
        ids += ids[:2]
    if hostile and draw.random() < 0.5:
        ids.insert(
            draw.randrange(len(ids) + 1), draw.choice((*ODD_IDS, *ODD_IDS, 5, None))
        )
    draw.shuffle(ids)
    return ids


def _text(
    draw: random.Random, subtask: str, row: Mapping[str, Any], *, hostile: bool
) -> str:
    if hostile and draw.random() < 0.3:
        return draw.choice(EMPTY)
    limit = TEXT_WORDS[subtask]
    words = draw.choice((3, limit // 2, limit - 1, limit, limit + 1, 2 * limit))
    lines = []
    while words > 0:
        length = min(words, draw.randrange(1, 25))
        line = _line(
            draw,
            [*row["sentences"], row["clinician_answer"], row["clinician_question"]],
            length,
        )
        if subtask == "2025" or draw.random() < 0.1:
            cited = ",".join(draw.sample(row["sentence_ids"], draw.randrange(1, 5)))
            forms = HOSTILE_CITING if hostile and draw.random() < 0.6 else CITING
            line += draw.choice((" ", "")) + draw.choice(forms).format(cited)
        lines.append(line)
        words -= length
    return draw.choice(("\n", "\n", "\n\n", " \n", "\r\n", " ")).join(lines)


def _line(draw: random.Random, texts: Sequence[str], length: int) -> str:
    words: list[str] = []
    while len(words) < length:
        drawn = draw.choice(texts).split()
        start = draw.randrange(len(drawn))
        words += drawn[start : start + draw.randrange(1, 12)]
    odd = draw.random() < 0.4
    line = ""
    for word in words[:length]:
        line += draw.choice(ODD_WORDS) if odd and draw.random() < 0.1 else word
        line += draw.choice(SPACES) if odd and draw.random() < 0.1 else " "
    return line.strip(" ") + draw.choice((".", "", "?", " !", ".\u201d"))


# Our side.


def ours(
    subtask: str, files: Sequence[tuple[Path, Path]], work: Path
) -> list[dict[str, Any]]:
    """Scores submissions by the command line; returns their official metrics, none for a file that was refused."""
    from medical_tasks.benchmarks.archehr_qa import scoring as measures
    from medical_tasks.cli.entry import main
    from medical_tasks.models.text_metrics import ModelMetric

    def drawn(metric: str) -> Any:
        return lambda _, texts: [
            stand_in(metric, reference, prediction) for prediction, reference in texts
        ]

    data = {key: work / f"data-{key.parent.name}" for key in {key for _, key in files}}
    models = (
        ",".join(f"{name}=stand-in" for name in MODELS) if subtask in TEXT_WORDS else ""
    )
    results = []
    with (
        patch.dict(
            measures._MODELS,
            {
                name: ModelMetric(metric, "", drawn(metric), lambda _: {})
                for name, metric in MODELS.items()
            },
        ),
        contextlib.redirect_stdout(io.StringIO()) as output,
        contextlib.redirect_stderr(output),
    ):
        for key, folder in data.items():
            if main(
                [
                    "build",
                    "archehr_qa",
                    "--source",
                    str(key.parent),
                    "--partial",
                    "--out",
                    str(folder),
                ]
            ):
                raise RuntimeError(output.getvalue())
        for path, key in files:
            out = work / "run"
            shutil.rmtree(out, ignore_errors=True)
            task = SUBTASKS[subtask]
            command = [
                "score",
                task,
                "--responses",
                str(path),
                "--data",
                str(data[key]),
                "--config",
                "official",
            ]
            code = main(
                [*command, "--split", "test", "--task-args", models, "--out", str(out)]
            )
            if code not in (0, 2, 5):
                raise RuntimeError(output.getvalue())
            metrics = (
                {}
                if code == 2
                else json.loads((out / "results.json").read_text())["tasks"][task][
                    "metrics"
                ]
            )
            results.append(
                {
                    name: entry
                    for name, entry in metrics.items()
                    if name.endswith("_official")
                }
            )
            output.truncate(0)
    return results


def our_name(subtask: str, theirs: str) -> str:
    """Returns our name of a leaderboard's figure."""
    if subtask != "2025":
        return f"{theirs}_official"
    whole = {
        "overall_factuality_score": "factuality",
        "overall_relevance_score": "overall_relevance",
        "overall_score": "overall_score",
    }
    if theirs in whole:
        return f"{whole[theirs]}_official"
    parts = theirs.split("_")
    if parts[0] in ("strict", "lenient"):
        parts = [
            "factuality",
            *(word for word in parts if word not in ("strict", "micro", "f1")),
        ]
    return "_".join((*parts, "official"))


def compared(
    subtask: str,
    theirs: Sequence[Mapping[str, Any]],
    our_figures: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """Counts figures, scripts that ended with an error, and disagreements, and finds the largest difference."""
    counts: dict[str, Any] = {
        "figures": 0,
        "largest": 0.0,
        "ends": 0,
        "n/a": 0,
        "refused": 0,
        "wrong": [],
    }
    for number, (their, our) in enumerate(zip(theirs, our_figures, strict=True)):
        values = {name: entry["value"] for name, entry in our.items()}
        if "ended" in their:
            counts["ends"] += 1
            counts["refused" if not our else "n/a"] += 1
            if any(value is not None for value in values.values()) or any(
                not entry["reason"] for entry in our.values()
            ):
                counts["wrong"].append((number, their["ended"]))
        elif not our:
            counts["twice"] = counts.get("twice", 0) + 1
        else:
            figures = {
                our_name(subtask, name): value / 100
                for name, value in their["figures"].items()
            }
            apart = [
                abs(figures[name] - value)
                for name, value in values.items()
                if value is not None and name in figures
            ]
            counts["figures"] += len(apart)
            counts["largest"] = max([counts["largest"], *apart])
            if (
                set(figures) != set(values)
                or len(apart) != len(figures)
                or max(apart) > CLOSE
            ):
                counts["wrong"].append(
                    (
                        number,
                        [name for name in figures if values.get(name) is None]
                        or max(apart),
                    )
                )
    return counts


def main_of(options: argparse.Namespace, work: Path) -> bool:
    """Compares every subtask; prints the table."""
    keys = write_keys(work / "keys")
    print(
        "| | submissions | figures | largest difference | script ends | n/a here | refused here | twice | disagreements |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    right = True
    for subtask in options.only or SUBTASKS:
        folder = work / subtask
        folder.mkdir()
        files = write_submissions(
            subtask, options.submissions, keys, folder, replies=options.replies
        )
        entries = [
            {"file": str(path.with_suffix(".json")), "key": str(key)}
            for path, key in files
        ]
        (folder / "submissions.json").write_text(json.dumps(entries))
        upstream = options.upstream_2025 if subtask == "2025" else options.upstream_2026
        places = [upstream, options.evaluate, options.nmt, folder]
        command = [
            options.python,
            __file__,
            "--drive",
            subtask,
            *(str(path.resolve()) for path in places),
        ]
        subprocess.run(
            command,
            check=True,
            env={**os.environ, "HF_HOME": str(work / "hf"), "HF_HUB_OFFLINE": "1"},
        )
        theirs = json.loads((folder / "theirs.json").read_text())
        counts = compared(subtask, theirs, ours(subtask, files, folder))
        right &= not counts["wrong"]
        cells = [
            f"{subtask}",
            len(files),
            f"{counts['figures']:,}",
            f"{counts['largest']:.1e}",
            counts["ends"],
            counts["n/a"],
        ]
        cells += [counts["refused"], counts.get("twice", 0), len(counts["wrong"])]
        print(f"| {' | '.join(map(str, cells))} |", flush=True)
        for number, why in counts["wrong"][:5]:
            print(f"  submission {number}: {why}", file=sys.stderr)
    return right


def digest(count: int, work: Path) -> str:
    """Hashes all our official metrics of a few submissions to every subtask."""
    keys, results = write_keys(work / "keys"), []
    for subtask in SUBTASKS:
        folder = work / subtask
        folder.mkdir()
        results.append(
            ours(subtask, write_submissions(subtask, count, keys, folder), folder)
        )
    return hashlib.sha256(json.dumps(results, sort_keys=True).encode()).hexdigest()


def main() -> None:
    """Reads the command line."""
    if sys.argv[1:2] == ["--drive"]:
        drive(sys.argv[2], *map(Path, sys.argv[3:]))
        return
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in ("upstream-2025", "upstream-2026", "evaluate", "nmt"):
        parser.add_argument(f"--{name}", type=Path)
    parser.add_argument("--python", help="with the scripts' packages")
    parser.add_argument(
        "--submissions", type=int, default=240, help="to each subtask (default 240)"
    )
    parser.add_argument("--only", nargs="+", choices=SUBTASKS, help="these subtasks")
    parser.add_argument(
        "--replies",
        action="store_true",
        help="score those to 2026 here as replies, not as a submission",
    )
    parser.add_argument(
        "--seeds",
        type=int,
        default=0,
        metavar="N",
        help="only compare N values of PYTHONHASHSEED",
    )
    parser.add_argument("--digest", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        os.environ["MEDICAL_TASKS_HOME"] = f"{name}/home"
        if options.digest:
            print(digest(options.submissions, Path(name)))
        elif options.seeds:
            command = [
                sys.executable,
                __file__,
                "--digest",
                "--submissions",
                str(options.submissions),
            ]
            seeds = [
                {**os.environ, "PYTHONHASHSEED": str(seed)}
                for seed in range(1, options.seeds + 1)
            ]
            digests = {
                subprocess.run(command, check=True, capture_output=True, env=env).stdout
                for env in seeds
            }
            print(
                f"{options.seeds} values of PYTHONHASHSEED, {options.submissions} submissions "
                f"to each subtask: {len(digests)} output"
            )
        elif not main_of(options, Path(name)):
            sys.exit(1)


if __name__ == "__main__":
    main()
