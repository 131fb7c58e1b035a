"""How the app looks: Gradio's theme in the report's colours and the system's fonts, our style sheets and script."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from medical_tasks.report.page_assets import assets_text, component_styles

if TYPE_CHECKING:
    import gradio

__all__ = ["head", "own_assets_text", "theme"]

_SANS: Final = (
    "system-ui",
    "-apple-system",
    "Segoe UI",
    "Roboto",
    "Helvetica Neue",
    "Arial",
    "Noto Sans",
    "sans-serif",
)
_MONO: Final = ("ui-monospace", "SFMono-Regular", "Menlo", "Consolas", "DejaVu Sans Mono", "monospace")
# Light and dark; the same as in the report's tokens.css.
_COLOURS: Final = {
    "body_background_fill": ("#ffffff", "#14181c"),
    "background_fill_primary": ("#ffffff", "#14181c"),
    "background_fill_secondary": ("#f5f7f9", "#1c2126"),
    "body_text_color": ("#1b2127", "#e5e9ed"),
    "body_text_color_subdued": ("#515c67", "#a7b1bb"),
    "block_background_fill": ("#ffffff", "#14181c"),
    "block_label_background_fill": ("#ffffff", "#14181c"),
    "block_label_text_color": ("#515c67", "#a7b1bb"),
    "block_title_text_color": ("#515c67", "#a7b1bb"),
    "border_color_primary": ("#dde2e7", "#2f363d"),
    "block_border_color": ("#dde2e7", "#2f363d"),
    "color_accent_soft": ("#e6eff8", "#1d3043"),
    "input_background_fill": ("#ffffff", "#14181c"),
    "input_border_color": ("#8b96a1", "#6b7681"),
    "input_border_color_focus": ("#1c5691", "#8abaea"),
    "input_placeholder_color": ("#515c67", "#a7b1bb"),
    "button_primary_background_fill": ("#1c5691", "#8abaea"),
    "button_primary_background_fill_hover": ("#164574", "#a9cdf1"),
    "button_primary_text_color": ("#ffffff", "#14181c"),
    "button_secondary_background_fill": ("#f5f7f9", "#1c2126"),
    "button_secondary_background_fill_hover": ("#e6eff8", "#1d3043"),
    "button_secondary_text_color": ("#1b2127", "#e5e9ed"),
    "button_secondary_border_color": ("#8b96a1", "#6b7681"),
    "link_text_color": ("#1c5691", "#8abaea"),
}


@cache
def own_assets_text(name: str) -> str:
    """Reads an asset of the leaderboard's own."""
    return files("medical_tasks.leaderboard").joinpath("assets", name).read_text(encoding="utf-8").replace("\r\n", "\n")


def head() -> str:
    """Makes what goes into the page's head: styles and scripts, all of them our own and written out."""
    styles = "\n".join([component_styles(), own_assets_text("space.css")])
    scripts = "\n".join([assets_text("table.js"), own_assets_text("space.js")])
    return f"<style>\n{styles}\n</style>\n<script>\n{scripts}\n</script>"


def theme() -> gradio.themes.Base:
    """Makes the theme. Fonts are the system's: Gradio would ask another host for its own."""
    import gradio as gr
    from gradio.themes.utils.fonts import Font

    made = gr.themes.Base(
        font=[Font(name) for name in _SANS], font_mono=[Font(name) for name in _MONO], radius_size="sm", text_size="md"
    )
    settings: dict[str, Any] = {}
    for name, (light, dark) in _COLOURS.items():
        settings |= {name: light, f"{name}_dark": dark}
    # It has no dark twin; the style sheet gives it one.
    return made.set(**settings, color_accent="#1c5691")
