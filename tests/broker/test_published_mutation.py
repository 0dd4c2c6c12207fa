import pytest

from broker.dispatch import MAX_CORRELATION_CHARS
from broker.published_mutation import IDEMPOTENCY_KEY_SCHEMA, MAX_KEY_CHARS, RETRY_AFTER_S, RUNNING_FACTS, with_retry
from broker.schema_check import compile_schema
from broker.schemas import closed_object


@pytest.mark.parametrize(("key", "fits"), [("", False), ("k", True), ("k" * 200, True), ("k" * 201, False), (7, False)])
def test_a_key_is_one_to_two_hundred_characters(key: object, fits: bool):
    assert (compile_schema(IDEMPOTENCY_KEY_SCHEMA)(key) is None) is fits


def test_every_key_that_fits_comes_back_as_the_correlation_id():
    assert MAX_KEY_CHARS <= MAX_CORRELATION_CHARS


def test_only_the_running_form_says_when_to_call_again():
    assert with_retry({"status": "deleted"}) == {"status": "deleted"}
    running = with_retry({"status": "running", "stage": "create"})
    assert running == {"status": "running", "stage": "create", "retry_after_s": RETRY_AFTER_S}
    del running["status"]
    assert compile_schema(closed_object(RUNNING_FACTS))(running) is None
