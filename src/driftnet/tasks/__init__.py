"""What is to be learned: tasks as torch-free data."""
