"""Faults on demand: what ``POST /faults`` accepts, and the queue that hands them to requests.

A fault aims at one target (an RPC id, ``stream``, ``page``, ``upload`` or one stage of it such as ``upload.slice``),
optionally at one account; it lets ``skip`` requests pass and wears off after ``times`` more. Several faults on one
request work together (a delay and then a status, say).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Literal, TypeAlias, cast

import attrs
from attrs import define, field, frozen

from harness.emulator.fault_checks import BadFault, integer, number, one_of, slot_path, text, texts_by_name
from harness.emulator.rpc_table import READS, WRITES
from harness.emulator.upload_faults import CutRequest, Granularity, QueryAnswer, UploadUrl
from harness.emulator.wire_json import Json
from harness.emulator.write_faults import CommitThenDrop, DropThenCommit, FailIngest, IngestStates, SlowIngest

Target: TypeAlias = str
UPLOAD: Final = "upload"
UPLOAD_STAGES: Final = ("upload.start", "upload.slice", "upload.finalize", "upload.query", "upload.cancel")
TARGETS: Final = (*READS, *WRITES, "stream", UPLOAD, *UPLOAD_STAGES, "page")
"""What a fault can aim at; ``upload`` is every stage."""
SPAN_PLACES: Final = ("runs", "markers", "citations")


@frozen(kw_only=True)
class Delay:
    """Wait before anything else happens."""

    delay_ms: float = field(validator=number(0, 3_600_000))


@frozen(kw_only=True)
class Http429:
    """Too many requests; ``retry_after_s`` null leaves the header out."""

    retry_after_s: int | None = field(default=1, validator=attrs.validators.optional(integer(0, 86_400)))


@frozen(kw_only=True)
class HttpError:
    """Any other HTTP refusal with a small HTML body, 400 (as after a stale token) or 500 for example.

    ``commit_after_ms`` makes the change all the same, that much later. ``reason`` and ``headers`` are what a careless
    service would say beside the number (case C-029).
    """

    http_status: int = field(validator=integer(400, 599))
    commit_after_ms: float | None = field(default=None, validator=attrs.validators.optional(number(0, 3_600_000)))
    reason: str = field(default="refused by a fault", validator=text)
    headers: dict[str, str] = field(factory=dict[str, str], validator=texts_by_name)


@frozen(kw_only=True)
class Status:
    """A row with no result and a status; ``user_displayable`` adds the quota detail, ``sentence`` a text inside it.

    ``commit_after_ms`` makes the change all the same, that much later (case C-076).
    """

    code: int = field(validator=integer(0, 99))
    user_displayable: bool = field(default=False, validator=one_of(True, False))
    sentence: str | None = field(default=None, validator=attrs.validators.optional(text))
    commit_after_ms: float | None = field(default=None, validator=attrs.validators.optional(number(0, 3_600_000)))

    def as_list(self) -> list[Json]:
        if not self.user_displayable:
            return [self.code]
        kind = "type.googleapis.com/google.internal.labs.tailwind.orchestration.v1.UserDisplayableError"
        detail: list[Json] = [None, None, None, None, [None, [[1]], 2]]
        if self.sentence is not None:
            detail[0] = [self.sentence]
        return [self.code, None, [[kind, detail]]]


@frozen(kw_only=True)
class Drift:
    """Another shape: one slot of the result (one key of the page's data for ``page``) is changed.

    ``chunks`` says, for the stream, whether every chunk changes or the final one alone.
    """

    slot: list[int | str] = field(validator=slot_path)
    action: Literal["remove", "retype", "nest", "replace"] = field(
        default="remove", validator=one_of("remove", "retype", "nest", "replace")
    )
    value: Json = None
    chunks: Literal["all", "final"] = field(default="all", validator=one_of("all", "final"))


@frozen(kw_only=True)
class Disconnect:
    """The body ends after ``bytes`` bytes: the connection closes, or (``stall``) goes silent."""

    bytes: int = field(default=0, validator=integer(0, 1 << 30))
    stall: bool = field(default=False, validator=one_of(True, False))


@frozen(kw_only=True)
class SignedOut:
    """This request finds no session. Data calls answer 401, or redirect to the sign-in host."""

    answer: Literal["401", "redirect"] = field(default="401", validator=one_of("401", "redirect"))


@frozen(kw_only=True)
class ShiftSpans:
    """Moves one of the three places that carry answer spans and leaves the other two (wire reference §8.2).

    ``runs``: the offsets in the document tree; ``markers``: the span map ``E[2]``; ``citations``: the annotations
    ``A[4][0][1]`` that tie spans to citation entries.
    """

    place: Literal["runs", "markers", "citations"] = field(validator=one_of(*SPAN_PLACES))
    by: int = field(default=1, validator=integer(-1000, 1000))


@frozen(kw_only=True)
class Ungrounded:
    """The final answer has no citations although passages were found; ``keep_markers`` leaves ``[1]`` in the text."""

    keep_markers: bool = field(default=False, validator=one_of(True, False))


@frozen(kw_only=True)
class NoFinalMarker:
    """The stream closes properly, but no chunk says that it is the last."""


@frozen(kw_only=True)
class NoData:
    """Only the bookkeeping rows and the closing row."""


@frozen(kw_only=True)
class OtherId:
    """The answer carries the id of another method, as after a new build."""

    rpc_id: str = field(default="zZ9zZ9", validator=text)


@frozen(kw_only=True)
class BareLengths:
    """Chunk lengths without the two line breaks, as in some edited recordings."""


@frozen(kw_only=True)
class Body:
    """This very text as the body, whatever was asked (for field cases)."""

    body: str = field(validator=text)


Effect: TypeAlias = (
    Delay
    | Http429
    | HttpError
    | Status
    | Drift
    | Disconnect
    | SignedOut
    | ShiftSpans
    | Ungrounded
    | NoFinalMarker
    | NoData
    | OtherId
    | BareLengths
    | Body
    | CommitThenDrop
    | DropThenCommit
    | SlowIngest
    | FailIngest
    | IngestStates
    | UploadUrl
    | Granularity
    | QueryAnswer
    | CutRequest
)

_RPCS: Final = frozenset((*READS, *WRITES))
_DATA: Final = _RPCS | {"stream"}
_ADDS: Final = frozenset(("izAoDd", "o4cbdc"))
_EVERYWHERE: Final = frozenset(TARGETS)
KINDS: Final[dict[str, tuple[type[Effect], frozenset[str]]]] = {
    # name in `fault`: (its parameters, the targets where it makes sense)
    "delay": (Delay, _EVERYWHERE),
    "http_429": (Http429, _EVERYWHERE),
    "http_error": (HttpError, _EVERYWHERE),
    "status": (Status, _DATA),
    "drift": (Drift, _DATA | {"page"}),
    "disconnect": (Disconnect, _EVERYWHERE),
    "signed_out": (SignedOut, _EVERYWHERE),
    "shift_spans": (ShiftSpans, frozenset({"stream"})),
    "ungrounded": (Ungrounded, frozenset({"stream"})),
    "no_final_marker": (NoFinalMarker, frozenset({"stream"})),
    "no_data": (NoData, _DATA),
    "other_id": (OtherId, _RPCS),
    "bare_lengths": (BareLengths, _DATA),
    "body": (Body, _EVERYWHERE),
    "commit_then_drop": (CommitThenDrop, frozenset((*WRITES, *UPLOAD_STAGES))),
    "drop_then_commit": (DropThenCommit, frozenset((*WRITES, "upload.finalize"))),
    "slow_ingest": (SlowIngest, _ADDS),
    "fail_ingest": (FailIngest, _ADDS),
    "ingest_states": (IngestStates, _ADDS),
    "upload_url": (UploadUrl, frozenset(("upload.start",))),
    "granularity": (Granularity, frozenset(("upload.start",))),
    "query_answer": (QueryAnswer, frozenset(("upload.query",))),
    "cut_request": (CutRequest, frozenset(("upload.slice", "upload.finalize"))),
}


@define
class Fault:
    target: Target
    kind: str
    effect: Effect
    times: int | None
    """How many requests it still hits; null means all."""
    account: str | None = None
    skip: int = 0
    """How many requests it lets pass before that."""

    def describe(self) -> dict[str, Json]:
        parameters = cast("dict[str, Json]", attrs.asdict(self.effect))
        own: dict[str, Json] = {"times": self.times, "account": self.account, "skip": self.skip}
        return {"rpc": self.target, "fault": self.kind, **own, **parameters}

    def aims_at(self, target: Target, account: str | None) -> bool:
        """Tell whether a request with this target and account is one of its own; ``upload`` means every stage."""
        hit = self.target == target or (self.target == UPLOAD and target in UPLOAD_STAGES)
        return hit and self.account in (None, account)


def parse_fault(description: Mapping[str, Json]) -> Fault:
    """Read the body of ``POST /faults``.

    Raises:
        BadFault: a field is missing, unknown or of the wrong kind.
    """
    fields = dict(description)
    target, kind = fields.pop("rpc", None), fields.pop("fault", None)
    times, account, skip = fields.pop("times", 1), fields.pop("account", None), fields.pop("skip", 0)
    if not isinstance(target, str) or target not in TARGETS:
        raise BadFault(f"rpc must be one of {', '.join(TARGETS)}, not {target!r}")
    if not isinstance(kind, str) or kind not in KINDS:
        raise BadFault(f"fault must be one of {', '.join(KINDS)}, not {kind!r}")
    effect_type, targets = KINDS[kind]
    if target not in targets:
        raise BadFault(f"{kind} cannot be done to {target}, only to {', '.join(sorted(targets))}")
    if times is not None and (isinstance(times, bool) or not isinstance(times, int) or times < 1):
        raise BadFault(f"times must be null or a whole number from 1, not {times!r}")
    if isinstance(skip, bool) or not isinstance(skip, int) or skip < 0:
        raise BadFault(f"skip must be a whole number from 0, not {skip!r}")
    if account is not None and not isinstance(account, str):
        raise BadFault(f"account must be an e-mail address or null, not {account!r}")
    attributes = {attribute.name: attribute for attribute in attrs.fields(effect_type)}
    if unknown := sorted(set(fields) - set(attributes)):
        raise BadFault(f"{kind} has no {', '.join(unknown)}; it has {', '.join(attributes) or 'no parameters'}")
    missing = [name for name, attribute in attributes.items() if attribute.default is attrs.NOTHING]
    if missing := sorted(set(missing) - set(fields)):
        raise BadFault(f"{kind} needs {', '.join(missing)}")
    build = cast("Callable[..., Effect]", effect_type)
    effect = build(**fields)
    if isinstance(effect, Status | HttpError) and effect.commit_after_ms is not None and target not in WRITES:
        raise BadFault(f"commit_after_ms needs a call that changes something: {', '.join(WRITES)}")
    return Fault(target, kind, effect, times, account, skip)


@define
class FaultQueue:
    """The faults that still wait for requests, in the order in which they came."""

    waiting: list[Fault] = field(factory=list[Fault])

    def take(self, target: Target, account: str | None) -> list[Fault]:
        """Return every fault that hits this request and count it down."""
        hits: list[Fault] = []
        for fault in self.waiting:
            if not fault.aims_at(target, account):
                continue
            if fault.skip:
                fault.skip -= 1
                continue
            hits.append(fault)
            if fault.times is not None:
                fault.times -= 1
        self.waiting = [fault for fault in self.waiting if fault.times != 0]
        return hits
