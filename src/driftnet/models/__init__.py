"""Operators: one state in, the next state out."""
