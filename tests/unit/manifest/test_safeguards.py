"""What guards a cluster, as values: claims, owners, consents, exceptions, protection."""

import datetime
from typing import Any
from unittest.mock import patch

import pytest

from reconciler.manifest.documents import ownership as ownership_documents
from reconciler.manifest.documents.ownership import OwnerDeclaration
from reconciler.manifest.documents.tests import Claim
from reconciler.manifest.manifests import Manifests, desired_state, load
from reconciler.manifest.read.findings import Source
from reconciler.manifest.read.problem import ManifestError
from reconciler.manifest.safeguards import access_tests, lint_exceptions, ownership
from reconciler.model.acl import AclBinding, AclOperation, ResourceType
from reconciler.model.desired import Origin
from reconciler.model.scope import NameSelector, Selector, path_glob
from tests.worlds import binding, pattern

TEXT = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: prod, labels: {env: prod}}
spec:
  vars: {team: payments}
  interBrokerPrincipals: [User:b2, User:b1]
  protect: [{topics: [ledger.v1]}, {principals: {prefix: "User:mon"}, groups: {any: true}}]
  exceptions: [{check: KA001, reason: r, expires: 2027-01-01}]
---
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: test, labels: {env: test}}
spec: {}
---
apiVersion: reconciler/v1
kind: AccessTests
metadata: {name: everywhere}
spec:
  tests:
    - name: two claims
      principals: [User:a, "User:svc-*"]
      except: User:svc-x
      must: READ
      mustNot: [DELETE, ALL]
      topics: {prefix: a.}
      groups: [g]
      includeSuperUsers: true
  exceptions: [{check: two claims, reason: w, expires: 2027-01-01, ticket: T-1}]
---
apiVersion: reconciler/v1
kind: AccessTests
metadata: {name: prod-only}
spec:
  clusters: {matchLabels: {env: prod}}
  tests: [{name: readers, onlyReaders: User:a, topics: ["${vars.team}"], severity: warning}]
---
apiVersion: reconciler/v1
kind: Acls
metadata: {name: acls}
spec:
  principal: User:a
  rules:
    - {allow: READ, topics: [a, b]}
    - {role: producer, topics: [c]}
  exceptions: [{check: KA002, topics: [a, c], reason: r, expires: 2027-01-01, ticket: T-2}]
---
apiVersion: reconciler/v1
kind: Ownership
metadata: {name: teams}
spec:
  clusters: {matchLabels: {env: prod}}
  owners:
    - {team: a, files: ["a/*.yaml", "**/deep/**", a?.yaml], principals: [User:a], topics: {prefix: a.}, cluster: true}
  consents:
    - {team: a, to: a, operations: READ, topics: [a.x], expires: 2027-01-01}
"""


def manifests() -> Manifests:
    return load([Source("m.yaml", TEXT)])


def test_claims_are_for_their_clusters_and_know_their_variables() -> None:
    found = access_tests(manifests(), "prod")
    assert [(test.document, test.claim) for test in found] == [
        ("everywhere", Claim.MUST),
        ("everywhere", Claim.MUST_NOT),
        ("prod-only", Claim.ONLY_READERS),
    ]
    assert [test.document for test in access_tests(manifests(), "test")] == ["everywhere", "everywhere"]
    readers = found[2]
    assert (readers.principals, readers.patterns) == (("User:a",), (pattern("TOPIC:L:payments"),))
    assert (readers.operations, readers.severity, readers.include_super_users) == ((), "warning", False)


def test_a_test_with_several_claims_is_several() -> None:
    must, must_not, _ = access_tests(manifests(), "prod")
    assert must.principals == must_not.principals == ("User:a", "User:svc-*")
    assert must.excluded == must_not.excluded == ("User:svc-x",)
    assert must.operations == (AclOperation.READ,)
    assert must_not.operations == (AclOperation.DELETE, AclOperation.ALL)
    assert must.patterns == (pattern("TOPIC:P:a."), pattern("GROUP:L:g"))
    assert (must.origin, must_not.origin) == (Origin("m.yaml", 23, 7), Origin("m.yaml", 24, 7))
    assert must.include_super_users
    assert must.exception is not None
    assert (must.exception.reason, must.exception.ticket) == ("w", "T-1")
    assert must.exception.stands(datetime.date(2027, 1, 1))
    assert not must.exception.stands(datetime.date(2027, 1, 2))


def test_what_is_protected_and_who_the_brokers_are() -> None:
    prod, test = manifests().clusters["prod"], manifests().clusters["test"]
    assert prod.protect == (
        Selector(None, ResourceType.TOPIC, NameSelector(literal=("ledger.v1",))),
        Selector(NameSelector(prefixes=("User:mon",)), ResourceType.GROUP, NameSelector(any_name=True)),
    )
    assert prod.inter_broker_principals == ("User:b2", "User:b1")
    assert (test.protect, test.inter_broker_principals, test.lint_exceptions) == ((), (), ())


def test_owners_and_consents_of_a_cluster_whenever_they_end() -> None:
    (owner,), consents = ownership(manifests(), "prod")
    assert owner.patterns == (pattern("TOPIC:P:a."), pattern("CLUSTER:L:kafka-cluster"))
    assert [(consent.team, consent.to, consent.own_file) for consent in consents] == [("a", "a", True)]
    assert [str(consent.expires) for consent in consents] == ["2027-01-01"]
    assert ownership(manifests(), "test") == ((), ())


def test_files_of_an_owner() -> None:
    (owner,), _ = ownership(manifests(), "prod")
    theirs = {"a/x.yaml", "deep/x.yaml", "b/deep/c/d/x.yaml", "a1.yaml"}
    others = {"a/b/x.yaml", "a/x.yml", "b/a/x.yaml", "deeper/x.yaml", "a12.yaml", "a/.yaml/x", "aXyaml"}
    assert owner.files_of(sorted(theirs | others)) == theirs


def declaration(topic: str) -> Origin:
    desired = desired_state(manifests(), "prod", datetime.date(2027, 1, 1))
    return min(said.origin for found, said in desired.bindings.items() if found.pattern.name == topic)


def covered(rule: str, text: str, origin: Origin | None) -> list[str]:
    found: AclBinding = binding(text)
    exceptions = lint_exceptions(manifests(), "prod")
    return [
        exception.rule for exception in exceptions if exception.covers(rule, origin, lambda one: one.selects(found))
    ]


def test_a_exception_of_a_document_reaches_its_own_bindings() -> None:
    on_a, on_c = (declaration(name) for name in "ac")
    assert covered("KA002", "TOPIC:L:a User:a@* ALLOW READ", on_a) == ["KA002"]
    assert covered("KA002", "TOPIC:L:c User:a@* ALLOW WRITE", on_c) == ["KA002"]
    assert covered("KA002", "TOPIC:L:b User:a@* ALLOW READ", declaration("b")) == []
    assert covered("KA002", "TOPIC:L:a User:a@* ALLOW READ", Origin("m.yaml", 99, 1)) == []
    assert covered("KA002", "TOPIC:L:a User:a@* ALLOW READ", None) == []
    assert covered("KA003", "TOPIC:L:a User:a@* ALLOW READ", on_a) == []


def test_a_exception_of_a_cluster_reaches_every_binding() -> None:
    assert covered("KA001", "TOPIC:L:a User:x@* ALLOW READ", None) == ["KA001"]


def test_an_unset_variable_is_a_problem_of_the_cluster_that_lacks_it() -> None:
    source = Source("m.yaml", TEXT.replace("  vars: {team: payments}\n", ""))
    with pytest.raises(ManifestError) as caught:
        access_tests(load([source]), "prod")
    assert [problem.code for problem in caught.value.problems] == ["KR030"]
    assert access_tests(load([source]), "test")


def test_files_are_those_that_any_glob_matches() -> None:
    """Globs are compiled for the paths that begin as they do; to match each path gives the same."""
    globs = [
        "a.yaml",
        "a/*.yaml",
        "a/**",
        "**/a.yaml",
        "?.yaml",
        "*",
        "a?b",
        "é/*",
        "a",
        "",
        "a/b\udc80",
        "a/*\udc80",
        "a*b*",
    ]
    paths = [
        "a.yaml",
        "a/a.yaml",
        "a/b/a.yaml",
        "b.yaml",
        "aéb",
        "é/a",
        "a",
        "a/b\udc80",
        "a/b\udc81",
        "a/b?",
        "axbx",
        "aab",
    ]
    for glob in globs:
        expected = {path for path in paths if path_glob(glob)(path)}
        assert OwnerDeclaration("x", Origin("o.yaml", 1, 1), (glob,)).files_of(sorted(paths)) == expected, glob
    both = OwnerDeclaration("x", Origin("o.yaml", 1, 1), ("a.yaml", "b*"))
    assert both.files_of(sorted(paths)) == {"a.yaml", "b.yaml"}


def test_a_team_of_one_file_compiles_no_glob_for_the_others() -> None:
    paths = [f"teams/x{n}.yaml" for n in range(50)]
    with patch.object(ownership_documents, "path_glob", side_effect=path_glob) as compiled:
        owner = OwnerDeclaration("x", Origin("o.yaml", 1, 1), ("teams/x7.yaml", "teams/y.yaml"))
        assert owner.files_of(sorted(paths)) == {"teams/x7.yaml"}
    assert compiled.call_count == 1


def test_a_team_looks_at_the_paths_that_begin_as_its_globs_do() -> None:
    class Paths(list[str]):
        looked = 0

        def __getitem__(self, at: Any) -> Any:
            Paths.looked += 1
            return super().__getitem__(at)

    paths = Paths(sorted(f"teams/x{n}/a.yaml" for n in range(1_000)))
    for n in range(1_000):
        assert OwnerDeclaration("x", Origin("o.yaml", 1, 1), (f"teams/x{n}/**",)).files_of(paths) == {
            f"teams/x{n}/a.yaml"
        }
    assert Paths.looked <= 1_000 * 16
