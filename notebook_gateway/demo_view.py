"""How the demo looks to a person: hops as they come up, the notebooks, the answer with its proofs."""

from __future__ import annotations

from typing import Any

from rich.markdown import Markdown
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from notebook_gateway.console import console


class SilentView:
    """Shows nothing: the JSON document is all that is printed."""

    def hop(self, name: str, ms: float) -> None:
        """Ignore a hop."""

    def notebooks(self, notebooks: list[dict[str, Any]]) -> None:
        """Ignore the list."""

    def question(self, question: str) -> None:
        """Ignore the question."""

    def progress(self, text: str) -> None:
        """Ignore progress."""

    def result(self, result: dict[str, Any], meta: dict[str, Any]) -> None:
        """Ignore the result."""


class PeopleView:
    """Prints as things happen, so that a person sees each hop of the chain come up."""

    def __init__(self) -> None:
        console.print(
            "[bold]Notebook Gateway demo[/]: agent → broker → native host → extension → page → (emulated) service\n"
        )

    def hop(self, name: str, ms: float) -> None:
        """Print one hop and the time it took, in milliseconds."""
        console.print(f"  [green]✓[/] {name:<18} {ms:8.0f} ms", highlight=False)

    def notebooks(self, notebooks: list[dict[str, Any]]) -> None:
        """Print the notebooks the person allowed."""
        table = Table(title="Notebooks this agent may use", title_justify="left", show_edge=False)
        table.add_column("title")
        table.add_column("sources", justify="right")
        table.add_column("id", style="dim")
        for notebook in notebooks:
            table.add_row(
                str(notebook.get("title") or "(untitled)"),
                str(notebook.get("source_count", "")),
                str(notebook["id"]),
            )
        console.print()
        console.print(table)
        console.print()

    def question(self, question: str) -> None:
        """Print the question."""
        console.print(Panel(Text(question), title="question", title_align="left", border_style="cyan"))

    def progress(self, text: str) -> None:
        """Progress is part of the answer that follows; nothing extra is printed."""

    def result(self, result: dict[str, Any], meta: dict[str, Any]) -> None:
        """Print the answer, then each citation with its passage and both proven spans."""
        console.print()
        console.print(Panel(Markdown(result["answer"]), title="answer", title_align="left", border_style="green"))
        console.print("[bold]Citations[/], each passage proven in its source's text:\n")
        for citation in result["citations"]:
            self._citation(citation)
        hops = meta.get("hops_ms")
        if hops:
            parts = "  ".join(f"{name} {ms:.0f} ms" for name, ms in hops.items())
            console.print(f"\nthe answer's road: {parts}", highlight=False)

    def _citation(self, citation: dict[str, Any]) -> None:
        span = citation["source_span"]
        where = f"characters {span['start']}–{span['end']}" if span else str(citation["source_span_reason"])
        console.print(
            Text.assemble((f"[{citation['number']}] ", "bold"), citation["source_title"], (f"  {where}", "dim"))
        )
        console.print(Padding(Text(citation["quote"], style="italic"), (0, 0, 1, 4)))
