"""How a write's end is told, stored, and told again."""

from __future__ import annotations

from pathlib import Path

import pytest

from broker.errors import ErrorCode, GatewayError, MutationUnknown, RateLimited, UpstreamSchemaDrift
from broker.journal_rows import MutationRecord
from broker.write_outcomes import as_rejected, as_unknown, error_json, stored_outcome
from tests.broker.mutation_helpers import inline_journal, request


@pytest.fixture
async def record(tmp_path: Path) -> MutationRecord:
    return (await inline_journal(tmp_path).begin(request())).record


async def settled(tmp_path: Path, error: GatewayError) -> MutationRecord:
    """A row that was rejected with `error`."""
    journal = inline_journal(tmp_path)
    record = (await journal.begin(request("settled"))).record
    await journal.mark_sent(record.id, "create", {})
    return await journal.reject(record.id, error_json(error))


@pytest.mark.parametrize(
    "error",
    [RateLimited("A quota is used up.", details={"retry_after_s": 3}), UpstreamSchemaDrift("izAoDd", "$[0]", "a row")],
    ids=["of-the-usual-form", "of-a-form-of-its-own"],
)
async def test_a_stored_error_is_told_again_word_for_word(
    tmp_path: Path, record: MutationRecord, error: GatewayError
) -> None:
    first = as_rejected(error, record)
    with pytest.raises(type(error)) as again:
        stored_outcome(await settled(tmp_path, first))
    assert again.value.as_error() == first.as_error()


async def test_an_error_is_stored_without_secrets(record: MutationRecord) -> None:
    stored = error_json(GatewayError("At https://notebook.google.com/upload/_/?upload_id=MARKER-123456 it broke."))
    assert "MARKER" not in str(stored)


async def test_what_is_unknown_names_its_row_and_its_cause(record: MutationRecord) -> None:
    unknown = as_unknown(RateLimited("Wait."), record)
    assert unknown.details == {"cause": ErrorCode.RATE_LIMITED, "journal_id": record.id}
    assert as_unknown(MutationUnknown("Gone.", details={"stage": "fill"}), record).details["journal_id"] == record.id


async def test_a_foreign_error_is_told_without_its_text(record: MutationRecord) -> None:
    assert "MARKER" not in as_unknown(ValueError("MARKER"), record).message
