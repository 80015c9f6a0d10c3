"""Steps: each is told in a line with its figure, and the first that fails ends the suite."""

import contextlib
import sys
import time


class StepFailed(Exception):
    """What was expected of a peer, of `latch` or of the radio did not happen."""


class Figure:
    """What a step measured; milliseconds from its begin to its end unless it says something else."""

    def __init__(self):
        self.text = None

    def is_(self, text):
        self.text = text


class Suite:
    def __init__(self, name):
        self.name = name
        self.steps = 0

    @contextlib.contextmanager
    def step(self, title):
        """Runs the body of a `with` as a step. The body may set the figure's text; else the time it took is told."""
        figure = Figure()
        begin = time.monotonic()
        try:
            yield figure
        except Exception:
            print(f"FAILED  {self.name}: {title}", flush=True)
            raise
        milliseconds = (time.monotonic() - begin) * 1000
        self.steps += 1
        print(f"ok      {self.name}: {title}: {figure.text or f'{milliseconds:.0f} ms'}", flush=True)

    def end(self):
        if self.steps == 0:
            raise StepFailed("no step ran")
        print(f"passed  {self.name}: {self.steps} steps", flush=True)


def check(condition, message):
    """Like assert, but not a matter of Python's -O."""
    if not condition:
        raise StepFailed(message)


def check_equal(actual, expected, what):
    check(actual == expected, f"{what} is {actual!r}, not {expected!r}")


def warn(message):
    print(message, file=sys.stderr, flush=True)
