"""New passwords are tried by a login: as often as is harmless, and what was not tried is said."""

from types import SimpleNamespace
from typing import Any

import pytest

from reconciler.app.apply import check_logins
from reconciler.apply.environment import LoginCheck, Outcome, Result, StepOutcome
from reconciler.kafka import handshake
from reconciler.model.kinds.scram_user import DISABLED_ITERATIONS, PasswordSource, ScramUser
from reconciler.model.secrets import SecretPermit
from reconciler.ports import LoginAnswer
from reconciler.show.result import result_document, result_lines
from tests.unit.plan.test_users import SHA_512, planned, user

PASSWORD = "${env:TEAM_A}"


def checked(
    monkeypatch: pytest.MonkeyPatch, users: list[ScramUser], answers: list[LoginAnswer], *, permitted: bool = True
) -> tuple[Result, list[str]]:
    """The result of a run that set these users, with a broker that answers so; and whose logins were tried."""
    tried: list[str] = []

    def answer(_: object, name: str, __: str, password: str) -> LoginAnswer:
        assert password == "geheim"
        tried.append(name)
        return answers[min(len(tried), len(answers)) - 1]

    monkeypatch.setattr(handshake, "log_in", answer)
    plan = planned([], users)
    outcomes = tuple(StepOutcome(step, Outcome.DONE) for step in plan.steps)
    declaration = SimpleNamespace(secret_permit=SecretPermit(("TEAM_",), verify_login=permitted))
    target: Any = SimpleNamespace(settings=SimpleNamespace(followed={PASSWORD: "geheim"}), declaration=declaration)
    return check_logins(Result(plan, outcomes, verified=True), target), tried


def test_a_password_works_is_refused_or_cannot_be_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = [user("a", SHA_512=8193)]
    found, _ = checked(monkeypatch, ours, [LoginAnswer(False, "no"), LoginAnswer(True)])
    assert found.logins == (LoginCheck("User:a", SHA_512, True),), "brokers learn of a password one after the other"
    assert found.succeeded
    assert "  1 new password tried by a login, and accepted" in list(result_lines(found))

    found, tried = checked(monkeypatch, ours, [LoginAnswer(False, "no")])
    assert tried == ["a"] * 3
    assert not found.succeeded
    assert "  login as User:a with SCRAM-SHA-512 is refused: no" in list(result_lines(found))

    found, tried = checked(monkeypatch, ours, [LoginAnswer(None, "no broker")])
    assert tried == ["a"]
    assert found.succeeded
    assert "  login as User:a with SCRAM-SHA-512 could not be tried: no broker" in list(result_lines(found))
    assert result_document(found)["logins"] == [
        {"principal": "User:a", "mechanism": SHA_512, "outcome": "not-tried", "detail": "no broker"}
    ]


def test_nobody_logs_in_where_the_operator_does_not_permit_it(monkeypatch: pytest.MonkeyPatch) -> None:
    found, tried = checked(monkeypatch, [user("a", SHA_512=8193)], [LoginAnswer(True)], permitted=False)
    assert (found.logins, tried) == ((), [])


def test_passwords_that_nobody_knows_are_not_tried_and_salted_ones_cannot_be(monkeypatch: pytest.MonkeyPatch) -> None:
    off = ScramUser("off", {SHA_512: DISABLED_ITERATIONS})
    source = PasswordSource(salt="${env:TEAM_S}", salted_password="${env:TEAM_T}")
    salted = ScramUser("salted", {SHA_512: 8192}, {SHA_512: source})
    found, tried = checked(monkeypatch, [off, salted], [LoginAnswer(True)])
    assert found.logins == (LoginCheck("User:salted", SHA_512, None, "only the salted password is known"),)
    assert tried == []


def test_refused_passwords_end_the_trying(monkeypatch: pytest.MonkeyPatch) -> None:
    users = [user(name, SHA_512=8193) for name in "abcde"]
    found, tried = checked(monkeypatch, users, [LoginAnswer(False, "no")])
    assert tried == ["a"] * 3 + ["b"] * 3 + ["c"] * 3
    assert [one.works for one in found.logins] == [False, False, False, None, None]


def test_a_mechanism_that_no_broker_offers_is_no_wrong_password() -> None:
    words = (
        "sasl_ssl://b:9092/1: SASL SCRAM-SHA-256 mechanism handshake failed: Broker: Unsupported SASL mechanism: "
        "broker's supported mechanisms: SCRAM-SHA-512"
    )
    assert handshake.refusal(words).works is None
    assert handshake.refusal("SASL authentication error: Authentication failed").works is False
