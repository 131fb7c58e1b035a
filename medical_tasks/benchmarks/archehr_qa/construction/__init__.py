"""The paper's way to such a benchmark, for a hospital's own messages and notes (sections Alignment to Validation).

posts        messages that speak of a hospital stay
codes        what admissions were coded with; `expand` puts such words behind notes and posts (`prompts`, `protocol`)
align        the notes that fit each post best (`bm25`, in constant memory, over `notes`), on a sheet to choose from
cases        chosen pairs (`choosing`): a post, and a note in numbered sentences
sheet        annotation sheets, a round at a time (`rounds`); `review` reads them back (`readings`)
release      the official files of what was annotated
agreement    between rounds and between annotators

medical-tasks construct archehr filter --source posts.csv --folder FOLDER
medical-tasks construct archehr expand --folder FOLDER --codes diagnoses_icd.csv.gz --dictionary d_icd_diagnoses.csv.gz
medical-tasks construct archehr align --folder FOLDER --source discharge.csv.gz
medical-tasks construct archehr sheet --folder FOLDER --reviewers NAME,NAME
medical-tasks construct archehr import --folder FOLDER SHEET...
medical-tasks construct archehr agreement --folder FOLDER
"""
