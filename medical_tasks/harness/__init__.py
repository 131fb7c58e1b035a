"""Adapters that hand this suite's tasks to lighteval and inspect, beside each benchmark's two task files."""
