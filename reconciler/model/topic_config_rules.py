"""Topic configs that brokers of some releases take and those of others refuse, and configs that contradict each other.

Sources: ``org.apache.kafka.storage.internals.log.LogConfig`` of 3.9.2, 4.1.2, 4.3.1 and 4.4.0, where these configs
changed or went, and the upgrade notes of 4.0. Configs that a release added are refused by those before it as unknown.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

_4_0: Final = (4, 0)
_4_1: Final = (4, 1)


class ConfigRefusal(NamedTuple):
    """Brokers of the release ``since``, (major, minor), and later ones refuse a config with INVALID_CONFIG."""

    since: tuple[int, int]
    reason: str
    advice: str

    @property
    def release(self) -> str:
        """``4.0``."""
        return ".".join(map(str, self.since))


#: Configs that a release removed: brokers refuse a topic that has one, whatever its value.
RETIRED_CONFIGS: Final[Mapping[str, ConfigRefusal]] = MappingProxyType(
    {
        "message.downconversion.enable": ConfigRefusal(_4_0, "it was removed (KIP-724)", "remove it"),
        "message.format.version": ConfigRefusal(_4_0, "it was removed (KIP-724)", "remove it"),
        "message.timestamp.difference.max.ms": ConfigRefusal(
            _4_0,
            "it was removed (KIP-937)",
            "write message.timestamp.before.max.ms and message.timestamp.after.max.ms instead",
        ),
    }
)
#: Configs with a least value that a release raised (KIP-1030, of which 4.0 has the broker config alone).
RAISED_MINIMA: Final[Mapping[str, tuple[int, ConfigRefusal]]] = MappingProxyType(
    {
        "segment.bytes": (
            1_048_576,
            ConfigRefusal(_4_1, "less than 1 MiB (1048576) is refused (KIP-1030)", "write 1MiB or more"),
        )
    }
)
#: Below that an index file holds so little that segments roll all the time; below 8, not one entry.
_LEAST_INDEX: Final = 8_192
_LAGS: Final = ("min.compaction.lag.ms", "max.compaction.lag.ms")


def refusal_of(name: str, value: str) -> ConfigRefusal | None:
    """Which releases refuse a config with this value, in Kafka's spelling; ``None`` if it is not of their kind."""
    if name in RETIRED_CONFIGS:
        return RETIRED_CONFIGS[name]
    least, refusal = RAISED_MINIMA.get(name, (0, None))
    return refusal if value.isascii() and value.isdigit() and int(value) < least else None


def risk_of(name: str, value: str) -> str | None:
    """Why brokers that take a config, in Kafka's spelling, stumble over it later; ``None`` if they do not.

    ``segment.index.bytes`` of less than one entry (8 bytes) is taken by 3.9 to 4.4, and a broker that recovers such a
    topic after a crash stops with "Invalid max index size" (``AbstractIndex``).
    """
    if name != "segment.index.bytes" or not (value.isascii() and value.isdigit()) or int(value) >= _LEAST_INDEX:
        return None
    if int(value) < 8:
        return "no entry fits into an index of that size: after a crash, a broker that holds the topic does not start"
    return "an index of that size is full at once, so segments roll all the time"


def contradiction(configs: Mapping[str, str]) -> str | None:
    """Why every broker refuses these configs together (``LogConfig.validateValues``); ``None``: it does not."""
    least, most = (configs.get(name, "") for name in _LAGS)
    if least.isdigit() and most.isdigit() and int(least) > int(most):
        return f"{_LAGS[0]} ({least}) is more than {_LAGS[1]} ({most})"
    return None
