"""Which tokens an answer has after a prompt: those of the text written on, whatever the tokenizer does with spaces."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.models.chat_template import ChatLayout
from tests.models.toy_texts import TEXTS

pytestmark = pytest.mark.slow

TURNS = "{% for m in messages %}<|{{ m.role }}|>{{ gap if m.role == 'assistant' }}{{ m.content }}{% endfor %}"
READY = "{% if add_generation_prompt %}<|assistant|>{% endif %}"


def template(gap: str) -> str:
    return "{% set gap = '" + gap.replace("\n", "\\n") + "' %}" + TURNS + READY


@pytest.fixture
def tokenizer(toy_model: Path) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(toy_model)


@functools.cache
def sentence_pieces(scheme: str) -> Any:
    """A tokenizer as Llama 2's and Mistral's: `▁` stands for a space, and one is put before a text."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    raw = Tokenizer(models.BPE(byte_fallback=False, unk_token="<unk>"))
    raw.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=scheme)
    raw.decoder = decoders.Metaspace(prepend_scheme=scheme)
    trainer = trainers.BpeTrainer(
        vocab_size=600,
        special_tokens=["<unk>", "<s>", "</s>"],
        initial_alphabet=[*"ABCDE[]/\n:?", "▁"],
        show_progress=False,
    )
    raw.train_from_iterator([*TEXTS, *(f"{letter}\n" for letter in "ABCDE" * 9), "A A A B B C"], trainer)
    return PreTrainedTokenizerFast(tokenizer_object=raw, bos_token="<s>", eos_token="</s>", unk_token="<unk>")


INST = (
    "{% for m in messages %}"
    "{{ '[INST] ' + m.content + ' [/INST]' if m.role == 'user' else GAP + m.content + eos_token }}"
    "{% endfor %}"
)
USER: Any = [{"role": "user", "content": "Fever?"}]


@pytest.mark.parametrize(
    ("template", "gap"),
    [
        (template(""), ""),
        (template(" "), " "),
        (template("\n"), "\n"),
        (template("<think>\n\n</think>\n\n"), ""),  # a chain of thought is no part of an answer
        ("{% if messages|length > 1 %}{{ raise_exception('one turn only') }}{% endif %}" + template(" "), ""),
        ("{{ messages[0].content }}<|assistant|>", ""),
        (None, " "),
    ],
    ids=["nothing", "space", "line", "thought", "refuses", "forgets", "plain"],
)
def test_the_gap_is_the_templates_own(tokenizer: Any, template: str | None, gap: str) -> None:
    tokenizer.chat_template = template
    assert ChatLayout(tokenizer, model="hf/toy").gap == gap


@pytest.mark.parametrize("gap", ["", " ", "\n"])
def test_tokens_are_those_of_the_text_written_on(tokenizer: Any, gap: str) -> None:
    tokenizer.chat_template = template(gap)
    layout = ChatLayout(tokenizer, model="hf/toy")
    text = layout.render(USER)
    asked, found = layout.answer_tokens(text, ["A", " A", "chest pain on exertion", "ŵ"])
    assert asked == layout.tokens(text)
    for answer, ids in zip(["A", " A", "chest pain on exertion", "ŵ"], found, strict=True):
        assert (*asked, *ids) == layout.tokens(text + gap + answer)
        assert tokenizer.decode(ids) == gap + answer


@pytest.mark.parametrize("scheme", ["always", "first"])
@pytest.mark.parametrize(("gap", "piece"), [("", "A"), (" ", "▁A")])
def test_a_tokenizer_that_puts_a_space_before_every_text(scheme: str, gap: str, piece: str) -> None:
    tokenizer = sentence_pieces(scheme)
    tokenizer.chat_template = INST.replace("GAP", f"'{gap}'")
    layout = ChatLayout(tokenizer, model="hf/pieces")
    assert layout.gap == gap
    asked, (letter, sentence, nothing) = layout.answer_tokens(layout.render(USER), ["A", "chest pain", ""])
    # Encoded apart, the letter would have the space in both cases.
    assert tokenizer.convert_ids_to_tokens(tokenizer("A", add_special_tokens=False)["input_ids"]) == ["▁A"]
    assert tokenizer.convert_ids_to_tokens(list(letter)) == [piece]
    assert tokenizer.decode([*asked, *sentence]) == tokenizer.decode(asked) + gap + "chest pain"
    assert len(nothing) == len(gap)


def test_where_the_tokenizer_joins_prompt_and_answer(tokenizer: Any) -> None:
    # The space at the prompt's end and the answer's first word are one token; alone, the space is the prompt's.
    tokenizer.chat_template = "{{ messages[0].content }} Answer: "
    layout = ChatLayout(tokenizer, model="hf/toy")
    text = layout.render(USER)
    asked, (word, letter, empty) = layout.answer_tokens(text, ["patient", "A", ""])
    assert layout.tokens(text + "patient")[: len(asked)] != asked
    assert asked == layout.tokens(text)
    assert tokenizer.decode([*asked, *word]) == text + "patient"
    assert tokenizer.decode([*asked, *letter]) == text + "A"
    assert empty == ()


def test_an_answer_that_cannot_be_told_from_the_prompt_has_no_tokens() -> None:
    tokenizer = sentence_pieces("always")
    tokenizer.chat_template = "{{ messages[0].content }} Answer: "
    layout = ChatLayout(tokenizer, model="hf/pieces")
    # The space is joined to the word; and what the vocabulary does not hold reads as another text.
    asked, (word, both, strange) = layout.answer_tokens(layout.render(USER), ["patient", "patient \u2603", "\u2603"])
    assert tokenizer.decode([*asked, *word]).endswith("Answer: patient")
    assert both == ()
    assert strange == (tokenizer.unk_token_id,)


@functools.cache
def toy_layout(folder: Path) -> ChatLayout:
    from transformers import AutoTokenizer

    return ChatLayout(AutoTokenizer.from_pretrained(folder), model="hf/toy")


@settings(deadline=None, max_examples=60)
@given(answers=st.lists(st.text(max_size=12), min_size=1, max_size=5), data=st.data())
def test_every_answer_reads_as_it_was_written(toy_model: Path, answers: list[str], data: st.DataObject) -> None:
    layout = toy_layout(toy_model)
    text = layout.render([{"role": "user", "content": data.draw(st.text(max_size=12))}])
    asked, found = layout.answer_tokens(text, answers)
    assert asked == layout.tokens(text)
    for answer, ids in zip(answers, found, strict=True):
        assert (*asked, *ids) == layout.tokens(text + answer)
        assert bool(ids) == bool(answer)
