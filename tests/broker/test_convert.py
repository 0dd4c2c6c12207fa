from typing import Any

import attrs
import pytest

from broker.catalog import AnyTool
from broker.convert import structure_arguments
from broker.errors import InvalidArgument
from broker.tools import TOOLS


@attrs.frozen
class Sample:
    name: str
    size: int = 3
    ids: list[str] | None = None


def test_known_keys_become_typed_fields():
    assert structure_arguments({"name": "a", "ids": ["x"]}, Sample) == Sample("a", 3, ["x"])


def test_an_unknown_key_is_an_error_that_names_it():
    """ADR-003: never ignored."""
    with pytest.raises(InvalidArgument, match="nme"):
        structure_arguments({"name": "a", "nme": 1}, Sample)


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_class_and_published_schema_have_the_same_fields(tool: AnyTool):
    fields: tuple[attrs.Attribute[Any], ...] = attrs.fields(tool.arguments)
    assert [field.name for field in fields] == list(tool.input_schema["properties"])
    required = [field.name for field in fields if field.default is attrs.NOTHING]
    assert required == tool.input_schema.get("required", [])
    for field in fields:
        published = tool.input_schema["properties"][field.name]
        if "default" in published:
            assert field.default == published["default"]
