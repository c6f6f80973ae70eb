"""The response functions of the classic controllers: the mean window over the loss."""

from dumbbell.papers.model import Study
from dumbbell.papers.responses import windows

STUDY = Study(
    name="responses",
    title="Response functions of the classic controllers",
    reference="RFC 3649, section 5; RFC 9438, section 5.1; Kelly, Scalable TCP, CCR 33(2), 2003; "
    "Xu, Harfoush and Rhee, INFOCOM 2004; Leith and Shorten, PFLDnet 2004",
    parts=(windows.PART,),
)
