"""What a reviewer is told about the rules that judged a proposal: which they were, and what it changes about them."""

from typing import Final

from reconciler.dataclass import dataclass
from reconciler.manifest import GuardrailChange, GuardrailNotice, Manifests, Meaning, coverage_notices

#: What the notices are called that say that a proposal asks for more than the guardrails allow.
_LOOSENING: Final = "guardrail-"


@dataclass(frozen=True, slots=True)
class GuardrailReview:
    """``digest`` names the guardrails that held the proposal, ``None`` where nothing but itself did.

    ``changes`` are the differences from a base, loosening ones first; ``notices`` say where the guardrails held.
    """

    digest: str | None = None
    changes: tuple[GuardrailChange, ...] = ()
    notices: tuple[GuardrailNotice, ...] = ()

    @property
    def weakened(self) -> bool:
        """Whether the proposal changes its own judge otherwise than to tighten it, or tries to."""
        tries = any(notice.rule.startswith(_LOOSENING) for notice in self.notices)
        return tries or any(change.meaning is not Meaning.TIGHTER for change in self.changes)


NO_GUARDRAILS: Final = GuardrailReview()


def guardrail_review(manifests: Manifests, cluster: str, changes: tuple[GuardrailChange, ...] = ()) -> GuardrailReview:
    """What a reviewer is told about the rules that judge a cluster's manifests."""
    guardrails = manifests.guardrails
    held_back: tuple[GuardrailNotice, ...] = () if guardrails is None else guardrails.notices[cluster]
    digest = None if guardrails is None else guardrails.digest
    return GuardrailReview(digest, changes, (*held_back, *coverage_notices(manifests, cluster)))
