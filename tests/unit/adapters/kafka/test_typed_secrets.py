"""Passwords that would reach a broker as another text than the one that is meant."""

import datetime
import socket
from dataclasses import replace

import pytest
from confluent_kafka.admin import AdminClient

from reconciler.app.apply import follow_references
from reconciler.app.reasons import WorkflowError
from reconciler.app.session import Target
from reconciler.app.terms import terms
from reconciler.apply.preflight import Preflight
from reconciler.kafka.errors import SettingsError
from reconciler.kafka.handshake import log_in
from reconciler.kafka.secret_source import SecretSource
from reconciler.kafka.settings import client_settings
from reconciler.manifest.manifests import load
from reconciler.manifest.read.findings import Source
from reconciler.model.characters import without_leading_blanks as sent
from reconciler.model.desired import Declaration, DesiredItem, DesiredState, Origin
from reconciler.model.kinds.scram_user import PasswordSource, ScramUser
from reconciler.model.listing import Listing
from reconciler.model.secrets import SecretPermit
from reconciler.model.state import ClusterState
from reconciler.plan.propose import Request, propose
from reconciler.snapshot.file import MemoryCluster

LOGIN = {"security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-512", "sasl.username": "a"}
BLANKS = (" pw", "\tpw", "  pw  ", "\npw")


@pytest.mark.parametrize("password", BLANKS)
def test_a_password_that_our_client_changes_is_not_tried_and_is_no_setting(password: str) -> None:
    source = SecretSource(frozenset({"P"}), environment={"P": "pw"})
    settings = client_settings("b:9093", {**LOGIN, "sasl.password": "${env:P}"}, source)
    answer = log_in(settings, "u", "SCRAM-SHA-512", password)
    assert answer.works is None
    assert "which our client drops" in answer.detail
    assert "pw" not in answer.detail
    odd = replace(source, environment={"P": password})
    for key, value in (("sasl.password", "${env:P}"), ("sasl.username", password), ("client.id", password)):
        with pytest.raises(SettingsError, match="begins with a blank"):
            client_settings("b:9093", {**LOGIN, "sasl.password": "x", key: value}, odd, cleartext_login=True)


def _first_request(client_id: str) -> bytes:
    """What the client sends first, which has its id."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = AdminClient({"bootstrap.servers": f"127.0.0.1:{server.getsockname()[1]}", "client.id": client_id})
        with client, server.accept()[0] as connection:
            return connection.recv(200)


def test_librdkafka_drops_the_blanks_at_the_start_of_a_setting_and_no_others() -> None:
    for text in (" a b ", "\t\n\v\f\ra", "\u00a0a", "a\n"):
        assert f"\0{chr(len(sent(text).encode()))}{sent(text)}\0".encode() in _first_request(text)


@pytest.mark.parametrize("hidden", ["\ufeffpw", "p\u200bw", "p\nw", "p\x00w", "pw\u00a0"])
def test_nothing_is_sent_of_a_secret_with_characters_that_nobody_sees(
    hidden: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {name: c}\nspec: {}\n"
    declaration = replace(load([Source("c.yaml", text)]).clusters["c"], secret_permit=SecretPermit(env_prefixes=("P",)))
    user = ScramUser("u", {"SCRAM-SHA-512": 4097}, {"SCRAM-SHA-512": PasswordSource("${env:P}")})
    wanted = DesiredItem(user, Declaration(Origin("u.yaml", 1, 1)))
    live = ClusterState("c", listings={"users": Listing(frozenset())})
    request = Request(datetime.date(2027, 1, 1), permit=declaration.secret_permit)
    plan = propose(DesiredState(listed={"users": {"u": wanted}}), live, terms(declaration), request)
    (step,) = plan.steps
    settings = client_settings("b:9093", {"security.protocol": "SSL"}, SecretSource())
    target = Target("c", MemoryCluster(live), declaration, settings=settings)
    found = Preflight((step.observed(live),))
    for value, bad in (("p w!", False), (hidden, True)):
        if "\0" in value:
            monkeypatch.setattr(SecretSource, "_variable", lambda *_: hidden)
        else:
            monkeypatch.setenv("P", value)
        if bad:
            with pytest.raises(WorkflowError, match="characters that nobody sees") as told:
                follow_references(plan, found, target)
            assert value not in str(told.value)
        else:
            follow_references(plan, found, target)
            assert settings.followed == {"${env:P}": value}
