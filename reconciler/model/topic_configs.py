"""Topic configs: types, normal forms, lossy changes, and what releases refuse.

Kafka's topic settings: their types, the form in which two values are compared, and which changes lose data.

Source: ``org.apache.kafka.storage.internals.log.LogConfig`` and ``TopicConfig`` (3.9 to 4.4). Brokers may know more
settings; an unknown one is compared as text.
"""

import math
import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final, NamedTuple


class ConfigType(StrEnum):
    """The types of ``ConfigDef`` that topic settings have; MILLIS and BYTES are integers with a unit."""

    BOOLEAN = "boolean"
    INTEGER = "integer"
    MILLIS = "milliseconds"
    BYTES = "bytes"
    DOUBLE = "double"
    LIST = "list"
    STRING = "string"


_BY_TYPE = {
    ConfigType.BOOLEAN: (
        "errors.deadletterqueue.group.enable",
        "message.downconversion.enable",
        "preallocate",
        "remote.log.copy.disable",
        "remote.log.delete.on.disable",
        "remote.storage.enable",
        "unclean.leader.election.enable",
    ),
    ConfigType.INTEGER: (
        "compression.gzip.level",
        "compression.lz4.level",
        "compression.zstd.level",
        "flush.messages",
        "min.insync.replicas",
    ),
    ConfigType.MILLIS: (
        "delete.retention.ms",
        "file.delete.delay.ms",
        "flush.ms",
        "local.retention.ms",
        "max.compaction.lag.ms",
        "message.timestamp.after.max.ms",
        "message.timestamp.before.max.ms",
        "message.timestamp.difference.max.ms",
        "min.compaction.lag.ms",
        "remote.copy.lag.ms",
        "retention.ms",
        "segment.jitter.ms",
        "segment.ms",
    ),
    ConfigType.BYTES: (
        "index.interval.bytes",
        "local.retention.bytes",
        "max.decompressed.message.bytes",
        "max.message.bytes",
        "remote.copy.lag.bytes",
        "retention.bytes",
        "segment.bytes",
        "segment.index.bytes",
    ),
    ConfigType.DOUBLE: ("min.cleanable.dirty.ratio",),
    ConfigType.LIST: (
        "cleanup.policy",
        "follower.replication.throttled.replicas",
        "leader.replication.throttled.replicas",
    ),
    ConfigType.STRING: ("compression.type", "message.format.version", "message.timestamp.type"),
}

#: Every topic setting that Kafka 3.9 to 4.4 knows.
TOPIC_CONFIGS: Final[Mapping[str, ConfigType]] = MappingProxyType(
    {name: config_type for config_type, names in _BY_TYPE.items() for name in names}
)
#: The new replicas of partitions that move, and those that they copy from.
FOLLOWERS: Final = "follower.replication.throttled.replicas"
LEADERS: Final = "leader.replication.throttled.replicas"
#: Set by Kafka's own tools while partitions move; never reset because a manifest is silent about them.
THROTTLE_CONFIGS: Final = frozenset({FOLLOWERS, LEADERS})
#: Limits of what is kept, in which -1 is no limit; of the local ones -2 is what the others say.
UNLIMITED_CONFIGS: Final = frozenset({"local.retention.bytes", "local.retention.ms", "retention.bytes", "retention.ms"})

#: What ``String.trim`` takes away.
_TRIMMED: Final = "".join(map(chr, range(33)))
_COMMA: Final = re.compile(r"\s*,\s*", re.ASCII)
#: ``Integer.parseInt``: digits of any script that are one ``char``; and ``Double.valueOf``.
_INTEGER: Final = re.compile(r"[+-]?\d+")
_LAST_CHAR: Final = "\uffff"
_DOUBLE: Final = re.compile(
    r"[+-]?(?:NaN|Infinity|(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
    r"|0[xX](?:[0-9a-fA-F]+\.?|[0-9a-fA-F]*\.[0-9a-fA-F]+)[pP][+-]?\d+)[fFdD]?)",
    re.ASCII,
)
#: Types whose values are whole numbers, and those whose values are numbers.
WHOLE_NUMBERS: Final = frozenset({ConfigType.INTEGER, ConfigType.MILLIS, ConfigType.BYTES})
NUMBERS: Final = WHOLE_NUMBERS | {ConfigType.DOUBLE}
_UNLIMITED: Final = -1
#: Of ``local.retention.…``: as ``retention.…`` says.
_AS_ANOTHER: Final = "-2"
LOCAL: Final = "local."
_UNITS: Final[Mapping[ConfigType, tuple[tuple[str, int], ...]]] = MappingProxyType(
    {
        ConfigType.MILLIS: (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000)),
        ConfigType.BYTES: (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)),
    }
)
_TOMBSTONES: Final = "tombstones and old values of a key go sooner, after {}"
#: What goes when a limit shrinks to the value that is put in.
_SHRINKING: Final[Mapping[str, str]] = MappingProxyType(
    {
        "retention.ms": "records older than {} go",
        "retention.bytes": "the oldest records of partitions larger than {} go",
        "local.retention.ms": "records older than {} go from the brokers' disks",
        "local.retention.bytes": "the oldest records of partitions larger than {} go from the brokers' disks",
        "delete.retention.ms": _TOMBSTONES,
        "max.compaction.lag.ms": _TOMBSTONES,
    }
)
#: The overhead of a batch (``DefaultRecordBatch.RECORD_BATCH_OVERHEAD``, 61) and of a record without key and value
#: (``DefaultRecord``, 7): producers send nothing smaller, and ``UnifiedLog`` refuses what is larger than the config.
_LEAST_BATCH: Final = 68
#: Bounds of a record's time (KIP-937; before 3.6 one for both sides), and how far well-kept clocks and retries differ.
_TIMESTAMPS: Final = frozenset(
    {"message.timestamp.before.max.ms", "message.timestamp.after.max.ms", "message.timestamp.difference.max.ms"}
)
_BRIEF: Final = 60_000
#: ``log.retention.check.interval.ms`` of Kafka: what is kept for less may go at any check.
_CHECKED: Final = 300_000
#: What goes once one of these is true.
_SWITCHES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "unclean.leader.election.enable": (
            "unclean leader election may drop acknowledged records: a replica that lags behind may become leader"
        ),
        "remote.log.delete.on.disable": "disabling remote storage will delete the remote log",
    }
)
_GAINED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "compact": "compact: of each key only the newest record stays, and records without a key are refused",
        "delete": "delete: records past the retention go",
    }
)

#: The configs that decide what a topic keeps: a change of what holds may lose records.
KEEPING_CONFIGS: Final = frozenset({*_SHRINKING, *_SWITCHES, "cleanup.policy"})


def normal_form(name: str, value: str) -> str:
    """``value`` as ``ConfigDef`` would print it, so that equal settings are equal texts.

    Read as ``ConfigDef.parseType`` reads it. A text that is no value of the setting's type comes back as it is: the
    broker is the one to refuse it.
    """
    config_type = TOPIC_CONFIGS.get(name)
    text = value.strip(_TRIMMED)
    if config_type in WHOLE_NUMBERS:
        return str(int(text)) if _INTEGER.fullmatch(text) and max(text) <= _LAST_CHAR else value
    if config_type is ConfigType.DOUBLE:
        return repr(_double(text)) if _DOUBLE.fullmatch(text) else value
    if config_type is ConfigType.BOOLEAN:
        return text.lower() if text.lower() in ("true", "false") else value
    if config_type is ConfigType.LIST:
        items = _COMMA.split(text)
        # Only for cleanup.policy does the order mean nothing, and brokers keep one of two that are the same.
        return ",".join(sorted(set(items)) if name == "cleanup.policy" else items)
    return text if config_type is ConfigType.STRING else value


def _double(text: str) -> float:
    """``Double.parseDouble``: with a suffix of a type, and in hexadecimal."""
    plain = text.lower()
    try:
        return float.fromhex(plain.rstrip("fd")) if "0x" in plain else float(plain.removesuffix("f").removesuffix("d"))
    except OverflowError:
        return math.copysign(math.inf, -1 if text.startswith("-") else 1)


def readable(name: str, text: str) -> str:
    """A time or a size with the largest unit that divides it: ``604800000`` is ``7d``; anything else as it is."""
    return with_unit(TOPIC_CONFIGS.get(name), text)


def with_unit(config_type: ConfigType | None, text: str) -> str:
    """A time or a size of that type with the largest unit that divides it; anything else as it is."""
    units = _UNITS.get(config_type, ()) if config_type else ()
    if not (text.isascii() and text.isdigit()) or str(int(text)) != text:
        return text
    number = int(text)
    return next((f"{number // size}{unit}" for unit, size in units if number and number % size == 0), text)


def cut_off(name: str, before: str | None, after: str | None) -> str | None:
    """Whom or what this value shuts out although nothing that is there goes, or ``None``.

    ``before`` is ``None`` for a new topic, ``after`` where the broker's default, which is not known, comes back. A text
    that is no number is the broker's to refuse.
    """
    try:
        number, last = int(after or ""), None if before is None else int(before)
    except ValueError:
        return None
    if name == "max.message.bytes":
        if number < _LEAST_BATCH:
            return f"max.message.bytes is {number:,}: no record fits, so brokers refuse every producer"
        # Only a smaller limit shuts out: producers fit the old one, as far as anybody knows.
        if last is not None and number < last:
            kept = readable(name, str(number))
            return f"max.message.bytes shrinks to {kept}: brokers refuse the records of producers that are larger"
    # A negative number is no brief one: Kafka refuses it, or takes it for "no limit".
    if name in _TIMESTAMPS and 0 <= number < _BRIEF:
        shown = readable(name, str(number))
        return f"{name} is {shown}: brokers refuse records whose time differs from theirs by more, as clocks do"
    if name == "retention.ms" and 0 <= number < _CHECKED:
        shown = readable(name, str(number))
        return f"retention.ms is {shown}: records may go before anybody reads them, at each check of the retention"
    return None


def effective(configs: Mapping[str, str | None], names: Iterable[str], defaults: Mapping[str, str]) -> dict[str, str]:
    """The values that hold for those of ``names`` which the topic's own ``configs`` leave open, where they are known.

    Only of configs that decide what is kept (:data:`KEEPING_CONFIGS`). ``defaults`` are those that a broker told. A
    local retention of -2 is the topic's retention (``LogConfig.localRetentionMs``, KIP-405).
    """
    unsaid = (name for name in names if name in KEEPING_CONFIGS and configs.get(name) in (None, _AS_ANOTHER))
    values = ((name, _in_force(name, configs, defaults)) for name in unsaid)
    return {name: value for name, value in values if value not in (None, _AS_ANOTHER)}


def _in_force(name: str, configs: Mapping[str, str | None], defaults: Mapping[str, str]) -> str | None:
    value = configs.get(name) or defaults.get(name)
    if value == _AS_ANOTHER and name.startswith(LOCAL):
        return _in_force(name.removeprefix(LOCAL), configs, defaults)
    return None if value is None else normal_form(name, value)


def data_loss(name: str, before: str | None, after: str | None) -> str | None:
    """What goes when the value that holds for this setting changes, or ``None``; a value of ``None`` is not known.

    Where a value is not known the answer errs on the side of loss.
    """
    if (goes := _SHRINKING.get(name)) is not None:
        return _shorter(name, before, after, goes)
    if name == "cleanup.policy":
        gained = [_GAINED[item] for item in sorted(_perhaps(after) - _surely(before)) if item in _GAINED]
        may = "gains" if None not in (before, after) else "may gain"
        return f"cleanup.policy {may} {'; '.join(gained)}" if gained else None
    if (goes := _SWITCHES.get(name)) is not None and after != "false" and before != "true":
        return goes if after == "true" else f"the broker's default, which is not known, may be true: {goes}"
    return None


def _shorter(name: str, before: str | None, after: str | None, goes: str) -> str | None:
    """What goes when a limit shrinks, or may shrink; -1 is no limit, -2 that of another setting, not known here."""
    if before == after and before is not None:
        return None
    try:
        old, new = (None if text in (None, _AS_ANOTHER) else int(text or "") for text in (before, after))
    except ValueError:
        old = new = None
    if new == _UNLIMITED or (old is not None and new is not None and old != _UNLIMITED and new >= old):
        return None
    kept = "the broker's default" if after is None else readable(name, after)
    if old is None or new is None:
        unknown = "what holds now" if old is None else "what holds then"
        return f"{name} may get shorter, for {unknown} is not known: {goes.format(kept)}"
    return f"{name} gets shorter: {goes.format(kept)}"


def _surely(policy: str | None) -> set[str]:
    """The items that a cleanup policy has for certain."""
    return set() if policy is None else _policies(policy)


def _perhaps(policy: str | None) -> set[str]:
    """The items that a cleanup policy may have."""
    return set(_GAINED) if policy is None else _policies(policy)


def _policies(value: str) -> set[str]:
    return {item.strip() for item in value.split(",") if item.strip()}


# Topic configs that brokers of some releases take and those of others refuse, and configs that contradict each other.
#
# Sources: ``org.apache.kafka.storage.internals.log.LogConfig`` of 3.9.2, 4.1.2, 4.3.1 and 4.4.0, where these configs
# changed or went, and the upgrade notes of 4.0. Configs that a release added are refused by those before it as
# unknown.

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
