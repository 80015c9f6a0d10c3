"""The radios that the suites run on. Each gives `transport`, the address for `latch … --transport`, and `socket`."""

import os
import re
import socket

from support.processes import DEADLINE_SECONDS, Process, eventually
from support.steps import check, check_equal


class RootCanal(Process):
    """RootCanal's controllers, run by the loader of the C library that they were linked against."""

    def __init__(self, cache, directory):
        self.socket = os.path.join(directory, "rootcanal.sock")
        self._control = os.path.join(directory, "rootcanal.control")
        libraries = f"{cache}/rootcanal/glibc/usr/lib/x86_64-linux-gnu"
        super().__init__(
            "rootcanal",
            [
                f"{libraries}/ld-linux-x86-64.so.2",
                "--library-path",
                libraries,
                f"{cache}/rootcanal/rootcanal_radio",
                f"{cache}/rootcanal/librootcanal_ffi.so",
                self.socket,
                self._control,
            ],
        )
        self.transport = f"unix:{self.socket}"
        self.output.wait_for(lambda line: True if line == "ready" else None, "the radio is ready")

    def next_controller(self):
        """The ordinal of the controller of the next host to connect."""
        admitted = re.compile(r"controller (\d+)$")
        return self.output.wait_for(
            lambda line: (match := admitted.match(line)) and int(match[1]), "a host connects to the radio"
        )

    def command(self, text):
        """`rssi A B DBM`, `cut A B` or `join A B`; in force on return."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as control:
            control.settimeout(DEADLINE_SECONDS)
            control.bind("")  # An address of the kernel's choice, for the answer.
            control.connect(self._control)
            control.send(text.encode())
            check_equal(control.recv(128), b"ok", f"the radio's answer to {text!r}")

    def stop(self):
        """Ends it, and fails if a controller had anything to say against its host."""
        check(self.is_running, "the radio ended by itself")
        self.terminate()
        self.wait()
        complaints = [line for line in self.errors.all() if line]
        check(not complaints, "the radio complained: " + "; ".join(complaints[:10]))


PACED = ("--air", "paced")


class VirtualRadio(Process):
    """The project's own radio: here so that a stranger's host meets our lock without a stranger's controller."""

    def __init__(self, lab, directory, *options):
        self.socket = os.path.join(directory, "virtual.sock")
        self._control = os.path.join(directory, "virtual.control")
        self._controllers = 0
        super().__init__(
            "virtual radio", [lab, "radio", "--socket", self.socket, "--control", self._control, *(options or PACED)]
        )
        self.transport = f"unix:{self.socket}"
        # It says nothing when it is ready, but its sockets are there.
        eventually(self._is_listening, "the virtual radio listens")

    def next_controller(self):
        """The ordinal of the controller of the next host to connect, which connects before this is asked again."""
        self._controllers += 1
        return self._controllers

    def command(self, text):
        """`cut A B` or `join A B`, among others; in force on return."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as control, control.makefile() as answers:
            control.settimeout(DEADLINE_SECONDS)
            control.connect(self._control)
            control.sendall(f"{text}\n".encode())
            answer = answers.readline()
            check(answer.startswith("ok"), f"the radio's answer to {text!r} is {answer!r}")

    def stop(self):
        check(self.is_running, "the radio ended by itself")
        self.terminate()
        check_equal(self.wait(), 0, "the virtual radio's exit status")

    def _is_listening(self):
        check(self.is_running, "the virtual radio ended by itself")
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            return probe.connect_ex(self._control) == 0


class AdapterRadio(VirtualRadio):
    """With an adapter of its own for each host, on a socket of its own: a controller that comes back has the address that it had."""

    def __init__(self, lab, directory, adapters):
        super().__init__(lab, directory, "--adapters", str(adapters))

    def adapter(self, number):
        """The socket of an adapter, from 1."""
        return f"{self.socket}.{number}"
