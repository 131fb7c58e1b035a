"""Documents, passages, BM25, and what the recipe says of them."""

from __future__ import annotations

import json
import logging
import math
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import medical_tasks.kqa.retrieval as module
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.kqa.chunks import Chunk, chunk_documents
from medical_tasks.kqa.data import load_items
from medical_tasks.kqa.demo import demo_rows
from medical_tasks.kqa.documents import Document, read_documents
from medical_tasks.kqa.html_text import html_text
from medical_tasks.kqa.retrieval import DOCUMENTS_VARIABLE, Index, open_retriever
from medical_tasks.kqa.spec import KQA_RAG
from medical_tasks.kqa.words import search_words

ITEMS = load_items(KQA_RAG, demo_rows())


@pytest.fixture(autouse=True)
def _no_documents_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(DOCUMENTS_VARIABLE, raising=False)


def document(text: str, name: str = "d", title: str = "") -> Document:
    return Document(name=name, title=title, text=text)


def index_of(*texts: str) -> Index:
    return Index(list(chunk_documents([document(text, f"d{number}") for number, text in enumerate(texts)], 150)))


def ids(chunks: list[Chunk]) -> list[str]:
    return [chunk.id for chunk in chunks]


# Words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("What is Athlete's foot?", ["athlete", "foot"]),  # the s of a genitive goes with that of a plural
        ("Tablets, TABLET tablet's", ["tablet", "tablet", "tablet"]),
        ("allergies; virus abscess arthritis gas", ["allergy", "virus", "abscess", "arthritis", "gas"]),
        ("HbA1c of 6.0 (B12, 1,200 mg)", ["hba1c", "6.0", "b12", "1,200", "mg"]),
        ("ﬁever_x Ünder", ["fiever", "x", "ünder"]),
        ("don't do it", []),
        ("", []),
    ],
)
def test_words(text: str, words: list[str]) -> None:
    assert search_words(text) == words


# Documents


def test_every_kind_of_file_in_a_stable_order(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "x.txt").write_text("hidden")
    (tmp_path / ".hidden.txt").write_text("hidden")
    (tmp_path / "b" / "lay_text-one.TXT").write_bytes(b"\xef\xbb\xbfplain\r\n\r\ntext")
    (tmp_path / "b" / "page.html").write_text("<title>A  page</title><p>one<p>two &amp; three<script>no()</script>")
    (tmp_path / "b.md").write_text("intro\n\n## The *title* ##\n\nmore\n")
    (tmp_path / "a.jsonl").write_text(
        '{"text": "first", "title": "T", "url": "https://x.example", "id": 7}\n\n{"text": "second"}\n{"text": ""}\n'
    )
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    (tmp_path / "empty.txt").write_text(" \n")
    (tmp_path / "loop").symlink_to(tmp_path)
    assert read_documents(tmp_path) == [
        Document(name="a.jsonl:1", title="T", text="first", url="https://x.example"),
        Document(name="a.jsonl:3", title="a", text="second"),
        Document(name="b/lay_text-one.TXT", title="lay text one", text="plain\n\ntext"),
        Document(name="b/page.html", title="A page", text="one\n\ntwo & three"),
        Document(name="b.md", title="The *title*", text="intro\n\n## The *title* ##\n\nmore\n"),
    ]
    assert read_documents(tmp_path / "b.md")[0].name == "b.md"


@pytest.mark.parametrize(
    ("page", "title", "text"),
    [
        ("", "", ""),
        ("plain", "", "plain"),
        ("<html><head><title>T</title><style>p{}</style></head><body><h1>A</h1>b<br>c</body></html>", "T", "A\n\nb c"),
        ("<head><title>T</title><body>b", "T", "b"),
        ("<ul><li>one<li>two</ul>after", "", "one\n\ntwo\n\nafter"),
        ("a<b>b</b>c &lt;p&gt; &#233;<!-- no -->", "", "abc <p> é"),
        ("<noscript><p>no</p></noscript><template>no</template>yes", "", "yes"),
        ("<svg><title>no</title>no</svg>yes", "", "yes"),
        ("x</script></p></noscript>y", "", "x\n\ny"),
        ("<p>1 < 2 and <<", "", "1 < 2 and <<"),
    ],
)
def test_html(page: str, title: str, text: str) -> None:
    assert html_text(page) == (title, text)


@given(st.text(alphabet="<>/!-=\"'& abpscrite\n", max_size=60))
@settings(deadline=None, max_examples=200)
def test_no_page_breaks_the_reader(page: str) -> None:
    title, text = html_text(page)
    assert "\n\n\n" not in text
    assert title == title.strip()


@pytest.mark.parametrize(
    ("name", "content", "error", "message"),
    [
        (None, b"", UsageError, r"documents=.*: no document to retrieve from, it is empty. Documents are .txt, .md, .html"),
        ("a.pdf", b"x", UsageError, r"no document to retrieve from, it holds files of other kinds \(.pdf\)"),
        ("a.txt", b" \n", UsageError, r"no text in any of the 1 documents \(the first is .*a.txt\)"),
        ("a.html", b"<script>x</script>", UsageError, r"no text in any of the 1 documents"),
        ("a.txt", b"ab\xff", UsageError, r"a.txt: not UTF-8 \(byte 0xff at position 2\). Convert it"),
        ("a.jsonl", b'{"text": "x"}\n{"text"', UsageError, r"a.jsonl: line 2 is not a whole JSON object"),
        ("a.jsonl", b"[]", UsageError, r'a.jsonl: line 1 is not a JSON object with "text". Write one document a line'),
        ("a.jsonl", b'{"title": "x"}', UsageError, r'line 1 is not a JSON object with "text"'),
        ("a.jsonl", b'{"text": 7}', UsageError, r"a.jsonl: line 1, 'text' must be a text, got 7"),
        ("a.jsonl", b'{"text": null}', UsageError, r"line 1, 'text' must be a text, got None"),
        ("a.jsonl", b'{"text": "x", "url": ["y"]}', UsageError, r"line 1, 'url' must be a text, got \['y'\]"),
        ("a.jsonl", rb'{"text": "\ud800"}', UsageError, r"line 1, 'text' must be a text"),
        ("a.txt", b"...", UsageError, r"documents=.*: no word to search by in any of the 1 passages"),
    ],
)
def test_documents_that_cannot_be_used(
    tmp_path: Path, name: str | None, content: bytes, error: type[Exception], message: str
) -> None:
    if name is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(error, match=message):
        open_retriever("kqa_rag", {"documents": str(tmp_path)})


def test_no_such_folder(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match=r"documents=.*absent: there is no such folder. Give the folder that holds your"):
        open_retriever("kqa_rag", {"documents": str(tmp_path / "absent")})


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_file(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "a.txt").chmod(0)
    with pytest.raises(UsageError, match=r"a.txt: cannot be read \(Permission denied\)"):
        read_documents(tmp_path)


def test_a_folder_that_cannot_be_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "closed").mkdir()
    listed = os.scandir

    def refuse(place: Any) -> Any:
        if str(place).endswith("closed"):
            raise PermissionError(13, "Permission denied", str(place))
        return listed(place)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(UsageError, match=r"closed: cannot be read \(Permission denied\)"):
        read_documents(tmp_path)


def test_odd_names_of_files_can_be_written_anywhere(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"odd\xff.txt")).write_text("x")
    (found,) = read_documents(tmp_path)
    assert (found.name, found.title) == ("odd\\xff.txt", "odd\\xff")
    json.dumps(found.name).encode()


# Passages


def passages(text: str, size: int) -> list[str]:
    return [chunk.text for chunk in chunk_documents([document(text)], size)]


def test_a_short_document_is_one_passage() -> None:
    assert passages("  one two\n\nthree ", 20) == ["one two\n\nthree"]
    assert passages(" \n", 20) == []


def test_passages_end_at_paragraphs() -> None:
    paragraphs = [" ".join(f"p{number}w{place}" for place in range(15)) for number in range(4)]
    # Twenty words hold one paragraph of 15 and a part of the next; the border after 15 is in the second half.
    assert passages("\n\n".join(paragraphs), 20) == paragraphs


def test_a_long_paragraph_is_cut_with_overlap() -> None:
    words = [f"w{number}" for number in range(50)]
    assert passages(" ".join(words), 20) == [" ".join(words[start : start + 20]) for start in (0, 16, 32)]


def test_a_border_in_the_first_half_is_too_early() -> None:
    words = [f"w{number}" for number in range(30)]
    assert passages(" ".join(words[:5]) + "\n\n" + " ".join(words[5:]), 20)[0].split() == words[:20]


def test_a_short_paragraph_is_repeated_whole() -> None:
    first, second, third = (["a"] * 14, ["b"] * 3, ["c"] * 18)
    text = "\n\n".join(" ".join(part) for part in (first, second, third))
    assert [part.split() for part in passages(text, 20)] == [first + second, second + third[:17], third[13:]]


def test_ids_name_document_and_place() -> None:
    chunks = list(chunk_documents([document("w " * 50, "f/a.txt"), document("x", "b.jsonl:3")], 20))
    assert ids(chunks) == ["f/a.txt#1", "f/a.txt#2", "f/a.txt#3", "b.jsonl:3#1"]


def test_text_without_spaces_is_cut() -> None:
    parts = passages("x" * 10_000, 20)
    assert max(map(len, parts)) == 800
    assert len(parts) == math.ceil((250 - 20) / 16) + 1


@given(
    st.lists(st.sampled_from(["a", "b", "\n\n", "\n", " "]), max_size=200),
    st.integers(min_value=20, max_value=30),
)
@settings(deadline=None, max_examples=150)
def test_laws_of_passages(pieces: list[str], size: int) -> None:
    numbered = [f"{piece}{place}" if piece in "ab" else piece for place, piece in enumerate(pieces)]
    text = " ".join(numbered)
    cut = [part.split() for part in passages(text, size)]
    assert all(0 < len(part) <= size for part in cut)
    # Every word in order, and no more repeated than the overlap.
    rebuilt: list[str] = []
    for part in cut:
        repeated = rebuilt.index(part[0]) if part[0] in rebuilt else len(rebuilt)
        assert len(rebuilt) - repeated <= size // 5
        rebuilt[repeated:] = part
    assert rebuilt == text.split()


# BM25


def bm25(question: str, texts: list[str]) -> list[float]:
    """The formula as it is published (Robertson and Zaragoza 2009; idf and the missing k1 + 1 as in Lucene), by hand."""
    k1, b = 1.5, 0.75
    counts = [Counter(search_words(text)) for text in texts]
    mean = sum(count.total() for count in counts) / len(counts)
    scores = [0.0] * len(texts)
    for word in search_words(question):
        having = sum(word in count for count in counts)
        idf = math.log(1 + (len(texts) - having + 0.5) / (having + 0.5))
        for place, count in enumerate(counts):
            if word in count:
                norm = k1 * (1 - b + b * count.total() / mean)
                scores[place] += idf * count[word] / (count[word] + norm)
    return scores


WORDS = st.lists(st.sampled_from("fever pain mole flu skin tablet rash".split()), max_size=12).map(" ".join)


@given(st.lists(WORDS.filter(bool), min_size=1, max_size=12), WORDS, st.integers(min_value=1, max_value=14))
@settings(deadline=None, max_examples=150)
def test_the_best_passages_are_those_of_the_formula(texts: list[str], question: str, count: int) -> None:
    found = [int(chunk.document.name[1:]) for chunk in index_of(*texts).best(question, count)]
    scores = bm25(question, texts)
    assert len(found) == min(count, sum(score > 0 for score in scores))
    assert len(set(found)) == len(found)
    left_out = [score for place, score in enumerate(scores) if place not in found]
    for before, after in zip(found, found[1:], strict=False):
        assert scores[before] >= scores[after] - 1e-5  # the index counts in single precision
    if found and left_out:
        assert min(scores[place] for place in found) >= max(left_out) - 1e-5


def test_ties_go_by_order() -> None:
    index = index_of("zebra", *["a mole"] * 40, "mole", "other")
    assert ids(index.best("mole", 5)) == [f"d{number}#1" for number in range(1, 6)]
    assert len(index.best("mole", 50)) == 41
    assert ids(index.best("zebra mole", 2)) == ["d0#1", "d1#1"]


@pytest.mark.parametrize("question", ["", "?", "what is it", "giraffe", "giraffe and lion"])
def test_a_question_that_shares_no_word_finds_nothing(question: str) -> None:
    assert index_of("a mole", "a flu").best(question, 5) == []


def test_a_title_counts() -> None:
    chunks = list(chunk_documents([document("flu"), document("text", "e", "Mole")], 150))
    assert ids(Index(chunks).best("mole", 5)) == ["e#1"]


def test_the_demo_finds_what_its_questions_are_about() -> None:
    retriever = open_retriever("kqa_rag", {})
    first = {str(item.fields["question"]): [chunk.id for chunk in retriever.passages(item)][:1] for item in ITEMS}
    about = {
        "ibuprofen": "fever-medicines",
        "athletes": "athletes-foot",
        "HbA1c": "hba1c",
        "stomach flu": "stomach-flu",
        "hay fever": "hay-fever-pregnancy",
        "metformin": "metformin",
        "a cold": "cold-or-flu",
        "mole": "moles",
    }
    for word, name in about.items():
        assert [found for question, found in first.items() if word in question] == [[f"demo/{name}#1"]], word


def test_settings_say_what_was_retrieved_from_and_how(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("mole " * 50)
    (tmp_path / "b.txt").write_text("flu")
    arguments = {"documents": str(tmp_path), "top_k": "2", "chunk_words": 20}
    told = open_retriever("kqa_rag", arguments).settings
    digest = told.pop("documents_sha256")
    assert told == {
        "retriever": "bm25s",
        "version": told["version"],
        "method": "lucene",
        "k1": 1.5,
        "b": 0.75,
        "tokenizer": module.TOKENIZER,
        "top_k": 2,
        "chunk_words": 20,
        "overlap_words": 4,
        "corpus": "own documents",
        "documents": 2,
        "chunks": 4,
    }
    assert told["version"][0].isdigit()
    json.dumps(told)
    # The folder's place is no part of it, each name and text is.
    moved = tmp_path.rename(tmp_path.with_name("moved"))
    arguments["documents"] = str(moved)
    assert open_retriever("kqa_rag", arguments).settings["documents_sha256"] == digest
    (moved / "b.txt").write_text("flu ")
    assert open_retriever("kqa_rag", arguments).settings["documents_sha256"] != digest
    (moved / "b.txt").write_text("flu")
    (moved / "b.txt").rename(moved / "c.txt")
    assert open_retriever("kqa_rag", arguments).settings["documents_sha256"] != digest


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"top_k": "0"}, r"kqa_rag: top_k must be a whole number from 1 to 50, got '0'"),
        ({"top_k": 51}, r"top_k must be a whole number from 1 to 50, got 51"),
        ({"top_k": "3.0"}, r"got '3.0'"),
        ({"top_k": "-1"}, r"got '-1'"),
        ({"top_k": "²"}, r"got '²'"),
        ({"top_k": "9" * 5000}, r"top_k must be a whole number"),
        ({"top_k": True}, r"got True"),
        ({"chunk_words": "19"}, r"chunk_words must be a whole number from 20 to 2000, got '19'"),
        ({"documents": " "}, r"kqa_rag: documents must name a folder, or `demo` for the demo's own corpus, got ' '"),
    ],
)
def test_wrong_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        open_retriever("kqa_rag", arguments)


def test_one_index_for_the_same_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[int] = []

    class Counted(Index):
        def __init__(self, chunks: Any) -> None:
            built.append(len(chunks))
            super().__init__(chunks)

    monkeypatch.setattr(module, "Index", Counted)
    monkeypatch.setattr(module, "_indexes", {})
    (tmp_path / "a.txt").write_text("mole")
    arguments = {"documents": str(tmp_path)}
    open_retriever("kqa_rag", arguments)
    open_retriever("kqa_icl_rag", {**arguments, "top_k": 2})
    assert built == [1]
    (tmp_path / "b.txt").write_text("flu")
    open_retriever("kqa_rag", arguments)
    assert built == [1, 2]
    for words in (20, 30, 40):
        open_retriever("kqa_rag", {**arguments, "chunk_words": words})
    assert len(module._indexes) == 2


def test_the_library_brings_no_accelerator_and_says_nothing(tmp_path: Path) -> None:
    """In a process of its own, with packages of these names on the path, which take notice of being imported."""
    for name in ("jax", "numba"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise SystemExit('imported ' + __name__)")
    code = """
import logging, sys
logging.basicConfig(level=logging.DEBUG)
from medical_tasks.kqa.retrieval import open_retriever
from medical_tasks.kqa.demo import demo_rows
from medical_tasks.kqa.data import load_items
from medical_tasks.kqa.spec import KQA_RAG
assert "bm25s" not in sys.modules and "numpy" not in sys.modules
retriever = open_retriever("kqa_rag", {})
print(*[chunk.id for item in load_items(KQA_RAG, demo_rows()) for chunk in retriever.passages(item)])
assert "bm25s" in sys.modules
assert not {"jax", "numba", "datasets", "torch", "huggingface_hub"} & set(sys.modules)
"""
    home = tmp_path / "home"
    home.mkdir()
    said = []
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONPATH": str(tmp_path), "HOME": str(home), "PYTHONHASHSEED": seed}
        done = subprocess.run([sys.executable, "-c", code], env=environment, cwd=home, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        said.append(done.stdout)
    assert said[0] == said[1]
    assert said[0].startswith("demo/fever-medicines#1 ")
    assert list(home.iterdir()) == []


def test_what_is_kept_out_of_sight_comes_back() -> None:
    before = {name: sys.modules.get(name) for name in ("json", "no_such_package")}
    with module._out_of_sight(("json", "no_such_package")):
        with pytest.raises(ImportError):
            import json  # noqa: F401
    assert {name: sys.modules.get(name) for name in before} == before
    assert "no_such_package" not in sys.modules
    assert logging.getLogger("bm25s").level == logging.WARNING
