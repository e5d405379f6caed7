"""Random manifests as people write them, with a comment on every other line, and random wishes about them."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from random import Random

from reconciler.manifest.write.pages import Book
from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.desired import Declaration, DesiredItem, DesiredState, DesiredTopic, Origin
from reconciler.model.kinds.group_config import GroupConfig
from reconciler.model.kinds.quota import ClientQuota, QuotaEntity
from reconciler.model.kinds.scram_user import DISABLED_ITERATIONS, PasswordSource, ScramUser
from reconciler.model.topic import Topic

CLUSTER = """\
# the cluster
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: demo}   # its name
spec: {bootstrapServers: ["broker:9092"], vars: {team: red}}
"""
NOWHERE = Declaration(Origin("", 1, 1))
OPERATIONS = (AclOperation.READ, AclOperation.WRITE, AclOperation.DESCRIBE, AclOperation.ALTER)

#: The list of a document, which its other fields are beside.
MAIN_LISTS = ("rules", "topics", "quotas", "users", "groups")
#: What a document says, before somebody writes it down.
Plain = str | int | Mapping[str, "Plain"] | Sequence["Plain"]


class Scribe:
    """Writes a document in every form that YAML has: flow and block at each level, comments, blanks, odd indents.

    Comments are numbered. ``# note`` is about its line, ``# inside`` is in a value, and ``# between`` stands between
    the items of a spec's list, where no edit takes it away.
    """

    def __init__(self, random: Random, number: Callable[[], int]) -> None:
        self.random, self.number = random, number

    def document(self, kind: str, name: str, spec: Mapping[str, Plain]) -> list[str]:
        head: dict[str, Plain] = {"apiVersion": "reconciler/v1", "kind": kind, "metadata": {"name": name}}
        if self.random.random() < 0.1:
            return [self.flow({**head, "spec": spec}) + self.note()]
        return [*self.block(head, 0), *self.entry("spec", spec, 0)]

    def note(self) -> str:
        return f"{' ' * self.random.randint(1, 3)}# note {self.number()} ü" if self.random.random() < 0.25 else ""

    def between(self, margin: str, *, outer: bool) -> list[str]:
        words = f"{margin}# {'between' if outer else 'inside'} {self.number()}"
        return self.random.choice([[], [], [], [words], ["", words], [""]])

    def scalar(self, text: str | int) -> str:
        if isinstance(text, int):
            return str(text)
        plain = re.fullmatch(r"[A-Za-z][\w.:-]*\w", text) is not None and text != "true"
        forms = [f"'{text}'", '"' + text.replace("ü", "\\u00fc") + '"', *([text] * 3 if plain else [])]
        return text if text == "true" else self.random.choice(forms)

    def flow(self, value: Plain) -> str:
        """On one line."""
        if isinstance(value, str | int):
            return self.scalar(value)
        pad, comma = self.random.choice(["", "", " "]), self.random.choice(["", "", "", ","])
        if isinstance(value, Mapping):
            parts, (left, right) = [f"{key}: {self.flow(one)}" for key, one in value.items()], "{}"
        else:
            parts, (left, right) = [self.flow(one) for one in value], "[]"
        return f"{left}{pad}{', '.join(parts)}{comma if parts else ''}{pad}{right}"

    def flow_lines(self, value: Plain, column: int, *, outer: bool) -> list[str]:
        """Brackets over several lines; the first stands behind what comes before it."""
        if isinstance(value, str | int) or not value:
            return [self.flow(value)]
        margin = " " * (column + self.random.randint(1, 4))
        keys = list(value) if isinstance(value, Mapping) else []
        items = list(value.values()) if isinstance(value, Mapping) else list(value)
        left, right = "{}" if keys else "[]"
        lines = [f"{left}{self.note()}"]
        for number, item in enumerate(items):
            lines += self.between(margin, outer=outer and not keys)
            many = self.random.random() < 0.3
            below = self.flow_lines(item, len(margin), outer=False) if many else [self.flow(item)]
            comma = "," if number + 1 < len(items) or self.random.random() < 0.2 else ""
            below[0] = f"{margin}{f'{keys[number]}: ' if keys else ''}{below[0]}"
            lines += [*below[:-1], f"{below[-1]}{comma}{self.note()}"]
        lines += self.between(margin, outer=outer and not keys)
        return [*lines, f"{' ' * (column + 1)}{right}"]

    def entry(self, key: str, value: Plain, column: int, *, outer: bool = False) -> list[str]:
        outer = outer and key in MAIN_LISTS
        margin, form = " " * column, self.random.random()
        if isinstance(value, str | int) or not value or form < 0.3:
            return [f"{margin}{key}: {self.flow(value)}{self.note()}"]
        if form < 0.5:
            first, *rest = self.flow_lines(value, column, outer=outer)
            return [f"{margin}{key}: {first}", *rest[:-1], *([f"{rest[-1]}{self.note()}"] if rest else [])]
        head = f"{margin}{key}:{self.note()}"
        if isinstance(value, Mapping):
            return [head, *self.block(value, column + self.random.choice([1, 2, 2, 4]), outer=key == "spec")]
        return [head, *self.items(value, column + self.random.choice([0, 1, 2, 2, 4]), outer=outer)]

    def block(self, value: Mapping[str, Plain], column: int, *, outer: bool = False) -> list[str]:
        lines: list[str] = []
        for key, one in value.items():
            inside = self.between(" " * column, outer=False) if lines else []
            lines += [*inside, *self.entry(key, one, column, outer=outer)]
        return lines

    def items(self, values: Sequence[Plain], column: int, *, outer: bool) -> list[str]:
        margin, lines = " " * column, list[str]()
        for item in values:
            lines += self.between(margin, outer=outer)
            dash = f"{margin}-{' ' * self.random.choice([1, 1, 1, 3])}"
            if isinstance(item, str | int) or self.random.random() < 0.5:
                lines += [f"{dash}{self.flow(item)}{self.note()}"]
            elif isinstance(item, Mapping):
                first, *rest = self.block(item, len(dash))
                lines += [f"{dash}{first.lstrip()}", *rest]
        return lines


class Author:
    """Writes manifests; every comment is there once, so that a lost one is seen."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self._count = 0
        self.newline = random.choice(["\n", "\n", "\n", "\r\n"])

    def number(self) -> int:
        self._count += 1
        return self._count

    def note(self) -> str:
        return f"  # note {self.number()}" if self.random.random() < 0.3 else ""

    def lines(self, margin: str) -> list[str]:
        """Nothing, or something that stands between two items."""
        some = [
            [],
            [],
            [f"{margin}# line {self.number()}"],
            [""],
            ["", f"{margin}# - looks: {{like YAML}} {self.number()}"],
        ]
        return self.random.choice(some)

    def text(self, name: str) -> str:
        return self.random.choice([name, name, f"'{name}'", f'"{name}"'])

    def listed(self, names: list[str], margin: str) -> list[str]:
        """A list as the value of a key: after it on the line, or below."""
        form = self.random.randrange(5)
        if form == 0 and len(names) == 1:
            return [f" {self.text(names[0])}{self.note()}"]
        if form == 1:
            return [self.note(), *(f"{margin}- {self.text(name)}{self.note()}" for name in names)]
        if form == 2:
            inner = [
                f"{margin}    {self.text(name)}{',' if n + 1 < len(names) else ''}{self.note()}"
                for n, name in enumerate(names)
            ]
            return [" [", *inner, f"{margin}  ]{self.note()}"]
        return [f" [{', '.join(self.text(name) for name in names)}]{self.note()}"]

    def rule(self, name: str, margin: str) -> list[str]:
        """One rule about topics that begin with ``name``."""
        topics = [f"{name}.{letter}" for letter in "abc"[: self.random.randint(1, 3)]]
        kind = self.random.randrange(6)
        groups = f"groups: [{name}]"
        if kind == 0:
            return [f"{margin}- {{role: consumer, topics: [{', '.join(topics)}], {groups}}}{self.note()}"]
        if kind == 1:
            said = f"expires: 2027-01-31, reason: 'it''s {name}', ticket: T-1"
            return [f"{margin}- {{allow: READ, topics: [{', '.join(map(self.text, topics))}], {said}}}{self.note()}"]
        operations = [one.name for one in self.random.sample(OPERATIONS, self.random.randint(1, 3))]
        below = margin + "  "
        entries = [("topics", self.listed(topics, below))]
        if kind == 2:
            entries += [("role", [" producer"])]
        elif kind == 3:
            entries += [("deny", self.listed(operations, below))]
        else:
            entries += [("allow", self.listed(operations, below))]
        if kind == 4:
            entries += [("hosts", self.listed(["10.0.0.1", "10.0.0.2"], below))]
        if kind == 5:
            prefixes = [
                [f" {{prefix: {name}.}}{self.note()}"],
                [f" [{name}, {{prefix: [{name}., {name}-]}}, {{literal: {name}_}}]{self.note()}"],
                ["", f"{below}  - {name}{self.note()}", f"{below}  - prefix: {name}.", f"{below}  - prefix: {name}-"],
            ]
            entries = [("topics", self.random.choice(prefixes)), ("allow", [" READ"])]
        self.random.shuffle(entries)
        lines: list[str] = []
        for key, (first, *rest) in entries:
            lines += [*(self.lines(below) if lines else []), f"{below}{key}:{first}", *rest]
        return [f"{margin}- {lines[0].lstrip()}", *lines[1:]]

    def acls(self, name: str) -> list[str]:
        many = self.random.random() < 0.3
        margin = self.random.choice(["  ", "    ", "      "])
        principal = f"User:{name}-${{vars.team}}" if self.random.random() < 0.2 else f"User:{name}"
        who = f"principals: ['{principal}', User:{name}-2]" if many else f"principal: {principal}"
        head = ["apiVersion: reconciler/v1", f"kind: Acls{self.note()}", f"metadata: {{name: {name}}}", "spec:"]
        lines = [*head, f"  {who}{self.note()}"]
        if self.random.random() < 0.3:
            own = self.random.choice([f"{name}-own.", f"[{name}-own., {name}_own.]"])
            lines += [f"  owns: {{prefix: {own}}}{self.note()}", f"  reads: [{name}.r1, {name}.r2]"]
            lines += [f"  writes: [{name}.w, {{prefix: {name}.w.}}]"]
            if self.random.random() < 0.5:
                return lines
        lines += [f"  rules:{self.note()}"]
        for number in range(self.random.randint(1, 4)):
            lines += [*self.lines(margin), *self.rule(f"{name}.{number}", margin)]
        return [*lines, *self.lines("  ")]

    def topics(self, name: str) -> list[str]:
        lines = ["apiVersion: reconciler/v1", "kind: Topics", f"metadata: {{name: {name}}}", "spec:"]
        if self.random.random() < 0.4:
            lines += ["  defaults:", "    partitions: 3", f"    configs: {{retention.ms: 1d}}{self.note()}"]
            lines += ["    owner: User:everywhere"] if self.random.random() < 0.3 else []
        lines += ["  topics:"]
        for number in range(self.random.randint(1, 4)):
            topic = f"{name}.t{number}"
            lines += self.lines("    ")
            if self.random.random() < 0.3:
                lines += [f"    - {{name: {topic}, partitions: {number + 1}, owner: User:{name}}}{self.note()}"]
                continue
            lines += [f"    - name: {topic}{self.note()}"]
            lines += [f"      partitions: 6{self.note()}"] if self.random.random() < 0.5 else []
            if self.random.random() < 0.5:
                lines += ["      configs:", f"        retention.ms: 7d{self.note()}", "        cleanup.policy: compact"]
            if self.random.random() < 0.3:
                lines += ["      grants:", f"        - {{role: producer, principal: User:{name}-p}}{self.note()}"]
        return lines

    def quotas(self) -> list[str]:
        lines = ["apiVersion: reconciler/v1", "kind: Quotas", "metadata: {name: q}", "spec:", "  quotas:"]
        return [
            *lines,
            f"    - {{user: [q1, q2], limits: {{producer_byte_rate: 1MiB/s}}}}{self.note()}",
            f"    - user: {{default: true}}{self.note()}",
            "      limits:",
            f"        request_percentage: 200%{self.note()}",
            "        consumer_byte_rate: 10",
        ]

    def users(self) -> list[str]:
        lines = ["apiVersion: reconciler/v1", "kind: Users", "metadata: {name: u}", "spec:", "  users:"]
        password = "password: '${env:A}'"
        return [
            *lines,
            f"    - {{name: u1, mechanisms: {{SCRAM-SHA-512: {{{password}}}}}}}{self.note()}",
            f"    - name: u2{self.note()}",
            "      mechanisms:",
            f"        SCRAM-SHA-256: {{iterations: 4096, passwordVersion: 3, {password}}}{self.note()}",
            "        SCRAM-SHA-512:",
            f"          iterations: 5000{self.note()}",
            "      reason: r",
            f"    - {{name: u3, disabled: true, mechanisms: {{SCRAM-SHA-512: {{{password}}}}}}}{self.note()}",
        ]

    def groups(self) -> list[str]:
        lines = ["apiVersion: reconciler/v1", "kind: GroupConfigs", "metadata: {name: g}", "spec:", "  groups:"]
        return [
            *lines,
            f"    - {{name: [g1, g2], configs: {{consumer.session.timeout.ms: 50s}}}}{self.note()}",
            f"    - name: g3{self.note()}",
            "      configs:",
            f"        share.isolation.level: read_committed{self.note()}",
            "        consumer.session.timeout.ms: 45000",
        ]

    def spec(self, kind: str, name: str) -> dict[str, Plain]:
        """What a document of the kind says, for a scribe to write."""
        match kind:
            case "Acls":
                return self._acls_spec(name)
            case "Topics":
                topics: list[Plain] = [self._topic(f"{name}.t{number}") for number in range(self.random.randint(1, 3))]
                defaults: dict[str, Plain] = {"partitions": 3, "configs": {"retention.ms": "1d"}}
                defaults |= {"owner": "User:everywhere"} if self.random.random() < 0.3 else {}
                return {**({"defaults": defaults} if self.random.random() < 0.4 else {}), "topics": topics}
            case "Quotas":
                first: Plain = {"user": ["q1", "q2"], "limits": {"producer_byte_rate": "1MiB/s"}}
                other: Plain = {"user": {"default": "true"}, "limits": {"request_percentage": "200%"}}
                return {"quotas": self._some([first, other])}
            case "Users":
                password: dict[str, Plain] = {"SCRAM-SHA-512": {"password": "${env:A}"}}
                more: dict[str, Plain] = {
                    "SCRAM-SHA-256": {"iterations": 4096, "passwordVersion": 3, "password": "${env:B}"},
                    **password,
                }
                user: Plain = {"name": "u2", "mechanisms": more, "reason": "für u2"}
                return {"users": self._some([{"name": "u1", "mechanisms": password}, user])}
        both: Plain = {"name": ["g1", "g2"], "configs": {"consumer.session.timeout.ms": "50s"}}
        one: Plain = {"name": "g3", "configs": {"share.isolation.level": "read_committed"}}
        return {"groups": self._some([both, one])}

    def _some(self, items: list[Plain]) -> list[Plain]:
        return self.random.sample(items, self.random.randint(1, len(items)))

    def _acls_spec(self, name: str) -> dict[str, Plain]:
        spec: dict[str, Plain] = {"principal": f"User:{name}"}
        if self.random.random() < 0.3:
            spec = {"principals": [f"User:{name}", f"User:{name}-ü"]}
        if self.random.random() < 0.3:
            spec |= {"owns": [f"{name}-own", {"prefix": f"{name}-own."}], "reads": [f"{name}.r1", f"{name}.r2"]}
            spec |= {"writes": f"{name}.w"}
            if self.random.random() < 0.3:
                return spec if self.random.random() < 0.5 else {**spec, "rules": []}
        rules: list[Plain] = [self._rule(f"{name}.{number}") for number in range(self.random.randint(1, 3))]
        return {**spec, "rules": rules}

    def _rule(self, name: str) -> dict[str, Plain]:
        topics: list[Plain] = [f"{name}.{letter}" for letter in "abc"[: self.random.randint(1, 3)]]
        operations: list[Plain] = [one.name for one in self.random.sample(OPERATIONS, self.random.randint(1, 3))]
        action: Plain = operations[0] if len(operations) == 1 else operations
        forms: list[dict[str, Plain]] = [
            {"role": "consumer", "topics": topics, "groups": [name]},
            {"allow": action, "topics": topics[0]},
            {"allow": action, "topics": topics, "hosts": ["10.0.0.1", "10.0.0.2"]},
            {"deny": action, "topics": topics},
            {"allow": "READ", "topics": {"prefix": f"{name}."}, "reason": "für: # x", "expires": "2027-01-31"},
            {"allow": action, "topics": {"literal": topics}, "ticket": "T-1"},
            {"allow": action, "topics": [*topics, {"prefix": [f"{name}.p.", f"{name}.q."]}]},
        ]
        return self.random.choice(forms)

    def _topic(self, name: str) -> dict[str, Plain]:
        topic: dict[str, Plain] = {"name": name}
        topic |= {"partitions": 6} if self.random.random() < 0.5 else {}
        topic |= {"owner": "User:p0"} if self.random.random() < 0.3 else {}
        if self.random.random() < 0.5:
            configs: dict[str, Plain] = {"retention.ms": "7d", "cleanup.policy": "compact"}
            topic |= {"configs": dict(self.random.sample(sorted(configs.items()), self.random.randint(1, 2)))}
        if self.random.random() < 0.4:
            grants: list[Plain] = [
                {"role": "producer", "principal": "User:p1"},
                {"allow": "READ", "principal": "User:gü"},
            ]
            topic |= {"grants": self._some(grants)}
        return topic

    def manifests(self) -> dict[str, str]:
        scribe = Scribe(self.random, self.number)

        def either(kind: str, name: str, written: Callable[[], list[str]]) -> list[str]:
            return scribe.document(kind, name, self.spec(kind, name)) if self.random.random() < 0.6 else written()

        documents = [
            either("Acls", name, partial(self.acls, name))
            for name in [f"p{number}" for number in range(self.random.randint(1, 3))]
        ]
        documents += [
            either("Topics", name, partial(self.topics, name))
            for name in [f"t{number}" for number in range(self.random.randint(0, 2))]
        ]
        documents += [either("Quotas", "q", self.quotas)] if self.random.random() < 0.5 else []
        documents += [either("Users", "u", self.users)] if self.random.random() < 0.5 else []
        documents += [either("GroupConfigs", "g", self.groups)] if self.random.random() < 0.3 else []
        files: dict[str, list[str]] = {}
        for document in documents:
            path = self.random.choice(["one.yaml", "two.yaml", "teams/three.yaml"])
            files.setdefault(path, []).extend([*(["---"] if path in files else []), *self.lines(""), *document])
        texts = {
            path: self.newline.join(lines) + self.newline * self.random.randint(0, 1) for path, lines in files.items()
        }
        return {"cluster.yaml": CLUSTER, **texts}


def binding(principal: str, name: str, operation: AclOperation, *, prefix: bool = False) -> AclBinding:
    pattern = ResourcePattern(ResourceType.TOPIC, name, PatternType.PREFIXED if prefix else PatternType.LITERAL)
    return AclBinding(pattern, AccessControlEntry(principal, "*", operation, AclPermissionType.ALLOW))


def wish(random: Random, book: Book) -> dict[str, DesiredState]:
    """Some of what is declared no longer, or otherwise, and something new."""
    (name,) = book.clusters
    state = book.desired[name]
    gone = random.sample(sorted(state.bindings), min(len(state.bindings), random.randint(0, 4)))
    if random.random() < 0.3:
        # All of a rule, of a document, of a principal: lists run empty.
        one = random.choice(sorted(state.bindings)) if state.bindings else None
        places = {said.origin.file for said in state.bindings.values()}
        gone += [
            other
            for other, said in state.bindings.items()
            if one is not None
            and (
                said.origin[:2] == state.bindings[one].origin[:2]
                or (other.entry.principal == one.entry.principal and random.random() < 0.95)
                or (len(places) > 1 and said.origin.file == state.bindings[one].origin.file)
            )
        ]
    kept = {one: said for one, said in state.bindings.items() if one not in gone}
    for one in random.sample(sorted(kept), min(len(kept), random.randint(0, 1))):
        kept[one] = kept[one]._replace(reason="another reason: # x", ticket=None)
    people = [*sorted({one.entry.principal for one in state.bindings}), "User:new", "User:CN=a, O=b #1"]
    for _ in range(random.randint(0, 3)):
        new = binding(
            random.choice(people),
            random.choice(["new.x", "new-y"]),
            random.choice(OPERATIONS),
        )
        kept.setdefault(new, NOWHERE._replace(reason=random.choice([None, "yes", "a: b"])))
    topics = _topics(random, state.topics)
    return {
        name: replace(
            state,
            bindings=kept,
            topics=topics,
            listed={**_quotas(random, state), **_users(random, state), **_groups(random, state)},
        )
    }


def _topics(random: Random, before: Mapping[str, DesiredTopic]) -> dict[str, DesiredTopic]:
    topics = dict(before) if random.random() < 0.9 else {}
    for name in random.sample(sorted(topics), min(len(topics), random.randint(0, 2))):
        topic = topics[name].topic
        configs = dict(topic.configs)
        for key in random.sample(sorted(configs), min(len(configs), 1)):
            del configs[key]
        if random.random() < 0.5:
            configs["min.insync.replicas"] = "2"
        if random.random() < 0.4:
            del topics[name]
        else:
            topics[name] = replace(topics[name], topic=replace(topic, num_partitions=12, configs=configs))
    if random.random() < 0.4:
        topics["t0.extra"] = DesiredTopic(Topic("t0.extra", 2, 1, {"retention.ms": "60000"}), Origin("", 1, 1))
    return topics


def _quotas(random: Random, state: DesiredState) -> dict[str, dict[QuotaEntity, DesiredItem[ClientQuota]]]:
    quotas = dict(state.of(ClientQuota))
    for entity in random.sample(sorted(quotas), min(len(quotas), random.randint(0, 2))):
        if random.random() < 0.5:
            del quotas[entity]
        else:
            quotas[entity] = replace(quotas[entity], item=ClientQuota(entity, {"consumer_byte_rate": 5}))
    if random.random() < 0.3:
        entity = QuotaEntity.of("new, user")
        quotas[entity] = DesiredItem(ClientQuota(entity, {"request_percentage": 12.5}), NOWHERE)
    return {ClientQuota.KIND: quotas} if quotas or state.of(ClientQuota) else {}


def _users(random: Random, state: DesiredState) -> dict[str, dict[str, DesiredItem[ScramUser]]]:
    users = dict(state.of(ScramUser))
    for name in random.sample(sorted(users), min(len(users), random.randint(0, 2))):
        there = users[name]
        disabled = dict.fromkeys(there.item.values, DISABLED_ITERATIONS)
        source = PasswordSource(random.choice(["${env:A}", "${dir:/run/secrets:b}"]))
        form = random.randrange(5)
        if form == 0:
            del users[name]
        elif form == 1:
            users[name] = replace(there, item=ScramUser(name, disabled))
        elif form == 2:
            said = there.declaration._replace(reason="new: # x", ticket="T-2")
            users[name] = replace(there, declaration=said)
        else:
            mechanisms = random.sample(["SCRAM-SHA-256", "SCRAM-SHA-512"], random.randint(1, 2))
            values = {one: random.choice([4096, 8192, 8199]) for one in mechanisms}
            users[name] = replace(there, item=ScramUser(name, values, dict.fromkeys(values, source)))
    if random.random() < 0.3:
        users["new, user"] = DesiredItem(ScramUser("new, user", {"SCRAM-SHA-256": 4100}), NOWHERE)
    return {ScramUser.KIND: users} if users or state.of(ScramUser) else {}


def _groups(random: Random, state: DesiredState) -> dict[str, dict[str, DesiredItem[GroupConfig]]]:
    groups = dict(state.of(GroupConfig))
    for name in random.sample(sorted(groups), min(len(groups), random.randint(0, 2))):
        if random.random() < 0.5:
            del groups[name]
        else:
            groups[name] = replace(groups[name], item=GroupConfig(name, {"streams.num.standby.replicas": "1"}))
    if random.random() < 0.2:
        groups["new g"] = DesiredItem(GroupConfig("new g", {"share.isolation.level": "read_uncommitted"}), NOWHERE)
    return {GroupConfig.KIND: groups} if groups or state.of(GroupConfig) else {}
