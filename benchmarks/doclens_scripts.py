"""What the authors' scripts of DocLens send, beside what this package sends with `--prompts official`.

    python -m benchmarks.doclens_scripts FOLDER

FOLDER has checkouts of yiqingxyq/DocLens, wyim/aci-bench, abachaa/MeQSum and abachaa/MEDIQA2021, by these names. `run.py` and the
scripts below `claim_evaluation` and `citation_evaluation` are run as they are, each in a process of its own. What they import to
reach a model (openai, transformers, vllm, torch, nltk) is replaced by a module that writes the messages down and gives a fixed
reply; nothing is sent. They read the authors' own files of visits and questions, this package reads aci-bench and MEDIQA 2021.
Radiology reports are synthetic: the checkout's are text of MIMIC-III and are not read here.

Every message is compared by its content, byte for byte; their example messages (of the system, with names) are ours of user and
assistant. Judged texts are cleaned as their scripts do it; a run of this package also takes white space from their ends and keeps
brackets that are no citation.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.mimic_twin import NOTES_FILE, write_twin
from medical_tasks.benchmarks.doclens.data import (
    ACI_SOURCE,
    MEQSUM_SOURCE,
    load_items,
    read_aci_rows,
    read_meqsum_rows,
)
from medical_tasks.benchmarks.doclens.judge_prompts import QuestionMaker, load_judge_prompts
from medical_tasks.benchmarks.doclens.mimic_data import read_note_rows
from medical_tasks.benchmarks.doclens.official_scoring import remove_citations_official
from medical_tasks.benchmarks.doclens.pieces import SECTIONS
from medical_tasks.benchmarks.doclens.prompts import load_prompts
from medical_tasks.benchmarks.doclens.spec import TASKS
from medical_tasks.data.dataset_source import find_files
from medical_tasks.judges.base import Question
from tests.benchmarks.doclens.their_scores import official_sources

Messages = list[tuple[str, str]]
Rows = list[dict[str, Any]]

BY_NAME = {task.name: task for task in TASKS}
ROLES = {"example_user": "user", "example_assistant": "assistant"}
SCRIPTS = (
    "run.py",
    "claim_evaluation/generate_subclaims.py",
    "claim_evaluation/run_entailment.py",
    "claim_evaluation/run_entailment_model.py",
    "citation_evaluation/eval_citation.py",
    "citation_evaluation/eval_citation_model.py",
)
REPORTS = 40
OTHER_SENTENCES = 2
"""Questions of MeQSum (173 and 313) that the authors' Punkt splits elsewhere: docs/doclens.md."""
FINDINGS = ("One thing", "Another thing")  # without digits, at which split_method citation divides
SHOTS = {"": 0, "_one_shot": 1, "_two_shot": 2, "_six_shot": 6, "_twelve_shot": 12}
STUBS = {
    "recorder.py": """
import json, os
def record(messages):
    with open(os.environ["RECORD"], "a", encoding="utf-8") as file:
        file.write(json.dumps(messages) + "\\n")
""",
    "openai/__init__.py": """
from recorder import record
class ChatCompletion:
    @staticmethod
    def create(messages, **settings):
        record(messages)
        return {"choices": [{"message": {"content": "[]"}}]}
""",
    "openai/error.py": """
class RateLimitError(Exception): pass
class InvalidRequestError(Exception): pass
""",
    "transformers.py": """
class GPT2TokenizerFast:
    @classmethod
    def from_pretrained(cls, name): return cls()
    def tokenize(self, text): return []
AutoModelForSeq2SeqLM = AutoTokenizer = GPT2TokenizerFast
""",
    "torch.py": "",
    "nltk.py": """
def sent_tokenize(text): return text.split("\\n")
""",
    "vllm.py": """
from recorder import record
class _Text:
    text = "explanation: x\\nprovenance: 0\\nprediction: 1"
class _Output:
    outputs = [_Text()]
class SamplingParams:
    def __init__(self, **settings): pass
class LLM:
    def __init__(self, **settings): pass
    def get_tokenizer(self): return self
    def apply_chat_template(self, prompt, tokenize):
        record(prompt)
        return ""
    def generate(self, prompt, params, use_tqdm): return [_Output()]
""",
}


@dataclass(frozen=True, kw_only=True)
class Compared:
    """One script with one file of prompts.

    Attributes:
        name: of both.
        theirs: messages that their script sends, of each request.
        ours: likewise.
        other: how many are known to differ.
    """

    name: str
    theirs: list[Messages]
    ours: list[Messages]
    other: int = 0

    @property
    def equal(self) -> int:
        """How many requests are the same, in the same order."""
        return sum(one == other for one, other in zip(self.theirs, self.ours, strict=False))

    @property
    def holds(self) -> bool:
        """Whether all are but those known to differ."""
        return 0 < len(self.theirs) == len(self.ours) == self.equal + self.other


class Scripts:
    """Runs scripts of a checkout.

    Args:
        checkout: of the authors' repository.
        folder: for what they write.
    """

    def __init__(self, checkout: Path, folder: Path) -> None:
        self.checkout, self.folder = checkout.resolve(), folder
        for name, text in STUBS.items():
            path = folder / "stubs" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        self._count = 0

    def messages(self, script: str, rows: Rows, **options: str) -> list[Messages]:
        """The messages that a script sends about rows; `FOLDER` in an option is a folder of its own, `""` a switch."""
        self._count += 1
        folder = self.folder / str(self._count)
        folder.mkdir()
        (folder / "rows.json").write_text(json.dumps(rows), encoding="utf-8")
        record = folder / "record.jsonl"
        record.touch()
        told = [
            word
            for name, value in options.items()
            for word in (f"--{name}", value.replace("FOLDER", str(folder)))
        ]
        done = subprocess.run(
            [sys.executable, str(self.checkout / script), *filter(None, told)],
            cwd=self.checkout,
            env=os.environ
            | {
                "PYTHONPATH": str(self.folder / "stubs"),
                "RECORD": str(record),
                "PYTHONDONTWRITEBYTECODE": "1",
            },
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"{script}: {done.stderr.strip().splitlines()[-1]}")
        sent = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
        return [
            [(ROLES.get(each.get("name"), each["role"]), each["content"]) for each in messages]
            for messages in sent
        ]


def compare(folder: Path) -> Iterator[Compared]:
    """Runs their scripts on every file of prompts that a task reads.

    Args:
        folder: of the checkouts.
    """
    with tempfile.TemporaryDirectory() as name:
        scripts = Scripts(folder / "DocLens", Path(name))
        twin = write_twin(Path(name) / "twin", seed=1, notes=2_000, ct_mr=0.5)
        rows = {
            "aci_bench": list(
                read_aci_rows("doclens", "test1", find_files(ACI_SOURCE, "doclens", folder))
            ),
            "meqsum": list(
                read_meqsum_rows("full", "test", find_files(MEQSUM_SOURCE, "full", folder))
            ),
            "mimic_rrs": list(
                read_note_rows(twin / NOTES_FILE, sample=REPORTS, train_each=1)["test"]
            ),
        }
        yield from _generation(scripts, rows)
        yield from _judging(scripts, rows["mimic_rrs"])


def _data(scripts: Scripts, name: str) -> Rows:
    rows: Rows = json.loads((scripts.checkout / "data" / name).read_text(encoding="utf-8"))
    return rows


def _generation(scripts: Scripts, rows: dict[str, Rows]) -> Iterator[Compared]:
    reports = [
        {"example_id": row["id"], "input": _numbered(row["sentences"]).lower(), "reference": ""}
        for row in rows["mimic_rrs"]
    ]
    visits, questions = (
        _data(scripts, name)
        for name in ("ACI-Bench-TestSet-1_clean.json", "meqsum-test_clean.json")
    )
    for task, stem, given in (
        ("aci_bench", "acibench", visits),
        ("aci_bench_section", "acibench_SECTION", visits),
        ("mimic_rrs", "mimic", reports),
        ("meqsum", "meqsum", questions),
    ):
        for name, count in SHOTS.items():
            spec = BY_NAME.get(f"{task}{name}")
            if spec is None:
                continue
            prompts = load_prompts(spec, "official", scripts.checkout)
            items = load_items(spec, rows[spec.options["family"].removesuffix("_section")])
            for section in SECTIONS if "SECTION" in stem else ("",):
                file = f"prompts/{stem.replace('SECTION', section)}_annotated-citation{'' if count else '_dummy'}.json"
                theirs = scripts.messages(
                    "run.py",
                    given,
                    prompt_file=file,
                    eval_file="FOLDER/rows.json",
                    shot=str(count),
                    model="gpt-4-preview",
                    result_dir="FOLDER",
                    dataset_and_tag="x",
                )
                ours = [
                    _said(prompts.render(item))
                    for item in items
                    if not section or item.groups["section"] == section
                ]
                other = OTHER_SENTENCES if task == "meqsum" else 0
                yield Compared(
                    name=f"run.py {file}, {count} examples", theirs=theirs, ours=ours, other=other
                )


def _judging(scripts: Scripts, reports: Rows) -> Iterator[Compared]:
    visits = _data(scripts, "ACI-Bench-TestSet-1_clean.claim_min1max30.json")
    for row in visits:
        for section in SECTIONS:
            claims, text = row[f"subclaims_reference_{section}"], row[f"reference_{section}"]
            row |= {f"output_{section}": text, f"subclaims_output_{section}": claims}
    whole = [
        {
            "example_id": row["example_id"],
            "input": row["input"],
            "reference": row["reference"],
            "output": row["reference"],
        }
        | {
            f"subclaims_{side}": row["subclaims_reference_subjective"]
            for side in ("reference", "output")
        }
        for row in visits
    ]
    findings = [
        {
            "example_id": row["id"],
            "input": _numbered(row["sentences"]),
            "reference": row["impression"],
            "output": " ".join(row["sentences"]),
            "subclaims_reference": row["impression"].split("\n"),
            "subclaims_output": row["sentences"],
        }
        for row in reports
    ]
    for stem, task, form, rows in (
        ("acibench", "aci_bench", "note", visits),
        ("mimic", "mimic_rrs", "impression", findings),
        ("general", "doclens_own", "text", whole),
    ):
        sections = SECTIONS if form == "note" else ("",)
        make = "acibench_persection" if form == "note" else stem
        prompts = load_judge_prompts(BY_NAME[task], "official", scripts.checkout)
        for style, script, ending in (
            ("json_cot", "claim_evaluation/run_entailment.py", ""),
            ("cot", "claim_evaluation/run_entailment_model.py", "_Mistral"),
        ):
            maker = QuestionMaker(prompts, style)
            asked: list[Question] = []
            for row, section in ((row, section) for section in sections for row in rows):
                text = remove_citations_official(row[_key("output", section)])
                claims = row[_key("subclaims_reference", section)]
                if text and claims and style == "json_cot":
                    asked.append(maker.claims("q", text=text, claims=claims, form=form))
                elif text:
                    asked += [
                        maker.claim("q", text=text, claim=claim, form=form) for claim in claims
                    ]
            file = f"claim_evaluation/prompts/{stem}_claim_entail{ending}.json"
            theirs = _judged(
                scripts, script, rows, file, stem, mode="claim_recall", sections=sections
            )
            yield _compared(script, file, theirs, asked)
            yield _citations(
                scripts, maker, rows, stem=stem, form=form, ending=ending, sections=sections
            )
        maker = QuestionMaker(prompts, "json_cot")
        given = [(row[_key("output", section)], section) for row in rows for section in sections]
        asked = [
            maker.make("q", text=text, form=form, section=section)
            for text, section in given
            if text
        ]
        file = f"claim_evaluation/prompts/{make}_subclaim_generation.json"
        script = "claim_evaluation/generate_subclaims.py"
        bare = [
            {key: value for key, value in row.items() if not key.startswith("subclaims_")}
            for row in rows
        ]
        yield _compared(
            script,
            file,
            _judged(scripts, script, bare, file, "", mode="output_claims", sections=sections),
            asked,
        )
    yield from _questions(scripts)


def _questions(scripts: Scripts) -> Iterator[Compared]:
    rows = [
        row | {"output": f"{row['reference'][:-1]} at all? [0]"}
        for row in _data(scripts, "meqsum-test_clean.json")
    ]
    prompts = load_judge_prompts(BY_NAME["meqsum"], "official", scripts.checkout)
    for style, script, ending in (
        ("json_cot", "claim_evaluation/run_entailment.py", ""),
        ("cot", "claim_evaluation/run_entailment_model.py", "_Mistral"),
    ):
        maker = QuestionMaker(prompts, style)
        for mode, first, second, kind, same in (
            ("claim_recall", "output", "reference", "question", ""),
            ("claim_precision", "reference", "output", "question", ""),
            ("same", "output", "reference", "same", "_same"),
        ):
            asked = [
                maker.questions(
                    "q",
                    kind,  # type: ignore[arg-type]
                    first=remove_citations_official(row[first]),
                    second=row[second],
                )
                for row in rows
            ]
            file = f"claim_evaluation/prompts/meqsum_claim_entail{same}{ending}.json"
            theirs = _judged(scripts, script, rows, file, "meqsum", mode=mode, sections=("",))
            yield _compared(f"{script} ({mode})", file, theirs, asked)
        yield _citations(
            scripts, maker, rows, stem="meqsum", form="question", ending=ending, sections=("",)
        )


def _citations(
    scripts: Scripts,
    maker: QuestionMaker,
    rows: Rows,
    *,
    stem: str,
    form: str,
    ending: str,
    sections: Sequence[str],
) -> Compared:
    """Outputs of two sentences, each with citations, or for a question of one."""
    given, asked = [], []
    for row in rows:
        sources = official_sources(row["input"])
        last = max(sources)
        cited = [(0, last), (last,)] if form != "question" else [(0, last)]
        cited = [tuple(dict.fromkeys(each)) for each in cited]
        output = "\n".join(
            f"{FINDINGS[place]} {''.join(f'[{each}]' for each in numbers)}."
            for place, numbers in enumerate(cited)
        )
        given.append(
            {"example_id": row["example_id"], "input": row["input"]}
            | {_key("output", each): output for each in sections}
        )
        for place, numbers in enumerate(cited):
            # With split_method citation a full stop behind a marker begins the next sentence, and the last one is dropped.
            dot = "." if form in ("note", "question") else ""
            lead = ". " if form in ("impression", "text") and place else ""
            asked.append(
                (f"{lead}{FINDINGS[place]}{dot}", [(each, sources[each]) for each in numbers])
            )
    persection = "_persection" if form == "note" and not ending else ""
    file = f"citation_evaluation/prompts/{stem}{persection}_citation_entail{ending}.json"
    script = f"citation_evaluation/eval_citation{'_model' if ending else ''}.py"
    split = "sent" if form in ("note", "question") else "citation"
    theirs = _judged(scripts, script, given, file, stem, split_method=split, sections=sections)
    questions = [
        maker.citation("q", sentence=sentence, cited=cited, form=form, section=section or "full")
        for section in sections
        for sentence, cited in asked
    ]
    return _compared(script, file, theirs, questions)


def _judged(
    scripts: Scripts,
    script: str,
    rows: Rows,
    file: str,
    stem: str,
    *,
    sections: Sequence[str],
    **options: str,
) -> list[Messages]:
    if stem:
        options |= {"dataset_name": "user_dataset" if stem == "general" else stem}
    if len(sections) > 1:
        options |= {"get_persection_score" if "citation" in script else "use_persection_claims": ""}
    if script.endswith("_model.py"):
        options |= {"eval_model": "Mistral"}
    return scripts.messages(
        script, rows, result_file="FOLDER/rows.json", prompt_file=file, **options
    )


def _compared(
    script: str, file: str, theirs: list[Messages], asked: Sequence[Question]
) -> Compared:
    return Compared(
        name=f"{script} {file}",
        theirs=theirs,
        ours=[_said(question.messages) for question in asked],
    )


def _said(messages: Sequence[Any]) -> Messages:
    return [(str(each["role"]), str(each["content"])) for each in messages]


def _key(name: str, section: str) -> str:
    return f"{name}_{section}" if section else name


def _numbered(sentences: Sequence[str]) -> str:
    return "".join(f"[{place}] {sentence} " for place, sentence in enumerate(sentences))


def main() -> int:
    """Prints one line a file of prompts; 1 when a message differs that must not."""
    wrong = 0
    for each in compare(Path(sys.argv[1])):
        wrong += not each.holds
        said = f", {each.other} known to differ" if each.other else ""
        print(
            f"{'same' if each.holds else 'DIFFERENT'}: {each.equal} of {len(each.theirs)} requests{said}: {each.name}"
        )
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
