"""Zhang's evaluation of BBR and its variants: fairness, loss, delay and coexistence of eight algorithms.

The study ran QUIC-like flows in ns-3.26. All of its tables and figures with numbers are here, and the two statements
about algorithms that can be seen in a run.
"""

from dumbbell.papers.model import Study
from dumbbell.papers.zhang import algorithms, table1, table3, table4, table5, table7

STUDY = Study(
    name="zhang",
    title="An evaluation of BBR and its variants",
    reference="S. Zhang, An Evaluation of BBR and its variants, arXiv:1909.03673, 2019; code: "
    "SoonyangZhang/DrainQueueCongestion",
    parts=(algorithms.PART, table1.PART, table3.PART, table4.PART, table5.PART, table7.PART),
    subject=("bbr-dqc", "bbr-prime", "bbrplus-dqc", "tsunami-dqc", "bbr-plus-hsr", "bbr2-quic"),
    rivals=("cubic-quic", "reno-quic"),
)
