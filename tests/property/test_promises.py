"""What an edit promises of access holds for the texts that it writes, by another reading of Kafka, on every day.

Nothing here asks the product what a rule means: texts are read, and each request is decided as a broker would.
"""

import datetime
import itertools
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.app.options import StateRequest
from reconciler.app.reasons import RequestError
from reconciler.manifest.read.problem import ManifestError
from reconciler.manifest.write.pages import read
from reconciler.model.acl import AclBinding, AclOperation, PatternType, ResourcePattern, ResourceType
from reconciler.model.desired import Declaration
from reconciler.parts.edit.app.editing import EditRefusedError, ManifestEdit
from reconciler.parts.edit.app.grant import AskedAccess, GrantTerms, NotDeclaredError, grant, rename, revoke
from reconciler.parts.edit.app.simplify import fix_lint, fix_simplify
from tests.property.access_naive import Cluster, reach
from tests.property.edits import Author, Plain, Scribe

DAY = datetime.date(2026, 11, 23)
ENDS = ("2026-12-31", "2027-01-31", "2027-02-27", "2020-01-01")
PEOPLE = ("User:a", "User:b", "User:*")
ASKING = ("User:a", "User:b", "User:new", "User:nobody")
NAMES = ("pay", "pay.x", "other")
HOSTS = ("10.0.0.1", "10.0.0.9")
ACTIONS = ("READ", "WRITE", "DESCRIBE", "ALL", "DESCRIBE_CONFIGS", "DELETE")
#: By principal, host, type, name and operation.
Request = tuple[str, str, ResourceType, str, AclOperation]
RESOURCES = (
    *((ResourceType.TOPIC, name) for name in (*NAMES, "x")),
    *((ResourceType.GROUP, name) for name in ("g", "pay.g")),
    (ResourceType.CLUSTER, "kafka-cluster"),
)


class Tangle:
    """Rules of few people on few names: they cover, shadow and deny each other, for some time or for good."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.default_allow = random.choice([None, False, False, True])

    def names(self) -> Plain:
        forms: list[Plain] = [["pay"], ["pay", "pay.x"], ["pay.x", "other"], list(NAMES), {"prefix": "pay"}]
        return self.random.choice([*forms, {"any": "true"}])

    def rule(self) -> dict[str, Plain]:
        actions: list[Plain] = list(self.random.sample(ACTIONS, self.random.randint(1, 3)))
        kind = self.random.choice(["allow", "allow", "deny", "role"])
        rule: dict[str, Plain] = {"topics": self.names()}
        if kind == "role":
            rule |= {"role": self.random.choice(["consumer", "producer"])}
            rule |= {"groups": ["g"]} if rule["role"] == "consumer" else {}
        else:
            rule |= {kind: actions if len(actions) > 1 else actions[0]}
        rule |= {"hosts": [HOSTS[0]]} if self.random.random() < 0.2 else {}
        rule |= {"expires": self.random.choice(ENDS)} if self.random.random() < 0.4 else {}
        return rule

    def acls(self, number: int) -> dict[str, Plain]:
        spec: dict[str, Plain] = {"principal": self.random.choice(PEOPLE)}
        if self.random.random() < 0.3:
            spec = {"principals": self.random.sample(PEOPLE, 2)}
        if number == 0 and self.random.random() < 0.3:
            spec |= {"owns": "pay."}
        rules: list[Plain] = [self.rule() for _ in range(self.random.randint(1, 4))]
        return {**spec, "rules": rules}

    def topics(self) -> dict[str, Plain]:
        found: list[Plain] = []
        for name in self.random.sample(NAMES, 2):
            topic: dict[str, Plain] = {"name": name, "partitions": 3}
            topic |= {"owner": self.random.choice(PEOPLE[:2])} if self.random.random() < 0.6 else {}
            allow: dict[str, Plain] = {"principal": self.random.choice(PEOPLE), "allow": self.random.choice(ACTIONS)}
            topic |= {"grants": [allow]} if self.random.random() < 0.4 else {}
            found.append(topic)
        return {"topics": found}

    def texts(self) -> dict[str, str]:
        """Manifests that are valid: what is declared twice is none of them."""
        while True:
            texts = self.some_texts()
            try:
                read(texts)
            except ManifestError:
                continue
            return texts

    def some_texts(self) -> dict[str, str]:
        author = Author(self.random)
        scribe = Scribe(self.random, author.number)
        stated = "" if self.default_allow is None else f", allowEveryoneIfNoAclFound: {str(self.default_allow).lower()}"
        cluster = f"metadata: {{name: demo}}\nspec: {{bootstrapServers: ['b:9092']{stated}}}\n"
        documents = [
            scribe.document("Acls", f"p{number}", self.acls(number)) for number in range(self.random.randint(1, 3))
        ]
        documents += [scribe.document("Topics", "t", self.topics())] if self.random.random() < 0.6 else []
        files: dict[str, list[str]] = {}
        for lines in documents:
            path = self.random.choice(["one.yaml", "two.yaml"])
            files.setdefault(path, []).extend([*(["---"] if path in files else []), *lines])
        texts = {path: author.newline.join(lines) + author.newline for path, lines in files.items()}
        return {"cluster.yaml": f"apiVersion: reconciler/v1\nkind: Cluster\n{cluster}", **texts}


Bindings = Mapping[AclBinding, Declaration]


def permitted(bindings: Bindings, when: datetime.datetime, *, default_allow: bool) -> set[Request]:
    """The requests that a broker permits when only what has not ended is there."""
    there = [one for one, said in bindings.items() if said.expires is None or said.expires.end > when]
    cluster = Cluster(there, (), default_allow)
    return {
        (principal, host, *resource, operation)
        for principal, host, resource in itertools.product(ASKING, HOSTS, RESOURCES)
        for operation in reach(cluster, principal, host, *resource)
    }


def changes(
    texts: Mapping[str, str], after: Mapping[str, str], *, default_allow: bool
) -> Iterator[tuple[set[str], set[str], str]]:
    """Who gains and who loses something, at each instant at which something ends."""
    sides = [read(side).desired["demo"].bindings for side in (texts, after)]
    first = datetime.datetime.combine(DAY, datetime.time(), datetime.UTC)
    ends = {said.expires.end for side in sides for said in side.values() if said.expires is not None}
    for when in [first, *sorted(end for end in ends if end > first)]:
        old, new = (permitted(side, when, default_allow=default_allow) for side in sides)
        yield {one[0] for one in new - old}, {one[0] for one in old - new}, f"{when}: +{new - old} -{old - new}"


def topic(name: str, form: PatternType) -> ResourcePattern:
    return ResourcePattern(ResourceType.TOPIC, name, form)


#: An edit by a random choice, who may gain and who may lose by it; ``None``: anybody.
Command = Callable[[Random, str], tuple[ManifestEdit, set[str] | None, set[str] | None]]


def _minimise(random: Random, path: str) -> tuple[ManifestEdit, set[str] | None, set[str] | None]:
    return fix_simplify(StateRequest(path, as_of=DAY)), set(), set()


def _fix(random: Random, path: str) -> tuple[ManifestEdit, set[str] | None, set[str] | None]:
    return fix_lint(StateRequest(path, as_of=DAY)).edit, set(), set()


def _grant(random: Random, path: str) -> tuple[ManifestEdit, set[str] | None, set[str] | None]:
    who = random.choice(PEOPLE)
    pattern = topic(random.choice(NAMES), random.choice([PatternType.LITERAL, PatternType.PREFIXED]))
    asked = AskedAccess(who, (random.choice([AclOperation.READ, AclOperation.WRITE]),), pattern)
    return grant(path, None, asked, GrantTerms(), DAY).edit, None if who == "User:*" else {who}, None


def _revoke(random: Random, path: str) -> tuple[ManifestEdit, set[str] | None, set[str] | None]:
    who = random.choice(PEOPLE)
    pattern = topic(random.choice(NAMES), PatternType.LITERAL)
    asked = AskedAccess(who) if random.random() < 0.5 else AskedAccess(who, (AclOperation.READ,), pattern)
    return revoke(path, None, asked, DAY).edit, set(), None if who == "User:*" else {who}


def _rename(random: Random, path: str) -> tuple[ManifestEdit, set[str] | None, set[str] | None]:
    return rename(path, random.choice(PEOPLE[:2]), "User:new", as_of=DAY).edit, {"User:new"}, {"User:new"}


def _finish(random: Random, path: str) -> tuple[ManifestEdit, set[str] | None, set[str] | None]:
    old = random.choice(PEOPLE[:2])
    return rename(path, old, "User:new", finish=True, as_of=DAY).edit, set(), {old}


COMMANDS: dict[str, Command] = {
    "simplify": _minimise,
    "fix": _fix,
    "grant": _grant,
    "revoke": _revoke,
    "rename": _rename,
    "finish": _finish,
}
#: Those that keep access as it is, and so hold in either reading of what nobody states.
EXACT = ("simplify", "fix")


def check(name: str, seed: int) -> bool:
    """Whether there was an edit; and that it keeps its promise."""
    random = Random(seed)
    tangle = Tangle(random)
    texts = tangle.texts()
    with TemporaryDirectory() as directory:
        for path, text in texts.items():
            Path(directory, path).write_bytes(text.encode())
        try:
            made, gaining, losing = COMMANDS[name](random, directory)
        except (NotDeclaredError, RequestError):
            return False
        except EditRefusedError:
            # Of those that choose what goes, nothing is refused: what breaks the promise is not chosen.
            assert name not in EXACT, seed
            return False
    readings = (
        [tangle.default_allow] if tangle.default_allow is not None else [False, *([True] if name in EXACT else [])]
    )
    for default_allow in readings:
        for gained, lost, words in changes(texts, made.after, default_allow=default_allow):
            assert gaining is None or gained <= gaining, (name, seed, words)
            assert losing is None or lost <= losing, (name, seed, words)
    return bool(made.files)


#: Half of the examples are always the same, and counted, too.
COUNTED = settings().max_examples // 2


@pytest.mark.parametrize("name", COMMANDS)
@given(st.integers(COUNTED, 2**32))
@settings(max_examples=COUNTED)
def test_an_edit_changes_the_access_that_it_promises_to_change(name: str, seed: int) -> None:
    check(name, seed)


@pytest.mark.parametrize("name", COMMANDS)
def test_most_random_manifests_can_be_edited(name: str) -> None:
    """Else the law, which holds for these as well, would hold for nothing."""
    assert sum(check(name, seed) for seed in range(COUNTED)) >= COUNTED // 5
