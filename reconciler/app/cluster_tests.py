"""Cluster tests decided: what brokers say of their configs, and the cluster of its features, against what is claimed.

Nothing that a broker does not tell ever counts as held. What the operator or the manifests state about the cluster is
no answer of a broker: it is shown beside it and decides nothing.
"""

import datetime
from collections.abc import Collection
from typing import Final

from reconciler.app.manifests import sound
from reconciler.app.reasons import WorkflowError
from reconciler.app.session import Target
from reconciler.manifest.documents.tests import ClusterTest, config_number
from reconciler.manifest.manifests import Manifests, declared_cluster
from reconciler.manifest.parts.clusters import ClusterDeclaration
from reconciler.manifest.safeguards import cluster_tests
from reconciler.model.characters import as_name
from reconciler.model.state import BrokerConfig, BrokerSettings, FactSource
from reconciler.ports import ClusterError
from reconciler.results.findings import ClusterTestResult, ToldByBroker, standing_of

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
        told = target.cluster.broker_settings(configs, features=any(test.is_feature for test in tests))
    except ClusterError as error:
        raise WorkflowError(str(error), error.advice) from error
    return decided(tests, told, as_of, target.declaration)


def declared_tests(manifests: Manifests, cluster: str) -> tuple[ClusterTest, ...]:
    """The claims for a declared cluster; raises :class:`InvalidManifestsError`."""
    with sound():
        declared_cluster(manifests, cluster)
        return cluster_tests(manifests, cluster)


def decided(
    tests: Collection[ClusterTest], told: BrokerSettings, as_of: datetime.date, declaration: ClusterDeclaration
) -> tuple[ClusterTestResult, ...]:
    """What came of each claim; brokers that the declaration names and the cluster does not are asked in vain."""
    missing = frozenset(declaration.brokers) - told.configs.keys() - told.silent.keys()
    return tuple(
        _feature(test, told, as_of) if test.is_feature else _config(test, told, missing, as_of, declaration)
        for test in tests
    )


def _config(
    test: ClusterTest,
    told: BrokerSettings,
    missing: Collection[int],
    as_of: datetime.date,
    declaration: ClusterDeclaration,
) -> ClusterTestResult:
    breaking, unknown = list[ToldByBroker](), list[ToldByBroker]()
    brokers = sorted({*told.configs, *told.silent, *missing})
    for broker in brokers:
        doubt = _silence(test.key, broker, told)
        config = told.configs.get(broker, {}).get(test.key)
        if doubt or config is None:
            unknown.append(ToldByBroker(broker, "", doubt))
            continue
        answer = ToldByBroker(broker, _found(config))
        kept = _kept(test, config)
        if kept is None:
            unknown.append(ToldByBroker(broker, answer.found, "which is no number to compare"))
        elif not kept:
            breaking.append(answer)
    if not brokers:
        unknown.append(ToldByBroker(None, "", told.gap or "the cluster names no broker"))
    note = _note(test.key, declaration) if unknown else ""
    return _result(test, breaking, unknown, as_of, asked=len(brokers), note=note)


def _silence(key: str, broker: int, told: BrokerSettings) -> str:
    """Why a broker's value is not known; empty where it told one."""
    if told.gap:
        return told.gap
    if broker in told.silent:
        return f"it does not tell its configs: {told.silent[broker]}"
    if broker not in told.configs:
        return "it is declared, and the cluster does not name it"
    config = told.configs[broker].get(key)
    if config is None:
        return "it has no config of that name, or nobody set it"
    return "it hides the value" if config.hidden else ""


def _kept(test: ClusterTest, config: BrokerConfig) -> bool | None:
    """Whether a value is as claimed; ``None`` where it cannot be compared."""
    if test.allowed is not None:
        wanted = {_normal(test.key, one) for one in test.allowed}
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


def _found(config: BrokerConfig) -> str:
    value = "no value" if config.value is None else as_name(config.value) if config.value else "an empty value"
    return f"{value} ({config.origin})" if config.origin else value


def _note(key: str, declaration: ClusterDeclaration) -> str:
    """What is stated of a config that Kafka's brokers never tell: their authorizer's, which is a plug-in to them."""
    source, value = declaration.sources.default_allow, declaration.allow_everyone_if_no_acl_found
    if key != _DEFAULT_ALLOW or value is None or source is FactSource.NOBODY:
        return ""
    who = {FactSource.OPERATOR: "the operator's connections file says", FactSource.MANIFESTS: "the manifests say"}
    return f"{who.get(source, 'the vendor says')} {str(value).lower()}; no broker confirms it"


def _feature(test: ClusterTest, told: BrokerSettings, as_of: datetime.date) -> ClusterTestResult:
    gap = told.gap or told.features_gap
    if told.features is None or gap:
        return _result(test, [], [ToldByBroker(None, "", gap or "the cluster did not tell its features")], as_of)
    # A feature that is not finalized is disabled, which is level 0 (KIP-584).
    level = told.features.get(test.key, 0)
    if test.least is None or level >= test.least:
        return _result(test, [], [], as_of)
    found = f"level {level}" if test.key in told.features else "not finalized"
    return _result(test, [ToldByBroker(None, found)], [], as_of)


def _result(
    test: ClusterTest,
    breaking: list[ToldByBroker],
    unknown: list[ToldByBroker],
    as_of: datetime.date,
    *,
    asked: int = 0,
    note: str = "",
) -> ClusterTestResult:
    standing = standing_of(test, passed=not breaking and not unknown, decided=bool(breaking), as_of=as_of)
    return ClusterTestResult(test, standing, tuple(breaking), tuple(unknown), asked, note)
