"""The BBR family beside its published promises: the measurements behind ``docs/algorithms/bbr.md``.

Not one paper but what the authors of the three versions say of them, each put to runs in our simulator, with the
pictures that explain the state machines, and one table over all variants.
"""

from dumbbell.papers.family import buffers, coexistence, ecn, loss, states, variants
from dumbbell.papers.model import Study

STUDY = Study(
    name="family",
    title="The BBR family beside its promises",
    reference="Cardwell et al., ACM Queue 14(5), 2016; draft-cardwell-iccrg-bbr-congestion-control-02; "
    "draft-ietf-ccwg-bbr; the commit message of Linux's BBRv3; RFC 9743",
    parts=(states.PART, variants.PART, buffers.PART, coexistence.PART, ecn.PART, loss.PART),
)
