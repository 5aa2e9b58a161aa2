"""A real browser for tests: Debian's chromium, headless, in a profile of its own, driven over a
pair of pipes. There is no port, no network and no library in between.

    with Browser() as browser:
        page = browser.open("/tmp/page.html", width=380, dark=True)
        page.evaluate("document.title")
"""
import base64
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import threading

PATIENCE = 60  # seconds for one answer: a browser on a busy machine is slow to start
FLAGS = ["--headless=new", "--remote-debugging-pipe", "--no-first-run",
         "--no-default-browser-check", "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--disable-extensions", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
         "--password-store=basic", "--force-color-profile=srgb"]


class BrowserError(Exception):
    pass


class Browser:
    def __init__(self, program="chromium"):
        self.scratch = tempfile.TemporaryDirectory(prefix="ikigai-browser-",
                                                   ignore_cleanup_errors=True)
        env = dict(os.environ, HOME=self.scratch.name, XDG_CONFIG_HOME=self.scratch.name,
                   XDG_CACHE_HOME=self.scratch.name)
        to_browser, self.write_fd = os.pipe()
        self.read_fd, from_browser = os.pipe()

        def place():  # the browser reads descriptor 3 and writes descriptor 4
            spare = [os.dup(to_browser), os.dup(from_browser)]  # neither may be 3 or 4 itself
            spare = [os.dup(fd) if fd in (3, 4) else fd for fd in spare]
            os.dup2(spare[0], 3)
            os.dup2(spare[1], 4)

        self.log = open(os.path.join(self.scratch.name, "log"), "w+b")
        self.child = subprocess.Popen(
            [program, *FLAGS, *(["--no-sandbox"] if os.geteuid() == 0 else []),
             f"--user-data-dir={self.scratch.name}/profile", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, env=env,
            close_fds=False, preexec_fn=place, start_new_session=True)
        os.close(to_browser)
        os.close(from_browser)
        self.next_id = 0
        self.answers = {}
        self.listeners = {}  # session -> function of an event
        self.changed = threading.Condition()
        self.gone = False
        threading.Thread(target=self.listen, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.send("Browser.close")
            self.child.wait(10)
        except (BrowserError, subprocess.TimeoutExpired):
            pass
        try:
            os.killpg(self.child.pid, signal.SIGKILL)  # its own session, with its processes alone
        except ProcessLookupError:
            pass
        self.child.wait()
        os.close(self.write_fd)
        self.log.close()
        self.scratch.cleanup()

    def listen(self):
        """Messages are JSON with a NUL behind each."""
        pending = b""
        while chunk := os.read(self.read_fd, 65536):
            *whole, pending = (pending + chunk).split(b"\0")
            for message in whole:
                self.take(json.loads(message))
        with self.changed:
            self.gone = True
            self.changed.notify_all()
        os.close(self.read_fd)

    def take(self, message):
        with self.changed:
            if "id" in message:
                self.answers[message["id"]] = message
                self.changed.notify_all()
            elif message.get("sessionId") in self.listeners:
                self.listeners[message["sessionId"]](message)
                self.changed.notify_all()

    def wait(self, condition, what):
        with self.changed:
            if not self.changed.wait_for(lambda: condition() or self.gone, PATIENCE) or self.gone:
                self.log.flush()
                self.log.seek(0)
                raise BrowserError(f"{what}: the browser does not answer\n"
                                   + self.log.read().decode(errors="replace")[-4000:])

    def send(self, method, session=None, **params):
        with self.changed:
            self.next_id += 1
            number = self.next_id
        message = {"id": number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        try:
            os.write(self.write_fd, json.dumps(message).encode() + b"\0")
        except BrokenPipeError:
            raise BrowserError(f"{method}: the browser is gone") from None
        self.wait(lambda: number in self.answers, method)
        answer = self.answers.pop(number)
        if "error" in answer:
            raise BrowserError(f"{method}: {answer['error']}")
        return answer["result"]

    def open(self, path, **look):
        return Page(self, path, **look)


class Page:
    """One page, loaded. requests, complaints and dialogs are what happened since."""

    def __init__(self, browser, path, width=1200, height=900, dark=False):
        self.browser = browser
        self.requests, self.complaints, self.dialogs = [], [], []
        self.loaded = False
        self.target = browser.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.send("Target.attachToTarget", targetId=self.target,
                                    flatten=True)["sessionId"]
        browser.listeners[self.session] = self.on_event
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.send(f"{domain}.enable")
        self.resize(width, height)
        self.set_dark(dark)
        self.url = pathlib.Path(path).resolve().as_uri()
        self.send("Page.navigate", url=self.url)
        browser.wait(lambda: self.loaded, self.url)

    def send(self, method, **params):
        return self.browser.send(method, self.session, **params)

    def on_event(self, message):
        method, params = message["method"], message["params"]
        if method == "Page.loadEventFired":
            self.loaded = True
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Runtime.consoleAPICalled":
            self.complaints.append(str(params["args"]))
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(str(params["exceptionDetails"]))
        elif method == "Log.entryAdded":
            self.complaints.append(params["entry"]["text"])
        elif method == "Page.javascriptDialogOpening":
            self.dialogs.append(params["message"])

    def resize(self, width, height):
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)

    def set_dark(self, dark):
        self.send("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def set_media(self, media):
        self.send("Emulation.setEmulatedMedia", media=media)

    def evaluate(self, expression):
        """The value of an expression of JavaScript. It is ours, and runs although the page may have
        no script."""
        done = self.send("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in done:
            raise BrowserError(f"{expression}: {done['exceptionDetails']}")
        return done["result"].get("value")

    def click(self, selector):
        """With the mouse, where the reader would."""
        place = self.evaluate(f"""(() => {{
            const element = document.querySelector({json.dumps(selector)});
            element.scrollIntoView({{block: "center", behavior: "instant"}});
            const box = element.getBoundingClientRect();
            return [box.left + Math.min(20, box.width / 2), box.top + Math.min(10, box.height / 2)];
        }})()""")
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left",
                      clickCount=1)

    def screenshot(self, path, whole=False):
        shot = self.send("Page.captureScreenshot", captureBeyondViewport=whole)
        with open(path, "wb") as f:
            f.write(base64.b64decode(shot["data"]))

    def close(self):
        self.browser.send("Target.closeTarget", targetId=self.target)
