"""What the port promises of SCRAM users: each succeeds and fails alone, and only its own mechanisms change."""

import base64
from typing import Any

import pytest

from reconciler.model.kinds.scram_user import PasswordSource, ScramUser, salted
from reconciler.model.listing import Create, Delete, Update
from reconciler.model.state import ClusterState
from reconciler.ports import AnswerStatus, ReadRequest
from tests.contract.subject import Subject, codes, verdicts

USERS = ReadRequest(acls=False, all_topics=False, listings=[ScramUser.KIND])
SHA_256, SHA_512 = "SCRAM-SHA-256", "SCRAM-SHA-512"
PASSWORD, SALT, SALTED = "${env:PASSWORD}", "${env:SALT}", "${env:SALTED}"


OF_PASSWORD, OF_SALTED = PasswordSource(PASSWORD), PasswordSource(salt=SALT, salted_password=SALTED)


def user(name: str, iterations: dict[str, int], source: PasswordSource = OF_PASSWORD) -> ScramUser:
    return ScramUser(name, iterations, dict.fromkeys(iterations, source))


def live(name: str, **iterations: int) -> ScramUser:
    return ScramUser(name, {mechanism.replace("_", "-"): number for mechanism, number in iterations.items()})


def follow(subject: Subject, **values: str) -> None:
    """As apply does once a plan is approved; a cluster in memory takes no passwords."""
    connection: Any = getattr(subject.cluster, "_connection", None)
    if connection is not None:
        connection.settings.followed.update({f"${{env:{name}}}": value for name, value in values.items()})


@pytest.fixture(autouse=True)
def followed(subject: Subject) -> None:
    salt = b"0123456789abcdef"
    hashed = salted(SHA_256, "geheim", salt, 4096)
    follow(subject, PASSWORD="geheim", SALT=base64.b64encode(salt).decode(), SALTED=base64.b64encode(hashed).decode())


def shows(subject: Subject, own: str, *expected: ScramUser) -> None:
    """Waits until the users with ``own`` in their name are exactly these."""

    def as_expected(state: ClusterState) -> bool:
        found = state.listing(ScramUser)
        assert found.items is not None, found.gap
        return {one for one in found.items if own in one.name} == set(expected)

    subject.shows(USERS, as_expected)


def test_users_come_back_with_their_iterations_and_go(subject: Subject, own: str) -> None:
    names = (own, f"{own} ü,=/:é", f"CN={own},O=Example")
    made = [user(name, {SHA_256: 4096, SHA_512: 16384}) for name in names]
    made.append(user(f"{own}-salted", {SHA_256: 4096}, OF_SALTED))
    assert verdicts(subject.cluster.send([Create(one) for one in made])) == [AnswerStatus.DONE] * 4
    there = [one.with_values(one.values) for one in made]
    shows(subject, own, *there)
    gone = [*map(Delete, there), Delete(live(f"{own}-unknown", SCRAM_SHA_512=4096))]
    assert verdicts(subject.cluster.send(gone)) == [AnswerStatus.DONE] * 5, "one that is gone already is deleted"
    shows(subject, own)


def test_an_update_sets_and_removes_its_own_mechanisms_only(subject: Subject, own: str) -> None:
    subject.cluster.send([Create(user(own, {SHA_256: 4096}))])
    swapped = Update(live(own, SCRAM_SHA_256=4096), user(own, {SHA_512: 8192}))
    assert verdicts(subject.cluster.send([swapped])) == [AnswerStatus.DONE]
    shows(subject, own, live(own, SCRAM_SHA_512=8192))
    added = Update(live(own, SCRAM_SHA_512=8192), user(own, {SHA_256: 4097, SHA_512: 8192}))
    assert verdicts(subject.cluster.send([added])) == [AnswerStatus.DONE]
    shows(subject, own, live(own, SCRAM_SHA_256=4097, SCRAM_SHA_512=8192))


def test_what_kafka_refuses_of_a_user_is_refused_alone(subject: Subject, own: str) -> None:
    good, other = user(f"{own}1", {SHA_512: 4096}), user(f"{own}4", {SHA_256: 4096})
    bad = [user(f"{own}2", {SHA_512: 4095}), user(f"{own}3", {SHA_512: 16385})]
    answers = subject.cluster.send([Create(one) for one in (other, *bad, good)])
    failed, done = AnswerStatus.FAILED, AnswerStatus.DONE
    assert verdicts(answers) == [done, failed, failed, done]
    assert codes(answers) == ["", "UNACCEPTABLE_CREDENTIAL", "UNACCEPTABLE_CREDENTIAL", ""]
    shows(subject, own, good.with_values(good.values), other.with_values(other.values))
