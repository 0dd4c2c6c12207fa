"""The one rich console for people, and the way an error is shown: what happened, then what to do next."""

from __future__ import annotations

import sys
from typing import NoReturn

from rich.console import Console
from rich.markup import escape

console = Console()
error_console = Console(stderr=True)


def fail(message: str, hint: str = "", *, exit_code: int = 1) -> NoReturn:
    """Print an error on standard error and exit."""
    error_console.print(f"[bold red]error:[/] {escape(message)}", highlight=False, soft_wrap=True)
    if hint:
        error_console.print(f"[dim]next:[/]  {escape(hint)}", highlight=False, soft_wrap=True)
    sys.exit(exit_code)
