"""Who gains access in a plan, with the client quotas that limit them once it is applied."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Final

from reconciler.codec import REQUIRED, Field, Says, array, field, record_of
from reconciler.dataclass import dataclass
from reconciler.model import WILDCARD_PRINCIPAL, Change
from reconciler.model.kinds.quota import ClientQuota, QuotaEntity, levels, limits
from reconciler.plan.kinds.listed import items_after
from reconciler.plan.review.access_change import AccessChange


@dataclass(frozen=True, slots=True, order=True)
class PrincipalLimit:
    """One key of a client quota, its value in Kafka's unit, and the entity that has it, in words."""

    key: Annotated[str, Says("The key of the client quota.", "producer_byte_rate")]
    value: Annotated[float, Says("Its value, in Kafka's unit.", 1048576)]
    entity: Annotated[str, Says("The entity whose quota it is, in words.", "default user")]


@dataclass(frozen=True, slots=True, order=True)
class GainingPrincipal:
    """A principal, and what limits it when it connects without a client id; no limits: nothing does."""

    principal: Annotated[str, Says("Who gains access.", "User:svc-orders")]
    limits: Annotated[tuple[PrincipalLimit, ...], Says("What limits it; empty: nothing does.", default=REQUIRED)] = ()


#: A field of the plan.
GAINING: Final[Field] = field(
    "gaining",
    array(record_of(GainingPrincipal), lines=True),
    "Who gains access, with the client quotas that limit them without a client id, once applied. In no id. Absent "
    "where quotas are not known, or there are none.",
    default=(),
    omit=True,
)


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
