"""The one place that states which build this is; every hop reports it, so that version skew can be named."""

from typing import Final

BUILD: Final = "0.1.0"
