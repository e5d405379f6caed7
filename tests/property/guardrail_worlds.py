"""Random rules, random differences between them, and random proposals that they judge."""

import copy
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random
from typing import Any, Final

from reconciler.manifest.read.findings import Source

#: By kind: its spec. One document of a kind is enough, for two are judged as one with the items of both.
Rules = dict[str, dict[str, Any]]
#: A field that is not there.
ABSENT: Final = object()

#: Names that look like numbers, names below others, and one that only `ignore` speaks of.
TOPICS: Final = ("1", "12", "1001.a", "1002.a", "pay.a", "secret.x")
PRINCIPALS: Final = ("User:a", "User:1", "User:12", "User:svc-pay", "User:root")
_PREFIXES: Final = ("1", "12", "1001.", "pay.", "p", "secret.", "web.")
_PRINCIPAL_PREFIXES: Final = ("User:", "User:1", "User:svc-", "User:svc-pay")
_GLOBS: Final = (*PRINCIPALS, "User:*", "User:svc-*", "User:svc-pay*", "User:svc-payments*", "User:1*", "User:?")
FILES: Final = ("root.yaml", "teams/pay/a.yaml", "teams/web/a.yaml", "teams/q/a.yaml")
_FILE_GLOBS: Final = ("teams/pay/**", "teams/web/**", "teams/q/**", "teams/**", "teams/*/a.yaml", "teams/qq/**")
_TEAMS: Final = ("pay", "web")
_ENDS: Final = ("2026-11-01", "2027-01-01", "2027-06-30", "2099-01-01", "2027-01-01T12:00:00Z")
_LABELS: Final[tuple[dict[str, str], ...]] = (
    {},
    {"data": "personal"},
    {"data": "public"},
    {"tier": "1"},
    {"tier": "2"},
    {"data": "personal", "tier": "1"},
)
_REASON: Final = ("because", "soon")
_CODES: Final = ("KT001", "KT002", "KT003", "KT004", "KT005", "KT006", "KT007", "KT008")
LINT: Final = ("KA001", "KA007", "KA008", "KA010")


def some(random: Random, values: Sequence[Any], most: int = 3) -> list[Any]:
    return random.sample(list(values), random.randint(1, min(most, len(values))))


def names(random: Random, values: Sequence[str] = TOPICS, prefixes: Sequence[str] = _PREFIXES) -> Any:
    """Names in one of their forms."""
    return random.choice(
        [
            random.choice(values),
            some(random, values),
            some(random, values),
            {"prefix": random.choice(prefixes)},
            {"prefix": some(random, prefixes)},
            [*some(random, values), {"prefix": random.choice(prefixes)}],
            {"any": True},
            {"literal": some(random, values)},
        ]
    )


def principals(random: Random) -> Any:
    return names(random, PRINCIPALS, _PRINCIPAL_PREFIXES)


def one_or_more(random: Random, values: Sequence[str]) -> Any:
    return random.choice([random.choice(values), some(random, values), some(random, values)])


def ends(random: Random) -> str:
    return random.choice(_ENDS)


def exception(random: Random) -> dict[str, Any]:
    return given({"reason": random.choice(_REASON), "expires": ends(random), "ticket": maybe(random, "OPS-1", 0.2)})


def given(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not ABSENT}


def maybe(random: Random, value: Any, share: float = 0.5) -> Any:
    return value if random.random() < share else ABSENT


def access_test(random: Random, name: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {"name": name or random.choice("tuv")}

    def operations() -> Any:
        return one_or_more(random, ["READ", "READ", "WRITE", "ALL"])

    if random.random() < 0.6:
        found |= {"principals": one_or_more(random, _GLOBS), "except": maybe(random, one_or_more(random, _GLOBS), 0.4)}
        claims = some(random, ["must", "mustNot"], 2) if random.random() < 0.3 else ["mustNot"]
        found |= {claim: operations() for claim in claims}
    else:
        claims = some(random, ["onlyReaders", "onlyWriters", "onlyAdmins"], 2)
        found |= {claim: one_or_more(random, _GLOBS) for claim in claims}
    found |= {
        "topics": names(random),
        "severity": maybe(random, random.choice(["error", "warning", "${vars.severity}"]), 0.2),
        "includeSuperUsers": maybe(random, random.choice([True, False]), 0.5),
    }
    return given(found)


def accepting(random: Random, items: list[dict[str, Any]], some_exception: Callable[[Random], Any]) -> Any:
    """Exceptions for the named ones of a document's tests or rules."""
    named = [item["name"] for item in items if "name" in item and random.random() < 0.3]
    return [{"check": name, **some_exception(random)} for name in named] or ABSENT


def limits(random: Random) -> dict[str, Any]:
    numbers = [1, 2, 3, 6, "${vars.n}"]
    fields = [*some(random, ["min", "max", "minPerBroker", "maxPerBroker"], 2)]
    found = {name: random.choice(numbers) for name in fields}
    return found | given({"required": maybe(random, random.choice([True, False]), 0.3)})


def setting(random: Random, name: str) -> dict[str, Any]:
    if random.random() < 0.15:
        return {"forbidden": True}
    values = {"retention.ms": ["1h", "24h", "1d", "7d", "30d", "86400000"], "cleanup.policy": ["delete", "compact"]}[
        name
    ]
    found: dict[str, Any] = {"required": maybe(random, random.choice([True, False]), 0.4)}
    if name == "cleanup.policy" or random.random() < 0.3:
        found["allowed"] = one_or_more(random, values)
    else:
        found |= {name: random.choice(values) for name in some(random, ["min", "max"], 2)}
    return given(found)


def relation(random: Random) -> dict[str, Any]:
    found = {
        "value": "retention.ms",
        random.choice(["below", "atMost"]): random.choice(["retention.bytes", "max.compaction.lag.ms"]),
    }
    return found | given({"required": maybe(random, random.choice([True, False]), 0.5)})


def topic_exception(random: Random) -> dict[str, Any]:
    return given({"topics": names(random), "codes": maybe(random, one_or_more(random, _CODES)), **exception(random)})


def policy_rule(random: Random) -> dict[str, Any]:
    found = {
        "name": maybe(random, random.choice("rs"), 0.5),
        "topics": maybe(random, names(random), 0.8),
        "except": maybe(random, names(random), 0.4),
        "matchLabels": maybe(random, random.choice(_LABELS[1:]), 0.4),
        "message": "why",
        "severity": maybe(random, random.choice(["error", "warning"]), 0.2),
    }
    if found["topics"] is ABSENT and found["matchLabels"] is ABSENT:
        found["topics"] = {"any": True}
    asks: dict[str, Callable[[], Any]] = {
        "names": lambda: random.choice(
            [{"maxLength": random.choice([1, 3, 5])}, {"pattern": random.choice(["[a-z.]+", "[0-9]+"])}]
        ),
        "partitions": lambda: limits(random),
        "replicationFactor": lambda: limits(random),
        "configs": lambda: {
            name: setting(random, name) for name in some(random, ["retention.ms", "cleanup.policy"], 2)
        },
        "relations": lambda: [relation(random)],
        "expression": lambda: random.choice(["partitions > 1", "name.startsWith('p')"]),
    }
    weights = [name for name in asks if name != "expression" or random.random() < 0.2]
    found |= {name: asks[name]() for name in some(random, weights, 2)}
    return given(found)


def consent(random: Random, *, outer: bool = False) -> dict[str, Any]:
    found = {
        "team": "pay" if outer else ABSENT,
        "to": random.choice(_TEAMS),
        "operations": one_or_more(random, ["READ", "WRITE", "ALL"]),
        "permissions": maybe(random, random.choice([["ALLOW"], ["DENY"], ["ALLOW", "DENY"]]), 0.4),
        "principals": maybe(random, principals(random), 0.5),
        "topics": names(random),
        "groups": maybe(random, ["g"], 0.1),
        "reason": maybe(random, "r", 0.2),
        "expires": maybe(random, ends(random), 0.5),
    }
    return given(found)


def owner(random: Random, team: str = "") -> dict[str, Any]:
    team = team or random.choice(_TEAMS)
    own = f"teams/{team}/**"
    found = {
        "team": team,
        "files": maybe(random, random.choice([own, [own, random.choice(_FILE_GLOBS)]]), 0.9),
        "principals": maybe(random, principals(random), 0.6),
        "topics": maybe(random, names(random), 0.8),
        "cluster": maybe(random, True, 0.1),
        "denyAny": maybe(random, random.choice([True, False]), 0.2),
        "consents": maybe(random, [consent(random) for _ in range(random.randint(1, 2))], 0.5),
    }
    if found.keys() == {"team"}:
        found["topics"] = "pay.a"
    return given(found)


def selector(random: Random) -> dict[str, Any]:
    return random.choice([{"topics": names(random)}, {"principals": principals(random)}])


def scope(random: Random) -> dict[str, Any]:
    found = {
        "include": maybe(random, [{"topics": {"any": True}}, {"principals": {"any": True}}, selector(random)], 0.8),
        "exclude": maybe(random, [selector(random)], 0.3),
    }
    return given(found) or {"include": [{"topics": {"any": True}}]}


def lint_exception(random: Random) -> dict[str, Any]:
    narrowed = random.choice([{}, selector(random)])
    return {"check": random.choice(LINT), **narrowed, **exception(random)}


#: Each field of a Cluster document that is compared, with a value for it.
CLUSTER: Final[Mapping[str, Callable[[Random], Any]]] = {
    "principal": lambda random: random.choice(PRINCIPALS),
    "superUsers": lambda random: some(random, PRINCIPALS, 2),
    "flavor": lambda random: random.choice(["apache", "confluent-cloud"]),
    "allowEveryoneIfNoAclFound": lambda random: random.choice([True, False, "unknown"]),
    "kafkaVersion": lambda random: random.choice(["3.9", "4.4"]),
    "interBrokerPrincipals": lambda random: some(random, PRINCIPALS, 2),
    "protect": lambda random: [selector(random)],
    "deleteLimits": lambda random: given(
        {
            name: maybe(random, random.choice([0, 1, 5, 20, 60, 100]))
            for name in ("maxDeletes", "maxDeletePercent", "percentAbove")
        }
    ),
    "barrier": lambda random: {"wait": random.choice(["0s", "1s", "2s", "1000ms", "1m"])},
    "brokers": lambda random: random.choice([[1], [1, 2], [1, 2, 3], [2]]),
    "exceptions": lambda random: [
        given(
            {
                "check": "limit",
                "object": random.choice(["maxDeletes", "maxDeletePercent"]),
                "reason": random.choice(_REASON),
                "expires": maybe(random, ends(random)),
            }
        ),
        *([lint_exception(random)] if random.random() < 0.5 else []),
    ],
    "scope": scope,
    "ignore": lambda random: [selector(random)],
    "prune": lambda random: some(random, ["topics", "quotas", "groupConfigs", "clientMetrics", "users"]),
    "topicDefaults": lambda random: random.choice(
        [{"partitions": 2}, {"replicationFactor": 3}, {"configs": {"retention.ms": "7d"}}]
    ),
    "ignoreConfigs": lambda random: some(random, ["retention.ms", "cleanup.policy"], 2),
    "vars": lambda random: {"n": random.choice([1, 2, 6]), "severity": random.choice(["error", "warning"])},
}


def cluster(random: Random) -> dict[str, Any]:
    found: dict[str, Any] = {"allowEveryoneIfNoAclFound": random.choice([False, False, True, "unknown"])}
    found |= {"superUsers": ["User:root"], "vars": {"n": 2, "severity": "error"}}
    if random.random() < 0.3:
        found["brokers"] = [1, 2]
    for name in random.sample(list(CLUSTER), random.choice([0, 0, 1, 2])):
        found[name] = CLUSTER[name](random)
    return found


def clusters(random: Random) -> Any:
    return random.choice(
        [{"matchLabels": labels} for labels in ({}, {"env": "prod"}, {"env": "prod", "x": "1"}, {"env": "2"})]
    )


def _judging(
    random: Random, key: str, items: list[dict[str, Any]], some_exception: Callable[[Random], Any]
) -> dict[str, Any]:
    return given({key: items, "exceptions": accepting(random, items, some_exception)})


def rules(random: Random) -> Rules:
    """A Cluster with the label env: prod, and one document of some of the kinds that judge."""
    found: Rules = {"Cluster": cluster(random), "Labels": {"env": random.choice(["prod", "1"])}}
    makes: dict[str, Callable[[], Any]] = {
        "AccessTests": lambda: _judging(
            random, "tests", [access_test(random, name) for name in random.choice(["t", "t", "tu"])], exception
        ),
        "TopicPolicy": lambda: _judging(
            random, "rules", [policy_rule(random) for _ in range(random.choice([1, 1, 2]))], topic_exception
        ),
        "Ownership": lambda: given(
            {
                "owners": [owner(random, team) for team in _TEAMS],
                "consents": maybe(random, [consent(random, outer=True)], 0.3),
            }
        ),
    }
    for kind in random.sample(list(makes), random.choice([1, 1, 1, 2])):
        found[kind] = makes[kind]() | given({"clusters": maybe(random, clusters(random), 0.2)})
    return found


def _item_makers(random: Random) -> Mapping[str, Callable[[], Any]]:
    """A new item of each list of items, and a new value of each field, by its name."""
    return {
        "tests": lambda: access_test(random),
        "rules": lambda: policy_rule(random),
        "owners": lambda: owner(random),
        "consents": lambda: consent(random),
        "exceptions": lambda: {"check": random.choice("tr"), **random.choice([exception, topic_exception])(random)},
        "relations": lambda: relation(random),
        "protect": lambda: selector(random),
        "ignore": lambda: selector(random),
    }


def mutated(random: Random, before: Rules) -> Rules:
    """The rules with one or two differences, each in a random field of a random document."""
    found = copy.deepcopy(before)
    kinds = [kind for kind in found if kind not in ("Labels", "Cluster")]
    for _ in range(random.choice([1, 1, 1, 2])):
        kind = random.choice([*kinds, *kinds, *kinds, "Cluster"])
        if random.random() < 0.03:
            found["Labels"]["env"] = random.choice(["prod", "1", "2"])
        elif kind == "Cluster":
            name = random.choice([*found[kind], *found[kind], *CLUSTER])
            if name in found[kind] and name != "vars" and random.random() < 0.5:
                del found[kind][name]
            elif name in found[kind] and random.random() < 0.5:
                _mutate(random, {name: found[kind][name]})
            else:
                found[kind][name] = CLUSTER[name](random)
        elif random.random() < 0.1:
            found[kind] |= {"clusters": clusters(random)}
        else:
            _mutate(random, found[kind])
    return found


def _mutate(random: Random, node: Any) -> None:
    """Change one place at or below a mapping or a list."""
    inner = [(key, value) for key, value in _entries(node) if isinstance(value, dict | list) and value]
    if inner and random.random() < 0.75:
        _mutate(random, random.choice(inner)[1])
        return
    if isinstance(node, list):
        _mutate_list(random, node)
        return
    fresh = _fresh(random, node)
    removable = [key for key in node if key not in ("name", "team", "to", "reason", "check", "value", "tests", "rules")]
    if removable and random.random() < 0.5:
        del node[random.choice(removable)]
    elif fresh:
        name = random.choice(list(fresh))
        node[name] = fresh[name]


def _entries(node: Any) -> Iterator[tuple[Any, Any]]:
    yield from node.items() if isinstance(node, dict) else enumerate(node)


def _mutate_list(random: Random, node: list[Any]) -> None:
    if len(node) > 1 and random.random() < 0.5:
        del node[random.randrange(len(node))]
    elif node and isinstance(node[0], str):
        node.append(random.choice(_pool(node[0])))
    elif node and isinstance(node[0], dict):
        keys = set(node[0])
        makers = _item_makers(random)
        fits = [make for make in makers.values() if keys & set(make())]
        node.append(random.choice(fits)() if fits else dict(node[0]))


def _pool(text: str) -> Sequence[str]:
    """What else such a text may be."""
    if text in ("ALLOW", "DENY"):
        return ["ALLOW", "DENY"]
    if text.startswith("KT"):
        return _CODES
    if text.isupper():
        return ["READ", "WRITE", "ALL"]
    if text.startswith("User:"):
        return _GLOBS
    return _FILE_GLOBS if "/" in text else TOPICS


def _fresh(random: Random, node: dict[str, Any]) -> dict[str, Any]:
    """New values for the fields of a mapping, by the kind of item that it looks like."""
    keys = set(node)
    if keys & {"must", "mustNot", "onlyReaders", "onlyWriters", "onlyAdmins"}:
        return access_test(random) | {"name": node.get("name", "t")}
    if "operations" in keys:
        return consent(random) | given({"team": node.get("team", ABSENT)}) | {"to": node["to"]}
    if "team" in keys:
        return owner(random) | {"team": node["team"]}
    if "message" in keys:
        return {key: value for key, value in policy_rule(random).items() if key != "name"}
    if keys & {"minPerBroker", "maxPerBroker"} or any(isinstance(node.get(key), int) for key in ("min", "max")):
        return limits(random)
    if keys & {"min", "max", "allowed", "forbidden"}:
        return setting(random, "cleanup.policy" if node.get("allowed") in ("delete", "compact") else "retention.ms")
    if "codes" in keys or ("expires" in keys and "topics" in keys):
        return topic_exception(random)
    if "expires" in keys:
        return exception(random)
    if keys & {"prefix", "any", "literal"}:
        node.clear()
        found = names(random)
        return found if isinstance(found, dict) else {"literal": found}
    if keys & {"maxDeletes", "maxDeletePercent", "percentAbove"}:
        return {
            name: random.choice([0, 1, 5, 20, 60, 100]) for name in ("maxDeletes", "maxDeletePercent", "percentAbove")
        }
    if keys <= {"data", "tier", "env", "x"}:
        return random.choice(_LABELS) or {"tier": "1"}
    return {}


def wishes(random: Random) -> dict[str, list[str]]:
    """What a proposal wants: bindings, topics and quotas, by file."""
    found: dict[str, list[str]] = {}

    def put(kind: str, spec: Any, labels: Mapping[str, str] | None = None) -> None:
        documents = found.setdefault(random.choice(FILES), [])
        documents.append(
            document(kind, f"w{len(documents)}-{len(found)}-{random.randrange(10**6)}", spec, labels or {})
        )

    for _ in range(random.choice([1, 1, 1, 2])):
        if random.random() < 0.55:
            operations = one_or_more(random, ["READ", "READ", "WRITE", "ALL", "DELETE"])
            rule = {random.choice(["allow", "allow", "deny"]): operations, "topics": names(random)}
            put("Acls", {"principal": random.choice([*PRINCIPALS, *PRINCIPALS, "User:*", "User:q2"]), "rules": [rule]})
        elif random.random() < 0.85:
            put("Topics", {"topics": [topic(random)]}, random.choice(_LABELS))
        else:
            user = random.choice([random.choice(PRINCIPALS)[5:], {"default": True}])
            put("Quotas", {"quotas": [{"user": user, "limits": {"producer_byte_rate": "1048576"}}]})
    return found


def topic(random: Random) -> dict[str, Any]:
    configs = {
        "retention.ms": maybe(random, random.choice(["1h", "1d", "7d", "60d"])),
        "cleanup.policy": maybe(random, random.choice(["delete", "compact"])),
    }
    found = {
        "name": random.choice(TOPICS),
        "partitions": maybe(random, random.choice([1, 2, 4, 9]), 0.8),
        "replicationFactor": maybe(random, random.choice([1, 3]), 0.8),
        "labels": maybe(random, random.choice(_LABELS)),
        "configs": maybe(random, given(configs)),
    }
    return given(found)


def document(kind: str, name: str, spec: Any, labels: Mapping[str, str] | None = None) -> str:
    """JSON, which is YAML: every scalar in quotes is the text that it is without them."""
    metadata = {"name": name, "labels": labels} if labels else {"name": name}
    return json.dumps({"apiVersion": "reconciler/v1", "kind": kind, "metadata": metadata, "spec": spec})


def rule_sources(found: Rules) -> list[Source]:
    """The rules as files: consents of a team in a file of that team."""
    texts = {"rules.yaml": [], "teams/pay/consents.yaml": []}  # type: dict[str, list[str]]
    for kind, spec in found.items():
        if kind == "Labels":
            continue
        labels = found["Labels"] if kind == "Cluster" else {}
        given_apart = spec.get("consents") if kind == "Ownership" else None
        if given_apart:
            texts["teams/pay/consents.yaml"].append(document(kind, "consents", {"consents": given_apart}))
        shared = {name: value for name, value in spec.items() if kind != "Ownership" or name != "consents"}
        texts["rules.yaml"].append(document(kind, "c", shared, labels))
    return sources(texts)


def sources(texts: Mapping[str, Sequence[str]]) -> list[Source]:
    return [Source(path, "\n---\n".join(documents) + "\n") for path, documents in texts.items() if documents]
