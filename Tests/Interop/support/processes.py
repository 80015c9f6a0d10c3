"""Child processes, and waiting for what they say. No step waits for a time: a deadline is only where waiting ends in
failure."""

import os
import subprocess
import threading
import time

from support.steps import StepFailed, warn

# Generous, for a machine that is busy with something else; reached only by what is broken.
DEADLINE_SECONDS = float(os.environ.get("LATCH_INTEROP_DEADLINE_SECONDS", "60"))


def eventually(condition, what, seconds=DEADLINE_SECONDS):
    """Asks again and again; for what nothing tells of."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() >= deadline:
            raise StepFailed(f"{what}: not within {seconds:.0f} s")
        time.sleep(0.02)


class Lines:
    """The lines of a stream as they come, and a place in them: a wait begins after what the last one found."""

    def __init__(self, stream):
        self._lines = []
        self._place = 0
        self._is_ended = False
        self._changed = threading.Condition()
        self._reader = threading.Thread(target=self._read, args=(stream,), daemon=True)
        self._reader.start()

    def _read(self, stream):
        for line in stream:
            with self._changed:
                self._lines.append(line.rstrip("\n"))
                self._changed.notify_all()
        with self._changed:
            self._is_ended = True
            self._changed.notify_all()

    def wait_for(self, find, what, seconds=DEADLINE_SECONDS):
        """The first value that `find` makes of a line, from the present place on."""
        deadline = time.monotonic() + seconds
        with self._changed:
            while True:
                while self._place < len(self._lines):
                    found = find(self._lines[self._place])
                    self._place += 1
                    if found is not None:
                        return found
                if self._is_ended:
                    raise StepFailed(f"the process ended before {what}")
                left = deadline - time.monotonic()
                if left <= 0:
                    raise StepFailed(f"{what}: not within {seconds:.0f} s")
                self._changed.wait(left)

    def skip(self):
        """Forgets what has been said up to now."""
        with self._changed:
            self._place = len(self._lines)

    def all(self):
        """Every line; complete once the process has ended."""
        with self._changed:
            return list(self._lines)

    def join(self):
        self._reader.join(DEADLINE_SECONDS)


class Process:
    """A child, its standard output and its standard error as lines. Used with `with`, which kills what is left of it."""

    def __init__(self, name, command, stdin=subprocess.DEVNULL):
        self.name = name
        self._child = subprocess.Popen(
            command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.input = self._child.stdin
        self.output = self.make_output(self._child.stdout)
        self.errors = Lines(self._child.stderr)

    def make_output(self, stream):
        return Lines(stream)

    @property
    def pid(self):
        return self._child.pid

    @property
    def is_running(self):
        return self._child.poll() is None

    def wait(self, seconds=DEADLINE_SECONDS):
        """The exit status, once it has ended and all that it said is here."""
        try:
            status = self._child.wait(seconds)
        except subprocess.TimeoutExpired as error:
            raise StepFailed(f"{self.name} did not end within {seconds:.0f} s") from error
        self.output.join()
        self.errors.join()
        return status

    def terminate(self):
        self._child.terminate()

    def kill(self):
        """SIGKILL, and the end of it."""
        self._child.kill()
        self.wait()

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if self.is_running:
            self.kill()
        if error is not None:
            for line in self.errors.all()[-40:]:
                warn(f"    {self.name}: {line}")
