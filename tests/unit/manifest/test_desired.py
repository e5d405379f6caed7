"""What a cluster is to have: rules, roles, variables, clusters, expiry."""

import datetime

import pytest

from reconciler.manifest.manifests import declared_acls, desired_state, load
from reconciler.manifest.parts.clusters import ClusterDeclaration
from reconciler.manifest.read.findings import Source
from reconciler.manifest.read.problem import ManifestError
from reconciler.manifest.safeguards import standing_exceptions
from reconciler.model.acl import ResourceType
from reconciler.model.desired import DesiredState, Expiry, Origin
from reconciler.model.topic import Topic

CLUSTER = """apiVersion: reconciler/v1
kind: Cluster
metadata: {name: c, labels: {env: prod}}
spec: {vars: {n: 12, t: orders}}
"""
HEAD = "apiVersion: reconciler/v1\nkind: Acls\nmetadata: {name: a}\nspec:\n  principal: User:a\n  rules:\n"
TOPICS = "apiVersion: reconciler/v1\nkind: Topics\nmetadata: {name: t}\nspec:\n"
DAY = datetime.date(2027, 1, 1)


def desired(*texts: str, day: datetime.date = DAY) -> DesiredState:
    sources = [Source(f"{index}.yaml", text) for index, text in enumerate((*texts, CLUSTER))]
    return desired_state(load(sources), "c", day)


def rules(text: str) -> list[str]:
    """The bindings of rules of User:a, without the principal."""
    return sorted(str(binding).removeprefix("User:a ") for binding in desired(HEAD + text).bindings)


def test_a_rule_is_every_operation_and_host_on_every_name() -> None:
    assert rules("    - {deny: [READ, WRITE], topics: [x, y], hosts: [10.0.0.7, 10.0.0.8]}\n") == [
        f"DENY {operation} from {host} on TOPIC {name}"
        for operation in ("READ", "WRITE")
        for host in ("10.0.0.7", "10.0.0.8")
        for name in ("x", "y")
    ]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("{allow: READ, topics: x}", ["ALLOW READ on TOPIC x"]),
        ("{allow: READ, topics: {prefix: x}}", ["ALLOW READ on TOPIC PREFIXED x"]),
        ("{allow: READ, topics: {any: true}}", ["ALLOW READ on TOPIC *"]),
        ("{allow: READ, topics: {literal: [x, y]}}", ["ALLOW READ on TOPIC x", "ALLOW READ on TOPIC y"]),
        ('{allow: READ, groups: {literal: "g*"}}', ["ALLOW READ on GROUP g*"]),
        ("{allow: ALL, cluster: true}", ["ALLOW ALL on CLUSTER kafka-cluster"]),
        ("{allow: READ, topics: [no], groups: [1_000]}", ["ALLOW READ on GROUP 1_000", "ALLOW READ on TOPIC no"]),
        ("{allow: CREATE_TOKENS, users: ['User:b']}", ["ALLOW CREATE_TOKENS on USER User:b"]),
        ("{allow: DESCRIBE, delegationTokens: [t]}", ["ALLOW DESCRIBE on DELEGATION_TOKEN t"]),
        (
            "{allow: TWO_PHASE_COMMIT, transactionalIds: [t]}",
            ["ALLOW TWO_PHASE_COMMIT on TRANSACTIONAL_ID t"],
        ),
        ("{allow: READ, topics: '${vars.t}'}", ["ALLOW READ on TOPIC orders"]),
    ],
)
def test_forms_of_names(rule: str, expected: list[str]) -> None:
    assert rules(f"    - {rule}\n") == expected


@pytest.mark.parametrize(
    ("use", "expected"),
    [
        ("producer, topics: x", ["ALLOW DESCRIBE on TOPIC x", "ALLOW WRITE on TOPIC x"]),
        (
            "idempotent-producer, topics: x",
            ["ALLOW DESCRIBE on TOPIC x", "ALLOW IDEMPOTENT_WRITE on CLUSTER kafka-cluster", "ALLOW WRITE on TOPIC x"],
        ),
        (
            "transactional-producer, topics: x, transactionalIds: {prefix: x-}, groups: g",
            [
                "ALLOW DESCRIBE on TOPIC x",
                "ALLOW DESCRIBE on TRANSACTIONAL_ID PREFIXED x-",
                "ALLOW READ on GROUP g",
                "ALLOW WRITE on TOPIC x",
                "ALLOW WRITE on TRANSACTIONAL_ID PREFIXED x-",
            ],
        ),
        (
            "consumer, topics: x, groups: g",
            ["ALLOW DESCRIBE on TOPIC x", "ALLOW READ on GROUP g", "ALLOW READ on TOPIC x"],
        ),
        (
            "streams, topics: {prefix: app-}, groups: app",
            ["ALLOW DESCRIBE on GROUP app", "ALLOW READ on GROUP app"]
            + [
                f"ALLOW {operation} on TOPIC PREFIXED app-"
                for operation in ("CREATE", "DELETE", "DESCRIBE", "DESCRIBE_CONFIGS", "READ", "WRITE")
            ],
        ),
        (
            "connect, topics: x, groups: w, transactionalIds: t",
            [
                "ALLOW DESCRIBE on GROUP w",
                "ALLOW READ on GROUP w",
                "ALLOW DESCRIBE on TRANSACTIONAL_ID t",
                "ALLOW WRITE on TRANSACTIONAL_ID t",
            ]
            + [
                f"ALLOW {operation} on TOPIC x"
                for operation in ("CREATE", "DESCRIBE", "DESCRIBE_CONFIGS", "READ", "WRITE")
            ],
        ),
        (
            "mirror, topics: {any: true}, groups: {any: true}",
            ["ALLOW DESCRIBE on GROUP *", "ALLOW READ on GROUP *"]
            + [
                f"ALLOW {operation} on TOPIC *"
                for operation in ("ALTER", "ALTER_CONFIGS", "CREATE", "DESCRIBE", "DESCRIBE_CONFIGS", "READ", "WRITE")
            ],
        ),
        (
            "admin, topics: x, groups: g, cluster: true",
            ["ALLOW DELETE on GROUP g", "ALLOW DESCRIBE on GROUP g"]
            + [
                f"ALLOW {operation} on TOPIC x"
                for operation in ("ALTER", "ALTER_CONFIGS", "CREATE", "DELETE", "DESCRIBE", "DESCRIBE_CONFIGS")
            ]
            + [
                f"ALLOW {operation} on CLUSTER kafka-cluster"
                for operation in ("ALTER", "ALTER_CONFIGS", "CREATE", "DESCRIBE", "DESCRIBE_CONFIGS")
            ],
        ),
    ],
)
def test_built_in_roles(use: str, expected: list[str]) -> None:
    assert rules(f"    - {{role: {use}}}\n") == sorted(expected)


def test_a_role_of_our_own_takes_resources_and_names_others() -> None:
    role = """apiVersion: reconciler/v1
kind: Role
metadata: {name: auditor}
spec:
  parameters: [topics]
  rules:
    - {allow: DESCRIBE, topics: $topics}
    - {deny: WRITE, topics: {prefix: audit.}}
"""
    state = desired(role, HEAD + "    - {role: auditor, topics: [x, y], reason: year's end, expires: 2027-06-30}\n")
    assert sorted(map(str, state.bindings)) == [
        "User:a ALLOW DESCRIBE on TOPIC x",
        "User:a ALLOW DESCRIBE on TOPIC y",
        "User:a DENY WRITE on TOPIC PREFIXED audit.",
    ]
    assert {item.reason for item in state.bindings.values()} == {"year's end"}
    own = next(item for binding, item in state.bindings.items() if binding.pattern.name == "audit.")
    assert own.origin == Origin("1.yaml", 7, 14)


def test_a_binding_knows_its_name_its_reason_and_its_end() -> None:
    text = HEAD + "    - {allow: READ, topics: [x, y], reason: audit, ticket: SEC-1, expires: 2027-01-01}\n"
    state = desired(text)
    assert sorted(item.origin for item in state.bindings.values()) == [
        Origin("0.yaml", 7, 30),
        Origin("0.yaml", 7, 33),
    ]
    assert {item[1:4] for item in state.bindings.values()} == {("audit", "SEC-1", Expiry(DAY))}
    assert not state.expired
    later = desired(text, day=DAY + datetime.timedelta(days=1))
    assert (dict(later.bindings), dict(later.expired)) == ({}, dict(state.bindings))


def test_whoever_says_that_a_binding_stays_is_heard() -> None:
    text = HEAD + (
        "    - {role: producer, topics: x, keep: disaster recovery, expires: 2027-06-01}\n"
        "    - {allow: WRITE, topics: [x, y], reason: daily}\n"
    )
    kept = {str(binding): (item.reason, item.keep) for binding, item in desired(text).bindings.items()}
    assert kept == {
        "User:a ALLOW DESCRIBE on TOPIC x": (None, "disaster recovery"),
        "User:a ALLOW WRITE on TOPIC x": ("daily", "disaster recovery"),
        "User:a ALLOW WRITE on TOPIC y": ("daily", None),
    }


@pytest.mark.parametrize("words", ["''", "' '", "[]", "{}"])
def test_keep_says_why(words: str) -> None:
    with pytest.raises(ManifestError):
        desired(HEAD + f"    - {{allow: READ, topics: x, keep: {words}}}\n")


def test_what_roles_bring_together_is_wanted_as_long_as_one_of_them_wants_it() -> None:
    text = HEAD + (
        "    - {role: producer, topics: x, expires: 2026-01-01}\n"
        "    - {role: consumer, topics: x, groups: g, expires: 2027-01-01}\n"
        "    - {allow: READ, topics: x}\n"
    )
    state = desired(text)
    ends = {str(binding): item.expires for binding, item in state.bindings.items()}
    assert ends == {
        "User:a ALLOW DESCRIBE on TOPIC x": Expiry(DAY),
        "User:a ALLOW READ on TOPIC x": None,
        "User:a ALLOW READ on GROUP g": Expiry(DAY),
    }
    assert list(map(str, state.expired)) == ["User:a ALLOW WRITE on TOPIC x"]


def test_a_setting_takes_a_variable_among_others() -> None:
    text = TOPICS + "  topics: [{name: x, configs: {cleanup.policy: [compact, '${vars.p}']}}]\n"
    cluster = CLUSTER.replace("n: 12", "n: 12, p: delete")
    state = desired_state(load([Source("t.yaml", text), Source("c.yaml", cluster)]), "c", DAY)
    assert state.topics["x"].topic.configs == {"cleanup.policy": "compact,delete"}


def test_roles_name_what_the_cluster_sets() -> None:
    role = HEAD.replace("Acls", "Role").replace("  principal: User:a\n", "")
    role += "    - {allow: READ, topics: '${vars.t}'}\n"
    state = desired(role, HEAD.replace("name: a", "name: b") + "    - {role: a}\n")
    assert list(map(str, state.bindings)) == ["User:a ALLOW READ on TOPIC orders"]


def test_documents_are_for_the_clusters_whose_labels_they_match() -> None:
    for_test = HEAD.replace("spec:\n", "spec:\n  clusters: {matchLabels: {env: test}}\n")
    for_all = HEAD.replace("name: a", "name: b").replace("spec:\n", "spec:\n  clusters: {matchLabels: {}}\n")
    rule = "    - {allow: READ, topics: "
    assert not desired(f"{for_test}{rule}x}}\n").bindings
    assert not desired(f"{for_test}{rule}'${{vars.unset}}'}}\n").bindings
    assert len(desired(f"{for_all}{rule}x}}\n").bindings) == 1


def test_topics_take_defaults_variables_and_normal_forms() -> None:
    state = desired(
        TOPICS
        + """  defaults:
    partitions: ${vars.n}
    replicationFactor: 3
    configs: {retention.ms: 7d, segment.bytes: 1GiB}
  topics:
    - {name: x, labels: {data: personal}}
    - {name: y, partitions: 1, configs: {retention.ms: -1, cleanup.policy: [delete, " compact"], preallocate: "TRUE"}}
    - {name: z, absent: true}
""",
        TOPICS.replace("name: t", "name: u") + "  topics: [{name: v}]\n",
    )
    configs = {"retention.ms": "604800000", "segment.bytes": "1073741824"}
    own = {"retention.ms": "-1", "cleanup.policy": "compact,delete", "preallocate": "true"}
    assert {name: item.topic for name, item in state.topics.items()} == {
        "x": Topic("x", 12, 3, configs),
        "y": Topic("y", 1, 3, configs | own),
        "z": Topic("z"),
        "v": Topic("v"),
    }
    assert state.topics["x"].labels == {"data": "personal"}
    assert [name for name, item in state.topics.items() if item.absent] == ["z"]


def test_a_cluster_is_read_whole() -> None:
    text = """apiVersion: reconciler/v1
kind: Cluster
metadata: {name: prod-eu, labels: {env: prod}}
spec:
  bootstrapServers: [broker-1:9093, "[::1]:9093"]
  client: {security.protocol: SASL_SSL, sasl.password: "${env:KAFKA_PASSWORD}"}
  principal: User:reconciler
  superUsers: [User:admin]
  allowEveryoneIfNoAclFound: true
  scope:
    include: [{principals: {prefix: "User:svc-"}}, {topics: {any: true}}, {principals: [User:b], groups: [h, g]}]
    exclude: [{topics: {prefix: __}}, {cluster: true}]
  ignore: [{principals: {any: true}, topics: [x]}]
  deleteLimits: {maxDeletes: 200}
  barrier: {wait: 500ms}
  prune: [topics]
  ignoreConfigs: [retention.ms]
  exceptions: [{check: limit, object: maxDeletes, reason: clean-up, expires: 2027-01-01}]
"""
    cluster = load([Source("c.yaml", text)]).clusters["prod-eu"]
    assert cluster.bootstrap_servers == ("broker-1:9093", "[::1]:9093")
    assert dict(cluster.client) == {"security.protocol": "SASL_SSL", "sasl.password": "${env:KAFKA_PASSWORD}"}
    assert cluster.client_origins["sasl.password"] == Origin("c.yaml", 6, 41)
    assert (cluster.principal, cluster.super_users) == ("User:reconciler", ("User:admin",))
    assert cluster.allow_everyone_if_no_acl_found is True
    assert cluster.scope.include is not None
    assert [item.resource_type for item in cluster.scope.include] == [None, ResourceType.TOPIC, ResourceType.GROUP]
    assert [names.literal for item in cluster.scope.include if (names := item.names)] == [(), ("g", "h")]
    assert [item.resource_type for item in cluster.scope.exclude] == [ResourceType.TOPIC, ResourceType.CLUSTER]
    assert cluster.scope.ignore[0].principals is not None
    assert cluster.scope.ignore[0].principals.any_name
    assert cluster.limits == (200, None, None)
    assert (cluster.barrier_wait, cluster.ignore_configs) == (0.5, ("retention.ms",))
    assert cluster.prune == {"topics"}
    assert standing_exceptions(cluster, DAY) == cluster.guard_exceptions
    assert standing_exceptions(cluster, DAY + datetime.timedelta(days=1)) == ()


def test_what_a_cluster_does_not_say() -> None:
    cluster = load([Source("c.yaml", CLUSTER)]).clusters["c"]
    assert cluster == ClusterDeclaration("c", Origin("c.yaml", 3, 18), cluster.labels, vars=cluster.vars)
    assert cluster.allow_everyone_if_no_acl_found is None
    assert cluster.scope.include is None


def test_empty_documents_and_no_documents_are_nothing() -> None:
    assert not desired("---\n---\n# nothing\n", "").bindings


def test_an_error_says_everything() -> None:
    with pytest.raises(ManifestError) as caught:
        load([Source("a.yaml", "kind: x\n"), Source("b.yaml", "- 1\n")])
    assert [problem.origin.file for problem in caught.value.problems] == ["a.yaml", "a.yaml", "b.yaml"]
    assert "a.yaml:1:7: error KR022" in str(caught.value)


def test_the_documents_of_a_cluster_name_its_principals() -> None:
    text = HEAD.replace("User:a", "User:${vars.t}") + "    - {allow: READ, topics: x}\n"
    other = (
        HEAD.replace("name: a", "name: b").replace("User:a", "User:${vars.unset}") + "    - {allow: READ, topics: x}\n"
    )
    manifests = load([Source("a.yaml", text), Source("b.yaml", other), Source("c.yaml", CLUSTER)])
    [declared] = declared_acls(manifests, manifests.clusters["c"])
    assert declared.rules[0].principals == ("User:orders",)


def test_texts_are_kept_as_they_are() -> None:
    """Packed in pieces: a character must not fall between two of them."""
    text = f"# {'ж' * 70_000}\n" + "apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {name: c}\nspec: {}\n"
    found = load([Source("b.yaml", text), Source("a.yaml", "# nothing\n")]).sources
    assert dict(found) == {"a.yaml": Source("a.yaml", "# nothing\n"), "b.yaml": Source("b.yaml", text)}
    assert list(found) == ["a.yaml", "b.yaml"]
    assert "c.yaml" not in found


OVERRIDES = """apiVersion: reconciler/v1
kind: Topics
metadata: {name: pay, labels: {team: pay}}
spec:
  defaults: {configs: {min.insync.replicas: 2}, overrides: [{matchLabels: {team: pay}, replicationFactor: 3}]}
  topics:
    - {name: pay.a, partitions: 6, configs: {retention.ms: 7d, cleanup.policy: delete}}
    - {name: pay.b, partitions: 6}
    - {name: pay.c, replicaAssignments: [[1, 2]]}
    - {name: pay.old, absent: true}
  overrides:
    - {clusters: {matchLabels: {env: prod}}, topics: [pay.a, {prefix: pay.b}], partitions: 24, replicationFactor: 4}
    - {clusters: {matchLabels: {env: prod}}, configs: {retention.ms: 30d}}
    - {clusters: {matchLabels: {env: prod}}, topics: pay.a, partitions: 48}
---
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: prod, labels: {env: prod}}
spec: {topicDefaults: {partitions: 1, configs: {retention.ms: 1d, segment.ms: 1h}}}
---
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: dev, labels: {env: dev}}
spec: {}
"""


def test_a_topic_is_different_on_some_clusters_only() -> None:
    manifests = load([Source("a.yaml", OVERRIDES)])
    prod, dev = (desired_state(manifests, name, datetime.date(2027, 1, 1)).topics for name in ("prod", "dev"))
    month, week, hour = "2592000000", "604800000", "3600000"
    first, second, fixed = (prod[name].topic for name in ("pay.a", "pay.b", "pay.c"))
    assert (first.num_partitions, first.replication_factor) == (48, 4)
    assert dict(first.configs) == {
        "retention.ms": month,
        "cleanup.policy": "delete",
        "min.insync.replicas": "2",
        "segment.ms": hour,
    }
    assert (second.num_partitions, second.replication_factor) == (24, 4)
    assert (fixed.num_partitions, fixed.replica_assignments) == (1, ((1, 2),))
    assert fixed.configs["retention.ms"] == month
    assert prod["pay.old"].absent
    assert [dev[name].topic.num_partitions for name in ("pay.a", "pay.b", "pay.c")] == [6, 6, 1]
    assert dev["pay.a"].topic.configs["retention.ms"] == week
    assert "retention.ms" not in dev["pay.b"].topic.configs
    assert dev["pay.a"].topic.replication_factor == 3
