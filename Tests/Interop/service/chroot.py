"""The packages in a clean Debian without a service manager: installed, run by hand, upgraded with their state, removed and purged.

    chroot.py LATCH LAB CLEAN OLD_PACKAGES NEW_PACKAGES

CLEAN is a directory with a minimal Debian and what the packages depend on. It is copied, and the copy goes with the run.
"""

import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))

from service import packages
from support.daemons import Daemon, Latch
from support.processes import DEADLINE_SECONDS, Process, eventually
from support.radios import AdapterRadio
from support.steps import Suite, check, check_equal

STATE = "/var/lib/latch"
PROGRAM = "/usr/bin/latch"
# What dpkg keeps for itself, and what a user of the system's is in.
OWN = ("/etc/passwd", "/etc/group", "/etc/shadow", "/etc/gshadow", "/etc/.pwd.lock", "/var/lib/dpkg", "/var/log", "/var/cache", "/run", "/tmp", "/proc")


class Clean:
    """A root of its own."""

    def __init__(self, path):
        self.path = path

    def __enter__(self):
        subprocess.run(["mount", "--bind", "/proc", f"{self.path}/proc"], check=True)
        return self

    def __exit__(self, kind, error, trace):
        subprocess.run(["umount", f"{self.path}/proc"], check=True)

    def run(self, *words):
        """Runs a program in it to its end; what it printed."""
        command = ["chroot", self.path, *words]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=4 * DEADLINE_SECONDS, check=False, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
        )
        check_equal(done.returncode, 0, f"the exit status of {' '.join(words)}: {done.stdout}{done.stderr}")
        return done.stdout.strip()

    def install(self, directory, *names):
        files = packages(directory, names) if names else packages(directory)
        names = []
        for package in files:
            shutil.copy(package, os.path.join(self.path, "tmp"))
            names.append(f"/tmp/{os.path.basename(package)}")
        self.run("dpkg", "--install", *names)

    def files(self):
        """All that is there but what is the system's to keep."""
        found = set()
        for folder, folders, files in os.walk(self.path):
            inside = folder[len(self.path) :] or "/"
            folders[:] = [name for name in folders if not os.path.join(inside, name).startswith(OWN)]
            found |= {name for name in (os.path.join(inside, name) for name in [*folders, *files]) if not name.startswith(OWN)}
        return found


class Chrooted:
    """`latch` there, for `support.daemons`: what it is called with, and where its state lies seen from out here."""

    def __init__(self, clean):
        self.program = PROGRAM
        self.clean = clean
        self.directory = clean.path

    def state(self, _):
        path = self.clean.path + STATE
        if not os.path.isdir(path):
            self.clean.run("install", "-d", "-m", "0700", "-o", "latch-lock", "-g", "latch-lock", STATE)
        return STATE


class Lock(Daemon):
    """The lock's daemon, as its own user in a root of its own."""

    def __init__(self, latch):
        self._inside = ["chroot", "--userspec", "latch-lock:latch-lock", latch.clean.path]
        super().__init__(latch, "lock", "peripheral", "unix:/tmp/radio", ())

    def words(self, arguments):
        return [*self._inside, *arguments]


def run_once(suite, title, clean, key, enrols=False):
    with suite.step(title) as figure, Lock(Chrooted(clean)) as lock:
        if enrols:
            window = lock.begin("enroll", "--credential", "anna", "--role", "owner")
            key.ask("enroll", "-", text=window.wait_for_event("window")["setup_code"] + "\n")
            check_equal(window.answer().status, 0, "the window's exit status")
        answer = key.ask("unlock", "--wait", str(int(DEADLINE_SECONDS)))
        check_equal(answer.result, {"outcome": "done"}, "what became of the command")
        lock.stop()
        figure.is_(clean.run("latch", "--version"))


def use_own_key(suite, clean, directory):
    """Nobody keeps the adapter here: bluetoothd is installed, and nothing starts it."""
    with suite.step("a user's own key is installed beside bluez, started without a word, and waits for bluetoothd") as figure:
        clean.install(directory, "latch-key")

        def words(*verbs):
            return ["chroot", "--userspec", "anna:anna", clean.path, "env", "HOME=/home/anna", PROGRAM, "central", *verbs]

        with Process("own key", words("run", "--json")) as daemon:
            status = None

            def answers():
                nonlocal status
                status = subprocess.run(words("status"), capture_output=True, text=True, timeout=DEADLINE_SECONDS, check=False)
                return status.returncode == 0

            eventually(answers, "the key answers its user")
            subprocess.run(words("stop"), timeout=DEADLINE_SECONDS, check=True)
            check_equal(daemon.wait(), 0, "the key's exit status")
        figure.is_(next(line for line in status.stdout.splitlines() if line.startswith("radio")))
    with suite.step("removed and purged: what is left of it is its user's"):
        clean.run("dpkg", "--remove", "latch-key")
        clean.run("dpkg", "--purge", "latch-key")
        check(not os.path.exists(f"{clean.path}/usr/bin/latch-oob"), "the helper is still there")
        state = f"{clean.path}/home/anna/.local"
        check(os.path.exists(f"{state}/state/latch-key/latch.sqlite"), "the user's state is gone")
        shutil.rmtree(state)


def check_all(suite, clean, key, old, new):
    with suite.step("installed") as figure:
        clean.install(old)
        figure.is_(clean.run("dpkg-query", "-W", "-f", "${Version}", "latch-lock"))
    run_once(suite, "the daemon runs as its user; a key is enrolled, and opens", clean, key, enrols=True)
    with suite.step("upgraded: machine key and configuration stay") as figure:
        kept = [clean.run("sha256sum", f"/etc/latch/{name}") for name in ("peripheral.key", "peripheral.conf")]
        clean.install(new)
        again = [clean.run("sha256sum", f"/etc/latch/{name}") for name in ("peripheral.key", "peripheral.conf")]
        check_equal(again, kept, "machine key and configuration")
        figure.is_(clean.run("dpkg-query", "-W", "-f", "${Version}", "latch-lock"))
    run_once(suite, "the new one opens for the same key", clean, key)
    use_own_key(suite, clean, new)
    with suite.step("removed: state, configuration and machine key stay"):
        clean.run("dpkg", "--remove", "latch-lock", "latch")
        for path in (f"{STATE}/latch.sqlite", "/etc/latch/peripheral.key", "/etc/latch/peripheral.conf"):
            check(os.path.exists(clean.path + path), f"{path} is gone")
        check(not os.path.exists(clean.path + PROGRAM), f"{PROGRAM} is still there")


def main(program, lab, clean_root, old, new):
    suite = Suite("packages in a clean Debian")
    with tempfile.TemporaryDirectory(prefix="latch-clean-") as directory, AdapterRadio(lab, directory, 2) as radio:
        root = os.path.join(directory, "root")
        subprocess.run(["cp", "-a", clean_root, root], check=True)
        air = os.path.join(root, "tmp", "radio")
        os.link(radio.adapter(1), air)
        os.chmod(air, 0o666)
        with Clean(root) as clean:
            clean.run("useradd", "--create-home", "anna")
            before = clean.files()
            with Latch(program, directory).key(f"unix:{radio.adapter(2)}") as key:
                check_all(suite, clean, key, old, new)
                key.stop()
            with suite.step("purged with the keys of a rotation, an encrypted one and a draft: not one file is left that was not there before") as figure:
                for ending in ("old-1", "old-2", "new", "cred", "aB3dE6"):
                    clean.run("install", "-m", "0400", "/etc/latch/peripheral.key", f"/etc/latch/peripheral.key.{ending}")
                clean.run("dpkg", "--purge", "latch-lock", "latch")
                check_equal(sorted(clean.files() ^ before), [], "what differs from before")
                figure.is_(f"{len(before)} files, as before")
        radio.stop()
    suite.end()


if __name__ == "__main__":
    main(*(os.path.abspath(path) for path in sys.argv[1:]))
