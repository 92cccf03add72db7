"""The page over HTTP: only for those who know the token, and not for other sites' pages."""

import hmac
import ipaddress
import secrets
import socket
import sys
import threading
import zlib
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from typing import Any
from urllib.parse import urlsplit

from pixelbrax.errors import ConfigError
from pixelbrax.viewer.messages import MAX_BYTES, parse_message, parse_object
from pixelbrax.viewer.session import Session
from pixelbrax.viewer.tabs import Tabs
from pixelbrax.viewer.wire import pack_json, pack_update

_IDLE = 30.0  # seconds after which a silent connection is closed
_MAX_CONNECTIONS = 64
_KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",  # the address holds the token
    "X-Content-Type-Options": "nosniff",
}


class Refusal(Exception):
    """A request that is answered with an error."""

    def __init__(self, status: HTTPStatus, reason: str, location: str = ""):
        super().__init__(reason)
        self.status, self.reason, self.location = status, reason, location


class ViewServer(ThreadingHTTPServer):
    """Serves the page and its sessions; `serve_forever` until `shutdown`.

    Attributes:
      token: what the address must contain.
      tabs: the sessions.
    """

    daemon_threads = True
    block_on_close = False

    def __init__(
        self, begin: Callable[[], Session], catalog: dict[str, Any], *, host: str = "127.0.0.1", port: int = 0,
        compress: bool = False,
    ):  # fmt: skip
        """Binds the port.

        Args:
          begin: makes the session of a tab.
          catalog: what all pickers list, for `json.dumps`.
          host: address to listen at; by default this machine only.
          port: 0 for any that is free.
          compress: whether images are compressed, for a slow connection.

        Raises:
          ConfigError: the port or the host cannot be used.
        """
        self.token = secrets.token_urlsafe(16)
        self.tabs = Tabs(begin)
        self.catalog, self.compress, self.host = catalog, compress, host
        self._connections = threading.BoundedSemaphore(_MAX_CONNECTIONS)
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            super().__init__((host, port), _Handler)
        except (OSError, OverflowError) as e:
            reason = getattr(e, "strerror", None) or e
            told = f"port {port} of {host} cannot be used ({reason}): choose another --port or --host"
            raise ConfigError(told) from None

    @property
    def address(self) -> str:
        """The page's address, with the token."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.server_address[1]}/{self.token}/"

    def close(self) -> None:
        """Stops serving, frees the port and ends all sessions; `serve_forever` must run in another thread."""
        self.shutdown()
        self.server_close()
        self.tabs.close_all()

    def knows(self, host: str) -> bool:
        """Whether a Host header names this machine, and not a name that another site made point to it."""
        name = urlsplit(f"//{host}").hostname or ""
        if name in ("localhost", self.host.lower()):
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serves a connection in a thread of its own, if there are not too many."""
        if not self._connections.acquire(blocking=False):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serves one connection."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._connections.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Says what went wrong in one line; that connections break whenever a tab is closed is no news."""
        if not isinstance(error := sys.exception(), OSError):
            print(f"pixelbrax view: {type(error).__name__}: {error}", file=sys.stderr)


class _Handler(BaseHTTPRequestHandler):
    """Answers one connection's requests."""

    server: ViewServer
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "pixelbrax", ""
    timeout = _IDLE
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        """A file of the page."""
        self._answer(self._file)

    do_HEAD = do_GET

    def do_POST(self) -> None:
        """A new session, an update of one, a message to one, or its end."""
        self._answer(self._call)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is logged: the address holds the token."""

    def _answer(self, handle: Callable[[list[str], bytes], tuple[bytes, str]]) -> None:
        """Sends what `handle` makes of the path's parts and the body, or why it refuses."""
        keeps, self.close_connection = not self.close_connection, True  # as long as the body may be unread
        location = ""
        try:
            try:
                parts, body = self._checked(), self._body()
                self.close_connection = not keeps
                content, kind = handle(parts, body)
                status = HTTPStatus.OK
            except ConfigError as e:
                raise Refusal(HTTPStatus.BAD_REQUEST, str(e)) from None
        except Refusal as e:
            content, kind, status = pack_json({"error": e.reason}), "application/json", e.status
            location = e.location
        self.send_response(status)
        if location:
            self.send_header("Location", location)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind if kind.startswith("application") else f"{kind}; charset=utf-8")
        if self.server.compress and len(content) > MAX_BYTES and "deflate" in self.headers.get("Accept-Encoding", ""):
            content = zlib.compress(content, 1)
            self.send_header("Content-Encoding", "deflate")
        self.send_header("Content-Length", str(len(content)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def _checked(self) -> list[str]:
        """The parts of the path behind the token."""
        host = self.headers.get("Host", "")
        if not self._is_known(host):
            raise Refusal(
                HTTPStatus.FORBIDDEN, f"the host {host[:80]!r} is not this machine: use the address as printed"
            )
        origin = self.headers.get("Origin")
        if origin is not None and origin != f"http://{host}":
            raise Refusal(HTTPStatus.FORBIDDEN, "requests of other sites are refused")
        try:
            path = urlsplit(self.path).path
        except ValueError:  # brackets that do not match
            path = ""
        token, slash, rest = path.lstrip("/").partition("/")
        if not hmac.compare_digest(token.encode(), self.server.token.encode()):
            raise Refusal(HTTPStatus.FORBIDDEN, "the address lacks its token: open it as pixelbrax view printed it")
        if not slash:  # the page's own addresses are relative to its folder
            raise Refusal(HTTPStatus.TEMPORARY_REDIRECT, "the address ends with a slash", f"/{token}/")
        return rest.split("/")

    def _is_known(self, host: str) -> bool:
        try:
            return self.server.knows(host)
        except ValueError:  # brackets that do not match
            return False

    def _body(self) -> bytes:
        """The request's body."""
        length = self.headers.get("Content-Length", "0")
        if "Transfer-Encoding" in self.headers or not length.isascii() or not length.isdigit():
            raise Refusal(HTTPStatus.LENGTH_REQUIRED, "the request does not say how long it is")
        if len(length) > 9 or int(length) > MAX_BYTES:
            raise Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a message has at most {MAX_BYTES} bytes")
        return self.rfile.read(int(length))

    def _file(self, parts: list[str], body: bytes) -> tuple[bytes, str]:
        """A file of the page, and its kind."""
        del body
        name = parts[0] or "index.html"
        folder = resources.files("pixelbrax.viewer") / "page"
        if len(parts) != 1 or name not in {file.name for file in folder.iterdir()}:
            raise Refusal(HTTPStatus.NOT_FOUND, "there is no such file")
        return (folder / name).read_bytes(), _KINDS.get(f".{name.rpartition('.')[2]}", "application/octet-stream")

    def _call(self, parts: list[str], body: bytes) -> tuple[bytes, str]:
        """What a POST asks for."""
        match parts:
            case ["open"]:
                tab = self.server.tabs.open()
                return pack_json({"tab": tab, "catalog": self.server.catalog}), "application/json"
            case [tab, "update"]:
                given = parse_object(body)
                version = given.get("version")
                return (
                    pack_update(self._session(tab).update(version if isinstance(version, int) else -1)),
                    "application/octet-stream",
                )
            case [tab, "message"]:
                session = self._session(tab)
                session.obey(parse_message(body))
                return pack_json({}), "application/json"
            case [tab, "close"]:
                self.server.tabs.close(tab)
                return pack_json({}), "application/json"
        raise Refusal(HTTPStatus.NOT_FOUND, "there is no such request")

    def _session(self, tab: str) -> Session:
        session = self.server.tabs.find(tab)
        if session is None:
            raise Refusal(HTTPStatus.GONE, "this tab's session has ended: reload the page")
        return session
