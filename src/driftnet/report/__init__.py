"""What a person reads of the results."""
