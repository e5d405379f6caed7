"""Hosts against sets of addresses: sixteen of them, all ranges and addresses over them, and the naive reading."""

import ipaddress
from collections.abc import Iterable

from hypothesis import example, given
from hypothesis import strategies as st

from reconciler.access.hosts import Hosts, RangeIndex, host_classes
from reconciler.model.acl import WILDCARD
from reconciler.model.flavor import KafkaVersion

_VERSION = (4, 4)
_ALL = tuple(f"10.0.0.{number}" for number in range(16))
_LENGTHS = (0, 8, 28, 29, 30, 31, 32)
_addresses = st.sampled_from(_ALL)
#: Of every length, /0 too: bits behind the length are ignored.
_ranges = st.builds(lambda host, length: f"{host}/{length}", _addresses, st.sampled_from(_LENGTHS))
_labels = st.one_of(_addresses, _ranges)


def _holds(label: str, host: str) -> bool:
    network = ipaddress.ip_network(label, strict=False)
    return ipaddress.ip_address(host) in network


def _length(label: str) -> int:
    # An exact address decides before the range that holds nothing else.
    return int(label.partition("/")[2]) if "/" in label else 33


@given(st.lists(_labels, max_size=6), _addresses)
def test_the_narrowest_label_decides(labels: list[str], host: str) -> None:
    inside = tuple(labels[::2])
    but = tuple(label for label in labels[1::2] if not any(_same(label, other) for other in inside))
    for any_host in (True, False):
        hosts = Hosts(any_host, inside, but)
        around = [(_length(label), label in inside) for label in (*inside, *but) if _holds(label, host)]
        expected = max(around)[1] if around else any_host
        assert hosts.contains(host, _VERSION) is expected


@given(st.lists(_labels, max_size=6), _labels)
def test_a_range_and_a_set_that_have_a_host_in_common_meet(labels: list[str], text: str) -> None:
    inside = tuple(labels[::2])
    but = tuple(label for label in labels[1::2] if not any(_same(label, other) for other in inside))
    for any_host in (True, False):
        hosts = Hosts(any_host, inside, but)
        common = any(hosts.contains(host, _VERSION) for host in _ALL if _holds(text, host))
        assert hosts.may_meet(text, _VERSION) or not common
        assert hosts.may_meet(WILDCARD, _VERSION)
    assert not Hosts(False, inside).may_meet("192.0.2.0/24", _VERSION) or "/0" in "".join(inside)
    assert not Hosts(True, (), ("10.0.0.0/8",)).may_meet(text, _VERSION) or _length(text) < 8


def _same(one: str, other: str) -> bool:
    a, b = (ipaddress.ip_network(label, strict=False) for label in (one, other))
    return a == b and _length(one) == _length(other)


def within(label: str, ranges: Iterable[str], version: KafkaVersion) -> bool:
    """Whether all hosts of ``label`` are in one of ``ranges``."""
    return any(RangeIndex(ranges, version).around(label))


def test_within_is_in_one_of_the_ranges_whole() -> None:
    hosts = [_ALL[number] for number in (0, 1, 7, 8)]
    ranges = [f"{host}/{length}" for host in hosts for length in _LENGTHS]
    for label in (*hosts, *ranges):
        assert not within(label, hosts, _VERSION), "addresses are no ranges"
        for other in ranges:
            wide = ipaddress.ip_network(other, strict=False)
            whole = ipaddress.ip_network(label, strict=False).subnet_of(wide)  # type: ignore[arg-type]
            assert within(label, [other], _VERSION) is whole, (label, other)
            assert within(label, ["192.0.2.0/24", other], _VERSION) is whole, (label, other)


@given(st.lists(_labels, max_size=8))
@example(["10.0.0.0/28", "10.0.0.0/29", "10.0.0.2/31"])  # a range inside a range
def test_classes_are_the_hosts_that_no_text_tells_apart(texts: list[str]) -> None:
    """Hosts of no entry, each address that is named, and of each range what no narrower text takes."""
    found = {one.label: one.sample for one in host_classes([*texts, WILDCARD], _VERSION)}
    exact = {text for text in texts if "/" not in text}
    wide = [text for text in texts if "/" in text]
    assert exact <= found.keys()
    if any(_length(text) == 0 for text in wide):
        assert not any(_is_ipv4(found[label]) for label in found.keys() - exact if label == WILDCARD)
    for label, sample in found.items():
        if label in exact:
            assert sample == label
        elif label == WILDCARD:
            assert not [text for text in texts if _is_ipv4(sample) and _holds(text, sample)]
        else:
            around = [text for text in texts if _holds(text, sample)]
            assert sample not in exact
            assert max(map(_length, around)) == _length(label)
    for text in wide:
        if _length(text) < 28:  # it has addresses that are none of the sixteen
            assert any(_same(text, label) for label in found.keys() - {WILDCARD})
            continue
        own = [host for host in _ALL if _narrowest(host, wide) == _length(text) and _holds(text, host)]
        assert any(_same(text, label) for label in found.keys() - {WILDCARD}) is bool(set(own) - exact)


def _narrowest(host: str, ranges: list[str]) -> int:
    return max((_length(text) for text in ranges if _holds(text, host)), default=-1)


def _is_ipv4(text: str) -> bool:
    return ":" not in text
