"""JUnit XML, as CI services read it: one suite, one case per scenario. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree

from attrs import field, frozen

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""XML 1.0 has no way to write these, not even escaped."""


@frozen
class CaseResult:
    """How one scenario ended. No problems: it passed. `error`: it could not be run, which is no verdict on it."""

    name: str
    seconds: float
    problems: list[str] = field(factory=list[str])
    error: str = ""

    @property
    def has_passed(self) -> bool:
        return not self.problems and not self.error


def junit_xml(suite: str, results: Sequence[CaseResult]) -> bytes:
    """Return the document."""
    top = ElementTree.Element(
        "testsuite",
        name=_text(suite),
        tests=str(len(results)),
        failures=str(sum(bool(result.problems) for result in results)),
        errors=str(sum(bool(result.error) for result in results)),
        time=f"{sum(result.seconds for result in results):.3f}",
    )
    for result in results:
        case = ElementTree.SubElement(
            top, "testcase", classname=_text(suite), name=_text(result.name), time=f"{result.seconds:.3f}"
        )
        if result.error:
            ElementTree.SubElement(case, "error", message=_text(result.error))
        elif result.problems:
            failure = ElementTree.SubElement(case, "failure", message=_text(result.problems[0]))
            failure.text = _text("\n".join(result.problems))
    return ElementTree.tostring(top, encoding="utf-8", xml_declaration=True)


def _text(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
