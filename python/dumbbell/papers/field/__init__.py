"""Six results of the field beside ours: what papers by others say that every user of BBR, Copa or Prague has read.

Their raw numbers are not public, and their texts give few. A claim has the paper's number where the text has one, and
says "direction" where it has none.
"""

from dumbbell.papers.field import bbr3, cacm, prague, shades, starvation, ware
from dumbbell.papers.model import Study

STUDY = Study(
    name="field",
    title="Six results of the field",
    reference="Cardwell et al., CACM 2017; Ware et al., IMC 2019; Turkovic et al., arXiv:1903.03852; "
    "Arun et al., SIGCOMM 2022; Gomez et al., Computer Communications 2024; Sarpkaya et al., ANRW 2024",
    parts=(cacm.PART, ware.PART, shades.PART, starvation.PART, bbr3.PART, prague.PART),
    subject=("bbr", "bbr3", "copa", "prague"),
    rivals=("cubic",),
)
