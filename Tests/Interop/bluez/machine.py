"""The virtual machine: Debian's kernel under software emulation, on this machine's file system."""

import contextlib
import os
import select
import socket

from support.processes import DEADLINE_SECONDS, Process, eventually
from support.steps import StepFailed, check, check_equal, warn

# Software emulation is 10 to 17 times slower than the machine that it runs on, which may be busy besides.
BOOT_DEADLINE_SECONDS = 4 * DEADLINE_SECONDS

# A machine that is given too little of a processor misses its own deadlines: the kernel is not to ask whether the timer
# ticks as it should, nor whether anybody has been waiting for long.
KERNEL_OPTIONS = "console=ttyS0 quiet panic=-1 no_timer_check nowatchdog rcupdate.rcu_cpu_stall_suppress=1"


class Machine(Process):
    """`radios` are sockets of controllers: each becomes an adapter of the kernel inside, in this order, once
    `add_adapter` has been called for it. `devices` are further words for QEMU. `has_systemd`: systemd is the first process inside,
    with a system bus of its own; otherwise a shell is, with a bus that can be reached from out here."""

    def __init__(self, cache, directory, radios, devices=(), has_systemd=False):
        self._directory = directory
        self._console = os.path.join(directory, "console")
        self._shell = None
        made = f"{cache}/vm"
        command = [
            *("qemu-system-x86_64", "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none"),
            *("-machine", "q35", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", "1G"),
            *("-kernel", f"{made}/vmlinuz", "-initrd", f"{made}/initramfs"),
            *("-append", KERNEL_OPTIONS + (" latch.init=systemd" if has_systemd else ""), "-serial", f"file:{self._console}"),
            *_share("outside", "/"),
            *_share("unpacked", f"{made}/root"),
            *("-device", "virtio-serial-pci"),
            # Nothing starts before somebody hears what the shell says.
            *self._port("shell", wait="on"),
            *self._port("bus"),
        ]
        for index, radio in enumerate(radios):
            command += _serial_port(f"radio{index}", f"path={radio}")
        super().__init__("virtual machine", [*command, *devices])

    def _port(self, name, wait="off"):
        return _serial_port(name, f"path={self.port(name)},server=on,wait={wait}")

    def port(self, name):
        """The unix socket that is the outer end of a serial port."""
        return os.path.join(self._directory, f"vm.{name}")

    def connect(self, name):
        """A socket to a serial port of the machine's."""
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)

        def is_connected():
            check(self.is_running, "the virtual machine ended by itself")
            return connection.connect_ex(self.port(name)) == 0

        eventually(is_connected, f"the virtual machine has its port {name}")
        return connection

    def boot(self):
        """Waits until the machine takes commands."""
        self._shell = self.connect("shell").makefile("rwb", buffering=0)
        check_equal(self._line(BOOT_DEADLINE_SECONDS), "ready", "the first line of the shell inside")

    def run(self, command, expect=0, seconds=DEADLINE_SECONDS):
        """Runs a line of shell inside to its end; what it printed. It fails when that says nothing for so long."""
        self._shell.write(command.encode() + b"\n")
        said = []
        while True:
            line = self._line(seconds)
            if line.startswith("status "):
                break
            said.append(line)
        text = "\n".join(said).rstrip("\n")
        if expect is not None and line != f"status {expect}":
            raise StepFailed(f"inside, {command}: {line}, {expect} was expected: {text}")
        return text

    def add_adapter(self, index, number=None):
        """The kernel's hciN, or another number where that is the next one, on radio N."""
        number = index if number is None else number
        bridge = f'"$here/guest_bridge" packets "$(port radio{index})" >>/run/bridge.log 2>&1'
        self.run(f"{bridge} & echo $! >/run/bridge.{index}")
        self.until(f"[ -e /sys/class/bluetooth/hci{number} ]", f"adapter hci{number} appears")

    def remove_adapter(self, index):
        """Unplugs that on radio N, as the kernel sees it."""
        self.run(f"kill -KILL $(cat /run/bridge.{index})")
        self.until(f"! kill -0 $(cat /run/bridge.{index}) 2>/dev/null", f"the adapter on radio {index} is gone")

    def until(self, command, what):
        """Asks again and again, for what nothing tells of."""
        self.eventually(lambda: self.run(f"{command} && echo yes", expect=None) == "yes", what)

    def eventually(self, condition, what):
        """The same, for what is asked out here. Software emulation takes its time."""
        eventually(condition, what, 2 * DEADLINE_SECONDS)

    def write(self, path, text):
        """A file inside, in memory."""
        octets = "".join(f"\\{octet:03o}" for octet in text.encode())
        self.run(f"printf '{octets}' >{path}")

    def stop(self):
        self._shell.write(b"busybox poweroff -f\n")
        check_equal(self.wait(), 0, "the exit status of the virtual machine")

    def cut(self):
        """SIGKILL, and nothing else: its power is gone."""
        self._child.kill()

    def __exit__(self, kind, error, trace):
        if error is not None and self.is_running and self._shell is not None:
            with contextlib.suppress(StepFailed, OSError):
                for line in self.run("tail -n 40 /run/*.log", expect=None).splitlines():
                    warn(f"    inside: {line}")
        super().__exit__(kind, error, trace)

    def _line(self, seconds):
        octets = bytearray()
        while not octets.endswith(b"\n"):
            if not select.select([self._shell], [], [], seconds)[0]:
                raise StepFailed(f"the shell inside said nothing for {seconds:.0f} s")
            octet = self._shell.read(1)
            if not octet:
                raise StepFailed("the virtual machine ended: " + " | ".join(self.console()[-5:]))
            octets += octet
        return octets.decode(errors="replace").rstrip("\r\n")

    def console(self):
        with open(self._console, encoding="utf-8", errors="replace") as file:
            return [line.rstrip() for line in file]


def _share(tag, path):
    """A directory of this machine's, read-only inside."""
    file_system = f"local,id={tag},path={path},security_model=none,readonly=on,multidevs=remap"
    return "-fsdev", file_system, "-device", f"virtio-9p-pci,fsdev={tag},mount_tag={tag}"


def _serial_port(name, socket_options):
    return "-chardev", f"socket,id={name},{socket_options}", "-device", f"virtserialport,chardev={name},name={name}"
