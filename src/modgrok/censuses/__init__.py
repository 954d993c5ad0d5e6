"""A census: many tables, many networks, one row each, and what they say about generalisation."""
