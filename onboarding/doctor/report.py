"""What a walk brought: per hop what was seen, and what is wrong with it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import attrs

from onboarding.doctor.findings import KINDS, TITLES, Hop, Kind


@attrs.frozen
class Finding:
    """One thing that is wrong here. `about` is what `--fix` needs to know: a client's id, a path."""

    id: str = attrs.field(validator=attrs.validators.in_(KINDS))
    detail: str
    about: str = ""

    @property
    def kind(self) -> Kind:
        return KINDS[self.id]

    def as_json(self) -> dict[str, object]:
        kind = self.kind
        return {
            "id": self.id,
            "means": kind.means,
            "detail": self.detail,
            "fix": kind.fix,
            "is_fatal": kind.is_fatal,
        }


class Verdict(StrEnum):
    """What a hop is."""

    FINE = "fine"
    NOTE = "note"
    WRONG = "wrong"
    NOT_REACHED = "not_reached"


@attrs.frozen
class HopReport:
    """What was seen at one hop. `detail` says it in a few words, whatever is wrong."""

    hop: Hop
    detail: str
    findings: tuple[Finding, ...] = ()
    is_reached: bool = True

    @property
    def verdict(self) -> Verdict:
        if not self.is_reached:
            return Verdict.NOT_REACHED
        if any(finding.kind.is_fatal for finding in self.findings):
            return Verdict.WRONG
        return Verdict.NOTE if self.findings else Verdict.FINE

    def as_json(self) -> dict[str, object]:
        return {
            "hop": self.hop,
            "title": TITLES[self.hop],
            "verdict": self.verdict,
            "detail": self.detail,
            "findings": [finding.as_json() for finding in self.findings],
        }


def not_reached(hop: Hop) -> HopReport:
    """Return the report of a hop behind one that is broken."""
    return HopReport(hop, "behind what is wrong above", is_reached=False)


@attrs.frozen
class Report:
    """One walk, in order. `mended` are the ids that `--fix` mended before it."""

    build: str
    home: str
    hops: tuple[HopReport, ...]
    mended: tuple[str, ...] = ()

    @property
    def is_fine(self) -> bool:
        """Whether a call would work now."""
        return all(hop.verdict in (Verdict.FINE, Verdict.NOTE) for hop in self.hops)

    @property
    def findings(self) -> Sequence[Finding]:
        return [finding for hop in self.hops for finding in hop.findings]

    def as_json(self) -> dict[str, object]:
        return {
            "ok": self.is_fine,
            "build": self.build,
            "home": self.home,
            "mended": list(self.mended),
            "hops": [hop.as_json() for hop in self.hops],
        }
