"""The 66 semantic types that count in MEDCON: those of seven semantic groups (2018) of the UMLS Semantic Network.

Procedures, living beings and concepts are not among them: "CABG" or "chest x-ray" never count.
Source: the definition of MEDCON in Yim et al., ACI-BENCH (2023), https://www.nature.com/articles/s41597-023-02487-3
"""

from __future__ import annotations

__all__ = ["GROUPS", "MEDCON_TYPES"]

GROUPS = {
    "Anatomy": "T017 T018 T021 T022 T023 T024 T025 T026 T029 T030 T031",
    "Chemicals & Drugs": (
        "T103 T104 T109 T114 T116 T120 T121 T122 T123 T125 T126 T127 T129 T130 T131 T192 T195 T196 T197 T200"
    ),
    "Devices": "T074 T075 T203",
    "Disorders": "T019 T020 T033 T037 T046 T047 T048 T049 T050 T184 T190 T191",
    "Genes & Molecular Sequences": "T028 T085 T086 T087 T088",
    "Phenomena": "T034 T038 T067 T068 T069 T070",
    "Physiology": "T032 T039 T040 T041 T042 T043 T044 T045 T201",
}

MEDCON_TYPES = frozenset(" ".join(GROUPS.values()).split())
