"""``--only`` and ``--exclude``: a part of the differences, chosen by the names that manifests use."""

from collections.abc import Callable, Sequence
from typing import Annotated

from reconciler.codec import REQUIRED, Says
from reconciler.dataclass import dataclass
from reconciler.model import RESOURCE_FIELDS, WILDCARD, Change, NameSelector, Selector
from reconciler.plan.kinds import kind_of


@dataclass(frozen=True, slots=True)
class Selection:
    """What a plan is limited to: all of ``only`` (or everything, if empty) less all of ``exclude``.

    Items are texts such as ``principals=User:svc-*`` or ``topics=payments.orders``; a final ``*`` makes a prefix,
    ``*`` alone means any name.
    """

    only: Annotated[tuple[str, ...], Says("What the plan was restricted to.", default=REQUIRED)] = ()
    exclude: Annotated[tuple[str, ...], Says("What was left out.", default=REQUIRED)] = ()

    def __post_init__(self) -> None:
        """Check every item; raises ``ValueError`` with what is wrong."""
        for item in (*self.only, *self.exclude):
            parse_selector(item)

    def predicate(self) -> Callable[[Change], bool]:
        """Whether a change stays in the plan."""
        only, exclude = tuple(map(parse_selector, self.only)), tuple(map(parse_selector, self.exclude))

        def stays(change: Change) -> bool:
            return not _selects(exclude, change) and (not only or _selects(only, change))

        return stays


def parse_selector(text: str) -> Selector:
    """``FIELD=NAME``, ``FIELD=PREFIX*`` or ``FIELD=*``; raises ``ValueError``."""
    field, equals, value = text.partition("=")
    if not equals or not value:
        raise ValueError(f"{text!r} is not a selection: write FIELD=NAME or FIELD=PREFIX*, as in topics=payments.*")
    names = _names(value)
    if field == "principals":
        return Selector(principals=names)
    if field not in RESOURCE_FIELDS:
        raise ValueError(f"{field!r} cannot be selected by: use principals, {', '.join(RESOURCE_FIELDS)}")
    return Selector(resource_type=RESOURCE_FIELDS[field], names=names)


def _names(value: str) -> NameSelector:
    if value == WILDCARD:
        return NameSelector(any_name=True)
    if value.endswith(WILDCARD):
        return NameSelector(prefix=value[:-1])
    return NameSelector(literal=(value,))


def _selects(selectors: Sequence[Selector], change: Change) -> bool:
    kind = kind_of(change)
    return any(kind.is_selected(change, selector) for selector in selectors)
