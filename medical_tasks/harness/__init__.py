"""Adapters that hand this suite's tasks to lighteval and inspect. The only modules, beside each benchmark's two task files, that import them."""
