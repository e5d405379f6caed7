"""What a reviewer is told about the rules that judged a proposal: which they were, and what it changes about them."""

from typing import Annotated, Final

from reconciler.codec import REQUIRED, Record, Says, record_of, text
from reconciler.dataclass import dataclass
from reconciler.manifest import GuardrailChange, GuardrailNotice, Manifests, Meaning, coverage_notices

#: What the notices are called that say that a proposal asks for more than the guardrails allow.
_LOOSENING: Final = "guardrail-"


@dataclass(frozen=True, slots=True)
class GuardrailReview:
    """``digest`` names the guardrails that held the proposal, ``None`` where nothing but itself did.

    ``changes`` are the differences from a base, loosening ones first; ``notices`` say where the guardrails held.
    """

    digest: Annotated[
        Annotated[str, text("^sha256:[0-9a-f]{64}$")] | None,
        Says(
            "Of the guardrails that held the proposal; null: it was judged by its own rules alone.",
            f"sha256:{'0' * 64}",
            default=REQUIRED,
        ),
    ] = None
    changes: Annotated[
        tuple[GuardrailChange, ...],
        Says("What differs from the guardrails of --base, loosening differences first.", default=REQUIRED),
    ] = ()
    notices: Annotated[
        tuple[GuardrailNotice, ...],
        Says("Where the guardrails hold although the proposal asks for less.", default=REQUIRED),
    ] = ()

    @property
    def weakened(self) -> bool:
        """Whether the proposal changes its own judge otherwise than to tighten it, or tries to."""
        tries = any(notice.rule.startswith(_LOOSENING) for notice in self.notices)
        return tries or any(change.meaning is not Meaning.TIGHTER for change in self.changes)


GUARDRAILS: Final[Record[GuardrailReview]] = record_of(GuardrailReview)
NO_GUARDRAILS: Final = GuardrailReview()


def guardrail_review(manifests: Manifests, cluster: str, changes: tuple[GuardrailChange, ...] = ()) -> GuardrailReview:
    """What a reviewer is told about the rules that judge a cluster's manifests."""
    guardrails = manifests.guardrails
    held_back: tuple[GuardrailNotice, ...] = () if guardrails is None else guardrails.notices[cluster]
    digest = None if guardrails is None else guardrails.digest
    return GuardrailReview(digest, changes, (*held_back, *coverage_notices(manifests, cluster)))
