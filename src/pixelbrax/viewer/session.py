"""One tab's simulation: a thread that steps and renders in real time, and obeys messages."""

import functools
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import UInt32

from pixelbrax.errors import ConfigError
from pixelbrax.experiments import file_name
from pixelbrax.viewer import messages
from pixelbrax.viewer.construction import Construction
from pixelbrax.viewer.images import beside, to_rgb
from pixelbrax.viewer.messages import Message, View
from pixelbrax.viewer.pace import Pace
from pixelbrax.viewer.programs import ViewConfig, Workshop
from pixelbrax.viewer.recorder import Recorder, unused_file
from pixelbrax.viewer.simulation import Sample, Simulation

_AWAY = 2.0  # seconds without a request after which nobody is looking
_PATIENCE = 10.0  # seconds for a step and the end of a recording
_BURST = 0.03  # seconds of steps between two images
_MAX_TASKS = 100  # that wait for the thread
_MAX_SAMPLES = 2_000  # that wait for the page

Image = UInt32[np.ndarray, "height width"]


@dataclass(frozen=True)
class Update:
    """What a page is told: facts as JSON, and the images, if there are new ones.

    Attributes:
      facts: for `json.dumps`.
      images: by name, "agent" and "free".
    """

    facts: dict[str, Any]
    images: dict[str, Image]


class Session:
    """A simulation in real time with its own thread; all methods may be called from any thread.

    It knows nothing of HTTP. It simulates only while somebody asks for updates, and sleeps while paused.
    """

    def __init__(
        self, workshop: Workshop, config: ViewConfig, *, seed: int = 0, strength: float = 1.0, folder: Path = Path()
    ):
        """Begins to build the environment.

        Args:
          workshop: what compiles.
          config: the first environment.
          seed: of the first episodes.
          strength: factor on the strengths of the distractors.
          folder: where recordings are written.
        """
        self._changed = threading.Condition()  # guards everything below
        self._construction = Construction(workshop, config, self._wake)
        self._simulation: Simulation | None = None
        self._seed, self._strength, self._folder = seed, strength, folder
        self._paused = False
        self._view: View = "color"
        self._pace = Pace()
        self._recorder: Recorder | None = None
        self._tasks: list[Callable[[Simulation], None]] = []  # for the thread, in order
        self._samples: list[Sample] = []
        self._images: dict[str, Image] = {}
        self._stale = False  # the images that the page has are no longer true
        self._version = 0  # of the environment that is shown
        self._notices: list[dict[str, str]] = []
        self._last_request = time.monotonic()
        self._open = True
        self._thread = threading.Thread(target=self._run, name="session", daemon=True)
        self._thread.start()

    # What pages call

    def obey(self, message: Message) -> None:
        """Does what a message says, soon.

        Raises:
          ConfigError: it cannot be done now; nothing has changed.
        """
        with self._changed:
            self._obey(message)
            self._changed.notify_all()

    def update(self, version: int = -1, timeout: float = 1.0) -> Update:
        """What is new since the last update; waits for it.

        Args:
          version: of the environment that the page knows; facts about another one are included.
          timeout: seconds after which the answer has no images.
        """
        with self._changed:
            self._last_request = time.monotonic()
            self._changed.notify_all()
            self._changed.wait_for(
                lambda: self._images or self._notices or version != self._version or not self._open, timeout
            )
            self._last_request = time.monotonic()
            facts = self._facts()
            if version != self._version:
                facts["environment"] = self._environment()
            images, self._images = self._images, {}
            self._changed.notify_all()
            return Update(facts, images)

    @property
    def idle_seconds(self) -> float:
        """Time since the last request."""
        with self._changed:
            return time.monotonic() - self._last_request

    def close(self) -> None:
        """Ends the thread; a recording is completed."""
        with self._changed:
            self._open = False
            self._changed.notify_all()
        self._thread.join(_PATIENCE)

    # Messages

    @functools.singledispatchmethod
    def _obey(self, message: Any) -> None:
        raise TypeError(message)

    @_obey.register
    def _(self, message: messages.Choose) -> None:
        self._construction.choose(message)

    @_obey.register
    def _(self, message: messages.Pause) -> None:
        self._paused = message.paused
        self._pace.restart(time.monotonic())

    @_obey.register
    def _(self, message: messages.Step) -> None:
        self._ready()
        self._do(self._step_once)

    @_obey.register
    def _(self, message: messages.Restart) -> None:
        self._ready()
        if message.seed is not None:
            self._seed = message.seed
        seed = self._seed
        self._do(lambda simulation: simulation.restart(seed))

    @_obey.register
    def _(self, message: messages.Act) -> None:
        self._ready().choose_source(message.source, message.action)

    @_obey.register
    def _(self, message: messages.Show) -> None:
        self._view, self._stale = message.view, True

    @_obey.register
    def _(self, message: messages.Drag) -> None:
        self._ready().drag(message.how, message.right, message.down)
        self._stale = True

    @_obey.register
    def _(self, message: messages.Zoom) -> None:
        self._ready().zoom(message.notches)
        self._stale = True

    @_obey.register
    def _(self, message: messages.Home) -> None:
        self._ready()
        self._do(lambda simulation: simulation.go_home())

    @_obey.register
    def _(self, message: messages.Follow) -> None:
        self._ready()
        self._do(lambda simulation: simulation.follow(message.follows))

    @_obey.register
    def _(self, message: messages.Speed) -> None:
        self._pace.speed = message.factor
        self._pace.restart(time.monotonic())

    @_obey.register
    def _(self, message: messages.Strength) -> None:
        strength = message.factor
        if self._simulation is None:
            self._strength = strength
        else:
            self._do(lambda simulation: self._scale(simulation, strength))

    @_obey.register
    def _(self, message: messages.Record) -> None:
        programs = self._ready().programs
        if message.recording == (self._recorder is not None):
            return
        if message.recording:
            name = file_name(programs.config.environment.task)
            self._recorder = Recorder(unused_file(self._folder, name), programs.env.physics.dt)
        else:
            self._do(lambda simulation: self._end_recording())

    def _ready(self) -> Simulation:
        """The simulation; raises ConfigError before the first one is built."""
        if self._simulation is None:
            raise ConfigError("the environment is not ready yet: wait until it is compiled")
        return self._simulation

    def _do(self, task: Callable[[Simulation], None]) -> None:
        """Leaves work on the simulation to the thread, in the order of the messages."""
        if len(self._tasks) >= _MAX_TASKS:
            raise ConfigError(f"{_MAX_TASKS} messages wait already: send fewer")
        self._tasks.append(task)
        self._stale = True

    # Facts

    def _facts(self) -> dict[str, Any]:
        samples, self._samples = self._samples, []
        notices, self._notices = self._notices, []
        facts: dict[str, Any] = {
            "version": self._version,
            "building": self._construction.progress,
            "notices": notices,
            "paused": self._paused,
            "view": self._view,
            "speed": self._pace.speed,
            "strength": self._strength,
            "recording": self._recorder is not None,
        }
        if self._simulation is not None:
            facts |= self._simulation.facts | {
                "achieved": self._pace.achieved,
                "samples": {
                    "reward": [sample.reward for sample in samples],
                    "value": [sample.value for sample in samples],
                    "action": [sample.action for sample in samples],
                    "begins": [sample.begins for sample in samples],
                },
            }
        return facts

    def _environment(self) -> dict[str, Any] | None:
        """What the page's pickers show, once something is built."""
        return self._simulation and self._simulation.programs.facts

    # The thread

    def _run(self) -> None:
        while self._wait():
            try:
                self._turn()
            except Exception as e:
                with self._changed:
                    self._paused = True
                    self._notice("error", f"the simulation stopped: {type(e).__name__}: {e!s:.300}")
                print(f"pixelbrax view: {type(e).__name__}: {e}", file=sys.stderr)
        self._construction.close()
        if self._recorder is not None:
            self._end_recording()

    def _wait(self) -> bool:
        """Sleeps until there is something to do; False at the end."""
        with self._changed:
            while self._open:
                due = self._due_in(time.monotonic())
                if due is not None and due <= 0:
                    return True
                self._changed.wait(due)
            return False

    def _due_in(self, now: float) -> float | None:
        """Seconds until there is something to do; None if that depends on messages."""
        if self._construction.is_done or self._tasks:
            return 0.0
        left = _AWAY - (now - self._last_request)
        if self._simulation is None or left <= 0:
            self._pace.restart(now)
            return None
        if self._stale and not self._images:
            return 0.0
        return None if self._paused else min(self._pace.due_in(now), left)

    def _turn(self) -> None:
        """Does what is due."""
        self._take_new()
        with self._changed:
            tasks, self._tasks = self._tasks, []
            simulation = self._simulation
        if simulation is None:
            return
        for task in tasks:
            task(simulation)
        self._step(simulation)
        with self._changed:
            view, wanted = self._view, self._stale and not self._images
            self._stale = self._stale and not wanted
        if wanted:
            images = {"agent": simulation.agent_image(view), "free": simulation.free_image(view)}
            with self._changed:
                self._images = images
                self._changed.notify_all()

    def _step(self, simulation: Simulation) -> None:
        """Shows the frames that are due, a few at most."""
        begun = time.monotonic()
        while time.monotonic() - begun < _BURST:
            with self._changed:
                if self._paused or self._pace.due_in(time.monotonic()) > 0:
                    return
            self._advance(simulation)
            with self._changed:
                self._pace.stepped(time.monotonic())

    def _step_once(self, simulation: Simulation) -> None:
        """Takes one step, or the rest of one."""
        while not self._advance(simulation):
            pass

    def _advance(self, simulation: Simulation) -> bool:
        """Shows the next frame; whether it was the last of a step."""
        sample = simulation.advance()
        with self._changed:
            if sample is not None:
                self._samples = [*self._samples, sample][-_MAX_SAMPLES:]
            self._stale = True
        self._record(simulation)
        return sample is not None

    def _take_new(self) -> None:
        """Takes over what has been built, or says why it was not."""
        with self._changed:
            programs, problem = self._construction.take()
            if problem:
                self._notice("error", problem)
            if programs is None:
                return
            old, strength, seed, problem = self._simulation, self._strength, self._seed, ""
        try:
            simulation = Simulation(programs, seed, strength, old)
        except ConfigError as e:  # the distractors before them allowed more
            simulation, problem = Simulation(programs, seed, before=old), f"the strength is 1 again: {e}"
        if self._recorder is not None:
            self._end_recording()
        with self._changed:
            if problem:
                self._notice("error", problem)
            if (chosen := self._strength) != strength:  # meanwhile
                self._do(lambda simulation: self._scale(simulation, chosen))
            simulation.choose_as(old)  # likewise
            self._simulation, self._version, self._samples = simulation, self._version + 1, []
            self._strength = simulation.strength
            self._pace.dt, self._stale, self._images = programs.env.physics.dt, True, {}
            self._pace.restart(time.monotonic())
            self._changed.notify_all()

    def _scale(self, simulation: Simulation, strength: float) -> None:
        """Gives the distractors another strength, or says why they cannot have it."""
        problem = ""
        try:
            simulation.scale_distractors(strength)
        except ConfigError as e:
            problem = f"the strength stays {simulation.strength:g}: {e}"
        with self._changed:
            self._strength = simulation.strength
            if problem:
                self._notice("error", problem)

    def _record(self, simulation: Simulation) -> None:
        """Appends what the page shows to the recording, if there is one."""
        recorder = self._recorder
        if recorder is not None and recorder.takes(simulation.frames):
            recorder.add(to_rgb(beside(simulation.agent_image(self._view), simulation.free_image(self._view))))
            if recorder.is_full:
                self._end_recording()

    def _end_recording(self) -> None:
        recorder, self._recorder = self._recorder, None
        if recorder is not None:
            result = recorder.close()
            with self._changed:
                self._notice("notice", result)

    def _notice(self, kind: str, text: str) -> None:
        """Tells the page something once."""
        self._notices.append({"kind": kind, "text": text})
        self._changed.notify_all()

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()
