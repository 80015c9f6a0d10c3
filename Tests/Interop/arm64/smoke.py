"""The programs of arm64's packages under qemu-user: their help, a door's configuration, and a lock and a key that meet.

smoke.py UNPACKED LIBRARIES

UNPACKED is where the packages are unpacked, LIBRARIES a root with the libraries that they depend on.
"""

import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))

from support.daemons import Latch
from support.processes import DEADLINE_SECONDS
from support.radios import VirtualRadio
from support.steps import Suite, check, check_equal

PROGRAMS = ("latch", "latch-strike", "latch-oob", "latch-lab")


def emulated(directory, unpacked, libraries, name):
    """A program of the packages' as this machine can start it."""
    path = os.path.join(directory, name)
    program = os.path.join(unpacked, "usr/bin", name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f'#!/bin/sh\nexec qemu-aarch64-static -L "{libraries}" "{program}" "$@"\n')
    os.chmod(path, 0o700)
    return path


def output(*words):
    done = subprocess.run(words, capture_output=True, text=True, timeout=DEADLINE_SECONDS, check=False)
    check_equal(done.returncode, 0, f"the exit status of {' '.join(words[1:])} ({done.stderr.strip()})")
    return done.stdout


def machine(program):
    """What processor the program says that it is for."""
    with open(program, "rb") as file:
        return int.from_bytes(file.read(20)[18:20], "little")


def help_of(suite, programs, unpacked):
    for name, program in programs.items():
        with suite.step(f"{name} is for arm64, and says its version and its commands") as figure:
            check_equal(machine(os.path.join(unpacked, "usr/bin", name)), 183, "the machine in its ELF header")
            version = output(program, "--version").strip()
            check(version.startswith(f"{name} "), f"its version is {version!r}")
            check("Usage:" in output(program, "--help"), "its help has no usage")
            figure.is_(version)


def configuration(suite, program, unpacked, directory):
    with suite.step("check the configuration that the packages bring") as figure:
        state = os.path.join(directory, "state")
        os.mkdir(state, 0o700)
        figure.is_(
            output(
                program, "peripheral", "run", "--check", "--config", os.path.join(unpacked, "etc/latch/peripheral.conf"),
                "--state", state, "--transport", f"unix:{directory}/none",
            ).strip()
        )


def a_door(suite, programs, directory):
    latch = Latch(programs["latch"], directory)
    # Emulated programs are slow: this air waits for them.
    with VirtualRadio(programs["latch-lab"], directory, "--air", "immediate") as radio:
        settings = latch.write("lock.conf", "[lock]\nrelock_seconds = 0\n")
        with suite.step("a lock and a key come up on a simulated radio"):
            lock = latch.lock(radio.transport, "--config", settings)
        with lock, latch.key(radio.transport) as key:
            with suite.step("enrol by setup code"):
                window, opened = lock.open_window("anna", "--role", "owner")
                with window:
                    key.ask("enroll", "-", text=opened["setup_code"] + "\n")
                    check_equal(window.answer().result["credential"], "anna", "the credential enrolled at the lock")
            with suite.step("unlock"):
                key.ask("unlock")
                check_equal(lock.status()["bolt"], "unlocked", "the bolt")
            lock.kill()
            with suite.step("the lock is killed and comes back"):
                lock = latch.lock(radio.transport, "--config", settings)
            with lock:
                with suite.step("lock"):
                    key.ask("lock")
                    check_equal(lock.status()["bolt"], "locked", "the bolt")
                with suite.step("both stop"):
                    key.stop()
                    lock.stop()
                with suite.step("the audit is whole") as figure:
                    verified = json.loads(output(latch.program, "audit", "verify", "--state", lock.state, "--json"))
                    figure.is_(f"{verified['records']} records")
        radio.stop()


def main():
    unpacked, libraries = map(os.path.abspath, sys.argv[1:])
    suite = Suite("arm64")
    with tempfile.TemporaryDirectory() as directory:
        programs = {name: emulated(directory, unpacked, libraries, name) for name in PROGRAMS}
        help_of(suite, programs, unpacked)
        configuration(suite, programs["latch"], unpacked, directory)
        a_door(suite, programs, directory)
    suite.end()


if __name__ == "__main__":
    main()
