"""Exported manifests as a person reads them."""

import pytest

from reconciler.manifest.manifests import load
from reconciler.manifest.read.findings import Source
from reconciler.manifest.write.manifests import cluster_document, differences, export_manifests
from reconciler.manifest.write.text import comment, file_stems, scalar
from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    OpaqueBinding,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.kinds.quota import ClientQuota, QuotaEntity
from reconciler.model.listing import Listing
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.model.topic_configs import readable

PAYMENTS = "User:svc-payments"


def acl(  # one binding in few words
    kind: str, name: str, operation: str, *, who: str = PAYMENTS, deny: bool = False, host: str = "*"
) -> AclBinding:
    literal = not name.endswith("…")
    pattern = ResourcePattern(
        ResourceType[kind], name.rstrip("…"), PatternType.LITERAL if literal else PatternType.PREFIXED
    )
    permission = AclPermissionType.DENY if deny else AclPermissionType.ALLOW
    return AclBinding(pattern, AccessControlEntry(who, host, AclOperation[operation], permission))


def exported(*bindings: AclBinding, topics: tuple[Topic, ...] = ()) -> dict[str, str]:
    state = ClusterState("4L6g", frozenset(bindings), {topic.name: topic for topic in topics})
    return dict(export_manifests(state, cluster="prod-eu").files)


def test_a_principal_is_a_file_with_folded_rules() -> None:
    files = exported(
        *(acl("TOPIC", f"payments.{name}", what) for name in ("orders", "refunds") for what in ("DESCRIBE", "READ")),
        *(acl("TOPIC", "payments.audit.…", what, deny=True, host="10.0.0.7") for what in ("WRITE", "DELETE")),
        acl("TOPIC", "payments.…", "READ"),
        acl("GROUP", "payments-…", "READ"),
        acl("GROUP", "odd*", "READ"),
        acl("TRANSACTIONAL_ID", "*", "WRITE"),
        acl("CLUSTER", "kafka-cluster", "IDEMPOTENT_WRITE"),
        acl("TOPIC", "ledger", "READ", host="10.0.0.1"),
        acl("TOPIC", "ledger", "READ", host="10.0.0.2"),
        acl("TOPIC", "ledger", "WRITE", host="10.0.0.1"),
    )
    assert files == {
        "acls/svc-payments.yaml": """\
# As found on prod-eu (4L6g).
apiVersion: reconciler/v1
kind: Acls
metadata: {name: svc-payments}
spec:
  principal: User:svc-payments
  rules:
    - allow: READ
      topics: [ledger]
      hosts: [10.0.0.1, 10.0.0.2]
    - allow: WRITE
      topics: [ledger]
      hosts: [10.0.0.1]
    - allow: READ
      topics: {prefix: payments.}
    - deny: [WRITE, DELETE]
      topics: {prefix: payments.audit.}
      hosts: [10.0.0.7]
    - role: consumer
      topics: [payments.orders, payments.refunds]
      groups: {prefix: payments-}
    - allow: READ
      groups:
        literal: [odd*]
    - allow: IDEMPOTENT_WRITE
      cluster: true
    - allow: WRITE
      transactionalIds: {any: true}
"""
    }


@pytest.mark.parametrize("name", ["orders.", "orders-", "orders_"])
def test_a_name_that_ends_as_a_prefix_does_is_spelled_out(name: str) -> None:
    files = exported(acl("TOPIC", name, "READ"), acl("GROUP", "plain", "READ"))
    (text,) = (text for path, text in files.items() if path.startswith("acls/"))
    assert f"literal: [{name}]" in text
    assert load(Source(path, text) for path, text in files.items()).warnings == ()


def test_a_long_list_has_an_item_a_line() -> None:
    names = [f"payments.a-rather-long-name-{number}" for number in range(4)]
    text = exported(*(acl("TOPIC", name, "READ") for name in names))["acls/svc-payments.yaml"]
    assert "      topics:\n" + "".join(f"        - {name}\n" for name in names) in text


def test_topics_have_all_that_is_set_on_them() -> None:
    configs = {"cleanup.policy": "compact,delete", "retention.ms": "604800000", "segment.bytes": "1073741824"}
    more = {**configs, "min.insync.replicas": "2"}
    files = exported(topics=(Topic("b", 1, 1), Topic("a.x", 12, 3, configs), Topic("a.y", 6, 3, more)))
    assert files["topics.yaml"].splitlines()[3:] == [
        "metadata: {name: topics}",
        "spec:",
        "  topics:",
        "    - name: a.x",
        "      partitions: 12",
        "      replicationFactor: 3",
        "      configs: {cleanup.policy: 'compact,delete', retention.ms: 7d, segment.bytes: 1GiB}",
        "    - name: a.y",
        "      partitions: 6",
        "      replicationFactor: 3",
        "      configs:",
        "        cleanup.policy: compact,delete",
        "        min.insync.replicas: 2",
        "        retention.ms: 7d",
        "        segment.bytes: 1GiB",
        "    - name: b",
        "      partitions: 1",
        "      replicationFactor: 1",
    ]


def test_what_cannot_be_said_is_named_where_a_reader_looks() -> None:
    poison, hanging = acl("GROUP", "g", "READ", who="nobody"), acl("GROUP", "#g", "READ")
    state = ClusterState(
        "4L6g",
        frozenset({poison, hanging, acl("TOPIC", "t", "READ")}),
        {name: Topic(name, 1, 1) for name in ("a.b", "a_b", "__consumer_offsets", "__kr.lease")},
        opaque=(OpaqueBinding("User:x", "User:y", "*", 7, 3, None, 3),),
        unreadable_topics={"hidden": "TOPIC_AUTHORIZATION_FAILED"},
        acl_gap="one kind was not asked for",
        topic_gap="some were not listed",
    )
    export = export_manifests(state)
    assert [item.item for item in export.inexpressible if isinstance(item.item, AclBinding)] == [hanging, poison]
    assert [item.subject for item in export.inexpressible[2:]] == [
        "topic __consumer_offsets",
        "topic __kr.lease",
        "topic a_b",
    ]
    assert export.files["acls/svc-payments.yaml"].splitlines()[1:3] == [
        "# Live and not in this file:",
        "#   User:svc-payments ALLOW READ on GROUP #g: the name begins with a character below '*': "
        "an ACL on it can hang brokers",
    ]
    assert export.files["not-exported.yaml"].splitlines()[1:] == [
        "# Live and not in this file:",
        "#   nobody ALLOW READ on GROUP g: the principal has no type and colon: it breaks brokers up to 3.9",
        "# An ACL of a kind that the client cannot name: User:y from * on User:x (codes 7, 3, ?, 3)",
        "# The ACLs may not be whole: one kind was not asked for",
        "# Topic __consumer_offsets: Kafka keeps this topic itself",
        "# Topic __kr.lease: the name is reserved for the reconciler",
        "# Topic a_b: the name collides with a.b",
        "# Topic hidden could not be read: TOPIC_AUTHORIZATION_FAILED",
        "# The topics may not be whole: some were not listed",
    ]


def test_quotas_survive_the_round_trip() -> None:
    of = QuotaEntity.of
    quotas = {
        ClientQuota(of("alice"), {"producer_byte_rate": 10 * 2**20, "request_percentage": 12.5}),
        ClientQuota(of("", "no: 'sense', [x]"), {"consumer_byte_rate": 2**53}),
        ClientQuota(of(client_id=""), {"controller_mutation_rate": 0.000000001}),
        ClientQuota(of(ip="10.0.0.7"), {"connection_creation_rate": 20}),
        ClientQuota(of("hid\u202eden"), {"request_percentage": 1}),
        ClientQuota(of("third"), {"request_percentage": 1 / 3}),
        ClientQuota(of("odd"), {"unknown_rate": 1}),
        ClientQuota(of("nothing"), {}),
    }
    state = ClusterState("4L6g", listings={"quotas": Listing(frozenset(quotas))})
    export = export_manifests(state)
    assert [item.subject for item in export.inexpressible] == [
        "quota of user hid\u202eden",
        "quota of user nothing",
        "quota of user odd",
        "quota of user third",
    ]
    cluster = cluster_document("c", ["b:9092"])
    assert differences(export, state, {"cluster.yaml": cluster}, "c") == []
    unread = export_manifests(ClusterState("4L6g", listings={"quotas": Listing(gap="no right to read them")}))
    assert "quotas.yaml" not in unread.files
    assert "no right to read them" in unread.files["not-exported.yaml"]


def test_an_empty_cluster_is_no_files() -> None:
    assert exported() == {}


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("payments.orders", "payments.orders"),
        ("User:svc-payments", "User:svc-payments"),
        ("User:*", "User:*"),
        ("User:CN=a, O=b", "User:CN=a, O=b"),
        ("User:🦀", "User:🦀"),
        ("<script>", "'<script>'"),
        ("it's", "it's"),
        ("'quoted'", "'''quoted'''"),
        ("a: b", "'a: b'"),
        ("a:", "'a:'"),
        ("a #b", "'a #b'"),
        ("a#b", "a#b"),
        ("*", "'*'"),
        ("-", "'-'"),
        ("no", "'no'"),
        ("007", "'007'"),
        ("1.5", "'1.5'"),
        ("2026-01-01", "'2026-01-01'"),
        ("10.0.0.7", "10.0.0.7"),
        ("", "''"),
        (" a", "' a'"),
        ("${env:X}", "'${env:X}'"),
    ],
)
def test_quotes_stand_only_where_they_are_needed(text: str, written: str) -> None:
    assert scalar(text) == written


def test_a_comma_needs_quotes_in_a_list_on_one_line() -> None:
    assert scalar("a,b", flow=True) == "'a,b'"


def test_a_comment_stays_one_line_of_plain_characters() -> None:
    assert comment("a\nkind: Acls\u2028\u202eé\x1b") == "# a\\nkind: Acls\\u2028\\u202eé\\x1b"


@pytest.mark.parametrize(
    ("name", "value", "written"),
    [
        ("retention.ms", "-1", "-1"),
        ("retention.ms", "0", "0"),
        ("retention.ms", "90000", "90s"),
        ("retention.ms", "1", "1"),
        ("retention.ms", "007", "007"),
        ("segment.bytes", "1048576", "1MiB"),
        ("min.insync.replicas", "86400000", "86400000"),
        ("unknown.ms", "1000", "1000"),
    ],
)
def test_times_and_sizes_have_the_largest_unit_that_divides_them(name: str, value: str, written: str) -> None:
    assert readable(name, value) == written


def test_a_principals_file_is_called_after_it_where_that_is_safe_and_unique() -> None:
    names = {
        "User:svc-pay": "svc-pay",
        "User:svc pay": "svc-pay-",
        "User:Svc": "Svc-",
        "User:svc": "svc-",
        "User:../../etc/passwd": "etc-passwd",
        "User:CN=a, O=b": "CN-a-O-b",
        "User:*": "everyone",
        "Group:dev": "Group-dev",
        "User:nul": "nul-file",
        "User:🦀": "unnamed",
    }
    stems = file_stems(names)
    for principal, stem in names.items():
        assert stems[principal].startswith(stem)
        assert stem.endswith("-") or stems[principal] == stem
    assert len({stem.casefold() for stem in stems.values()}) == len(names)


def test_a_long_principal_has_a_name_that_file_systems_take() -> None:
    stems = file_stems(["User:" + "x" * 5_000, "User:" + "x" * 5_001])
    assert all(len(stem) < 120 for stem in stems.values())
    assert len(set(stems.values())) == 2


def test_a_cluster_is_declared_with_what_is_known() -> None:
    text = cluster_document("prod-eu", ["broker-1:9093", "broker-2:9093"])
    assert (
        text
        == """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: prod-eu}
spec:
  bootstrapServers: [broker-1:9093, broker-2:9093]
  deleteLimits:
    maxDeletePercent: 20
    percentAbove: 10
"""
    )


def test_a_cluster_with_text_that_no_manifest_holds_is_refused() -> None:
    with pytest.raises(ValueError, match="u202e"):
        cluster_document("prod", ["b:1\u202e"])


def test_what_most_topics_have_alike_is_said_once() -> None:
    configs = {"compression.type": "zstd", "retention.ms": "3600000"}
    topics = [Topic(f"t{number}", 6, 3, configs) for number in range(4)]
    topics.append(Topic("odd", 12, 3, {"compression.type": "lz4"}))
    assert (
        exported(topics=tuple(topics))["topics.yaml"].partition("spec:\n")[2]
        == """\
  defaults:
    partitions: 6
    replicationFactor: 3
    configs: {compression.type: zstd}
  topics:
    - name: odd
      partitions: 12
      configs: {compression.type: lz4}
    - name: t0
      configs: {retention.ms: 1h}
    - name: t1
      configs: {retention.ms: 1h}
    - name: t2
      configs: {retention.ms: 1h}
    - name: t3
      configs: {retention.ms: 1h}
"""
    )


def test_a_default_is_no_config_of_a_topic_that_has_none() -> None:
    topics = (*(Topic(f"t{number}", 6, 3, {"retention.ms": "1"}) for number in range(9)), Topic("bare"))
    state = ClusterState("c", topics={topic.name: topic for topic in topics})
    export = export_manifests(state)
    assert "defaults" not in export.files["topics.yaml"]
    assert differences(export, state, {"cluster.yaml": cluster_document("c", ["b:1"])}, "c") == []
