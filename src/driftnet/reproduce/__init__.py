"""Every experiment of the paper: recipes to parts, parts to results, results to tables."""
