"""Readers of every file format, torch-free; `reader.open_reader` is the door."""
