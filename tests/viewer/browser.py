"""A headless Chromium over its DevTools pipe, with the standard library alone."""

import base64
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
_FLAGS = (
    "--headless=new --remote-debugging-pipe --no-sandbox --no-first-run --disable-extensions --disable-gpu "
    "--disable-background-networking --disable-component-update --disable-dev-shm-usage --hide-scrollbars"
).split()
# Chromium expects its end of the pipe at 3 and 4. A process between puts it there: Python would fork to run a
# `preexec_fn`, and JAX warns of forks.
_WITH_PIPE = """
import os, sys
read, write = (os.dup(int(number)) for number in sys.argv[1:3])
high = [os.dup(number) for number in (read, write)]
os.dup2(high[0], 3)
os.dup2(high[1], 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """One tab of a fresh browser; use it as a context manager."""

    def __init__(self, profile: Path, *flags: str):
        """Starts the browser.

        Args:
          profile: an empty folder.
          *flags: more of its flags.
        """
        assert CHROMIUM
        ours_read, theirs_write = os.pipe()
        theirs_read, ours_write = os.pipe()

        ends = theirs_read, theirs_write
        self._process = subprocess.Popen(
            [sys.executable, "-c", _WITH_PIPE, *map(str, ends), CHROMIUM, *_FLAGS, *flags]
            + [f"--user-data-dir={profile}", "about:blank"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=ends,
        )
        os.close(theirs_read)
        os.close(theirs_write)
        self._read, self._write = ours_read, ours_write
        self._buffer, self._count = b"", 0
        self._session: str | None = None
        self.errors: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(20)
        os.close(self._read)
        os.close(self._write)

    def call(self, method: str, **params: Any) -> Any:
        """A command's result."""
        self._count += 1
        message = {"id": self._count, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._count:
                assert "error" not in answer, answer["error"]
                return answer["result"]
            self._note(answer)

    def open(self, address: str, width: int, height: int) -> None:
        """Loads a page in a window of this size."""
        self.resize(width, height)
        self.call("Page.navigate", url=address)
        self.wait(f"location.href === {json.dumps(address)} && document.readyState === 'complete'")

    def resize(self, width: int, height: int) -> None:
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def emulate(self, **features: str) -> None:
        """Media features, such as prefers_color_scheme="dark"."""
        features_ = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.call("Emulation.setEmulatedMedia", features=features_)

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression; promises are awaited."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def wait(self, expression: str, seconds: float = 60.0) -> Any:
        """The value of an expression as soon as it is true."""
        end = time.monotonic() + seconds
        while not (value := self.evaluate(expression)):
            assert time.monotonic() < end, f"never true: {expression}"
            time.sleep(0.1)
        return value

    def key(self, key: str) -> None:
        """Presses a key."""
        for kind in ("keyDown", "keyUp"):
            text = {"text": key} if kind == "keyDown" and len(key) == 1 else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=key, **text)

    def mouse(self, kind: str, x: float, y: float, **others: Any) -> None:
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **others)

    def screenshot(self, file: Path, whole: bool = False) -> None:
        """Writes a PNG of the window, or of the whole page."""
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        file.write_bytes(base64.b64decode(data))

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            data = os.read(self._read, 1 << 20)
            assert data, "the browser ended"
            self._buffer += data
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)

    def _note(self, event: dict[str, Any]) -> None:
        """Keeps what a page's console shows as errors."""
        kinds: dict[str, Callable[[Any], str | None]] = {
            "Runtime.exceptionThrown": lambda x: json.dumps(x["exceptionDetails"]),
            "Runtime.consoleAPICalled": lambda x: json.dumps(x["args"]) if x["type"] in ("error", "warning") else None,
            "Log.entryAdded": lambda x: x["entry"]["text"] if x["entry"]["level"] in ("error", "warning") else None,
            "Network.loadingFailed": lambda x: None if x.get("canceled") else x["errorText"],
        }
        if (kind := kinds.get(event.get("method", ""))) and (text := kind(event["params"])):
            self.errors.append(text)
