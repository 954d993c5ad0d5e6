"""One module per command: `add_arguments`, `run` (computes, returns the JSON object) and `show` (prints it)."""
