"""Settings that a server refuses, and what is sent in their place.

Reasoning models refuse settings that every server accepted before: `max_tokens` (they
want `max_completion_tokens`), `temperature` other than 1, `stop`. The suite's own
defaults among these are renamed or left out, once for all calls, and the recipe records
it. A setting of the user's is never left out: the run ends, and the message names it.

A refusal of OpenAI's form:

    {"error": {"message": "Unsupported parameter: 'max_tokens' is not supported with this
    model. Use 'max_completion_tokens' instead.", "param": "max_tokens",
    "code": "unsupported_parameter"}}
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from medical_tasks.io.patterns import Pattern

_REFUSED: Final = Pattern(
    r"unsupported|not support|no longer support|unrecognized|unknown|unexpected|not permitted|not allowed|"
    r"deprecated|not available|invalid (?:parameter|argument|field)|cannot both be|only the default",
    re.IGNORECASE,
)
"""How servers say that they do not support a setting."""
_CODES: Final = ("unsupported_parameter", "unsupported_value", "unknown_parameter")
_NAME: Final = Pattern(r"[A-Za-z][A-Za-z_]*(?:\.[A-Za-z_]+)*")
_OTHER_NAME: Final = {
    "max_tokens": "max_completion_tokens",
    "max_completion_tokens": "max_tokens",
}
_NO_SETTINGS: Final = (
    "model", "messages", "n", "logprobs", "top_logprobs", "prompt_logprobs",
    "add_generation_prompt", "continue_final_message",
)  # fmt: skip
"""Fields of a request that are not settings."""
LEFT_OUT: Final = "left out"


def refused_names(error: object) -> tuple[str, ...]:
    """Returns the words of an error body that may name the refused setting, the likeliest first.

    Empty where it refuses none. The words are only ever compared with the names of
    fields that were sent, since a server may quote the question.

    Args:
        error: the body of a response with status 400 or 422.

    Example:
        >>> message = "Unsupported parameter: 'stop'"
        >>> refused_names({"error": {"message": message, "param": "stop"}})
        ('stop', 'Unsupported', 'parameter')
        >>> refused_names({"error": {"message": "The model is overloaded"}})
        ()
    """
    inner = error.get("error", error) if isinstance(error, dict) else None
    if isinstance(inner, list) and inner:  # some gateways wrap it once more
        inner = inner[0]
    if not isinstance(inner, dict):
        inner = {"message": error.get("error")} if isinstance(error, dict) else {}

    message = inner.get("message") or inner.get("detail") or ""
    message = message if isinstance(message, str) else str(message)
    parameter, code = inner.get("param"), inner.get("code")
    if code not in _CODES and not _REFUSED.search(message):
        return ()

    names = [parameter] if isinstance(parameter, str) else []
    return tuple(dict.fromkeys([*names, *_NAME.findall(message)]))


@dataclass
class Adaptations:
    """Changes to requests because the server refuses a setting; shared by all calls.

    Attributes:
        own: the suite's own settings; only these may be left out.
        changes: maps a setting to the name it is sent under, or to `LEFT_OUT`.
        reported: the changes already reported to the user.

    Example:
        >>> adaptations = Adaptations(own=frozenset({"temperature"}))
        >>> adaptations.learn({"temperature": 0.0, "max_tokens": 9}, ["temperature"])
        True
        >>> adaptations.applied({"temperature": 0.0, "max_tokens": 9})
        {'max_tokens': 9}
    """

    own: frozenset[str] = frozenset()
    changes: dict[str, str] = field(default_factory=dict)
    reported: set[str] = field(default_factory=set)

    def report(self, where: str) -> None:
        """Prints each change once: the refused setting, and what is sent instead."""
        for name in [name for name in self.changes if name not in self.reported]:
            change = self.changes[name]
            sent = "is left out" if change == LEFT_OUT else f"is sent as {change}"
            print(
                f"note: {where} refuses {name}, which {sent} from now on",
                file=sys.stderr,
                flush=True,
            )
            self.reported.add(name)

    def applied(self, body: Mapping[str, object]) -> dict[str, object]:
        """Returns the adapted body of a request."""
        sent = {}
        for name, value in body.items():
            change = self.changes.get(name, name)
            if change != LEFT_OUT:
                sent[change] = value
        return sent

    def learn(self, sent: Mapping[str, object], refused: Sequence[str]) -> bool:
        """Learns from a refused body; returns whether the next one will differ.

        It will not if the refused setting is the user's, or was already changed.

        Args:
            sent: the body that was refused.
            refused: the `refused_names` of the error.
        """
        name = setting_refused(sent, refused)
        if name is None or name not in self.own or name in self.changes.values():
            return False

        # Calls in flight when the first one was refused learn the same again.
        self.changes[name] = _OTHER_NAME.get(name, LEFT_OUT)
        return True


def setting_refused(sent: Mapping[str, object], refused: Sequence[str]) -> str | None:
    """Returns the setting of a body that a server refuses; None where the error names none.

    Example:
        >>> setting_refused({"model": "m", "stop": ["END"]}, ["Unsupported", "stop"])
        'stop'
    """
    return next(
        (name for name in refused if name in sent and name not in _NO_SETTINGS), None
    )
