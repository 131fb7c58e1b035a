"""XML from outside: what is read, and that nothing in it can expand, point elsewhere or be quoted."""

from __future__ import annotations

import pytest

from medical_tasks.io.xml_files import DEPTH_LIMIT, PlainXmlError, xml_root

BOMB = b'<!DOCTYPE a [<!ENTITY b "bbbb"><!ENTITY c "&b;&b;">]><a>&c;</a>'
OUTSIDE = b'<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>'


def nested(depth: int) -> bytes:
    return b"<a>" * depth + b"</a>" * depth


def test_a_document() -> None:
    root = xml_root(
        b'\xef\xbb\xbf<?xml version="1.0"?><a b="1"><!-- no --><c>x&#8217;&amp;&lt;</c></a>', limit_bytes=100
    )
    assert (root.tag, root.attrib, [each.tag for each in root], root[0].text) == ("a", {"b": "1"}, ["c"], "x\u2019&<")


def test_its_bounds() -> None:
    assert xml_root(nested(DEPTH_LIMIT), limit_bytes=1_000).tag == "a"
    with pytest.raises(PlainXmlError, match="elements within one another deeper than 64"):
        xml_root(nested(DEPTH_LIMIT + 1), limit_bytes=1_000)
    with pytest.raises(PlainXmlError, match="elements within one another deeper than 64"):
        xml_root(nested(300_000), limit_bytes=10_000_000)
    assert xml_root(b"<a/>", limit_bytes=4).tag == "a"
    with pytest.raises(PlainXmlError, match="has 4 bytes, more than 3"):
        xml_root(b"<a/>", limit_bytes=3)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (BOMB, "declares entities"),
        (OUTSIDE, "declares entities"),
        (b'<?xml version="1.0" encoding="UTF-7"?>' + BOMB, "declares entities"),
        (b'<!DOCTYPE a SYSTEM "http://example.org/a.dtd"><a/>', "declares entities"),
        (BOMB.decode().encode("utf-16"), r"not UTF-8 \(byte 0\)"),
        (BOMB.decode().encode("utf-16-le"), "not whole: it has a character with the code 0"),
        (BOMB.decode().encode("utf-16-be"), "not whole: it has a character with the code 0"),
        (b"<a>\xff</a>", r"not UTF-8 \(byte 3\)"),
        (b"<a>\n <marble></a>", "not whole: mismatched tag, line 2, column 12"),
        (b"<a>&marble;</a>", "not whole: undefined entity, line 1, column 4"),
        (b"<a>marble", "not whole: no element found"),
        (b"", "not whole: no element found"),
        (b"<a>\0</a>", "not whole"),
        (b"<a/><b/>", "not whole: junk after document element"),
        (b'<a b="1" b="2"/>', "not whole: duplicate attribute"),
    ],
)
def test_what_is_none(data: bytes, message: str) -> None:
    with pytest.raises(PlainXmlError, match=message) as caught:
        xml_root(data, limit_bytes=1_000)
    assert "marble" not in str(caught.value)
