"""Open answers, judged in two passes: the answers, then the sources that they name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from medical_chat.declarations import Turn, right_choice
from medical_chat.scoring import Parts, conversation_score, final_text, replies_of
from medical_chat.talking import TEXTS, note_blocks, say
from medical_tasks.judges.base import JudgePrompts, Question, Unreadable, Unscored
from medical_tasks.judges.judged import filled
from medical_tasks.judges.rounds import Line
from medical_tasks.spec import Answer, Item, ItemScore, texts_sha256

KINDS: Final = ("judge_system", "judge_content", "judge_source")
BEST: Final = 2
_OWN: Final = (TEXTS["again"], *TEXTS["shown"].values())
_SCORE: Final = re.compile(r"^[ \t]*Score(\d+(?:-\d+)?):[ \t]*(\d+)[ \t]*$", re.MULTILINE)


def as_prompts(name: str, texts: Mapping[str, str]) -> JudgePrompts:
    """The texts of both passes."""
    return JudgePrompts(name=name, sha256=texts_sha256(*texts.values(), *_OWN), texts=texts)


def judged(item: Item, answer: Answer, prompts: JudgePrompts) -> Line[ItemScore]:
    """Judges one conversation in two passes; the second prompt has the output of the first."""
    replies = {key: final_text(reply) for key, reply in replies_of(item, answer).items()}
    values, turns = {"discharge summaries": note_blocks(item)}, item.fields["turns"]
    parts: dict[str, Parts] = dict.fromkeys(("content", "source"), [None] * (len(turns) // 2))
    for name, pass_turns in (("content", turns[::2]), ("source", turns[1::2])):
        values["qas"] = "\n\n".join(_shown(turn, turns, replies) for turn in pass_turns)
        text = filled(prompts.texts[f"judge_{name}"], values)
        question = Question(
            id=f"{item.id}/{name}",
            messages=(say("system", prompts.texts["judge_system"]), say("user", text)),
            template=prompts.sha256,
            read=partial(_read, [turn["key"] for turn in pass_turns]),
            again=TEXTS["again"],
            max_tokens=4096,
        )
        (outcome,) = yield [question]
        if isinstance(outcome, Unscored):
            return conversation_score(item, parts, "", outcome.reason)
        values["content_pass_output"] = outcome.text.strip()
        parts[name] = [score / BEST for score in outcome.value]
    parsed = " ".join(f"{score:g}" for scores in parts.values() for score in scores)
    return conversation_score(item, parts, parsed)


def _shown(turn: Turn, turns: Sequence[Turn], replies: Mapping[str, str]) -> str:
    """Formats an answer, or a source with its answer, with the labels that the prompts name."""
    key, (about, _, source) = turn["key"], turn["key"].partition("-")
    answer = next(other for other in turns if other["key"] == about)
    values = {"key": key, "question": turn["question"], "about": about}
    values |= {"right": right_choice(turn), "right_about": right_choice(answer)}
    values |= {"said": replies.get(key, ""), "said_about": replies.get(about, "")}
    return filled(TEXTS["shown"]["source" if source else "content"], values)


def _read(keys: Sequence[str], text: str) -> tuple[int, ...] | Unreadable:
    """Reads one line for each key; of a repeated key the last."""
    scores = {key: int(score) for key, score in _SCORE.findall(text) if int(score) <= BEST}
    if scores.keys() != set(keys):
        return Unreadable(f"there must be a score from 0 to {BEST} for each of {', '.join(keys)}")
    return tuple(scores[key] for key in keys)
