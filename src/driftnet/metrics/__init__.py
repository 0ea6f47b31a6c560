"""Errors and statistics of fields: pure functions."""
