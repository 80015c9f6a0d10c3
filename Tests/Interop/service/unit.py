"""The lock as the package installs it: a unit of systemd's in the virtual machine, and what its operator types there."""

import contextlib
import json
import re

from support.steps import StepFailed, check, check_equal, warn

UNIT = "latch-peripheral.service"
CONFIGURATION = "/etc/latch/peripheral.conf"
MACHINE_KEY = "/etc/latch/peripheral.key"
STATE = "/var/lib/latch"
WINDOW = "/run/latch.window"

EXIT_CONFIGURATION = 3


class Unit:
    def __init__(self, machine):
        self._machine = machine

    def show(self, name):
        return self._machine.run(f"systemctl show {UNIT} --property {name} --value").strip()

    @contextlib.contextmanager
    def explained(self):
        """When a step in it fails, what systemd knows of the unit is told."""
        try:
            yield
        except Exception:
            with contextlib.suppress(StepFailed, OSError):
                warn(self._machine.run(f"systemctl status --no-pager --full --lines 20 {UNIT}", expect=None))
            raise

    @property
    def pid(self):
        """Of its main process; 0 while there is none."""
        return int(self.show("MainPID"))

    @property
    def is_active(self):
        return self.show("ActiveState") == "active"

    def configure(self, **settings):
        """Sets keys of the configuration that was installed, in place."""
        text = self._machine.run(f"cat {CONFIGURATION}")
        for key, value in settings.items():
            text, count = re.subn(rf"(?m)^#?{key} = .*$", f"{key} = {value}", text, count=1)
            check_equal(count, 1, f"how often the configuration names {key}")
        self._machine.write(CONFIGURATION, text + "\n")

    def until_serving(self, otherwise_than=0):
        """Until a daemon, another than that of the process `otherwise_than`, serves over its controller; its process."""
        pid = 0

        def ask():
            nonlocal pid
            if not self.is_active:
                return False
            pid = self.pid
            return pid not in (0, otherwise_than) and self.show("StatusText").startswith("serves over ")

        self._machine.eventually(ask, "the unit serves")
        return pid

    def until_status(self, text):
        self._machine.eventually(lambda: text in self.show("StatusText"), f"the unit's status says {text}")

    def ask(self, verb):
        """What a command of root's comes to."""
        lines = self._machine.run(f"latch peripheral {verb} --state {STATE} --json").splitlines()
        return json.loads(lines[-1])["result"]

    def open_window(self, credential):
        """Opens an enrolment window; its setup code."""
        command = f"latch peripheral enroll --state {STATE} --json --credential {credential} --role owner"
        self._machine.run(f"{command} >{WINDOW} 2>&1 &")
        self._machine.until(f"grep -q setup_code {WINDOW}", "the lock opens its window")
        return json.loads(self._machine.run(f"head -n 1 {WINDOW}"))["setup_code"]

    def exposure(self):
        """What systemd-analyze makes of its sandbox: 0 for none at all, 10 for no sandbox."""
        said = self._machine.run(f"systemd-analyze security --no-pager {UNIT} | tail -n 1")
        found = re.search(r"exposure level for \S+: ([0-9.]+)", said)
        if found is None:
            raise StepFailed(f"systemd-analyze said {said}")
        return float(found[1])

    def is_served(self, key, seconds):
        """Whether the key outside opens the door and locks it again, and the metal did."""
        for verb, bolt in (("unlock", "unlocked"), ("lock", "locked")):
            answer = key.ask(verb, "--wait", str(int(seconds)))
            check_equal(answer.result, {"outcome": "done"}, f"what became of {verb}")
            last = self._machine.run(f"tail -n 1 {STATE}/bolt.journal").split()[-1]
            check(bolt.startswith(last), f"the bolt's last movement was {last}, and the key had asked to {verb}")
