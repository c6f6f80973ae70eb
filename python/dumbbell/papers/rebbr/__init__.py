"""ReBBR: BBR's loss tolerance measured again on Linux 4.11 over Mahimahi.

Hsiao and Muindi repeated figure 8 of the BBR paper and varied it. Two of their figures are here: random
loss on a 100 Mbit/s link (figure 1) and on a recorded LTE uplink (figure 5).
"""

from dumbbell.papers.model import Study
from dumbbell.papers.rebbr import fig1, fig5

STUDY = Study(
    name="rebbr",
    title="ReBBR: how much random loss BBR and CUBIC stand",
    reference="L. Hsiao, J. Muindi, ReBBR, course project of CS244, Stanford University, 2017; code and data: "
    "jervisfm/rebbr",
    parts=(fig1.PART, fig5.PART),
)
