"""Breaches of ownership as text: the place, whose it is, and what to write where."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from reconciler.manifest import FIELD_OF
from reconciler.model import AclPermissionType, Origin, PatternType, ResourcePattern, ResourceType
from reconciler.model.naming import as_name, ticked
from reconciler.policy import Breach, BreachKind, OwnerConsent
from reconciler.report.folding import FEW, lines_shown
from reconciler.report.results.documents import BreachEntry, ConsentEntry
from reconciler.report.style import Style, plain, safe
from reconciler.report.words import names_words

#: Of consents that only say who agreed, so many are shown one by one.
_FEW_CONSENTS: Final = 3
#: The rules that go on when a consent ends on which they rely.
Lapsing: TypeAlias = Mapping[OwnerConsent, Sequence[Origin]]


def breach_lines(breaches: Iterable[Breach], style: Style = plain) -> Iterator[str]:
    """Two lines for each breach, then how many there are; nothing where there is none."""
    breaches = tuple(breaches)
    for breach in breaches:
        yield style("error", "not yours") + f"  {safe(str(breach.origin))}: {safe(message(breach))}"
        yield f"    {safe(advice(breach))}"
    if breaches:
        yield f"{len(breaches):,} breach{'' if len(breaches) == 1 else 'es'} of ownership"


def consent_lines(
    consents: Iterable[OwnerConsent], style: Style = plain, lapsing: Lapsing | None = None, *, expand: bool = False
) -> Iterator[str]:
    """A line for each consent that something declared relies on; ``lapsing``: what goes on when it ends.

    Those with a rule that goes on come first; of many others, the first few and how many there are.
    """
    ending = lapsing or {}
    ordered = sorted(consents, key=lambda consent: not ending.get(consent))
    grave = sum(bool(ending.get(consent)) for consent in ordered)
    shown = lines_shown(len(ordered), expand=expand, most=min(grave, FEW) + _FEW_CONSENTS)
    for entry in (consent_entry(consent, ending.get(consent, ())) for consent in ordered[:shown]):
        yield style("dim", "consent") + f"  {safe(str(entry.place))}: {safe(entry.message)}"
    if shown < len(ordered):
        more = f"and {len(ordered) - shown:,} more of {len(ordered):,} consents in use; --expand shows each"
        yield style("dim", "consent") + f"  {more}"


def message(breach: Breach) -> str:
    """What the file names, and whose it is; with the role that names it, and the guardrail that says so."""
    said = _message(breach)
    if breach.consent is not None:
        said += f"; the consent at {as_name(str(breach.consent))} does not cover it"
    return said if breach.rule is None else f"{said} (by the guardrails, {breach.rule})"


def _message(breach: Breach) -> str:
    file = f"a file of {_teams(breach.teams)}" if breach.teams else "a file of no team"
    if breach.role is not None:
        file = f"by the Role at {as_name(str(breach.role))}, {file}"
    whose = f"of {_teams(breach.owners)}" if breach.owners else "that no team owns"
    match breach.kind:
        case BreachKind.PRINCIPAL:
            return f"{file} names the principal {as_name(breach.principal or '')} {whose}"
        case BreachKind.RESOURCE:
            operations = ", ".join(operation.name for operation in breach.operations)
            verb = "denies" if breach.permission is AclPermissionType.DENY else "declares"
            return f"{file} {verb} {operations} on {_names(breach.pattern)} {whose}"
        case BreachKind.TOPIC | BreachKind.GROUP:
            return f"{file} declares {_names(breach.pattern)} {whose}"
        case BreachKind.CLAIM:
            return f"{file} owns {_names(breach.pattern)}, and no Ownership document says so"
        case BreachKind.CONSENT:
            return f"{file} consents in the name {whose}"
        case BreachKind.OWNERS:
            return f"{file} declares owners, and so could give itself anything"
        case BreachKind.SHARED:
            return f"{file} declares the {as_name(breach.subject)}, which is about everybody"
        case BreachKind.UNOWNED:
            return f"{file} declares the {as_name(breach.subject)}, which no team owns"
        case BreachKind.VARIABLES:
            return f"{file} sets variables for files {'of other teams' if breach.owners else 'of no team'}"


def advice(breach: Breach) -> str:
    """What to write, and where; for a guardrail, before the change that needs it."""
    said = _advice(breach)
    return said if breach.rule is None else f"{said}; merge that before the change that needs it"


def _advice(breach: Breach) -> str:
    match breach.kind:
        case _ if breach.role is not None:
            return "write the rule out instead of using the role, or move the Role to a file that belongs to no team"
        case BreachKind.RESOURCE if breach.teams and breach.owners and breach.pattern is not None:
            owner = breach.owners[0]
            item = ticked(_consent(breach, owner))
            return f"ask {as_name(owner)} to write in a file of its own, under consents: {item}"
        case BreachKind.RESOURCE if breach.teams and not _is_cluster(breach):
            return "on what no team owns, only a file of no team may deny: move the rule there"
        case BreachKind.RESOURCE if breach.teams:
            return "only a team whose item of Ownership says cluster: true may name the cluster"
        case BreachKind.CLAIM:
            return "correct owns, or have the topics added to the item of the team in Ownership"
        case BreachKind.CONSENT:
            return f"move it to a file of {_teams(breach.owners)}"
        case BreachKind.UNOWNED:
            return "move it to a file that belongs to no team, or have the name added to the team in Ownership"
        case BreachKind.OWNERS | BreachKind.VARIABLES | BreachKind.SHARED:
            return "move it to a file that belongs to no team"
        case BreachKind.PRINCIPAL | BreachKind.TOPIC | BreachKind.GROUP if breach.teams:
            return f"declare it in a file of {_teams(breach.owners)}"
        case _:
            return "no team's files match this file: move it, or fix the files of its team"


def breach_entry(breach: Breach) -> BreachEntry:
    """One breach as commands print it for programs."""
    return BreachEntry(
        breach.origin, breach.kind.value, tuple(breach.teams), tuple(breach.owners), message(breach), advice(breach)
    )


def consent_entry(consent: OwnerConsent, outlasting: Sequence[Origin] = ()) -> ConsentEntry:
    """One consent in use, as commands print it for programs; ``outlasting``: the rules that go on when it ends."""
    operations = ", ".join(sorted(operation.name for operation in consent.operations))
    names = ", ".join(map(names_words, consent.patterns))
    words = f"{as_name(consent.team)} lets files of {as_name(consent.to)} declare {operations} on {names}"
    reason = consent.reason or ""
    words += f": {ticked(reason)}" if reason else ""
    if outlasting:
        first, more = as_name(str(outlasting[0])), len(outlasting) - 1
        rules = f"the rule at {first}" + (f" and {more:,} more" if more else "")
        words += f"; it ends {consent.expires}, and then {rules} {'are breaches' if more else 'is a breach'}"
    return ConsentEntry(consent.origin, consent.team, consent.to, reason, words)


def _teams(names: Iterable[str]) -> str:
    return " and ".join(map(as_name, names))


def _names(pattern: ResourcePattern | None) -> str:
    return "" if pattern is None else names_words(pattern)


def _is_cluster(breach: Breach) -> bool:
    return breach.pattern is not None and breach.pattern.resource_type is ResourceType.CLUSTER


def _consent(breach: Breach, owner: str) -> str:
    """The item of a manifest that would permit it."""
    operations = ", ".join(operation.name for operation in breach.operations)
    to, pattern = breach.teams[0], breach.pattern
    resource = "" if pattern is None else f", {FIELD_OF[pattern.resource_type]}: {_value(pattern)}"
    deny = ", permissions: [DENY]" if breach.permission is AclPermissionType.DENY else ""
    # As quoted as YAML wants it: "User:*" begins an alias elsewhere in the text.
    principals = ", ".join(f'"{principal}"' for principal in breach.strangers)
    strangers = f", principals: [{principals}]" if principals else ""
    return f"{{team: {owner}, to: {to}, operations: [{operations}]{resource}{deny}{strangers}}}"


def _value(pattern: ResourcePattern) -> str:
    if pattern.resource_type is ResourceType.CLUSTER:
        return "true"
    if pattern.is_wildcard:
        return "{any: true}"
    return f"{{prefix: {pattern.name}}}" if pattern.pattern_type is PatternType.PREFIXED else f"[{pattern.name}]"
