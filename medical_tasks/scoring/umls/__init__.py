"""Concepts of the UMLS in texts: an index over the user's own Metathesaurus files, and matchers over it.

    index      the index on disk, built once from MRCONSO.RRF and MRSTY.RRF
    matcher    texts to concepts; `medical_tasks.scoring.content_overlap.medcon` scores two texts' concepts

The UMLS needs a licence of one's own (free, https://uts.nlm.nih.gov/uts/signup-login); nothing of it is in this package.
"""
