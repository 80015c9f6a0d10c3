"""A key at a desk: its user is asked and told by a notification service that nobody of this project wrote, on a screen that nobody looks at.

    desktop.py LATCH LAB PYTHON [--picture FILE]

PYTHON has dbus_fast, for the logind that the suite plays. What is believed of the key is what its lock says, and what dunst has shown.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))

from support.daemons import Key, Latch
from support.processes import DEADLINE_SECONDS, Process, eventually
from support.radios import VirtualRadio
from support.screens import Screen
from support.steps import StepFailed, Suite, check, check_equal

# Of Debian's package mate-notification-daemon.
BUTTONS = "/usr/lib/mate-notification-daemon/mate-notification-daemon"
HERE = os.path.dirname(os.path.abspath(__file__))
LOCK_SETTINGS = "[lock]\nrelock_seconds = 0\n"
ASKING = "[proximity]\nunlock = true\nneeds_user = true\nask_first = true\n"
TELLING = "[proximity]\nunlock = true\nneeds_user = true\nlock_on_leaving = true\n"
AWAY, NEAR = 20, 1
# Nothing is started by being called: a desktop without a service is one.
BUS = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>{address}</listen><policy context="default"><allow send_destination="*"/>
<allow receive_sender="*"/><allow own="*"/></policy></busconfig>
"""


class Desk(Screen):
    """A screen, a session's bus with dunst on it, and a system bus with a logind of the suite's."""

    def __init__(self, python, directory):
        super().__init__(directory, 640, 240)
        self._directory = directory
        self._python = python

    def __enter__(self):
        super().__enter__()
        self.environment["DBUS_SESSION_BUS_ADDRESS"] = self._bus("session")
        self.environment["DBUS_SYSTEM_BUS_ADDRESS"] = self._bus("system")
        self.begin_notifications()
        self._logind = self.begin([self._python, f"{HERE}/logind.py"], stdin=subprocess.PIPE)
        check_equal(self._logind.stdout.readline().strip(), "ready", "what logind says first")
        return self

    def _bus(self, name):
        settings = os.path.join(self._directory, f"{name}.xml")
        with open(settings, "w", encoding="utf-8") as file:
            file.write(BUS.format(address=f"unix:path={self._directory}/{name}.bus"))
        words = ["dbus-daemon", f"--config-file={settings}", "--nofork", "--nopidfile", "--nosyslog", "--print-address=1"]
        return self.begin(words, stderr=subprocess.DEVNULL).stdout.readline().strip()

    def begin_notifications(self):
        # What the user picks in its menu of actions is what this file says.
        menu = os.path.join(self._directory, "menu")
        with open(menu, "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\nexec grep -m 1 "$(cat {self._directory}/choice)"\n')
        os.chmod(menu, 0o755)
        settings = os.path.join(self._directory, "dunstrc")
        with open(settings, "w", encoding="utf-8") as file:
            file.write(f"[global]\ndmenu = {menu}\nfont = DejaVu Sans 11\nwidth = 340\norigin = top-right\noffset = 12x12\nshow_indicators = yes\n")
        self._service = self.begin(["dunst", "-config", settings], stderr=subprocess.DEVNULL)
        eventually(lambda: self.shown() is not None, "dunst answers")

    def end_notifications(self):
        self._service.kill()
        self._service.wait()

    def hold_notifications(self, is_held):
        self._service.send_signal(signal.SIGSTOP if is_held else signal.SIGCONT)

    def begin_buttons(self):
        """Another service, which draws actions as buttons. It cannot be asked what it shows."""
        self._service = self.begin([BUTTONS], stderr=subprocess.DEVNULL)

    def ask_dunst(self, *words):
        done = subprocess.run(["dunstctl", *words], env=self.environment, capture_output=True, text=True, check=False)
        return done.stdout.strip() if done.returncode == 0 else None

    def shown(self):
        """How many notifications are on the screen."""
        said = self.ask_dunst("count", "displayed")
        return int(said) if said else None

    def history(self):
        """Title and text of those that have been closed, the last one first."""
        entries = json.loads(self.ask_dunst("history"))["data"][0]
        return [(entry["summary"]["data"], entry["body"]["data"]) for entry in entries]

    def await_notice(self):
        eventually(lambda: self.shown() == 1, "a notification is shown")

    def await_none(self):
        eventually(lambda: self.shown() == 0, "no notification is shown")

    def choose(self, label):
        with open(os.path.join(self._directory, "choice"), "w", encoding="utf-8") as file:
            file.write(label)
        self.ask_dunst("context")

    def close(self):
        self.ask_dunst("close")

    def await_told(self, text):
        """Until this is what was shown last; it is closed then. One that says less may come before it."""
        self.await_notice()

        def is_told():
            self.close()
            return self.history()[0][1] == text

        eventually(is_told, f"the desktop says {text}")
        self.await_none()

    def set(self, what, value):
        self._logind.stdin.write(f"{what} {value}\n")
        self._logind.stdin.flush()
        check_equal(self._logind.stdout.readline().strip(), f"{what} {value}", "what logind says")


class DeskKey(Key):
    """One life of the key's: it may open once in its first ten minutes."""

    def __init__(self, latch, desk, radio, lock, settings):
        self._environment = [f"{name}={value}" for name, value in desk.environment.items()]
        self._radio = radio
        self._lock = lock
        super().__init__(latch, "key", "central", radio.transport, ["--config", latch.write("key.conf", settings)])
        self._number = radio.next_controller()

    def launched(self, arguments):
        return ["env", "-i", *self._environment, *arguments]

    @property
    def proximity(self):
        return self.status()["locks"][0]["proximity"]

    def walk(self):
        """Out of the door and back to it."""
        self.leave()
        self._radio.command(f"distance {self._lock} {self._number} {NEAR}")

    def leave(self):
        self._radio.command(f"distance {self._lock} {self._number} {AWAY}")
        eventually(lambda: self.proximity == "away", "a link has shown that the key is away", 2 * DEADLINE_SECONDS)


def bolt(lock, wanted):
    eventually(lambda: lock.status()["bolt"] == wanted, f"the bolt is {wanted}", 2 * DEADLINE_SECONDS)


def asking(suite, begin, lock, desk, picture):
    with begin(ASKING) as key:
        with suite.step("a key that asks first enrols"):
            window, opened = lock.open_window("anna", "--role", "owner")
            key.ask("enroll", "-", text=opened["setup_code"])
            check_equal(window.answer().status, 0, "the window's exit status")
            key.ask("rename", "--lock", "Latch", "--name", "Front door <b>")
        with suite.step("it comes near: its user is asked, and the bolt waits for the answer"):
            key.walk()
            desk.await_notice()
            check_equal(lock.status()["bolt"], "locked", "the bolt while nobody has answered")
        with suite.step("Unlock: it opens, and says so"):
            desk.choose("Unlock")
            bolt(lock, "unlocked")
            key.wait_for_event("by_itself", operation="unlock", verdict="accepted")
            desk.await_told("Unlocked, as you came near.")
            check_equal(desk.history()[0][0], "Front door <b>", "the title of what was shown")
        key.ask("lock")
        key.stop()
    for title, answer in (("Not now", lambda: desk.choose("Not now")), ("closed without an answer", desk.close)):
        with suite.step(f"{title}: nothing moves"), begin(ASKING) as key:
            key.walk()
            desk.await_notice()
            answer()
            eventually(lambda: key.proximity == "near", "the question is over")
            desk.await_none()
            check_equal(lock.status()["bolt"], "locked", "the bolt")
            key.stop()
    with suite.step("where there is no notification service nobody is asked, nothing moves, and it says why") as figure, begin(ASKING) as key:
        desk.end_notifications()
        key.walk()
        refused = key.wait_for_event("approach_refused")
        check("nobody can be asked" in refused["reason"], f"it says {refused}")
        check_equal(lock.status()["bolt"], "locked", "the bolt")
        figure.is_(refused["reason"])
        key.stop()
    desk.begin_notifications()
    with suite.step("a service that answers nothing: nothing moves, and it says why in its time") as figure, begin(ASKING) as key:
        desk.hold_notifications(True)
        key.walk()
        refused = key.wait_for_event("approach_refused")
        check("did not answer in time" in refused["reason"], f"it says {refused}")
        check_equal(lock.status()["bolt"], "locked", "the bolt")
        figure.is_(refused["reason"])
        key.stop()
        desk.hold_notifications(False)
    desk.end_notifications()
    if picture:
        photograph(suite, begin, desk, picture)
    desk.begin_notifications()


def photograph(suite, begin, desk, picture):
    with suite.step("the question as a service with buttons draws it") as figure, begin(ASKING) as key:
        desk.begin_buttons()
        key.ask("rename", "--lock", "Front door <b>", "--name", "Front door")
        key.walk()

        def is_drawn():
            before = open(picture, "rb").read() if os.path.exists(picture) else b""
            desk.photograph(picture)
            return not desk.is_blank(picture) and before == open(picture, "rb").read()

        eventually(is_drawn, "a notification is drawn")
        subprocess.run(["mogrify", "-trim", "+repage", picture], check=True)
        key.stop()
        desk.end_notifications()
        figure.is_(picture)


def agreeing(suite, begin, lock, desk, directory):
    program = os.path.join(directory, "agree")
    settings = f'{TELLING}program = "{program}"\n'
    for answer, wanted in (("exit 1", "locked"), ("exit 0", "unlocked")):
        with open(program, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\nread line\n{answer}\n")
        os.chmod(program, 0o755)
        with suite.step(f"a program of the user's that ends by {answer}: {wanted}"), begin(settings) as key:
            key.walk()
            if wanted == "locked":
                refused = key.wait_for_event("approach_refused")
                check("ended with status 1" in refused["reason"], f"it says {refused}")
            else:
                key.wait_for_event("by_itself", operation="unlock", verdict="accepted")
            bolt(lock, wanted)
            if wanted == "unlocked":
                desk.await_told("Unlocked, as you came near.")
            key.ask("lock")
            key.stop()


def telling(suite, begin, lock, desk):
    for what, reason in (("locked", "the session is locked"), ("lid", "the lid is closed")):
        with suite.step(f"{reason}: nothing moves"), begin(TELLING) as key:
            desk.set(what, "on")
            key.walk()
            key.wait_for_event("approach_refused", reason=reason)
            check_equal(lock.status()["bolt"], "locked", "the bolt")
            desk.set(what, "off")
            key.stop()
    with begin(TELLING) as key:
        with suite.step("its user is there: it opens without a question, and says so"):
            key.walk()
            bolt(lock, "unlocked")
            desk.await_told("Unlocked, as you came near.")
        with suite.step("leaving locks, and says so"):
            key.leave()
            bolt(lock, "locked")
            desk.await_told("Locked, as you left.")
        key.stop()


def main():
    parser = argparse.ArgumentParser(description="A key at a desk.")
    for name in ("latch", "lab", "python"):
        parser.add_argument(name)
    parser.add_argument("--picture", help="where to put what is on the screen while the user is asked, as PNG")
    arguments = parser.parse_args()
    suite = Suite("a key at a desk")
    with tempfile.TemporaryDirectory(prefix="latch-desk-") as directory:
        latch = Latch(arguments.latch, directory)
        with VirtualRadio(arguments.lab, directory) as radio, Desk(arguments.python, directory) as desk:
            settings = latch.write("lock.conf", LOCK_SETTINGS)
            with latch.lock(radio.transport, "--config", settings) as lock:
                number = radio.next_controller()

                def begin(settings):
                    return DeskKey(latch, desk, radio, number, settings)

                asking(suite, begin, lock, desk, arguments.picture)
                agreeing(suite, begin, lock, desk, directory)
                telling(suite, begin, lock, desk)
                lock.stop()
            radio.stop()
    suite.end()


main()
