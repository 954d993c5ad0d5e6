"""Is f(n1, n2) = h(g1(n1) + g2(n2))? Decided exactly, with a witness or a certificate."""

from modgrok.separable.checkers import check_obstruction, check_witness
from modgrok.separable.decision import decide
from modgrok.separable.verdict import Obstruction, Verdict, Witness

__all__ = ["Obstruction", "Verdict", "Witness", "check_obstruction", "check_witness", "decide"]
