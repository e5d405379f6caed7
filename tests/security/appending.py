"""One of several runs that append to an audit log at a time: ``tests.security.appending FILE NAME RUNS``."""

import secrets
import sys
import time
from pathlib import Path

from reconciler.apply.audit import LogIdentity
from reconciler.system.journal import AuditLog


def main(path: str, name: str, runs: str) -> None:
    Path(f"{path}.{name}").touch()
    until = time.monotonic() + 60.0
    while len([*Path(path).parent.glob(f"{Path(path).name}.*")]) < int(runs):  # so that all of them write at a time
        assert time.monotonic() < until, "the other runs do not begin"
        time.sleep(0.005)
    with AuditLog(LogIdentity(secrets.token_hex(16), "host", path)) as audit:
        for number in range(50):
            audit.write({"record": "step", "by": name, "number": number})


if __name__ == "__main__":
    main(*sys.argv[1:])
