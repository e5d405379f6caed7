"""Cluster tests and topic policies decided, for which a cluster is asked.

The tests: what brokers say of their configs, and the cluster of its features, against what is claimed. Nothing that
a broker does not tell ever counts as held. What the operator or the manifests state about the cluster is no answer of a
broker: it is shown beside it and decides nothing.
"""

import datetime
from collections.abc import Collection, Hashable, Iterable
from dataclasses import replace
from typing import Final

from reconciler.app.manifests import sound
from reconciler.app.reasons import InvalidManifestsError, WorkflowError
from reconciler.app.session import Target
from reconciler.dataclass import dataclass
from reconciler.manifest.documents.tests import ClusterTest, config_number
from reconciler.manifest.documents.topic_policy import ExpressionFault, expression_problems
from reconciler.manifest.guardrail_set import guardrail_labels, rule_key
from reconciler.manifest.manifests import Manifests, declared_cluster
from reconciler.manifest.parts.clusters import ClusterDeclaration
from reconciler.manifest.read.problem import ManifestError
from reconciler.manifest.safeguards import cluster_tests, guardrail_topic_rules, topic_rules
from reconciler.model.characters import as_name
from reconciler.model.desired import DesiredState
from reconciler.model.frozen import FrozenMap
from reconciler.model.state import BrokerConfig, BrokerSettings, ClusterState, FactSource
from reconciler.model.topic_rule import TopicRule
from reconciler.policy.topic_checks import ClusterContext, MissingEngineError
from reconciler.policy.topic_policy import ExpressionError, TopicFinding, TopicPolicy, TopicPolicyResult
from reconciler.ports import ClusterError, ReadRequest
from reconciler.results.findings import ClusterTestResult, ReportedByBroker, standing_of

_DEFAULT_ALLOW: Final = "allow.everyone.if.no.acl.found"


def decide_cluster_tests(target: Target, manifests: Manifests, as_of: datetime.date) -> tuple[ClusterTestResult, ...]:
    """Every claim of the ClusterTests for a declared cluster that is open, in the order of their places.

    Brokers are asked only where there is a claim. Raises a :class:`WorkflowError` where the manifests cannot be used
    for this cluster, or the cluster does not say which brokers it has.
    """
    if target.declaration is None:
        return ()
    tests = declared_tests(manifests, target.declaration.name)
    if not tests:
        return ()
    configs = {test.key for test in tests if not test.is_feature}
    try:
        settings = target.cluster.broker_settings(configs, features=any(test.is_feature for test in tests))
    except ClusterError as error:
        raise WorkflowError(str(error), error.advice) from error
    return decided(tests, settings, as_of, target.declaration)


def declared_tests(manifests: Manifests, cluster: str) -> tuple[ClusterTest, ...]:
    """The claims for a declared cluster; raises :class:`InvalidManifestsError`."""
    with sound():
        declared_cluster(manifests, cluster)
        return cluster_tests(manifests, cluster)


def decided(
    tests: Collection[ClusterTest], settings: BrokerSettings, as_of: datetime.date, declaration: ClusterDeclaration
) -> tuple[ClusterTestResult, ...]:
    """What came of each claim; brokers that the declaration names and the cluster does not are asked in vain."""
    missing = frozenset(declaration.brokers) - settings.configs.keys() - settings.silent.keys()
    return tuple(
        _feature(test, settings, as_of) if test.is_feature else _config(test, settings, missing, as_of, declaration)
        for test in tests
    )


def _config(
    test: ClusterTest,
    settings: BrokerSettings,
    missing: Collection[int],
    as_of: datetime.date,
    declaration: ClusterDeclaration,
) -> ClusterTestResult:
    breaking, unknown = list[ReportedByBroker](), list[ReportedByBroker]()
    brokers = sorted({*settings.configs, *settings.silent, *missing})
    for broker in brokers:
        doubt = _silence(test.key, broker, settings)
        config = settings.configs.get(broker, {}).get(test.key)
        if doubt or config is None:
            unknown.append(ReportedByBroker(broker, "", doubt))
            continue
        answer = ReportedByBroker(broker, _config_value(config))
        kept = _kept(test, config)
        if kept is None:
            unknown.append(ReportedByBroker(broker, answer.found, "which is no number to compare"))
        elif not kept:
            breaking.append(answer)
    if not brokers:
        unknown.append(ReportedByBroker(None, "", settings.gap or "the cluster names no broker"))
    note = _note(test.key, declaration) if unknown else ""
    return _result(test, breaking, unknown, as_of, note=note)


def _silence(key: str, broker: int, settings: BrokerSettings) -> str:
    """Why a broker's value is not known; empty where it told one."""
    if settings.gap:
        return settings.gap
    if broker in settings.silent:
        return f"it does not tell its configs: {settings.silent[broker]}"
    if broker not in settings.configs:
        return "it is declared, and the cluster does not name it"
    config = settings.configs[broker].get(key)
    if config is None:
        return "it has no config of that name, or nobody set it"
    return "it hides the value" if config.hidden else ""


def _kept(test: ClusterTest, config: BrokerConfig) -> bool | None:
    """Whether a value is as claimed; ``None`` where it cannot be compared."""
    if test.allowed is not None:
        wanted = {_normal(test.key, value) for value in test.allowed}
        return _normal(test.key, config.value or "") in wanted
    number = _amount(test.key, config.value or "")
    # By a negative number brokers mean that there is no limit, or that another config decides.
    if not isinstance(number, int) or number < 0:
        return None
    return (test.least is None or number >= test.least) and (test.most is None or number <= test.most)


def _normal(key: str, text: str) -> str | int:
    number = _amount(key, text)
    return (
        text.strip().lower()
        if text.strip().lower() in ("true", "false")
        else text.strip()
        if number is None
        else number
    )


def _amount(key: str, text: str) -> int | None:
    try:
        return config_number(key, text.strip())
    except ValueError:
        return None


def _config_value(config: BrokerConfig) -> str:
    value = "no value" if config.value is None else as_name(config.value) if config.value else "an empty value"
    return f"{value} ({config.origin})" if config.origin else value


def _note(key: str, declaration: ClusterDeclaration) -> str:
    """What is stated of a config that Kafka's brokers never tell: their authorizer's, which is a plug-in to them."""
    source, value = declaration.sources.default_allow, declaration.allow_everyone_if_no_acl_found
    if key != _DEFAULT_ALLOW or value is None or source is FactSource.NOBODY:
        return ""
    who = {FactSource.OPERATOR: "the operator's connections file says", FactSource.MANIFESTS: "the manifests say"}
    return f"{who.get(source, 'the vendor says')} {str(value).lower()}; no broker confirms it"


def _feature(test: ClusterTest, settings: BrokerSettings, as_of: datetime.date) -> ClusterTestResult:
    gap = settings.gap or settings.features_gap
    if settings.features is None or gap:
        return _result(test, [], [ReportedByBroker(None, "", gap or "the cluster did not tell its features")], as_of)
    # A feature that is not finalized is disabled, which is level 0 (KIP-584).
    level = settings.features.get(test.key, 0)
    if test.least is None or level >= test.least:
        return _result(test, [], [], as_of)
    level_text = f"level {level}" if test.key in settings.features else "not finalized"
    return _result(test, [ReportedByBroker(None, level_text)], [], as_of)


def _result(
    test: ClusterTest,
    breaking: list[ReportedByBroker],
    unknown: list[ReportedByBroker],
    as_of: datetime.date,
    *,
    note: str = "",
) -> ClusterTestResult:
    standing = standing_of(test, passed=not breaking and not unknown, decided=bool(breaking), as_of=as_of)
    return ClusterTestResult(test, standing, tuple(breaking), tuple(unknown), note)


# Topic policies of a cluster: on what is declared, or with what the cluster has.


@dataclass(frozen=True, slots=True)
class Seen:
    """What a cluster says of the declared topics and of what its brokers choose; ``brokers`` are the ids it names."""

    state: ClusterState
    brokers: frozenset[int] = frozenset()


def decide_policies(
    manifests: Manifests, cluster: str, wanted: DesiredState, as_of: datetime.date, seen: Seen | None = None
) -> TopicPolicyResult:
    """Every declared topic against the policies for a declared cluster.

    ``seen`` says what a declaration leaves to the broker; without it, that is not known. Raises
    :class:`InvalidManifestsError` where the policies cannot be used.
    """
    policy = _policy(manifests, cluster)
    if policy is None:
        return TopicPolicyResult()
    declaration = declared_cluster(manifests, cluster)
    brokers = frozenset(declaration.brokers)
    around = ClusterContext(cluster, len(brokers) or None)
    if seen is not None:
        state, count = seen.state, len(brokers | seen.brokers) or None
        around = ClusterContext(
            cluster,
            count,
            state.topics,
            state.broker_defaults,
            frozenset(state.unreadable_topics),
            frozenset(declaration.ignore_configs),
        )
    result = policy.decide(wanted, as_of, around)
    relabelled = _as_guardrails_label(manifests, cluster, wanted, as_of)
    if relabelled is None:
        return result
    rules, topics = relabelled
    more = compiled(rules, manifests).decide(topics, as_of, around).findings
    keys = {_finding_key(finding) for finding in result.findings}
    return replace(
        result, findings=(*result.findings, *(finding for finding in more if _finding_key(finding) not in keys))
    )


def _as_guardrails_label(
    manifests: Manifests, cluster: str, wanted: DesiredState, as_of: datetime.date
) -> tuple[list[TopicRule], DesiredState] | None:
    """The guardrails' rules for labelled topics, and the topics that have other labels there, with those.

    Else a proposal takes a topic out of a rule by its label, whatever the rule is about.
    """
    with sound():
        labels = guardrail_labels(manifests, cluster, as_of)
        rules = [rule for rule in guardrail_topic_rules(manifests, cluster) if rule.labels]
    topics = {
        name: replace(topic, labels=labels[name], document_labels=FrozenMap())
        for name, topic in wanted.topics.items()
        if labels.get(name, topic.all_labels) != topic.all_labels
    }
    return (rules, replace(wanted, topics=FrozenMap(topics))) if rules and topics else None


def _finding_key(finding: TopicFinding) -> Hashable:
    return finding.topic, finding.code, finding.about, rule_key(finding.rule)


def look(target: Target, manifests: Manifests, wanted: DesiredState, live: ClusterState | None = None) -> Seen | None:
    """Ask an open cluster what its policies depend on; nothing where it has none.

    ``live`` is a state that has all declared topics and the brokers' defaults, where somebody has read one already.
    """
    declaration = target.declaration
    policy = _policy(manifests, declaration.name) if declaration is not None else None
    if declaration is None or policy is None:
        return None
    if live is None:
        request = ReadRequest(acls=False, all_topics=False, topic_names=tuple(wanted.topics), broker_defaults=True)
        live = target.read(request)
    try:
        return Seen(live, target.cluster.brokers() if policy.asks_for_brokers else frozenset())
    except ClusterError as error:
        raise WorkflowError(str(error), error.advice) from error


def _policy(manifests: Manifests, cluster: str) -> TopicPolicy | None:
    with sound():
        rules = topic_rules(manifests, cluster)
    return compiled(rules, manifests) if rules else None


def compiled(rules: Iterable[TopicRule], manifests: Manifests) -> TopicPolicy:
    """Rules ready to be asked; the place of every expression that is none is in :class:`InvalidManifestsError`."""
    try:
        return TopicPolicy(rules)
    except MissingEngineError as error:
        raise WorkflowError(str(error), "pip install './reconciler[policy]' beside your clone") from error
    except ExpressionError as error:
        faults = (
            ExpressionFault(fault.part.origin, fault.part.text, fault.line, fault.column, fault.message)
            for fault in error.faults
        )
        sources = {**manifests.sources, **(manifests.guardrails.manifests.sources if manifests.guardrails else {})}
        problems = expression_problems(sources, faults)
        raise InvalidManifestsError(problems) from ManifestError(problems)
