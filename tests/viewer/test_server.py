"""The server over loopback: who is let in, and what becomes of what cannot be used."""

import http.client
import json
import struct
import threading
import zlib
from collections.abc import Iterator

import pytest

from pixelbrax.errors import ConfigError
from pixelbrax.viewer import Session, ViewServer, Workshop, catalog
from pixelbrax.viewer.messages import MAX_BYTES
from pixelbrax.viewer.tabs import MAX_TABS
from tests.viewing import probe_config

pytestmark = pytest.mark.usefixtures("probe_tasks")


@pytest.fixture(scope="module")
def workshop(probe_tasks):
    return Workshop()


def _serve(workshop: Workshop, **settings) -> Iterator[ViewServer]:
    server = ViewServer(lambda: Session(workshop, probe_config()), catalog(), **settings)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.close()


@pytest.fixture(scope="module")
def server(workshop):
    yield from _serve(workshop)


class Client:
    """One connection."""

    def __init__(self, server: ViewServer):
        self.server = server
        self.port = server.server_address[1]
        self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def ask(self, method: str, path: str, body: bytes | None = None, token: str | None = None, **headers: str):
        """Status, headers and body of the answer."""
        token = self.server.token if token is None else token
        self.connection.request(method, f"/{token}/{path}", body, headers)
        response = self.connection.getresponse()
        return response.status, response.headers, response.read()

    def post(self, path: str, value: object) -> tuple[int, dict]:
        status, _, body = self.ask("POST", path, json.dumps(value).encode())
        return status, json.loads(body)

    def update(self, tab: str, **headers: str) -> tuple[dict, bytes]:
        """Facts and pixels."""
        status, found, body = self.ask("POST", f"{tab}/update", b'{"version": -1}', **headers)
        assert status == 200, body
        if found["Content-Encoding"] == "deflate":
            body = zlib.decompress(body)
        (length,) = struct.unpack("<I", body[:4])
        return json.loads(body[4 : 4 + length]), body[4 + length :]


@pytest.fixture
def client(server):
    client = Client(server)
    yield client
    client.connection.close()
    server.tabs.close_all()


def test_the_page_loads_nothing_from_elsewhere(client):
    status, headers, body = client.ask("GET", "")
    assert status == 200
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert headers["Referrer-Policy"] == "no-referrer"
    names = {"page.js", "style.css", "icon.svg", "connection.js", "plots.js", "settings.js", "free_camera.js"}
    for name in names:
        status, _, text = client.ask("GET", name)
        assert status == 200
        assert b"http://" not in text.replace(b"http://www.w3.org/2000/svg", b"")
        assert b"https://" not in text
    assert b"://" not in body
    assert client.ask("HEAD", "")[0] == 200


@pytest.mark.parametrize("name", ["none.js", "../server.py", "%2e%2e/server.py", "page/index.html", "__init__.py"])
def test_nothing_else_is_served(client, name):
    assert client.ask("GET", name)[0] == 404


@pytest.mark.parametrize("method", ["GET", "POST", "HEAD"])
@pytest.mark.parametrize("token", ["", "x", "ünicode".encode().decode("latin-1"), "a" * 22])
def test_without_the_token_nothing_is_told(client, method, token):
    if not token.isascii():
        token = "%C3%BC"
    status, _, body = client.ask(method, "open", b"{}" if method == "POST" else None, token)
    assert status == 403
    assert client.server.token.encode() not in body


def test_an_address_without_its_slash_leads_to_the_page(client):
    """The page loads its script and its style from the folder of its address."""
    client.connection.request("GET", f"/{client.server.token}")
    response = client.connection.getresponse()
    response.read()
    assert response.status == 307
    assert response.headers["Location"] == f"/{client.server.token}/"
    assert client.ask("GET", "")[0] == 200, "on the same connection"


def test_an_address_that_is_none_is_refused_like_others(client, capsys):
    client.connection.request("GET", "http://[/", headers={"Host": "localhost"})
    assert client.connection.getresponse().status == 403
    assert capsys.readouterr().err == ""


def test_names_that_others_made_point_here_are_refused(client):
    for host, status in (("evil.example", 403), ("evil.example:80", 403), ("[", 403), ("", 403)):
        assert client.ask("GET", "", Host=host)[0] == status, host
    for host in (f"127.0.0.1:{client.port}", "localhost:9999", f"[::1]:{client.port}"):
        assert client.ask("GET", "", Host=host)[0] == 200, host


def test_other_sites_pages_are_refused(client):
    assert client.ask("POST", "open", b"{}", Origin="http://evil.example")[0] == 403
    assert client.ask("POST", "open", b"{}", Origin="null")[0] == 403
    assert client.ask("POST", "open", b"{}", Origin=f"http://127.0.0.1:{client.port}")[0] == 200


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        ({"Content-Length": str(MAX_BYTES + 1)}, b"", 413),
        ({"Content-Length": "9" * 400}, b"", 413),
        ({"Content-Length": "-1"}, b"", 411),
        ({"Content-Length": "ten"}, b"", 411),
        ({"Transfer-Encoding": "chunked"}, b"0\r\n\r\n", 411),
    ],
)
def test_bodies_without_a_sensible_length_are_refused_and_the_connection_is_closed(client, headers, body, status):
    connection = client.connection
    connection.putrequest("POST", f"/{client.server.token}/open")
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders(body)
    response = connection.getresponse()
    assert response.status == status
    assert "error" in json.loads(response.read())
    assert response.headers["Connection"] == "close"


def test_bad_messages_are_answered_and_change_nothing(client):
    tab = client.post("open", {})[1]["tab"]
    for body in (b"", b"nonsense", b"[]", b'{"type": "nope"}', b'{"type": "pause"}', b"\xff" * 50):
        status, _, answer = client.ask("POST", f"{tab}/message", body)
        assert status == 400
        assert json.loads(answer)["error"]
    assert client.ask("POST", f"{tab}/update", b"[1]")[0] == 400
    assert client.post(f"{tab}/update/more", {})[0] == 404
    assert client.post("nobody/message", {"type": "step"})[0] == 410
    assert client.update(tab)[0]["paused"] is False


def test_two_tabs_are_two_sessions(client):
    one, two = (client.post("open", {})[1]["tab"] for _ in range(2))
    assert client.post(f"{one}/message", {"type": "pause", "paused": True}) == (200, {})
    assert client.update(one)[0]["paused"] is True
    assert client.update(two)[0]["paused"] is False
    assert client.post(f"{one}/close", {})[0] == 200
    assert client.post(f"{one}/message", {"type": "step"})[0] == 410
    assert client.post(f"{two}/message", {"type": "pause", "paused": True})[0] == 200


def test_too_many_tabs_are_told_so_until_one_is_left_alone(client, monkeypatch):
    for _ in range(MAX_TABS):
        assert client.post("open", {})[0] == 200
    status, answer = client.post("open", {})
    assert (status, answer["error"]) == (
        400,
        f"{MAX_TABS} tabs show an environment already, which is the most: close one first",
    )
    monkeypatch.setattr("pixelbrax.viewer.tabs._ABANDONED", 0.0)
    assert client.post("open", {})[0] == 200
    assert len(client.server.tabs._sessions) == MAX_TABS


def test_images_arrive_as_their_sizes_say(client):
    tab, answer = (lambda found: (found["tab"], found["catalog"]))(client.post("open", {})[1])
    assert {"halfcheetah", "ant"} <= {task["name"] for task in answer["tasks"]}
    while not (found := client.update(tab))[0]["images"]:
        pass
    facts, pixels = found
    assert [image["name"] for image in facts["images"]] == ["agent", "free"]
    assert len(pixels) == sum(4 * image["height"] * image["width"] for image in facts["images"])
    assert set(pixels[3::4]) == {255}


def test_compressed_images_are_the_same(workshop, monkeypatch):
    monkeypatch.setattr("pixelbrax.viewer.server.MAX_BYTES", 100)
    for server in _serve(workshop, compress=True):
        client = Client(server)
        tab = client.post("open", {})[1]["tab"]
        while not (found := client.update(tab, **{"Accept-Encoding": "deflate"}))[0]["images"]:
            pass
        assert set(found[1][3::4]) == {255}
        client.connection.close()


def test_the_end_frees_the_port_and_leaves_no_thread(workshop):
    before = {thread.ident for thread in threading.enumerate()}
    for server in _serve(workshop):
        port = server.server_address[1]
        client = Client(server)
        client.post("open", {})
        with pytest.raises(ConfigError, match=f"port {port} of 127.0.0.1 cannot be used .* choose another --port"):
            ViewServer(lambda: Session(workshop, probe_config()), {}, port=port)
        client.connection.close()
    for server in _serve(workshop, port=port):
        assert server.address.startswith(f"http://127.0.0.1:{port}/")
    for thread in threading.enumerate():
        if thread.ident not in before:
            thread.join(10)
            assert not thread.is_alive(), thread.name


def test_hosts_that_cannot_be_listened_at_are_refused(workshop):
    with pytest.raises(ConfigError, match="cannot be used"):
        ViewServer(lambda: Session(workshop, probe_config()), {}, host="no.such.host.invalid")
