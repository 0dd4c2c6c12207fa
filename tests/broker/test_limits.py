from __future__ import annotations

import ast
import inspect

from broker import limits


def test_every_limit_is_positive_and_states_its_reason() -> None:
    body = ast.parse(inspect.getsource(limits)).body
    names = [node.target.id for node in body if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)]
    assert len(names) >= 5
    for node, reason in zip(body, body[1:] + body[:1], strict=True):
        if isinstance(node, ast.AnnAssign):
            assert isinstance(reason, ast.Expr), ast.unparse(node)
            assert isinstance(reason.value, ast.Constant)
    assert all(getattr(limits, name) > 0 for name in names)
