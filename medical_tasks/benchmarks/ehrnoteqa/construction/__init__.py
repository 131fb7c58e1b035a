"""The paper's way to such a benchmark, for a hospital's own notes (sections 3.1 to 3.3, appendices C and F.2).

lengths          every patient's number of notes and tokens (`tokens`), in one pass over the file
sample           patients of each level and number of notes, drawn by a seed
draft            a question with five choices for each of them, by a model (`prompts`, `replies`, `protocol`)
sheet            review sheets for clinicians (`cells` writes and reads them), shared out by `shares`
review           edited sheets, checked and merged; `revision` says what was changed and counts it
answer_sheet     models' answers, blinded, for clinicians to mark; `answer_scores` reads the marks

medical-tasks construct ehrnoteqa sample --source discharge.csv.gz --folder FOLDER
medical-tasks construct ehrnoteqa generate --folder FOLDER --model MODEL
medical-tasks construct ehrnoteqa sheet --folder FOLDER --reviewers NAME,NAME,NAME
medical-tasks construct ehrnoteqa import --folder FOLDER SHEET...
"""
