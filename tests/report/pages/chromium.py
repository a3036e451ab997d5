# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""A headless Chromium, driven by its DevTools protocol."""

import base64
import contextlib
import importlib.util
import itertools
import json
import pathlib
import shutil
import subprocess
import tempfile
import time
import urllib.request

SECONDS = 30


def missing() -> str | None:
    """Returns the missing requirement and how to install it; None if all are installed."""
    if shutil.which("chromium") is None:
        return "no chromium: cmake/bootstrap.sh pages installs it"
    for module in ("websocket", "axe_playwright_python"):
        if importlib.util.find_spec(module) is None:
            return f"no Python module {module}: cmake/bootstrap.sh pages installs it"
    return None


def axe_source() -> str:
    """The JavaScript of axe-core, without importing the package around it, whose dependencies are not installed."""
    folder = pathlib.Path(importlib.util.find_spec("axe_playwright_python").origin).parent
    return (folder / "axe.min.js").read_text()


class Page:
    def __init__(self, socket):
        self.socket = socket
        self.numbers = itertools.count(1)
        self.events = []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method, **parameters):
        number = next(self.numbers)
        self.socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self.socket.recv())
            if message.get("id") == number:
                assert "error" not in message, f"{method}: {message['error']}"
                return message["result"]
            self.events.append(message)

    def await_event(self, name):
        until = time.monotonic() + SECONDS
        while all(event["method"] != name for event in self.events):
            assert time.monotonic() < until, f"{name} did not come"
            self.events.append(json.loads(self.socket.recv()))

    def open(self, file, width=1280, dark=False, media="screen", scripts=True):
        """Loads a page anew; `complaints` and `requests` are of this page then."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", media=media, features=features)
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.events.clear()
        self.call("Page.navigate", url=pathlib.Path(file).resolve().as_uri())
        self.await_event("Page.loadEventFired")
        return self

    def evaluate(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def press(self, key, code):
        for kind in ("keyDown", "keyUp"):
            text = "\r" if key == "Enter" else ""
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, text=text)

    def screenshot(self, file=None):
        taken = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        image = base64.b64decode(taken["data"])
        if file:
            pathlib.Path(file).write_bytes(image)
        return image

    @property
    def complaints(self):
        """The console's errors, warnings and refused requests."""
        wanted = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")
        return [event["params"] for event in self.events if event["method"] in wanted]

    @property
    def requests(self):
        sent = [event["params"] for event in self.events if event["method"] == "Network.requestWillBeSent"]
        return [one["request"]["url"] for one in sent if not one["request"]["url"].startswith("data:")]


@contextlib.contextmanager
def browser():
    import websocket

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
        options += ["--disable-background-networking", "--disable-component-update", "--disable-extensions"]
        options += ["--remote-debugging-port=0", "--remote-allow-origins=*", f"--user-data-dir={folder}", "about:blank"]
        log = pathlib.Path(folder) / "log"
        with log.open("wb") as output:
            process = subprocess.Popen(["chromium", *options], stdout=output, stderr=output)
        try:
            port_file = pathlib.Path(folder) / "DevToolsActivePort"
            until = time.monotonic() + SECONDS
            while not (port_file.exists() and port_file.read_text().strip()):
                assert time.monotonic() < until, log.read_text()[-2000:]
                time.sleep(0.05)
            port = port_file.read_text().splitlines()[0]
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/json", timeout=SECONDS) as answer:
                target = next(one for one in json.load(answer) if one["type"] == "page")
            socket = websocket.create_connection(target["webSocketDebuggerUrl"], timeout=SECONDS)
            try:
                yield Page(socket)
            finally:
                socket.close()
        finally:
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
