"""How commands grow in shapes that are hard for them: each shape at two sizes, in whole processes.

Run: ``python -m benchmarks.shapes [SMALL LARGE [SHAPE …]]``. A row a shape: processor seconds at both sizes and the
exponent of the growth between them, once the seconds of a cluster of ten ACLs are taken off. 1 is linear, 2 a square.
"""

import math
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.scaling import CLUSTER, run
from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.state import ClusterState
from reconciler.snapshot.document import BrokerFacts, snapshot_text

SIZES: Final = (5_000, 20_000)
#: Growth above it is a finding.
LINEAR: Final = 1.15
#: What the small size has to take beyond the least case, in seconds: of less, noise would be measured.
_ENOUGH: Final = 0.4
#: The statuses of checks that failed, and of changes that are refused: both have looked at everything.
_FINE: Final = (3, 5)
_CLUSTER: Final = f'{CLUSTER}  kafkaVersion: "4.4"\n'
#: Nobody states whether what no ACL is about is everybody's.
_UNSTATED: Final = _CLUSTER.replace("  allowEveryoneIfNoAclFound: false\n", "")


class Rule(NamedTuple):
    """One ACL: a name that ends in ``*`` is a prefix, ``*`` alone every name; ``end`` is a day."""

    principal: str
    name: str
    operation: str = "READ"
    allow: bool = True
    host: str = "*"
    end: str = ""

    def binding(self) -> AclBinding:
        """As Kafka lists it."""
        prefix = self.name.endswith("*") and self.name != "*"
        pattern = ResourcePattern(
            ResourceType.TOPIC, self.name.rstrip("*") or "*", PatternType.PREFIXED if prefix else PatternType.LITERAL
        )
        permission = AclPermissionType.ALLOW if self.allow else AclPermissionType.DENY
        return AclBinding(
            pattern, AccessControlEntry(self.principal, self.host, AclOperation[self.operation], permission)
        )

    def text(self) -> str:
        """The rule of a manifest."""
        names = "{any: true}" if self.name == "*" else f'["{self.name}"]'
        if self.name.endswith("*") and self.name != "*":
            names = f'{{prefix: "{self.name[:-1]}"}}'
        more = (f', hosts: ["{self.host}"]' if self.host != "*" else "") + (
            f", expires: {self.end}" if self.end else ""
        )
        return f"    - {{{'allow' if self.allow else 'deny'}: {self.operation}, topics: {names}{more}}}\n"


def _document(number: int, principal: str, rules: list[Rule]) -> str:
    head = f"apiVersion: reconciler/v1\nkind: Acls\nmetadata: {{name: d{number}}}\nspec:\n"
    head += f'  principal: "{principal}"\n  rules:\n'
    return head + "".join(rule.text() for rule in rules)


def _all_denied(count: int) -> Iterator[Rule]:
    for n in range(count // 2):
        yield Rule("User:*", f"t{n}", "WRITE", allow=False)
        yield Rule(f"User:s{n}", f"t{n}")


def _all_allowed_and_denied(count: int) -> Iterator[Rule]:
    for n in range(count // 3):
        yield Rule("User:*", f"t{n}", "WRITE")
        yield Rule("User:*", f"t{n}*", "WRITE", allow=False)
        yield Rule(f"User:s{n}", f"t{n}")


def _hosts(count: int) -> Iterator[Rule]:
    for n in range(count):
        yield Rule("User:s", "t", host=f"10.{n >> 16}.{n >> 8 & 255}.{n & 255}")


def _ranges(count: int) -> Iterator[Rule]:
    for n in range(count):
        yield Rule("User:s", "t", host=f"{10 + (n >> 16)}.{n >> 8 & 255}.{n & 255}.0/24")


def _crossed_hosts(count: int) -> Iterator[Rule]:
    for who in range(3):
        for topic in range(40):
            for n in range(count // 240):
                host = f"10.0.{n >> 8}.{n & 255}"
                yield Rule(f"User:s{who}", f"t{topic}", host=host)
                yield Rule(f"User:s{who}", f"t{topic}", "WRITE", allow=topic % 7 > 0, host=host)


def _principals(count: int) -> Iterator[Rule]:
    for n in range(count):
        yield Rule(f"User:s{n}", f"t{n}")


def _names(count: int) -> Iterator[Rule]:
    for n in range(count):
        yield Rule("User:s", f"t{n}")


def _nested(count: int, one: bool) -> Iterator[Rule]:
    for n in range(count):
        depth, number = n % 100, n // 100
        yield Rule("User:s" if one else f"User:s{n}", f"p{number}.{'a.' * depth}*")


def _on_every_name(count: int) -> Iterator[Rule]:
    for n in range(count):
        yield Rule(f"User:s{n}", "*")


def _mostly_denied(count: int) -> Iterator[Rule]:
    for n in range(count // 3):
        yield Rule(f"User:s{n}", f"p{n}.*")
        yield Rule(f"User:s{n}", f"p{n}.a", allow=False)
        yield Rule(f"User:s{n}", f"p{n}.b.*", allow=False)


def _everybody(count: int) -> Iterator[Rule]:
    for n in range(count):
        yield Rule("User:*", f"t{n}")


def _day(number: int) -> str:
    day = number % 3_000
    return f"{2027 + day // 336}-{day // 28 % 12 + 1:02}-{day % 28 + 1:02}"


def _ends(count: int, one: bool = False) -> Iterator[Rule]:
    for n in range(count):
        yield Rule("User:s" if one else f"User:s{n}", f"t{n}", end=_day(n))


def _denied_until(count: int, one: bool = False) -> Iterator[Rule]:
    for n in range(count // 2):
        who = "User:s" if one else f"User:s{n}"
        yield Rule(who, f"t{n}*")
        yield Rule(who, f"t{n}", allow=False, end=_day(n))


def _all_denied_until(count: int) -> Iterator[Rule]:
    for n, rule in enumerate(_all_denied(count)):
        yield rule if rule.allow else rule._replace(end=_day(n // 2))


#: ACLs of a size, by shape.
ACLS: Final[dict[str, Callable[[int], Iterator[Rule]]]] = {
    "one name each of one principal": _names,
    "one ACL of each principal": _principals,
    "every principal on every name": _on_every_name,
    "User:* on each name": _everybody,
    "User:* denied on each name": _all_denied,
    "User:* allowed and denied": _all_allowed_and_denied,
    "two DENYs to an ALLOW": _mostly_denied,
    "hosts of one principal": _hosts,
    "address ranges of one principal": _ranges,
    "hosts on each of 40 names": _crossed_hosts,
    "nested prefixes of one principal": lambda count: _nested(count, one=True),
    "nested prefixes, a principal each": lambda count: _nested(count, one=False),
    "an end to each": _ends,
    "a DENY of each principal that ends": _denied_until,
    "a DENY of each that ends, names protected": _denied_until,
    "an end to each, default not stated": _ends,
    "an end to each of one principal, default not stated": lambda count: _ends(count, one=True),
    "DENYs of one principal that end": lambda count: _denied_until(count, one=True),
    "DENYs of User:* that end": _all_denied_until,
    "DENYs of User:* that end, default not stated": _all_denied_until,
    "created with DENYs that end, names protected": _denied_until,
    "created with an end to each, names protected, default not stated": _ends,
}


#: Access tests on two names, by shape.
_TESTS: Final = {
    "access tests": "principals: ['User:*'], except: [User:s{0}], mustNot: READ, topics: [t{0}]",
    "only readers": "onlyReaders: [User:s{0}], topics: [t{0}]",
    "separate duties": "principals: ['User:*'], "
    "separate: [{{can: READ, topics: [t{0}]}}, {{can: READ, topics: [t{1}]}}]",
}


def _others(shape: str, count: int) -> tuple[dict[str, str], list[Rule]]:
    """Files of the shapes that are more than ACLs, and the ACLs that live."""
    head = "apiVersion: reconciler/v1\nkind: {}\nmetadata: {{name: {}}}\nspec:\n"
    rules = list(_principals(count))
    if shape == "a file each":
        return {f"f{n}.yaml": _document(n, rule.principal, [rule]) for n, rule in enumerate(rules)}, rules
    if shape in ("everything created", "protected names"):
        return {"a.yaml": "---\n".join(_document(n, rule.principal, [rule]) for n, rule in enumerate(rules))}, []
    if shape == "everything deleted":
        return {"a.yaml": _document(0, "User:s0", rules[:1])}, rules
    if shape == "users":
        rows = "".join(f"    - {{name: s{n}, mechanisms: {{SCRAM-SHA-512: {{}}}}}}\n" for n in range(count))
        return {"u.yaml": head.format("Users", "u") + "  users:\n" + rows}, []
    if shape == "topics":
        rows = "".join(
            f"    - {{name: t{n}, configs: {{retention.ms: 1d, max.message.bytes: 2000}}}}\n" for n in range(count)
        )
        return {
            "t.yaml": head.format("Topics", "t")
            + "  defaults: {partitions: 3, replicationFactor: 3}\n  topics:\n"
            + rows
        }, []
    if shape == "topic rules by label":
        rows = "".join(f"    - {{name: t{n}, partitions: 3, labels: {{team: x{n}}}}}\n" for n in range(count))
        policy = "".join(f"    - {{matchLabels: {{team: x{n}}}, partitions: {{min: 3}}}}\n" for n in range(count))
        return {
            "t.yaml": head.format("Topics", "t") + "  topics:\n" + rows,
            "p.yaml": head.format("TopicPolicy", "p") + "  rules:\n" + policy,
        }, []
    if shape == "quotas":
        rows = "".join(f"    - {{user: s{n}, limits: {{producer_byte_rate: 1000}}}}\n" for n in range(count))
        return {"q.yaml": head.format("Quotas", "q") + "  quotas:\n" + rows}, []
    files = {"a.yaml": "---\n".join(_document(n, rule.principal, [rule]) for n, rule in enumerate(rules))}
    if shape in _TESTS:
        rows = "".join(f"    - {{name: n{n}, {_TESTS[shape].format(n, n + 1)}}}\n" for n in range(count // 10))
        files["tests.yaml"] = head.format("AccessTests", "x") + "  tests:\n" + rows
    if shape == "exceptions":
        rules, about = list(_names(count)), "reason: r, expires: 2099-01-01"
        rows = "".join(f"    - {{check: KA012, topics: [t{n}], {about}}}\n" for n in range(count))
        files["a.yaml"] = _document(0, "User:s", rules) + "  exceptions:\n" + rows
    if shape == "consents":
        rows = "".join(f"    - {{team: x{n}, files: a.yaml, topics: [t{n}]}}\n" for n in range(count // 2))
        given = "".join(
            f"    - {{team: x{n}, to: x{n ^ 1}, operations: READ, topics: [t{n}]}}\n" for n in range(count // 2)
        )
        files["owners.yaml"] = head.format("Ownership", "o") + f"  owners:\n{rows}  consents:\n{given}"
    if shape == "prefixes of owners":
        rows = "".join(
            f"    - {{team: x{n}, files: a.yaml, principals: {{prefix: 'User:s{n}'}}, topics: {{prefix: t{n}}}}}\n"
            for n in range(count)
        )
        files["owners.yaml"] = head.format("Ownership", "o") + "  owners:\n" + rows
    if shape == "owners":
        rows = "".join(
            f"    - {{team: x{n}, files: a.yaml, principals: ['User:s{n}'], topics: [t{n}]}}\n" for n in range(count)
        )
        files["owners.yaml"] = head.format("Ownership", "o") + "  owners:\n" + rows
    return files, rules


OTHERS: Final = (
    "a file each",
    "everything created",
    "everything deleted",
    "protected names",
    "ignored principals",
    "topics",
    "topic rules by label",
    "quotas",
    "users",
    *_TESTS,
    "exceptions",
    "owners",
    "prefixes of owners",
    "consents",
)


def prepared(root: Path, shape: str, count: int) -> list[str]:
    """Manifests and a snapshot in which one ACL in a hundred is not there; the words that name both."""
    directory, snapshot = root / "manifests", root / "live.json"
    directory.mkdir(parents=True)
    if shape in ACLS:
        rules = list(ACLS[shape](count))
        by_principal: dict[str, list[Rule]] = {}
        for rule in rules:
            by_principal.setdefault(rule.principal, []).append(rule)
        texts = [_document(n, who, those) for n, (who, those) in enumerate(by_principal.items())]
        files = {"a.yaml": "---\n".join(texts)}
    else:
        files, rules = _others(shape, count)
    cluster = _UNSTATED if shape.endswith("not stated") else _CLUSTER
    if "protected" in shape:
        names = (f"t{n}" for n in range(count)) if shape == "protected names" else ("elsewhere",)
        cluster += "  protect:\n" + "".join(f"    - topics: [{name}]\n" for name in names)
    ignored = "".join(
        f"    - principals: ['User:i{n}']\n" for n in range(count if shape == "ignored principals" else 0)
    )
    for name, text in {**files, "cluster.yaml": cluster + (f"  ignore:\n{ignored}" if ignored else "")}.items():
        (directory / name).write_text(text, encoding="utf-8")
    (root / "operator.yaml").write_text(cluster, encoding="utf-8")
    there = () if shape.startswith("created") else rules
    live = frozenset(rule.binding() for n, rule in enumerate(there) if n % 100)
    snapshot.write_text(snapshot_text(ClusterState("bench", live), BrokerFacts(broker_ids=(1, 2, 3))), encoding="utf-8")
    return [str(directory), "--cluster", f"bench=snapshot:{snapshot}", "--connections", str(root / "operator.yaml")]


def commands(words: list[str]) -> dict[str, list[str]]:
    """What is measured, by name."""
    live = ["--cluster", words[2].partition("=")[2]]
    return {
        "plan": ["plan", *words, "--allow-deletes"],
        "lint": ["lint", *words],
        "explain": ["explain", "User:s7", "READ", "topic/t7", *live],
        "who-can": ["who-can", "READ", "topic/t7", *live],
        # Nobody states the default: each name may be everybody's.
        "access": ["access", *live, "--output", "json"],
    }


def seconds(shape: str, count: int) -> dict[str, float]:
    """Processor seconds of each command."""
    with tempfile.TemporaryDirectory() as root:
        return {name: run(words, *_FINE).cpu for name, words in commands(prepared(Path(root), shape, count)).items()}


def _exponents(
    before: dict[str, float], after: dict[str, float], least: dict[str, float], times: float
) -> dict[str, float]:
    """Of each command that takes enough for one."""
    return {
        name: math.log((after[name] - fixed) / (before[name] - fixed)) / math.log(times)
        for name, fixed in least.items()
        if before[name] - fixed >= _ENOUGH
    }


def _quicker(one: dict[str, float], other: dict[str, float]) -> dict[str, float]:
    return {name: min(seconds, other[name]) for name, seconds in one.items()}


def main(*words: str) -> int:
    """Prints the table; 1 if something grows faster than :data:`LINEAR`."""
    small, large = map(int, words[:2]) if words else SIZES
    # The first one also loads what no later one has to.
    starts = [seconds("one ACL of each principal", 10) for _ in range(4)][1:]
    least = {name: min(start[name] for start in starts) for name in starts[0]}
    print(f"| shape | {' | '.join(f'`{name}` {small:,}, {large:,}, exponent' for name in least)} |")
    print("|---" * (1 + len(least)) + "|")
    worst = 0.0
    for shape in words[2:] or (*ACLS, *OTHERS):
        before, after = seconds(shape, small), seconds(shape, large)
        steep = _exponents(before, after, least, large / small)
        if any(exponent > LINEAR for exponent in steep.values()):
            # The machine may have been busy meanwhile: what grows does so again.
            before, after = _quicker(before, seconds(shape, small)), _quicker(after, seconds(shape, large))
            steep = _exponents(before, after, least, large / small)
        worst = max(worst, *steep.values(), 0.0)
        cells = [
            f"{before[name]:.2f}, {after[name]:.2f}, " + (f"{steep[name]:.2f}" if name in steep else "-")
            for name in least
        ]
        print(f"| {shape} | {' | '.join(cells)} |", flush=True)
    print(f"\nthe steepest: {worst:.2f}")
    return int(worst > LINEAR)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
