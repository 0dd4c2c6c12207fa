from pathlib import Path

import pytest

from broker.catalog import AnyTool
from broker.errors import ErrorCode
from broker.tool_docs import tools_markdown
from broker.tools import TOOLS

DOCS = Path(__file__).resolve().parents[2] / "docs" / "tools.md"


def test_the_reference_is_what_the_catalog_says():
    assert DOCS.read_text(encoding="utf-8") == tools_markdown(), "run: python -m broker.tool_docs > docs/tools.md"


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_every_tool_and_argument_is_described(tool: AnyTool):
    text = tools_markdown()
    assert f"## {tool.name}\n" in text
    for name in tool.input_schema["properties"]:
        assert f"| `{name}` |" in text


def test_every_error_code_is_described():
    assert all(f"| `{code}` |" in tools_markdown() for code in ErrorCode)
