"""What is known of a function before, and after, a small training."""
