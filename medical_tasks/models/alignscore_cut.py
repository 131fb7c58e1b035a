"""Where a pair that is too long for AlignScore is cut."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["cut_pair", "kept_lengths"]


def kept_lengths(context: int, claim: int, room: int) -> tuple[int, int]:
    """How many tokens of each side stay.

    The context alone is cut, at its end, as long as a token of it is left. Where the claim leaves no room for one, both are cut:
    the longer one until they are equal, then both.

    Args:
        context: tokens it has.
        claim: tokens it has.
        room: tokens both can have together, special ones left out.
    """
    if context + claim <= room:
        return context, claim
    if claim < room:
        return room - claim, claim
    shorter, longer = min(context, claim), max(context, claim)
    longer = max(shorter, room - shorter)
    if shorter + longer > room:
        shorter, longer = room // 2, room - room // 2
    return (longer, shorter) if context > claim else (shorter, longer)


def cut_pair(sides: Sequence[int | None], longest: int) -> list[int]:
    """The places of a tokenised pair's tokens that stay.

    Args:
        sides: for each token whether it is of the first text (0), of the second (1), or special (None).
        longest: most tokens of the pair, special ones included.
    """
    context, claim = sides.count(0), sides.count(1)
    left = dict(zip((0, 1), kept_lengths(context, claim, longest - (len(sides) - context - claim)), strict=True))
    places = []
    for place, side in enumerate(sides):
        if side is not None:
            left[side] -= 1
            if left[side] < 0:
                continue
        places.append(place)
    return places
