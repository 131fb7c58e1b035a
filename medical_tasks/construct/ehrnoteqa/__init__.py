"""The paper's way to such a benchmark, for a hospital's own notes (sections 3.1 to 3.3, appendices C and F.2).

The steps of `medical-tasks construct ehrnoteqa` are described in docs/ehrnoteqa_construction.md.
"""
