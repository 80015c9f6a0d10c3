"""Peripherals that are killed and started again at once, each notifying of a count: ours inside the virtual machine,
bluetoothd with an application beside it, and ours out here."""

import asyncio
import contextlib
import os
import subprocess
import threading

import bluez
from application import ROOT, Advertisement, Characteristic, Service, long_form
from bluez import Refused
from support.processes import DEADLINE_SECONDS
from support.steps import warn

BEAT = "FFF3"
BEAT_SECONDS = 0.1


class Inside:
    """Something in the virtual machine that is supervised there."""

    def __init__(self, machine, name):
        self.machine = machine
        self.name = name

    def supervise(self, command):
        """Starts a command, and again whenever it ends."""
        loop = f"while :; do {command} & echo $! >/run/{self.name}.pid; wait $!; done"
        self.machine.run(f"({loop}) >>/run/{self.name}.log 2>&1 &")

    def kill(self):
        self.machine.run(f"kill -KILL $(cat /run/{self.name}.pid)")


class Ours(Inside):
    service = "FFF0"
    title = "ours, in the virtual machine"

    def __init__(self, machine, adapter, program):
        super().__init__(machine, "metronome")
        self._adapter = adapter
        self._program = program

    async def start(self):
        self.machine.run("mkdir -m 0700 -p /run/metronome")
        self.supervise(
            f"env LATCH_TRANSPORT=hci:{self._adapter} LATCH_STATE=/run/metronome HOME=/run {self._program} {self.service}"
        )


class Theirs(Inside):
    """bluetoothd, and an application that nobody kills: it registers anew whenever bluetoothd has come."""

    service = "FFE0"
    title = "bluetoothd, in the virtual machine"

    def __init__(self, machine, adapter):
        super().__init__(machine, "bluetoothd")
        self.host = bluez.BlueZ(machine)
        self._name = f"hci{adapter}"
        self._adapter = f"/org/bluez/{self._name}"
        self._advertisement = Advertisement("Debian", [long_form(self.service)])
        service = Service(f"{ROOT}/main", long_form(self.service))
        self._beat = Characteristic(service, "beat", long_form(BEAT), ["read", "notify"])
        self._tree = [service, self._beat]
        self._count = 0
        self._tasks = []

    async def start(self):
        await self.host.connect()
        self.host.export([*self._tree, self._advertisement])
        self._tasks = [asyncio.create_task(self._serve()), asyncio.create_task(self._strike())]
        for task in self._tasks:
            task.add_done_callback(_tell)
        self.supervise(self.host.command())

    async def _serve(self):
        while True:
            owner = await self.host.owners.get()
            self._beat.subscribed.clear()
            if owner:
                with contextlib.suppress(Refused):
                    await self._register()

    async def _register(self):
        await self.host.look()
        managers = {bluez.GATT_MANAGER, bluez.ADVERTISING_MANAGER}
        await self.host.until(
            lambda: managers <= self.host.objects.get(self._adapter, {}).keys(), f"bluetoothd has {self._adapter}"
        )
        if not self.host.get(self._adapter, bluez.ADAPTER, "Powered"):
            await self.host.power(self._name)
        await self.host.register(self._adapter, ROOT)
        await self.host.register_advertisement(self._adapter, self._advertisement)

    async def _strike(self):
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            if self._beat.subscribed.is_set():
                self._count += 1
                self._beat.update(self._count.to_bytes(4, "little"))


def _tell(task):
    if not task.cancelled() and task.exception() is not None:
        warn(f"the application of bluetoothd's ended: {task.exception()!r}")


class Native:
    """Ours on this machine itself, on the radio's socket: what of the figures is the emulation's."""

    service = "FFD0"
    title = "ours, on this machine itself"

    def __init__(self, transport, program, directory):
        self._command = [program, self.service]
        state = os.path.join(directory, "metronome")
        os.mkdir(state, 0o700)
        self._environment = {
            **os.environ, "LATCH_TRANSPORT": transport, "LATCH_STATE": state, "HOME": state,
        }
        self._child = None
        self._is_over = False
        self._supervisor = threading.Thread(target=self._supervise, daemon=True)

    async def start(self):
        self._supervisor.start()

    def _supervise(self):
        while not self._is_over:
            self._child = subprocess.Popen(self._command, env=self._environment, stdout=subprocess.DEVNULL)
            self._child.wait()

    def kill(self):
        self._child.kill()

    def end(self):
        self._is_over = True
        if self._child is not None:
            self._child.kill()
            self._supervisor.join(DEADLINE_SECONDS)
