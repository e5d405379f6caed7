"""What manifests may say, decided on what they declare; asks no cluster."""

from reconciler.policy.owners import Consent, Owner
from reconciler.policy.ownership import Breach, BreachKind, Ownership

__all__ = ["Breach", "BreachKind", "Consent", "Owner", "Ownership"]
