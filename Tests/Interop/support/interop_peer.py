"""InteropPeer, our side of a link as a script drives it: commands that are answered, and events in their own time."""

import asyncio
import json
import os
import subprocess
import threading
import time

from support.processes import DEADLINE_SECONDS, Process
from support.steps import StepFailed, check_equal


class Failed(Exception):
    """What was asked could not be done: `att` and `handle`, `cb` or `host` say why."""

    def __init__(self, error):
        super().__init__(str(error))
        self.error = error

    @property
    def att(self):
        return self.error.get("att")


class _Spoken:
    """What the program says, sorted into answers by id and events in order."""

    def __init__(self, stream, name):
        self._name = name
        self._answers = {}
        self._events = []
        self._is_ended = False
        self._changed = threading.Condition()
        self._reader = threading.Thread(target=self._read, args=(stream,), daemon=True)
        self._reader.start()

    def _read(self, stream):
        for line in stream:
            value = json.loads(line)
            with self._changed:
                if "event" in value:
                    self._events.append(value)
                else:
                    self._answers[value["id"]] = value
                self._changed.notify_all()
        with self._changed:
            self._is_ended = True
            self._changed.notify_all()

    def wait_for(self, find, what):
        deadline = time.monotonic() + DEADLINE_SECONDS
        with self._changed:
            while (found := find()) is None:
                if self._is_ended:
                    raise StepFailed(f"{self._name} ended before {what}")
                left = deadline - time.monotonic()
                if left <= 0:
                    raise StepFailed(f"{self._name}: {what}: not within {DEADLINE_SECONDS:.0f} s; {self._events}")
                self._changed.wait(left)
            return found

    def answer(self, number):
        return self._answers.pop(number, None)

    def take(self, name, fields):
        for index, event in enumerate(self._events):
            if event["event"] == name and all(event.get(key) == value for key, value in fields.items()):
                return self._events.pop(index)
        return None

    def forget(self):
        with self._changed:
            events, self._events = self._events, []
            return events

    def drop(self, name, fields):
        count = 0
        with self._changed:
            while self.take(name, fields) is not None:
                count += 1
        return count

    def join(self):
        self._reader.join(DEADLINE_SECONDS)


class InteropPeer(Process):
    """The program on a transport. `directory` is where it keeps what it keeps: the same one restores it.

    Commands and events are those of Tests/Interop/InteropPeer. Octets are hexadecimal digits in what comes, and may be
    `bytes` in what is asked.
    """

    def __init__(self, program, transport, directory, *options, name="InteropPeer"):
        os.makedirs(directory, mode=0o700, exist_ok=True)
        database = os.path.join(directory, "peer.db")
        super().__init__(
            name,
            [program, "--transport", transport, "--database", database, *options],
            stdin=subprocess.PIPE,
        )
        self._number = 0
        self._sending = threading.Lock()

    def make_output(self, stream):
        return _Spoken(stream, self.name)

    def begin(self, command, **arguments):
        """Sends a command; the number under which its answer comes."""
        with self._sending:
            self._number += 1
            number = self._number
            self.input.write(json.dumps({"id": number, "do": command, **_plain(arguments)}) + "\n")
            self.input.flush()
        return number

    def answer(self, number, what="the answer"):
        said = self.output.wait_for(lambda: self.output.answer(number), what)
        if "refused" in said:
            raise StepFailed(f"{self.name} refused {what}: {said['refused']}")
        if "failed" in said:
            raise Failed(said["failed"])
        return said["result"]

    def call(self, command, **arguments):
        """Sends a command and waits for its answer; raises `Failed` when it could not be done."""
        return self.answer(self.begin(command, **arguments), command)

    def event(self, name, **fields):
        """The first event of that name with these fields that nobody has taken yet, once it is there."""
        what = " ".join([name, *(f"{key}={value}" for key, value in fields.items())])
        return self.output.wait_for(lambda: self.output.take(name, _plain(fields)), what)

    def forget(self):
        """Every event that nobody has taken; they are gone."""
        return self.output.forget()

    def drop(self, name, **fields):
        """How many of these events nobody has taken; they are gone."""
        return self.output.drop(name, _plain(fields))

    def power_on(self):
        """Both managers say so."""
        self.event("centralState", state="poweredOn")
        self.event("peripheralState", state="poweredOn")
        return self

    def stop(self):
        """Ends it as the end of its input does."""
        self.input.close()
        check_equal(self.wait(), 0, f"{self.name}'s exit status")

    # For suites whose other side lives on an event loop.

    async def acall(self, command, **arguments):
        return await asyncio.to_thread(self.call, command, **arguments)

    async def aevent(self, name, **fields):
        return await asyncio.to_thread(self.event, name, **fields)


def _plain(value):
    """Octets as JSON has them."""
    if isinstance(value, (bytes, bytearray)):
        return value.hex().upper()
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return value
