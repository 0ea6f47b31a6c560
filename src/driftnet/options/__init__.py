"""Options of the commands, torch-free; what stands below a field is its help."""
