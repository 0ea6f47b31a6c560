"""Models in closed loop, beside baselines."""
