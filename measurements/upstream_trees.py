"""Every reader of an upstream repository, tried on the repository itself.

    python -m measurements.upstream_trees FOLDER [--medcalc test_data.csv] [--quick]

FOLDER has checkouts of ncbi-nlp/MedCalc-Bench, Itaymanes/K-QA, yiqingxyq/DocLens,
wyim/aci-bench, abachaa/MeQSum, abachaa/MEDIQA2021, ji-youn-kim/EHRNoteQA,
soni-sarvesh/archehr-qa and soni-sarvesh/archehr-qa-2026, by these names. The commit of
each is determined by git's ids of the files read, with or without the checkout's history.
`--medcalc` gives the file of v1.0, which the newest commit of MedCalc-Bench has no
more. `--quick` leaves out the authors' scripts of DocLens (ten minutes).

Prints a table in Markdown. 1 when a reader fails, 3 when a checkout is not there; a
large file that a checkout lacks is reported.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr
from dataclasses import asdict, dataclass, replace
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

from measurements.doclens_scripts import SCRIPTS, Compared, compare
from medical_tasks.benchmarks.doclens.data import MEQSUM_SOURCE
from medical_tasks.benchmarks.doclens.measures import read_claim_file
from medical_tasks.benchmarks.doclens.pieces import EMPTY, SECTIONS, divide_note
from medical_tasks.benchmarks.ehrnoteqa import judge_prompts as ehrnoteqa_judge
from medical_tasks.benchmarks.kqa.judge_check import find_annotations, read_annotations
from medical_tasks.benchmarks.kqa.judge_prompts import load_judge_prompts
from medical_tasks.catalog import benchmarks
from medical_tasks.data.dataset_source import find_files
from medical_tasks.data.dataset_store import read_rows
from medical_tasks.data.fetching import build_dataset
from medical_tasks.errors import MedicalTasksError, MissingError
from tests.fault_server import FaultServer

_FINISHED = (0, 5)

COMMITS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "MedCalc-Bench": (
        "20b10f9d66a8c3b0356ae3138533f5ec91666b6a",
        {"evaluation": "cde681b54f500c043e875853342cbfb98be1b707"},
    ),
    "K-QA": (
        "ef403d012e199fcfa0d8c02b38a96ff95164f4d0",
        {
            "dataset": "60460c12fba5dcf794846838ba0b0883bcae9073",
            "evaluation": "37dd8d634dc50147a70f84c44b272192c921a1e2",
        },
    ),
    "DocLens": (
        "e77cfc9f200c03cde23c6a8d1ca7b5f2c499e0c7",
        {
            "prompts": "badf639fa869635b567414ab3c96f94e1d9b08f3",
            "claim_evaluation": "81ab318062884c63521c5529cb60f0f00c7f4624",
            "citation_evaluation": "b0d7f46bdfcf32dd8110964899a3560f8eca61e5",
            "data": "b0eb69d4f896b0e819707ceb6aa5b1428f55b135",
            "data_processing": "564be3c9d81b920ceaa21888f536c88dc14a3db8",
            "aggregate_scores.py": "7323080541e2250849d24bbb3a715e2dec7d3b28",
            "run.py": "bd54248d752dd027afec2fa45b17fe564f6765a6",
        },
    ),
    "aci-bench": (
        "b909b2bb9cf1d19de08df15cddde7bd0179665e4",
        {
            "data/challenge_data": "d1e4652504b4fbda9552d7297e586e8a6aca34f4",
            "data/challenge_data_json": "b38042b959a09046715fe557c728d2742b195c60",
        },
    ),
    "MeQSum": (
        "51e36cf65c12602333b6fdc3ae8ecf10430529f7",
        {
            "MeQSum_ACL2019_BenAbacha_Demner-Fushman.xlsx": "a9dfc993622724116f42437241eda6ecc5f7af16"
        },
    ),
    "MEDIQA2021": (
        "8d7fe20706dd6af0d089a0252a201c3da78ded8f",
        {"Task1": "4b0a31c36712df6cedc4d70e65d8e7b3a251e853"},
    ),
    "EHRNoteQA": (
        "7d200f69948bcdd87a92fabe593160efff4b2a2f",
        {"src": "8a108fef7124bccfdbfac28117049f9bd015d7ae"},
    ),
    "archehr-qa": (
        "771b948f2b5473d2c06c6b7db01ada338517a936",
        {
            "data": "9d7caf99a9004d1c7d43fd524b8c7927ebb79e36",
            "evaluation": "8ec02d13370f5e7ebd84b0325b48db3a9a876403",
        },
    ),
    "archehr-qa-2026": (
        "344b67e2f9c5d3c9510a77eb8bfd00b89f505b5b",
        {
            "data": "fe071541f39d9db9f9a650079360e57606ed4df6",
            "evaluation": "987271dcacf114493055efa57b66b6f0a3671637",
        },
    ),
}
"""The newest commit tried, and git's ids of what our readers read of it."""


class ReadError(Exception):
    """A reader returned something else from a checkout than it should."""


@dataclass(frozen=True, kw_only=True)
class Read:
    """The result of a reader on a checkout.

    Attributes:
        rows: the number of rows.
        sha: the first digits of their hash.
        note: a remark on the result.
    """

    rows: int
    sha: str = ""
    note: str = ""


Check = tuple[str, str, Callable[[], Read]]
"""Repository, reader, and what it does."""


def commit_of(name: str, checkout: Path) -> str:
    """Names the commit that a checkout is of, by the content that our readers read."""
    commit, ids = COMMITS[name]
    wrong = [
        path for path, expected in ids.items() if git_id(checkout / path) != expected
    ]
    return (
        f"{commit[:10]}"
        if not wrong
        else f"not {commit[:10]}: {', '.join(wrong)} differ"
    )


def git_id(path: Path) -> str:
    """Computes git's id of a file or folder."""
    if not path.exists():
        return "none"
    if path.is_file():
        content, kind = path.read_bytes(), "blob"
    else:
        entries = [
            (entry.name + "/" * entry.is_dir(), mode, entry)
            for entry in path.iterdir()
            if (
                mode := "40000"
                if entry.is_dir()
                else "100755"
                if os.access(entry, os.X_OK)
                else "100644"
            )
            and entry.name != "__pycache__"
        ]
        content = b"".join(
            f"{mode} {entry.name}\0".encode() + bytes.fromhex(git_id(entry))
            for _, mode, entry in sorted(entries)
        )
        kind = "tree"
    return hashlib.sha1(
        f"{kind} {len(content)}\0".encode() + content, usedforsecurity=False
    ).hexdigest()


def sha_of(rows: Iterable[Any]) -> str:
    """Hashes rows."""

    def plain(value: Any) -> Any:
        return dict(value) if isinstance(value, Mapping) else str(value)

    text = "\n".join(
        json.dumps(row, sort_keys=True, ensure_ascii=False, default=plain)
        for row in rows
    )
    return hashlib.sha256(text.encode()).hexdigest()[:12]


class Trees:
    """The checkouts, and a folder for the datasets built from them."""

    def __init__(self, folder: Path, out: Path, medcalc: Path | None) -> None:
        self.folder, self.out, self.medcalc = folder, out, medcalc
        self.count = 0
        self.compared: list[Compared] = []
        self.specs = {
            spec.name: spec for benchmark in benchmarks() for spec in benchmark.datasets
        }
        self.tasks = {
            task.name: task for benchmark in benchmarks() for task in benchmark.tasks
        }

    def built(
        self,
        dataset: str,
        config: str,
        sources: Sequence[Path],
        expected: Mapping[str, int],
    ) -> Read:
        """Builds a configuration from each of several places, which must give the same rows."""
        hashes = {}
        for source in sources:
            self.count += 1
            built = build_dataset(
                dataset, source=source, config=config, out=self.out / str(self.count)
            )
            if built.splits != expected:
                raise ReadError(f"{source}: {built.splits} instead of {dict(expected)}")
            rows = [
                dict(row)
                for split in built.splits
                for row in read_rows(
                    built.folder, config, split, spec=self.specs[dataset]
                )
            ]
            hashes[str(source)] = sha_of(rows)
        if len(set(hashes.values())) != 1:
            raise ReadError(f"the rows differ by place: {hashes}")
        places = f"from {len(sources)} places alike" if len(sources) > 1 else ""
        return Read(
            rows=sum(expected.values()), sha=next(iter(hashes.values())), note=places
        )

    def refused(self, dataset: str, config: str, source: Path, words: str) -> Read:
        """Builds a configuration that must be refused, and checks the message."""
        try:
            build_dataset(
                dataset, source=source, config=config, out=self.out / "refused"
            )
        except MedicalTasksError as error:
            if words not in str(error):
                raise ReadError(f"refused, but not by {words!r}: {error}") from error
            return Read(rows=0, note=f"refused as it should be: {words}")
        raise ReadError("was built, though it has not what is needed")


def checks(trees: Trees, *, quick: bool) -> Iterator[Check]:
    """Yields the checks of all checkouts."""
    yield from _medcalc(trees)
    yield from _kqa(trees)
    yield from _aci(trees)
    yield from _meqsum(trees)
    yield from _doclens(trees, quick=quick)
    yield from _ehrnoteqa(trees)
    yield from _archehr(trees)


def _medcalc(trees: Trees) -> Iterator[Check]:
    root = trees.folder / "MedCalc-Bench"

    def living() -> Read:
        if not (root / "datasets/test_data.csv").is_file():
            raise MissingError(
                "datasets/test_data.csv (a large file) is not in this checkout"
            )
        return trees.built("medcalc_bench", "v1.2", [root], {"test": 1100})

    def closed() -> Read:
        if trees.medcalc is None:
            raise MissingError(
                "dataset/test_data.csv is of commit 5523b7785c and older; give it with --medcalc"
            )
        path = trees.out / "MedCalc-Bench" / "dataset" / "test_data.csv"
        path.parent.mkdir(parents=True)
        shutil.copy(trees.medcalc, path)
        return trees.built(
            "medcalc_bench",
            "v1.0",
            [path.parent.parent.parent, path.parent.parent, path.parent, path],
            {"test": 1047},
        )

    yield "MedCalc-Bench", "`build medcalc_bench --config v1.2`", living
    yield (
        "MedCalc-Bench",
        "`build medcalc_bench --config v1.0`, laid out as in 5523b7785c",
        closed,
    )
    for task in ("medcalc", "medcalc_direct", "medcalc_one_shot", "medcalc_code"):
        yield (
            "MedCalc-Bench",
            f"`run --tasks {task} --prompts official`",
            partial(_requests_of, trees, task, root),
        )


def _requests_of(trees: Trees, task: str, upstream: Path) -> Read:
    """Runs a task on its demo with the authors' prompts, against a local server that records the requests."""
    trees.count += 1
    data, out = trees.out / f"{trees.count}-data", trees.out / f"{trees.count}-run"
    dataset = trees.tasks[task].dataset
    build_dataset(dataset, source=None, config="demo", out=data)
    with FaultServer() as server:
        done = subprocess.run(
            [
                *(
                    sys.executable,
                    "-m",
                    "medical_tasks",
                    "run",
                    "--tasks",
                    task,
                    "--prompts",
                    "official",
                ),
                *(
                    "--upstream",
                    str(upstream),
                    "--config",
                    "demo",
                    "--data",
                    str(data),
                    "--out",
                    str(out),
                ),
                *(
                    "--model",
                    "openai-api/local/m",
                    "--model-args",
                    f"base_url={server.base_url}",
                ),
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        sent = [call.body["messages"] for call in server.calls]
    if done.returncode not in _FINISHED or not sent:
        raise ReadError(
            f"exit {done.returncode}: {' '.join(done.stderr.split())[-300:]}"
        )
    return Read(
        rows=len(sent),
        sha=sha_of(sorted(map(json.dumps, sent))),
        note="requests on the demo rows",
    )


def _kqa(trees: Trees) -> Iterator[Check]:
    root = trees.folder / "K-QA"
    for config, file, rows in (
        ("answered", "questions_w_answers.jsonl", 201),
        ("questions", "questions.jsonl", 1212),
    ):
        places = [trees.folder, root, root / "dataset", root / "dataset" / file]
        yield (
            "K-QA",
            f"`build kqa --config {config}`",
            partial(trees.built, "kqa", config, places, {"test": rows}),
        )

    def prompts() -> Read:
        hashes = [
            load_judge_prompts(trees.tasks["kqa"], "official", path).sha256
            for path in (
                trees.folder,
                root,
                root / "evaluation",
                root / "evaluation/prompts",
            )
        ]
        texts = load_judge_prompts(trees.tasks["kqa"], "official", root).texts
        released = {
            kind: (root / "evaluation/prompts" / name).read_text("utf-8")
            for kind, name in (
                ("entails", "is_entails.txt"),
                ("contradicts", "is_contradict.txt"),
            )
        }
        if len(set(hashes)) != 1 or any(
            texts[kind] != text for kind, text in released.items()
        ):
            raise ReadError("the prompts are not the files")
        return Read(rows=2, sha=sha_of(released.values()), note="from 4 places alike")

    def labels() -> Read:
        path = root / "dataset/NLI_medical_annotator.csv"
        places = (trees.folder, root, root / "dataset", path)
        read = [read_annotations(find_annotations(folder)) for folder in places]
        if any(rows != read[0] for rows in read) or len(read[0]) != 399:
            raise ReadError(
                f"{[len(rows) for rows in read]} labelled statements, 399 are there"
            )
        return Read(
            rows=399, sha=sha_of(map(asdict, read[0])), note="from 4 places alike"
        )

    def answers() -> Read:
        """Scores the authors' sample of answers, unchanged."""
        build_dataset("kqa", source=root, config="answered", out=trees.out / "kqa")
        responses = root / "dummy_res.json"
        records = json.loads(responses.read_text("utf-8"))
        done = subprocess.run(
            [
                *(
                    sys.executable,
                    "-m",
                    "medical_tasks",
                    "score",
                    "kqa",
                    "--responses",
                    str(responses),
                ),
                *(
                    "--data",
                    str(trees.out / "kqa"),
                    "--config",
                    "answered",
                    "--out",
                    str(trees.out / "kqa-run"),
                ),
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode not in _FINISHED:
            raise ReadError(
                f"exit {done.returncode}: {' '.join(done.stderr.split())[-300:]}"
            )
        if "left out" in done.stderr:
            raise ReadError(f"some answers were left out: {done.stderr[-300:]}")
        return Read(
            rows=len(records),
            sha=sha_of(records),
            note="each of a question of `answered`; scored by `lexical`",
        )

    yield "K-QA", "judge prompts, `--prompts official`", prompts
    yield "K-QA", "`judge-check kqa`: `NLI_medical_annotator.csv`", labels
    yield "K-QA", "`score kqa`: the answers of `dummy_res.json`", answers


def _aci(trees: Trees) -> Iterator[Check]:
    root = trees.folder / "aci-bench"
    three = {"train": 67, "validation": 20, "test1": 40}
    places = [trees.folder, root, root / "data", root / "data/challenge_data"]
    for config, rows in (
        ("doclens", three),
        ("full", three | {"test2": 40, "test3": 40}),
    ):
        yield (
            "aci-bench",
            f"`build aci_bench --config {config}`",
            partial(trees.built, "aci_bench", config, places, rows),
        )

    def division() -> Read:
        """Compares our division of the released notes with the released one."""
        equal = []
        for stem in (
            "train",
            "valid",
            "clinicalnlp_taskB_test1",
            "clinicalnlp_taskC_test2",
            "clef_taskC_test3",
        ):
            folder = root / "data/challenge_data_json"
            notes = json.loads((folder / f"{stem}_full.json").read_text("utf-8"))[
                "data"
            ]
            for section in SECTIONS:
                path = folder / f"{stem}_{section}.json"
                if not path.is_file():
                    continue
                for note, section_note in zip(
                    notes, json.loads(path.read_text("utf-8"))["data"], strict=True
                ):
                    official = (
                        "" if EMPTY in section_note["tgt"] else section_note["tgt"]
                    )
                    equal.append(
                        divide_note(note["tgt"])[section].split() == official.split()
                    )
        return Read(
            rows=len(equal), note=f"{sum(equal)} as released, up to white space"
        )

    yield "aci-bench", "notes in sections, beside `challenge_data_json`", division


def _meqsum(trees: Trees) -> Iterator[Check]:
    def build() -> Read:
        flat = trees.out / "flat"
        flat.mkdir()
        for path in (
            *(trees.folder / "MeQSum").glob("*.xlsx"),
            *(trees.folder / "MEDIQA2021/Task1").glob("*.xlsx"),
        ):
            shutil.copy(path, flat)
        return trees.built(
            "meqsum",
            "full",
            [trees.folder, flat],
            {"train": 1000, "validation": 50, "test": 100},
        )

    def task1() -> Read:
        """The two files of MEDIQA 2021 alone."""
        files = find_files(MEQSUM_SOURCE, "full", trees.folder)
        rows = [
            row
            for split in ("validation", "test")
            for row in MEQSUM_SOURCE.read("full", split, files)
        ]
        return Read(rows=len(rows), sha=sha_of(rows), note="validation 50, test 100")

    yield "MeQSum", "`build meqsum`, with MEDIQA2021 beside it", build
    yield "MEDIQA2021", "task 1: two XLSX files", task1


def _doclens(trees: Trees, *, quick: bool) -> Iterator[Check]:
    root = trees.folder / "DocLens"
    files = {
        "ACI-Bench-TestSet-1_clean.json": 40,
        "meqsum-test_clean.json": 100,
        "mimic-sampled200_clean.json": 200,
    }
    for name, rows in files.items():
        yield (
            "DocLens",
            f"`build doclens_own`: `data/{name}`",
            partial(_own, trees, root / "data" / name, rows),
        )
    for name, rows in (
        ("ACI-Bench-TestSet-1_clean.claim_min1max30.json", 40),
        ("mimic-sampled200_clean.claim_min1max30.json", 200),
    ):
        yield (
            "DocLens",
            f"`claims=`: `data/{name}`",
            partial(_claims, root / "data" / name, rows),
        )
    for task in ("aci_bench", "aci_bench_section", "mimic_rrs", "meqsum"):
        yield (
            "DocLens",
            f"`run --tasks {task} --prompts official`",
            partial(_requests_of, trees, task, root),
        )
    for script in () if quick else SCRIPTS:
        yield (
            "DocLens",
            f"requests and figures of `{script}`",
            partial(_same, trees, script),
        )


def _own(trees: Trees, path: Path, rows: int) -> Read:
    read = trees.built("doclens_own", "own", [path], {"test": rows})
    # Reports of MIMIC-III: not even a hash of them is printed.
    return (
        replace(read, sha="", note="MIMIC-III: counted alone")
        if path.name.startswith("mimic")
        else read
    )


def _claims(path: Path, rows: int) -> Read:
    records = read_claim_file(path)
    if len(records) != rows:
        raise ReadError(f"{len(records)} records, {rows} are there")
    count = sum(len(claims) for record in records for claims in record.claims.values())
    return Read(rows=rows, note=f"{count:,} claims")


def _same(trees: Trees, script: str) -> Read:
    trees.compared = trees.compared or list(compare(trees.folder))
    files = [
        comparison
        for comparison in trees.compared
        if comparison.name.startswith(f"{script} ")
    ]
    if wrong := [comparison for comparison in files if not comparison.holds]:
        first = wrong[0]
        raise ReadError(
            f"{first.name}: {first.equal} of {len(first.theirs)} are the same, {len(first.ours)} are ours"
        )
    equal, other = (
        sum(values)
        for values in zip(
            *((comparison.equal, comparison.other) for comparison in files), strict=True
        )
    )
    note = (
        f"{len(files)} comparisons, {equal:,} the same byte for byte"
        + f", {other} known to differ" * bool(other)
    )
    return Read(
        rows=equal + other,
        sha=sha_of(comparison.ours for comparison in files),
        note=note,
    )


def _ehrnoteqa(trees: Trees) -> Iterator[Check]:
    root = trees.folder / "EHRNoteQA"
    for task in ("ehrnoteqa_open_level1", "ehrnoteqa_mc_level1"):
        yield (
            "EHRNoteQA",
            f"`run --tasks {task} --prompts official`",
            partial(_requests_of, trees, task, root),
        )

    def judge() -> Read:
        prompts = [
            ehrnoteqa_judge.load_judge_prompts(trees.tasks[task], "official", path)
            for task in ("ehrnoteqa_open_level1", "ehrnoteqa_mc_level1")
            for path in (
                trees.folder,
                root,
                root / "src",
                root / "src/evaluation",
                root / "src/evaluation/utils.py",
            )
        ]
        hashes = {prompt.sha256 for prompt in prompts}
        return Read(
            rows=len(hashes),
            sha=sha_of(sorted(hashes)),
            note="prompts of open and of choice, from 5 places alike",
        )

    yield "EHRNoteQA", "judge prompts, `--prompts official`", judge


def _archehr(trees: Trees) -> Iterator[Check]:
    checkouts = {
        "archehr-qa": ("data/dev", {"dev": 20}),
        "archehr-qa-2026": ("data/subtask_1/test", {"test_2026": 47}),
    }
    for name, (inner, expected) in checkouts.items():
        root, (cases,) = trees.folder / name, expected.values()
        places = [
            root,
            *((root / inner).parents[: inner.count("/")])[::-1],
            root / inner,
        ]
        yield (
            name,
            "`build archehr_qa --config questions`",
            partial(trees.built, "archehr_qa", "questions", places, expected),
        )
        for source in (root, root / inner):
            yield (
                name,
                f"`build archehr_qa` from {'its root' if source == root else inner}",
                partial(
                    trees.refused,
                    "archehr_qa",
                    "official",
                    source,
                    f"none of its {cases} cases has a note excerpt",
                ),
            )
    # Both checkouts, from the folder that holds them.
    both = {
        split: cases
        for _, expected in checkouts.values()
        for split, cases in expected.items()
    }
    reader = "`build archehr_qa --config questions` from the folder above, with archehr-qa in it"
    yield (
        name,
        reader,
        partial(trees.built, "archehr_qa", "questions", [trees.folder], both),
    )


def main() -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--medcalc", type=Path, metavar="test_data.csv")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    folder = options.folder.resolve()
    absent = [name for name in COMMITS if not (folder / name).is_dir()]
    commits = {
        name: commit_of(name, folder / name) for name in COMMITS if name not in absent
    }
    results: Counter[str] = Counter(absent=len(absent))
    print(
        "| repository, commit | reader | rows | SHA-256 of them | result |\n|---|---|---|---|---|"
    )
    with tempfile.TemporaryDirectory() as out:
        trees = Trees(folder, Path(out), options.medcalc and options.medcalc.resolve())
        for name, reader, check in checks(trees, quick=options.quick):
            if name in absent:
                continue
            result, read = "PASS", Read(rows=0)
            try:
                with redirect_stderr(StringIO()):
                    read = check()
            except MissingError as error:
                result, read = "ABSENT", Read(rows=0, note=str(error).splitlines()[0])
            except (
                MedicalTasksError,
                ReadError,
                OSError,
                KeyError,
                ValueError,
                RuntimeError,
            ) as error:
                result, read = (
                    "FAIL",
                    Read(
                        rows=0,
                        note=f"{type(error).__name__}: {' '.join(str(error).split())[:300]}",
                    ),
                )
            results[result] += 1
            cell = ": ".join(filter(None, (result, read.note)))
            sha = f"`{read.sha}`" if read.sha else ""
            print(
                f"| {name} `{commits[name]}` | {reader} | {read.rows:,} | {sha} | {cell} |",
                flush=True,
            )
    for name in absent:
        print(f"{name}: {folder / name} is not there", file=sys.stderr)
    strange = [name for name, commit in commits.items() if commit.startswith("not ")]
    if strange:
        print(
            f"other content than that of the commits in this script: {', '.join(strange)}",
            file=sys.stderr,
        )
    return 1 if results["FAIL"] else 3 if absent else 0


if __name__ == "__main__":
    sys.exit(main())
