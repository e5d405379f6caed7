"""Topic settings as a Kafka 4.4 controller checks them (``LogConfig``, ``ConfigDef.parseType``).

Modest on purpose: names, types, and the bounds that people meet. Rules among several settings, and what a broker's
own configuration forbids, are left to brokers.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from reconciler.model import RAISED_MINIMA, RETIRED_CONFIGS, THROTTLE_CONFIGS, TOPIC_CONFIGS, ConfigType

_INTEGER = re.compile(r"[+-]?\d{1,19}", re.ASCII)
_DOUBLE = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
_LONG_MAX: Final = 2**63 - 1
_INT_MAX: Final = 2**31 - 1

#: Least and greatest value, where they are not 0 and the greatest long.
_BOUNDS: Final[Mapping[str, tuple[int, int]]] = MappingProxyType(
    {
        "compression.gzip.level": (-1, 9),
        "compression.lz4.level": (1, 17),
        "compression.zstd.level": (-131_072, 22),
        "flush.messages": (1, _LONG_MAX),
        "index.interval.bytes": (0, _INT_MAX),
        "local.retention.bytes": (-2, _LONG_MAX),
        "local.retention.ms": (-2, _LONG_MAX),
        "max.compaction.lag.ms": (1, _LONG_MAX),
        "max.decompressed.message.bytes": (1, 2_147_483_639),
        "max.message.bytes": (0, _INT_MAX),
        "min.insync.replicas": (1, _INT_MAX),
        "remote.copy.lag.bytes": (-1, _LONG_MAX),
        "remote.copy.lag.ms": (-1, _LONG_MAX),
        "retention.bytes": (-_LONG_MAX - 1, _LONG_MAX),
        "retention.ms": (-1, _LONG_MAX),
        "segment.bytes": (RAISED_MINIMA["segment.bytes"][0], _INT_MAX),
        "segment.index.bytes": (4, _INT_MAX),
        "segment.ms": (1, _LONG_MAX),
    }
)
#: ``ThrottledReplicaListValidator``.
_THROTTLED = re.compile(r"([0-9]+:[0-9]+)?")
_CHOICES: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        "cleanup.policy": frozenset({"compact", "delete"}),
        "compression.type": frozenset({"uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"}),
        "message.timestamp.type": frozenset({"CreateTime", "LogAppendTime"}),
    }
)


class ConfigError(ValueError):
    """A name or value that Kafka refuses with INVALID_CONFIG."""


def normal_value(name: str, value: str) -> str:
    """``value`` as a broker shows it afterwards; raises :class:`ConfigError`."""
    config_type = TOPIC_CONFIGS.get(name)
    if config_type is None or name in RETIRED_CONFIGS:
        raise ConfigError(f"Unknown topic config name: {name}")
    try:
        return _parsed(name, config_type, value.strip())
    except ValueError as error:
        raise ConfigError(f"Invalid value {value} for configuration {name}: {error}") from None


def _parsed(name: str, config_type: ConfigType, text: str) -> str:
    match config_type:
        case ConfigType.BOOLEAN:
            return _choice(text.lower(), frozenset({"true", "false"}))
        case ConfigType.INTEGER | ConfigType.MILLIS | ConfigType.BYTES:
            number = _integer(text, *_BOUNDS.get(name, (0, _LONG_MAX)))
            if name == "compression.gzip.level" and number == 0:
                raise ValueError("Value must be between 1 and 9 or equal to -1")
            return str(number)
        case ConfigType.DOUBLE:
            return str(_ratio(text))
        case ConfigType.LIST:
            items = [item.strip() for item in text.split(",")] if text else []
            if name in THROTTLE_CONFIGS and items != ["*"] and not all(map(_THROTTLED.fullmatch, items)):
                raise ValueError(f"{name} must be the literal '*' or a list of replicas [partitionId]:[brokerId]")
            chosen = [_choice(item, _CHOICES.get(name)) for item in items]
            return ",".join(chosen if name in THROTTLE_CONFIGS else dict.fromkeys(chosen))
        case ConfigType.STRING:
            return _choice(text, _CHOICES.get(name))


def _integer(text: str, least: int, greatest: int) -> int:
    if not _INTEGER.fullmatch(text):
        raise ValueError("Not a number")
    if not least <= int(text) <= greatest:
        raise ValueError(f"Value must be between {least} and {greatest}")
    return int(text)


def _ratio(text: str) -> float:
    if not _DOUBLE.fullmatch(text):
        raise ValueError("Not a number of type DOUBLE")
    if not 0 <= float(text) <= 1:
        raise ValueError("Value must be between 0 and 1")
    return float(text)


def _choice(text: str, allowed: frozenset[str] | None) -> str:
    if allowed is not None and text not in allowed:
        raise ValueError(f"String must be one of: {', '.join(sorted(allowed))}")
    return text
