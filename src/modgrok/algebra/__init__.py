"""Finite fields, expressions and polynomials: text -> tree -> value table."""
