"""A real browser for tests: Debian's chromium through its driver, spoken to in plain WebDriver over HTTP."""

from __future__ import annotations

import base64
import json
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")


class Browser:
    """One headless window.

    _driver    the driver's process
    _profile   a folder of its own for the browser's files
    _session   the address of the session
    """

    def __init__(self) -> None:
        port = _free_port()
        self._driver = subprocess.Popen(
            [str(DRIVER), f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        base = f"http://127.0.0.1:{port}"
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        options = {
            "binary": CHROMIUM,
            "args": [*arguments, f"--user-data-dir={self._profile.name}"],
            "perfLoggingPrefs": {"enableNetwork": True},
        }
        wanted = {
            "browserName": "chrome",
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        }
        self._wait(base)
        started = _post(f"{base}/session", {"capabilities": {"alwaysMatch": wanted}})
        self._session = f"{base}/session/{started['sessionId']}"

    def show(
        self, page: Path, *, width: int = 1200, height: int = 900, dark: bool = False, medium: str = "screen"
    ) -> None:
        """Loads a page in a window of that size, light or dark, on a screen or on paper.

        What was written to the console or asked for before, by the browser's own first page too, is forgotten.
        """
        _post(f"{self._session}/url", {"url": "about:blank"})
        self.console()
        self.requests()
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._devtools("Emulation.setEmulatedMedia", {"media": medium, "features": [scheme]})
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self._devtools("Emulation.setDeviceMetricsOverride", size)
        _post(f"{self._session}/url", {"url": page.resolve().as_uri()})

    def run(self, script: str, *arguments: Any) -> Any:
        """The value that a script returns."""
        return _post(f"{self._session}/execute/sync", {"script": script, "args": list(arguments)})

    def press(self, key: str) -> None:
        """Presses a key, as a user of the keyboard does."""
        key_actions = [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        _post(f"{self._session}/actions", {"actions": [{"type": "key", "id": "keys", "actions": key_actions}]})

    def console(self) -> list[dict[str, Any]]:
        """What the page wrote to the console since the last call, errors of loading included."""
        return list(_post(f"{self._session}/se/log", {"type": "browser"}))

    def requests(self) -> list[str]:
        """The addresses asked for since the last call."""
        entries = _post(f"{self._session}/se/log", {"type": "performance"})
        messages = (json.loads(entry["message"])["message"] for entry in entries)
        sent = (message for message in messages if message["method"] == "Network.requestWillBeSent")
        return [message["params"]["request"]["url"] for message in sent]

    def accessibility_tree(self) -> list[dict[str, Any]]:
        """What a screen reader is given."""
        return list(self._devtools("Accessibility.getFullAXTree", {})["nodes"])

    def screenshot(self) -> bytes:
        """The window as PNG."""
        with urllib.request.urlopen(f"{self._session}/screenshot", timeout=60) as answer:
            return base64.b64decode(json.load(answer)["value"])

    def close(self) -> None:
        try:
            urllib.request.urlopen(urllib.request.Request(self._session, method="DELETE"), timeout=30).close()
        finally:
            self._driver.terminate()
            self._driver.wait(timeout=30)
            self._profile.cleanup()

    def _devtools(self, command: str, parameters: dict[str, Any]) -> Any:
        return _post(f"{self._session}/goog/cdp/execute", {"cmd": command, "params": parameters})

    def _wait(self, base: str, seconds: float = 60) -> None:
        until = time.monotonic() + seconds
        while True:
            try:
                urllib.request.urlopen(f"{base}/status", timeout=5).close()
                return
            except OSError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _post(address: str, body: dict[str, Any]) -> Any:
    request = urllib.request.Request(address, json.dumps(body).encode(), {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.load(answer)["value"]
    except urllib.error.HTTPError as error:
        raise AssertionError(f"the driver refused: {error.read().decode()[:500]}") from None
