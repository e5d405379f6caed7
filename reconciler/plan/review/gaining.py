"""Who gains access in a plan, with the client quotas that limit them once it is applied."""

from collections.abc import Iterable, Mapping

from reconciler.dataclass import dataclass
from reconciler.model import WILDCARD_PRINCIPAL, Change
from reconciler.model.kinds.quota import ClientQuota, QuotaEntity, levels, limits
from reconciler.plan.kinds.listed import items_after
from reconciler.plan.review.access_change import AccessChange


@dataclass(frozen=True, slots=True, order=True)
class PrincipalLimit:
    """One key of a client quota, its value in Kafka's unit, and the entity that has it, in words."""

    key: str
    value: float
    entity: str


@dataclass(frozen=True, slots=True, order=True)
class GainingPrincipal:
    """A principal, and what limits it when it connects without a client id; no limits: nothing does."""

    principal: str
    limits: tuple[PrincipalLimit, ...] = ()


def gaining(
    rows: Iterable[AccessChange], quotas: Iterable[ClientQuota], changes: Iterable[Change]
) -> tuple[GainingPrincipal, ...]:
    """Each principal that ``rows`` let gain, sorted; none where no quota exists before or after ``changes``.

    ``quotas`` are all that the cluster has. Which one wins is KIP-55's rule, :func:`levels`: of a principal it looks at
    the name alone, whatever its type. Everybody else has no name that a quota could be for.
    """
    before = frozenset(quotas)
    after = items_after(ClientQuota, before, changes)
    if not before and not after:
        return ()
    who = {row.principal for row in rows if row.gained and row.principal is not None} - {WILDCARD_PRINCIPAL}
    by_entity = {quota.entity: quota for quota in after}
    return tuple(GainingPrincipal(one, _limits(by_entity, one.partition(":")[2])) for one in sorted(who))


def _limits(quotas: Mapping[QuotaEntity, ClientQuota], user: str) -> tuple[PrincipalLimit, ...]:
    # Only those that can matter: of thousands of principals each would look at thousands of quotas otherwise.
    candidates = tuple(levels(user, ""))
    found = limits((quotas[entity] for entity in candidates if entity in quotas), candidates)
    return tuple(PrincipalLimit(key, first.values[key], str(first.entity)) for key, (first, *_) in found.items())
