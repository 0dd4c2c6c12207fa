"""From the text of an answer stream to the growing answer (wire reference, 8.2; C-062 to C-066).

Every event carries a whole state: a thinking note (kind 2), or all of the answer so far (kind 1), which usually but not
always begins with the text before. Only the event with the final flag is the answer; heartbeats are empty lists.
Pure: text in pieces cut anywhere comes in, states come out.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from attrs import field, frozen

from broker.answer_framing import IncompleteAnswer
from broker.batchexecute import ErrorRow, ResultRow, Row, RowReader, decode_result_text
from broker.citations import CitedAnswer, decode_final_answer
from broker.errors import GatewayError, InvalidArgument, RateLimited, StreamSevered
from broker.requests import STREAM
from broker.rpc_status import QUESTION_LIMIT_HINT, error_row_error, status_error
from broker.slots import Slot

ANSWER: Final = 1
THINKING: Final = 2


class Phase(StrEnum):
    """What a state of the stream is."""

    THINKING = "thinking"
    ANSWER = "answer"
    FINAL = "final"


@frozen
class AnswerState:
    """One state of the stream.

    `text` is a complete thinking note, or all of the answer's Markdown so far. `added` is what an answer gained when
    it begins with the answer before; None means that `text` replaces it. `answer` is only there in the final state.
    """

    phase: Phase
    text: str = field(repr=False)
    added: str | None = field(default=None, repr=False)
    answer: CitedAnswer | None = None


class AnswerDecoder:
    """Reads one answer stream.

    Raises (`feed_untrusted`, `end`): UpstreamSchemaDrift and SignInPage for what is no answer stream; StreamSevered
        with `details.partial_text` when it breaks off; RateLimited when it ends without any event (the chat quota is
        used up); otherwise what the status in the stream says.
    """

    def __init__(self) -> None:
        self._rows = RowReader(STREAM)
        self._half_pair = ""
        self._result_row_seen = False
        self._partial_text = ""
        self._final: AnswerState | None = None

    def __repr__(self) -> str:
        state = "final" if self.is_final else f"{len(self._partial_text)} characters so far"
        return f"<AnswerDecoder {state}>"

    @property
    def is_final(self) -> bool:
        """Tell whether the final state has come; nothing after it changes the answer."""
        return self._final is not None

    @property
    def has_begun(self) -> bool:
        """Tell whether any event of the service has come."""
        return self._result_row_seen

    @property
    def partial_text(self) -> str:
        """Return the last answer text, without thinking notes."""
        return self._partial_text

    def feed_untrusted(self, text: str) -> list[AnswerState]:
        """Take the next piece of text; return the states it completed."""
        return self._take(self._rows.feed_untrusted(self._whole_pairs(text)))

    def end(self) -> list[AnswerState]:
        """Say that the stream is over; the final state must have come by now or be among the last rows."""
        try:
            states = self._take(self._rows.end())
        except IncompleteAnswer as cut:
            # A body cut behind its final event has all of the answer.
            if self._final is not None:
                return []
            raise self.severed(cut.message) from cut
        if self._final is not None:
            return states
        if not self._result_row_seen:
            raise RateLimited(
                f"{STREAM}: the service ended the stream without an answer: the account's chat quota is used up"
            )
        raise self.severed("the service closed the stream without the final marker")

    def severed(self, reason: str, details: dict[str, object] | None = None) -> StreamSevered:
        """Build the error for a stream that broke off, with what had arrived."""
        return StreamSevered(
            f"the answer broke off before its final marker: {reason}",
            details={**(details or {}), "partial_text": self._partial_text},
        )

    def _whole_pairs(self, text: str) -> str:
        # A piece may end between the halves of a surrogate pair when it was cut in UTF-16 units.
        text = self._half_pair + text
        self._half_pair = ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._half_pair = text[:-1], text[-1]
        if text and "\ud800" <= text[0] <= "\udbff":
            text = text[:2].encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace") + text[2:]
        return text

    def _take(self, rows: list[Row]) -> list[AnswerState]:
        states = [self._take_row(row) for row in rows if self._final is None]
        return [state for state in states if state is not None]

    def _take_row(self, row: Row) -> AnswerState | None:
        # `_take` looks at the flag before each row, so nothing after the final event is read.
        if self._final is not None:
            return None
        if isinstance(row, ErrorRow):
            raise self._refused(error_row_error(STREAM, row.code))
        self._result_row_seen = True
        return self._take_result(row)

    def _take_result(self, row: ResultRow) -> AnswerState | None:
        if row.payload_text is None:
            if row.status is None:
                return None
            raise self._refused(status_error(STREAM, row.status, "row.status"))
        event = Slot(decode_result_text(STREAM, row.payload_text), STREAM)
        if len(event) == 0:
            return None
        record = event.maybe_list(0)
        text = "" if record is None else record.maybe_text(0) or ""
        tree = None if record is None else record.maybe_list(4)
        kind = None if tree is None else tree.maybe_int(4)
        is_final = event.maybe_flag(4) is True
        if kind not in (ANSWER, THINKING) and (text or kind is not None):
            holder = record if tree is None else tree
            raise (holder or event).drift(4, "an event kind, 1 (answer) or 2 (thinking)")
        if kind == THINKING:
            if is_final:
                raise event.drift(4, "a final event that is an answer", "a thinking note")
            return AnswerState(Phase.THINKING, text)
        return self._answer(event, text, is_final=is_final)

    def _answer(self, event: Slot, text: str, *, is_final: bool) -> AnswerState:
        before, self._partial_text = self._partial_text, text
        added = text[len(before) :] if text.startswith(before) else None
        if not is_final:
            return AnswerState(Phase.ANSWER, text, added)
        self._final = AnswerState(Phase.FINAL, text, added, decode_final_answer(event))
        return self._final

    def _refused(self, error: GatewayError) -> GatewayError:
        if self._partial_text:
            return self.severed(error.message, {"cause": str(error.code)})
        if isinstance(error, InvalidArgument):
            error.hint = QUESTION_LIMIT_HINT
        return error
