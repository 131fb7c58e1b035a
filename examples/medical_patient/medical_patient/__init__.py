"""History taking: a second model plays a patient, and the model under test asks and decides."""
