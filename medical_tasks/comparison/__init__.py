"""Runs beside one another, and metrics beside people."""
