"""EHRNote-ChatQA: conversations about a patient's discharge notes, each answer with its source."""
