"""Our lock inside the virtual machine, on an adapter of the kernel's that it takes through the HCI user channel."""

import asyncio
import json

from support.steps import StepFailed, check

LOG = "/run/latch.log"
WINDOW = "/run/latch.window"

EXIT_TRANSPORT = 5


class Inside:
    """`latch` in the virtual machine, where its process is a number and its log a file."""

    def __init__(self, program, machine, adapter, state="/run/latch", options=""):
        self._program = program
        self._machine = machine
        self.adapter = f"hci{adapter}"
        self._transport = f"hci:{adapter}"
        self._state = state
        self._options = options
        machine.run(f"mkdir -m 0700 -p {state}")

    def _command(self, verb):
        return f"{self._program} peripheral {verb} --state {self._state} --json"

    def _run_command(self):
        return f"{self._command('run')} --transport {self._transport} {self._options}"

    async def refuse(self):
        """Runs to its end, which is to come at once; what it said."""
        return await asyncio.to_thread(self._machine.run, self._run_command(), EXIT_TRANSPORT)

    async def start(self):
        """Runs until it advertises."""
        self._machine.run(f"{self._run_command()} >/dev/null 2>{LOG} & echo $! >/run/latch.pid")
        await self.says("advertising")

    async def says(self, message):
        wanted = f'"message":"{message}"'
        ended = "! kill -0 $(cat /run/latch.pid) 2>/dev/null"

        def ask():
            self._machine.until(f"grep -q '{wanted}' {LOG} || {ended}", f"latch says {message}")
            log = self._machine.run(f"cat {LOG}")
            if wanted not in log:
                raise StepFailed(f"latch ended before it said {message}: {log}")

        await asyncio.to_thread(ask)

    def status(self):
        return json.loads(self._machine.run(self._command("status")).splitlines()[-1])["result"]

    async def open_window(self, credential):
        """Opens an enrolment window; its setup code."""
        self._machine.run(f"{self._command('enroll')} --credential {credential} >{WINDOW} 2>&1 &")
        await asyncio.to_thread(self._machine.until, f"grep -q setup_code {WINDOW}", "latch opens its window")
        return json.loads(self._machine.run(f"head -n 1 {WINDOW}"))["setup_code"]

    async def stop(self):
        self._machine.run(self._command("stop"))
        await self._ended()

    async def kill(self):
        self._machine.run("kill -KILL $(cat /run/latch.pid)")
        await self._ended()

    async def _ended(self):
        await asyncio.to_thread(self._machine.until, "! kill -0 $(cat /run/latch.pid) 2>/dev/null", "latch ends")

    @property
    def path(self):
        """Of the adapter, at bluetoothd."""
        return f"/org/bluez/{self.adapter}"

    def bring_up(self):
        self._machine.run(f"hciconfig {self.adapter} up")
        check("UP" in self._machine.run(f"hciconfig {self.adapter}"), "the adapter is not up")

    def bring_down(self):
        self._machine.run(f"hciconfig {self.adapter} down")
