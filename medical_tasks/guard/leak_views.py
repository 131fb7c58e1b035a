"""Decodes what bytes and texts may stand for.

`leak_files` decodes every result again, until nothing new comes.

It decodes what programs make of a text by themselves: logs, notebooks, pages, requests,
tokenizers, archives. It does not decode what only somebody who hides a text would write,
such as ROT13, base85 or code points. A guess counts only if it yields text or a known
form, so that hashes and keys are left alone.

What is decoded, up to 8 levels deep:

- **archives**: gzip, bzip2, xz, lzma, zlib, zstd, lz4, zip, tar
- **tables**: parquet, Arrow, XLSX, SQLite with its log, JSON and Python literals within
  texts, delimited text, numpy arrays
- **encoded bytes**: base64, hex (also dumps, numbers, literals), quoted-printable,
  lists of bytes
- **characters**: UTF-8, UTF-16, UTF-32, Windows-1252, escapes of JSON, programs, HTML
  and URLs, misread UTF-8, tag characters
- **split words**: over lines, cells, list elements or fields, after timestamps, levels,
  names, numbers or tags; hyphenation, markup, terminal colours; tokens of GPT-2, T5,
  BERT and BPE; single letters
"""

from __future__ import annotations

import ast
import base64
import contextlib
import csv
import functools
import html
import json
import quopri
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote

from medical_tasks.io.csv_files import FIELD_LIMIT_BYTES

_ROUNDS = 4  # JSON in JSON in a log: escapes of escapes
_ESCAPE = re.compile(
    r"\\(?:u(?:([0-9a-fA-F]{4})|\{([0-9a-fA-F]{1,6})\})|x([0-9a-fA-F]{2})|([0-3][0-7]{2})|([\s\S]))"
)
# UTF-8 that was decoded as another encoding, byte by byte.
_MISREAD = re.compile(
    "[\u00c2-\u00f4](?:[\x80-\xbf\u0152-\u0192\u02c6\u02dc\u2013-\u203a\u20ac\u2122])+"
)
_SIMPLE = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}
_TAG = re.compile(r"<[^<>]*>")
# ASCII as invisible tag characters
_TAG_SIGNS = re.compile("[\U000e0020-\U000e007e]")
_COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")  # and other terminal sequences
_HYPHEN = re.compile(r"(?<=\w)[-\u2010][ \t]*\r?\n[ \t]*")
# not the end of base64
_QUOTED_PRINTABLE = re.compile(r"=[0-9A-F]{2}|(?<![A-Za-z0-9+/_-]{16})=\r?\n")
# Encoded bytes: base64 of both alphabets and hex, over any number of lines. What a search
# looks ahead for spares most words the repeated groups, here and in other patterns.
_RUN = re.compile(
    r"(?=[A-Za-z0-9+/_-]{16})(?:[A-Za-z0-9+/_-]{16,}[ \t\\]{0,2}\r?\n[ \t>]*)*[A-Za-z0-9+/_-]{4,}"
)
_CODED = re.compile(r"[A-Za-z0-9+/=_-]{4,}")
_LONG = re.compile(r"[A-Za-z0-9+/_-]{32}")
_HEX = re.compile(r"(?:[0-9a-fA-F]{2})+")
# characters per line where a program wraps encoded bytes
_WRAPPED = 60, 64, 72, 76, 80
_SEPARATED = re.compile(
    r"(?=[0-9A-Fa-fxX])(?<![0-9A-Za-z])(?:(?:0?[xX])?[0-9A-Fa-f]{1,8}(?:[\s,;:|'\"-]{1,4}|\Z|(?=[\])}]))){12,}"
)
_NUMBER = re.compile(r"(0?[xX])?([0-9A-Fa-f]{1,8})")
_DUMP = re.compile(
    r"(?m)^[ \t]*[0-9a-fA-F]{4,}:?[ \t]+((?:[0-9a-fA-F]{2}){1,2}(?:[ ]{1,2}(?:[0-9a-fA-F]{2}){1,2})*)(?=\s|$)"
)
_LITERAL = re.compile(r"""\bb(?:'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")""")
_VALUE = re.compile(r"[\[{]\s*[\"'(\d-]|\[\s*[\[{]")
_IN_LIST = re.compile(r"\*|(?:token|input|prompt|output)_?ids?$")
_ATTEMPTS = (
    24  # characters that may be parsed without success per character of the text
)
_LITERAL_LIMIT = 2**20
_DIGITS = re.compile(r"\d+")
_HARMLESS_BYTES = bytes(range(32, 127)) + b"\t\n\r\f\b\x1b"
_CONTROLS = bytes(byte for byte in range(32) if byte not in b"\t\n\r\f\b\x1b") + b"\x7f"
# Letters of Europe and typographic signs; numpy keeps strings like this.
_UTF_32 = (
    ("utf-32-le", re.compile(rb"(?:[^\0][\0-\x05\x20]\0\0){16,}")),
    ("utf-32-be", re.compile(rb"(?:\0\0[\0-\x05\x20][^\0]){16,}")),
)
_DENSE = re.compile("(?:\ufffd[^\ufffd]{0,4}){12}")
_UTF_16 = (("utf-16-le", 0), ("utf-16-be", 0), ("utf-16-le", 1), ("utf-16-be", 1))
_FORMS = {  # and how their files begin; a hash may begin with two or three of these bytes by chance
    "gzip": rb"\x1f\x8b\x08[\0-\x1f]",
    "bzip2": rb"BZh[1-9](?:1AY&SY|\x17rE8P)",
    "xz": rb"\xfd7zXZ\0|\x5d\0\0.[\0-\x08](?:\xff{8}|.{5}\0{3})",
    "zstd": rb"\x28\xb5\x2f\xfd",
    "lz4": rb"\x04\x22\x4d\x18",
    "zlib": rb"\x78[\x01\x5e\x9c\xda]",
    "zip": rb"PK(?:\x03\x04|\x05\x06)",
    "tar": rb".{257}ustar",
    "parquet": rb"PAR1",
    "arrow": rb"ARROW1|\xff{4}..[\0-\x0f]\0[\x04-\x40]\0\0\0",
    "sqlite": rb"SQLite format 3\0",
    "log": rb"\x37\x7f\x06[\x82\x83]|\x18\xe2\x2d\0|\xd9\xd5\x05\xf9\x20\xa1\x63\xd7",  # of SQLite, read with its database
    "numpy": rb"\x93NUMPY",
    "pickle": rb"\x80[\x02-\x05](?:\x95.{6}\0\0|[\]\x28}cX\x8c\x58NK\x29\x8f].*\.\Z)",
    "picture": rb"\x89PNG\r\n\x1a\n|\xff\xd8\xff[\xc0-\xfe]|GIF8|RIFF....WEBP|wOF[F2]|OTTO|\0\1\0\0\0",
    "7z files": rb"7z\xbc\xaf\x27\x1c",
    "rar files": rb"Rar!",
    "PDF files": rb"%PDF",
    "compress files": rb"\x1f\x9d",
    "HDF5 files": rb"\x89HDF\r\n",
    "Avro files": rb"Obj\x01",
    "ORC files": rb"ORC[^\n]*\0",
    "encrypted files": rb"Salted__|-----BEGIN PGP MESSAGE|age-encryption\.org/|\$ANSIBLE_VAULT|\x80\0{4}",  # and Fernet
}
_FORM = re.compile(b"|".join(b"(%b)" % form for form in _FORMS.values()), re.DOTALL)


@dataclass(frozen=True)
class Unreadable:
    """Content that cannot be read, with the reason."""

    reason: str


Content = str | bytes | Unreadable


# --- bytes


def detect_format(head: bytes) -> str:
    """Detects a format by its first bytes; "" for none.

    A format whose name is a single word can be read.

    Example:
        >>> [detect_format(head) for head in (b"%PDF-1.7", b"PAR1", b"Fever")]
        ['PDF files', 'parquet', '']
    """
    match = _FORM.match(head)
    form = [*_FORMS][(match.lastindex or 1) - 1] if match else ""
    if form == "zlib":
        try:
            zlib.decompressobj().decompress(head)
        except zlib.error:
            return ""

    return form


def decoded(raw: bytes) -> tuple[list[str], bool]:
    """Returns every text that bytes may stand for, and whether all of them are text."""
    text = raw.decode("utf-8", "replace")
    texts = [text]
    controls = len(raw) - len(raw.translate(None, _CONTROLS))
    broken = text.count("\ufffd")  # a character may be cut at either end
    dense = broken > 12 and bool(_DENSE.search(text))  # other bytes within a text
    whole = broken <= 4 + len(text) // 500 and controls <= 0.3 * len(raw) and not dense
    if b"\0" in raw:
        for encoding, start in _UTF_16:
            wide = raw[start:].decode(encoding, "replace")
            texts.append(wide)
            whole = whole or _legible(wide)

        for encoding, form in _UTF_32:
            matches = [match[0] for match in form.finditer(raw)]
            texts += [match.decode(encoding, "replace") for match in matches]
            whole = whole or sum(map(len, matches)) > 0.9 * len(raw)
    elif broken:
        texts.append(raw.decode("cp1252", "replace"))
        plain = len(raw) - len(raw.translate(None, _HARMLESS_BYTES))
        whole = whole or (
            controls <= 0.01 * len(raw) and plain > 0.7 * len(raw) and not dense
        )

    return texts, whole


def _legible(text: str) -> bool:
    """Returns whether a decoded text looks like prose in a European language.

    Bytes decoded as UTF-16 by mistake give letters of any script, and hardly any blank.
    """
    sample = text[:20_000]
    letters, blanks = sum(map(str.isalpha, sample)), sum(map(str.isspace, sample))
    latin = sum(char < "\u0250" or "\u2000" < char < "\u2070" for char in sample)

    return (
        letters > 0.55 * len(sample)
        and blanks > 0.03 * len(sample)
        and latin > 0.9 * len(sample)
    )


def _is_readable(raw: bytes) -> bool:
    return bool(detect_format(raw)) or decoded(raw)[1]


# --- readings


def readings(text: str) -> Iterator[str]:
    """Yields a text unchanged, without its escapes, and without markup or hyphens.

    Escapes are undone repeatedly, as long as there are any.

    Example:
        >>> list(readings("<b>co&#117;gh</b>"))
        ['<b>co&#117;gh</b>', '<b>cough</b>', ' cough ', 'cough']
    """
    yield text
    if hidden := _TAG_SIGNS.findall(text):
        yield "".join(chr(ord(sign) - 0xE0000) for sign in hidden)

    for _ in range(_ROUNDS):
        plain = _unescaped(text)
        if plain == text:
            break

        text = plain
        yield text

    if "<" in text:
        yield _TAG.sub(" ", text)
        yield _TAG.sub("", text)

    if "\x1b" in text:
        yield _COLOUR.sub("", text)
    if "-" in text and _HYPHEN.search(text):
        yield _HYPHEN.sub("", _TAG.sub(" ", text))


def _unescaped(text: str) -> str:
    """Undoes one round of escapes (JSON, Python, HTML, URLs) and wrong decoding.

    Example: "co%75gh", "co&#117;gh" and "cafÃ©" are "cough", "cough" and "café".
    """
    if "\\" in text:
        # Pairs of surrogates, as JSON writes them, become characters; a lone one
        # separates words.
        text = (
            _ESCAPE.sub(_character, text)
            .encode("utf-16", "surrogatepass")
            .decode("utf-16", "replace")
        )

    if "&" in text:
        text = html.unescape(text)

    if "%" in text:
        text = unquote(
            re.sub(r"%u([0-9a-fA-F]{4})", lambda match: chr(int(match[1], 16)), text),
            errors="replace",
        )

    return text if text.isascii() else _MISREAD.sub(_repaired, text)


def _character(match: re.Match[str]) -> str:
    code = match[1] or match[2] or match[3]
    if match[4]:
        return chr(int(match[4], 8))
    return (
        chr(min(int(code, 16), 0x10FFFF)) if code else _SIMPLE.get(match[5], match[5])
    )


def _repaired(match: re.Match[str]) -> str:
    for encoding in ("latin-1", "cp1252"):
        with contextlib.suppress(UnicodeError):
            return match[0].encode(encoding).decode("utf-8")
    return match[0]


# --- other orders of the words

_LEAD = re.compile(
    r"""(?x) (?: [^\w\n]+ | \[[^\]\n]{0,80}\] | \([^)\n]{0,40}\) | \d[\w.,:/+-]* | \w{1,3}[.)](?=\s)
    | (?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|CRITICAL|FATAL|[A-Z][a-z]{2}(?=\s+\d))\b
    | [\w./@-]{1,40}(?:\[\d+\])?(?::(?=\s)|=|\s-(?=\s)|\s?\|) )+"""
)
_CELL = re.compile(r"[^\s,;|:=]+")
_COUNTED = re.compile(r"(?<![^\W_])\d+(?![^\W_])")
_MEASURED = re.compile(r"-?\d+\.\d{2,}(?:[eE]-?\d+)?|-?\d(?:\.\d+)?[eE]-\d+")
_TAGGED = re.compile(r"(?<!\S)([^\s/|:=_]+)[/|:=_](\S+)")
_SPACED = re.compile(r"(?<!\w\w)(?<=\w)[ \n,.-](?=\w(?!\w))")
_LETTERS = re.compile(r"\b\w[ \n,.-]+(?:\w[ \n,.-]+){11}")
_JOINED = re.compile(r"@@[\s'\",]+|(?<![\s'\",])[\s'\",]+##")
_MARK = re.compile("[\u0120\u2581]|</w>")
_BETWEEN = re.compile(r"""['",\s\[\]]+""")
_LEAST_LINES = 3
_COLUMNS = 12
_LONG_LINE = 250  # in longer lines of prose a run of words is within one line


def _byte_letters() -> dict[int, int]:
    """Maps the code points that GPT-2's tokens use for bytes to these bytes."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    return {256 + number: byte for number, byte in enumerate(others)}


_BYTE_LETTERS = _byte_letters()


def rearranged(text: str) -> Iterator[str]:
    """Yields the words of a text in orders that they may have had before.

    That is, before a program numbered, tagged, split or listed them.

    Example: a log with a time before each word.
        >>> log = ["12:01 INFO fever", "12:02 INFO cough", "12:03 INFO rash"]
        >>> "fever cough rash" in rearranged(chr(10).join(log))
        True
    """
    for view in (text, *_by_lines(text)):
        if view is not text:
            yield view

        if _MARK.search(view):
            whole = _MARK.sub(" ", _BETWEEN.sub("", view))
            yield whole
            with contextlib.suppress(UnicodeError):
                yield whole.translate(_BYTE_LETTERS).encode("latin-1").decode("utf-8")

        if "##" in view or "@@" in view:
            yield _JOINED.sub("", view)

    yield from _without_numbers(text)
    words = text.split()
    often, count = Counter(words).most_common(1)[0] if words else ("", 0)
    if count * 4 > len(words) > 12:  # a separator between all others
        yield " ".join(word for word in words if word != often)

    if len(tagged := _TAGGED.findall(text)) >= _LEAST_LINES:
        yield " ".join(word for word, _ in tagged)
        yield " ".join(tag for _, tag in tagged)

    if _LETTERS.search(text):
        yield _SPACED.sub("", text)


def _by_lines(text: str) -> Iterator[str]:
    """Yields the lines without their prefixes, and the columns that they may have."""
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) < _LEAST_LINES or len(text) > _LONG_LINE * len(lines):
        return

    yield from _without_leads(lines)
    rows = [_CELL.findall(line) for line in lines]
    before, after = _framed(rows), _framed([row[::-1] for row in rows])
    if before or after:
        yield " ".join(" ".join(row[before : len(row) - after]) for row in rows)
    if sum(map(len, rows)) > 2 * _COLUMNS * len(rows):
        return

    for number in range(_COLUMNS):
        column = [row[number] for row in rows if len(row) > number]
        if len(column) >= _LEAST_LINES:
            yield "\n".join(column)


def _without_leads(lines: Sequence[str]) -> Iterator[str]:
    """Yields the lines without numbers, times and names before them: all, and by kind of prefix."""
    rests: list[str] = []
    kinds: dict[str, list[str]] = {}
    for line in lines:
        lead = _LEAD.match(line)
        start = lead.end() if lead else 0
        rests.append(line[start:])
        kinds.setdefault(_DIGITS.sub("0", line[:start]), []).append(line[start:])

    if kinds.keys() == {""}:
        return

    yield "\n".join(rests)
    if not 1 < len(kinds) < len(lines) / 2:
        return

    for kind in kinds.values():
        if len(kind) >= _LEAST_LINES:
            before = _framed([line.split() for line in kind])
            yield "\n".join(_after(line, before) for line in kind)


def _after(line: str, words: int) -> str:
    """Returns a line without its first words."""
    return (line.split(None, words) or [""])[-1] if words else line


def _framed(rows: Sequence[Sequence[str]]) -> int:
    """Counts the leading cells that are alike in nearly all rows: numbers, or a few words."""
    sample = rows[:: max(1, len(rows) // 2000)]
    for number in range(_COLUMNS):
        column = [row[number] for row in sample if len(row) > number]
        often = sum(count for _, count in Counter(column).most_common(4) if count > 1)
        numbers = sum(any(map(str.isdigit, cell)) for cell in column)
        if max(often, numbers) < 0.8 * len(sample):
            return number

    return _COLUMNS


def _without_numbers(text: str) -> Iterator[str]:
    """Yields a text without the numbers that a program put between its words.

    Once without consecutive numbers, and once without all numbers.

    Example: "1 fever 2 and 3 cough" becomes "fever and cough", apart from blanks.
    """
    numbers = len(_COUNTED.findall(text)) if text.count("1") * 200 > len(text) else 0
    if numbers < _LEAST_LINES or numbers * 25 < len(text):
        return

    expected = -1

    def counted(match: re.Match[str]) -> str:
        nonlocal expected
        number = int(match[0]) if len(match[0]) < 12 else -2
        if number not in (0, 1, expected):
            return match[0]

        expected = number + 1
        return " "

    plain = _MEASURED.sub(" ", text)
    yield _COUNTED.sub(counted, plain)
    yield _COUNTED.sub(" ", plain)


# --- what is stored in a text


def stored_contents(text: str) -> Iterator[Content]:
    """Yields what is stored in a text: joined values of one path, encoded bytes, lists of numbers.

    Example: a text stored word by word is joined with blanks and, since a word is split,
    without them.
        >>> list(dict.fromkeys(stored_contents('["fev", "er ", "and cough"]')))
        ['fev er  and cough', 'fever and cough']
    """
    yield from encoded(text)
    yield from _escaped(text)
    yield from _numbered(text)
    values = Values(whole=True)
    for value in _values_in(text):
        if isinstance(value, Unreadable):
            yield value
        else:
            yield from values.add(value)

    yield from _cells(text)
    yield from values.rest()


def encoded(text: str) -> Iterator[bytes]:
    """Yields the bytes that a text holds in base64 or hex.

    Example:
        >>> packed = base64.b64encode(b"A patient with fever for three days.").decode()
        >>> list(encoded(f"reply: {packed}"))
        [b'A patient with fever for three days.']
    """
    if _LONG.search(text):
        for match in _RUN.finditer(text):
            lines = match[0].replace(">", " ").replace("\\", " ").split()
            packed = "".join(lines)
            if len(packed) < 40:
                continue

            raw = (_unpacked if len(packed) < 200 else _unpacked.__wrapped__)(packed)
            # A column of hashes is not a message that was wrapped.
            wrapped = len(lines[0]) in _WRAPPED and not (
                len(lines[0]) == 64 and _HEX.fullmatch(lines[0])
            )
            if len(lines) == 1 or wrapped or _is_readable(raw):
                yield raw


@functools.lru_cache(maxsize=2**13)
def _unpacked(packed: str) -> bytes:
    """Decodes hex or base64, after up to three other letters."""
    if _HEX.fullmatch(packed[: len(packed) // 2 * 2]):
        raw = bytes.fromhex(packed[: len(packed) // 2 * 2])
        if _is_readable(raw) or len(set(packed.lower())) <= 16:
            return raw

    letters = packed.replace("=", "").replace("-", "+").replace("_", "/")
    starts = [
        letters[start : len(letters) - ((len(letters) - start) % 4 == 1)]
        for start in range(4)
    ]
    tried = [base64.b64decode(start + "=" * (-len(start) % 4)) for start in starts]

    return next((raw for raw in tried if _is_readable(raw)), tried[0])


def _escaped(text: str) -> Iterator[bytes]:
    """Yields bytes that were written as text with escapes; they may be binary."""
    if "=" in text and len(_QUOTED_PRINTABLE.findall(text)) > 2:
        yield quopri.decodestring(text.encode("utf-8", "surrogatepass"))

    if "\\x" in text or "\\0" in text:
        for match in _LITERAL.finditer(text):
            with contextlib.suppress(ValueError, SyntaxError):
                yield ast.literal_eval(match[0])

    if not text.isascii() and detect_format(text[:16].encode("latin-1", "replace")):
        # bytes that a program decoded as characters
        with contextlib.suppress(UnicodeError):
            yield text.encode("latin-1")


def _numbered(text: str) -> Iterator[Content]:
    """Yields what sequences of numbers stand for: `104, 101, 32` or `68:65:20` are bytes of "he "."""
    for match in _SEPARATED.finditer(text):
        marked_numbers = _NUMBER.findall(match[0])
        numbers = [number for _, number in marked_numbers]
        if all(map(str.isdigit, numbers)) and not any(
            mark for mark, _ in marked_numbers
        ):
            listed = text[match.start() - 1 : match.start()] in ("[", "(")
            yield from _of_numbers([*map(int, numbers)], listed=listed)

        if {*map(len, numbers)} == {2} and _is_readable(
            raw := bytes.fromhex("".join(numbers))
        ):
            yield raw

    dump = [line.split() for line in _DUMP.findall(text)]
    if len(dump) > 1 and _is_readable(
        raw := b"".join(bytes.fromhex("".join(line))[:16] for line in dump)
    ):
        yield raw


def _of_numbers(
    numbers: Sequence[int], *, listed: bool, tokens: bool = True
) -> Iterator[Content]:
    """Yields what whole numbers stand for: bytes, or tokens of an unknown vocabulary."""
    if len(numbers) < 12 or min(numbers) < 0:
        return

    if max(numbers) < 256:
        if _is_readable(raw := bytes(numbers)) and (listed or len(set(numbers)) > 8):
            yield raw
        elif listed and len(numbers) > 256 and len(set(numbers)) > 100:
            yield Unreadable("lists of bytes of an unknown form")
    elif (
        listed
        and tokens
        and max(numbers) < 2**20
        and len(set(numbers)) * 3 > len(numbers)
        and [*numbers] != sorted(numbers)
    ):
        yield Unreadable("lists of whole numbers that may be tokens of a text")


def _values_in(text: str) -> Iterator[object]:
    """Yields the JSON values and Python literals anywhere in a text; nested ones only once."""
    decoder, at, spent = json.JSONDecoder(strict=False), 0, 0
    end = last = -1  # where the line ends, and its last closing bracket
    while match := _VALUE.search(text, at):
        start, at = match.start(), match.start() + 1
        if spent > _ATTEMPTS * len(text) + 10**6:
            yield Unreadable("more brackets than can be tried")
            return

        try:
            value, at = decoder.raw_decode(text, start)
            yield value
            continue
        except (ValueError, RecursionError) as error:
            spent += getattr(error, "pos", start + 1000) - start

        if start > end:
            end = text.find("\n", start) % (len(text) + 1)
            last = max(text.rfind(sign, start, end) for sign in "])}")

        if "'" in text[start : start + 300] and last - start <= _LITERAL_LIMIT:
            spent += 8 * max(last - start, 0)  # literals take longer
            with contextlib.suppress(
                ValueError, SyntaxError, MemoryError, RecursionError, TypeError
            ):
                yield ast.literal_eval(text[start : last + 1])
                at = last


def _cells(text: str) -> Iterator[Content]:
    """Yields the columns of a text that is a table with commas, semicolons, tabs or bars."""
    head = [line for line in text[:20_000].splitlines()[:40] if line.strip()]
    for delimiter in ",;\t|":
        counts = [line.count(delimiter) for line in head]
        usual, lines = Counter(counts).most_common(1)[0] if counts else (0, 0)
        if not usual or lines < max(_LEAST_LINES, 0.8 * len(counts)):
            continue

        csv.field_size_limit(max(csv.field_size_limit(), FIELD_LIMIT_BYTES))
        values = Values(whole=False)
        with contextlib.suppress(csv.Error):  # not a table after all
            for row in csv.reader(text.splitlines(keepends=True), delimiter=delimiter):
                yield from values.add(
                    {
                        f"column {chr(97 + number % 26)}{number // 26 * 'x'}": cell
                        for number, cell in enumerate(row)
                    }
                )

        yield from values.rest()


_KEPT_STRINGS = 200_000
_FEW_NUMBERS = 4
# strings of a path that are yielded again after there were too many to keep
_SHARED_STRINGS = 64


@dataclass
class Values:
    """Strings, field names, bytes and whole numbers in values, by path.

    So a text that is stored word by word becomes a text again.

    Attributes:
        whole: whether all strings are also joined, as one more path.
        strings: by path.
        numbers: whole numbers by path.
        longest: the length of the longest list at a path.
        blobs: bytes that are not text.
    """

    whole: bool = False
    strings: dict[tuple[str, ...], list[str]] = field(default_factory=dict)
    numbers: dict[tuple[str, ...], list[int]] = field(default_factory=dict)
    longest: dict[tuple[str, ...], int] = field(default_factory=dict)
    blobs: list[bytes] = field(default_factory=list)

    def collect(self, value: object, path: tuple[str, ...] = ()) -> None:
        """Adds a value: dicts, lists, strings, bytes and numbers; ignores anything else."""
        if isinstance(value, bytes):
            text = value.decode("utf-8", "replace")
            if "\ufffd" in text or "\0" in text or detect_format(value):
                self.blobs.append(value)

            value = text

        if isinstance(value, str):
            self.strings.setdefault(path, []).append(value)
            if self.whole:
                self.strings.setdefault(("**",), []).append(value)
        elif isinstance(value, dict):
            for name, inner in value.items():
                self.strings.setdefault((*path, ""), []).append(str(name))
                self.collect(inner, (*path, _DIGITS.sub("#", str(name))))
        elif isinstance(value, list | tuple | set):
            self.longest[*path, "*"] = max(
                len(value), self.longest.get((*path, "*"), 0)
            )
            mixed = any(isinstance(inner, str) for inner in value)
            for inner in value:
                number = mixed and isinstance(inner, int | float)
                self.collect(str(inner) if number else inner, (*path, "*"))
        elif isinstance(value, int) and not isinstance(value, bool):
            self.numbers.setdefault(path, []).append(value)

    def add(self, value: object) -> Iterator[Content]:
        """Adds a value; yields what was collected when there is too much to keep."""
        self.collect(value)
        if (
            sum(map(len, self.strings.values())) + sum(map(len, self.numbers.values()))
            > _KEPT_STRINGS
        ):
            yield from self.rest()
            self.strings = {
                path: strings[-_SHARED_STRINGS:]
                for path, strings in self.strings.items()
            }
            self.numbers = {
                path: numbers[-_SHARED_STRINGS:]
                for path, numbers in self.numbers.items()
            }
            self.blobs = []

    def rest(self) -> Iterator[Content]:
        """Yields what was collected."""
        for strings in self.strings.values():
            yield " ".join(strings)
            letters = sum(map(len, strings)) < 2.5 * len(strings)
            cut = sum(
                string[:1] == " " or string[-1:] == " " for string in strings
            ) * 4 > len(strings)
            coded = all(map(_CODED.fullmatch, strings))
            if len(strings) > 1 and (letters or cut):
                yield "".join(strings)

            if (
                len(strings) > 1
                and coded
                and _is_readable(raw := _unpacked("".join(strings)))
            ):
                yield raw

        for path, numbers in self.numbers.items():
            # Two or three numbers may be the bytes of one token, but not a text in
            # tokens.
            tokens = self.longest.get(path, _FEW_NUMBERS) >= _FEW_NUMBERS
            yield from _of_numbers(
                numbers,
                listed=bool(_IN_LIST.search(path[-1] if path else "")),
                tokens=tokens,
            )

        yield from self.blobs
