"""Ranges of hosts as ``CidrUtils`` of Kafka 4.4 reads them, and which hosts meet."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.model.addresses import IpAddress, address, hosts_meet, ip_range, resolved


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("10.0.0.0/8", "10.0.0.0/8"),
        ("10.0.0.5/8", "10.0.0.0/8"),
        ("010.0.0.0/8", "10.0.0.0/8"),
        ("0.0.0.0/0", "0.0.0.0/0"),
        ("fe80::/10", "fe80::/10"),
        ("[fe80::1]/10", "fe80::/10"),
        ("fe80::%1/10", "fe80::/10"),
        ("2001:DB8::/+32", "2001:db8::/32"),
        ("10.0.0.0/33", None),
        ("10.0.0/8", None),
        ("::ffff:10.0.0.0/104", None),
        ("fe80::%eth0/10", None),
        ("10.0.0.0/", None),
        ("10.0.0.0/8/8", None),
        ("10.0.0.0", None),
    ],
)
def test_what_a_text_with_a_slash_means(text: str, meaning: str | None) -> None:
    found = ip_range(text)
    assert (None if found is None else str(found)) == meaning


def test_the_address_zero_is_in_no_range() -> None:
    zero, one = address("0.0.0.0"), address("0.0.0.1")  # noqa: S104 - nothing is bound
    everything = ip_range("0.0.0.0/0")
    assert zero is not None
    assert one is not None
    assert everything is not None
    assert not everything.contains(zero)
    assert everything.contains(one)
    assert everything.first == 1


_networks = st.one_of(
    st.tuples(st.integers(1, 2**32 - 1), st.integers(0, 32)).map(lambda at: ipaddress.IPv4Network(at, strict=False)),
    st.tuples(st.integers(2**96, 2**128 - 1), st.integers(0, 128)).map(
        lambda at: ipaddress.IPv6Network(at, strict=False)
    ),
)


@given(_networks, _networks, st.data())
def test_ranges_and_addresses_meet_as_the_library_of_python_says(
    one: ipaddress.IPv4Network | ipaddress.IPv6Network,
    other: ipaddress.IPv4Network | ipaddress.IPv6Network,
    data: st.DataObject,
) -> None:
    meet = one.version == other.version and one.overlaps(other)
    assert hosts_meet(str(one), str(other)) is hosts_meet(str(other), str(one)) is meet
    number = data.draw(st.integers(int(one[0]), int(one[-1])))
    host = type(one[0])(number)
    text = str(host) if one.version == 4 else ":".join(f"{number >> shift & 0xFFFF:x}" for shift in range(112, -1, -16))
    printed = address(text)
    if printed is not None and number:
        assert hosts_meet(text, str(one))
        assert hosts_meet(text, str(other)) is (one.version == other.version and host in other)


def test_what_java_reads_as_an_address_without_a_resolver_as_a_broker_of_4_4_took_it() -> None:
    nine = IpAddress(32, 0x7F000009)
    for text in ("127.0.0.9", "127.9", "2130706441", "127.000.000.009", "::ffff:7f00:9", "::FFFF:127.0.0.9"):
        assert resolved(text) == nine, text
    for text in ("::1", "[::1]", "::1%0", "0:0:0:0:0:0:0:1", "0::0001"):
        assert resolved(text) == IpAddress(128, 1), text
    assert resolved("010.0.0.1") == IpAddress(32, 0x0A000001)
    assert resolved("127.0.2313") == IpAddress(32, 0x7F000909)
    for text in (
        "",
        "localhost",
        "0x7f.0.0.9",
        "0377.0.0.1",
        "٣.0.0.1",
        "127.0.0.9 ",
        "1.2.3.4.5",
        "1.",
        "127.0.0.9%1",
    ):
        assert resolved(text) is None, text
