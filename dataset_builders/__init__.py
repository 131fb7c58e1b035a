"""Hub folders of the dataset builders; shipped as data, imported by nothing."""
