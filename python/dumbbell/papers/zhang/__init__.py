"""Zhang's evaluation of BBR and its variants: fairness, loss, delay and coexistence of eight algorithms.

The study ran QUIC-like flows in ns-3.26. All of its tables and figures with numbers are here, and the two statements
about algorithms that can be seen in a run.
"""

from dumbbell.papers.model import OldPart as Part
from dumbbell.papers.model import Study
from dumbbell.papers.zhang import algorithms, table1, table3, table4, table5, table7

STUDY = Study(
    name="zhang",
    title="An evaluation of BBR and its variants",
    reference="S. Zhang, An Evaluation of BBR and its variants, arXiv:1909.03673, 2019; code: "
    "SoonyangZhang/DrainQueueCongestion",
    parts=(
        Part("algorithms", algorithms.TITLE, algorithms.CLAIMS, algorithms.reproduce),
        Part("table1", table1.TITLE, table1.CLAIMS, table1.reproduce),
        Part("table3", table3.TITLE, table3.CLAIMS, table3.reproduce),
        Part("table4", table4.TITLE, table4.CLAIMS, table4.reproduce),
        Part("table5", table5.TITLE, table5.CLAIMS, table5.reproduce),
        Part("table7", table7.TITLE, table7.CLAIMS, table7.reproduce),
    ),
)
