"""C-013: what real clients accept, applied to everything we publish."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from broker.catalog import AnyTool
from broker.errors import ErrorCode, failure_envelope
from broker.errors import InvalidArgument as SomeError
from broker.mcp_server import INSTRUCTIONS
from broker.published_mutation import IDEMPOTENCY_KEY_SCHEMA, RUNNING_FACTS
from broker.schema_check import compile_schema
from broker.tools import TOOLS
from tests.broker.gemini_schema import argument_paths, sanitised, walked
from tests.shared import case_input

RULES: dict[str, Any] = json.loads(case_input("C-013-schema-lint.json").read_text())
PUBLISHED = pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)


def nodes(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the schema and every schema inside it."""
    yield schema
    for sub in schema.get("properties", {}).values():
        yield from nodes(sub)
    if "items" in schema:
        yield from nodes(schema["items"])


def test_c013_the_published_names_are_the_nine_in_a_fixed_order():
    assert [tool.name for tool in TOOLS] == RULES["expected_tools"]


@PUBLISHED
def test_c013_names_and_texts_fit_every_client(tool: AnyTool):
    assert re.fullmatch(RULES["tool_name_regex"], tool.name)
    assert len(tool.name) <= 32 < RULES["tool_name_max_length"]
    assert len(tool.description) < 1000
    for node in [*nodes(tool.input_schema), *nodes(tool.output_schema)]:
        assert len(node.get("description", "")) < 1000


@PUBLISHED
def test_c013_the_input_schema_breaks_no_rule(tool: AnyTool):
    schema = tool.input_schema
    for key, value in RULES["top_level_must"].items():
        assert schema[key] == value
    assert not schema.keys() & set(RULES["top_level_forbidden"])
    assert not {"type", "title"} <= schema["properties"].keys()
    for node in nodes(schema):
        assert not node.keys() & set(RULES["anywhere_forbidden"])
        assert isinstance(node["type"], str)
        assert node["type"] != "array" or "type" in node["items"]
        assert node["type"] != "object" or "properties" in node
        assert "format" not in node
        assert set(node.get("required", [])) <= node.get("properties", {}).keys()
        assert all(isinstance(value, str) for value in node.get("enum", []))
        if "default" in node:
            assert compile_schema(node)(node["default"]) is None


@PUBLISHED
@pytest.mark.parametrize("clean", [sanitised, walked])
def test_c013_no_argument_loses_its_name_type_or_meaning_in_a_gemini_style_client(tool: AnyTool, clean: Any):
    cleaned = clean(tool.input_schema)
    assert argument_paths(cleaned) == argument_paths(tool.input_schema)
    assert cleaned.get("required") == tool.input_schema.get("required")


def test_the_sources_type_and_title_stay_arguments_in_a_gemini_style_client():
    """The design keeps these names, which are also words of schemas."""
    schema = next(tool.input_schema for tool in TOOLS if tool.name == "add_source")
    for cleaned in (sanitised(schema), walked(schema)):
        source = cleaned["properties"]["source"]
        assert source["type"] == "object"
        assert source["properties"]["type"]["enum"] == ["text", "url", "drive", "file"]
        assert source["properties"]["title"]["type"] == "string"
        assert source["required"] == ["type"]


@PUBLISHED
def test_writing_tools_take_a_key_and_reading_ones_need_none(tool: AnyTool):
    writes = {"add_source", "create_note", "delete_note"}
    assert ("idempotency_key" in tool.input_schema.get("required", [])) is (tool.name in writes)
    assert tool.hints.read_only is (tool.name not in writes | {"select_notebook"})
    if tool.name in writes:
        assert tool.hints.idempotent
        assert tool.input_schema["properties"]["idempotency_key"] is IDEMPOTENCY_KEY_SCHEMA
        facts = tool.result_schema["properties"]
        assert facts.keys() >= RUNNING_FACTS.keys()
        assert "running" in facts["status"]["enum"]
        assert "MUTATION_UNKNOWN" in tool.description


@PUBLISHED
def test_the_output_schema_is_one_plain_object_without_combinators(tool: AnyTool):
    schema = tool.output_schema
    assert schema["type"] == "object"
    for node in nodes(schema):
        assert isinstance(node, dict)
        assert not node.keys() & {*RULES["anywhere_forbidden"], "anyOf"}
        assert "type" in node or "properties" in node  # no type: an object, or null
        assert isinstance(node.get("type", ""), str)
        assert node.get("type") != "object" or "properties" in node
    assert set(schema["properties"]["error"]["properties"]["code"]["enum"]) == {str(code) for code in ErrorCode}


@PUBLISHED
def test_c012_the_output_schema_admits_every_failure(tool: AnyTool):
    meta = {"traceparent": "00-x", "mcp_correlation_id": "1"}
    envelope = failure_envelope(SomeError("wrong", details={"anything": [1, None, {"x": True}]}), meta)
    assert compile_schema(tool.output_schema)(envelope) is None


@PUBLISHED
def test_all_four_hints_are_stated(tool: AnyTool):
    assert all(
        isinstance(getattr(tool.hints, name), bool) for name in ("read_only", "destructive", "idempotent", "open_world")
    )


def test_the_instructions_fit_every_client():
    assert len(INSTRUCTIONS.encode()) < 2000
    assert INSTRUCTIONS.isascii()
