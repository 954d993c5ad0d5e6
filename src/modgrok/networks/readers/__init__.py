"""Other people's networks: what can be called, tables of logits, and files of weights."""
