"""The shell of a page: one file that asks nobody for anything, and forbids the browser to."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence

from medical_tasks.report.html_text import Markup, escaped
from medical_tasks.report.page_assets import assets_text

__all__ = ["document"]


def document(
    title: str, body: Markup, *, styles: Sequence[str], scripts: Sequence[str], early: Sequence[str] = ()
) -> str:
    """Puts a page together.

    Args:
        title: of the window.
        body: what the page shows.
        styles: names of style sheets among the assets.
        scripts: names of scripts among the assets, in the order in which they run, after the page is read.
        early: likewise, before anything is shown.

    Returns:
        The document. Its policy lets only these very styles and scripts work (by their hashes), pictures only where they are
        part of the page, and no request, form or frame at all; script or style that came in with a text would stay dead.
    """
    style = "\n" + "\n".join(assets_text(name) for name in styles)
    first, code = (["\n" + assets_text(name) for name in names] for names in (early, scripts))
    policy = "; ".join(
        [
            "default-src 'none'",
            f"style-src {_hash(style)}",
            "script-src " + (" ".join(map(_hash, [*first, *code])) or "'none'"),
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
    lines = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="referrer" content="no-referrer">',
        '<meta name="color-scheme" content="light dark">',
        f"<title>{escaped(title)}</title>",
        # Without an icon of its own a page makes the browser ask for one.
        '<link rel="icon" href="data:,">',
        f"<style>{style}</style>",
        *(f"<script>{text}</script>" for text in first),
        "</head>",
        '<body class="mt mt-page">',
        body,
        *(f"<script>{text}</script>" for text in code),
        "</body>",
        "</html>",
        "",
    ]
    return "\n".join(lines)


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
