"""`pixelbrax view` as a process: how it ends."""

import http.client
import os
import signal
import socket
import subprocess
import sys
from urllib.parse import urlsplit

import pytest

from pixelbrax.cli.main import main

COMMAND = [sys.executable, "-m", "pixelbrax", "view", "probe/sides", "--import", "tests.probe_tasks", "--no-browser"]


@pytest.mark.full
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_cleanly_even_while_it_compiles(number, tmp_path):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([os.getcwd(), *sys.path])}
    process = subprocess.Popen(
        COMMAND, cwd=tmp_path, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    address = urlsplit(process.stdout.readline().strip())
    assert address.hostname == "127.0.0.1"
    assert address.port
    connection = http.client.HTTPConnection("127.0.0.1", address.port, timeout=60)
    connection.request("POST", f"{address.path}open", b"{}")
    assert connection.getresponse().status == 200  # a tab is open, and its environment is being built
    connection.close()
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", address.port))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ("view qqqq", "unknown task 'qqqq'"),
        ("view ant --backend warp", "engine is 'warp': it must be one of spring, positional"),
        ("view ant --distractors nope", "unknown distractor 'nope'"),
        ("view inverted_pendulum --backend spring --camera nope", "the model has no camera 'nope'"),
        ("view ant --resolution 2", "resolution is 2: it must be at least 8"),
        ("view ant --width 100000", "width is 100000"),
        ("view ant --port 70000", "port is 70000"),
        ("view ant --seed -1", "seed is -1"),
        ("view ant --run nowhere", "name either a task or --run"),
        ("view --run nowhere", "nowhere"),
        ("view ant --host 203.0.113.7", "port 0 of 203.0.113.7 cannot be used"),
    ],
)
def test_mistakes_end_with_one_line_before_anything_is_served(argv, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(argv.split()) == 2
    out, err = capsys.readouterr()
    assert message in err
    assert (out, err.count("\n")) == ("", 1)
