"""BBR-n: BBR for senders on Wi-Fi.

Ahsan and Muhammad let BBR probe and burst more and queue longer below TCP, so that Wi-Fi has more to aggregate. Here
are their simulation of STARTUP, and their uploads and RRUL tests over a model of the client's Wi-Fi with either kind of
device that the client may have had.
"""

from dumbbell.papers.bbr_n import choices, courses, gains, rrul, single, startup, tsq, uploads
from dumbbell.papers.model import Study

STUDY = Study(
    name="bbr-n",
    title="BBR-n: increased throughput for wireless with BBR",
    reference="M. Ahsan, S. S. Muhammad, BBR-n: Increased throughput for wireless with BBR, PLOS ONE 18(12):e0295576, "
    "2023; code and measurements: mahsan76/BBR-n",
    parts=(startup.PART, single.PART, courses.PART, uploads.PART, rrul.PART, gains.PART, tsq.PART, choices.PART),
    subject=("bbr-n", "bbr-n-patch", "bbr-n-4-13", "bbr-n-4-13-rrul"),
    rivals=("bbr", "bbr2", "cubic"),
)
