"""Random ACLs with hosts of every kind: what the classes of Kafka's authorizer decide, against ``Authorizer``."""

import itertools
import random
import subprocess
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from reconciler.access.authorizer import AccessRequest, Authorizer
from reconciler.model.acl import (
    CLUSTER_NAME,
    SUPPORTED_OPERATIONS,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.addresses import RANGES_SINCE, IpAddress, address, address_text, ip_range
from reconciler.model.flavor import KafkaVersion, supported
from reconciler.model.kinds.quota import ClientQuota, QuotaEntity, levels, limits
from reconciler.model.topic_configs import normal_form
from reconciler.parts.local.sandbox.launch import broker_jars, find_java
from reconciler.parts.local.sandbox.layout import exact_version
from tests.integration.topics.java_classes import compiled

_SECONDS: Final = 120
_STATES, _BINDINGS, _ASKS = 100, 100, 150
_PRINCIPALS = ("User:a", "User:b", "Group:a", "User:CN=x, OU=y")
_NAMES = ("a", "ab", "abc", "b")
#: As ``getHostAddress`` prints them; the ends of ranges, what lies beside them, and what no range holds.
_FROM = (
    *("0.0.0.1", "9.255.255.255", "10.0.0.0", "10.0.0.1", "10.0.0.5", "10.0.0.6", "10.0.255.255"),
    *(address_text(IpAddress(32, 0)), "10.255.255.255", "11.0.0.0", "127.0.0.1", "192.168.0.1", "255.255.255.255"),
    *("0:0:0:0:0:0:0:0", "0:0:0:0:0:0:0:1", "fe80:0:0:0:0:0:0:1", "fe80:0:0:0:0:0:0:1%1", "febf:ffff:0:0:0:0:0:1"),
    *("fec0:0:0:0:0:0:0:0", "2001:db8:0:0:0:0:0:1", "2001:db9:0:0:0:0:0:0"),
)
_HOSTS = (
    *("*", "10.0.0.5", "10.0.0.0/8", "10.0.0.5/8", "10.0.0.4/30", "10.0.0.6/31", "10.0.0.5/32", "010.0.0.0/9"),
    *("0.0.0.0/0", "0.0.0.0/32", "0.0.0.0/1", "255.255.255.255/32", "192.168.0.0/16", "10.0.0.0/33", "10.0.0/8"),
    *("::/0", "::/128", "fe80::/10", "fe80::%1/10", "FE80::1/64", "[fe80::]/10", "2001:db8::/32", "2001:DB8::/+32"),
    *("::ffff:10.0.0.0/104", "::10.0.0.0/104", "host.example", "host.example/8", "fe80::%nosuch/10", "/", "10.0.0.0/"),
    *("0:0:0:0:0:0:0:1", "::1", "fe80:0:0:0:0:0:0:1%1", "fe80:0:0:0:0:0:0:1", "*/8", "10.0.0.0/8/8", " 10.0.0.0/8"),
)

Judge = Callable[[str, Sequence[str], str], list[str]]


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Judge:
    """What Kafka's classes of a version answer to lines."""

    @cache
    def classes_of(version: str) -> Path:
        return compiled(Path(__file__).parent / "judges", tmp_path_factory.mktemp("judge"), version)

    def answers(version: str, lines: Sequence[str], judge: str) -> list[str]:
        java, classes = find_java(), classes_of(version)
        jars = broker_jars(exact_version(version), java, lambda _: None)
        flags = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
        command = [str(java.executable), *flags, "-cp", f"{classes}:{jars}/*", judge]
        text = "".join(f"{line}\n" for line in lines)
        run = subprocess.run(command, input=text, capture_output=True, text=True, timeout=_SECONDS, check=False)
        assert run.returncode == 0, run.stderr[-2_000:]
        return run.stdout.splitlines()

    return answers


def _pattern(rng: random.Random, kind: ResourceType) -> ResourcePattern:
    if kind is ResourceType.CLUSTER:
        return ResourcePattern(kind, CLUSTER_NAME)
    if rng.random() < 0.2:
        return ResourcePattern(kind, "*")
    return ResourcePattern(kind, rng.choice(_NAMES), rng.choice([PatternType.LITERAL, PatternType.PREFIXED]))


def _binding(rng: random.Random, release: KafkaVersion) -> AclBinding:
    kind = rng.choice([ResourceType.TOPIC] * 12 + list(SUPPORTED_OPERATIONS))
    operation = rng.choice([AclOperation.ALL, *sorted(supported(kind, release))])
    permission = rng.choice([AclPermissionType.ALLOW] * 3 + [AclPermissionType.DENY])
    who = rng.choice([*_PRINCIPALS, "User:*"])
    return AclBinding(_pattern(rng, kind), AccessControlEntry(who, rng.choice(_HOSTS), operation, permission))


def _asked(rng: random.Random, release: KafkaVersion) -> AccessRequest:
    kind = rng.choice([ResourceType.TOPIC] * 12 + list(SUPPORTED_OPERATIONS))
    name = CLUSTER_NAME if kind is ResourceType.CLUSTER else rng.choice(_NAMES)
    operation = rng.choice(sorted(supported(kind, release)))
    return AccessRequest(rng.choice([*_PRINCIPALS, "User:root"]), rng.choice(_FROM), operation, kind, name)


@pytest.mark.parametrize("version", ["4.4", *(pytest.param(old, marks=pytest.mark.long) for old in ("4.3", "3.9"))])
def test_every_decision_is_that_of_kafkas_authorizer(version: str, judge: Judge) -> None:
    rng, release = random.Random(1_276), tuple(map(int, version.split(".")))
    lines: list[str] = []
    asked: list[tuple[Authorizer, AccessRequest]] = []
    for _ in range(_STATES):
        default_allow = rng.random() < 0.3
        bindings = {_binding(rng, release) for _ in range(_BINDINGS)}
        lines.append(f"STATE\t{str(default_allow).lower()}\tUser:root")
        for (kind, name, pattern_type), (who, host, operation, permission) in sorted(bindings):
            row = (kind.name, name, pattern_type.name, who, host, operation.name, permission.name)
            lines.append("\t".join(("ACL", *row)))
        model = Authorizer(bindings, ["User:root"], default_allow, release)
        for _ in range(_ASKS):
            request = _asked(rng, release)
            asked.append((model, request))
            who, host, operation, kind, name = request
            lines.append("\t".join(("ASK", who, host, operation.name, kind.name, name)))
    answers = judge(version, lines, "AuthorizerJudge")
    assert {"ALLOWED", "DENIED"} == set(answers)
    decided = [model.authorize(*request) for model, request in asked]
    wrong = [
        f"{decision}: Kafka {answer}"
        for decision, answer in zip(decided, answers, strict=True)
        if decision.allowed is not (answer == "ALLOWED")
    ]
    assert wrong == []
    by_range = [one for one in decided if one.binding is not None and "/" in one.binding.entry.host]
    assert len(by_range) >= 2_000 if release >= RANGES_SINCE else not by_range


_GROUPS = ("::", "fe80::", "2001:db8::", "::1", "::ffff:10.0.0.1", "1:2:3:4:5:6:7:8", "FE80::A", "1::2::3")
_LENGTHS = ("0", "1", "8", "08", "31", "32", "33", "64", "128", "129", "+8", "-1", "", " 8", "8 ", "x", "1e1")


def _text(rng: random.Random) -> str:
    """A host text near the edge of what is a range."""
    if rng.random() < 0.5:
        octets = [str(rng.choice([0, 1, 10, 127, 255, 256, 300])).zfill(rng.choice([1, 1, 3])) for _ in range(4)]
        host = ".".join(octets[: rng.choice([4, 4, 4, 3])])
    else:
        host = rng.choice(_GROUPS) + rng.choice(["", "", "", "%0", "%1", "%01", "%nosuch", "%"])
        host = f"[{host}]" if rng.random() < 0.2 else host
    return host + rng.choice(["/", "/", "/", "/", "//"]) + rng.choice(_LENGTHS)


_ZONES = (
    *("", "%", "%0", "%1", "%01", "%2147483647", "%2147483648", "%4294967296", "%99999999999", "%00000000000000000001"),
    *("%%1", "%1]", "%+1", "%-1", "%\u0663", "%\uff11", "%1%2", "%nosuch", "% 1", "%1a", "%1_0", "%\u00b2"),
)
_ADDRESSES = (
    *("fe80::", "fe80::1", "FE80:0::", "fe80::00001", "0fe80::", "fe80::1.2.3.4", "fe80::01.2.3.4", "fe80::1.2.3.04"),
    *("fe80::001.002.003.004", "fe80::1.2.3.0000004", "fe80::1.2.3", "fe80::1.2.3.256", "fe80:::", "1:2:3:4:5:6:7::"),
    *(
        "::1:2:3:4:5:6:7",
        "1::2:3:4:5:6:7:8",
        "\uff46e80::",
        "fe80::\uff11",
        "fe80",
        "1.2.3.4",
        "01.2.3.4",
        "0001.2.3.4",
    ),
    *("1.2.3", "1.2.3.4.5", "\uff11.2.3.4", "1.2.3.256", "::ffff:1.2.3.4", "::", "[fe80::", "fe80::]", "[[fe80::]]"),
)
_ODD_LENGTHS = (
    *("0", "8", "10", "010", "0000000010", "00000000010", "+10", "-0", "-1", "128", "129", "32", "33", "08", " 10"),
    *(
        "10 ",
        "",
        "1_0",
        "\uff11\uff10",
        "\u0661\u0660",
        "\U0001d7cf\U0001d7ce",
        "99999999999",
        "4294967306",
        "0x8",
        "1e1",
    ),
)


def _odd_texts(rng: random.Random) -> set[str]:
    """Scopes, zeros and digits that Java reads in a way of its own."""
    found = {f"{one}{zone}/10" for one in ("fe80::", "fe80::1") for zone in _ZONES}
    found |= {f"[{one}]/{length}" for one in ("fe80::", "fe80::%1") for length in _ODD_LENGTHS}
    found |= {f"{one}/{length}" for one in _ADDRESSES for length in ("0", "8")}
    for _ in range(1_500):
        text = rng.choice(_ADDRESSES) + (rng.choice(_ZONES) if rng.random() < 0.4 else "")
        found.add(
            f"[{text}]/{rng.choice(_ODD_LENGTHS)}" if rng.random() < 0.2 else f"{text}/{rng.choice(_ODD_LENGTHS)}"
        )
    return found


def test_texts_are_ranges_where_cidr_utils_takes_them_for_ranges(judge: Judge) -> None:
    rng = random.Random(22_501)
    texts = sorted({_text(rng) for _ in range(1_200)} | {host for host in _HOSTS if "/" in host} | _odd_texts(rng))
    pairs = [(host, text) for text in texts for host in rng.sample(_FROM, 6)]
    answers = judge("4.4", [f"RANGE\t{host}\t{text}" for host, text in pairs], "AuthorizerJudge")
    wrong = []
    for (host, text), answer in zip(pairs, answers, strict=True):
        found, number = ip_range(text), address(host)
        assert number is not None
        said = "INVALID" if found is None else str(found.contains(number)).lower()
        if said != answer:
            wrong.append(f"{host} in {text!a}: Kafka {answer}, model {said}")
    assert wrong == []
    assert {"INVALID", "true", "false"} == set(answers)


_VALUES: Final[dict[str, tuple[str, ...]]] = {
    "min.cleanable.dirty.ratio": (
        *("0.5", ".5", "0.50", "5e-1", "0.5f", "0.5F", "0.5d", "0.5D", "1d", "1", "1.", "1e0f", "0x1p-1", "0x.8p0d"),
        *("+0.5", "-0.0", "0.0", "0", "NaN", "nan", "Infinity", "inf", "infinity", "1e999", "0.5 ", "\u00a00.5", "0_5"),
        *("0.5fd", "", "f", "\uff11", "0x1", "1e", "0.5\x00", "0x1.8p0", "0x1.p0", "0x.p0"),
    ),
    "retention.ms": (
        *(
            "1",
            "+1",
            "01",
            " 1",
            "1 ",
            "-1",
            "-01",
            "1_0",
            "10",
            "\uff11",
            "\u0661",
            "1.0",
            "",
            "\u00a01",
            "1\x1f",
            "0x1",
        ),
        *("\U0001d7cf", "--1", "+", "9223372036854775807", "0009223372036854775807"),
    ),
    "preallocate": ("true", "TRUE", "True", " true", "false", "FALSE", "yes", "", "1", "truе", "true\u00a0", "tru"),
    "compression.type": ("lz4", " lz4", "LZ4", "", "lz4 "),
    "follower.replication.throttled.replicas": (
        *("", " ", ",", ",,", "*", "0:1", "0:1,1:2", "0:1 , 1:2", "1:2,0:1", "0:1,", ",0:1", "0:1,,1:2", " 0:1,1:2 "),
        *("0:1\u00a0,1:2", "0:1\t,\n1:2", "0:1\x1f,1:2", "0:1,0:1"),
    ),
}


def test_two_texts_are_one_value_where_they_are_one_for_kafka(judge: Judge) -> None:
    asked = [(name, one, other) for name, texts in _VALUES.items() for one in texts for other in texts]
    lines = [
        f"{name}\t{one.encode('utf-16-be').hex()}\t{other.encode('utf-16-be').hex()}" for name, one, other in asked
    ]
    answers = judge("4.4", lines, "ConfigJudge")
    invalid = {
        (name, one)
        for (name, one, other), answer in zip(asked, answers, strict=True)
        if answer == "INVALID" and one == other
    }
    wrong = [f"{name} {text!a} is no value" for name, text in sorted(invalid) if normal_form(name, text) != text]
    for (name, one, other), answer in zip(asked, answers, strict=True):
        ours = normal_form(name, one) == normal_form(name, other)
        if not {(name, one), (name, other)} & invalid and ours is not (answer == "EQUAL"):
            wrong.append(f"{name} {one!a} and {other!a}: Kafka {answer}")
    assert not wrong, wrong[:20]
    assert {"EQUAL", "DIFFERENT", "INVALID"} == set(answers)


def test_every_client_quota_is_the_one_that_kafka_chooses(tmp_path: Path) -> None:
    """Random sets of all eight levels, asked with client ids, with one that no quota names, and without any."""
    rng, lines, expected = random.Random(55), list[str](), list[int]()
    for _ in range(300):
        lines.append("STATE")
        parts = [
            (user, client) for user in ("u", "*", "-") for client in ("c", "*", "-") if (user, client) != ("-", "-")
        ]
        quotas = []
        for number, (user, client) in enumerate(rng.sample(parts, rng.randint(0, 4)), 1):
            lines.append(f"QUOTA\t{user}\t{client}\t{number}")
            names = [None if part == "-" else part.replace("*", "") for part in (user, client)]
            quotas.append(ClientQuota(QuotaEntity.of(*names), {"producer_byte_rate": number}))
        for user, client in itertools.product(("u", "other"), ("c", "another", "")):
            lines.append(f"ASK\t{user}\t{client}")
            found = limits(quotas, levels(user, client)).get("producer_byte_rate")
            expected.append(2**63 - 1 if found is None else int(found[0].values["producer_byte_rate"]))
    java = find_java()
    jars = broker_jars(exact_version("4.4"), java, lambda _: None)
    classes = compiled(Path(__file__).parent / "judges" / "quotas", tmp_path, "4.4")
    command = [
        str(java.executable),
        "-XX:TieredStopAtLevel=1",
        "-XX:+UseSerialGC",
        "-cp",
        f"{classes}:{jars}/*",
        "QuotaJudge",
    ]
    run = subprocess.run(
        command, input="\n".join([*lines, ""]), capture_output=True, text=True, timeout=_SECONDS, check=True
    )
    assert list(map(int, run.stdout.split())) == expected
