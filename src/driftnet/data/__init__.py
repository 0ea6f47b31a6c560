"""Trajectories on disk and in memory."""
