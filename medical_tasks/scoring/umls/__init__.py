"""Concepts of the UMLS in texts: an index over the user's own Metathesaurus files, and matchers over it.

    index.py           the index on disk, built once; rrf.py reads MRCONSO.RRF and MRSTY.RRF
    terms.py           how terms are written in the index and looked up
    spans.py           which stretches of a text are looked up, by variant; tokens.py cuts the text
    matcher.py         texts to concepts; medical_tasks.scoring.content_overlap scores two texts' concepts

The UMLS needs a licence of one's own (free, https://uts.nlm.nih.gov/uts/signup-login); nothing of it is in this package.
"""
