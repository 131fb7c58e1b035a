"""What models of entailment call their labels, and one label from several windows."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from medical_tasks.errors import UsageError
from medical_tasks.judges.base import Label

__all__ = ["LABEL_SETS", "THREE_WAY", "TWO_WAY", "combine", "read_label", "read_labels"]

TWO_WAY: frozenset[Label] = frozenset({"entailment", "not_entailment"})
THREE_WAY: frozenset[Label] = frozenset({"entailment", "neutral", "contradiction"})
LABEL_SETS = (THREE_WAY, TWO_WAY)

_SPELLINGS: Mapping[Label, str] = {
    "entailment": "entailment entail entails entailed e supports support supported",
    "neutral": "neutral neutrality n neither notenoughinfo nei unknown undetermined",
    "contradiction": "contradiction contradict contradicts contradicted contradictory c refutes refute refuted",
    "not_entailment": "notentailment notentail notentails notentailed nonentailment nonentailed noentailment ne",
}
_LABELS: Mapping[str, Label] = {word: label for label, words in _SPELLINGS.items() for word in words.split()}
_CAUTIOUS: Mapping[Label, int] = {"not_entailment": 0, "neutral": 0, "contradiction": 1, "entailment": 2}


def read_label(name: str) -> Label | None:
    """Reads one label name (`ENTAILMENT`, `non-entailment`, `Contradicts`, `NOT ENOUGH INFO`); None when it says nothing."""
    return _LABELS.get(re.sub(r"[\s_\-]+", "", name).casefold())


def read_labels(config: Mapping[str, object], given: str | None, *, model: str) -> tuple[Label, ...]:
    """Finds what the outputs of a classifier mean.

    Args:
        config: its `config.json`.
        given: the option `labels`, which goes before the config; None when it was not given.
        model: its name, for messages.

    Returns:
        The label of each output, in order: all three of a three-way model, or both of a two-way model.

    Raises:
        UsageError: The names mean nothing, are not one of the two sets, or are of another number than the outputs.
    """
    names = _config_names(config)
    if given is not None:
        listed = [name.strip() for name in given.split(",")]
        if len(listed) != len(names):
            raise UsageError(f"{model}: labels={given} names {len(listed)} labels, the model has {len(names)} outputs.")
        names = listed
    labels = [read_label(name) for name in names]
    found = tuple(label for label in labels if label is not None)
    if len(found) == len(names) == len(set(found)) and frozenset(found) in LABEL_SETS:
        return found
    where = "labels" if given is not None else "the label names in its config.json"
    raise UsageError(
        f"{model}: {where} must be entailment, neutral and contradiction, or entailment and not_entailment; got "
        f"{', '.join(names)}. Say what its outputs mean, in their order (its card tells): labels=contradiction,neutral,entailment "
        "(in double quotes where arguments are separated by commas)."
    )


def _config_names(config: Mapping[str, object]) -> list[str]:
    names = config.get("id2label")
    if isinstance(names, Mapping) and names:
        order = sorted(names, key=lambda key: (not str(key).isdecimal(), int(key) if str(key).isdecimal() else 0))
        return [str(names[key]) for key in order]
    count = config.get("num_labels", 2)  # what transformers takes when a config says nothing
    return [f"LABEL_{number}" for number in range(count if isinstance(count, int) else 2)]


def combine(windows: Sequence[Sequence[float]], labels: Sequence[Label]) -> Label:
    """Makes one label of the windows of a premise.

    Each window says what it holds most likely (at a tie: the more cautious, entailment last). Entailment, if a window says
    so with a probability at least as high as that of any window that says contradiction; else contradiction, if a window
    says so; else neutral. Windows that are neutral decide nothing: what a statement needs stands in one place.
    Two-way: entailment, if the largest probability of entailment among the windows is above one half.

    Args:
        windows: probabilities of each window, windows x labels, at least one window.
        labels: what the columns mean.
    """
    surest: dict[Label, float] = {}
    for row in windows:
        chances = dict(zip(labels, row, strict=True))
        said = min(chances, key=lambda label: (-chances[label], _CAUTIOUS[label]))
        surest[said] = max(surest.get(said, 0.0), chances[said])
    entailed, denied = surest.get("entailment"), surest.get("contradiction")
    if entailed is not None and (denied is None or entailed >= denied):
        return "entailment"
    if denied is not None:
        return "contradiction"
    return "neutral" if "neutral" in labels else "not_entailment"
