"""Breaches of ownership as text: the place, whose it is, and what to write where."""

from collections.abc import Iterable, Iterator

from reconciler.manifest import FIELD_OF
from reconciler.model import PatternType, ResourcePattern, ResourceType
from reconciler.policy import Breach, BreachKind, OwnerConsent
from reconciler.report.results.documents import BreachEntry, ConsentEntry
from reconciler.report.style import Style, plain, safe
from reconciler.report.words import names_words


def breach_lines(breaches: Iterable[Breach], style: Style = plain) -> Iterator[str]:
    """Two lines for each breach, then how many there are; nothing where there is none."""
    breaches = tuple(breaches)
    for breach in breaches:
        yield style("error", "not yours") + f"  {safe(str(breach.origin))}: {safe(message(breach))}"
        yield f"    {safe(advice(breach))}"
    if breaches:
        yield f"{len(breaches):,} breach{'' if len(breaches) == 1 else 'es'} of ownership"


def consent_lines(consents: Iterable[OwnerConsent], style: Style = plain) -> Iterator[str]:
    """A line for each consent that something declared relies on."""
    for entry in map(consent_entry, consents):
        yield style("dim", "consent") + f"  {safe(str(entry.place))}: {safe(entry.message)}"


def message(breach: Breach) -> str:
    """What the file names, and whose it is."""
    file = f"a file of {_teams(breach.teams)}" if breach.teams else "a file of no team"
    whose = f"of {_teams(breach.owners)}" if breach.owners else "that no team owns"
    match breach.kind:
        case BreachKind.PRINCIPAL:
            return f"{file} names the principal {breach.principal} {whose}"
        case BreachKind.RESOURCE:
            operations = ", ".join(operation.name for operation in breach.operations)
            return f"{file} declares {operations} on {_names(breach.pattern)} {whose}"
        case BreachKind.TOPIC:
            return f"{file} declares {_names(breach.pattern)} {whose}"
        case BreachKind.CONSENT:
            return f"{file} consents in the name {whose}"
        case BreachKind.OWNERS:
            return f"{file} declares owners, and so could give itself anything"


def advice(breach: Breach) -> str:
    """What to write, and where."""
    match breach.kind:
        case BreachKind.RESOURCE if breach.teams and breach.owners and breach.pattern is not None:
            owner = breach.owners[0]
            return f"ask {owner} to write in a file of its own, under consents: {_consent(breach, owner)}"
        case BreachKind.RESOURCE if breach.teams:
            return "only a team whose item of Ownership says cluster: true may name the cluster"
        case BreachKind.CONSENT:
            return f"move it to a file of {_teams(breach.owners)}"
        case BreachKind.OWNERS:
            return "move it to a file that belongs to no team"
        case BreachKind.PRINCIPAL | BreachKind.TOPIC if breach.teams:
            return f"declare it in a file of {_teams(breach.owners)}"
        case _:
            return "no team's files match this file: move it, or fix the files of its team"


def breach_entry(breach: Breach) -> BreachEntry:
    """One breach as commands print it for programs."""
    return BreachEntry(
        breach.origin, breach.kind.value, message(breach), advice(breach), tuple(breach.teams), tuple(breach.owners)
    )


def consent_entry(consent: OwnerConsent) -> ConsentEntry:
    """One consent in use, as commands print it for programs."""
    operations = ", ".join(sorted(operation.name for operation in consent.operations))
    names = ", ".join(map(names_words, consent.patterns))
    words = f"{consent.team} lets files of {consent.to} declare {operations} on {names}"
    reason = consent.reason or ""
    return ConsentEntry(consent.origin, f"{words}: {reason}" if reason else words, consent.team, consent.to, reason)


def _teams(names: Iterable[str]) -> str:
    return " and ".join(names)


def _names(pattern: ResourcePattern | None) -> str:
    return "" if pattern is None else names_words(pattern)


def _consent(breach: Breach, owner: str) -> str:
    """The item of a manifest that would permit it."""
    operations = ", ".join(operation.name for operation in breach.operations)
    to, pattern = breach.teams[0], breach.pattern
    resource = "" if pattern is None else f", {FIELD_OF[pattern.resource_type]}: {_value(pattern)}"
    return f"{{team: {owner}, to: {to}, operations: [{operations}]{resource}}}"


def _value(pattern: ResourcePattern) -> str:
    if pattern.resource_type is ResourceType.CLUSTER:
        return "true"
    if pattern.is_wildcard:
        return "{any: true}"
    return f"{{prefix: {pattern.name}}}" if pattern.pattern_type is PatternType.PREFIXED else f"[{pattern.name}]"
