"""Many clusters: membership and waves, rows and digests, what differs, plans with gates, what stands out.

Pure: no engine, no clock, no network. Engines are in ``adapters.spark``.
"""

from reconciler.fleet.digest import rows_digest, scope_digest
from reconciler.fleet.drift import (
    ClusterDrift,
    Counts,
    FleetDrift,
    Part,
    drift_document,
    drift_text,
    parse_drift,
    parse_part,
    part_text,
    put_together,
)
from reconciler.fleet.header import (
    Bucket,
    Failure,
    HeaderError,
    Reading,
    Run,
    parse_reading,
    parse_run,
    reading_text,
    run_text,
)
from reconciler.fleet.membership import Fleet, FleetLimits, UnknownFleetError, Wave, fleet_of
from reconciler.fleet.rows import (
    BUCKET_ROWS,
    COLUMNS,
    TEXT_COLUMNS,
    Row,
    Whose,
    binding_of,
    bucket_count,
    bucket_of,
    in_buckets,
    row_of,
    whose,
)
from reconciler.fleet.work import Pair, pairs, share_out

__all__ = [
    "BUCKET_ROWS",
    "COLUMNS",
    "TEXT_COLUMNS",
    "Bucket",
    "ClusterDrift",
    "Counts",
    "Failure",
    "Fleet",
    "FleetDrift",
    "FleetLimits",
    "HeaderError",
    "Pair",
    "Part",
    "Reading",
    "Row",
    "Run",
    "UnknownFleetError",
    "Wave",
    "Whose",
    "binding_of",
    "bucket_count",
    "bucket_of",
    "drift_document",
    "drift_text",
    "fleet_of",
    "in_buckets",
    "pairs",
    "parse_drift",
    "parse_part",
    "parse_reading",
    "parse_run",
    "part_text",
    "put_together",
    "reading_text",
    "row_of",
    "rows_digest",
    "run_text",
    "scope_digest",
    "share_out",
    "whose",
]
