"""A user's own key from its package, on a machine of systemd's where bluetoothd keeps the adapter: installed, enrolled and used by an
ordinary user, killed, upgraded, removed.

    laptop.py LATCH LAB CACHE OLD_PACKAGES NEW_PACKAGES

The machine is virtual; the lock is out here, over the virtual radio. What is believed of the key is what its lock says, what its user is
told, and what systemd says of its units.
"""

import json
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "bluez"))

from machine import Machine
from service import packages
from support.daemons import Latch
from support.processes import DEADLINE_SECONDS
from support.radios import VirtualRadio
from support.steps import StepFailed, Suite, check, check_equal

LOCK_SETTINGS = "[lock]\nrelock_seconds = 0\nchallenge_life_ms = 25500\n"
NAMES = ("latch", "latch-key")
UID = 1000
HOME = "/run/anna"
RUNTIME = f"/run/user/{UID}"
ENVIRONMENT = f"HOME={HOME} XDG_RUNTIME_DIR={RUNTIME} DBUS_SESSION_BUS_ADDRESS=unix:path={RUNTIME}/bus"
AS_USER = f"/usr/bin/setpriv --reuid {UID} --regid {UID} --clear-groups --inh-caps=-all --bounding-set=-all --no-new-privs env {ENVIRONMENT}"
UNIT = "latch-central.service"
HELPER = "latch-oob@.service"
SOCKET = "latch-oob.socket"
EXPOSURE_MAXIMUM = 2.0
WAIT = str(int(DEADLINE_SECONDS))


class User:
    """At a terminal of his own, without a right of root's."""

    def __init__(self, machine):
        self._machine = machine

    def log_in(self):
        """As logind and the user's manager would have it of a user at seat0: there is no seat in this machine."""
        run = self._machine.run
        run(f"mkdir -p -m 0700 {HOME} {RUNTIME} && chown {UID}:{UID} {HOME} {RUNTIME}")
        run(f"mkdir -p /run/systemd/users && printf 'NAME=anna\\nSTATE=active\\nSEATS=seat0\\nACTIVE_SEATS=seat0\\n' >/run/systemd/users/{UID}")
        settings = "-p Delegate=yes -p Type=notify -p KillMode=mixed"
        environment = " ".join(f"-E {word}" for word in ENVIRONMENT.split())
        run(
            f"systemd-run --quiet --unit anna --uid {UID} --gid {UID} {settings} {environment} /usr/lib/systemd/systemd --user",
            seconds=2 * DEADLINE_SECONDS,
        )

    def run(self, words, expect=0):
        return self._machine.run(f"{AS_USER} {words}", expect=expect, seconds=3 * DEADLINE_SECONDS)

    def systemctl(self, words, expect=0):
        return self.run(f"systemctl --user {words}", expect)

    def ask(self, verb, text=None, expect=0):
        words = f"latch central {verb} --json"
        said = self.run(words if text is None else f"sh -c 'echo {text} | {words}'", expect)
        return json.loads([line for line in said.splitlines() if line.startswith("{")][-1])

    def opens(self, lock):
        for verb, bolt in (("unlock", "unlocked"), ("lock", "locked")):
            check_equal(self.ask(f"{verb} --wait {WAIT}").get("result"), {"outcome": "done"}, f"what became of {verb}")
            check_equal(lock.status()["bolt"], bolt, "the bolt")

    @property
    def pid(self):
        return int(self.systemctl(f"show {UNIT} --property MainPID --value").strip())

    def until_another(self, pid):
        def ask():
            return self.pid not in (0, pid) and "serves over" in self.systemctl(f"show {UNIT} --property StatusText --value")

        self._machine.eventually(ask, "the key is served by another process")


def unpack(machine, directory):
    # BlueZ lies over this machine's files; dpkg, which is this machine's, does not know of it.
    files = " ".join(packages(directory, NAMES))
    machine.run(f"/usr/bin/dpkg --no-triggers --ignore-depends=bluez -i {files}", seconds=4 * DEADLINE_SECONDS)


def exposure(machine, unit):
    said = machine.run(f"systemd-analyze security --no-pager {unit} | tail -n 1")
    found = re.search(r"exposure level for \S+: ([0-9.]+)", said)
    if found is None:
        raise StepFailed(f"systemd-analyze said {said}")
    return float(found[1])


def install(suite, machine, user, old):
    with suite.step("dpkg installs the packages: the helper's socket is there, and no user's key has been started") as figure:
        unpack(machine, old)
        check_equal(machine.run(f"systemctl is-active {SOCKET}"), "active", "the helper's socket")
        figure.is_(machine.run("stat -c '%a %U' /run/latch-oob.socket"))
    with suite.step("the manual and the completion are there"):
        machine.run("test -f /usr/share/applications/latch-central.desktop")
        machine.run("test -f /usr/share/man/man1/latch-oob.1.gz && bash -n /usr/share/bash-completion/completions/latch-oob")
    with suite.step(f"systemd-analyze security of the helper: {EXPOSURE_MAXIMUM} at most") as figure:
        found = exposure(machine, HELPER)
        check(found <= EXPOSURE_MAXIMUM, f"the exposure is {found}")
        figure.is_(f"{found}")
    with suite.step("an ordinary user starts a key of his own, by its unit") as figure:
        user.log_in()
        check_equal(user.systemctl(f"is-enabled {UNIT}", expect=1).strip(), "disabled", "the unit before anybody wants it")
        user.systemctl(f"enable --now {UNIT}")
        user.until_another(0)
        figure.is_(user.systemctl(f"show {UNIT} --property StatusText --value"))


def use(suite, machine, user, lock):
    with suite.step("his key is enrolled at the lock: the code goes through the helper, which is started for it and ends") as figure:
        window, opened = lock.open_window("anna", "--role", "owner", "--method", "program")
        check(user.ask("enroll -", text=opened["setup_code"]).get("result", {}).get("lock"), "the key is enrolled")
        check_equal(window.answer().status, 0, "the window's exit status")
        machine.until("! systemctl list-units --all 'latch-oob@*' | grep -q running", "the helper ends")
        figure.is_(machine.run("systemctl show latch-oob.socket --property NAccepted --value") + " connection")
    with suite.step("it opens and locks"):
        user.opens(lock)
    with suite.step("killed, it comes back by itself, and opens and locks"):
        pid = user.pid
        machine.run(f"kill -KILL {pid}")
        user.until_another(pid)
        user.opens(lock)
    with suite.step("bluetoothd is restarted by systemd: the same key opens and locks"):
        pid = user.pid
        machine.run("systemctl restart bluetooth.service", seconds=2 * DEADLINE_SECONDS)
        power(machine)
        user.opens(lock)
        check_equal(user.pid, pid, "the key's process")


def power(machine):
    machine.until(
        "busctl set-property org.bluez /org/bluez/hci0 org.bluez.Adapter1 Powered b true 2>/dev/null && "
        "busctl get-property org.bluez /org/bluez/hci0 org.bluez.Adapter1 Powered | grep -q true",
        "bluetoothd has the adapter on",
    )


def end(suite, machine, user, lock, new):
    with suite.step("upgraded, and started anew by its user: the same enrolment") as figure:
        pid = user.pid
        unpack(machine, new)
        user.systemctl(f"daemon-reload")
        user.systemctl(f"restart {UNIT}")
        user.until_another(pid)
        user.opens(lock)
        figure.is_(machine.run("/usr/bin/dpkg-query -W -f '${Version}' latch-key"))
    with suite.step("removed: the helper's socket ends, and the user's state stays"):
        user.systemctl(f"disable --now {UNIT}")
        machine.run("/usr/bin/dpkg --no-triggers -r latch-key", seconds=4 * DEADLINE_SECONDS)
        machine.run("test ! -e /usr/bin/latch-oob && test ! -e /run/latch-oob.socket")
        machine.run(f"test -e {HOME}/.local/state/latch-key/latch.sqlite")
    with suite.step("purged: nothing of it is left"):
        machine.run("/usr/bin/dpkg --no-triggers -P latch-key latch", seconds=4 * DEADLINE_SECONDS)
        left = machine.run("ls -d /usr/lib/systemd/*/latch-* /usr/bin/latch* 2>/dev/null", expect=None)
        check_equal(left, "", "what is left")


def main(program, lab, cache, old, new):
    suite = Suite("a user's own key")
    with tempfile.TemporaryDirectory(prefix="latch-laptop-") as directory, VirtualRadio(lab, directory) as radio:
        latch = Latch(program, directory)
        settings = latch.write("lock.conf", LOCK_SETTINGS)
        with Machine(cache, directory, [radio.socket], has_systemd=True) as machine, latch.lock(radio.transport, "--config", settings) as lock:
            user = User(machine)
            with suite.step("boot Debian's kernel with systemd; bluetoothd has the adapter"):
                machine.boot()
                machine.run("systemctl start basic.target dbus.service", seconds=2 * DEADLINE_SECONDS)
                machine.run("systemctl start bluetooth.service", seconds=2 * DEADLINE_SECONDS)
                machine.add_adapter(0)
                power(machine)
            try:
                install(suite, machine, user, old)
                use(suite, machine, user, lock)
                end(suite, machine, user, lock, new)
            except BaseException:
                print(machine.run("journalctl --no-pager --lines 40", expect=None))
                raise
            with suite.step("shut down"):
                machine.stop()
            lock.stop()
        radio.stop()
    suite.end()


if __name__ == "__main__":
    main(*(os.path.abspath(path) for path in sys.argv[1:6]))
