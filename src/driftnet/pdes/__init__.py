"""Equations, solved in torch on any device."""
