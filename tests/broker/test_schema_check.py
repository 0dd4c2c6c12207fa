from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.schema_check import UnsupportedSchema, Violation, compile_schema
from broker.schemas import closed_object, flag, list_of, number, or_null, text, whole_number
from broker.tools import TOOLS

SCHEMA = closed_object(
    {
        "name": text(minLength=1, maxLength=5, pattern="^[a-c]*$"),
        "kind": text(enum=["a", "b"]),
        "size": whole_number(minimum=1, maximum=10),
        "score": number(minimum=0),
        "on": flag(),
        "parts": list_of(closed_object({"id": text()}, required=("id",)), minItems=1, maxItems=2),
        "span": or_null(closed_object({"start": whole_number()}, required=("start",))),
    },
    required=("name",),
)
CHECK = compile_schema(SCHEMA)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({}, "name is required"),
        ({"name": "a", "nam": 1}, "nam is not known here; known: name, kind, size, score, on, parts, span"),
        ({"name": 5}, "name must be a string, not a number"),
        ({"name": None}, "name must be a string, not null"),
        ({"name": ""}, "name has the wrong number of characters: at least 1, not 0"),
        ({"name": "x"}, "name has the wrong form: a text like ^[a-c]*$"),
        ({"name": "a\n"}, "name has the wrong form: a text like ^[a-c]*$"),
        ({"name": "a", "size": True}, "size must be a whole number, not true"),
        ({"name": "a", "size": 1.5}, "size must be a whole number, not a number"),
        ({"name": "a", "size": 11}, "size must be at most 10"),
        ({"name": "a", "kind": "c"}, "kind must be one of: a, b"),
        ({"name": "a", "parts": "[]"}, "parts must be an array, not a string; pass the array itself, not its text"),
        ({"name": "a", "parts": []}, "parts has the wrong number of items: at least 1, not 0"),
        ({"name": "a", "parts": [{"id": "x"}, {}]}, "parts[1].id is required"),
        ({"name": "a", "parts": [{"id": 3}]}, "parts[0].id must be a string, not a number"),
        ("{}", "must be an object, not a string; pass the object itself, not its text"),
    ],
)
def test_the_first_violation_is_named_with_its_path(value: object, message: str):
    assert str(CHECK(value)) == message


def test_values_are_never_echoed():
    violation = CHECK({"name": ["a secret"]})
    assert violation is not None
    assert "secret" not in str(violation)


@pytest.mark.parametrize(
    "schema",
    [
        {"anyOf": []},
        {"type": ["string", "null"]},
        {"type": "text"},
        {"$ref": "#/x"},
        {"type": "object", "additionalProperties": True},
        {"type": "object", "properties": {}, "required": ["x"]},
        {"type": "integer", "enum": [1]},
        {"type": "integer", "exclusiveMinimum": 1},
    ],
)
def test_what_is_not_checked_cannot_be_published(schema: dict[str, Any]):
    with pytest.raises(UnsupportedSchema):
        compile_schema(schema)


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_every_published_schema_compiles(tool: Any):
    compile_schema(tool.input_schema)
    compile_schema(tool.output_schema)


SCALARS = (
    st.none() | st.booleans() | st.integers(-2, 12) | st.sampled_from([0.5, 2.0, -1.0]) | st.text("abcx", max_size=7)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "kind", "id", "start", "parts", "size", "other"]), inner, max_size=4)
    ),
    max_leaves=6,
)
NEARLY_GOOD = st.fixed_dictionaries(
    {"name": SCALARS},
    optional={
        "kind": SCALARS,
        "size": SCALARS,
        "score": SCALARS,
        "on": SCALARS,
        "parts": VALUES | st.lists(st.fixed_dictionaries({"id": SCALARS}), max_size=3),
        "span": VALUES | st.fixed_dictionaries({"start": SCALARS}),
    },
)


@settings(max_examples=300)
@given(NEARLY_GOOD | VALUES)
def test_it_agrees_with_the_reference_implementation(value: object):
    """jsonschema is the reference; ours is only faster and says more."""
    reference = jsonschema.Draft202012Validator(SCHEMA)
    assert (CHECK(value) is None) == reference.is_valid(value)


def test_paths_join_as_people_write_them():
    assert Violation("[0].id", "is required").inside("parts").path == "parts[0].id"
    assert Violation("", "is required").inside("name").path == "name"
