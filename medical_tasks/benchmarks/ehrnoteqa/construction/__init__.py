"""The paper's way to such a benchmark, for a hospital's own notes (sections 3.1 to 3.3, appendices C and F.2).

The steps, described in docs/ehrnoteqa_construction.md:

    medical-tasks construct ehrnoteqa sample --source discharge.csv.gz --folder FOLDER
    medical-tasks construct ehrnoteqa generate --folder FOLDER --model MODEL
    medical-tasks construct ehrnoteqa sheet --folder FOLDER --reviewers NAME,NAME,NAME
    medical-tasks construct ehrnoteqa import --folder FOLDER SHEET...
"""
