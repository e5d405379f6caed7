"""What is read of an answer to DescribeConfigs, held against kafka-python's own decoding of the same bytes."""

import importlib
import io
import warnings
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

with warnings.catch_warnings(action="ignore"):  # it reads its schemas by a deprecated function
    Response: Any = import_module("kafka.protocol.admin").DescribeConfigsResponse
    messages: Any = import_module("reconciler.kafka.config_messages")
OWN, read_answer = messages.OWN, messages.read_answer
TEXTS = st.text(max_size=5) | st.text(min_size=130, max_size=140)
CONFIG = st.tuples(
    TEXTS,
    st.none() | TEXTS,
    st.integers(0, 8),
    st.lists(st.tuples(TEXTS, st.none() | TEXTS, st.integers(1, 5)), max_size=2),
)
DEFAULTS = [("a", "1", 5, []), ("b", None, 4, [("b", "2", 5)]), ("c", "é", 5, [])]
TOPICS = st.lists(
    st.tuples(st.integers(-1, 90), st.none() | TEXTS, TEXTS, st.lists(st.sampled_from(DEFAULTS) | CONFIG, max_size=4)),
    max_size=5,
)


def answer(topics: list[Any]) -> Any:
    result = Response.DescribeConfigsResult
    config = result.DescribeConfigsResourceResult
    synonym = config.DescribeConfigsSynonym
    results = [
        result(
            error_code=code,
            error_message=message,
            resource_type=2,
            resource_name=name,
            configs=[
                config(
                    name=key,
                    value=value,
                    read_only=False,
                    config_source=source,
                    is_sensitive=value is None,
                    synonyms=[synonym(name=other, value=text, source=origin) for other, text, origin in synonyms],
                    config_type=1,
                    documentation=None,
                )
                for key, value, source, synonyms in configs
            ],
        )
        for code, message, name, configs in topics
    ]
    return Response(throttle_time_ms=7, results=results)


@given(TOPICS)
def test_what_is_set_on_topics_is_what_the_library_decodes(topics: list[Any]) -> None:
    data = answer(topics).encode(version=4)
    found, theirs = read_answer(data), Response.decode(data, version=4)
    assert (found.throttle_time_ms, len(found.results)) == (7, len(theirs.results))
    told = set[str]()
    for (name, code, message, configs), one in zip(found.results, theirs.results, strict=True):
        assert (name, code, message) == (one.resource_name, one.error_code, one.error_message)
        whole = [(c.name, c.value, c.config_source, [(s.value, s.source) for s in c.synonyms]) for c in one.configs]
        assert [c for c in configs if c[2] == OWN] == [c for c in whole if c[2] == OWN]
        told.update(map(repr, configs))
        assert told.issuperset(map(repr, whole)), "what is left out was told of a topic before"


def test_an_answer_that_is_cut_or_too_long_is_refused() -> None:
    data = answer([(0, None, "t", DEFAULTS), (0, None, "u", [*DEFAULTS, ("d", "x", OWN, [])])]).encode(version=4)
    for size in range(len(data)):
        with pytest.raises(ValueError, match=r"."):
            read_answer(data[:size])
    with pytest.raises(ValueError, match="left over"):
        read_answer(data + b"\0")
    with pytest.raises(ValueError, match="too many bytes"):
        read_answer(data[:4] + b"\xff" * 6)


def test_each_answer_is_read_so_and_not_only_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library registers a class for answers of a version when it makes it, which may be at the first answer."""
    registry = import_module("kafka.protocol.api_header").ResponseClassRegistry
    monkeypatch.setattr(registry, "_response_class_registry", dict(registry._response_class_registry))
    monkeypatch.setattr(Response, "_VERSIONS", {})
    importlib.reload(messages)
    request = SimpleNamespace(request_api_key=Response.API_KEY, request_api_version=4)
    text = b"\0\0\0\1\0" + answer([(0, None, "t", [("a", "1", OWN, [])])]).encode(version=4)
    with messages.decoded_as_bytes():
        for _ in range(2):
            response = registry.get_response_class(request)
            frame = io.BytesIO(text)
            response.parse_header(frame)
            assert isinstance(response.decode(frame), messages.ConfigAnswer)
    frame = io.BytesIO(text)
    response = registry.get_response_class(request)
    response.parse_header(frame)
    assert response.decode(frame).results[0].resource_name == "t", "the library decodes what others ask"
