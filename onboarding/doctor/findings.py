"""Everything that doctor can find: one row per finding, with the one thing to do. Pure.

`docs/troubleshooting.md` has a section for each id; a test holds the two together.
"""

from __future__ import annotations

from enum import StrEnum
from types import MappingProxyType
from typing import Final

import attrs


class Hop(StrEnum):
    """In the order in which doctor walks, which is the road of a call."""

    CONFIGURATION = "configuration"
    CLIENT_FILES = "client-files"
    BROKER = "broker"
    BROWSER = "browser"
    POLICIES = "policies"
    HOST_MANIFEST = "host-manifest"
    HOST_START = "host-start"
    SOCKET = "socket"
    PORT = "port"
    EXTENSION = "extension"
    WORKER = "worker"
    TAB = "tab"
    PAGE = "page"
    ACCOUNT = "account"
    READ = "read"
    SHAPES = "shapes"


TITLES: Final = MappingProxyType(
    {
        Hop.CONFIGURATION: "Configuration and allowlist",
        Hop.CLIENT_FILES: "MCP clients' files",
        Hop.BROKER: "Broker",
        Hop.BROWSER: "Browser",
        Hop.POLICIES: "Administrator's policies",
        Hop.HOST_MANIFEST: "Native host's manifest",
        Hop.HOST_START: "Native host's start",
        Hop.SOCKET: "Native host's socket",
        Hop.PORT: "Native port",
        Hop.EXTENSION: "Extension",
        Hop.WORKER: "Service worker",
        Hop.TAB: "Notebook tab",
        Hop.PAGE: "Script in the page",
        Hop.ACCOUNT: "Account of the page",
        Hop.READ: "One real read",
        Hop.SHAPES: "Shapes of the service's answers",
    }
)


@attrs.frozen
class Kind:
    """What one id means. A fatal one keeps calls from working; `--fix` mends those that it can without asking."""

    hop: Hop
    means: str
    fix: str
    is_fatal: bool = True
    is_mended: bool = False


ONBOARD: Final = "Run: notebook-gateway onboard"
MEND: Final = "Run: notebook-gateway doctor --fix"
RESTART: Final = "Run: notebook-gateway browser stop, then: notebook-gateway browser start"
SIGN_IN: Final = "Run: notebook-gateway browser sign-in"
BUNDLE: Final = "Run: notebook-gateway doctor --bundle FILE.zip, and report it; the archive holds nothing private."

KINDS: Final = MappingProxyType(
    {
        "config.missing": Kind(Hop.CONFIGURATION, "No account is configured.", ONBOARD),
        "config.unreadable": Kind(
            Hop.CONFIGURATION,
            "config.toml cannot be read, or has a key that it does not take.",
            "Mend the file; docs/configuration.md has every key.",
        ),
        "config.open": Kind(
            Hop.CONFIGURATION, "Others on this machine can look into our home folder.", MEND, is_mended=True
        ),
        "config.environment": Kind(
            Hop.CONFIGURATION,
            "A variable changes which browser is started, or how.",
            "Unset it, unless a test harness set it on purpose.",
            is_fatal=False,
        ),
        "allowlist.broken": Kind(
            Hop.CONFIGURATION, "allowlist.json cannot be read; nothing is allowed.", "Mend the file, or delete it."
        ),
        "allowlist.empty": Kind(
            Hop.CONFIGURATION,
            "No notebook is allowed, so agents see none.",
            "Run: notebook-gateway allow add NOTEBOOK_ID",
            is_fatal=False,
        ),
        "client.none": Kind(
            Hop.CLIENT_FILES,
            "No known MCP client has our server.",
            "Run: notebook-gateway install CLIENT",
            is_fatal=False,
        ),
        "client.unreadable": Kind(
            Hop.CLIENT_FILES, "A client's file cannot be read.", "Mend that file.", is_fatal=False
        ),
        "client.no-interpreter": Kind(
            Hop.CLIENT_FILES, "A client starts a program that is not there any more.", MEND, is_mended=True
        ),
        "client.other-entry": Kind(
            Hop.CLIENT_FILES,
            "A client has another entry than this installation writes.",
            MEND,
            is_fatal=False,
            is_mended=True,
        ),
        "broker.no-start": Kind(
            Hop.BROKER, "The server does not start as a client starts it.", "Install notebook-gateway again."
        ),
        "broker.skew": Kind(Hop.BROKER, "A client starts a server of another version than this one.", MEND),
        "browser.missing": Kind(Hop.BROWSER, "No browser was found.", "Install Chrome or Chromium, or name yours."),
        "browser.confined": Kind(
            Hop.BROWSER,
            "The browser is a snap or flatpak, whose confinement keeps it from starting our native host.",
            "Install a browser that is neither, for example Google Chrome.",
        ),
        "browser.no-start": Kind(
            Hop.BROWSER, "The managed browser does not start.", "Look into logs/keeper.log in our home folder."
        ),
        "policy.host": Kind(
            Hop.POLICIES,
            "An administrator's policy keeps the browser from starting our native host.",
            "Ask the administrator to allow the host that the finding names.",
        ),
        "policy.extension": Kind(
            Hop.POLICIES,
            "An administrator's policy keeps the browser from loading the extension.",
            "Ask the administrator to allow the extension's id that the finding names.",
        ),
        "host.unregistered": Kind(
            Hop.HOST_MANIFEST, "The browser does not know our native host.", MEND, is_mended=True
        ),
        "host.manifest": Kind(Hop.HOST_MANIFEST, "Chrome would not accept the host's manifest.", MEND, is_mended=True),
        "host.other-path": Kind(
            Hop.HOST_MANIFEST, "The manifest starts another program than ours.", MEND, is_mended=True
        ),
        "host.launcher": Kind(
            Hop.HOST_MANIFEST, "The launcher is missing, or of another installation.", MEND, is_mended=True
        ),
        "host.elsewhere": Kind(
            Hop.HOST_MANIFEST,
            "Another browser has a manifest of our name that does not lead here.",
            "Delete that file, unless you use that browser with another installation.",
            is_fatal=False,
        ),
        "host.no-start": Kind(
            Hop.HOST_START,
            "The native host does not start as Chrome starts it.",
            "Look into logs/native_host.log in our home folder.",
        ),
        "host.skew": Kind(Hop.HOST_START, "The native host is of another version than this one.", MEND, is_mended=True),
        "socket.none": Kind(Hop.SOCKET, "No browser with the extension is connected.", "Start that browser."),
        "socket.stale": Kind(
            Hop.SOCKET, "A socket of a host that has ended is left.", MEND, is_fatal=False, is_mended=True
        ),
        "socket.silent": Kind(
            Hop.SOCKET, "A native host listens and does not answer.", "Close that browser and start it again."
        ),
        "port.not-connected": Kind(
            Hop.PORT,
            "The native host runs, but the extension has not reported.",
            "Reload the extension on chrome://extensions.",
        ),
        "port.skew": Kind(Hop.PORT, "The running native host is of another version than this one.", RESTART),
        "extension.damaged": Kind(
            Hop.EXTENSION,
            "Files of the extension are missing or of another version.",
            "Install notebook-gateway again.",
        ),
        "extension.skew": Kind(Hop.EXTENSION, "The extension in the browser is of another version.", RESTART),
        "extension.no-account": Kind(
            Hop.EXTENSION, "The extension has no account.", "Set it in the extension's popup, or run onboard again."
        ),
        "extension.other-account": Kind(
            Hop.EXTENSION,
            "The extension is set to another account than config.toml.",
            "Set the same account in both: in the popup, or by running onboard again.",
        ),
        "worker.silent": Kind(
            Hop.WORKER, "The service worker does not answer.", "Reload the extension on chrome://extensions."
        ),
        "worker.paused": Kind(
            Hop.WORKER, "The person has paused all agents.", "Switch the pause off in the extension's popup."
        ),
        "allowlist.differs": Kind(
            Hop.WORKER,
            "The extension does not allow all that allowlist.json allows.",
            "Allow the same notebooks in the extension's popup.",
            is_fatal=False,
        ),
        "tab.none": Kind(
            Hop.TAB, "No notebook tab could be opened.", "Open the notebook page in that browser, and look again."
        ),
        "page.sign-in": Kind(Hop.PAGE, "Nobody is signed in on the page.", SIGN_IN),
        "page.changed": Kind(Hop.PAGE, "The page is not built as we know it.", BUNDLE),
        "page.failed": Kind(
            Hop.PAGE, "Our script in the page does not answer.", "Close the notebook tab, and look again."
        ),
        "account.mismatch": Kind(Hop.ACCOUNT, "The page belongs to another account than the configured one.", SIGN_IN),
        "read.failed": Kind(Hop.READ, "The list of notebooks cannot be read.", "Wait a minute, and look again."),
        "shape.drift": Kind(Hop.SHAPES, "The service answers in a shape that this version does not know.", BUNDLE),
        "shape.failed": Kind(
            Hop.SHAPES, "A call that only reads was refused.", "Wait a minute, and look again.", is_fatal=False
        ),
        "shape.untried": Kind(
            Hop.SHAPES,
            "Some calls could not be tried, because no notebook or nothing in it is allowed.",
            "Allow a notebook that has a source, and look again.",
            is_fatal=False,
        ),
    }
)
"""By id. The word before the dot is what is wrong, not always the hop that shows it."""
