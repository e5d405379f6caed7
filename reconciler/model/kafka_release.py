"""Kafka's releases, as (major, minor)."""

from typing import Final, TypeAlias

#: A broker's release as (major, minor); more parts are fine.
KafkaVersion: TypeAlias = tuple[int, ...]
#: The newest release whose authorizer this project was tested against.
NEWEST_RELEASE: Final = (4, 4)
#: The first level of ``metadata.version`` of each release (``org.apache.kafka.server.common.MetadataVersion``).
FIRST_LEVELS: Final = (
    (7, (3, 3)),
    (8, (3, 4)),
    (9, (3, 5)),
    (12, (3, 6)),
    (15, (3, 7)),
    (20, (3, 8)),
    (21, (3, 9)),
    (22, (4, 0)),
    (26, (4, 1)),
    (28, (4, 2)),
    (30, (4, 3)),
    (31, (4, 4)),
)


def known_release(version: KafkaVersion | None) -> KafkaVersion | None:
    """The same, but ``None`` for a release after the newest that is known: its rules may be others."""
    return None if version is None or version[:2] > NEWEST_RELEASE else version


def release_text(version: KafkaVersion) -> str:
    """``4.4``."""
    return ".".join(map(str, version[:2]))
