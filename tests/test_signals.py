"""Requests to stop: the first is noted, the second acts, and handlers are put back."""

import contextlib
import os
import signal
import threading

import pytest

from pixelbrax.signals import interruptible, last_stop, stop_requests

_NUMBERS = [signal.SIGINT, signal.SIGTERM]


@pytest.fixture(autouse=True)
def own_handlers():
    """Handlers of this test's own, which note what reaches them."""
    caught: list[int] = []
    before = {number: signal.signal(number, lambda number, frame: caught.append(number)) for number in _NUMBERS}
    yield caught
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", _NUMBERS)
def test_the_first_request_is_noted_and_the_second_acts(number, own_handlers):
    own = [signal.getsignal(each) for each in _NUMBERS]
    with stop_requests() as stop:
        assert not stop.requested
        os.kill(os.getpid(), number)
        assert stop.requested
        assert last_stop() == number
        assert own_handlers == []
        for each in _NUMBERS:
            os.kill(os.getpid(), each)
        assert own_handlers == _NUMBERS
    assert [signal.getsignal(each) for each in _NUMBERS] == own


def test_handlers_are_put_back_without_a_request_and_after_an_error(own_handlers):
    own = [signal.getsignal(each) for each in _NUMBERS]
    with contextlib.suppress(ValueError), stop_requests():
        assert [signal.getsignal(each) for each in _NUMBERS] != own
        raise ValueError
    assert [signal.getsignal(each) for each in _NUMBERS] == own
    with stop_requests() as stop:
        pass
    assert not stop.requested
    assert last_stop() == 0


def test_handlers_of_somebody_else_are_not_replaced_by_interrupts(own_handlers):
    with interruptible():
        os.kill(os.getpid(), signal.SIGTERM)
    assert own_handlers == [signal.SIGTERM]


def test_other_threads_have_no_signals():
    found = []

    def run():
        with stop_requests() as stop, interruptible():
            found.append(stop.requested)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert found == [False]
