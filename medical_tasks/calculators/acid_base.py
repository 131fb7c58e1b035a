"""Acid and base: the anion gap and what is derived from it."""

from __future__ import annotations

from typing import Final

from medical_tasks.calculators.base import calculator
from medical_tasks.calculators.errors import CalculatorInputError
from medical_tasks.calculators.labs import ALBUMIN_G_DL, BICARBONATE_MMOL_L, CHLORIDE_MMOL_L, SODIUM_MMOL_L
from medical_tasks.calculators.trace import Say, quiet

__all__ = [
    "albumin_corrected_anion_gap",
    "albumin_corrected_delta_gap",
    "albumin_corrected_delta_ratio",
    "anion_gap",
    "delta_gap",
    "delta_ratio",
]

_IONS: Final = (SODIUM_MMOL_L, CHLORIDE_MMOL_L, BICARBONATE_MMOL_L)
_NORMAL_GAP: Final = 12
_NORMAL_BICARBONATE: Final = 24
_DELTA_SOURCE: Final = "Wrenn K. Ann Emerg Med 1990;19:1310-1313 (normal gap 12)."
_RATIO_SOURCE: Final = "Rastegar A. J Am Soc Nephrol 2007;18:2429-2431 (normal gap 12, bicarbonate 24)."
_FIGGE: Final = "Figge J et al. Crit Care Med 1998;26:1807-1810"


@calculator(
    id=39,
    name="Anion Gap",
    category="lab",
    output="decimal",
    unit="mEq/L",
    inputs=_IONS,
    source="Emmett M, Narins RG. Medicine 1977;56:38-54 (without potassium).",
)
def anion_gap(*, sodium_mmol_l: float, chloride_mmol_l: float, bicarbonate_mmol_l: float, say: Say = quiet) -> float:
    """Anion gap in mEq/L: Na − (Cl + HCO₃); potassium is left out.

    Source: Emmett and Narins, Medicine 1977;56:38-54.
    """
    gap = sodium_mmol_l - (chloride_mmol_l + bicarbonate_mmol_l)
    say(
        f"Anion gap = sodium − (chloride + bicarbonate) = {sodium_mmol_l:.6g} − ({chloride_mmol_l:.6g} + "
        f"{bicarbonate_mmol_l:.6g}) = {gap:.6g} mEq/L."
    )
    return gap


@calculator(
    id=65,
    name="Albumin Corrected Anion Gap",
    category="lab",
    output="decimal",
    unit="mEq/L",
    inputs=(*_IONS, ALBUMIN_G_DL),
    source=f"{_FIGGE}.",
)
def albumin_corrected_anion_gap(
    *,
    sodium_mmol_l: float,
    chloride_mmol_l: float,
    bicarbonate_mmol_l: float,
    albumin_g_dl: float,
    say: Say = quiet,
) -> float:
    """Anion gap in mEq/L corrected for albumin: gap + 2.5 · (4 − albumin g/dL).

    Source: Figge et al., Crit Care Med 1998;26:1807-1810.
    """
    gap = anion_gap(
        sodium_mmol_l=sodium_mmol_l, chloride_mmol_l=chloride_mmol_l, bicarbonate_mmol_l=bicarbonate_mmol_l, say=say
    )
    corrected = gap + 2.5 * (4 - albumin_g_dl)
    say(
        f"Corrected gap = gap + 2.5 × (4 − albumin) = {gap:.6g} + 2.5 × (4 − {albumin_g_dl:.6g}) = {corrected:.6g} mEq/L."
    )
    return corrected


def _delta_gap(gap: float, say: Say) -> float:
    delta = gap - _NORMAL_GAP
    say(f"Delta gap = gap − {_NORMAL_GAP} = {gap:.6g} − {_NORMAL_GAP} = {delta:.6g} mEq/L.")
    return delta


def _delta_ratio(delta: float, bicarbonate_mmol_l: float, say: Say) -> float:
    fall = _NORMAL_BICARBONATE - bicarbonate_mmol_l
    if fall == 0:
        raise CalculatorInputError(
            f"Bicarbonate: the delta ratio divides by {_NORMAL_BICARBONATE} − bicarbonate and has no value at "
            f"{_NORMAL_BICARBONATE} mmol/L; got {bicarbonate_mmol_l:g} mmol/L. Use the delta gap"
        )
    ratio = delta / fall
    say(
        f"Delta ratio = delta gap / ({_NORMAL_BICARBONATE} − bicarbonate) = {delta:.6g} / ({_NORMAL_BICARBONATE} − "
        f"{bicarbonate_mmol_l:.6g}) = {ratio:.6g}."
    )
    return ratio


@calculator(
    id=63,
    name="Delta Gap",
    category="lab",
    output="decimal",
    unit="mEq/L",
    inputs=_IONS,
    source=_DELTA_SOURCE,
)
def delta_gap(*, sodium_mmol_l: float, chloride_mmol_l: float, bicarbonate_mmol_l: float, say: Say = quiet) -> float:
    """Delta gap in mEq/L: anion gap − 12.

    Source: Wrenn, Ann Emerg Med 1990;19:1310-1313.
    """
    gap = anion_gap(
        sodium_mmol_l=sodium_mmol_l, chloride_mmol_l=chloride_mmol_l, bicarbonate_mmol_l=bicarbonate_mmol_l, say=say
    )
    return _delta_gap(gap, say)


@calculator(
    id=64,
    name="Delta Ratio",
    category="lab",
    output="decimal",
    inputs=_IONS,
    source=_RATIO_SOURCE,
)
def delta_ratio(*, sodium_mmol_l: float, chloride_mmol_l: float, bicarbonate_mmol_l: float, say: Say = quiet) -> float:
    """Delta ratio: (anion gap − 12) / (24 − HCO₃).

    Source: Rastegar, J Am Soc Nephrol 2007;18:2429-2431.

    Raises:
        CalculatorInputError: bicarbonate is 24 mmol/L, where the ratio has no value.
    """
    gap = anion_gap(
        sodium_mmol_l=sodium_mmol_l, chloride_mmol_l=chloride_mmol_l, bicarbonate_mmol_l=bicarbonate_mmol_l, say=say
    )
    return _delta_ratio(_delta_gap(gap, say), bicarbonate_mmol_l, say)


@calculator(
    id=66,
    name="Albumin Corrected Delta Gap",
    category="lab",
    output="decimal",
    unit="mEq/L",
    inputs=(*_IONS, ALBUMIN_G_DL),
    source=f"{_FIGGE}; {_DELTA_SOURCE}",
)
def albumin_corrected_delta_gap(
    *,
    sodium_mmol_l: float,
    chloride_mmol_l: float,
    bicarbonate_mmol_l: float,
    albumin_g_dl: float,
    say: Say = quiet,
) -> float:
    """Delta gap in mEq/L of the albumin-corrected anion gap: corrected gap − 12.

    Source: Figge et al., Crit Care Med 1998;26:1807-1810, with Wrenn, Ann Emerg Med 1990;19:1310-1313.
    """
    gap = albumin_corrected_anion_gap(
        sodium_mmol_l=sodium_mmol_l,
        chloride_mmol_l=chloride_mmol_l,
        bicarbonate_mmol_l=bicarbonate_mmol_l,
        albumin_g_dl=albumin_g_dl,
        say=say,
    )
    return _delta_gap(gap, say)


@calculator(
    id=67,
    name="Albumin Corrected Delta Ratio",
    category="lab",
    output="decimal",
    inputs=(*_IONS, ALBUMIN_G_DL),
    source=f"{_FIGGE}; {_RATIO_SOURCE}",
)
def albumin_corrected_delta_ratio(
    *,
    sodium_mmol_l: float,
    chloride_mmol_l: float,
    bicarbonate_mmol_l: float,
    albumin_g_dl: float,
    say: Say = quiet,
) -> float:
    """Delta ratio of the albumin-corrected anion gap: (corrected gap − 12) / (24 − HCO₃).

    Source: Figge et al., Crit Care Med 1998;26:1807-1810, with Rastegar, J Am Soc Nephrol 2007;18:2429-2431.

    Raises:
        CalculatorInputError: bicarbonate is 24 mmol/L, where the ratio has no value.
    """
    gap = albumin_corrected_anion_gap(
        sodium_mmol_l=sodium_mmol_l,
        chloride_mmol_l=chloride_mmol_l,
        bicarbonate_mmol_l=bicarbonate_mmol_l,
        albumin_g_dl=albumin_g_dl,
        say=say,
    )
    return _delta_ratio(_delta_gap(gap, say), bicarbonate_mmol_l, say)
