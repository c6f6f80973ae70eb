"""BBR-ACD: what its three forms do on the testbed and in the simulation of its paper.

Mahmud and others let BBR's window react to losses that come with congestion. The paper, its kernel module and its ns-3
code each do something else; all three run here, beside the BBR they started from.
"""

from dumbbell.papers.bbr_acd import alpha, fig1, netem, port, rule, simulation, table2, valley
from dumbbell.papers.model import Study

STUDY = Study(
    name="bbr-acd",
    title="BBR-ACD: BBR with advanced congestion detection",
    reference="I. Mahmud, G.-H. Kim, T. Lubna, Y.-Z. Cho, BBR-ACD: BBR with Advanced Congestion Detection, Electronics "
    "9(1):136, 2020; code: imtiaztee/BBR-ACD-Linux-Kernel-Code, imtiaztee/BBR-ACD-complete-NS3-implementation",
    parts=(fig1.PART, table2.PART, valley.PART, netem.PART, simulation.PART, port.PART, rule.PART, alpha.PART),
    subject=("bbr-acd", "bbr-acd-paper", "bbr-acd-ns3"),
    rivals=("bbr-4.14", "bbr-ns3-3.41", "cubic"),
)
