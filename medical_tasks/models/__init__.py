"""Models under test behind one interface (`base.Model`): local ones, served ones, baselines."""
