"""Pictures for the docs: what `latch central watch` and `latch central calibrate` draw on a terminal.

    pictures.py LATCH LAB DIRECTORY

Locks, key and commands are the programs themselves, on the virtual radio. The terminal is xterm, on a screen that nobody looks at.
"""

import argparse
import contextlib
import json
import os
import random
import shlex
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))

from support.daemons import Key, Latch, Lock
from support.processes import eventually
from support.radios import VirtualRadio
from support.screens import Screen
from support.steps import Suite, check, check_equal

# Of a page's picture.
OCTETS_MAXIMUM = 100_000
WINDOW = "latch"
# Letters of this size stand on each other without a gap.
XTERM = ["xterm", "-T", WINDOW, "-fa", "DejaVu Sans Mono", "-fs", "12", "-bg", "#16191d", "-fg", "#d7dce2", "-b", "10", "+sb"]
LOCK = '[lock]\nname = "{name}"\nrelock_seconds = 0\n'
# Of the virtual radio: the strength at one metre, and what ten times as far costs.
DBM_AT_ONE_METRE, DB_PER_DECADE = -50, 25
# As a walk goes, and how often another channel has another strength.
WALK_STEP_SECONDS = 0.1
FADING_DB = 2.5


class Terminal:
    """xterm with one command. `script` in between writes down what is drawn, and types what comes through a pipe."""

    def __init__(self, screen, directory, columns, rows, command):
        self._screen = screen
        self._shown = os.path.join(directory, "shown")
        keys = os.path.join(directory, "keys")
        os.mkfifo(keys)
        # Open for both, so that neither end waits for the other one.
        self._keys = os.open(keys, os.O_RDWR)
        inside = f"stty cols {columns} rows {rows}; exec {shlex.join(command)}"
        outside = f"exec script -qfc {shlex.quote(inside)} {self._shown} < {keys}"
        self._process = screen.begin([*XTERM, "-geometry", f"{columns}x{rows}+0+0", "-e", "/bin/sh", "-c", outside])

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self._process.kill()
        self._process.wait()
        os.close(self._keys)

    def shows(self, text):
        if not os.path.exists(self._shown):
            return False
        with open(self._shown, encoding="utf-8", errors="replace") as file:
            return text in file.read()

    def await_text(self, text):
        eventually(lambda: self.shows(text), f"the terminal shows {text!r}")

    def type(self, text):
        os.write(self._keys, text.encode())

    def photograph(self, path):
        """Once two pictures in a row are the same."""
        former = None

        def is_still():
            nonlocal former
            before = former
            self._screen.photograph(path, WINDOW)
            with open(path, "rb") as file:
                former = file.read()
            return before == former and not self._screen.is_blank(path)

        eventually(is_still, "the terminal stands still")
        # The letters' edges need no more.
        subprocess.run(["mogrify", "-strip", "-colors", "32", path], check=True)
        check(os.path.getsize(path) <= OCTETS_MAXIMUM, f"{path} has more than {OCTETS_MAXIMUM} octets")


class Street:
    """A key and the locks of these names, at which it is enrolled."""

    def __init__(self, stack, lab, latch, names):
        self._radio = stack.enter_context(VirtualRadio(lab, latch.directory))
        self._numbers = {}
        locks = {}
        for name in names:
            settings = latch.write(f"{name}.conf", LOCK.format(name=name))
            lock = Lock(latch, f"lock {name}", "peripheral", self._radio.transport, ["--config", settings])
            locks[name] = stack.enter_context(lock)
            self._numbers[name] = self._radio.next_controller()
        self.key = stack.enter_context(Key(latch, "key", "central", self._radio.transport, []))
        self._number = self._radio.next_controller()
        for lock in locks.values():
            window, opened = lock.open_window("anna", "--role", "owner")
            self.key.ask("enroll", "-", text=opened["setup_code"])
            check_equal(window.answer().status, 0, "the window's exit status")

    def stand(self, name, dbm):
        """Where the lock is so strong."""
        metres = 10 ** ((DBM_AT_ONE_METRE - dbm) / DB_PER_DECADE)
        self._radio.command(f"distance {self._numbers[name]} {self._number} {metres:.3f}")

    def cut(self, name):
        self._radio.command(f"cut {self._numbers[name]} {self._number}")

    def command(self, latch, *words):
        """As it is typed, with the place of the key behind it."""
        return [latch.program, "central", *words, *self.key.place()]


@contextlib.contextmanager
def held_link(key, lock):
    """The key keeps a link with this lock, as on a walk."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client, client.makefile() as answers:
        client.connect(os.path.join(key.state, "central.sock"))
        client.sendall(json.dumps({"request": "calibrate", "lock": lock}).encode() + b"\n")
        while '"linked"' not in answers.readline():
            pass
        yield


def watch(suite, screen, latch, lab, path):
    with suite.step("three locks of a key, watched") as figure, contextlib.ExitStack() as stack:
        street = Street(stack, lab, latch, ["Front door", "Garage", "Shed"])
        key = street.key
        for name, dbm in (("Front door", -58), ("Garage", -70), ("Shed", -82)):
            street.stand(name, dbm)
        key.ask("note", "Front door", "left door, turn twice")
        key.ask("note", "Shed", "mind the step")
        key.ask("prefer", "Front door")
        for name in ("Garage", "Shed"):
            key.ask("lock", "--lock", name)
        key.ask("unlock", "--lock", "Front door", "--hold-open")
        street.cut("Shed")
        stack.enter_context(key.begin("unlock", "--lock", "Shed", "--wait", "600"))
        stack.enter_context(held_link(key, "Front door"))
        command = street.command(latch, "watch")
        terminal = stack.enter_context(Terminal(screen, latch.directory, 104, 8, command))
        for text in ("unlock is asked", "dBm", "unlocked"):
            terminal.await_text(text)
        terminal.photograph(path)
        figure.is_(path)


class Walker:
    """Goes with the key; each channel has another strength, by chances that are the same each time."""

    def __init__(self, street, lock):
        self._street, self._lock = street, lock
        self._chance = random.Random(1)

    def _stand(self, dbm):
        self._street.stand(self._lock, dbm + self._chance.gauss(0, FADING_DB))
        # A walk takes its time.
        time.sleep(WALK_STEP_SECONDS)

    def walk(self, begin, end, steps):
        for step in range(steps):
            self._stand(begin + (end - begin) * step / steps)

    def turn(self, dbm, body, is_over):
        """On the spot, with the body in the way for a part of the time, until it is over."""
        step = 0
        while not is_over():
            self._stand(dbm - (body if 15 <= step % 60 < 35 else 0))
            step += 1


def calibrate(suite, screen, latch, lab, path):
    with suite.step("a walk that calibrates a lock") as figure, contextlib.ExitStack() as stack:
        street = Street(stack, lab, latch, ["Front door"])
        walker = Walker(street, "Front door")
        street.stand("Front door", -66)
        command = street.command(latch, "calibrate", "Front door")
        terminal = stack.enter_context(Terminal(screen, latch.directory, 90, 25, command))
        terminal.await_text("press Enter")
        walker.walk(-72, -54, 50)
        terminal.type("\n")
        walker.turn(-54, 6, lambda: terminal.shows("Go where"))
        walker.walk(-54, -82, 90)
        terminal.type("\n")
        walker.turn(-82, 3, lambda: terminal.shows("to go on"))
        terminal.photograph(path)
        terminal.type("set\n")
        eventually(lambda: street.key.status()["locks"][0]["calibrated"], "the thresholds are set")
        figure.is_(path)


def main():
    parser = argparse.ArgumentParser(description="Pictures for the docs.")
    for name in ("latch", "lab", "directory"):
        parser.add_argument(name)
    arguments = parser.parse_args()
    suite = Suite("pictures")
    for name, draw in (("central-watch", watch), ("central-calibrate", calibrate)):
        with tempfile.TemporaryDirectory(prefix="latch-pictures-") as directory, Screen(directory, 1200, 640) as screen:
            screen.environment["LC_ALL"] = "C.UTF-8"
            draw(suite, screen, Latch(arguments.latch, directory), arguments.lab, os.path.join(arguments.directory, f"{name}.png"))
    suite.end()


main()
