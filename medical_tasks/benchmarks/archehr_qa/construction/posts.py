"""Messages of patients that speak of a hospital stay, and what diagnosis codes say of them and of notes (section Alignment).

The paper keeps messages "containing keywords"; keywords are whole words here: `er` and `ed` are parts of words in almost every
message. Patients and clinicians use other words: for codes the paper asks Llama 3.3 70B (supplement, table S3); the request here is
ours.
"""

from __future__ import annotations

import json
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

from medical_tasks.benchmarks.archehr_qa.construction import files
from medical_tasks.benchmarks.archehr_qa.construction.files import LONGEST_ID, is_id, one_line, read_table
from medical_tasks.benchmarks.archehr_qa.spec import DATASET
from medical_tasks.data import construction
from medical_tasks.errors import MissingError, UsageError, check_least
from medical_tasks.io.files import open_text, packaged, read_text, readable
from medical_tasks.io.json_records import Field, is_list_of, is_text, read_records
from medical_tasks.judges.base import Unreadable
from medical_tasks.judges.reading import quoted, read_object
from medical_tasks.runs.asking import AskingOptions, ask_model, asked_recipe, outcomes_of
from medical_tasks.runs.runner import AnsweredTask
from medical_tasks.spec import Ask, Dialogue, Done, Item, Message, PromptSet, Records, Turn, texts_sha256

_WORD: Final = re.compile(r"[^\W_]+")
_LONGEST: Final = 8
_RELEASE: Final = "file of messages"
_MESSAGE_COLUMNS: Final = {"id": ("id", "post_id", "message_id"), "text": ("text", "message", "post")}
_MESSAGE_FIELDS: Final = {
    "id": construction.private_field(Field(holds=lambda value: is_id(value) or type(value) is int, rule="an id")),
    "text": construction.private_field(is_text(blank=True)),
}
_KEPT: Final = {
    "id": files.ID,
    "text": construction.private_field(is_text()),
    "keywords": construction.private_field(is_list_of(is_text())),
}


@dataclass(frozen=True, kw_only=True)
class Post:
    """A message that was kept, on one line."""

    id: str
    text: str


def filter_posts(source: Path, folder: Path, *, keywords: str = "paper") -> dict[str, Any]:
    """Keeps the messages with a keyword of one of `keyword_lists`, or of a file; returns counts and recipe, no text."""
    words = keyword_lists().get(keywords) or read_keywords(Path(keywords))
    finder = keyword_finder(words)
    if not source.exists():
        raise MissingError(f"{source}: no such file. Give --source a CSV file with the columns id and text.")
    recipe = {"source_sha256": construction.text_sha256(source), "keywords": list(words)}
    place = folder / files.FILTER
    if place.exists():
        there = construction.read_json(place, step="archehr filter")
        if there.get("recipe") == recipe:
            files.checked_step(folder / files.POSTS, there, step="filter, in another --folder")
            return there
        raise UsageError(
            f"{folder}: holds the messages of another filter (another file, or other keywords). Work in another --folder."
        )
    construction.make_folder(folder)
    counts: Counter[str] = Counter()
    read = {"posts": 0, "empty": 0, "kept": 0}

    def kept() -> Iterator[dict[str, Any]]:
        for name, text in _messages(source):
            read["posts"] += 1
            read["empty"] += not text
            found = finder(text)
            counts.update(found)
            if found:
                read["kept"] += 1
                yield {"id": name, "text": text, "keywords": found}

    digest = construction.write_lines(folder / files.POSTS, kept())
    made = {
        "schema_version": 1,
        "recipe": recipe,
        **read,
        "by_keyword": {word: counts[word] for word in sorted(words, key=lambda word: (-counts[word], word))},
        "sha256": {files.POSTS: digest},
    }
    if not read["kept"]:
        (folder / files.POSTS).unlink()
        raise UsageError(
            f"{source}: none of its {read['posts']:,} messages has one of the {len(words)} keywords, so none is kept. Give "
            "--keywords ours, or a file of your own."
        )
    construction.write_json(place, made)
    return made


@cache
def keyword_lists() -> dict[str, tuple[str, ...]]:
    """Lists of words that tell of a stay in hospital: the paper's 16 (supplement, Other Details), and these with 19 of our own."""
    lists = packaged(__file__, "keywords.json")
    return {name: tuple(words) for name, words in lists.items()}


def keyword_finder(keywords: Sequence[str]) -> Callable[[str], list[str]]:
    """Finds keywords as whole words, whatever their case and whatever stands between the words of one; in alphabetical order."""
    known = {tuple(_WORD.findall(keyword.casefold())): keyword for keyword in keywords}
    lengths = {len(words) for words in known}

    def found(text: str) -> list[str]:
        words = _WORD.findall(text.casefold())
        runs = (tuple(words[start : start + length]) for length in lengths for start in range(len(words) - length + 1))
        return sorted({known[run] for run in runs if run in known})

    return found


def read_keywords(path: Path) -> tuple[str, ...]:
    """Reads keywords, a line each; empty lines and those that begin with `#` are none."""
    missing = f"Give --keywords {' or '.join(keyword_lists())}, or a text file with a word or some words a line."
    with readable(path, missing=missing):
        lines = read_text(path, encoding="utf-8-sig").splitlines()
    found: dict[tuple[str, ...], str] = {}
    for number, line in enumerate(lines, start=1):
        keyword = " ".join(line.split()).casefold()
        if not keyword or keyword.startswith("#"):
            continue
        words = tuple(_WORD.findall(keyword))
        if not 1 <= len(words) <= _LONGEST:
            raise UsageError(
                f"{path}: line {number} must hold 1 to {_LONGEST} words of letters and digits, got {len(words)}."
            )
        found.setdefault(words, keyword)
    if not found:
        raise UsageError(f"{path}: has no keyword. Write a word or some words a line.")
    return tuple(sorted(found.values()))


def _messages(source: Path) -> Iterator[tuple[str, str]]:
    seen: set[str] = set()
    for number, (name, text) in enumerate(_records(source), start=1):
        if not is_id(name):
            raise UsageError(
                f"{source}: message number {number}: its id must be a text of 1 to {LONGEST_ID} characters without white space, "
                f"got one of {len(name)}."
            )
        if name in seen:
            raise UsageError(f"{source}: message number {number}: the id stands twice. Ids must be unique.")
        seen.add(name)
        yield name, one_line(text)


def _records(source: Path) -> Iterator[tuple[str, str]]:
    if source.name.endswith(".jsonl"):
        again = "Export the messages again, one JSON object with id and text a line."
        for record in read_records(source, _MESSAGE_FIELDS, release=_RELEASE, again=again):
            yield str(record.values["id"]), record.values["text"]
        return
    for row in read_table(source, _MESSAGE_COLUMNS, release=_RELEASE):
        yield row.cells["id"].strip(), row.cells["text"]


def load_posts(folder: Path) -> list[Post]:
    """Reads the messages that were kept."""
    made = construction.read_json(folder / files.FILTER, step="archehr filter")
    files.checked_step(folder / files.POSTS, made, step="filter, in another --folder")
    return [
        Post(id=record.values["id"], text=record.values["text"])
        for record in construction.read_lines(folder / files.POSTS, _KEPT, step="archehr filter")
    ]


TRIES: Final = 3
MAX_NEW_TOKENS: Final = 1_000

_COLUMNS: Final = {
    "id": ("id", "post_id", "message_id"),
    "code": ("icd_code", "icd9_code", "code"),
    "description": ("long_title", "description"),
}
_POST_FIELDS: Final = {
    "id": files.ID,
    "descriptions": construction.private_field(is_list_of(is_text())),
    "codes": construction.private_field(is_list_of(is_text())),
}


def codes_from_file(folder: Path, source: Path) -> dict[str, Any]:
    """Takes the codes of messages from a table of `id`, `code` and `description`; messages that were not kept are passed over."""
    posts = load_posts(folder)
    _check_unused(folder)
    found: dict[str, dict[str, str]] = {post.id: {} for post in posts}
    others = 0
    for row in read_table(source, _COLUMNS, release="table of messages' codes"):
        cells = row.cells
        code, description = one_line(cells["code"]), one_line(cells["description"])
        if not code or not description:
            raise UsageError(f"{source}: row {row.number:,}: code and description must not be empty.")
        if cells["id"].strip() not in found:
            others += 1
            continue
        found[cells["id"].strip()].setdefault(code, description)
    if not any(found.values()):
        raise UsageError(f"{source}: names none of the {len(posts):,} messages that were kept.")
    recipe = {"source_sha256": construction.text_sha256(source), "rows_of_others": others}
    return _noted(folder, "posts", {**recipe, **_written(folder, posts, found)})


def codes_from_model(folder: Path, options: AskingOptions, *, tries: int = TRIES) -> dict[str, Any] | None:
    """Asks a model for the codes of each message, up to `tries` times; returns None in all but the main process."""
    check_least({"--tries": tries, "--max-new-tokens": options.max_new_tokens})
    posts = load_posts(folder)
    _check_unused(folder)
    digest = construction.text_sha256(folder / files.POSTS)
    answered = ask_model(
        folder,
        "archehr expand",
        DATASET,
        [Item(id=post.id, fields={"text": post.text}, groups={}, cluster=post.id) for post in posts],
        options,
        prompts=load_prompts(),
        protocol=UntilReadable(tries=tries),
        source={"posts_sha256": digest},
        settings={"posts": digest, "tries": tries},
        finished=files.POST_CODES,
        what="descriptions",
    )
    return None if answered is None else _taken(folder, posts, answered)


def _taken(folder: Path, posts: Sequence[Post], answered: AnsweredTask) -> dict[str, Any]:
    outcomes, failed = outcomes_of(answered, [post.id for post in posts])
    found = {name: {each["code"]: each["description"] for each in one["codes"]} for name, one in outcomes.items()}
    again = sum(one["tries"] - 1 for one in outcomes.values())
    counted = dict(Counter(failed.values()))
    made = {"recipe": asked_recipe(answered), "asked_again": again, "failed": counted, "failed_posts": failed}
    return _noted(folder, "posts", {**made, **_written(folder, posts, found)})


def _written(folder: Path, posts: Sequence[Post], found: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    lines = [
        {"id": post.id, "codes": list(found.get(post.id, ())), "descriptions": list(found.get(post.id, {}).values())}
        for post in posts
    ]
    return {
        "posts": len(posts),
        "with_codes": sum(bool(found.get(post.id)) for post in posts),
        "codes": sum(len(each) for each in found.values()),
        "sha256": construction.write_lines(folder / files.POST_CODES, lines),
    }


def _expansion(folder: Path) -> dict[str, Any]:
    place = folder / files.EXPANSION
    nothing = {"schema_version": 1, "notes": None, "posts": None}
    return construction.read_json(place, step="archehr expand") if place.exists() else nothing


def _noted(folder: Path, side: str, made: Mapping[str, Any]) -> dict[str, Any]:
    construction.write_json(folder / files.EXPANSION, {**_expansion(folder), side: made})
    return dict(made)


def _check_unused(folder: Path) -> None:
    """Somebody may be choosing among notes that were found with what is there."""
    if (folder / files.ALIGNMENT).exists():
        raise UsageError(
            f"{folder}: notes were aligned already, and somebody may be choosing among them. Work in another --folder, or move "
            f"{files.ALIGNMENT}, {files.CANDIDATES} and {files.CANDIDATES_SHEET} away."
        )


def load_post_codes(folder: Path) -> dict[str, list[str]]:
    """Reads the descriptions of each message; none where messages are not expanded."""
    place = folder / files.POST_CODES
    if not place.exists():
        return {}
    made = (_expansion(folder).get("posts") or {}).get("sha256")
    if made != construction.text_sha256(place):
        raise UsageError(f"{place}: was changed since it was written. Do this step again: construct archehr expand.")
    return {
        record.values["id"]: record.values["descriptions"]
        for record in construction.read_lines(place, _POST_FIELDS, step="archehr expand")
    }


_CODES: Final = {"hadm_id": ("hadm_id", "admission_id"), "code": ("icd_code", "icd9_code", "code")}
_DESCRIPTIONS: Final = {"code": ("icd_code", "icd9_code", "code"), "description": ("long_title", "description")}
_VERSION: Final = {"version": ("icd_version", "version")}
_FIELDS: Final = {
    "hadm_id": files.ID,
    "descriptions": construction.private_field(
        is_list_of(Field(holds=lambda value: type(value) is int, rule="a whole number"))
    ),
}
_HEAD: Final = {"titles": construction.private_field(is_list_of(is_text()))}


@dataclass(frozen=True, kw_only=True)
class AdmissionCodes:
    """Which descriptions belong to which admission, in little memory: MIMIC-IV has 6.4 million rows of codes."""

    titles: Sequence[str] = ()
    numbers: dict[str, array[int]] = field(default_factory=dict)

    def of(self, hadm_id: str) -> Sequence[int]:
        """Numbers of an admission's descriptions; none where nothing is known of it."""
        return self.numbers.get(hadm_id, ())


def expand_notes(folder: Path, codes: Path, dictionary: Path) -> dict[str, Any]:
    """Writes what the codes of each admission mean; returns recipe and counts, no text."""
    load_posts(folder)
    _check_unused(folder)
    titles, numbers, versioned = _titles(dictionary)
    admissions: dict[str, array[int]] = {}
    rows = unknown = 0
    for numbered in read_table(codes, _CODES, optional=_VERSION, release="table of codes"):
        rows, row = rows + 1, numbered.cells
        name = row["hadm_id"].strip()
        if not name or not row["code"].strip():
            continue  # MIMIC-III has rows of admissions without a code
        if not is_id(name):
            raise UsageError(
                f"{codes}: row {numbered.number:,}: hadm_id must be an id, got a text of {len(name)} characters."
            )
        key = (row["code"].strip().upper(), row.get("version", "").strip() if versioned else "")
        if versioned and "version" not in row:
            raise UsageError(
                f"{codes}: has no column icd_version, and the dictionary {dictionary} says what codes mean by version. Give tables "
                "of the same release."
            )
        number = numbers.get(key)
        if number is None:
            unknown += 1
            continue
        of_admission = admissions.setdefault(name, array("i"))
        if number not in of_admission:
            of_admission.append(number)
    if not admissions:
        raise UsageError(
            f"{codes}: none of its {rows:,} codes has a description in {dictionary}. Give tables of the same release."
        )

    def lines() -> Iterator[Mapping[str, Any]]:
        yield {"titles": titles}
        for name, each in admissions.items():
            yield {"hadm_id": name, "descriptions": each.tolist()}

    digest = construction.write_lines(folder / files.NOTE_CODES, lines())
    made = {
        "codes_sha256": construction.text_sha256(codes),
        "dictionary_sha256": construction.text_sha256(dictionary),
        "admissions": len(admissions),
        "codes": rows,
        "without_description": unknown,
        "sha256": digest,
    }
    return _noted(folder, "notes", made)


def _titles(dictionary: Path) -> tuple[list[str], dict[tuple[str, str], int], bool]:
    titles: dict[str, int] = {}
    numbers: dict[tuple[str, str], int] = {}
    versioned = False
    for row in (
        each.cells for each in read_table(dictionary, _DESCRIPTIONS, optional=_VERSION, release="dictionary of codes")
    ):
        versioned = "version" in row
        title = one_line(row["description"])
        if title:
            key = (row["code"].strip().upper(), row.get("version", "").strip())
            numbers.setdefault(key, titles.setdefault(title, len(titles)))
    return list(titles), numbers, versioned


def load_admission_codes(folder: Path) -> AdmissionCodes:
    """Reads what `expand_notes` wrote; none where notes are not expanded."""
    place = folder / files.NOTE_CODES
    if not place.exists():
        return AdmissionCodes()
    with open_text(place) as stream:
        made = AdmissionCodes(titles=_read(place, next(stream, ""), _HEAD)["titles"])
        for line in stream:
            record = _read(place, line, _FIELDS)
            made.numbers[record["hadm_id"]] = array("i", record["descriptions"])
    return made


def _read(place: Path, line: str, fields: Mapping[str, Field]) -> dict[str, Any]:
    # Not read_records: the file may have half a million lines, which need not lie in memory together.
    try:
        values = json.loads(line)
    except ValueError:
        values = None
    known = isinstance(values, dict) and values.keys() == fields.keys()
    if not known or not all(field.holds(values[name]) for name, field in fields.items()):
        raise UsageError(f"{place}: not as medical-tasks wrote it. Do this step again: construct archehr expand.")
    return dict(values)


_CODE: Final = re.compile(r"[A-Z0-9][A-Z0-9.]{1,8}")
_LONGEST_DESCRIPTION: Final = 300  # in characters; the longest official one has fewer


class UntilReadable:
    """Asks until a reply can be read; a final answer is a JSON object, of the codes or of what failed."""

    def __init__(self, *, tries: int) -> None:
        self._tries = tries
        self.identity: Mapping[str, Any] = {"name": "until readable", "tries": tries}

    def next_turns(self, dialogues: Sequence[Dialogue], records: Records) -> list[Turn]:
        """Says how each dialogue goes on."""
        return [self._turn(dialogue) for dialogue in dialogues]

    def _turn(self, dialogue: Dialogue) -> Turn:
        messages, problem = dialogue.opening, ""
        for reply in dialogue.answers:
            found = read_codes(reply)
            if not isinstance(found, Unreadable):
                codes = [{"code": code, "description": meant} for code, meant in found.items()]
                return Done(json.dumps({"codes": codes, "tries": len(dialogue.answers)}))
            problem = found.problem
            said: Message = {"role": "assistant", "content": reply if reply.strip() else _texts()["nothing"]}
            messages = (*messages, said, {"role": "user", "content": _texts()["again"].format(problem=problem)})
        return Ask(messages) if len(dialogue.answers) < self._tries else Done(json.dumps({"failed": problem}))


def read_codes(reply: str) -> dict[str, str] | Unreadable:
    """Reads a reply: code in capitals to what it means; one that is named twice has its first description."""
    found = read_object(reply, {"codes": _codes})
    if isinstance(found, Unreadable):
        return found
    codes: dict[str, str] = {}
    for each in found["codes"]:
        codes.setdefault(each["code"].strip().upper(), one_line(each["description"]))
    return codes


def _codes(value: Any) -> str | None:
    if not isinstance(value, list):
        return "must be a list of objects"
    return next((problem for each in value if (problem := _code(each)) is not None), None)


def _code(value: Any) -> str | None:
    if not isinstance(value, Mapping) or set(value) != {"code", "description"}:
        return "must hold objects with the keys code, description and no others"
    if not isinstance(value["code"], str) or not _CODE.fullmatch(value["code"].strip().upper()):
        return "must hold codes of 2 to 9 letters, digits and dots"
    description = value["description"]
    if not is_text().holds(description) or not one_line(description) or len(description) > _LONGEST_DESCRIPTION:
        return f"must hold descriptions of 1 to {_LONGEST_DESCRIPTION} characters"
    return None


_texts = partial(packaged, __file__, "codes_prompt.json")


def load_prompts() -> PromptSet:
    """Makes the prompts; they are ours alone."""
    texts = _texts()

    def render(item: Item) -> tuple[Message, ...]:
        text = texts["case"].format(text=quoted(str(item.fields["text"])))
        return ({"role": "user", "content": "\n\n".join((texts["task"], texts["form"], text))},)

    return PromptSet(name="own", sha256=texts_sha256(*texts.values()), render=render)
