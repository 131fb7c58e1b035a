"""Judges for DocLens whose every word is scripted, and what a prompt asked them."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from medical_tasks.benchmarks.doclens.judge_prompts import load_judge_prompts
from medical_tasks.benchmarks.doclens.judging import Unit, UnitVerdict, judge_units
from medical_tasks.benchmarks.doclens.pieces import SECTIONS, read_sentences
from medical_tasks.io.store import Store
from medical_tasks.judges.base import (
    Call,
    JudgeOptions,
    JudgePrompts,
    Judging,
    NoReply,
    Question,
    Unreadable,
    Unscored,
    Verdict,
)
from medical_tasks.judges.session import JudgeSession
from medical_tasks.spec import Item
from tests.benchmarks.doclens.task_items import BY_NAME
from tests.judges.scripted import ScriptedBackend, TableJudge
from tests.support import SHARED

PROMPTS = SHARED / "data" / "doclens" / "prompts"
PLACES = {
    "generation": "prompts",
    "claims": "claim_evaluation/prompts",
    "citations": "citation_evaluation/prompts",
    "sections": "data_processing",
}
"""Our folders of the authors' files to those of their repository, in which all of its commits have
them."""

MAKE: list[dict[str, Any]] = [
    {"role": "system", "content": "From __MIN_CLAIM__ to __MAX_CLAIM__."},
    {"role": "system", "name": "example_user", "content": 'A "note".'},
    {"role": "system", "name": "example_assistant", "content": "Claim 1: A."},
    {"role": "user", "content": ""},
]
JUDGE: list[dict[str, Any]] = [
    {"role": "system", "content": "Judge {all}."},
    {
        "role": "system",
        "name": "example_user",
        "content": {"note": "A.", "claims": ["B."]},
    },
    {
        "role": "system",
        "name": "example_assistant",
        "content": [{"claim": "B.", "entailment_prediction": 0}],
    },
    {"role": "user", "content": ""},
]
LINES: list[dict[str, Any]] = [
    {"role": "user", "content": "Text: __TEXT__\nClaim: __CLAIM__\n\n"}
]
TAGGER = """
history = OrderedDict()
history[ 'cc' ] = [ 'cc :', 'chief complaint :' ]
history[ 'hpi' ] = [ 'hpi', 'history :' ]
examination = OrderedDict()
examination[ 'pe' ] = [ 'exam :' ]
results = OrderedDict()
results[ 'findings' ] = [ 'results :' ]
plan = OrderedDict()
plan[ 'assessment' ] = ['assessment :', 'a:' ]
plan[ 'ap' ] = [ 'a / p :', 'plan :', 'p:' ]
tables = OrderedDict()
tables[ 'subjective' ] = history
tables[ 'objective_exam' ] = examination
tables[ 'objective_results' ] = results
tables[ 'assessment_and_plan' ] = plan
raise SystemExit('this code is never run')
"""
"""Tables of headings in the form of theirs."""


def synthetic_checkout(
    folder: Path, claims: str = PLACES["claims"], citations: str = PLACES["citations"]
) -> Path:
    """Files of their form, in words of our own."""
    files: dict[str, list[dict[str, Any]]] = {}
    for family in ("acibench", "general", "meqsum", "mimic"):
        sections = (
            [f"{family}_{section}" for section in SECTIONS]
            if family == "acibench"
            else [family]
        )
        for name in sections:
            files[f"{claims}/{name}_subclaim_generation.json"] = MAKE
            files[f"{citations}/{name}_citation_entail.json"] = JUDGE
        for kind in (
            "claim_entail",
            *(["claim_entail_same"] if family == "meqsum" else []),
        ):
            files[f"{claims}/{family}_{kind}.json"] = JUDGE
            files[f"{claims}/{family}_{kind}_Mistral.json"] = LINES
        files[f"{citations}/{family}_citation_entail_Mistral.json"] = LINES
    for place, content in files.items():
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content, indent=2), encoding="utf-8")
    return with_tagger(folder)


def with_tagger(folder: Path) -> Path:
    """The folder, with a file of the form of their tagger."""
    path = folder / PLACES["sections"] / "sectiontagger.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(TAGGER, encoding="utf-8")
    return folder


def checkout(folder: Path) -> Path:
    """The authors' prompts as their repository lays them out."""
    for ours in ("generation", "claims", "citations"):
        theirs = PLACES[ours]
        place = folder / theirs
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(PROMPTS / ours)
    return with_tagger(folder)


OWN = load_judge_prompts(BY_NAME["aci_bench"])
WHY = "So it says."


@dataclass(frozen=True)
class Asked:
    """What one call asks, read from a prompt of ours.

    `things` are claims by id, or cited texts by number.
    """

    kind: str
    text: str
    things: Mapping[str, str] = field(default_factory=dict)
    about: str = ""


def asked(call: Call | Question) -> Asked:
    content = str(call.messages[0]["content"])
    parts = {
        head: body
        for head, _, body in (part.partition(":\n") for part in content.split("\n\n"))
    }
    if "Question A" in parts:
        kind = "same" if "in essence the same" in content else "question"
        return Asked(
            kind, json.loads(parts["Question A"]), about=json.loads(parts["Question B"])
        )
    if "Sentence" in parts:
        return Asked(
            "citation",
            "",
            _lines(parts["Cited, each behind its number"]),
            json.loads(parts["Sentence"]),
        )
    text = json.loads(parts["Text"])
    if "Claim" in parts:
        return Asked("claim", text, about=json.loads(parts["Claim"]))
    if "Claims, each behind its id" in parts:
        return Asked("claims", text, _lines(parts["Claims, each behind its id"]))
    return Asked("make", text)


def _lines(body: str) -> dict[str, str]:
    return {
        name: json.loads(text)
        for name, text in (line.split(": ", 1) for line in body.split("\n"))
    }


def made(*claims: str) -> str:
    return json.dumps({"claims": list(claims)})


def verdict(entailed: bool, explanation: str = WHY) -> str:
    return json.dumps({"explanation": explanation, "entailed": entailed})


def verdicts(entailed: Mapping[str, bool]) -> str:
    entries = [
        {"id": name, "explanation": WHY, "entailed": one}
        for name, one in entailed.items()
    ]
    return json.dumps({"verdicts": entries})


def cited(entailed: bool, *provenance: int) -> str:
    return json.dumps(
        {"explanation": WHY, "provenance": list(provenance), "entailed": entailed}
    )


def official_entries(
    *entries: tuple[str, Any], key: str = "entailment_prediction"
) -> str:
    """A reply to the authors' prompt about several claims."""
    return json.dumps(
        [{"claim": claim, "explanation": WHY, key: value} for claim, value in entries]
    )


def says(text: str, claim: str) -> bool:
    """The perfect judge of texts whose claims are their sentences."""
    return claim.rstrip(".?").casefold() in text.casefold()


def perfect(call: Call) -> str:
    """Takes a text apart at full stops.

    What holds the words entails them; a citation counts if it holds any of them.
    """
    about = asked(call)
    if about.kind == "make":
        return made(
            *(part.strip() + "." for part in about.text.split(".") if part.strip())
        )
    if about.kind == "claims":
        return verdicts(
            {name: says(about.text, claim) for name, claim in about.things.items()}
        )
    if about.kind == "citation":
        words = set(about.about.casefold().rstrip(".?").split())
        of = {
            int(number): set(text.casefold().split())
            for number, text in about.things.items()
        }
        provenance = [number for number, known in of.items() if words & known]
        return cited(words <= set().union(*of.values()), *provenance)
    return verdict(
        says(about.text, about.about)
        if about.kind != "same"
        else about.text == about.about
    )


def by_pair(call: Call) -> str:
    """The perfect judge of entailment."""
    pair = call.question.pair
    assert pair is not None
    words = set(pair.hypothesis.casefold().rstrip(".?").split())
    return (
        "entailment"
        if words <= set(pair.premise.replace(".", " ").casefold().split())
        else "neutral"
    )


def unit(name: str = "v1/plan", **fields: Any) -> Unit:
    values: dict[str, Any] = {
        "item": name.split("/")[0],
        "section": "full",
        "form": "text",
        "output": "",
        "reference": "",
        "sources": (),
    }
    return Unit(id=name, **(values | fields))


@dataclass
class Judged:
    verdicts: list[UnitVerdict]
    backend: ScriptedBackend
    session: JudgeSession

    @property
    def one(self) -> UnitVerdict:
        assert len(self.verdicts) == 1
        return self.verdicts[0]

    @property
    def ids(self) -> list[str]:
        return [call.question.id for call in self.backend.calls]


def judge(
    folder: Path,
    units: Sequence[Unit],
    script: Callable[[Call], str | NoReply],
    *,
    reads: Any = "prompt",
    mode: Any = "batched",
    prompts: JudgePrompts = OWN,
    reasks: int = 1,
    **options: Any,
) -> Judged:
    """Judges units by a scripted judge behind a real session with a store of its own."""
    backend = ScriptedBackend(script, reads=reads)
    path = Path(tempfile.mkdtemp(dir=folder)) / "judge.sqlite"
    with Store(path) as store:
        session = JudgeSession(backend, JudgeOptions(reasks=reasks), store, quiet=True)
        judging = Judging(judge=session, prompts=prompts, mode=mode)
        return Judged(judge_units(units, judging, **options), backend, session)


def said_in(text: str, said: str) -> bool:
    """Whether a text holds what is said, white space apart."""
    return " ".join(said.split()) in " ".join(text.split())


class PerfectJudge(TableJudge):
    """Reads the prompts and says what holds by `entails`, in which None is a server's failure."""

    def __init__(self, entails: Callable[[str, str], bool | None] = said_in) -> None:
        super().__init__(self._value)
        self.entails = entails
        self.rounds: list[int] = []

    def ask(self, questions: Sequence[Question]) -> list[Verdict | Unscored]:
        self.rounds.append(len(questions))
        return super().ask(questions)

    def _value(self, question: Question) -> Any:
        reply = self._reply(asked(question))
        value = None if reply is None else question.read(reply)
        assert not isinstance(value, Unreadable), value
        return value

    def _reply(self, about: Asked) -> str | None:
        if about.kind == "make":
            return made(
                *list(dict.fromkeys(one.text for one in read_sentences(about.text)))[
                    :30
                ]
            )
        if about.kind == "claims":
            known = {
                name: self.entails(about.text, claim)
                for name, claim in about.things.items()
            }
            answered = {name: said for name, said in known.items() if said is not None}
            return verdicts(answered) if answered else None
        said = self.entails(
            " ".join(about.things.values()) if about.kind == "citation" else about.text,
            about.about,
        )
        if said is None or about.kind != "citation":
            return None if said is None else verdict(said)
        alone = [
            int(number)
            for number, text in about.things.items()
            if self.entails(text, about.about)
        ]
        return cited(said, *((alone or map(int, about.things)) if said else ()))


def cited_by_itself(text: str, first: int = 0) -> tuple[str, list[str]]:
    """Writes a text whose sentences cite a source that is they themselves, from number `first` on; and the sentences."""
    sentences = read_sentences(text)
    cited = "".join(
        f"{one.raw.rstrip()} [{first + place}]{one.raw[len(one.raw.rstrip()) :]}"
        for place, one in enumerate(sentences)
    )
    return cited, [one.text for one in sentences]


def text_item(
    name: str,
    *,
    reference: str,
    sentences: Sequence[str],
    form: str = "text",
    **fields: Any,
) -> Item:
    """Makes an item of a task."""
    section = fields.pop("section", "")
    known = {
        "form": form,
        "reference": reference,
        "sentences": list(sentences),
        **fields,
    }
    return Item(
        id=name,
        fields=known,
        groups={"section": section} if section else {},
        cluster=name,
    )


def official_reply(
    content: str, entails: Callable[[str, str], bool | None]
) -> str | None:
    """Answers a question by the authors' prompts for GPT, by its last message.

    None where `entails` is.
    """
    if not content.startswith("{"):
        sentences = [one.text for one in read_sentences(content)]
        return "\n".join(
            f"Claim {place}: {text}" for place, text in enumerate(sentences, start=1)
        )
    asked = json.loads(content)
    first, second = asked.values()
    if "claims" in asked:
        known = [(claim, entails(first, claim)) for claim in second]
        if any(said is None for _, said in known):
            return None
        return official_entries(*((claim, int(bool(said))) for claim, said in known))
    whole = (
        first if isinstance(second, str) else " ".join(one["content"] for one in second)
    )
    said = entails(whole, second if isinstance(second, str) else first)
    if said is None:
        return None
    if isinstance(second, str):
        return json.dumps({"explanation": WHY, "prediction": int(said)})
    alone = [int(one["idx"]) for one in second if entails(one["content"], first)]
    provenance = (alone or [int(one["idx"]) for one in second]) if said else []
    return json.dumps(
        {
            "explanation": WHY,
            "provenance": provenance,
            "entailment_prediction": int(said),
        }
    )


class OfficialJudge(TableJudge):
    """Is asked with the authors' prompts for GPT, and says what holds by `entails`, in which None is a server's failure."""

    def __init__(self, entails: Callable[[str, str], bool | None] = said_in) -> None:
        super().__init__(self._value)
        self.entails = entails

    def said(self, name: str) -> str:
        """The last message of a question."""
        (question,) = [one for one in self.asked if one.id == name]
        return str(question.messages[-1]["content"])

    def _value(self, question: Question) -> Any:
        reply = official_reply(str(question.messages[-1]["content"]), self.entails)
        value = None if reply is None else question.read(reply)
        assert not isinstance(value, Unreadable), value
        return value
