"""What a table measures without a decision: redundancy, complexity, symmetries."""
