"""The paper's way to such a benchmark, for a hospital's own messages and notes (sections Alignment to Validation).

posts        messages that speak of a hospital stay
codes        words for diagnosis codes, put behind notes and posts
align        the notes that fit each post best, on a sheet to choose from
rounds       cases of the chosen pairs, a round of annotation at a time
sheets       annotation sheets; `review` reads them back, measures agreement and writes the official files

medical-tasks construct archehr filter --source posts.csv --folder FOLDER
medical-tasks construct archehr expand --folder FOLDER --codes diagnoses_icd.csv.gz --dictionary d_icd_diagnoses.csv.gz
medical-tasks construct archehr align --folder FOLDER --source discharge.csv.gz
medical-tasks construct archehr sheet --folder FOLDER --reviewers NAME,NAME
medical-tasks construct archehr import --folder FOLDER SHEET...
medical-tasks construct archehr agreement --folder FOLDER
"""
