"""Pull requests judged by the first screen of their comment alone: nothing that hides something looks harmless.

Each is a base and a head tree, planned as ``action/plan.sh`` does it on a live state in which the base has nothing to
do. What a reader sees is what stands before the first section of the comment: the word, and names.
"""

import html
import json
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, TypeAlias

import pytest

from reconciler.app import manifests
from reconciler.cli.console import Exit
from reconciler.cli.main import run
from reconciler.manifest import guardrail_set
from reconciler.manifest.manifests import load
from reconciler.model.kinds.client_metrics import ClientMetrics
from reconciler.model.kinds.group_config import GroupConfig
from reconciler.model.kinds.quota import ClientQuota, QuotaEntity
from reconciler.model.kinds.scram_user import ScramUser
from reconciler.model.listing import Listing
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.show.verdicts import ReviewWord
from reconciler.snapshot.document import BrokerFacts, snapshot_text
from tests.worlds import bindings

#: What replaces a text in a file of the base; a text alone is one more document there.
Edits: TypeAlias = Mapping[str, tuple[str, str] | str | None]


def _document(kind: str, name: str, spec: str, labels: str = "") -> str:
    body = "".join(f"  {line}\n" for line in spec.strip("\n").splitlines())
    return f"apiVersion: reconciler/v1\nkind: {kind}\nmetadata: {{name: {name}{labels}}}\nspec:\n{body}"


def _acls(principal: str, *rules: str) -> str:
    return _document("Acls", "more", f"principal: {principal}\nrules:\n" + "".join(f"  - {rule}\n" for rule in rules))


_PAY: Final = "teams/pay/pay.yaml"
_WEB: Final = "teams/web/web.yaml"
_OPS: Final = "teams/ops/ops.yaml"
_GROUPS: Final = "teams/web/groups.yaml"
_USERS: Final = "teams/pay/users.yaml"
_QUOTA: Final = _document("Quotas", "pay", "quotas: [{user: svc-payroll, limits: {producer_byte_rate: 1048576}}]")
_ACCESS: Final = {
    "cluster.yaml": _document(
        "Cluster",
        "prod",
        """
superUsers: [User:admin]
allowEveryoneIfNoAclFound: false
principal: User:admin
scope: {include: [{principals: {any: true}}, {topics: {any: true}}, {groups: {any: true}}]}
deleteLimits: {maxDeletes: 3}
protect: [{topics: [payroll.ledger]}]
prune: [topics, quotas]
vars: {retention: 7d, reader: "User:svc-audit"}
""",
        ", labels: {env: prod}",
    ),
    "guards.yaml": _document(
        "AccessTests",
        "guards",
        """
clusters: {matchLabels: {env: prod}}
tests:
  - {name: payroll, onlyReaders: ["User:svc-payroll*", "${vars.reader}", "User:carol"], topics: {prefix: payroll.}}
""",
    ),
    "owners.yaml": _document(
        "Ownership",
        "teams",
        """
owners:
  - team: pay
    files: teams/pay/**
    principals: {prefix: "User:svc-payroll"}
    topics: {prefix: payroll.}
    groups: {prefix: payroll.}
  - {team: web, files: teams/web/**, principals: {prefix: "User:svc-web"}, topics: {prefix: web.}, groups: [web.app]}
  - {team: ops, files: teams/ops/**, principals: [User:svc-audit, User:carol]}
  - {team: sec, files: security/**, denyAny: true}
""",
    ),
    "policy.yaml": _document(
        "TopicPolicy",
        "personal",
        "rules: [{name: few, matchLabels: {data: personal}, configs: {retention.ms: {max: 30d}}, message: it goes}]",
    ),
    "teams/pay/consents.yaml": _document(
        "Ownership", "consents", "consents:\n  - {team: pay, to: ops, operations: [READ], topics: {prefix: payroll.}}"
    ),
    _PAY: _document(
        "Acls",
        "pay",
        """
principal: User:svc-payroll
rules:
  - {allow: [READ, WRITE], topics: {prefix: payroll.}}
  - {allow: READ, groups: {prefix: payroll.}}
  - {deny: READ, topics: [payroll.ledger], hosts: [10.0.0.7]}
""",
    )
    + "---\n"
    + _document(
        "Topics",
        "pay",
        """
topics:
  - {name: payroll.salaries, labels: {data: personal}, partitions: 3, configs: {retention.ms: "${vars.retention}"}}
  - {name: payroll.ledger, partitions: 1}
""",
    )
    + "---\n"
    + _QUOTA,
    _WEB: _document(
        "Acls",
        "web",
        """
principal: User:svc-web
rules:
  - {allow: [READ, WRITE], topics: {prefix: web.}}
  - {allow: READ, groups: [web.app], hosts: [10.1.0.0]}
""",
    )
    + "---\n"
    + _document(
        "Topics",
        "web",
        """
topics:
  - {name: web.clicks, partitions: 3, configs: {retention.ms: 7d}}
  - {name: web.old, partitions: 1}
""",
    ),
    _OPS: _document(
        "Acls",
        "ops",
        """
principal: User:svc-audit
rules:
  - {allow: READ, topics: [payroll.ledger], expires: 2026-12-31, ticket: SEC-1}
""",
    ),
}
_LISTED: Final = {
    "security/denies.yaml": _document(
        "Acls", "denies", "principal: User:eve\nrules: [{deny: ALL, topics: {any: true}, reason: an incident}]"
    ),
    # It ends, and then gives access: whatever else is proposed.
    "security/ends.yaml": _document(
        "Acls", "ends", "principal: User:svc-web\nrules: [{deny: READ, topics: [web.old], expires: 2027-05-01}]"
    ),
    "metrics.yaml": _document(
        "ClientMetrics",
        "web",
        "subscriptions: [{name: web, configs: {metrics: a., interval.ms: 30s, match: client_id=web-.*}}]",
    ),
    _GROUPS: _document(
        "GroupConfigs", "g", "groups: [{name: web.app, configs: {share.isolation.level: read_committed}}]"
    ),
    _USERS: _document(
        "Users", "u", 'users: [{name: svc-payroll, mechanisms: {SCRAM-SHA-256: {password: "${env:PAY}"}}}]'
    ),
    "teams/ops/users.yaml": _document(
        "Users", "o", 'users: [{name: carol, mechanisms: {SCRAM-SHA-256: {password: "${env:PAY}"}}}]'
    ),
}
_BASE: Final = {**_ACCESS, **_LISTED}
_OPERATOR: Final = _document(
    "Cluster",
    "prod",
    """
bootstrapServers: [localhost:1]
principal: User:admin
superUsers: [User:admin]
allowEveryoneIfNoAclFound: false
userSecrets: {envPrefixes: [PAY]}
""",
)
_LIVE: Final = (
    "TOPIC:P:payroll. User:svc-payroll@* ALLOW READ",
    "TOPIC:P:payroll. User:svc-payroll@* ALLOW WRITE",
    "GROUP:P:payroll. User:svc-payroll@* ALLOW READ",
    "TOPIC:L:payroll.ledger User:svc-payroll@10.0.0.7 DENY READ",
    "TOPIC:P:web. User:svc-web@* ALLOW READ",
    "TOPIC:P:web. User:svc-web@* ALLOW WRITE",
    "GROUP:L:web.app User:svc-web@10.1.0.0 ALLOW READ",
    "TOPIC:L:payroll.ledger User:svc-audit@* ALLOW READ",
    "TOPIC:L:* User:eve@* DENY ALL",
    "TOPIC:L:web.old User:svc-web@* DENY READ",
    # What every plan says, whatever it does: a marker of nothing.
    "TOPIC:L:__kr.1.unknown User:__kr.nobody@* ALLOW DESCRIBE",
)
_WEEK: Final = {"retention.ms": "604800000"}
_TOPICS: Final = (
    Topic("payroll.salaries", 3, 1, _WEEK),
    Topic("payroll.ledger", 1, 1, {}),
    Topic("web.clicks", 3, 1, _WEEK),
    Topic("web.old", 1, 1, {}),
)


def _live(*more: str) -> str:
    # Nobody declares the third one, and users are not pruned: every plan skips him.
    users = frozenset(ScramUser(name, {"SCRAM-SHA-256": 8192}) for name in ("carol", "svc-payroll", "of-old"))
    limit = ClientQuota(QuotaEntity.of("svc-payroll"), {"producer_byte_rate": 1048576})
    listings: dict[str, Listing[Any]] = {
        ClientQuota.KIND: Listing(frozenset({limit})),
        ScramUser.KIND: Listing(users),
        GroupConfig.KIND: Listing(frozenset({GroupConfig("web.app", {"share.isolation.level": "read_committed"})})),
        ClientMetrics.KIND: Listing(
            frozenset({ClientMetrics("web", {"metrics": "a.", "interval.ms": "30000", "match": "client_id=web-.*"})})
        ),
    }
    found = frozenset(bindings(*_LIVE, *more))
    state = ClusterState("abc", found, {topic.name: topic for topic in _TOPICS}, listings=listings)
    return snapshot_text(state, BrokerFacts(broker_ids=(1, 2, 3)))


_HARMLESS: Final[Mapping[str, Edits]] = {
    "nothing": {},
    "a reason": {_WEB: ("topics: {prefix: web.}}", "topics: {prefix: web.}, reason: the shop}")},
    "a comment": {_WEB: ("rules:", "# of the shop\n  rules:")},
    "another file of the team": {_WEB: None, "teams/web/shop.yaml": _BASE[_WEB]},
    "another name of a document": {_WEB: ("kind: Acls\nmetadata: {name: web}", "kind: Acls\nmetadata: {name: shop}")},
    "one rule in two": {
        _WEB: (
            "[READ, WRITE], topics: {prefix: web.}}",
            "READ, topics: {prefix: web.}}\n    - {allow: WRITE, topics: {prefix: web.}}",
        ),
    },
    "a topic of its own": {_WEB: ("topics:\n    - ", "topics:\n    - {name: web.views, partitions: 3}\n    - ")},
    "one more access test": {
        "guards.yaml": ("tests:", "tests:\n    - {name: web, onlyReaders: ['User:svc-web*'], topics: {prefix: web.}}")
    },
    "fewer deletions": {"cluster.yaml": ("maxDeletes: 3", "maxDeletes: 2")},
    "a variable of a topic": {
        "cluster.yaml": ("vars: {", "vars: {clicks: 3, "),
        _WEB: ("web.clicks, partitions: 3", "web.clicks, partitions: '${vars.clicks}'"),
    },
    "a label that no rule asks for": {_WEB: ("{name: web.clicks,", "{name: web.clicks, labels: {tier: gold},")},
}
_SALARIES: Final = "topics: [payroll.salaries]"
_GUARD: Final = "looser"
#: What each does, the word for it, and what the first screen has to name.
_HIDING: Final[Mapping[str, tuple[Edits, ReviewWord, tuple[str, ...]]]] = {
    "a grant within a reformat": (
        {_WEB: ("rules:", f"rules:\n    -  allow: [READ]\n       {_SALARIES}")},
        ReviewWord.REFUSED,
        ("User:svc-web: READ on topic payroll.salaries", "data of pay, which has not consented"),
    ),
    "a prefix that loses its end": (
        {_WEB: ("topics: {prefix: web.}}", "topics: {prefix: w}}")},
        ReviewWord.WIDENS,
        ("User:svc-web", "topics starting with w"),
    ),
    "a grant with its guard": (
        {"guards.yaml": None, _OPS: ("[payroll.ledger]", "[payroll.ledger, payroll.salaries]")},
        ReviewWord.WEAKENS,
        ("User:svc-audit: READ on topic payroll.salaries", _GUARD, "data of pay, which consents"),
    ),
    "a reader that a variable names": (
        {"cluster.yaml": ('reader: "User:svc-audit"', 'reader: "User:svc-web"')},
        ReviewWord.REFUSED,
        ("1 unclear",),
    ),
    "a grant behind a DENY that ends": (
        {
            _OPS: _acls(
                "User:carol", f"{{allow: READ, {_SALARIES}}}", f"{{deny: ALL, {_SALARIES}, expires: 2027-02-23}}"
            )
        },
        ReviewWord.REFUSED,
        ("User:carol: READ on topic payroll.salaries", "2027-02-24"),
    ),
    "a DENY that gets an end": (
        {_PAY: ("hosts: [10.0.0.7]}", "hosts: [10.0.0.7], expires: 2027-01-01}")},
        ReviewWord.WIDENS,
        ("User:svc-payroll", "2027-01-02", "payroll.ledger"),
    ),
    "an end in ten years": (
        {_OPS: ("expires: 2026-12-31", "expires: 2036-12-31")},
        ReviewWord.WIDENS,
        ("User:svc-audit keeps READ on TOPIC payroll.ledger until 2036-12-31 instead of until 2026-12-31",),
    ),
    "no end any more": (
        {_OPS: (", expires: 2026-12-31", "")},
        ReviewWord.WIDENS,
        ("User:svc-audit keeps READ on TOPIC payroll.ledger for good",),
    ),
    "a wider exception of an access test": (
        {"guards.yaml": ("User:svc-payroll*", "User:svc-*")},
        ReviewWord.WEAKENS,
        ("1 looser",),
    ),
    "more principals of a team": (
        {"owners.yaml": ('principals: {prefix: "User:svc-web"}', 'principals: {prefix: "User:svc-"}')},
        ReviewWord.WEAKENS,
        ("1 looser",),
    ),
    "a consent": (
        {
            "teams/pay/consents.yaml": (
                "consents:",
                "consents:\n    - {team: pay, to: web, operations: [READ], topics: {prefix: payroll.}}",
            )
        },
        ReviewWord.WEAKENS,
        ("1 looser",),
    ),
    "what is protected no longer": (
        {"cluster.yaml": ("protect: [{topics: [payroll.ledger]}]\n  ", "")},
        ReviewWord.WEAKENS,
        ("1 looser",),
    ),
    "a label of personal data": (
        {_PAY: ("labels: {data: personal}, ", "")},
        ReviewWord.WEAKENS,
        ("1 unclear",),
    ),
    "a cluster that a test no longer fits": (
        {"cluster.yaml": ("env: prod", "env: production")},
        ReviewWord.WEAKENS,
        ("1 looser",),
    ),
    "another team's quota that has expired": (
        {
            _PAY: (f"---\n{_QUOTA}", ""),
            _WEB: _document(
                "Quotas", "q", "quotas: [{user: svc-payroll, limits: {producer_byte_rate: 1}, expires: 2020-01-01}]"
            ),
        },
        ReviewWord.REFUSED,
        (),
    ),
    "a quota of nobody's": (
        {_WEB: _document("Quotas", "q", "quotas: [{user: svc-orders, limits: {producer_byte_rate: 1}}]")},
        ReviewWord.REFUSED,
        (),
    ),
    "a quota of our own login": (
        {"quotas.yaml": _document("Quotas", "q", "quotas: [{user: admin, limits: {controller_mutation_rate: 0.001}}]")},
        ReviewWord.REFUSED,
        (),
    ),
    "a user who cannot log in any more": (
        {"teams/ops/users.yaml": None, "users.yaml": _document("Users", "c", "users: [{name: carol, disabled: true}]")},
        ReviewWord.REFUSED,
        ("carol",),
    ),
    "another host": ({_WEB: (", hosts: [10.1.0.0]", "")}, ReviewWord.WIDENS, ("User:svc-web", "web.app")),
    "a name that looks alike": (
        {"platform.yaml": _acls("User:svc-pаyroll", "{allow: READ, topics: [free.topic]}")},
        ReviewWord.WIDENS,
        ("U+0430", "no team owns it"),
    ),
    "everybody": (
        {"platform.yaml": _acls("User:*", "{allow: READ, topics: [free.topic]}")},
        ReviewWord.WIDENS,
        ("everybody else: READ on topic free.topic",),
    ),
    "a topic by another name": (
        {_WEB: ("name: web.clicks", "name: web.clickz")},
        ReviewWord.REFUSED,
        ("1 object",),
    ),
    "a shorter retention by a variable": (
        {"cluster.yaml": ("retention: 7d", "retention: 1d")},
        ReviewWord.REFUSED,
        ("1 object",),
    ),
    "a group's members time out sooner": (
        {_GROUPS: ("{share.", "{consumer.session.timeout.ms: 45001, share.")},
        ReviewWord.CHANGES,
        ("consumer.session.timeout.ms",),
    ),
    "one more super user": (
        {"cluster.yaml": ("superUsers: [User:admin]", "superUsers: [User:admin, User:svc-web]")},
        ReviewWord.REFUSED,
        ("1 looser",),
    ),
    "a quota that goes by another name of its user": (
        {_PAY: ("user: svc-payroll,", "user: svc-payrolls,")},
        ReviewWord.CHANGES,
        ("Delete: quota of user svc-payroll: producer_byte_rate: 1048576 (1MiB/s) → not set",),
    ),
    "a quota among new topics": (
        {
            _PAY: ("producer_byte_rate: 1048576", "producer_byte_rate: 1"),
            "teams/web/more.yaml": _document(
                "Topics", "m", "topics:\n" + "".join(f"  - {{name: web.{n}, partitions: 1}}\n" for n in range(40))
            ),
        },
        ReviewWord.CHANGES,
        ("Alter: quota of user svc-payroll", "Steps: 38 more"),
    ),
    "records of a group for others": (
        {_GROUPS: ("{share.", "{errors.deadletterqueue.topic.name: web.old, share.")},
        ReviewWord.CHANGES,
        ("errors.deadletterqueue.topic.name = web.old", "Warning: brokers write nothing to topic web.old"),
    ),
    "records that are not committed": (
        {_GROUPS: ("read_committed", "read_uncommitted")},
        ReviewWord.CHANGES,
        ("Alter: config of group web.app: share.isolation.level: read_committed → read_uncommitted",),
    ),
    "metrics of every client": (
        {"metrics.yaml": (", match: client_id=web-.*", "")},
        ReviewWord.CHANGES,
        ("match: client_id=web-.* → not set", "Warning: client metrics subscription web has no match"),
    ),
    "a DENY that nothing needs yet": (
        {"security/denies.yaml": None},
        ReviewWord.CHANGES,
        ("Delete: User:eve DENY ALL on every TOPIC",),
    ),
    "a DENY that nothing needs yet, until tomorrow": (
        {"security/denies.yaml": ("reason: an incident", "reason: an incident, expires: 2026-11-28")},
        ReviewWord.UNCLEAR,
        ("User:eve DENY ALL on TOPIC * ends with 2026-11-28, and in the base never",),
    ),
    "a quota until tomorrow": (
        {_PAY: ("producer_byte_rate: 1048576}", "producer_byte_rate: 1048576}, expires: 2026-11-28")},
        ReviewWord.UNCLEAR,
        ("quota of user svc-payroll ends with 2026-11-28, and in the base never",),
    ),
    "a login until tomorrow": (
        {_USERS: ("{name: svc-payroll,", "{name: svc-payroll, expires: 2026-11-28,")},
        ReviewWord.UNCLEAR,
        ("SCRAM user svc-payroll ends with 2026-11-28, and in the base never",),
    ),
    "a password from another secret": (
        {_USERS: ("env:PAY", "env:WEB")},
        ReviewWord.UNCLEAR,
        ("SCRAM user svc-payroll: its next password comes from ${env:WEB} instead of ${env:PAY}",),
    ),
    "another mechanism with a rotation": (
        {
            _USERS: (
                'SCRAM-SHA-256: {password: "${env:PAY}"}',
                'SCRAM-SHA-512: {password: "${env:PAY}", passwordVersion: 1}',
            )
        },
        ReviewWord.DESTROYS,
        ("SCRAM-SHA-512 = 8193 iterations", "SCRAM-SHA-256: 8192 iterations → not set"),
    ),
    "a password that may not be read": (
        {_USERS: ('"${env:PAY}"', '"${env:WEB}", passwordVersion: 1')},
        ReviewWord.UNCLEAR,
        ("Skipped: alter SCRAM user svc-payroll (impossible: reading ${env:WEB} is not permitted",),
    ),
    "configs that nobody declares any more": (
        {_GROUPS: None},
        ReviewWord.UNCLEAR,
        ("config of group web.app is declared no more, and stays as it is",),
    ),
    "everything undeclared is pruned": (
        {"cluster.yaml": ("prune: [topics, quotas]", "prune: [topics, quotas, users]")},
        ReviewWord.WEAKENS,
        ("Guardrails: looser: Cluster prod, spec.prune[users]: added",),
    ),
    "a right that somebody made by hand": (
        {"platform.yaml": _acls("User:mallory", "{allow: READ, topics: [free.topic]}")},
        ReviewWord.WIDENS,
        ("User:mallory keeps READ on TOPIC free.topic for good, which the base does not declare",),
    ),
}
_BY_HAND: Final = "TOPIC:L:free.topic User:mallory@* ALLOW READ"


class _Review:
    """A pull request, and what its comment says."""

    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._root, self._capsys = root, capsys

    def _write(self, directory: str, tree: Mapping[str, str]) -> None:
        for path, text in tree.items():
            file = self._root / directory / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")

    def _run(self, file: str, *words: str) -> int:
        status = run([*words, "--output", "json"])
        (self._root / file).write_text(self._capsys.readouterr().out, encoding="utf-8")
        return status

    def propose(self, edits: Edits, live: str) -> None:
        """The base, the head, and what the operator has."""
        head = dict(_BASE)
        for path, edit in edits.items():
            if edit is None:
                head.pop(path, None)
            elif isinstance(edit, str):
                head[path] = f"{head[path]}---\n{edit}" if path in head else edit
            else:
                assert edit[0] in head[path], path
                head[path] = head[path].replace(*edit, 1)
        self._write("base", _BASE)
        self._write("head", head)
        self._write(".", {"operator.yaml": _OPERATOR, "live.json": live, "live/prod.json": live})

    def comment(self, edits: Edits, live: str) -> str:
        self.propose(edits, live)
        rails = ("--guardrails", "base")
        results = ["validate.json"]
        if self._run("validate.json", "validate", "head", *rails, "--base", "base") in (Exit.OK, Exit.FAILED_CHECK):
            self._run("lint.json", "lint", "head", *rails)
            cluster = ("--cluster", "prod=snapshot:live.json", "--connections", "operator.yaml")
            more = ("--as-of", "2026-11-27", "--allow-deletes", "--fail-on", "guardrails", *rails, "--base", "base")
            if (status := self._run("result.json", "plan", "head", *cluster, *more)) == Exit.ERROR:
                failed = {"kind": "Failed", "failed": "plan", "status": status, "cluster": "prod", "message": ""}
                self._write(".", {"result.json": json.dumps(failed)})
            results += ["lint.json", "result.json"]
        run(["report", *results, "-o", "markdown"])
        return self._capsys.readouterr().out

    def alone_and_in_a_fleet(self) -> tuple[str, str]:
        """What a plan says of the same manifests in a line, and the plan of a fleet of this cluster as a whole."""
        asked = ("--connections", "operator.yaml", "--guardrails", "base", "--as-of", "2026-11-27", "--allow-deletes")
        run(["plan", "head", "--cluster", "prod=snapshot:live.json", *asked, "--quiet"])
        alone = self._capsys.readouterr().out
        run(["fleet", "plan", "head", "--snapshots", "live", "--out", "plans", "--engine", "local", *asked])
        return alone, self._capsys.readouterr().out


_KEPT: Final = lru_cache(64)(load)


@pytest.fixture
def review(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> _Review:
    """Each of the commands would read the base again, and so would each review."""
    for module, name in ((manifests, "load_sources"), (guardrail_set, "load")):
        monkeypatch.setattr(module, name, lambda sources: _KEPT(tuple(sources)))
    monkeypatch.chdir(tmp_path)
    return _Review(tmp_path, capsys)


def _screen(comment: str) -> tuple[str, str]:
    """The word, and the text of the screen as a browser shows it."""
    text = (
        html.unescape(re.sub(r"</?code>", "", comment.partition("\n\n- plan for ")[0]))
        .replace("`", "")
        .replace("**", "")
    )
    found = re.search(r"^### \S+ ([^:]+): ", text, re.MULTILINE)
    assert found, comment
    return found[1], text


@pytest.mark.parametrize("name", _HARMLESS)
def test_harmless(name: str, review: _Review) -> None:
    word, text = _screen(review.comment(_HARMLESS[name], _live()))
    assert word == ReviewWord.HARMLESS, text


@pytest.mark.parametrize("name", _HIDING)
def test_hiding_something(name: str, review: _Review) -> None:
    edits, expected, names = _HIDING[name]
    word, text = _screen(review.comment(edits, _live(*([_BY_HAND] if "by hand" in name else []))))
    assert word == expected, text
    for one in names:
        assert one in text, text


#: What a plan says of nothing to look at, or of what is known from the guardrails, with which a fleet compares nothing.
_CALM: Final = "Nothing to do"


@pytest.mark.parametrize("name", _HIDING)
def test_hiding_something_in_a_fleet(name: str, review: _Review) -> None:
    """The plan of a fleet does not say less of a cluster than the plan of the cluster, and not by fewer words."""
    edits, _, _ = _HIDING[name]
    review.propose(edits, _live(*([_BY_HAND] if "by hand" in name else [])))
    alone, fleet = review.alone_and_in_a_fleet()
    said, calm = alone.removeprefix("prod: ").partition(". ")[0].rstrip(".\n"), "1 need nothing"
    if not alone:
        assert not fleet, "it cannot be planned"
    elif "Refused" in said:
        assert "1 not planned" in fleet or "refused in 1 cluster" in fleet
    elif "step" in fleet.partition(calm)[0] and ", 0 steps" not in fleet:
        words = [word for word in ReviewWord if f", {word.lower()} in 1" in fleet]
        assert words, fleet
        assert "Access widens" not in said or ReviewWord.WIDENS in words
    elif said != _CALM and "Policy checks failed" not in said:
        assert f"prod: {said}" in fleet or "differences skipped" in fleet, alone
        assert calm not in fleet
