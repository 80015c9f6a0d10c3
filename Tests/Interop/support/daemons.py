"""`latch` as an operator sees it: two daemons, and commands that end in an exit status and a line of JSON."""

import json
import os
import subprocess

from support.processes import DEADLINE_SECONDS, Lines, Process
from support.steps import StepFailed, check_equal

# `latch --help` and docs/OPERATING.md list them.
EXIT_OK = 0
EXIT_REFUSED = 1
EXIT_USAGE = 2
EXIT_UNAVAILABLE = 6


class Latch:
    """The program, and where one run's state lives."""

    def __init__(self, program, directory):
        self.program = program
        self.directory = directory

    def state(self, name):
        path = os.path.join(self.directory, name)
        os.makedirs(path, mode=0o700, exist_ok=True)
        return path

    def write(self, name, text):
        """A configuration file; its path."""
        path = os.path.join(self.directory, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def lock(self, transport, *options):
        return Lock(self, "lock", "peripheral", transport, options)

    def key(self, transport, *options):
        return Key(self, "key", "central", transport, options)


class Answer:
    """What a command came to: exit status, and its last line of JSON under `result` or `error`."""

    def __init__(self, status, lines, errors):
        self.status = status
        self.errors = errors
        self.events = [line for line in lines if "event" in line]
        last = lines[-1] if lines else {}
        self.result = last.get("result")
        self.error = last.get("error")

    def __str__(self):
        return f"exit status {self.status}, {self.result or self.error or self.errors}"


class Command(Process):
    """A command that is still running; `events` are read while it does."""

    def wait_for_event(self, name):
        def find(line):
            value = json.loads(line)
            if "error" in value:
                raise StepFailed(f"{self.name}: {value['error']}")
            return value if value.get("event") == name else None

        return self.output.wait_for(find, f"{self.name} says {name}")

    def answer(self):
        status = self.wait()
        return Answer(status, [json.loads(line) for line in self.output.all()], "\n".join(self.errors.all()))


class Daemon(Process):
    """A `latch … run`. Its log is JSON, a line per event."""

    def __init__(self, latch, name, role, transport, options):
        self._latch = latch
        self._role = role
        self.state = latch.state(name)
        arguments = [latch.program, role, "run", "--transport", transport, "--state", self.state, "--json", *options]
        super().__init__(name, self.launched(arguments))
        try:
            self.wait_for_event("radio", state="on")
        except StepFailed as error:
            self.__exit__(StepFailed, error, None)
            raise

    def words(self, arguments):
        """What is executed for a command of `latch`."""
        return arguments

    def launched(self, arguments):
        """What is executed for the daemon itself."""
        return self.words(arguments)

    def place(self):
        """The options by which a command finds the daemon."""
        return ["--state", self.state]

    def wait_for_event(self, name, **fields):
        """The next event of that name whose fields are these."""

        def find(line):
            value = _json(line)
            matches = value.get("message") == name and all(value.get(key) == wanted for key, wanted in fields.items())
            return value if matches else None

        said = " ".join([name, *(f"{key}={wanted}" for key, wanted in fields.items())])
        return self.errors.wait_for(find, f"the {self.name} says {said}")

    def events(self):
        """All that it has logged up to now."""
        return [_json(line) for line in self.errors.all()]

    def begin(self, verb, *options):
        """Starts a command and returns at once."""
        return Command(f"latch {self._role} {verb}", self._arguments(verb, options))

    def ask(self, verb, *options, text=None, expect=EXIT_OK):
        """Runs a command to its end; `text` is its standard input. Fails unless it exits as expected."""
        done = subprocess.run(
            self._arguments(verb, options),
            input=text or "",
            capture_output=True,
            text=True,
            timeout=DEADLINE_SECONDS,
            check=False,
        )
        answer = Answer(done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr)
        if answer.status != expect:
            raise StepFailed(f"latch {self._role} {verb}: {answer}; exit status {expect} was expected")
        return answer

    def status(self):
        return self.ask("status").result

    def stop(self):
        """Ends it as an operator does, and fails if it had an error to tell."""
        self.ask("stop")
        check_equal(self.wait(), EXIT_OK, f"the {self.name}'s exit status")
        errors = [line for line in self.errors.all() if _json(line).get("level") == "error"]
        check_equal(errors, [], f"what the {self.name} logged as errors")

    def _arguments(self, verb, options):
        return self.words([self._latch.program, self._role, verb, *self.place(), "--json", *options])


class Lock(Daemon):
    def open_window(self, credential, *options):
        """Opens the enrolment window: the running command, once the window is open, and its first event."""
        command = self.begin("enroll", "--credential", credential, *options)
        return command, command.wait_for_event("window")


class Key(Daemon):
    pass


def _json(line):
    try:
        value = json.loads(line)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
