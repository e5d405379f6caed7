"""What nodes are configured with, and how Java reads it back."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.parts.local.sandbox.layout import Listener, NodeFiles, SandboxSpec, lay_out, port_count
from reconciler.parts.local.sandbox.properties import Secrets, node_properties, render

_SECRETS = Secrets("between-nodes", "of-stores")


@given(st.dictionaries(st.text(min_size=1).filter(str.isprintable), st.text().filter(str.isprintable)))
def test_java_reads_back_what_was_written(properties: dict[str, str]) -> None:
    assert _load(render(properties)) == properties


def test_each_node_has_its_own_ports_and_all_have_the_same_voters() -> None:
    spec = SandboxSpec(nodes=3, tls=True, plaintext=True)
    ports = range(20_000, 20_000 + port_count(spec))
    plans = lay_out(spec, ports)
    assert [plan.ports[Listener.CLIENT] for plan in plans] == [20_000, 20_001, 20_002]
    assert sorted(port for plan in plans for port in plan.ports.values()) == list(ports)
    voters = {_of(spec, number)["controller.quorum.voters"] for number in range(3)}
    assert voters == {",".join(f"{plan.id}@127.0.0.1:{plan.ports[Listener.CONTROLLER]}" for plan in plans)}


def test_separate_controllers_come_first_and_have_no_client_listener() -> None:
    spec = SandboxSpec(nodes=2, controllers=1)
    plans = lay_out(spec, range(20_000, 20_000 + port_count(spec)))
    assert [(plan.id, plan.roles) for plan in plans] == [(101, ("controller",)), (1, ("broker",)), (2, ("broker",))]
    assert list(plans[0].ports) == [Listener.CONTROLLER]
    assert Listener.CONTROLLER not in plans[1].ports
    assert "advertised.listeners" not in _of(spec, 0)


@pytest.mark.parametrize("spec", [SandboxSpec(), SandboxSpec(nodes=2, controllers=1, tls=True, any_principal=True)])
def test_everything_is_on_loopback_and_asks_who_you_are(spec: SandboxSpec) -> None:
    for number in range(spec.nodes + spec.controllers):
        properties = _of(spec, number)
        protocols = dict(item.split(":") for item in properties["listener.security.protocol.map"].split(","))
        for address in properties["listeners"].split(","):
            name, _, host = address.partition("://")
            assert host.startswith("127.0.0.1:")
            assert protocols[name].startswith("SASL_") or (name, protocols[name]) == ("CLIENT_SSL", "SSL")


def test_unsigned_tokens_only_if_asked_for() -> None:
    assert "OAUTHBEARER" not in render(_of(SandboxSpec()))
    assert "OAUTHBEARER" in _of(SandboxSpec(any_principal=True))["listener.name.client.sasl.enabled.mechanisms"]


def test_nodes_are_super_users_whatever_is_asked() -> None:
    assert _of(SandboxSpec(super_users=("User:root",)))["super.users"] == "User:root;User:sandbox-node"


def test_without_an_authorizer_nothing_of_it_is_set() -> None:
    properties = _of(SandboxSpec(authorizer=False))
    assert not {"authorizer.class.name", "super.users", "allow.everyone.if.no.acl.found"} & set(properties)


def test_overrides_come_last() -> None:
    properties = _of(SandboxSpec(overrides={"num.io.threads": "9", "log.retention.hours": "1"}))
    assert (properties["num.io.threads"], properties["log.retention.hours"]) == ("9", "1")


def test_3_9_is_not_told_of_share_groups() -> None:
    assert not [name for name in _of(SandboxSpec(kafka_version="3.9.2")) if name.startswith("share.")]
    assert [name for name in _of(SandboxSpec()) if name.startswith("share.")]


def _of(spec: SandboxSpec, number: int = 0) -> dict[str, str]:
    plans = lay_out(spec, range(20_000, 20_000 + port_count(spec)))
    return node_properties(spec, plans[number], plans, NodeFiles(Path("/sandbox"), plans[number].id), _SECRETS)


def _load(text: str) -> dict[str, str]:
    """``java.util.Properties.load``, as its documentation says, for files without comments and continued lines."""
    loaded = {}
    for line in text.splitlines():
        units, end_of_name, position = [], None, 0
        while position < len(line):
            character = line[position]
            if character == "\\":
                taken = line[position + 1]
                size = 6 if taken == "u" else 2
                units.append(int(line[position + 2 : position + 6], 16) if taken == "u" else ord(taken))
                position += size
                continue
            if end_of_name is None and character in "=: ":
                end_of_name = len(units)
            else:
                units.append(ord(character))
            position += 1
        raw = b"".join(unit.to_bytes(2, "big") for unit in units)
        assert end_of_name is not None
        loaded[raw[: 2 * end_of_name].decode("utf-16-be")] = raw[2 * end_of_name :].decode("utf-16-be")
    return loaded
