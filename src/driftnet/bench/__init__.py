"""Measurements of speed, made where they are read."""
