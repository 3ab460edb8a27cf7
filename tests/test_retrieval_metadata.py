"""Conditions are read as they are written, and compare numbers, dates and texts as what they are."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from ytrag_core.documents.dates import date_span
from ytrag_core.errors import QueryError
from ytrag_core.retrieval.columns import FieldColumn, column_arrays, columns_from_arrays, parse_metadata
from ytrag_core.retrieval.conditions import Condition, MetadataFilter, metadata_filter

ROWS: list[dict[str, Any]] = [
    {
        "year": 2019,
        "date": "2020-05-17",
        "lang": "en",
        "tags": ["sea", "light"],
        "by": {"name": "Ines Calder"},
    },
    {"year": 2020, "date": "2020/6/1", "lang": "zh", "tags": [], "by": {"name": "周岚", "year": 1971}},
    {"year": "2021", "date": "2019年12月31日", "lang": "en", "draft": True, "note": None},
    {},
    {"year": 2020.5, "date": "2021-01-01T08:30:00+08:00", "lang": "en,zh", "tags": "sea", "draft": False},
    {"year": "unknown", "date": "2020", "lang": "EN"},
]


@pytest.mark.parametrize(
    ("text", "field", "operator", "values"),
    [
        ("year>=2020", "year", ">=", ("2020",)),
        ("year == 2020", "year", "=", ("2020",)),
        (" title ~ harbour of Norr ", "title", "~", ("harbour of Norr",)),
        ("a!=b=c", "a", "!=", ("b=c",)),
        ("lang in en, zh", "lang", "in", ("en", "zh")),
        ("lang IN 'a, b',\"c\"", "lang", "in", ("a, b", "c")),
        ('"publication year"<1999', "publication year", "<", ("1999",)),
        ("作者=周岚", "作者", "=", ("周岚",)),
        ("by.name='Ines Calder'", "by.name", "=", ("Ines Calder",)),
        ("title='", "title", "=", ("'",)),
    ],
)
def test_conditions_are_read(text: str, field: str, operator: str, values: tuple[str, ...]) -> None:
    read = Condition.parse(text)
    assert (read.field, read.operator, read.values) == (field, operator, values)


@pytest.mark.parametrize("text", ["", "year", "year>=", "=3", "lang in", "a b=c", "year >", "lang in 'a'b"])
def test_what_is_no_condition_is_refused(text: str) -> None:
    with pytest.raises(QueryError, match=r"write |a,b"):
        Condition.parse(text)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("", "=", ("a",)), "field"),
        (("a", "like", ("a",)), "choose from"),
        (("a", "=", ("a", "b")), "several for"),
        (("a", "in", ()), "0 values"),
        (("a", "=", (None,)), "a number or a date"),
    ],
)
def test_conditions_that_mean_nothing_are_refused(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(QueryError, match=message):
        Condition(*arguments)


def test_dates_are_compared_as_dates() -> None:
    day = Condition("date", ">=", (date(2020, 5, 17),))
    assert day == Condition.parse("date>=2020-05-17")
    moment = Condition("date", "<", (datetime(2021, 1, 1, 0, 31, tzinfo=UTC),))
    columns = parse_metadata(json.dumps(row) for row in ROWS)
    assert np.flatnonzero(columns["date"].rows_that_meet(moment, len(ROWS))).tolist() == [0, 1, 2, 4, 5]


def test_filters_are_made_of_what_callers_give() -> None:
    one = Condition("year", ">=", (2020,))
    assert metadata_filter(None) is metadata_filter([]) is None
    assert metadata_filter(one) == metadata_filter([one]) == MetadataFilter((one,))
    assert metadata_filter("year>=2020") == MetadataFilter((Condition("year", ">=", ("2020",)),))
    assert str(metadata_filter(["year>=2020", "lang in en,zh"])) == "year>=2020 and lang in en,zh"
    with pytest.raises(QueryError, match="a condition is 3"):
        metadata_filter([3])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("condition", "met"),
    [
        ("year>=2020", [1, 2, 4]),
        ("year=2020", [1]),
        ("year=2020.0", [1]),
        ("year<2020", [0]),
        ("year!=2020", [0, 2, 3, 4, 5]),
        ("year=unknown", [5]),
        ("year in 2019,2021", [0, 2]),
        ("date>=2020-05-17", [0, 1, 4]),
        ("date>2020-05-17", [1, 4]),
        ("date<2020-05-17", [2, 5]),
        ("date<=2020-05", [0, 2, 5]),
        ("date=2020", [0, 1, 5]),
        ("date>2020", [4]),
        ("date<2020", [2]),
        ("date=2021-01-01", [4]),
        ("date>=2021-01-01T00:30", [4]),
        ("date>=2021-01-01T00:31", []),
        ("lang=en", [0, 2]),
        ("lang~EN", [0, 2, 4, 5]),
        ("lang in en,zh", [0, 1, 2]),
        ("lang!=en", [1, 3, 4, 5]),
        ("tags=sea", [0, 4]),
        ("tags!=sea", [1, 2, 3, 5]),
        ("tags~igh", [0]),
        ("draft=true", [2]),
        ("draft in true,false", [2, 4]),
        ("by.name=周岚", [1]),
        ("by.name~calder", [0]),
        ("by.name>J", [1]),
        ("by.year<2000", [1]),
    ],
)
def test_conditions_hold_where_they_should(condition: str, met: list[int]) -> None:
    columns = parse_metadata(json.dumps(row) for row in ROWS)
    read = Condition.parse(condition)
    mask = columns[read.field].rows_that_meet(read, len(ROWS))
    assert np.flatnonzero(mask).tolist() == met


def test_columns_hold_a_value_once() -> None:
    columns = parse_metadata(
        json.dumps({"lang": "en" if row % 2 else "zh", "n": row}) for row in range(70_000)
    )
    assert sorted(columns) == ["lang", "n"]
    assert sorted(columns["lang"].texts.to_pylist()) == ["en", "zh"]
    assert len(columns["n"].texts) == 70_000
    assert columns["n"].rows.tolist() == list(range(70_000))
    assert columns["n"].rows_that_meet(Condition.parse("n>=69990"), 70_000).sum() == 10


def test_columns_come_back_from_arrays() -> None:
    columns = parse_metadata(json.dumps(row) for row in ROWS)
    for given in (columns, {}):
        opened = columns_from_arrays(column_arrays(given))
        assert sorted(opened) == sorted(given)
        for field, column in given.items():
            assert opened[field].rows.tolist() == column.rows.tolist()
            values = column.texts.take(column.codes).to_pylist()
            assert opened[field].texts.take(opened[field].codes).to_pylist() == values
    assert opened == {}


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("5", 5.0),
        ("-5.25", -5.25),
        ("1e3", 1000.0),
        ("1_000", None),
        ("inf", None),
        ("٥", None),
        ("5.", None),
    ],
)
def test_numbers_are_those_of_json(text: str, number: float | None) -> None:
    column = FieldColumn.of_strings(pa.array([text, "x"]))
    assert column.numbers.tolist()[0] == number if number is not None else np.isnan(column.numbers).all()


def test_values_are_described() -> None:
    columns = parse_metadata(json.dumps({"n": row, "lang": "en"}) for row in range(20))
    assert columns["n"].described() == "has 20 values, from 0 to 19"
    assert columns["lang"].described() == "has the values en"


def test_paths_equal_their_last_part() -> None:
    column = FieldColumn.of_strings(
        pa.array(["notes/report.pdf", None, "report.pdf", "myreport.pdf"]), is_path=True
    )
    assert np.flatnonzero(column.rows_that_meet(Condition.parse("d=report.pdf"), 4)).tolist() == [0, 2]


@pytest.mark.parametrize(
    ("text", "days"),
    [("2020", 366), ("2021", 365), ("2020-2", 29), ("2020/12", 31), ("2020年2月", 29), ("2020-05-17", 1),
     ("2020年5月17日", 1), ("2020.5.17", 1), ("2020-13", None), ("2020-02-30", None), ("17.5.2020", None),
     ("20200517", None), ("2020-05T10:00", None), ("2020-05-17 25:00", None), ("", None)],
)  # fmt: skip
def test_dates_span_what_they_name(text: str, days: int | None) -> None:
    span = date_span(text)
    assert (span is None) == (days is None)
    if span is not None:
        assert span[1] - span[0] == days * 86_400 if days else 0


def test_times_are_moments() -> None:
    early, late = date_span("2021-01-01T08:30:00+08:00"), date_span("2021-01-01 00:30:00Z")
    assert early == late
    assert early is not None
    assert early[1] - early[0] == 1.0
    assert date_span("1970-01-02") == (86_400.0, 172_800.0)
