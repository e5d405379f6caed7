"""The yardstick: confluent-kafka alone, in a process of its own, with the reads and writes of ``plan`` and ``apply``.

Run: ``python -m benchmarks.bare_client SETTINGS.json read`` or ``… create FIRST LAST``. It parses no manifests,
compares nothing, and believes whatever it reads.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

from confluent_kafka.admin import AclBinding, AclBindingFilter, AdminClient

from benchmarks.bindings import ANY, kinds, rows

#: Bindings in one request, as ``apply`` sends them.
BATCH = 1_000
_ANYTHING: Any = None


def everything(client: AdminClient) -> list[AclBinding]:
    """Lists all ACLs."""
    return list(client.describe_acls(_filter(ANY, ANY)).result())


def read(client: AdminClient) -> int:
    """Lists all ACLs; how many there are."""
    return len(everything(client))


def create(client: AdminClient, first: int, last: int) -> None:
    """Creates the bindings of these principals, each request awaited before the next."""
    bindings = [AclBinding(*row) for row in rows(first, last)]
    for start in range(0, len(bindings), BATCH):
        for future in client.create_acls(bindings[start : start + BATCH]).values():
            future.result()


def empty(client: AdminClient) -> None:
    """Deletes at most 10,000 bindings of each kind, and waits until the broker shows none."""
    for kind in kinds():
        for future in client.delete_acls([_filter(*kind)]).values():
            future.result()
    await_count(client, 0)


def await_count(client: AdminClient, count: int) -> None:
    """Waits a minute until the broker shows ``count`` bindings: it applies them after it has answered."""
    until = time.monotonic() + 60
    while (shown := read(client)) != count:
        if time.monotonic() > until:
            raise RuntimeError(f"{shown:,} ACLs are there, and not {count:,}")
        time.sleep(0.1)


def client_of(settings: Path) -> AdminClient:
    """A client with the settings of a JSON file."""
    return AdminClient(json.loads(settings.read_text(encoding="utf-8")))


def _filter(resource_type: int, operation: int) -> AclBindingFilter:
    return AclBindingFilter(resource_type, _ANYTHING, ANY, _ANYTHING, _ANYTHING, operation, ANY)


def main(settings: str, verb: str, *numbers: str) -> None:
    """Reads; or reads, creates and reads again. Prints how many bindings the last reading showed."""
    client = client_of(Path(settings))
    if verb == "create":
        read(client)
        create(client, *map(int, numbers))
    print(read(client))


if __name__ == "__main__":
    main(*sys.argv[1:])
