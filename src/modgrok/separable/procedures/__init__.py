"""What decides: guesses of a placement, complete searches, and proofs that there is none."""
