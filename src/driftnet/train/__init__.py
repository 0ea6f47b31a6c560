"""Fitting a model to data."""
