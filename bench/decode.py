"""Decoding the largest recorded bodies, beside the JSON library alone on the same text.

The recordings are read from the `shared` folder beside the checkout (they quote third-party pages and are not shipped).
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

RECORDED = Path(__file__).resolve().parents[2] / "shared" / "wire" / "recorded"


def largest_body(relative: str) -> str:
    """Return the longest recorded body of a file."""
    lines = (RECORDED / relative).read_text(encoding="utf-8").splitlines()
    return max((json.loads(line)["response"]["body"] for line in lines if line), key=len)


def json_floor(body: str) -> None:
    """What no decoder can avoid: each chunk's JSON, and the JSON text inside it."""
    for line in body.split("\n"):
        if line.startswith("[["):
            for row in orjson.loads(line):
                if row[0] == "wrb.fr" and row[2]:
                    orjson.loads(row[2])


def median_ms(action: Callable[[], object], repeats: int) -> float:
    """Return the median time of one call."""
    samples: list[float] = []
    for _ in range(repeats):
        started = time.perf_counter()
        action()
        samples.append((time.perf_counter() - started) * 1e3)
    return statistics.median(samples)


def run(repeats: int = 20) -> dict[str, dict[str, float]]:
    """Time both on the largest list, the largest source text and the recorded answer stream."""
    from broker.answer_stream import AnswerDecoder
    from broker.batchexecute import decode_reply_untrusted
    from broker.notebooks import decode_notebook_list
    from broker.source_text import decode_source_text

    def notebook_list(body: str) -> None:
        decode_notebook_list(decode_reply_untrusted(body, "wXbhsf"))

    def source_text(body: str) -> None:
        decode_source_text(decode_reply_untrusted(body, "hizoJc"))

    def stream(body: str) -> None:
        decoder = AnswerDecoder()
        for start in range(0, len(body), 16384):
            decoder.feed_untrusted(body[start : start + 16384])
        decoder.end()

    cases: dict[str, tuple[str, Callable[[str], object]]] = {
        "wXbhsf, notebook list": ("wXbhsf.jsonl", notebook_list),
        "hizoJc, source text": ("hizoJc.jsonl", source_text),
        "answer stream": ("stream/GenerateFreeFormStreamed.jsonl", stream),
    }
    result: dict[str, dict[str, float]] = {}
    for name, (file, decode) in cases.items():
        body = largest_body(file)
        floor = median_ms(lambda body=body: json_floor(body), repeats)
        ours = median_ms(lambda body=body, decode=decode: decode(body), repeats)
        result[name] = {"kib": len(body.encode()) / 1024, "json_ms": floor, "decode_ms": ours, "ratio": ours / floor}
    return result


def table(result: dict[str, Any]) -> str:
    """Render the Markdown table."""
    lines = ["| body | KiB | JSON alone, ms | our decoder, ms | × JSON |", "|---|---|---|---|---|"]
    lines += [
        f"| {name} | {row['kib']:.0f} | {row['json_ms']:.2f} | {row['decode_ms']:.2f} | {row['ratio']:.1f} |"
        for name, row in result.items()
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(run(int(sys.argv[1]) if len(sys.argv) > 1 else 20)))
