"""Is f(n1, n2) = h(g1(n1) + g2(n2))? Decided exactly, with a witness or a certificate, and what that predicts."""

from modgrok.separable.certificates import (
    check_obstruction as check_obstruction,
    check_witness as check_witness,
    proof_of as proof_of,
    verdict_to_json as verdict_to_json,
)
from modgrok.separable.classification import (
    Classification as Classification,
    FamilyVerdict as FamilyVerdict,
    classify_table as classify_table,
)
from modgrok.separable.decision import decide as decide
from modgrok.separable.measures.redundancy import redundancy as redundancy, redundancy_of_split as redundancy_of_split
from modgrok.separable.reductions.finite_groups import decide_group as decide_group
from modgrok.separable.reductions.grouping import decide_grouped as decide_grouped, one_against_rest as one_against_rest
from modgrok.separable.reductions.orders import Orders as Orders, smallest_group as smallest_group
from modgrok.separable.reductions.partial import predicted as predicted
from modgrok.separable.verdict import Obstruction as Obstruction, Verdict as Verdict, Witness as Witness
