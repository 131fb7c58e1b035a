"""Style sheets and scripts that pages carry with them, from the package's `assets/` folder."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

__all__ = ["COMPONENT_STYLES", "EARLY_SCRIPTS", "PAGE_SCRIPTS", "PAGE_STYLES", "assets_text", "component_styles"]

# What tables and plots need, wherever they stand: every rule is below a `.mt` element, every variable is `--mt-...`.
COMPONENT_STYLES = ("tokens.css", "table.css", "plots.css")
PAGE_STYLES = (*COMPONENT_STYLES, "page.css", "items.css", "print.css")
EARLY_SCRIPTS = ("theme.js",)
PAGE_SCRIPTS = ("page.js", "table.js", "item_store.js", "item_detail.js", "items.js")


@cache
def assets_text(name: str) -> str:
    r"""Reads an asset.

    Args:
        name: its file name, such as `table.js`.

    Returns:
        Its text, with `\\n` line ends, as a page's hash of it takes for granted.
    """
    return files("medical_tasks.report").joinpath("assets", name).read_text(encoding="utf-8").replace("\r\n", "\n")


def component_styles() -> str:
    """Joins the style sheets of tables and plots, for another page than the report's; wrap them in `<div class="mt">`.

    The colours follow `prefers-color-scheme`; `data-theme="light|dark"` on the root element, or a `.dark` or `.light` class
    around the `.mt` element, overrules it.
    """
    return "\n".join(assets_text(name) for name in COMPONENT_STYLES)
