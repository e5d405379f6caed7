"""Least privilege from evidence: which declared rights the logs show unused, and what narrower ones take their place.

Values in, values out: decisions with their days, declared rights, and the bounds below which nothing is proposed. What
comes out is proven with the access engine, in :mod:`reconciler.fleet.tighten.proof`.
"""

from reconciler.fleet.tighten.evidence import Period, SeenAccess, UsageEvidence
from reconciler.fleet.tighten.narrowing import GrantedRight, Held, HeldReason, Narrowing
from reconciler.fleet.tighten.proof import Proven, prove
from reconciler.fleet.tighten.shadow import Shadow, ShadowRefusal, shadow
from reconciler.fleet.tighten.suggestion import Suggestion, suggest
from reconciler.fleet.tighten.thresholds import Thresholds, thin_evidence

__all__ = [
    "GrantedRight",
    "Held",
    "HeldReason",
    "Narrowing",
    "Period",
    "Proven",
    "SeenAccess",
    "Shadow",
    "ShadowRefusal",
    "Suggestion",
    "Thresholds",
    "UsageEvidence",
    "prove",
    "shadow",
    "suggest",
    "thin_evidence",
]
