"""Processes that train together: they meet, compare, and end together; real sockets, and for some real processes."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from pixelbrax.cli import main
from pixelbrax.distractors.kinds.video import Video
from pixelbrax.distractors.videos.bank import ClipBank
from pixelbrax.errors import ConfigError
from pixelbrax.signals import interruptible
from pixelbrax.training import RunDir, TrainConfig
from pixelbrax.training.link import Channel, End, Link
from pixelbrax.training.processes import Processes, checkpoints_of, clips_of, settings_of
from pixelbrax.training.rendezvous import meet, parse_address
from pixelbrax.training.tunnel import Tunnel

pytestmark = pytest.mark.usefixtures("probe_tasks")


def _free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def _together(*members):
    """What each of some functions returns or raises, each in a thread of its own."""
    with ThreadPoolExecutor(len(members)) as pool:
        futures = [pool.submit(member) for member in members]
        return [future.exception(timeout=30) or future.result() for future in futures]


def _meeting(count, ids=None, counts=None, timeout=5.0, where=None):
    """What each of some processes gets from `meet`: its link, or an error."""
    where = where or f"127.0.0.1:{_free_port()}"

    def member(k):
        return meet(where, (counts or [count] * count)[k], (ids or range(count))[k], timeout, lambda end: None)

    return _together(*[lambda k=k: member(k) for k in range(len(ids or range(count)))])


@contextmanager
def _linked(count):
    """Links of some processes, and what would have ended each of them by force."""
    where, forced = f"127.0.0.1:{_free_port()}", [[] for _ in range(count)]
    links = _together(*[lambda k=k: meet(where, count, k, 5.0, forced[k].append) for k in range(count)])
    assert all(isinstance(link, Link) for link in links), links
    try:
        yield links, forced
    finally:
        _together(*[link.close for link in links])


def _die(link):
    """As the kernel does it for a process that is killed."""
    link._left.set()  # the dead say nothing
    for channel in link._channels.values():
        channel.socket.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("count", [2, 4])
def test_processes_meet_and_agree(count):
    with _linked(count) as (links, _):
        facts = {"learning_rate": 1e-3, "distractors": ("a", "b")}
        assert _together(*[lambda link=link: link.agree(facts, 5.0) for link in links]) == [None] * count
        values = _together(*[lambda link=link: link.give(7 if link is links[0] else None, 5.0) for link in links])
        assert values == [7] * count


def test_the_first_difference_is_told_to_all():
    facts = [{"seed": 0, "clip": 0.2, "jax": "1"}, {"seed": 0, "clip": 0.2, "jax": "1"}, {"seed": 0, "clip": 0.3}]
    with _linked(3) as (links, _):
        told = _together(*[lambda k=k: links[k].agree(facts[k], 5.0) for k in range(3)])
    assert all(isinstance(error, ConfigError) for error in told)
    assert {str(error) for error in told} == {str(told[0])}
    assert str(told[0]).startswith("process 2 has clip 0.3, process 0 has 0.2")


def test_a_fact_that_one_process_lacks_is_a_difference():
    for facts in ([{"a": 1}, {"a": 1, "b": 2}], [{"a": 1, "b": 2}, {"a": 1}]):
        with _linked(2) as (links, _):
            told = _together(*[lambda k=k, facts=facts: links[k].agree(facts[k], 5.0) for k in range(2)])
        assert "b 2" in str(told[0]) or "has 2" in str(told[0])
        assert "none" in str(told[0])


def test_processes_that_do_not_fit_together_are_told():
    told = _meeting(2, ids=[0, 1, 1], counts=[3, 3, 3])
    assert all("two processes have process_id 1" in str(error) for error in told), told
    told = _meeting(2, counts=[2, 3])
    assert [str(error) for error in told] == ["process 1 has num_processes 3, process 0 has 2"] * 2


def test_a_process_that_never_comes_is_named():
    first, second = _meeting(3, ids=[0, 2], counts=[3, 3], timeout=1.0)
    assert "process 1 of 3 did not connect to 127.0.0.1" in str(first)
    assert str(second) == str(first)
    (alone,) = _meeting(2, ids=[1], counts=[2], timeout=0.6)
    assert "process 1 did not reach process 0 at 127.0.0.1" in str(alone)
    assert "Connection refused" in str(alone)


def test_a_busy_port_is_told():
    for address in ("127.0.0.1", ""):
        with socket.create_server((address, 0)) as other:
            where = f"127.0.0.1:{other.getsockname()[1]}"
            (first,) = _meeting(2, ids=[0], counts=[2], where=where)
            assert "process 0 cannot listen on port" in str(first)
            assert "in use" in str(first)


def test_something_else_at_the_port_is_told():
    with socket.create_server(("127.0.0.1", 0)) as other:

        def greet():
            connection, _ = other.accept()
            connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")
            return connection

        where = f"127.0.0.1:{other.getsockname()[1]}"
        joining, connection = _together(lambda: _meeting(2, ids=[1], counts=[2], where=where, timeout=0.3)[0], greet)
        connection.close()
    assert "is not process 0 of pixelbrax" in str(joining)


def test_strangers_who_connect_disturb_nobody():
    port = _free_port()

    def stranger():
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline:
            try:
                with socket.create_connection(("127.0.0.1", port)) as connection:
                    connection.sendall(b'GET / HTTP/1.1\r\n\r\n["list"]\n{"process": 1}\n')
                    return connection.recv(100)
            except OSError:
                time.sleep(0.05)

    def late():
        time.sleep(0.5)
        return meet(f"127.0.0.1:{port}", 2, 1, 5.0, lambda end: None)

    first, _, second = _together(lambda: meet(f"127.0.0.1:{port}", 2, 0, 5.0, lambda end: None), stranger, late)
    assert isinstance(first, Link), first
    assert isinstance(second, Link), second
    _together(first.close, second.close)


@pytest.mark.parametrize("dead", [0, 1])
def test_a_death_ends_all_by_force_with_its_number(dead, monkeypatch):
    """After a while in which the main thread could have ended by itself."""
    monkeypatch.setattr("pixelbrax.training.link._GRACE", 0.2)
    with _linked(3) as (links, forced):
        _die(links[dead])
        others = [k for k in range(3) if k != dead]
        deadline = time.monotonic() + 10
        while not all(forced[k] for k in others) and time.monotonic() < deadline:
            time.sleep(0.01)
        for k in others:
            assert [end.code for end in forced[k]] == [2]
            assert forced[k][0].reason.startswith(f"process {dead} is gone")


def test_a_death_ends_who_waits_for_an_answer():
    with _linked(2) as (links, forced):
        waiting = threading.Timer(0.2, _die, (links[1],))
        waiting.start()
        with pytest.raises(ConfigError, match="process 1 is gone"):
            links[0].agree({}, 10.0)
        assert forced[0] == []


def test_a_process_that_does_not_answer_is_named():
    with _linked(2) as (links, _), pytest.raises(ConfigError, match=r"process 1 has not answered for 0 s"):
        links[0].agree({}, 0.2)


def test_an_error_in_one_process_is_the_end_of_the_others():
    with _linked(3) as (links, _):
        assert links[2].leave(End("process 2 stopped: runs/x exists", 2))
        for link in links[:2]:
            assert link.wait_for_end(5.0) == End("process 2 stopped: runs/x exists", 2)


def test_who_ends_by_itself_is_not_ended_by_force(monkeypatch):
    """Also if another process has ended just before: each says its own reason, once."""
    monkeypatch.setattr("pixelbrax.training.link._GRACE", 0.3)
    with _linked(2) as (links, forced):
        links[1].leave(End("process 1 stopped: broken down", 1))
        assert links[0].wait_for_end(5.0) is not None
        assert links[0].leave(End("process 0 stopped: broken down", 1))
        time.sleep(0.6)
        assert forced == [[], []]


def test_the_regular_end_is_no_loss(monkeypatch):
    monkeypatch.setattr("pixelbrax.training.link._GRACE", 0.1)
    with _linked(3) as (links, forced):
        assert links[1].leave(None)
        links[1].close()
        time.sleep(0.5)
        assert links[0].end is None
        assert forced == [[], [], []]


def test_what_was_sent_arrives_before_the_connection_closes():
    """Also if the other side has sent what nobody will read, which would reset the connection."""
    for _ in range(20):
        one, other = _pair()
        channel = Channel(one)
        link = Link(0, {1: channel}, lambda end: None)
        other.sendall(json.dumps({"facts": {"x": "y" * 100_000}}).encode() + b"\n")
        link.leave(End("why", 2))
        closing = threading.Thread(target=link.close)
        closing.start()
        said = b""
        while data := other.recv(4096):
            said += data
        other.close()
        closing.join()
        assert json.loads(said)["end"] == "why"


def _pair():
    with socket.create_server(("127.0.0.1", 0)) as server:
        one = socket.create_connection(server.getsockname())
        return one, server.accept()[0]


@pytest.mark.parametrize(
    "text", ["", "host", ":1", "host:", "host:0", "host:65536", "host:-1", "host:x", "::1:80", "a:b:1", "host:1²"]
)
def test_addresses_that_are_none_are_told(text):
    with pytest.raises(ConfigError, match="it must be HOST:PORT"):
        parse_address(text)


def test_addresses_are_read():
    assert parse_address("localhost:1234") == ("localhost", 1234)
    assert parse_address("[fd00::1]:65535") == ("fd00::1", 65535)


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"num_processes": 0}, "num_processes is 0: it must be at least 1"),
        ({"join_timeout": 0.0}, "join_timeout is 0.0: it must be positive"),
        ({"join_timeout": float("nan")}, "join_timeout is nan"),
        ({"process_id": 2}, "process_id is 2 of 2 processes"),
        ({"process_id": -1}, "process_id is -1: it must be at least 0"),
        ({"process_id": "0"}, "process_id is '0': it must be a whole number"),
        ({"coordinator": 5}, "coordinator is 5: it must be text, HOST:PORT"),
        ({"coordinator": None}, "several processes need both"),
        ({"coordinator": "here"}, "coordinator is 'here': it must be HOST:PORT"),
    ],
)
def test_processes_that_are_not_described_are_told(settings, problem):
    with pytest.raises(ConfigError, match=problem):
        replace(Processes("localhost:1234", 2, 0), **settings).validate()


def test_a_tunnel_is_silent_when_what_it_leads_to_is_gone():
    with socket.create_server(("127.0.0.1", 0)) as server:
        tunnel = Tunnel(*server.getsockname())
        host, port = parse_address(tunnel.address)
        with socket.create_connection((host, port)) as client:
            there, _ = server.accept()
            client.sendall(b"ping")
            assert there.recv(4) == b"ping"
            there.sendall(b"pong")
            assert client.recv(4) == b"pong"
            there.close()
            client.settimeout(0.5)
            with pytest.raises(TimeoutError):
                client.recv(1)


def test_settings_are_compared_by_their_flags_and_agents_by_what_differs():
    config = TrainConfig()
    facts = settings_of({"seed=0": config, "seed=1": replace(config, seed=1)})
    assert facts["agents"] == "seed=0, seed=1"
    assert facts["learning_rate"] == config.agent.learning_rate
    assert facts["algorithm"] == "ppo"
    assert {name: value for name, value in facts.items() if name.endswith("seed=1")} == {"seed of seed=1": 1}


def test_copies_of_checkpoints_are_told_apart(tmp_path):
    runs = [RunDir(tmp_path / name / "run") for name in "ab"]
    for run in runs:
        (run.checkpoint_dir / "4" / "default").mkdir(parents=True)
        (run.checkpoint_dir / "4" / "default" / "array").write_bytes(b"weights")
    one, other = map(checkpoints_of, [[run] for run in runs])
    assert one == other
    (runs[1].checkpoint_dir / "4" / "default" / "array").write_bytes(b"Weights")
    assert checkpoints_of([runs[1]]) != one


def test_other_videos_are_told_apart():
    frames = np.zeros((4, 3, 8, 8), np.uint8)
    one, same, other = (ClipBank.of({"clip": each}) for each in (frames, frames.copy(), frames + 1))
    assert clips_of((Video(bank=one),)) == clips_of((Video(bank=same),))
    assert clips_of((Video(bank=one),)) != clips_of((Video(bank=other),))


@pytest.mark.parametrize(
    ("number", "default"), [(signal.SIGINT, signal.default_int_handler), (signal.SIGTERM, signal.SIG_DFL)]
)
def test_interrupts_are_not_lost_in_jax_garbage_collection(number, default):
    """An exception there is ignored by Python."""

    def _xla_gc_callback(*_):
        os.kill(os.getpid(), number)
        time.sleep(0.01)

    reached = False
    before = signal.signal(number, default)  # a shell's background jobs ignore SIGINT
    try:
        with interruptible():
            _xla_gc_callback()
            reached = True  # nothing was raised there
            time.sleep(5)
    except KeyboardInterrupt:
        assert reached
    else:
        raise AssertionError("the interrupt was lost")
    finally:
        assert signal.getsignal(number) == default
        signal.signal(number, before)


_PROCESS = """
import sys
import tests.probe_tasks
from pixelbrax.cli import main
sys.exit(main(sys.argv[1:]))
"""
_TRAIN = """
train --task probe/sides --obs state --episode-length 10 --algorithm ppo
--num-envs 8 --unroll-length 8 --num-minibatches 2 --features 16 --state-layers 16
--num-steps 100000000 --log-interval 2 --eval-episodes 2 --num-devices 2 --checkpoint-interval 1
""".split()


@contextmanager
def _running(*flags):
    """Processes that train together, one for each list of flags."""
    where = f"127.0.0.1:{_free_port()}"
    environment = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=1"}
    started = []
    for k, own in enumerate(flags):
        among = ["--coordinator", where, "--num-processes", str(len(flags)), "--process-id", str(k)]
        command = [sys.executable, "-c", _PROCESS, *_TRAIN, *own, *among]
        started.append(
            subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        )
    try:
        yield started
    finally:
        for process in started:
            process.kill()
            process.communicate()


def _wait_for(process, text):
    for line in process.stdout:
        if text in line:
            return
    raise AssertionError(process.stderr.read())


def _ends(process):
    """The exit code, and the one line."""
    code = process.wait(timeout=60)
    lines = process.stderr.read().splitlines()
    assert len(lines) == 1, lines
    return code, lines[0]


@pytest.mark.full
def test_two_processes_of_different_settings_do_not_train(tmp_path):
    with _running(["--runs", str(tmp_path)], ["--learning-rate", "0.001", "--runs", str(tmp_path)]) as both:
        ends = [_ends(process) for process in both]
    assert ends[0] == ends[1]
    assert ends[0][0] == 2
    assert "process 1 has learning_rate 0.001, process 0 has 0.0007" in ends[0][1]
    assert not list(tmp_path.iterdir())


def test_a_busy_port_is_told_before_jax_crashes_on_it(capsys):
    with socket.create_server(("127.0.0.1", 0)) as other:
        where = f"127.0.0.1:{other.getsockname()[1]}"
        assert main([*_TRAIN, "--coordinator", where, "--num-processes", "2"]) == 2
    assert "cannot listen on port" in capsys.readouterr().err


@pytest.mark.full
@pytest.mark.parametrize("dead", [0, 1])
@pytest.mark.parametrize("when", ["compiling the first reset", "steps/s"])
def test_the_death_of_one_process_ends_the_other_in_one_line(when, dead, tmp_path):
    """While it compiles, and while it trains; what was learnt is there."""
    with _running(*[["--runs", str(tmp_path), "--name", "run"]] * 2) as both:
        _wait_for(both[0], when)
        if when == "steps/s":  # a reset takes less than these to compile, and the first checkpoint is there
            time.sleep(2)
        both[dead].send_signal(signal.SIGKILL)
        code, line = _ends(both[1 - dead])
    assert code == 2
    assert f"process {dead} is gone" in line
    if when == "steps/s":
        assert "start all processes with --resume" in line
        assert RunDir.open(tmp_path / "run").read_metrics()
    elif dead == 1:
        assert not (tmp_path / "run").exists(), "there is nothing to go on from, and the name is free"


@pytest.mark.full
def test_an_error_in_one_process_ends_the_other(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "notes.txt").touch()  # an empty folder would be taken
    with _running(*[["--runs", str(tmp_path / name), "--name", "run"] for name in (".", "elsewhere")]) as both:
        first, second = [_ends(process) for process in both]
    assert (first[0], second[0]) == (2, 2)
    assert "run exists: choose another name" in first[1]
    assert "process 0 stopped:" in second[1]
    assert "run exists: choose another name" in second[1]


@pytest.mark.full
@pytest.mark.parametrize("when", ["compiling the update", "steps/s"])
def test_ctrl_c_in_one_process_stops_both(when, tmp_path):
    with _running(*[["--runs", str(tmp_path), "--name", "run"]] * 2) as both:
        _wait_for(both[0], when)
        both[1].send_signal(signal.SIGINT)
        assert [process.wait(timeout=100) for process in both] == [130, 130]
    assert RunDir.open(tmp_path / "run").load_config()
