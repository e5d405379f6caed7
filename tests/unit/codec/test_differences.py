"""What somebody changed, named: places and both values."""

import json

from hypothesis import given
from hypothesis import strategies as st

from reconciler.codec.document import differences

VALUES = st.one_of(st.none(), st.integers(0, 3), st.sampled_from(["", "1", "a", "root['x']", "a.b"]))
DOCUMENTS = st.dictionaries(
    st.sampled_from(["a", "b", "'", "a.b", "[0]"]),
    st.one_of(VALUES, st.lists(VALUES, max_size=2), st.dictionaries(st.sampled_from(["x", 'y"]']), VALUES, max_size=2)),
    max_size=4,
)


def test_each_place_has_both_values() -> None:
    before = {"partitions": 2, "configs": {"flush.ms": "9", "retention.ms": "1"}, "replicas": [[1, 2], [2, 1]]}
    after = {"partitions": 3, "configs": {"flush.ms": "8", "segment.ms": "5"}, "replicas": [[1, 2], [3, 1], [1]]}
    assert differences(before, after) == (
        "configs.flush.ms: 9 → 8, configs.retention.ms: 1 → not set, configs.segment.ms: not set → 5, "
        "partitions: 2 → 3, replicas.1.0: 2 → 3 and 1 more"
    )


@given(DOCUMENTS, DOCUMENTS)
def test_nothing_is_said_of_equal_documents_only(before: dict[str, object], after: dict[str, object]) -> None:
    assert differences(before, before) == ""
    assert bool(differences(before, after)) is (json.dumps(before, sort_keys=True) != json.dumps(after, sort_keys=True))
