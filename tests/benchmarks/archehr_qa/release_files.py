"""Small files in the official format.

Their texts contain words that no message may quote.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SECRET = "swallowed a marble"
NARRATIVE = f"My son {SECRET}. Is that bad?"
PHRASE = (
    f'<phrase id="0" start_char_index="{NARRATIVE.index("Is")}">Is that bad?</phrase>'
)
# Two paragraphs, the second with a wrapped line.
SENTENCES = (
    ("1", "0", 0, "Course:"),
    ("2", "1", 0, f"He {SECRET}."),
    ("3", "1", 23, "It was\nremoved."),
)
EXCERPT = f"Course:\n\nHe {SECRET}. It was\nremoved."


def sentence(name: str, paragraph: str, offset: int | str | None, text: str) -> str:
    start = "" if offset is None else f' start_char_index="{offset}"'
    return f'<sentence id="{name}" paragraph_id="{paragraph}"{start} length="9">\n{text}\n   </sentence>'


def case(
    name: str = "1",
    *,
    sentences: str | None = None,
    excerpt: str = EXCERPT,
    **changes: str,
) -> str:
    numbered = (
        "\n".join(sentence(*fields) for fields in SENTENCES)
        if sentences is None
        else sentences
    )
    parts = {
        "narrative": f"<patient_narrative>\n{NARRATIVE}\n    </patient_narrative>",
        "question": f"<patient_question>{PHRASE}</patient_question>",
        "clinician": f"<clinician_question>Is it bad that he {SECRET}?</clinician_question>",
        "note": f"<note_excerpt>\n{excerpt}\n  </note_excerpt>",
        "numbered": f"<note_excerpt_sentences>{numbered}</note_excerpt_sentences>",
        **changes,
    }
    return f'<case id="{name}">{"".join(parts.values())}</case>'


def write_cases(folder: Path, *cases: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "archehr-qa.xml"
    path.write_text(f"<annotations>{''.join(cases)}</annotations>", encoding="utf-8")
    return path


def labels(*relevance: str) -> list[dict[str, str]]:
    return [
        {"sentence_id": str(number), "relevance": label}
        for number, label in enumerate(relevance, start=1)
    ]


def key(name: str = "1", **changes: Any) -> dict[str, Any]:
    record = {
        "case_id": name,
        "answers": labels("not-relevant", "essential", "supplementary"),
        "later": {"field": 1},
    }
    return {
        field: value for field, value in (record | changes).items() if value is not None
    }


def write_json(folder: Path, name: str, records: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"archehr-qa_{name}.json"
    path.write_text(json.dumps(records), encoding="utf-8")
    return path
