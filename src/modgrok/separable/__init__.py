"""Is f(n1, n2) = h(g1(n1) + g2(n2))? Decided exactly, with a witness or a certificate, and what that predicts."""

from modgrok.separable.checkers import check_obstruction, check_witness
from modgrok.separable.classification import Classification, FamilyVerdict, classify_table
from modgrok.separable.decision import decide
from modgrok.separable.grouping import decide_grouped, one_against_rest
from modgrok.separable.redundancy import redundancy, redundancy_of_split
from modgrok.separable.verdict import Obstruction, Verdict, Witness

__all__ = [
    "Classification",
    "FamilyVerdict",
    "Obstruction",
    "Verdict",
    "Witness",
    "check_obstruction",
    "check_witness",
    "classify_table",
    "decide",
    "decide_grouped",
    "one_against_rest",
    "redundancy",
    "redundancy_of_split",
]
