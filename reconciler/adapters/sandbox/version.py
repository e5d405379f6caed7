"""Which Kafka versions a sandbox can run, and what each needs in addition to the broker's artifact."""

from typing import Final

from reconciler.adapters.sandbox.error import SandboxError
from reconciler.dataclass import dataclass

DEFAULT_VERSION = "4.4.0"

# Newest patches on Maven Central.
NEWEST_PATCH = {
    "3.9": "3.9.2",
    "4.0": "4.0.2",
    "4.1": "4.1.2",
    "4.2": "4.2.1",
    "4.3": "4.3.1",
    "4.4": "4.4.0",
}
# 4.4.0 names a module that was never published, and nothing in the broker refers to it.
_UNPUBLISHED: Final = {"4.4.0": ("kafka-tools-api",)}
_OLDER_PATCHES = ("3.9.0", "3.9.1", "4.0.0", "4.0.1", "4.1.0", "4.1.1", "4.2.0", "4.3.0")
KNOWN_VERSIONS = tuple(sorted((*NEWEST_PATCH.values(), *_OLDER_PATCHES)))


@dataclass(frozen=True, slots=True)
class Artifact:
    """A Maven coordinate, and modules of the same organisation that are excluded from its dependencies."""

    organisation: str
    name: str
    revision: str
    without: tuple[str, ...] = ()


def exact_version(version: str) -> str:
    """``4.3`` is its newest patch, ``4.3.1`` is itself; anything unknown raises :class:`SandboxError`."""
    exact = NEWEST_PATCH.get(version, version)
    if exact not in KNOWN_VERSIONS:
        raise SandboxError(
            f"Kafka {version} is not a version that the sandbox knows.",
            f"Choose one of {', '.join(NEWEST_PATCH)}, or one exactly, such as {NEWEST_PATCH['4.1']}.",
        )
    return exact


def uses_log4j2(version: str) -> bool:
    """Kafka logs through log4j2 since 4.0 (KIP-653), through reload4j before."""
    return not version.startswith("3.")


def artifacts(version: str) -> tuple[Artifact, ...]:
    """What to resolve for an exact version: the broker, and the logging back end that it does not depend on."""
    broker = Artifact("org.apache.kafka", "kafka_2.13", version, without=_UNPUBLISHED.get(version, ()))
    if uses_log4j2(version):
        return broker, Artifact("org.apache.logging.log4j", "log4j-slf4j-impl", "2.25.4")
    tools = Artifact("org.apache.kafka", "kafka-tools", version, without=("connect-runtime",))
    return broker, tools, Artifact("org.slf4j", "slf4j-reload4j", "1.7.36")
