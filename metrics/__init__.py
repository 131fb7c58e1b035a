"""Hub folders of the evaluate metrics; shipped as data, imported by nothing."""
