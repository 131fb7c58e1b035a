"""Rendered prompts: one beginning token, no lost system text, no current date."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.errors import UsageError
from medical_tasks.models.chat_template import ChatLayout, fold_system
from medical_tasks.spec import Message
from tests.models.toy_texts import TEXTS

pytestmark = pytest.mark.slow

TURNS = (
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}<|assistant|>"
)
REFUSES = (
    "{% if messages[0].role == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
    + TURNS
)
DROPS = "{% for m in messages if m.role != 'system' %}<|{{ m.role }}|>{{ m.content }}{% endfor %}<|assistant|>"

CHAT: list[Message] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Fever?"},
    {"role": "assistant", "content": "Yes."},
    {"role": "user", "content": "How high?"},
]


@pytest.fixture
def tokenizer(toy_model: Path) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(toy_model)


def with_own_tokens(tokenizer: Any, *, begin: bool, end: bool) -> Any:
    """Makes the tokenizer add `<s>` and `</s>` around a text, as Llama 2's and others do."""
    from tokenizers.processors import TemplateProcessing

    form = f"{'<s> ' if begin else ''}$A{' </s>' if end else ''}"
    marks = [("<s>", tokenizer.bos_token_id), ("</s>", tokenizer.eos_token_id)]
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single=form, special_tokens=marks
    )
    return tokenizer


@pytest.mark.parametrize("template", ["{{ bos_token }}" + TURNS, TURNS, None])
@pytest.mark.parametrize("begin", [False, True])
@pytest.mark.parametrize("end", [False, True])
def test_one_beginning_token_and_no_end_token(
    tokenizer: Any, template: str | None, begin: bool, end: bool
) -> None:
    tokenizer.chat_template = template
    layout = ChatLayout(
        with_own_tokens(tokenizer, begin=begin, end=end), model="hf/toy"
    )
    ids = layout.tokens(layout.render([{"role": "user", "content": "Fever?"}]))
    expected = 1 if begin or (template or "").startswith("{{ bos_token") else 0
    assert ids.count(tokenizer.bos_token_id) == expected
    assert ids[:expected] == (tokenizer.bos_token_id,) * expected
    assert tokenizer.eos_token_id not in ids
    assert "Fever?" in tokenizer.decode(ids)


def test_tokens_are_those_of_the_template_itself(tokenizer: Any) -> None:
    # Reference: transformers' own conversion from messages to ids.
    layout = ChatLayout(tokenizer, model="hf/toy")
    expected = tokenizer.apply_chat_template(
        [dict(m) for m in CHAT], add_generation_prompt=True, return_dict=True
    )
    assert layout.tokens(layout.render(CHAT)) == tuple(expected["input_ids"])
    assert layout.name == "chat template"
    assert layout.stop == ()


FOLDED = "chat template, system text in the first user message"
WHOLE = "<|user|>Be brief.\n\nFever?<|assistant|>Yes.<|user|>How high?<|assistant|>"
THINKS = "{% if enable_thinking is not defined %}default{% elif enable_thinking %}on{% else %}off{% endif %}"


@pytest.mark.parametrize(
    ("template", "switch", "chat", "name", "text"),
    [
        (REFUSES, None, CHAT, FOLDED, WHOLE),
        (DROPS, None, CHAT, FOLDED, WHOLE),
        (
            TURNS,
            None,
            CHAT[:2],
            "chat template",
            "<|system|>Be brief.<|user|>Fever?<|assistant|>",
        ),
        (
            None,
            None,
            CHAT,
            "plain",
            "Be brief.\n\nUser: Fever?\n\nAssistant: Yes.\n\nUser: How high?\n\nAssistant:",
        ),
        (
            "{{ strftime_now('%d %b %Y') }}" + TURNS,
            None,
            CHAT[1:2],
            "",
            "01 Jan 2025<|user|>Fever?<|assistant|>",
        ),
        (THINKS + TURNS, None, CHAT[1:2], "", "default<|user|>Fever?<|assistant|>"),
        (THINKS + TURNS, True, CHAT[1:2], "", "on<|user|>Fever?<|assistant|>"),
        (THINKS + TURNS, False, CHAT[1:2], "", "off<|user|>Fever?<|assistant|>"),
        (
            {"rag": REFUSES, "default": TURNS},
            None,
            CHAT[1:2],
            "",
            "<|user|>Fever?<|assistant|>",
        ),
    ],
)
def test_rendered_text_and_name_of_a_layout(
    tokenizer: Any,
    template: Any,
    switch: bool | None,
    chat: list[Message],
    name: str,
    text: str,
) -> None:
    tokenizer.chat_template = template
    layout = ChatLayout(tokenizer, model="hf/toy", enable_thinking=switch)
    assert layout.render(chat) == text
    assert layout.name == (name or "chat template")
    assert (layout.stop, layout.gap) == (
        (("\n\nUser:",), " ") if template is None else ((), "")
    )
    tokenizer.bos_token = None
    if template is not None:
        assert not ChatLayout(
            tokenizer, model="hf/toy", enable_thinking=switch
        ).add_special_tokens


@pytest.mark.parametrize(
    ("template", "switch", "message"),
    [
        (None, True, "enable_thinking: hf/toy has no chat template"),
        (
            "{{ raise_exception('never') }}",
            None,
            "hf/toy: its chat template cannot render one user message: ",
        ),
        (
            "{% for m in %}",
            None,
            "hf/toy: its chat template cannot render one user message: ",
        ),
        (
            {"rag": REFUSES, "tools": TURNS},
            None,
            "tokenizer has several chat templates and none is the default",
        ),
    ],
)
def test_messages_about_templates_that_cannot_render(
    tokenizer: Any, template: Any, switch: bool | None, message: str
) -> None:
    tokenizer.chat_template = template
    with pytest.raises(UsageError, match=message):
        ChatLayout(tokenizer, model="hf/toy", enable_thinking=switch)


def test_consecutive_turns_of_the_model_are_joined_and_a_chat_must_end_with_a_turn(
    tokenizer: Any,
) -> None:
    for chat in ([], CHAT[:1]):
        with pytest.raises(
            ValueError, match="must end with a message of the user or of the model"
        ):
            ChatLayout(tokenizer, model="hf/toy").render(chat)
    text = "{{ 7 * 7 }} {% raw %} \\n"
    assert text in ChatLayout(tokenizer, model="hf/toy").render(
        [{"role": "user", "content": text}]
    )
    tokenizer.chat_template = TURNS
    layout = ChatLayout(tokenizer, model="hf/toy")
    more: list[Message] = [*CHAT[:3], {"role": "assistant", "content": "More."}]
    joined: list[Message] = [
        *CHAT[:2],
        {"role": "assistant", "content": f"{CHAT[2]['content']}\n\nMore."},
    ]
    assert layout.render(more) == layout.render(joined)
    assert layout.render(more).endswith("More.<|assistant|>")


def message(role: str) -> st.SearchStrategy[Message]:
    return st.text(max_size=8).map(lambda content: {"role": role, "content": content})  # type: ignore[typeddict-item]


CHATS = st.builds(
    lambda head, turns, last: [*head, *turns, last],
    st.lists(message("system"), max_size=3),
    st.lists(st.one_of(message("user"), message("assistant")), max_size=4),
    message("user"),
)


@given(chat=CHATS)
def test_folding_loses_no_text_and_leaves_no_system(chat: list[Message]) -> None:
    folded = fold_system(chat)
    assert all(turn["role"] != "system" for turn in folded)
    assert len(folded) == sum(turn["role"] != "system" for turn in chat)
    system = [turn["content"] for turn in chat if turn["role"] == "system"]
    first = next(turn for turn in folded if turn["role"] == "user")
    assert first["content"].startswith("\n\n".join(system))
    assert fold_system(folded) == folded


GAPPED_TURNS = "{% for m in messages %}<|{{ m.role }}|>{{ gap if m.role == 'assistant' }}{{ m.content }}{% endfor %}"
READY = "{% if add_generation_prompt %}<|assistant|>{% endif %}"


def template(gap: str) -> str:
    return "{% set gap = '" + gap.replace("\n", "\\n") + "' %}" + GAPPED_TURNS + READY


@functools.cache
def sentence_pieces(scheme: str) -> Any:
    """A tokenizer like Llama 2's and Mistral's: `▁` stands for a space, and one is added before a text."""
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
    raw.train_from_iterator(
        [*TEXTS, *(f"{letter}\n" for letter in "ABCDE" * 9), "A A A B B C"], trainer
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=raw, bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )


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
        (
            template("<think>\n\n</think>\n\n"),
            "",
        ),  # a chain of thought is not part of an answer
        (
            "{% if messages|length > 1 %}{{ raise_exception('one turn only') }}{% endif %}"
            + template(" "),
            "",
        ),
        ("{{ messages[0].content }}<|assistant|>", ""),
        (None, " "),
    ],
    ids=["nothing", "space", "line", "thought", "refuses", "forgets", "plain"],
)
def test_the_gap_is_the_templates_own(
    tokenizer: Any, template: str | None, gap: str
) -> None:
    tokenizer.chat_template = template
    assert ChatLayout(tokenizer, model="hf/toy").gap == gap


@pytest.mark.parametrize("scheme", ["always", "first"])
@pytest.mark.parametrize(("gap", "piece"), [("", "A"), (" ", "▁A")])
def test_answer_tokens_where_the_tokenizer_adds_a_space_before_every_text(
    scheme: str, gap: str, piece: str
) -> None:
    tokenizer = sentence_pieces(scheme)
    tokenizer.chat_template = INST.replace("GAP", f"'{gap}'")
    layout = ChatLayout(tokenizer, model="hf/pieces")
    assert layout.gap == gap
    prompt, (letter, sentence, nothing) = layout.answer_tokens(
        layout.render(USER), ["A", "chest pain", ""]
    )
    # Encoded alone, the letter would have the space in both cases.
    assert tokenizer.convert_ids_to_tokens(
        tokenizer("A", add_special_tokens=False)["input_ids"]
    ) == ["▁A"]
    assert tokenizer.convert_ids_to_tokens(list(letter)) == [piece]
    assert (
        tokenizer.decode([*prompt, *sentence])
        == tokenizer.decode(prompt) + gap + "chest pain"
    )
    assert len(nothing) == len(gap)


def test_answer_tokens_where_the_tokenizer_joins_prompt_and_answer(
    tokenizer: Any,
) -> None:
    # The space at the prompt's end and the answer's first word are one token; alone,
    # the space is the prompt's.
    tokenizer.chat_template = "{{ messages[0].content }} Answer: "
    layout = ChatLayout(tokenizer, model="hf/toy")
    text = layout.render(USER)
    prompt, (word, letter, empty) = layout.answer_tokens(text, ["patient", "A", ""])
    assert layout.tokens(text + "patient")[: len(prompt)] != prompt
    assert prompt == layout.tokens(text)
    assert tokenizer.decode([*prompt, *word]) == text + "patient"
    assert tokenizer.decode([*prompt, *letter]) == text + "A"
    assert empty == ()


def test_an_answer_that_cannot_be_separated_from_the_prompt_has_no_tokens() -> None:
    tokenizer = sentence_pieces("always")
    tokenizer.chat_template = "{{ messages[0].content }} Answer: "
    layout = ChatLayout(tokenizer, model="hf/pieces")
    # The space is joined to the word; and a character outside the vocabulary decodes to
    # another text.
    prompt, (word, both, strange) = layout.answer_tokens(
        layout.render(USER), ["patient", "patient \u2603", "\u2603"]
    )
    assert tokenizer.decode([*prompt, *word]).endswith("Answer: patient")
    assert both == ()
    assert strange == (tokenizer.unk_token_id,)


@functools.cache
def toy_layout(folder: Path, gap: str) -> ChatLayout:
    from transformers import AutoTokenizer

    return ChatLayout(
        AutoTokenizer.from_pretrained(folder, chat_template=template(gap)),
        model="hf/toy",
    )


@given(
    gap=st.sampled_from(["", " ", "\n"]),
    answers=st.lists(st.text(max_size=12), min_size=1, max_size=5),
    data=st.data(),
)
def test_prompt_and_answer_tokens_are_those_of_the_whole_text(
    toy_model: Path, gap: str, answers: list[str], data: st.DataObject
) -> None:
    layout = toy_layout(toy_model, gap)
    text = layout.render([{"role": "user", "content": data.draw(st.text(max_size=12))}])
    prompt, encoded = layout.answer_tokens(text, answers)
    assert prompt == layout.tokens(text)
    for answer, ids in zip(answers, encoded, strict=True):
        assert (*prompt, *ids) == layout.tokens(text + gap + answer)
        assert bool(ids) == bool(gap + answer)
