"""What the board shows, how to take part, and what was checked."""

from __future__ import annotations

from medical_tasks.benchmarks.catalog import BENCHMARKS
from medical_tasks.leaderboard.app.cells import STATE_WORDS, badge
from medical_tasks.report.html_text import Markup, escaped, link, markup

__all__ = ["about_page"]

_STEPS = (
    ("Run the tasks", "medical-tasks run --tasks medcalc --model hf/OWNER/MODEL --out runs/my-model"),
    (
        "Make a package of the run",
        "medical-tasks submit runs/my-model --to space --model-name 'My model' --organisation 'My group' --out my-model.zip",
    ),
    ("See whether it holds", "medical-tasks verify my-model.zip"),
)
_RULES = (
    "A number never stands alone: it has a 95 % interval, and how many of the items asked were scored.",
    "Entries are ranked inside a group alone: the same task version, data, prompts, judge and settings of scoring.",
    "A rank is a range. Where the intervals of two models overlap, both can hold the place, and the table says so.",
    "Failures are not answers: an item the machinery lost is unscored, with its reason and what it could change; a wrong or "
    "unreadable answer counts as wrong.",
    "Numbers of a judge that compares words understand nothing; they carry a warning and are no result.",
    "Figures from papers are shown as their authors print them, with how their setting differs, and without a rank.",
)
_KEPT = (
    "Of open data a package holds the answers, so that anybody can score them again. Of credentialed data it holds ids, scores "
    "and hashes, and no text of notes, questions, answers or judges.",
    "The content hash of a package says that nothing was changed since it was made. It does not say who made it: that is what "
    "scoring again is for.",
    "A package that is refused leaves nothing behind. One that is handed in stays in the store with every decision about it, also "
    "when it is rejected.",
)


def about_page() -> Markup:
    """Writes the page."""
    steps = "".join(
        f'<li>{escaped(title)}<pre tabindex="0" role="region" aria-label="{escaped(title)}">'
        f"<code>{escaped(command)}</code></pre></li>"
        for title, command in _STEPS
    )
    states = "".join(
        f"<div><dt>{badge(state)}</dt><dd>{escaped(words)}</dd></div>" for state, words in STATE_WORDS.items()
    )
    benchmarks = "".join(
        f"<li>{link(benchmark.title, benchmark.paper)}: {escaped(', '.join(task.name for task in benchmark.tasks))}</li>"
        for benchmark in BENCHMARKS
    )
    return markup(
        '<h2 class="mtl-title">About this leaderboard</h2>',
        '<p class="mtl-lead">Five medical benchmarks for language models, scored by one suite, medical-tasks, with the same rules '
        "for everybody.</p>",
        f'<h3>How to take part</h3><ol class="mtl-steps">{steps}</ol>',
        "<p>Then upload the zip file under Submit. The same run always gives the same package; handing it in twice changes "
        "nothing.</p>",
        f"<h3>Rules</h3><ul>{_items(_RULES)}</ul>",
        f'<h3>What the states mean</h3><dl class="mtl-facts mtl-states">{states}</dl>',
        f"<h3>What is kept</h3><ul>{_items(_KEPT)}</ul>",
        f"<h3>Benchmarks and their tasks</h3><ul>{benchmarks}</ul>",
    )


def _items(texts: tuple[str, ...]) -> str:
    return "".join(f"<li>{escaped(text)}</li>" for text in texts)
