"""Ownership against a team that wants more than it was given: roles, consents, DENY, items that have expired.

Told by ``validate``, as in CI.
"""

import shutil
from pathlib import Path

import pytest

from reconciler.cli.console import Exit
from reconciler.cli.main import run

_CENTRAL = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: prod}
spec: {superUsers: [User:admin], allowEveryoneIfNoAclFound: false}
---
apiVersion: reconciler/v1
kind: Ownership
metadata: {name: teams}
spec:
  owners:
    - {team: pay, files: teams/pay/**, principals: {prefix: "User:svc-pay"}, topics: {prefix: pay.}}
    - team: ledger
      files: teams/ledger/**
      principals: [User:svc-ledger]
      topics: {prefix: ledger.}
      consents: [{to: pay, operations: [READ, DESCRIBE], topics: [ledger.v2]}]
"""
_ROLE = """\
apiVersion: reconciler/v1
kind: Role
metadata: {{name: reader}}
spec:
  parameters: [topics]
  rules: [{{{rule}, topics: $topics}}]
"""
_ACLS = """\
apiVersion: reconciler/v1
kind: Acls
metadata: {{name: {name}}}
spec:
  principal: "{principal}"
  rules: [{rule}]
"""
_PAY, _LEDGER = "teams/pay/acls.yaml", "teams/ledger/acls.yaml"


def _acls(principal: str, rule: str, name: str = "a") -> str:
    return _ACLS.format(name=name, principal=principal, rule=rule)


@pytest.fixture
def validate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> "_Validate":
    return _Validate(tmp_path, capsys)


class _Validate:
    """Writes files, runs ``reconciler validate``, gives the status and what was printed."""

    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._root, self._capsys = root, capsys

    def __call__(self, files: dict[str, str], central: str = _CENTRAL) -> tuple[int, str]:
        for path, text in {"cluster.yaml": central, **files}.items():
            file = self._root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        status = run(["validate", str(self._root)])
        return status, self._capsys.readouterr().out


@pytest.mark.parametrize("rule", ["allow: ALL", "deny: ALL"])
def test_a_role_that_another_team_edits(validate: _Validate, rule: str) -> None:
    """Team pay turns a Role of its own, which ledger's file uses, into everything, or into an outage of ledger."""
    files = {
        "teams/pay/role.yaml": _ROLE.format(rule=rule),
        _LEDGER: _acls("User:svc-ledger", "{role: reader, topics: [ledger.secret]}"),
    }
    status, shown = validate(files)
    assert status == Exit.FAILED_CHECK
    # Both places: the file that uses the role, which the change does not touch, and the role.
    assert "teams/ledger/acls.yaml:6:35" in shown
    assert "by the Role at teams/pay/role.yaml:6:11, a file of pay" in shown
    assert "on topic ledger.secret of ledger" in shown


def test_a_role_that_reaches_a_principal_of_another_team(validate: _Validate) -> None:
    """Team pay's Role, used on a name that nobody owns, still decides what ledger's principal may do."""
    files = {
        "teams/pay/role.yaml": _ROLE.format(rule="allow: ALL"),
        _LEDGER: _acls("User:svc-ledger", "{role: reader, topics: [common]}"),
    }
    status, shown = validate(files)
    assert status == Exit.FAILED_CHECK
    assert "by the Role at teams/pay/role.yaml:6:11, a file of pay names the principal User:svc-ledger" in shown


@pytest.mark.parametrize("file", ["teams/ledger/role.yaml", "roles.yaml"])
def test_a_role_of_the_team_itself_or_of_no_team_is_no_breach(validate: _Validate, file: str) -> None:
    """Roles that the platform keeps in a file of no team are for everybody; a team's own are for itself."""
    files = {
        file: _ROLE.format(rule="allow: READ"),
        _LEDGER: _acls("User:svc-ledger", "{role: reader, topics: [ledger.secret]}"),
    }
    assert validate(files)[0] == Exit.OK


@pytest.mark.parametrize("end", ["", ", expires: 2020-01-01", ", expires: 2999-01-01"])
def test_what_a_file_repeats_of_another_team_is_judged_too(validate: _Validate, end: str) -> None:
    """A role may bring what ledger declares: pay's repetition would wait until ledger takes its own away."""
    use = "{{role: consumer, topics: [ledger.secret], groups: [g]{}}}"
    files = {
        _LEDGER: _acls("User:svc-ledger", use.format("")),
        _PAY: _acls("User:svc-ledger", use.format(end), "b"),
    }
    status, shown = validate(files)
    assert status == Exit.FAILED_CHECK
    assert "teams/pay/acls.yaml" in shown


def test_a_consent_is_for_the_team_that_it_is_given_to(validate: _Validate) -> None:
    """What the consent is for: team pay's own principal, ALLOW."""
    assert validate({_PAY: _acls("User:svc-pay", "{allow: READ, topics: [ledger.v2]}")})[0] == Exit.OK


@pytest.mark.parametrize(
    ("principal", "rule"),
    [
        ("User:*", "{allow: READ, topics: [ledger.v2]}"),
        ("User:somebody", "{allow: READ, topics: [ledger.v2]}"),
        ("User:*", "{deny: READ, topics: [ledger.v2]}"),
        ("User:svc-pay", "{deny: READ, topics: [ledger.v2]}"),
    ],
)
def test_a_consent_that_is_passed_on_or_turned_around(validate: _Validate, principal: str, rule: str) -> None:
    """Team pay, which may READ, lets everybody read, or denies it to everybody, the owner included."""
    status, shown = validate({_PAY: _acls(principal, rule)})
    assert status == Exit.FAILED_CHECK
    assert "READ on topic ledger.v2 of ledger; the consent at cluster.yaml:16:23 does not cover it" in shown


@pytest.mark.parametrize(
    ("more", "principal", "rule"),
    [
        ("permissions: [ALLOW, DENY]", "User:svc-pay", "{deny: READ, topics: [ledger.v2]}"),
        ('principals: ["User:*"]', "User:*", "{allow: READ, topics: [ledger.v2]}"),
    ],
)
def test_a_consent_that_says_more_is_believed(validate: _Validate, more: str, principal: str, rule: str) -> None:
    """The owner writes that it means DENY too, or everybody: then the same rules are no breach."""
    central = _CENTRAL.replace("{to: pay,", f"{{to: pay, {more},")
    assert validate({_PAY: _acls(principal, rule)}, central)[0] == Exit.OK


def test_the_consent_that_a_breach_asks_for_is_one_that_permits_it(validate: _Validate) -> None:
    """A person who pastes what stands in the backticks of the advice into the owner's file has no breach any more."""
    rules = {_PAY: _acls("User:*", "{deny: READ, topics: [ledger.v2]}")}
    _, shown = validate(rules)
    item = shown.partition("under consents: `")[2].partition("`")[0]
    consents = f"apiVersion: reconciler/v1\nkind: Ownership\nmetadata: {{name: c}}\nspec:\n  consents: [{item}]\n"
    assert validate({**rules, "teams/ledger/consents.yaml": consents})[0] == Exit.OK


@pytest.mark.parametrize("where", ["groups: {any: true}", "transactionalIds: {any: true}", "groups: [shared]"])
def test_a_team_that_denies_what_no_team_owns(validate: _Validate, where: str) -> None:
    """Any team could stop every consumer by one DENY on groups that nobody owns."""
    status, shown = validate({_PAY: _acls("User:*", f"{{deny: ALL, {where}}}")})
    assert status == Exit.FAILED_CHECK
    assert "a file of pay denies ALL on" in shown
    assert "only a file of no team may deny" in shown


@pytest.mark.parametrize(
    ("file", "rule"),
    [
        ("central.yaml", "{deny: READ, groups: {any: true}}"),
        (_PAY, "{deny: READ, topics: [pay.audit]}"),
        (_PAY, "{allow: READ, groups: [shared]}"),
    ],
)
def test_what_stays_possible(validate: _Validate, file: str, rule: str) -> None:
    """A file of no team denies what is nobody's, a team denies on its own topic and allows on what is nobody's."""
    assert validate({file: _acls("User:*", rule)})[0] == Exit.OK


def _with_variable(files: dict[str, str], setter: str) -> tuple[dict[str, str], str]:
    """The central documents with the Cluster in ``setter``, which sets who ledger's file grants to."""
    cluster, owners = _CENTRAL.split("---\n")
    own = cluster.replace("allowEveryoneIfNoAclFound", "vars: {reader: User:svc-ledger}, allowEveryoneIfNoAclFound")
    return {**files, setter: own}, owners


def test_a_team_that_sets_the_variables_of_others(validate: _Validate) -> None:
    """Team pay keeps the Cluster document and sets whom ledger's file grants to: the file of use does not change."""
    files = {_LEDGER: _acls("${vars.reader}", "{allow: READ, topics: [ledger.secret]}")}
    status, shown = validate(*_with_variable(files, "teams/pay/cluster.yaml"))
    assert status == Exit.FAILED_CHECK
    assert "teams/pay/cluster.yaml:3:18: a file of pay sets variables for files of other teams" in shown
    assert "move it to a file that belongs to no team" in shown


def test_variables_of_a_file_of_no_team_are_for_everybody(validate: _Validate) -> None:
    """The platform's Cluster document may set them."""
    files = {_LEDGER: _acls("${vars.reader}", "{allow: READ, topics: [ledger.secret]}")}
    status, shown = validate(*_with_variable(files, "clusters.yaml"))
    assert status == Exit.OK, shown


@pytest.mark.parametrize("users", ["[User:svc-ledger]", "{prefix: User:svc-}", "{any: true}"])
def test_a_team_that_would_log_in_as_another(validate: _Validate, users: str) -> None:
    """Team pay lets itself create delegation tokens for ledger's user: with one it is that user."""
    status, shown = validate({_PAY: _acls("User:svc-pay", f"{{allow: CREATE_TOKENS, users: {users}}}")})
    assert status == Exit.FAILED_CHECK
    assert "a file of pay declares CREATE_TOKENS on" in shown
    assert "of ledger" in shown


def test_a_team_may_create_tokens_of_its_own_users(validate: _Validate) -> None:
    """Who owns a principal owns the user of that name."""
    status, shown = validate({_PAY: _acls("User:svc-pay", "{allow: CREATE_TOKENS, users: {prefix: User:svc-pay}}")})
    assert status == Exit.OK, shown


@pytest.mark.parametrize("entity", ["user: {default: true}", "clientId: console-consumer", "ip: {default: true}"])
def test_a_team_that_slows_down_everybody(validate: _Validate, entity: str) -> None:
    """Team pay declares a quota of almost nothing for whoever has none: an outage, as a DENY for everybody is."""
    rate = "connection_creation_rate: 1" if entity.startswith("ip") else "producer_byte_rate: 1"
    quotas = f"spec: {{quotas: [{{{entity}, limits: {{{rate}}}}}]}}\n"
    document = f"apiVersion: reconciler/v1\nkind: Quotas\nmetadata: {{name: q}}\n{quotas}"
    status, shown = validate({"teams/pay/quotas.yaml": document})
    assert status == Exit.FAILED_CHECK
    assert "which is about everybody" in shown
    assert validate({"teams/pay/quotas.yaml": "", "quotas.yaml": document})[0] == Exit.OK


_PAST, _FUTURE = ", expires: 2020-01-01", ", expires: 2999-01-01"
#: One document of each kind about the name NAME, with more fields at MORE.
_DOCUMENTS = {
    "acl": "kind: Acls\nmetadata: {name: x}\nspec: {principal: User:NAME, rules: [{allow: READ, topics: [NAME]MORE}]}",
    "topic": "kind: Topics\nmetadata: {name: x}\nspec: {topics: [{name: NAMEMORE}]}",
    "quota": "kind: Quotas\nmetadata: {name: x}\nspec: {quotas: [{user: NAMEMORE}]}",
    "group config": "kind: GroupConfigs\nmetadata: {name: x}\nspec: {groups: [{name: NAMEMORE}]}",
    "SCRAM user": "kind: Users\nmetadata: {name: x}\nspec: {users: [{name: NAMEMORE}]}",
}
_VALUES = {
    "quota": ", limits: {producer_byte_rate: 1}",
    "group config": ", configs: {share.isolation.level: read_committed}",
    "SCRAM user": ", mechanisms: {SCRAM-SHA-512: {password: '${env:KAFKA_A}'}}",
}
_FORMS = [
    *((kind, _VALUES.get(kind, "") + end) for kind in _DOCUMENTS for end in ("", _PAST, _FUTURE) if kind != "topic"),
    *((kind, ", absent: true") for kind in ("topic", "quota", "group config", "SCRAM user")),
    ("topic", ""),
    *(("SCRAM user", f", disabled: true{end}") for end in ("", _PAST, _FUTURE)),
]


def _item(kind: str, name: str, more: str) -> str:
    return f"apiVersion: reconciler/v1\n{_DOCUMENTS[kind].replace('NAME', name).replace('MORE', more)}\n"


@pytest.fixture
def owning(validate: _Validate) -> "_Owning":
    return _Owning(validate)


class _Owning:
    """``validate`` where each team owns the principal, the topic and the group of its own name."""

    def __init__(self, validate: _Validate) -> None:
        self._validate = validate

    def __call__(self, files: dict[str, str]) -> tuple[int, str]:
        owners = "".join(
            f"    - {{team: {team}, files: teams/{team}/**, principals: [User:{team}], topics: [{team}], "
            f"groups: [{team}]{more}}}\n"
            for team, more in (("pay", ""), ("ledger", ""), ("incidents", ", denyAny: true"))
        )
        return self._validate(files, f"{_CENTRAL.partition('    - ')[0]}{owners}")


@pytest.mark.parametrize(("kind", "more"), _FORMS)
def test_whatever_form_an_item_has_it_is_its_owners(owning: _Owning, kind: str, more: str) -> None:
    """Team pay lets ledger's item end in the past, be absent or disabled: the next plan would delete it."""
    document = _item(kind, "ledger", more)
    assert owning({"teams/ledger/x.yaml": document})[0] == Exit.OK
    status, shown = owning({"teams/ledger/x.yaml": "", "teams/pay/x.yaml": document})
    assert status == Exit.FAILED_CHECK
    assert "of ledger" in shown


@pytest.mark.parametrize(("kind", "more"), _FORMS)
def test_what_a_teams_file_may_declare_of_nobodys(owning: _Owning, kind: str, more: str) -> None:
    """It may add ACLs and topics; a password is a whole identity, and a limit or a deletion takes away."""
    document = _item(kind, "nobody", more)
    free = kind == "acl" or (kind == "topic" and "absent" not in more)
    status, shown = owning({"teams/pay/x.yaml": document})
    assert status == (Exit.OK if free else Exit.FAILED_CHECK), shown
    assert free or "which no team owns" in shown
    assert owning({"teams/pay/x.yaml": "", "x.yaml": document})[0] == Exit.OK


@pytest.mark.parametrize("more", [", configs: {match: client_id=a}", ", absent: true", f", configs: {{a: b}}{_PAST}"])
def test_no_teams_file_subscribes_to_metrics_of_all_clients(owning: _Owning, more: str) -> None:
    """Whatever its name: also one that a team's principal, topic and group have."""
    head = "apiVersion: reconciler/v1\nkind: ClientMetrics\nmetadata: {name: x}\n"
    document = f"{head}spec: {{subscriptions: [{{name: pay{more}}}]}}\n"
    for team in ("pay", "ledger", "incidents"):
        status, shown = owning({f"teams/{team}/x.yaml": document})
        assert status == Exit.FAILED_CHECK
        assert "which is about everybody" in shown
        owning({f"teams/{team}/x.yaml": ""})
    assert owning({"x.yaml": document})[0] == Exit.OK


@pytest.mark.parametrize(("kind", "more"), _FORMS)
def test_a_file_against_incidents_may_only_deny_and_disable(owning: _Owning, kind: str, more: str) -> None:
    """With ``denyAny`` a file takes access away from anybody, and gives, deletes and limits nothing."""
    document = _item(kind, "ledger", more)
    only_disables = "disabled" in more and _PAST not in more
    assert owning({"teams/incidents/x.yaml": document})[0] == (Exit.OK if only_disables else Exit.FAILED_CHECK)


@pytest.mark.parametrize("end", ["", _PAST, _FUTURE])
@pytest.mark.parametrize("where", ["topics: [ledger]", "topics: {any: true}, cluster: true", "groups: [nobody]"])
def test_a_file_against_incidents_denies_anything_to_anybody(owning: _Owning, where: str, end: str) -> None:
    document = _acls("User:ledger", f"{{deny: ALL, {where}{end}}}")
    assert owning({"teams/incidents/x.yaml": document})[0] == Exit.OK
    assert owning({"teams/incidents/x.yaml": "", "x.yaml": document})[0] == Exit.FAILED_CHECK


@pytest.mark.parametrize(
    ("consented", "ended", "status"),
    [
        ("2020-01-01", "2020-01-01", Exit.OK),
        ("2020-01-02", "2020-01-01", Exit.OK),
        ("2019-12-31", "2020-01-01", Exit.FAILED_CHECK),
        ("2020-01-01", "2999-01-01", Exit.FAILED_CHECK),
    ],
)
def test_an_expired_rule_is_covered_by_a_consent_that_lasted_as_long(
    validate: _Validate, consented: str, ended: str, status: Exit
) -> None:
    """Rule and consent usually end together: then there is nothing to mend, and no older consent covers more."""
    central = _CENTRAL.replace("{to: pay,", f"{{to: pay, expires: {consented},")
    rule = f"{{allow: READ, topics: [ledger.v2], expires: {ended}}}"
    assert validate({_PAY: _acls("User:svc-pay", rule)}, central)[0] == status


_MUST = """\
apiVersion: reconciler/v1
kind: AccessTests
metadata: {name: t}
spec: {tests: [{name: pay reads, principals: [User:pay], must: READ, topics: [pay]}]}
"""
_ALLOW, _DENY = (_acls("User:pay", f"{{{verb}, topics: [pay]}}", verb[:4]) for verb in ("allow: READ", "deny: ALL"))


@pytest.mark.parametrize(
    ("files", "status"),
    [
        ({"teams/pay/a.yaml": _ALLOW, "teams/incidents/x.yaml": _DENY}, Exit.OK),
        ({"teams/pay/a.yaml": _ALLOW, "teams/pay/x.yaml": _DENY}, Exit.FAILED_CHECK),
        ({"teams/incidents/x.yaml": _DENY}, Exit.FAILED_CHECK),
        (
            {"teams/pay/a.yaml": _ALLOW.replace("allow: READ", "allow: WRITE"), "teams/incidents/x.yaml": _DENY},
            Exit.FAILED_CHECK,
        ),
    ],
)
def test_only_a_file_against_incidents_excuses_a_demand_for_access(
    owning: _Owning, files: dict[str, str], status: Exit
) -> None:
    """What fails by its DENY alone is excepted, and it is said by which file; another failure stays one."""
    found, shown = owning({"tests.yaml": _MUST, **files})
    assert found == status
    assert ("cut off by teams/incidents/x.yaml" in shown) is (status is Exit.OK)


def test_a_proposal_cannot_excuse_itself_from_the_tests_of_the_base(
    owning: _Owning, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """``denyAny`` counts only where the guardrails say it too."""
    assert owning({"tests.yaml": _MUST, "teams/pay/a.yaml": _ALLOW})[0] == Exit.OK
    for base, more, status in (("same", ", denyAny: true", Exit.OK), ("other", "", Exit.FAILED_CHECK)):
        guardrails = tmp_path.with_name(f"{tmp_path.name}-{base}")
        shutil.copytree(tmp_path, guardrails)
        rules = guardrails / "cluster.yaml"
        rules.write_text(rules.read_text(encoding="utf-8").replace(", denyAny: true", more), encoding="utf-8")
        (tmp_path / "teams" / "incidents").mkdir(exist_ok=True)
        (tmp_path / "teams" / "incidents" / "x.yaml").write_text(_DENY, encoding="utf-8")
        assert run(["validate", str(tmp_path), "--guardrails", str(guardrails)]) == status
        capsys.readouterr()
        (tmp_path / "teams" / "incidents" / "x.yaml").unlink()
