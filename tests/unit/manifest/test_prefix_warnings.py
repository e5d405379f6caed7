"""A name that a reader takes for a pattern, wherever a field takes names: it is one name, and a warning says so."""

import re
from typing import Final

import pytest

from reconciler.manifest.documents import KINDS_BY_NAME
from reconciler.manifest.manifests import load
from reconciler.manifest.read.findings import Source
from reconciler.manifest.read.problem import Code, ManifestError

_HEAD: Final = "apiVersion: reconciler/v1\nkind: {}\nmetadata: {{name: c}}\nspec: {{{}}}\n"
_CLUSTER: Final = "allowEveryoneIfNoAclFound: false, {}"
_RULES: Final = "principal: User:a, rules: [{}]"
_TEST: Final = "tests: [{{name: t, {}}}]"
#: One field each, with one such name.
_FIELDS: Final = (
    ("Acls", "principal: User:svc-, rules: [{allow: READ, topics: [a]}]"),
    ("Acls", "principals: [User:a, User:svc-], rules: [{allow: READ, topics: [a]}]"),
    ("Acls", _RULES.format("{allow: READ, topics: a.}")),
    ("Acls", _RULES.format("{allow: READ, groups: [a-]}")),
    ("Acls", _RULES.format("{allow: WRITE, transactionalIds: [a_]}")),
    ("Acls", _RULES.format("{allow: DESCRIBE_TOKENS, users: [User:svc-]}")),
    ("Acls", _RULES.format("{deny: DESCRIBE, delegationTokens: [a-]}")),
    ("Acls", _RULES.format("{role: consumer, topics: [a], groups: [g-]}")),
    ("Acls", _RULES.format("{role: streams, topics: {prefix: a.}, groups: [g], reads: [b.]}")),
    ("Acls", "principal: User:a, writes: [b.]"),
    ("Acls", "principal: User:a, owns: b."),
    ("Topics", "topics: [{name: orders, owner: User:svc-}]"),
    ("Topics", "topics: [{name: orders, grants: [{principal: User:svc-, role: producer}]}]"),
    ("AccessTests", _TEST.format("principals: [User:svc-], mustNot: [WRITE], topics: [a]")),
    ("AccessTests", _TEST.format("principals: ['User:*'], except: [User:svc-], mustNot: [WRITE], topics: [a]")),
    ("AccessTests", _TEST.format("onlyReaders: [User:svc-], topics: [a]")),
    ("AccessTests", _TEST.format("onlyWriters: [User:svc-], topics: [a]")),
    ("AccessTests", _TEST.format("onlyAdmins: [User:svc-], topics: [a]")),
    ("AccessTests", _TEST.format("onlyReaders: [User:a], topics: [a.]")),
    ("Ownership", "owners: [{team: a, files: c.yaml, principals: [User:svc-]}]"),
    ("Ownership", "owners: [{team: a, files: c.yaml, topics: [a.]}]"),
    ("Ownership", "owners: [{team: a, files: c.yaml, groups: [a-]}]"),
    ("Cluster", _CLUSTER.format("scope: {include: [{topics: [a.]}]}")),
    ("Cluster", _CLUSTER.format("scope: {include: [{principals: {any: true}}], exclude: [{principals: [User:svc-]}]}")),
    ("Cluster", _CLUSTER.format("ignore: [{principals: [User:svc-]}]")),
    ("Cluster", _CLUSTER.format("protect: [{topics: [a.]}]")),
    ("Cluster", _CLUSTER.format("superUsers: [User:admin, User:svc-]")),
    ("Cluster", _CLUSTER.format("interBrokerPrincipals: [User:svc-]")),
    ("Cluster", _CLUSTER.format("principal: User:svc-")),
    ("TopicPolicy", "rules: [{name: few, topics: [a.], configs: {retention.ms: {max: 30d}}, message: m}]"),
    ("Quotas", "quotas: [{user: svc-, limits: {producer_byte_rate: 1024}}]"),
    ("Quotas", "quotas: [{clientId: app-, limits: {producer_byte_rate: 1024}}]"),
    ("Quotas", "quotas: [{user: svc, clientId: app-, limits: {producer_byte_rate: 1024}}]"),
    ("GroupConfigs", "groups: [{name: app-, configs: {consumer.session.timeout.ms: 45000}}]"),
    ("ClientMetrics", "subscriptions: [{name: app-, configs: {metrics: a, match: client_id=a}}]"),
    ("Role", "parameters: [topics, app], rules: [{allow: READ, topics: $topics}, {allow: READ, groups: [$app-]}]"),
    ("Users", "users: [{name: svc-, mechanisms: {SCRAM-SHA-256: {password: '${env:P}'}}}]"),
)
#: Kinds that take no names, by themselves.
_WITHOUT_NAMES: Final = {"ClusterTests", "Fleet"}
_MARKED: Final = re.compile(r"(User:)?(?:\$|\b)[a-z]+[-._](?=[],} ])(?!\d)")


def _codes(kind: str, spec: str) -> list[str]:
    try:
        return [warning.code for warning in load([Source("c.yaml", _HEAD.format(kind, spec))]).warnings]
    except ManifestError as error:
        pytest.fail(str([problem.message for problem in error.problems]))


@pytest.mark.parametrize(("kind", "spec"), _FIELDS)
def test_each_field_says_that_it_is_one_name(kind: str, spec: str) -> None:
    assert _codes(kind, spec).count(Code.NAME_LIKE_A_PATTERN) == 1


def _problems(kind: str, spec: str) -> set[str]:
    try:
        return {warning.code for warning in load([Source("c.yaml", _HEAD.format(kind, spec))]).warnings}
    except ManifestError as error:
        return {problem.code for problem in error.problems}


#: What says of a name with a star that no pattern is meant there.
_STAR_CODES: Final = {Code.NAME_LIKE_A_PATTERN, Code.DEAD_NAME, Code.DEAD_PRINCIPAL, Code.TOPIC_NAME}


@pytest.mark.parametrize(("kind", "spec"), [(kind, spec) for kind, spec in _FIELDS if kind != "AccessTests"])
@pytest.mark.parametrize("name", ["a*", "a.*", "a*z", "*z"])
def test_each_field_says_that_a_star_is_none(kind: str, spec: str, name: str) -> None:
    """Wherever it is in a name. In principals of access tests it does stand for any text."""
    (place,) = (found for found in _MARKED.finditer(spec + " ") if "prefix" not in spec[: found.start()][-9:])
    spec = spec[: place.start()] + repr(f"{place[1] or ''}{name}") + spec[place.end() :]
    assert _problems(kind, spec) & _STAR_CODES, spec


def test_every_kind_that_takes_names_is_among_them() -> None:
    assert {kind for kind, _ in _FIELDS} == KINDS_BY_NAME.keys() - _WITHOUT_NAMES


def test_what_is_spelled_out_is_not_warned_of() -> None:
    """As a literal; a lone star, which means all; a distinguished name; what a plan takes over writes it so."""
    assert not _codes("Acls", _RULES.format("{allow: READ, groups: {literal: ['a*', 'a*z', a-]}}"))
    assert not _codes("Acls", "principal: 'User:*', rules: [{allow: READ, topics: [a], hosts: ['*']}]")
    assert not _codes("Acls", "principal: 'User:CN=*.example.com,O=Example', rules: [{allow: READ, topics: [a]}]")


def test_what_is_no_name_is_not_warned_of() -> None:
    """Globs of files; a pattern of principals; a prefix that is written as one; a topic that is declared by name."""
    assert Code.NAME_LIKE_A_PATTERN not in _codes("Ownership", "owners: [{team: a, files: [a_, c.yaml]}]")
    assert not _codes("AccessTests", _TEST.format("onlyReaders: ['User:svc-*'], topics: {prefix: a.}"))
    assert not _codes("Topics", "topics: [{name: orders.}]")
