"""Ten invented multiple-choice questions: the smallest complete benchmark."""
