from broker.schema_check import compile_schema
from broker.schemas import closed_object, envelope, or_null, text, whole_number

RESULT = closed_object({"name": text()}, required=("name",))
META = {"traceparent": "00-x", "mcp_correlation_id": "1"}


def test_a_value_that_may_be_null_has_no_type_and_admits_both():
    schema = or_null(closed_object({"start": whole_number()}, required=("start",)))
    assert "type" not in schema
    check = compile_schema(schema)
    assert check(None) is None
    assert check({"start": 1}) is None
    assert check({"end": 1}) is not None


def test_an_envelope_admits_success_and_failure_and_nothing_half():
    check = compile_schema(envelope(RESULT))
    error = {"code": "INTERNAL", "message": "m", "retryable": False}
    assert check({"ok": True, "result": {"name": "x"}, "_meta": META}) is None
    assert check({"ok": False, "error": error, "_meta": META}) is None
    assert check({"ok": True, "result": {}, "_meta": META}) is not None
    assert check({"ok": False, "error": {**error, "code": "OTHER"}, "_meta": META}) is not None
    assert check({"ok": True, "result": {"name": "x"}}) is not None
    assert check({"ok": True, "result": {"name": "x"}, "_meta": {**META, "more": 1}}) is not None


def test_hop_times_are_numbers_by_known_names():
    check = compile_schema(envelope(RESULT))
    success = {"ok": True, "result": {"name": "x"}}
    assert check({**success, "_meta": {**META, "hops_ms": {"total_ms": 1.5, "fetch_ms": 1}}}) is None
    assert check({**success, "_meta": {**META, "hops_ms": {"other_ms": 1}}}) is not None
