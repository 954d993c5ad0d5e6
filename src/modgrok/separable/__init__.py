"""Is f(n1, n2) = h(g1(n1) + g2(n2))? Decided exactly, with a witness or a certificate, and what that predicts."""

from modgrok.separable.certificates import check_obstruction, check_witness, proof_of, verdict_to_json
from modgrok.separable.classification import Classification, FamilyVerdict, classify_table
from modgrok.separable.decision import decide
from modgrok.separable.measures.redundancy import redundancy, redundancy_of_split
from modgrok.separable.reductions.finite_groups import decide_group
from modgrok.separable.reductions.grouping import decide_grouped, one_against_rest
from modgrok.separable.reductions.orders import Orders, smallest_group
from modgrok.separable.reductions.partial import predicted
from modgrok.separable.verdict import Obstruction, Verdict, Witness

__all__ = [
    "Classification",
    "FamilyVerdict",
    "Obstruction",
    "Orders",
    "Verdict",
    "Witness",
    "check_obstruction",
    "check_witness",
    "classify_table",
    "decide",
    "decide_group",
    "decide_grouped",
    "one_against_rest",
    "predicted",
    "proof_of",
    "redundancy",
    "redundancy_of_split",
    "smallest_group",
    "verdict_to_json",
]
