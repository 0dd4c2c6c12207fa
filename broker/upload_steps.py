"""What to do next while a file is uploaded: events in, commands out. Pure: no I/O, no clock, no randomness.

The service is the authority on what it has (C-083): after anything unclear it is asked, and its number wins over every
counter of ours. Bytes may be sent again, because the service takes them only at the offset it is at; what must not
happen twice is a registration (never done here) and a finalisation. The latter belongs to one session, which the
service ends with it; hence no other session is started once a finalisation may have left.

    LOOKING → STARTING → SENDING → FINISHING → ENDED     the straight way
    ASKING                                               after a break, and where an earlier run left a session
    CONFIRMING                                           a finalisation may have left, and its session cannot tell

`broker.uploading` carries the commands out.
"""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import Final

from attrs import frozen

from broker.errors import GatewayError, NotFound, TabDiscarded, UpstreamRejected, UpstreamSchemaDrift
from broker.notebooks import State as RowState
from broker.upload_messages import (
    Command,
    Done,
    Event,
    Failed,
    FileUnusable,
    Finish,
    GiveUp,
    LookAtRow,
    Pause,
    Query,
    RowSeen,
    SendSlice,
    Start,
    Started,
    Taken,
    Told,
)
from broker.upload_trouble import (
    TRIES,
    Place,
    Trouble,
    file_unusable,
    refused_start,
    session_dead,
    size_drift,
    stopped,
    trouble_of,
    with_place,
)
from native_host.protocol import FRAGMENT_BYTES

ENVELOPE_BYTES: Final = 2048
"""More than a frame holds beside its slice: ids, a handle, an offset, an e-mail address, a trace."""
SLICE_BYTES: Final = (FRAGMENT_BYTES - ENVELOPE_BYTES) // 4 * 3
"""What one call carries: as much as fits, in base64, into one message to Chrome. A larger one would travel as
fragments, whose second base64 costs the worker three times the processor time per byte (docs/performance.md). The page
gathers slices until they fill the service's own granularity (C-082)."""
LONGEST_ASKED_WAIT_S: Final = 120.0
"""The service may ask for such a pause; for a longer one the upload stops, and a repeat of the call resumes it."""
NEW_STARTS: Final = 1
"""Sessions that one run starts anew after the browser or the extension has forgotten one (design, "Upload")."""


class Phase(StrEnum):
    """What is being waited for."""

    LOOKING = "looking"
    """The source's row: it must be there, and reading it is how the extension learns that the id is ours."""
    STARTING = "starting"
    ASKING = "asking"
    SENDING = "sending"
    FINISHING = "finishing"
    CONFIRMING = "confirming"
    """The source's row: past preparing means that the service has the whole file."""
    ENDED = "ended"


class Reaction(StrEnum):
    """What a failure leads to, after a pause."""

    AGAIN = "again"
    LOOK = "look"
    ASK = "ask"
    RENEW = "renew"
    STOP = "stop"


_AGAIN: Final = {Trouble.LOST: Reaction.AGAIN, Trouble.BUSY: Reaction.AGAIN}
_ASK: Final = {Trouble.LOST: Reaction.ASK, Trouble.BUSY: Reaction.ASK, Trouble.REFUSED: Reaction.ASK}
_RENEW: Final = {Trouble.FORGOTTEN: Reaction.RENEW}
REACTIONS: Final[dict[Phase, dict[Trouble, Reaction]]] = {
    Phase.LOOKING: _AGAIN,
    # A start whose answer was lost leaves a session without a byte, which nobody will ever finish.
    Phase.STARTING: {Trouble.LOST: Reaction.LOOK, Trouble.BUSY: Reaction.LOOK},
    Phase.ASKING: {**_AGAIN, Trouble.REFUSED: Reaction.AGAIN, **_RENEW},
    Phase.SENDING: {**_ASK, **_RENEW},
    Phase.FINISHING: {**_ASK, **_RENEW},
    Phase.CONFIRMING: _AGAIN,
}
"""A trouble that is missing in a row means STOP."""

_PAST_PREPARING: Final[frozenset[RowState]] = frozenset({"processing", "ready", "failed"})


@frozen
class Target:
    """Which source gets how many bytes, and what earlier runs have left behind."""

    source_id: str
    size_bytes: int
    has_session: bool = False
    finalize_sent: bool = False
    starts: int = 0


class UploadSteps:
    """One run of one upload. Call `begin` once, then `after` with what came of each command but `Pause`.

    `received_bytes` is what the service has, as far as it has said so.
    """

    # Invariant: 0 <= _offset <= size_bytes, and so is received_bytes.
    # Invariant: phase is STARTING only while not finalize_sent.
    # Invariant: _ending is set only while CONFIRMING or ENDED.

    def __init__(self, target: Target) -> None:
        self.phase = Phase.LOOKING
        self.stage = "start"
        self.received_bytes = 0
        self.finalize_sent = target.finalize_sent
        self._target = target
        self._offset = 0
        self._most_received = 0
        self._starts = target.starts
        self._new_starts_left = NEW_STARTS
        self._failures: Counter[Trouble] = Counter()
        self._ending: GiveUp | None = None

    def __repr__(self) -> str:
        sent = ", finalize sent" if self.finalize_sent else ""
        return f"<UploadSteps {self.phase} at {self._offset} of {self._target.size_bytes}{sent}>"

    def begin(self) -> Command:
        """Return the first command."""
        if self._target.has_session:
            self.stage = "finalize" if self.finalize_sent else _slice_stage(0)
            return self._go(Phase.ASKING)
        if self.finalize_sent:
            self.stage = "finalize"
            return self._stop(_forgotten())
        return self._go(Phase.LOOKING)

    def after(self, event: Event) -> Command:
        """Take in what came of the last command, and return the next one."""
        match self.phase, event:
            case _, Failed():
                return self._failed(event)
            case Phase.LOOKING, RowSeen(state):
                return self._row_before_start(state)
            case Phase.STARTING, Started():
                self._starts += 1
                self._offset = self.received_bytes = self._most_received = 0
                return self._send_on()
            case Phase.ASKING, Told():
                return self._told(event)
            case Phase.SENDING, Taken():
                return self._taken(event)
            case Phase.FINISHING, Told():
                self.finalize_sent = True
                return self._told(event)
            case ((Phase.SENDING | Phase.FINISHING), FileUnusable(reason)):
                return self._file_unusable(reason)
            case Phase.CONFIRMING, RowSeen(state):
                return self._row_after_finish(state)
            case _:
                raise AssertionError(f"{event} cannot happen while {self.phase}")

    # -- what was said -----------------------------------------------------------------------------------------------

    def _row_before_start(self, state: RowState | None) -> Command:
        if state is None:
            return self._again(Trouble.NOT_YET, Phase.LOOKING, _row("the notebook does not list it"))
        if state != "preparing" and self._starts:
            return self._stop(_row(f"its session is gone, and it is {state}, not preparing"))
        return self._go(Phase.STARTING)

    def _row_after_finish(self, state: RowState | None) -> Command:
        if state in _PAST_PREPARING:
            return self._end(Done())
        return self._again(Trouble.NOT_YET, Phase.CONFIRMING, _row("nothing shows that it is complete"))

    def _taken(self, said: Taken) -> Command:
        size_bytes = self._target.size_bytes
        for name, number in (("next_offset", said.next_offset), ("received_bytes", said.received_bytes)):
            if number is not None and not 0 <= number <= size_bytes:
                return self._stop(size_drift(name, size_bytes, number))
        if said.received_bytes is not None:
            self._note_received(said.received_bytes)
        slice_end = self._slice_end()
        if said.next_offset != slice_end:
            lost_track = TabDiscarded("The page has lost track of the upload; it was reloaded, most likely.")
            return self._again(Trouble.LOST, Phase.ASKING, lost_track)
        self._offset = slice_end
        return self._send_on()

    def _told(self, said: Told) -> Command:
        received_bytes, size_bytes = said.received_bytes, self._target.size_bytes
        match said.status:
            case "final":
                # A finished session need not say its size any more (C-083); if it does, it must be the file's.
                if received_bytes not in (None, size_bytes):
                    return self._stop(size_drift("size_received", size_bytes, received_bytes))
                return self._end(Done())
            case "active":
                if received_bytes is None or not 0 <= received_bytes <= size_bytes:
                    return self._stop(size_drift("size_received", size_bytes, received_bytes))
                self._note_received(received_bytes)
                if self.phase is Phase.FINISHING:
                    still_open = UpstreamRejected(
                        "The service answered the finalisation, but its session is still open."
                    )
                    return self._again(Trouble.REFUSED, Phase.ASKING, still_open)
                self._offset = received_bytes
                return self._send_on()
            case "cancelled" | "expired":
                return self._give_up(GiveUp(session_dead(self._place(), said.status)))

    def _failed(self, event: Failed) -> Command:
        error = event.error
        if self.phase is Phase.FINISHING and error.started:
            self.finalize_sent = True
        if event.is_last:
            return self._end(self._ending or GiveUp(stopped(self._place(), error), error))
        trouble = trouble_of(error)
        match REACTIONS[self.phase].get(trouble, Reaction.STOP):
            case Reaction.AGAIN:
                return self._again(trouble, self.phase, error)
            case Reaction.LOOK:
                return self._again(trouble, Phase.LOOKING, error)
            case Reaction.ASK:
                return self._again(trouble, Phase.ASKING, error)
            case Reaction.RENEW:
                return self._renew()
            case Reaction.STOP:
                return self._stop(error)

    def _file_unusable(self, reason: str) -> Command:
        place = self._place()
        unusable = file_unusable(place, reason)
        # With a finalisation on its way, what was sent before the change may have become the source.
        return self._give_up(GiveUp(stopped(place, unusable) if self.finalize_sent else unusable))

    # -- what to do --------------------------------------------------------------------------------------------------

    def _go(self, phase: Phase) -> Command:
        self.phase = phase
        match phase:
            case Phase.LOOKING | Phase.CONFIRMING:
                return LookAtRow()
            case Phase.STARTING:
                assert not self.finalize_sent
                self.stage = "start"
                return Start()
            case Phase.ASKING:
                return Query()
            case Phase.SENDING:
                self.stage = _slice_stage(self._offset)
                return SendSlice(self._offset, self._slice_end() - self._offset)
            case Phase.FINISHING:
                self.stage = "finalize"
                return Finish()
            case Phase.ENDED:
                raise AssertionError("the end is no command")

    def _send_on(self) -> Command:
        return self._go(Phase.SENDING if self._offset < self._target.size_bytes else Phase.FINISHING)

    def _slice_end(self) -> int:
        return min(self._offset + SLICE_BYTES, self._target.size_bytes)

    def _note_received(self, received_bytes: int) -> None:
        self.received_bytes = received_bytes
        if received_bytes > self._most_received:
            self._most_received = received_bytes
            self._failures.clear()

    def _again(self, trouble: Trouble, phase: Phase, error: GatewayError) -> Command:
        self._failures[trouble] += 1
        asked_s = error.details.get("retry_after_s")
        at_least_s = float(asked_s) if isinstance(asked_s, (int, float)) else 0.0
        if self._failures[trouble] >= TRIES[trouble] or at_least_s > LONGEST_ASKED_WAIT_S:
            return self._stop(error)
        return Pause(self._go(phase), self._failures[trouble], at_least_s)

    def _renew(self) -> Command:
        """Start from 0 for the same source, where that cannot finalise it twice."""
        if self.finalize_sent or not self._new_starts_left:
            return self._stop(_forgotten())
        self._new_starts_left -= 1
        return self._go(Phase.LOOKING)

    # -- how it ends -------------------------------------------------------------------------------------------------

    def _stop(self, cause: GatewayError) -> Command:
        return self._give_up(GiveUp(self._error_of(cause), cause))

    def _error_of(self, cause: GatewayError) -> GatewayError:
        """Return the upload's own error. It is definite where going on is of no use and no finalisation ever left."""
        place = self._place()
        if isinstance(cause, UpstreamSchemaDrift) and self.phase not in (Phase.LOOKING, Phase.CONFIRMING):
            return with_place(place, cause, definite=not self.finalize_sent)
        if self.phase is Phase.STARTING and trouble_of(cause) is Trouble.REFUSED:
            return refused_start(place, cause)
        return stopped(place, cause)

    def _give_up(self, ending: GiveUp) -> Command:
        """End in an error, but not before the row had its say if a finalisation may have left."""
        if self._ending is not None:
            return self._end(self._ending)
        self._ending = ending
        if not self.finalize_sent:
            return self._end(ending)
        self._failures.clear()
        return self._go(Phase.CONFIRMING)

    def _end(self, command: Done | GiveUp) -> Command:
        self.phase = Phase.ENDED
        return command

    def _place(self) -> Place:
        return Place(self._target.source_id, self.stage, self.received_bytes)


def _slice_stage(offset: int) -> str:
    return f"slice {offset // SLICE_BYTES + 1}"


def _forgotten() -> NotFound:
    return NotFound("the browser or its extension was restarted, and the session is forgotten", hint="")


def _row(what: str) -> NotFound:
    return NotFound(what, hint="Call list_sources to see the source's state.")
