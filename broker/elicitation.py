"""How a call's question reaches the person through the MCP client, in both protocol eras.

Up to 2025-11-25 we send ``elicitation/create`` and wait inside the call. Since 2026-07-28 servers send no requests: the
result says ``input_required``, and the client repeats the call with the answer. Few clients can do either, so a client
that did not declare it is not asked (`Answer` "cannot_ask"); one that declared it and then fails to ask is a no.
"""

from __future__ import annotations

from typing import Any, Final

import trio
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CallToolRequestParams,
    ClientCapabilities,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from broker import confirmation
from broker.confirmation import AnswerNeeded, OpenQuestions, call_digest, one_line
from broker.errors import CallCancelled, DeadlineExceeded
from broker.session import Answer

FORM: Final[dict[str, Any]] = {"type": "object", "properties": {}}
"""Nothing to fill in: the client's own accept and decline are the answer, and no tick box can be overlooked."""
INPUT_KEY: Final = "confirm"
"""Names the question among the inputs of the stateless era."""


class Elicitation:
    """One call's way to the person."""

    def __init__(
        self, ctx: ServerRequestContext[Any, Any], params: CallToolRequestParams, questions: OpenQuestions
    ) -> None:
        self._ctx = ctx
        self._params = params
        self._questions = questions

    async def confirm(self, question: str) -> Answer:
        """Put `question` to the person. Implements `broker.session.Confirm`.

        Raises:
            AnswerNeeded: the result has to carry the question; a repeat of the call brings the answer.
            CallCancelled: the client declared that it can ask, and did not.
            DeadlineExceeded: nobody answered.
        """
        if not can_ask(self._ctx.session.client_capabilities):
            return "cannot_ask"
        question = one_line(question)
        if self._ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return _answer(self._given(question))
        return _answer(await self._ask(question))

    def input_required(self, needed: AnswerNeeded) -> InputRequiredResult:
        """Return the result that asks, in the stateless era."""
        asks = ElicitRequest(params=ElicitRequestFormParams(message=needed.question, requested_schema=FORM))
        return InputRequiredResult(
            input_requests={INPUT_KEY: asks}, request_state=self._questions.ask(needed.question, self._digest())
        )

    async def _ask(self, question: str) -> ElicitResult:
        try:
            with trio.fail_after(confirmation.CONFIRM_WITHIN_S):
                return await self._ctx.session.elicit_form(question, FORM, self._ctx.request_id)
        except trio.TooSlowError:
            raise DeadlineExceeded(
                f"Nobody answered the question within {confirmation.CONFIRM_WITHIN_S:g} s; nothing was sent.",
                hint="Tell the person what is to be confirmed, then make the same call again.",
                started=False,
            ) from None
        except (MCPError, ValidationError) as error:
            raise CallCancelled(
                f"The client did not put the question to the person ({type(error).__name__}); nothing was sent.",
                hint="Ask the person to allow questions in the client, or to set confirm_deletes = false.",
                started=False,
            ) from error

    def _given(self, question: str) -> ElicitResult:
        answer = (self._params.input_responses or {}).get(INPUT_KEY)
        if isinstance(answer, ElicitResult) and self._questions.take(
            self._params.request_state, question, self._digest()
        ):
            return answer
        raise AnswerNeeded(question)

    def _digest(self) -> str:
        return call_digest(self._params.name, self._params.arguments or {})


def can_ask(capabilities: ClientCapabilities | None) -> bool:
    """Tell whether the client shows forms; before there were kinds of it, an empty declaration meant forms."""
    declared = None if capabilities is None else capabilities.elicitation
    return declared is not None and (declared.form is not None or declared.url is None)


def _answer(result: ElicitResult) -> Answer:
    return "accepted" if result.action == "accept" else "declined"
