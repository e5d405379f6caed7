"""JSON documents as YAML, tables and CSV: nothing hidden, nothing that a spreadsheet or a terminal obeys."""

import csv
import io
import json
from collections.abc import Iterator
from typing import Any

import yaml

from reconciler.cli.console import _json_pieces
from reconciler.results import Made
from reconciler.show.result import Lists, csv_pieces, lists_at, plain_document, table_text, yaml_text

_LISTS = lists_at("states.holders", "states.superUsers=principal")
_DOCUMENT = {
    "operation": "READ",
    "states": [
        {
            "cluster": "c",
            "condition": None,
            "holders": [
                {"principal": "User:a", "operations": ["READ", "WRITE"], "on": {"name": "t", "certain": True}},
                {"principal": "=cmd|' /C calc'!A0", "operations": [], "on": {"name": "@x", "certain": False}},
            ],
            "superUsers": ["User:admin", "User:\u202egpj"],
        },
        {"cluster": "empty", "condition": "if", "holders": [], "superUsers": []},
    ],
}


def _csv(document: Any, lists: Lists) -> str:
    return "".join(csv_pieces(document, lists))


def _cells(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_csv_has_a_row_for_each_item_and_one_for_what_has_none() -> None:
    rows = _cells(_csv(_DOCUMENT, _LISTS))
    assert [(row["cluster"], row["list"], row["principal"]) for row in rows] == [
        ("c", "holders", "User:a"),
        ("c", "holders", "\"=cmd|' /C calc'!A0\""),
        ("c", "superUsers", "User:admin"),
        ("c", "superUsers", "User:\\u202egpj"),
        ("empty", "", ""),
    ]
    assert (rows[0]["operations"], rows[0]["on.name"], rows[0]["on.certain"]) == ("READ; WRITE", "t", "true")


def test_no_cell_is_a_formula() -> None:
    """Nor with a sign of another width, which some spreadsheets take for the plain one, nor as a call of DDE."""
    wide = "\uff1d\uff0b\uff0d\uff20\uff5c\ufe66\ufe62\ufe63\ufe6b\u207a\u208b\u2212"
    signs = f"=+-@|\t\r{wide}"
    for sign in signs:
        cells = csv.reader(io.StringIO(_csv({"rows": [{"a": f"{sign}1", f"{sign}b": "x"}]}, lists_at("rows"))))
        for row in cells:
            assert not any(cell.startswith(tuple(signs)) for cell in row), sign


def test_a_table_says_once_what_all_rows_share() -> None:
    state = _DOCUMENT["states"][:1]
    assert table_text({"states": state}, lists_at("states.holders")).splitlines() == [
        "cluster: c",
        "principal           operations   on.name  on.certain",
        "User:a              READ; WRITE  t        true",
        "=cmd|' /C calc'!A0               @x       false",
        "2 rows",
    ]
    assert table_text({"states": []}, _LISTS).splitlines()[-1] == "0 rows"


def test_a_document_that_is_a_table_stays_one() -> None:
    document = {"run": "r", "columns": ["cluster", "n"], "rows": [["a", 1], ["b", None]]}
    assert _csv(document, lists_at("rows")) == "cluster,n\na,1\nb,\n"


def test_rows_that_are_made_one_at_a_time_read_like_a_list() -> None:
    rows = [{"name": f"={number}"} | ({"more": "x"} if number == 2_500 else {}) for number in range(3_000)]
    made, lists = {"rows": Made(lambda: iter(rows)), "n": 1}, lists_at("rows")
    pieces = list(csv_pieces(plain_document(made), lists))
    assert "".join(pieces) == _csv({"rows": rows}, lists)
    assert max(map(len, pieces)) < len("".join(pieces)) / 2
    assert table_text(plain_document(made), lists) == table_text({"rows": rows}, lists)


def test_json_draws_rows_one_at_a_time_and_is_as_of_a_list() -> None:
    rows, drawn = [{"name": f"{number}", "of": [number, None]} for number in range(20_000)], 0

    def draw() -> Iterator[dict[str, Any]]:
        nonlocal drawn
        for row in rows:
            drawn += 1
            yield row

    document = {"states": [{"rows": Made(draw), "no": Made(lambda: iter(()))}]}
    plain = {"states": [{"rows": rows, "no": []}]}
    pieces = _json_pieces(document)
    first = next(pieces)
    assert drawn < len(rows) / 2
    assert first + "".join(pieces) == json.dumps(plain, ensure_ascii=False, indent=2, sort_keys=True) + "\n"
    assert plain_document(document) == plain


def test_yaml_is_the_same_document_and_hides_nothing() -> None:
    for document in (_DOCUMENT, {"no": ["null", "1", "", "größe", "a\nb", "\x1b[31m"], "n": None, "t": True}):
        text = yaml_text(plain_document(document))
        assert yaml.safe_load(text) == json.loads(json.dumps(document))
        assert "\u202e" not in text
        assert "\x1b" not in text
    assert "größe" in yaml_text({"a": "größe"})
