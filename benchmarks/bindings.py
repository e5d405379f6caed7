"""The bindings that ``benchmarks.manifests.principals`` declares, as the seven values of Kafka's requests.

Imports nothing of ours, so that the bare client that uses it starts as fast as it can.
"""

from collections.abc import Iterator
from itertools import product
from typing import TypeAlias

#: resource type, name, pattern type, principal, host, operation, permission type
Row: TypeAlias = tuple[int, str, int, str, str, int, int]

EACH = 10
ANY = 1
TOPIC, GROUP = 2, 3
_READ, _WRITE, _DESCRIBE = 3, 4, 8
_LITERAL, _ALLOW = 3, 3


def rows(first: int, last: int) -> Iterator[Row]:
    """Three topics × three operations and a group for each principal from ``first`` up to ``last``."""
    for number in range(first, last):
        principal = f"User:svc-{number}"
        for topic, operation in product("abc", (_READ, _WRITE, _DESCRIBE)):
            yield (TOPIC, f"t{number}.{topic}", _LITERAL, principal, "*", operation, _ALLOW)
        yield (GROUP, f"g{number}", _LITERAL, principal, "*", _READ, _ALLOW)


def kinds() -> Iterator[tuple[int, int]]:
    """The pairs of resource type and operation among the rows."""
    yield from product((TOPIC,), (_READ, _WRITE, _DESCRIBE))
    yield (GROUP, _READ)
