"""The DiSCQ questions whose answers the paper's three clinicians judged, one hundred each (table 12)."""

from __future__ import annotations

from medical_tasks.errors import UsageError

__all__ = ["CLINICIANS", "DISCQ_ROWS", "paper_clinicians", "paper_sample"]

DISCQ_ROWS = 1089
"""Of `discq_questions_final.csv`, without its header (paper, section 4.3)."""

_ROWS = {
    "A": (
        "519 0 276 238 537 62 775 716 439 334 407 43 275 319 413 23 45 267 162 418 880 203 210 456 823 1011 202 778 "
        "4 15 116 802 106 222 234 815 435 768 2 383 467 546 402 509 707 939 385 720 508 1019 47 801 94 794 205 104 "
        "393 394 65 73 68 564 514 1013 91 67 957 905 702 357 534 297 254 64 452 374 408 410 147 825 289 736 830 415 "
        "220 436 117 420 271 1033 984 382 265 433 182 934 788 741 985 840"
    ),
    "B": (
        "582 341 1057 1074 457 548 870 783 26 952 714 100 931 797 1020 958 597 543 51 475 989 583 838 204 152 127 "
        "464 280 8 422 30 82 180 195 307 315 1083 911 346 700 326 827 1010 795 78 89 388 1053 330 291 871 358 1015 "
        "841 527 263 292 738 14 96 535 183 164 155 704 1042 852 441 839 54 1043 58 781 160 432 75 517 1035 466 740 "
        "708 264 40 787 39 566 5 513 1002 739 846 258 332 367 79 361 114 938 994 340"
    ),
    "C": (
        "595 344 1070 1076 465 567 876 800 27 954 732 98 935 817 1021 980 686 563 52 485 987 596 848 200 130 118 "
        "476 279 7 428 29 87 158 190 303 313 1084 932 348 709 329 842 1012 816 83 90 390 1054 335 288 877 360 1017 "
        "851 539 259 290 747 9 95 547 161 156 148 713 1051 875 450 849 55 1052 59 798 153 438 80 528 1039 477 765 "
        "718 260 38 803 37 587 6 524 1003 748 872 257 336 368 84 363 111 942 995 343"
    ),
}

CLINICIANS = tuple(_ROWS)
"""As the paper calls them."""


def paper_sample(clinician: str) -> tuple[int, ...]:
    """Returns the questions of one clinician.

    Args:
        clinician: `A`, `B` or `C`.

    Returns:
        One hundred rows of `discq_questions_final.csv`, from 0, in the paper's order; the clinicians share none.

    Raises:
        UsageError: There is no such clinician.
    """
    if clinician not in _ROWS:
        raise UsageError(f"clinician must be one of {', '.join(CLINICIANS)} (paper, table 12), got {clinician!r}.")
    return tuple(map(int, _ROWS[clinician].split()))


def paper_clinicians() -> dict[int, str]:
    """Returns row to clinician, for the three hundred rows of the sample."""
    return {row: clinician for clinician in CLINICIANS for row in paper_sample(clinician)}
