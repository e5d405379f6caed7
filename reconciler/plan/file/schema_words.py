"""What every field of a saved plan means, with an example where it is a single value."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

#: By a field's name, or by ``parent.name`` where the same name means something else below that parent. The example is
#: left out where the value is a list or an object.
WORDS: Final[Mapping[str, tuple[Any, ...]]] = MappingProxyType(
    {
        "access": ("Who gains and loses what, computed on all bindings before and after.",),
        "accessChange": ("The plan's effect on access in one word.", "widening"),
        "acknowledgements": ("What a person accepted by name, so that a guard lets it pass.",),
        "action": ("The kind of change.", "CreateAcl"),
        "after": ("What is there afterwards; null where it is deleted.",),
        "allowDeletes": ("Whether deletions were asked for.", False),
        "allowEveryoneIfNoAclFound": ("The brokers' setting as declared; null where nobody declared it.", False),
        "answers": ("What the broker said to each step that it was asked about.",),
        "any": ("Every name there is or could be.", True),
        "asOf": ("The day that decides what has expired.", "2026-11-21"),
        "asked": ("When the broker was asked, in UTC.", "2026-11-21T05:17:00Z"),
        "barrierProbe": ("As whom every broker is asked; null: a fixed wait.", "User:acl-probe"),
        "barrierSeconds": ("How long one barrier is expected to take.", 2),
        "barrierWaitSeconds": ("The fixed wait, where no probe is declared.", 2),
        "barriersBehindPhases": ("The phases after which every broker has to enforce what was sent.",),
        "before": ("What is expected there before; null where it is created.",),
        "brokerDefaults": ("What the brokers choose where a topic sets nothing, by setting.",),
        "brokers": ("Ids of the brokers that a barrier waits for.",),
        "callouts": ("What a reviewer should not miss.",),
        "changeId": (
            "The ordered changes with what they expect; equal on clusters in the same state.",
            f"change-{'0' * 64}",
        ),
        "closed": ("Patterns that get their first binding.",),
        "cluster": ("The cluster that was read.",),
        "exclude.cluster": ("The cluster resource.",),
        "ignore.cluster": ("The cluster resource.",),
        "include.cluster": ("The cluster resource.",),
        "code": ("Kafka's name of the answer.", "POLICY_VIOLATION"),
        "condition": ("When apply does this.", "phase 6 is reached"),
        "conditional": ("Put there and taken away by apply itself, as far as the conditions hold.",),
        "configs": ("Settings of the topic itself, by name.",),
        "count": ("How many there are.", 3),
        "counts": ("How many bindings and topics were declared and read, by kind.",),
        "coverage": ("Patterns that begin or cease to have a binding, which default-allow makes matter.",),
        "coveredBy": ("The binding that says the same, or takes it away.",),
        "delegationTokens": ("Delegation tokens.",),
        "description": ("The names in plain words.", "topics starting with orders."),
        "destructive": ("Whether somebody may lose access or data.", False),
        "detail": ("What stands in the way, in words.", "deletes were not asked for"),
        "digest": ("Of every byte before this line.", f"sha256:{'0' * 64}"),
        "entity": ("Whom a quota is for: user, client-id, both, or ip; null is the default.", {"user": "svc-orders"}),
        "effect": ("What the step does to access.",),
        "estimatedSeconds": ("How long performing it takes, barriers included.", 5.1),
        "except": ("Names that are left out of it.",),
        "exceptions": ("Principals with rights of their own, whom a row about everybody does not speak of.",),
        "exclude": ("What was left out.",),
        "first": ("The first of them by name.",),
        "formatVersion": ("Another major version is not readable.", "1.0"),
        "gained": ("Operations that are permitted afterwards and were not before.",),
        "gaps": ("What could not be found out.",),
        "groups": ("Consumer groups.",),
        "guard": ("The guard that is let pass.", "topic-delete"),
        "host": ("The address that a connection comes from; * is any.", "*"),
        "hosts": ("The addresses that this holds for, in words.", "anywhere"),
        "id": ("What names it.", "0123456789ab"),
        "cluster.id": ("The id that the brokers gave the cluster.", "4L6g3nShT-eMCtK--X86sw"),
        "ignore": ("What somebody else manages: counted, never planned.",),
        "ignoreConfigs": ("Settings of topics that are left alone.",),
        "include": ("What the manifests answer for; null: everything.",),
        "kind": ("What kind it is.",),
        "conditional.kind": ("What is put there.", "barrier"),
        "effect.kind": ("What becomes of access.", "grant"),
        "lastWrite": ("When the newest record was written; null where that is unknown.", "2026-11-20T08:00:00Z"),
        "left": ("Differences that stay, each with the reason.",),
        "limits": ("How much a plan may delete.",),
        "literal": ("Exactly these names.",),
        "except.literal": ("Exactly this name.", "orders"),
        "names.literal": ("Exactly this name.", "orders"),
        "longerThan": ("Every longer name that begins so.", "orders."),
        "lost": ("Operations that were permitted before and are not afterwards.",),
        "maxDeletePercent": ("The largest share of live bindings that may go; null: no limit.", 20),
        "maxDeletes": ("The largest number of bindings that may go; null: no limit.", 200),
        "means": ("How the resource is kept covered.", "bridge"),
        "message": ("What was said, in words.", "replication factor must be 3"),
        "morePrincipals": ("How many principals that gain or lose are not listed.", 0),
        "denials": (
            "A digest of what principals reached through User:* gain and are denied; empty: all are listed.",
            "",
        ),
        "name": ("The name.", "orders"),
        "names": ("The names that this is about.",),
        "expires": ("The last day on which what a step creates is wanted; null: no end.", "2027-01-31"),
        "object": ("The name that was acknowledged.", "orders.old"),
        "only": ("What the plan was restricted to.",),
        "onlyForBridges": ("Whether it is needed only because of bridges.", False),
        "opened": ("Patterns that lose their last binding.",),
        "operation": ("Kafka's operation.", "READ"),
        "options": ("What the command line asked for.",),
        "origin": (
            "The place in the manifests that caused it, as file:line:column; null where none did.",
            "acls.yaml:8:16",
        ),
        "partitions": ("How many; null where the broker decides.", 6),
        "patternType": ("How the name is compared.", "LITERAL"),
        "permissionType": ("Whether it grants or refuses.", "ALLOW"),
        "phase": ("The phase in which it is sent; the order of phases is what makes the plan safe.", 2),
        "planId": ("The change id with cluster, scope, options, acknowledgements and topic ids.", f"plan-{'0' * 64}"),
        "prefix": ("Every name that begins so.", "orders."),
        "principal": ("Kafka's text form; null: everybody without a row of their own.", "User:svc-orders"),
        "principals": ("Principals that this is about.",),
        "pruneQuotas": ("Whether quotas that no manifest declares are deleted.", False),
        "pruneTopics": ("Whether topics that no manifest declares are planned to go.", False),
        "reading": ("null: certain, whatever nobody declared.", "least"),
        "reason": ("Why.", "held-back"),
        "steps.reason": ("Why it is wanted, as the declaration says; null: it does not say.", "nightly loads"),
        "acknowledgements.reason": ("Why it was accepted.", "agreed in SEC-1204"),
        "unbridged.reason": ("Why nothing can keep it covered.", "no such topic exists yet"),
        "records": ("How many records it holds; null where that is unknown.", 1200),
        "replicationFactor": ("How many replicas; null where the broker decides.", 3),
        "resourceType": ("What kind of resource.", "TOPIC"),
        "reversible": ("Whether undo can bring it back.", True),
        "rows": ("One for each principal and set of names whose access changes.",),
        "rule": ("Why it stands out.", "wildcard"),
        "ruling": ("What the broker would do.", "accepted"),
        "scope": ("What the manifests answer for.",),
        "side": ("Which way the resource goes.", "closing"),
        "sizeBytes": ("How much it holds; null where that is unknown.", 1048576),
        "sourceCommit": ("The commit of the manifests; null where they are in no repository.", "0123abc"),
        "step": ("The step that was asked about.", "0123456789ab"),
        "steps": ("Everything that is sent, in order.",),
        "subject": ("What it is about, in words.", "topic orders"),
        "terms": ("The facts and limits that the plan was made under.",),
        "text": ("In words.", "gains READ on all topics"),
        "ticket": ("The ticket that the declaration names; null: none.", "OPS-42"),
        "toolVersion": ("The version that made the plan.", "0.1.0"),
        "topicId": ("Kafka's id of the topic; null where it does not exist or is unknown.", "AAAAAAAAAAAAAAAAAAAAAA"),
        "topics": ("Topics.",),
        "transactionalIds": ("Transactional ids.",),
        "unbridged": ("Patterns that nothing can keep covered while their bindings change.",),
        "untilPhase": ("The phase after which it is taken away again.", 6),
        "users": ("Users, of delegation tokens.",),
        "uses": ("Who uses a topic that goes: groups, records, size.",),
        "validation": ("What the broker said when it was asked without being changed; null where it was not asked.",),
        "waitSeconds": ("How long it waits.", 2),
        "values": ("What a quota limits, by Kafka's keys.", {"producer_byte_rate": 1048576}),
        "warnings": ("What a reviewer should know, in words.",),
        "witness": ("One request for which it is so.",),
    }
)


def described(schema: dict[str, Any], parent: str = "") -> dict[str, Any]:
    """``schema`` with the words for each field that has none of its own."""
    found = dict(schema)
    if isinstance(fields := schema.get("properties"), dict):
        found["properties"] = {name: _field(name, field, parent) for name, field in fields.items()}
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            found[key] = described(schema[key], parent)
    for key in ("anyOf", "oneOf", "allOf"):
        if isinstance(schema.get(key), list):
            found[key] = [described(item, parent) for item in schema[key]]
    return found


def _field(name: str, field: dict[str, Any], parent: str) -> dict[str, Any]:
    words, *example = WORDS.get(f"{parent}.{name}") or WORDS.get(name) or ("",)
    own = described(field, name)
    if words:
        own.setdefault("description", words)
    if example:
        own.setdefault("examples", example)
    return own
