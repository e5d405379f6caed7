"""What lint tells of, and what it only counts."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from reconciler.access.lint import RULES
from reconciler.access.lint.rule import AclFinding, LintFinding, ListedFinding
from reconciler.app.lint import _Exceptions, lint
from reconciler.app.options import StateRequest
from reconciler.manifest.parts.selectors import LintException, StatedException
from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.desired import Expiry, Origin
from reconciler.model.kinds.group_config import GroupConfig
from reconciler.model.kinds.scram_user import ScramUser
from reconciler.model.listing import Listing
from reconciler.model.scope import NameSelector, Selector
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.show.lint import lint_document, lint_lines
from reconciler.snapshot.document import snapshot_text
from tests.worlds import acl

MANIFEST = """apiVersion: reconciler/v1
kind: Cluster
metadata: {name: c}
spec: {allowEveryoneIfNoAclFound: false, superUsers: [User:admin], ignore: [{principals: [User:b]}]}
"""


def test_a_describe_beside_what_implies_it_is_counted_once_and_not_where_it_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(MANIFEST, encoding="utf-8")
    bindings = {
        AclBinding(
            ResourcePattern(ResourceType.TOPIC, "t"), AccessControlEntry(who, "*", operation, AclPermissionType.ALLOW)
        )
        for who in ("User:a", "User:b")
        for operation in (AclOperation.DESCRIBE, AclOperation.WRITE)
    }
    snapshot = tmp_path / "s.json"
    snapshot.write_text(
        snapshot_text(ClusterState("id", frozenset(bindings), {"t": Topic("t", 1, 1)})), encoding="utf-8"
    )
    (found,) = lint(StateRequest(str(tmp_path), f"snapshot:{snapshot}"))
    assert (found.findings, found.ignored, found.implied) == ((), 1, 1)


USERS = """---
apiVersion: reconciler/v1
kind: Quotas
metadata: {name: q}
spec: {quotas: [{clientId: " x", limits: {producer_byte_rate: 1000}}, {clientId: " y", absent: true}]}
"""


def test_users_and_quotas_are_told_of_a_cluster_and_of_manifests_and_can_be_excepted(tmp_path: Path) -> None:
    """What nobody can log in as, and what no client on librdkafka has; without an answer about them, that is said."""
    excepted = "allowEveryoneIfNoAclFound: false, exceptions: [{check: KA024, reason: java, expires: 2099-01-01}]"
    (tmp_path / "c.yaml").write_text(
        MANIFEST.replace("allowEveryoneIfNoAclFound: false", excepted) + USERS, encoding="utf-8"
    )
    users = [ScramUser(name, {"SCRAM-SHA-512": 4096}) for name in ("a", "b\u00f6", "b", "\u00e4")]
    listings = {
        "users": Listing(frozenset(users), may_alter=True),
        "quotas": Listing(None, gap="the broker refused"),
    }
    snapshot = tmp_path / "s.json"
    snapshot.write_text(snapshot_text(ClusterState("id", listings=listings)), encoding="utf-8")
    (found,) = lint(StateRequest(str(tmp_path), f"c=snapshot:{snapshot}"))
    assert [(one.rule.code, one.subject) for one in found.findings] == [
        ("KA023", "SCRAM user b\u00f6"),
        ("KA023", "SCRAM user \u00e4"),
    ]
    assert found.has_errors
    assert found.view.unseen == ("client quotas, which cannot be listed: the broker refused",)
    (declared,) = lint(StateRequest(str(tmp_path)))
    assert declared.findings == ()
    ((one, _),) = declared.excepted
    assert (one.rule.code, one.subject, one.origin and one.origin.line) == ("KA024", "quota of client-id  x", 9)
    (document,) = lint_document([found])["states"]
    assert [(one["binding"], one["subject"]) for one in document["findings"]] == [
        (None, "SCRAM user b\u00f6"),
        (None, "SCRAM user \u00e4"),
    ]
    assert "SCRAM user b\u00f6" in "\n".join(lint_lines([found]))


_HERE = [Origin("a.yaml", line, 1) for line in range(4)]
_STATED = StatedException("because", Expiry.of("2099-01-01"), _HERE[0])
_TEXTS = ("t", "tt", "t-", "User:a", "User:b")
_names = st.none() | st.builds(
    NameSelector, st.sets(st.sampled_from(_TEXTS)).map(tuple), st.sets(st.sampled_from("tU")).map(tuple), st.booleans()
)
_exceptions = st.lists(
    st.builds(
        LintException,
        st.sampled_from([rule.code for rule in RULES[:2]]),
        st.just(_STATED),
        st.none() | st.builds(Selector, _names, st.sampled_from([ResourceType.TOPIC, ResourceType.GROUP]), _names),
        st.sampled_from([None, frozenset(_HERE[:2]), frozenset(_HERE[1:3])]),
    ),
    max_size=6,
)
_origins = st.none() | st.sampled_from(_HERE)
_bindings = st.builds(
    acl,
    st.sampled_from(_TEXTS),
    st.sampled_from(_TEXTS[3:]),
    resource_type=st.sampled_from([ResourceType.TOPIC, ResourceType.GROUP]),
)
_listed = st.sampled_from([*map(ScramUser, "ab"), GroupConfig("t"), GroupConfig("tt")])
_lint_findings = st.builds(
    lambda rule, about, origin: (AclFinding if isinstance(about, AclBinding) else ListedFinding)(
        rule, about, "", "", origin=origin
    ),
    st.sampled_from(RULES[:2]),
    _bindings | _listed,
    _origins,
)


@given(_exceptions, st.lists(_lint_findings, min_size=1))
def test_the_first_exception_that_covers_a_finding_is_the_one_of_a_search_of_all(
    exceptions: list[LintException], findings: list[LintFinding]
) -> None:
    accepting = _Exceptions(exceptions)
    for one in findings:
        covering = (item for item in exceptions if item.covers(one.rule.code, one.origin, one.selected_by))
        assert accepting.first(one) is next(covering, None)
