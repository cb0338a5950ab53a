"""A headless Chromium of one test, spoken to over a pipe (the DevTools protocol, NUL between messages)."""
import base64
import fcntl
import itertools
import json
import os
import select
import shutil
import subprocess
import time

from harness import Skipped, check

SECONDS = 30
# Keys that do more than to be seen by scripts: their number, and the text that they give.
KEYS = {"Tab": (9, None), "Enter": (13, "\r"), "Escape": (27, None), "ArrowUp": (38, None), "ArrowDown": (40, None)}


PROGRAMS = ("chromium", "chromium-headless-shell", "chromium-browser", "google-chrome")


class PageLeft(Exception):
    """The page went while it was asked something."""


class Browser:
    """One page. Skips the test where there is no Chromium."""

    def __init__(self, t, width=1200, height=900):
        program = next(filter(None, map(shutil.which, PROGRAMS)), None)
        if program is None:
            raise Skipped("there is no Chromium here")
        to_browser, self.sending = os.pipe()
        self.receiving, from_browser = os.pipe()

        def give_pipes():
            # First out of the way: one of them may be 3 or 4 itself.
            copies = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (to_browser, from_browser)]
            os.dup2(copies[0], 3)
            os.dup2(copies[1], 4)

        flags = ["--headless=new", "--remote-debugging-pipe", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage",
                 f"--user-data-dir={t.dir / 'browser'}", f"--window-size={width},{height}"]
        if os.getuid() == 0:
            flags.append("--no-sandbox")
        self.process = subprocess.Popen([program, *flags, "about:blank"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, preexec_fn=give_pipes, close_fds=False,
                                        env={**os.environ, "HOME": str(t.dir)})
        os.close(to_browser)
        os.close(from_browser)
        t.cleanup(self.close)
        self.numbers = itertools.count(1)
        self.buffer = b""
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Page.enable")

    def close(self):
        os.close(self.sending)
        os.close(self.receiving)
        self.process.terminate()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def message(self, end):
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.receiving], [], [], max(0, end - time.monotonic()))
            check(ready, "the browser doesn't answer")
            piece = os.read(self.receiving, 1 << 16)
            check(piece, "the browser ended")
            self.buffer += piece
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **parameters):
        number = next(self.numbers)
        request = {"id": number, "method": method, "params": parameters}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.sending, json.dumps(request).encode() + b"\0")
        end = time.monotonic() + SECONDS
        while (answer := self.message(end)).get("id") != number:
            pass
        if answer.get("error", {}).get("message") == "Inspected target navigated or closed":
            raise PageLeft(method)
        check("error" not in answer, method, answer)
        return answer["result"]

    def open(self, url):
        self.call("Page.navigate", url=url)
        self.wait("document.readyState === 'complete' && location.href !== 'about:blank'")

    def value(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        check("exceptionDetails" not in answer, expression, answer)
        return answer["result"].get("value")

    def is_true(self, expression):
        """Of the page that is there; nothing is of one that is being left."""
        try:
            return self.value(expression)
        except PageLeft:
            return False

    def wait(self, expression, seconds=SECONDS):
        end = time.monotonic() + seconds
        while not self.is_true(expression):
            if time.monotonic() >= end:
                raise AssertionError(f"never true: {expression}: {self.value('document.body?.innerText')}")
            time.sleep(0.05)

    def type(self, text):
        """Character by character, as a person."""
        for character in text:
            self.call("Input.dispatchKeyEvent", type="keyDown", text=character, key=character)
            self.call("Input.dispatchKeyEvent", type="keyUp", key=character)

    def press(self, key):
        number, text = KEYS[key]
        down = {"text": text} if text else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, code=key, windowsVirtualKeyCode=number, **down)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, code=key, windowsVirtualKeyCode=number)

    def emulate(self, **features):
        """emulate(prefers_color_scheme="dark")"""
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": name.replace("_", "-"), "value": value} for name, value in features.items()])

    def screenshot(self, path):
        picture = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)["data"]
        path.write_bytes(base64.b64decode(picture))
