"""ReBBR: BBR's loss tolerance measured again on Linux 4.11 over Mahimahi.

Hsiao and Muindi repeated figure 8 of the BBR paper and varied algorithm, rate, round-trip time, link and windows.
"""

from dumbbell.papers.model import Study
from dumbbell.papers.rebbr import fig1, fig2, fig3, fig4, fig5, fig6, today, window16

STUDY = Study(
    name="rebbr",
    title="ReBBR: how much random loss BBR and CUBIC stand",
    reference="L. Hsiao, J. Muindi, ReBBR, course project of CS244, Stanford University, 2017; code and data: "
    "jervisfm/rebbr",
    parts=(fig1.PART, fig2.PART, fig3.PART, fig4.PART, fig5.PART, fig6.PART, window16.PART, today.PART),
    subject=("bbr",),
    rivals=("cubic",),
)
