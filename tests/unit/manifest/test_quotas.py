"""What Quotas documents want: entities, units, expiry, scope."""

import datetime
from unittest.mock import patch

from reconciler.kinds import quota as quota_kind
from reconciler.manifest.manifests import desired_state, load
from reconciler.manifest.read.findings import Source
from reconciler.model.desired import Declaration, DesiredState, Expiry, Origin
from reconciler.model.kinds import listed_kind
from reconciler.model.kinds.quota import ClientQuota, QuotaEntity

HEAD = "apiVersion: reconciler/v1\nkind: Quotas\nmetadata: {name: q}\nspec:\n  quotas:\n"
CLUSTER = "apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {name: c}\nspec: {vars: {rate: 2MiB/s}}\n"
DAY = datetime.date(2027, 1, 1)


def desired(items: str, cluster: str = CLUSTER) -> DesiredState:
    sources = [Source("q.yaml", HEAD + items), Source("c.yaml", cluster)]
    return desired_state(load(sources), "c", DAY)


def quotas(items: str) -> dict[str, dict[str, float]]:
    return {str(entity): dict(one.item.values) for entity, one in desired(items).of(ClientQuota).items()}


def test_an_item_is_every_entity_that_its_names_make() -> None:
    one = {"request_percentage": 1}
    items = "    - {user: [a, b], clientId: [x, y], limits: {request_percentage: 1}}\n"
    assert quotas(items) == {f"user {user}, client-id {client}": one for user in "ab" for client in "xy"}
    assert quotas("    - {user: {default: true}, clientId: {default: true}, limits: {request_percentage: 1}}\n") == {
        "default user, default client-id": one
    }
    assert quotas("    - {user: [User:a, b], limits: {request_percentage: 1}}\n") == {"user a": one, "user b": one}
    assert quotas("    - {ip: {default: true}, limits: {connection_creation_rate: 3/s}}\n") == {
        "default ip": {"connection_creation_rate": 3}
    }


def test_units_become_kafkas_numbers() -> None:
    limits = "producer_byte_rate: 10MiB/s, consumer_byte_rate: 1048577, request_percentage: 12.5%"
    assert quotas(f"    - {{user: a, limits: {{{limits}, controller_mutation_rate: 0.5/s}}}}\n") == {
        "user a": {
            "producer_byte_rate": 10 * 2**20,
            "consumer_byte_rate": 1_048_577,
            "request_percentage": 12.5,
            "controller_mutation_rate": 0.5,
        }
    }
    assert quotas('    - {user: a, limits: {producer_byte_rate: "${vars.rate}"}}\n') == {
        "user a": {"producer_byte_rate": 2 * 2**20}
    }


def test_a_quota_keeps_its_terms_and_is_apart_once_it_has_expired() -> None:
    found = desired(
        "    - {user: a, limits: {request_percentage: 1}, expires: 2027-01-01, reason: r, ticket: T-1}\n"
        "    - {user: b, limits: {request_percentage: 1}, expires: 2026-12-31}\n"
        "    - {user: c, absent: true}\n"
    )
    a, b, c = (QuotaEntity.of(name) for name in "abc")
    quotas = found.of(ClientQuota)
    assert {key for key, one in quotas.items() if not one.expired} == {a, c}
    assert {key for key, one in quotas.items() if one.expired} == {b}
    assert quotas[a].declaration == Declaration(Origin("q.yaml", 6, 14), "r", "T-1", Expiry(DAY))
    assert quotas[c].absent
    assert quotas[c].item == ClientQuota(c)
    assert not quotas[a].absent


def test_scope_speaks_of_quotas_by_principals_alone() -> None:
    scope = 'scope: {include: [{principals: {any: true}}, {topics: {any: true}}], exclude: [{principals: ["User:a"]}]}'
    cluster = CLUSTER.replace("spec: {", f"spec: {{{scope}, ignore: [{{principals: {{prefix: User:sa-}}}}], ")
    own = load([Source("c.yaml", cluster)]).clusters["c"].scope
    owned = {
        name: own.owns_listed(ClientQuota(QuotaEntity.of(name)), declared=False)
        for name in ("a", "b", "sa-1", "User:a")
    }
    assert owned == {"a": False, "b": True, "sa-1": False, "User:a": True}
    assert own.owns_listed(ClientQuota(QuotaEntity.of(client_id="x")), declared=False)
    assert own.owns_listed(ClientQuota(QuotaEntity.of("")), declared=False)
    everything = load([Source("c.yaml", CLUSTER)]).clusters["c"].scope
    assert everything.owns_listed(ClientQuota(QuotaEntity.of("b")), declared=True)
    assert not everything.owns_listed(ClientQuota(QuotaEntity.of("b")), declared=False)


def test_of_each_address_one_quota_is_exported_and_each_is_read_once() -> None:
    spellings = ["10.0.0.1", "2001:db8:0:0:0:0:0:1", "10.0.0.2", "2001:db8::1", "2001:0db8::1"]
    items = [ClientQuota(QuotaEntity((("ip", text),)), {"connection_creation_rate": 1.0}) for text in spellings]
    with patch.object(quota_kind, "_address", side_effect=quota_kind._address) as asked:
        problems = list(listed_kind(ClientQuota).problems(items))
    assert [bool(problem) and "spelling" in problem for problem in problems] == [False, False, False, True, True]
    assert asked.call_count == len(items)
