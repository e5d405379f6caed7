"""Delegation tokens as a real broker tells of them: whose, who may read the secret, and what is hidden from us."""

import time
import warnings
from typing import Any

import pytest

from reconciler.app.lock import Lockable, LockTerms
from reconciler.app.options import ConnectionOptions
from reconciler.app.session import Target
from reconciler.kafka.cluster import delegation_tokens
from reconciler.kafka.listing import ask, kafka_python_settings
from reconciler.kafka.secret_source import SecretSource
from reconciler.kafka.settings import ClientSettings, client_settings
from reconciler.manifest.parts.clusters import ClusterDeclaration
from reconciler.model.desired import Origin
from reconciler.model.state import ClusterState, DelegationTokens
from reconciler.parts.local.sandbox.state import Sandbox
from reconciler.ports import ReadRequest
from tests.shared_brokers import opened

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from kafka.admin import KafkaAdminClient
    from kafka.protocol.api_message import ApiMessage

_PRINCIPAL: list[dict[str, Any]] = [
    {"name": end, "type": "string", "versions": "0+"} for end in ("PrincipalType", "PrincipalName")
]
_OWNER: list[dict[str, Any]] = [
    {"name": f"Owner{one['name']}", "type": "string", "versions": "3+", "nullableVersions": "3+"} for one in _PRINCIPAL
]
_REQUESTER: list[dict[str, Any]] = [
    {"name": f"TokenRequester{one['name']}", "type": "string", "versions": "3+"} for one in _PRINCIPAL
]
_REQUEST: list[dict[str, Any]] = [
    *_OWNER,
    {"name": "Renewers", "type": "[]CreatableRenewers", "versions": "0+", "fields": _PRINCIPAL},
    {"name": "MaxLifetimeMs", "type": "int64", "versions": "0+"},
]
_TIMES: list[dict[str, Any]] = [
    {"name": f"{one}TimestampMs", "type": "int64", "versions": "0+"} for one in ("Issue", "Expiry", "Max")
]
_RESPONSE: list[dict[str, Any]] = [
    {"name": "ErrorCode", "type": "int16", "versions": "0+"},
    *_PRINCIPAL,
    *_REQUESTER,
    *_TIMES,
    {"name": "TokenId", "type": "string", "versions": "0+"},
    {"name": "Hmac", "type": "bytes", "versions": "0+"},
    {"name": "ThrottleTimeMs", "type": "int32", "versions": "0+"},
]


def _message(kind: str, fields: list[dict[str, Any]]) -> Any:
    """CreateDelegationToken, which kafka-python has not either; only tests make tokens."""
    about = {"apiKey": 38, "type": kind, "validVersions": "1-3", "flexibleVersions": "2+"}
    made = {**about, "name": f"CreateDelegationToken{kind.title()}", "fields": fields}
    patch = {"json_patch": staticmethod(lambda cls, json: made), "__module__": __name__}
    name = f"DescribeDelegationToken{kind.title()}"
    return type(ApiMessage)(name, (ApiMessage,), patch, load_json="reconciler.kafka")


with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    _CREATE, _CREATED = (_message(kind, fields) for kind, fields in (("request", _REQUEST), ("response", _RESPONSE)))


def _settings(broker: Sandbox, user: str) -> ClientSettings:
    given = broker.settings(user)
    return client_settings(given.pop("bootstrap.servers"), given, SecretSource())


def _create(broker: Sandbox, user: str, owner: str | None = None, renewer: str | None = None) -> Any:
    carried = kafka_python_settings(_settings(broker, user))
    assert carried is not None
    client = KafkaAdminClient(**carried["settings"])
    renewers = [] if renewer is None else [_CREATE.CreatableRenewers(principal_type="User", principal_name=renewer)]
    whose = {"owner_principal_type": "User", "owner_principal_name": owner} if owner else {}
    try:
        request = _CREATE(**whose, renewers=renewers, max_lifetime_ms=3_600_000, min_version=3)
        made = client._manager.run(client._manager.send, request, None, 20_000)
    finally:
        client.close()
    assert not made.error_code
    return made


@pytest.mark.broker
def test_whose_they_are_who_may_read_them_and_what_is_hidden(broker: Sandbox) -> None:
    """And a lock says what they do; the secret is in nothing that leaves the process that asked."""
    own = _create(broker, "alice", renewer="bob")
    ordered = _create(broker, "admin", owner="alice")
    request = ReadRequest(
        all_topics=False, principal="User:admin", super_users=["User:admin", "User:reconciler"], tokens=True
    )
    with opened(broker) as admin:
        deadline = time.monotonic() + 20
        while len((found := admin.read(request).tokens or DelegationTokens()).items) < 2:
            assert time.monotonic() < deadline, found
        declared = ClusterDeclaration(
            "c",
            Origin("c", 1, 1),
            principal="User:admin",
            super_users=("User:admin",),
            allow_everyone_if_no_acl_found=False,
        )
        target, state = Target("c", admin, declared), admin.read(ReadRequest(all_topics=False))
        told = {
            who: " | ".join(Lockable(target, state, LockTerms(who, "x"), ConnectionOptions()).lock().notes)
            for who in ("User:alice", "User:bob", "User:carol")
        }
    assert found.gap == ""
    by_id = {one.id: one for one in found.items}
    assert by_id[own.token_id][1:4] == ("User:alice", "User:alice", frozenset({"User:bob"}))
    assert by_id[ordered.token_id][1:4] == ("User:alice", "User:admin", frozenset())
    assert by_id[own.token_id].latest_end.timestamp() == own.max_timestamp_ms // 1000
    assert "2 tokens of it until" in told["User:alice"]
    assert "they are denied as well" in told["User:alice"]
    assert "may read the secret of 1 token of User:alice without an ACL" in told["User:bob"]
    assert "lock that one too" in told["User:bob"]
    assert "token" not in told["User:carol"], "nothing is hidden from a super user, so there is none"
    # Bob has no right at all: the broker shows him what he renews, and not a word about the other one.
    settings = _settings(broker, "bob")
    reply = ask(settings, "token.listed")
    for secret in (own.hmac, ordered.hmac):
        assert repr(bytes(secret))[2:-1] not in repr(reply)
    seen = delegation_tokens(reply, ReadRequest(principal="User:bob"), ClusterState(""), settings)
    assert [one.id for one in seen.items] == [own.token_id]
    assert "there may be others" in seen.gap


@pytest.mark.broker
def test_a_broker_without_a_key_does_not_speak_for_other_nodes(broker_3_9: Sandbox) -> None:
    with opened(broker_3_9) as admin:
        found = admin.read(ReadRequest(all_topics=False, tokens=True)).tokens
    assert found == DelegationTokens(gap="the broker asked has tokens disabled, other brokers and controllers may not")


def test_a_refusal_is_not_none() -> None:
    """What a broker refuses to tell is never told as empty."""
    settings, request, state = ClientSettings({"bootstrap.servers": "unused:1"}), ReadRequest(), ClusterState("")
    replies = [
        ("refused", 61, "", ""),
        ("refused", 64, "", ""),
        ("refused", 31, "CLUSTER_AUTHORIZATION_FAILED", "no"),
        ("failed", "cut off"),
    ]
    gaps = [delegation_tokens(one, request, state, settings).gap for one in (*replies, ("died", 9))]
    words = [
        "has tokens disabled",
        "only a login with SASL",
        "CLUSTER_AUTHORIZATION_FAILED: no",
        "cut off",
        "did not answer",
    ]
    assert all(word in gap for word, gap in zip(words, gaps, strict=True)), gaps
