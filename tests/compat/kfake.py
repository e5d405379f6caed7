"""franz-go's Kafka cluster as a process of ours: ``compat/kfake`` says what its flags are."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from reconciler.kafka.secret_source import SecretSource
from reconciler.kafka.settings import ClientSettings, client_settings

SOURCE = Path(__file__).parents[2] / "compat" / "kfake"


def build(into: Path) -> Path:
    """The program, built; Go keeps what it has compiled, so that only the first time takes a minute."""
    program = into / "kfake"
    # Without optimization and debugging symbols: it is built more often than it works hard. Without C, whose compiler
    # costs more than the resolver that Go has of its own, and with a compiler that seldom collects its garbage.
    command = ["go", "build", "-gcflags=all=-N -l -dwarf=false", "-ldflags=-s -w", "-o", str(program), "."]
    quick = {"CGO_ENABLED": "0", "GOGC": "800"}
    subprocess.run(command, cwd=SOURCE, env=os.environ | quick, check=True)
    return program


@contextmanager
def running(program: Path, *flags: str) -> Iterator[str]:
    """The bootstrap addresses of a cluster; it ends with the block, or with us."""
    with subprocess.Popen([program, *flags], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            servers = process.stdout.readline().strip()
            assert servers, "kfake did not start"
            yield servers
        finally:
            process.stdin.close()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


def login(servers: str, user: str = "admin") -> dict[str, str]:
    """Client settings by which ``user`` logs in to a cluster with ``-login``."""
    return {
        "bootstrap.servers": servers,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": user,
        "sasl.password": "secret",
    }


def settings_for(servers: str, **more: str) -> ClientSettings:
    """Settings without a login; ``more`` with ``_`` for ``.``."""
    return client_settings(servers, {key.replace("_", "."): value for key, value in more.items()}, SecretSource())


def login_settings(servers: str) -> ClientSettings:
    """Settings that log in as the super user."""
    settings = login(servers)
    return client_settings(settings.pop("bootstrap.servers"), settings, SecretSource())
