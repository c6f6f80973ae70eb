"""Kato's sixteen flows: why BBR starves flows in ns-3.40 and not in ns-3.44.

Kato and others ran 16 BBR flows over a link with little buffer in two versions of ns-3 and left open which change
between them made the unfairness go away. Their table and figures are here, the answer, and the same load for today's
algorithms.
"""

from dumbbell.papers.kato import buffers, causes, heatmap, port, setups, table2, windows
from dumbbell.papers.model import Study

STUDY = Study(
    name="kato",
    title="BBR under heavy load in ns-3",
    reference="Kato et al., on the throughput of TCP BBR under heavy load in ns-3, IARIA 2025; ns-3.40 and ns-3.44",
    parts=(table2.PART, causes.PART, port.PART, setups.PART, windows.PART, buffers.PART, heatmap.PART),
    subject=("bbr-ns3-3.41", "bbr-ns3", "bbr"),
    rivals=("cubic",),
)
