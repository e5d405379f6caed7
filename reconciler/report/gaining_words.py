"""Client quotas of those who gain access, a sentence for each set of limits; for all formats."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from reconciler.model.kinds.quota import limit_text
from reconciler.model.naming import as_name
from reconciler.plan import Plan, PrincipalLimit
from reconciler.report.access_lines import MOST_HARMLESS
from reconciler.report.folding import first_names

GAINING_TITLE: Final = "Client quotas of those who gain access, without a client id"


def gaining_words(plan: Plan, *, expand: bool = False) -> Iterator[str]:
    """Principals with equal limits share a sentence, those without any first; nothing is escaped."""
    alike: dict[tuple[PrincipalLimit, ...], list[str]] = defaultdict(list)
    for one in plan.gaining:
        alike[one.limits].append(as_name(one.principal))
    for limits, names in sorted(alike.items()):
        shown = names if expand else first_names(names, MOST_HARMLESS)
        more = f" and {len(names) - len(shown):,} more" if len(shown) < len(names) else ""
        told = "; ".join(f"{one.key} = {limit_text(one.key, one.value)} by {as_name(one.entity)}" for one in limits)
        yield f"{', '.join(shown)}{more}: {told or 'unlimited'}"
