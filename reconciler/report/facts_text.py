"""The settings of a plan's cluster that no API returns, and who states each."""

from collections.abc import Iterable, Iterator

from reconciler.model import FactSource
from reconciler.model.kafka_release import release_text
from reconciler.model.naming import as_name
from reconciler.plan import Terms
from reconciler.report.document import Row, Section, SectionName
from reconciler.report.style import counted

_WORDS = {
    FactSource.OPERATOR: "the operator's file",
    FactSource.MANIFESTS: "the manifests alone",
    FactSource.NOBODY: "nobody",
    FactSource.FLAVOR: "the vendor's default",
}


def settings_section(terms: Terms) -> Section:
    """A row for each setting: its field in a Cluster document, its value, and who states it."""
    rows = []
    for name, value, source in _facts(terms):
        stated = source is not FactSource.NOBODY
        notes = (f"({_WORDS[source]})",) if stated else ()
        rows.append(Row(f"{name}: {value if stated else 'not stated'}", notes=notes))
    return Section(SectionName.SETTINGS, "Settings that operators declare, and who states them", tuple(rows))


def _facts(terms: Terms) -> Iterator[tuple[str, str, FactSource]]:
    facts, sources = terms.facts, terms.facts.sources
    yield "principal", _names([facts.principal] if facts.principal else []), sources.principal
    if sources.flavor is not FactSource.NOBODY:
        yield "flavor", terms.flavor.name, sources.flavor
    yield "superUsers", _names(facts.super_users), sources.super_users
    yield "allowEveryoneIfNoAclFound", str(terms.default_allow).lower(), sources.default_allow
    if facts.kafka_version is not None:  # most clusters tell it themselves
        yield "kafkaVersion", release_text(facts.kafka_version), sources.kafka_version
    yield (
        "interBrokerPrincipals",
        _names(facts.inter_broker_principals),
        sources.inter_broker_principals,
    )
    yield "brokers", ", ".join(map(str, terms.brokers)) or "none", sources.brokers
    asked = f"{as_name(terms.probe or '')} asks, for {terms.barrier_seconds:g} s at most"
    yield "barrier", f"wait {terms.barrier_wait:g} s" if terms.probe is None else asked, sources.barrier
    yield "protect", counted(len(facts.protect), "item"), sources.protect
    limits = terms.limits
    most = [
        f"{name} {value}"
        for name, value in (("maxDeletes", limits.max_deletes), ("maxDeletePercent", limits.max_delete_percent))
        if value is not None
    ]
    yield "limits", ", ".join(most) or "none", sources.limits
    yield "acknowledge", "see Accepted", sources.acknowledge


def _names(names: Iterable[str]) -> str:
    return ", ".join(map(as_name, names)) or "none"
