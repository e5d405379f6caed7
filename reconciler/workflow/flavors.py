"""What a cluster shows itself to be, against what is stated: refused where ACLs would be misread."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from reconciler.manifest import ClusterDeclaration
from reconciler.model import (
    ClusterState,
    FactSource,
    ShownFlavor,
    flavor_contradiction,
    mixed_names,
    shown_flavors,
    signs_of,
)
from reconciler.workflow.reasons import PlanRefusedError, WorkflowError

if TYPE_CHECKING:
    from reconciler.plan import Plan


def unstated(declaration: ClusterDeclaration | None, live: ClusterState) -> ShownFlavor | None:
    """The flavor that a cluster shows and nobody states, if its ACLs are not what a listing without it says."""
    if declaration is not None and declaration.sources.flavor is not FactSource.NOBODY:
        return None
    # Where signs disagree, the one by which ACLs would be misread counts.
    misread = (one for one in shown_flavors(signs_of(live)) if one.flavor.acl_principals or one.flavor.no_acls)
    return next(misread, None) or mixed_names(live.bindings)


def refuse_contradicted(declaration: ClusterDeclaration | None, live: ClusterState) -> None:
    """Raise a :class:`WorkflowError` where the stated flavor cannot be that of the cluster that was read."""
    if declaration is None or declaration.sources.flavor is FactSource.NOBODY:
        return
    problem = flavor_contradiction(declaration.flavor, signs_of(live))
    if problem is not None:
        raise WorkflowError(problem, "correct spec.flavor of the cluster, or connect to the one that is meant")


def refuse_unstated(declaration: ClusterDeclaration, live: ClusterState, plan: "Plan") -> None:
    """Raise :class:`PlanRefusedError` for a plan on ACLs that were listed without the flavor that they need."""
    shown = unstated(declaration, live)
    if shown is not None and plan.moves_access:
        raise PlanRefusedError(f"{told(shown)}: a plan of them could delete what the manifests declare", cure(shown))


def told(shown: ShownFlavor) -> str:
    """What the cluster shows, and why it matters."""
    why = (
        shown.flavor.no_acls or "it lists ACLs by other names than they were created with unless it is asked otherwise"
    )
    return f"{proposal(shown)}; {why}"


def proposal(shown: ShownFlavor) -> str:
    """Which make it is, by which sign."""
    return f"this is {shown.flavor.title} ({shown.sign}), and no flavor is stated"


def disagreement(shown: Sequence[ShownFlavor]) -> str:
    """Signs of several makes, each with its own: nothing is proposed, for one of the two is wrong."""
    each = " and ".join(f"{one.sign}, which is {one.flavor.title}'s" for one in shown)
    return f"{each}: they disagree, so no flavor is proposed; state the right one in the operator's connections file"


def cure(shown: ShownFlavor) -> str:
    """What to write, and where."""
    return f"write “flavor: {shown.flavor.name}” into the operator's connections file, below spec of this cluster"
