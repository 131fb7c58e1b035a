"""Judges for DocLens with scripted replies, and a reader of the prompts that they get."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from medical_tasks.benchmarks.doclens.judge_prompts import load_judge_prompts
from medical_tasks.benchmarks.doclens.judging import Unit, UnitVerdict, judge_units
from medical_tasks.benchmarks.doclens.pieces import SECTIONS, read_sentences
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
from tests.benchmarks.common import judge_session
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
"""Our folders of the authors' files, and the folders of their repository in all of its commits."""

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
"""Tables of headings in the authors' form."""


def synthetic_checkout(
    folder: Path, claims: str = PLACES["claims"], citations: str = PLACES["citations"]
) -> Path:
    """Files in the authors' form, with texts of our own."""
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
    for file_name, content in files.items():
        path = folder / file_name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content, indent=2), encoding="utf-8")
    return with_tagger(folder)


def with_tagger(folder: Path) -> Path:
    """Adds a file in the form of the authors' tagger."""
    path = folder / PLACES["sections"] / "sectiontagger.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(TAGGER, encoding="utf-8")
    return folder


def checkout(folder: Path) -> Path:
    """Links the authors' prompts to the paths in their repository."""
    for ours in ("generation", "claims", "citations"):
        theirs = PLACES[ours]
        link = folder / theirs
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(PROMPTS / ours)
    return with_tagger(folder)


OWN = load_judge_prompts(BY_NAME["aci_bench"])
WHY = "So it says."


@dataclass(frozen=True)
class PromptContent:
    """The content of one of our prompts.

    `listed` are claims by id, or cited texts by number.
    """

    kind: str
    text: str
    listed: Mapping[str, str] = field(default_factory=dict)
    about: str = ""


def prompt_content(call: Call | Question) -> PromptContent:
    content = str(call.messages[0]["content"])
    fields = {
        head: body
        for head, _, body in (
            paragraph.partition(":\n") for paragraph in content.split("\n\n")
        )
    }
    if "Question A" in fields:
        kind = "same" if "in essence the same" in content else "question"
        return PromptContent(
            kind,
            json.loads(fields["Question A"]),
            about=json.loads(fields["Question B"]),
        )
    if "Sentence" in fields:
        return PromptContent(
            "citation",
            "",
            _lines(fields["Cited, each behind its number"]),
            json.loads(fields["Sentence"]),
        )
    text = json.loads(fields["Text"])
    if "Claim" in fields:
        return PromptContent("claim", text, about=json.loads(fields["Claim"]))
    if "Claims, each behind its id" in fields:
        return PromptContent(
            "claims", text, _lines(fields["Claims, each behind its id"])
        )
    return PromptContent("make", text)


def _lines(body: str) -> dict[str, str]:
    return {
        name: json.loads(text)
        for name, text in (line.split(": ", 1) for line in body.split("\n"))
    }


def claims_reply(*claims: str) -> str:
    return json.dumps({"claims": list(claims)})


def verdict(entailed: bool, explanation: str = WHY) -> str:
    return json.dumps({"explanation": explanation, "entailed": entailed})


def verdicts(entailed: Mapping[str, bool]) -> str:
    entries = [
        {"id": name, "explanation": WHY, "entailed": value}
        for name, value in entailed.items()
    ]
    return json.dumps({"verdicts": entries})


def citation_reply(entailed: bool, *provenance: int) -> str:
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


def entails(text: str, claim: str) -> bool:
    """The perfect judge of texts whose claims are their sentences."""
    return claim.rstrip(".?").casefold() in text.casefold()


def perfect(call: Call) -> str:
    """A judge that splits texts at full stops.

    A text entails a claim if it contains its words; a citation counts if it contains any of them.
    """
    content = prompt_content(call)
    if content.kind == "make":
        return claims_reply(
            *(
                sentence.strip() + "."
                for sentence in content.text.split(".")
                if sentence.strip()
            )
        )
    if content.kind == "claims":
        return verdicts(
            {
                name: entails(content.text, claim)
                for name, claim in content.listed.items()
            }
        )
    if content.kind == "citation":
        words = set(content.about.casefold().rstrip(".?").split())
        source_words = {
            int(number): set(text.casefold().split())
            for number, text in content.listed.items()
        }
        provenance = [
            number
            for number, cited_words in source_words.items()
            if words & cited_words
        ]
        return citation_reply(words <= set().union(*source_words.values()), *provenance)
    return verdict(
        entails(content.text, content.about)
        if content.kind != "same"
        else content.text == content.about
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
    def verdict(self) -> UnitVerdict:
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
    """Judges units with a scripted judge in a real session with an empty store."""
    backend = ScriptedBackend(script, reads=reads)
    with judge_session(folder, backend, JudgeOptions(reasks=reasks)) as session:
        judging = Judging(judge=session, prompts=prompts, mode=mode)
        return Judged(judge_units(units, judging, **options), backend, session)


def contains(text: str, phrase: str) -> bool:
    """Whether a text contains a phrase, up to white space."""
    return " ".join(phrase.split()) in " ".join(text.split())


class PerfectJudge(TableJudge):
    """Reads our prompts and decides by `entails`, whose None is a failed request."""

    def __init__(self, entails: Callable[[str, str], bool | None] = contains) -> None:
        super().__init__(self._value)
        self.entails = entails
        self.rounds: list[int] = []

    def ask(self, questions: Sequence[Question]) -> list[Verdict | Unscored]:
        self.rounds.append(len(questions))
        return super().ask(questions)

    def _value(self, question: Question) -> Any:
        reply = self._reply(prompt_content(question))
        value = None if reply is None else question.read(reply)
        assert not isinstance(value, Unreadable), value
        return value

    def _reply(self, content: PromptContent) -> str | None:
        if content.kind == "make":
            sentences = read_sentences(content.text)
            claims = dict.fromkeys(sentence.text for sentence in sentences)
            return claims_reply(*list(claims)[:30])
        if content.kind == "claims":
            labels = {
                name: self.entails(content.text, claim)
                for name, claim in content.listed.items()
            }
            answered = {
                name: entailed
                for name, entailed in labels.items()
                if entailed is not None
            }
            return verdicts(answered) if answered else None
        if content.kind == "citation":
            sources = {int(number): text for number, text in content.listed.items()}
            entailed, provenance = _provenance(content.about, sources, self.entails)
            return None if entailed is None else citation_reply(entailed, *provenance)
        entailed = self.entails(content.text, content.about)
        return None if entailed is None else verdict(entailed)


def _provenance(
    sentence: str,
    sources: Mapping[int, str],
    entails: Callable[[str, str], bool | None],
) -> tuple[bool | None, list[int]]:
    """Whether sources together entail a sentence, and those that do alone, or else all."""
    entailed = entails(" ".join(sources.values()), sentence)
    if not entailed:
        return entailed, []
    alone = [number for number, text in sources.items() if entails(text, sentence)]
    return entailed, alone or list(sources)


def cited_by_itself(text: str, first: int = 0) -> tuple[str, list[str]]:
    """A text in which each sentence cites itself as a source, numbered from `first`; and the sentences."""
    sentences = read_sentences(text)
    cited = "".join(
        f"{sentence.raw.rstrip()} [{first + number}]{sentence.raw[len(sentence.raw.rstrip()) :]}"
        for number, sentence in enumerate(sentences)
    )
    return cited, [sentence.text for sentence in sentences]


def text_item(
    name: str,
    *,
    reference: str,
    sentences: Sequence[str],
    form: str = "text",
    **fields: Any,
) -> Item:
    """An item of a task."""
    section = fields.pop("section", "")
    values = {
        "form": form,
        "reference": reference,
        "sentences": list(sentences),
        **fields,
    }
    return Item(
        id=name,
        fields=values,
        groups={"section": section} if section else {},
        cluster=name,
    )


def official_reply(
    content: str, entails: Callable[[str, str], bool | None]
) -> str | None:
    """Replies to the last message of the authors' prompts for GPT.

    None if `entails` returns None.
    """
    if not content.startswith("{"):
        sentences = [sentence.text for sentence in read_sentences(content)]
        return "\n".join(
            f"Claim {number}: {text}" for number, text in enumerate(sentences, start=1)
        )
    request = json.loads(content)
    first, second = request.values()
    if "claims" in request:
        labels = [(claim, entails(first, claim)) for claim in second]
        if any(entailed is None for _, entailed in labels):
            return None
        return official_entries(
            *((claim, int(bool(entailed))) for claim, entailed in labels)
        )
    if isinstance(second, str):
        entailed = entails(first, second)
        reply: dict[str, Any] = {"explanation": WHY, "prediction": int(bool(entailed))}
    else:
        sources = {int(source["idx"]): source["content"] for source in second}
        entailed, provenance = _provenance(first, sources, entails)
        reply = {
            "explanation": WHY,
            "provenance": provenance,
            "entailment_prediction": int(bool(entailed)),
        }
    return None if entailed is None else json.dumps(reply)


class OfficialJudge(TableJudge):
    """Reads the authors' prompts for GPT and decides by `entails`, whose None is a failed request."""

    def __init__(self, entails: Callable[[str, str], bool | None] = contains) -> None:
        super().__init__(self._value)
        self.entails = entails

    def message(self, name: str) -> str:
        """The last message of a question."""
        (question,) = [question for question in self.asked if question.id == name]
        return str(question.messages[-1]["content"])

    def _value(self, question: Question) -> Any:
        reply = official_reply(str(question.messages[-1]["content"]), self.entails)
        value = None if reply is None else question.read(reply)
        assert not isinstance(value, Unreadable), value
        return value
