"""A strike on a real /dev/gpiochip: Debian's kernel in QEMU, its driver hid-cp2112, and a chip that is made with uhid.

    drill.py PROGRAMS CHIP CACHE --kills N --keeper-kills N --seed S [--json]

Everything runs in the virtual machine; here it is booted, waited for and read. The figures are printed, as JSON with --json."""

import argparse
import json
import os
import sys
import tempfile

sys.path[:0] = [os.path.join(os.path.dirname(__file__), folder) for folder in ("..", "../bluez")]

import judge
from machine import Machine
from support.processes import eventually
from support.steps import StepFailed, warn

RESULT = "/run/result.json"
OUTPUT = "/run/drill.log"
# What an emulated machine takes for a kill and its restart.
KILL_SECONDS = 30


def shown(figures, indent=""):
    for name, value in figures.items():
        if isinstance(value, dict):
            yield f"{indent}{name}: " + ", ".join(f"{key} {entry}" for key, entry in value.items())
        elif isinstance(value, list):
            yield f"{indent}{name}: {len(value)}"
            yield from (f"{indent}  {entry}" for entry in value)
        else:
            yield f"{indent}{name}: {value}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs")
    parser.add_argument("chip")
    parser.add_argument("cache")
    parser.add_argument("--kills", type=int, required=True)
    parser.add_argument("--keeper-kills", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    judge.check_judge()
    here = os.path.dirname(os.path.realpath(__file__))
    with tempfile.TemporaryDirectory(prefix="latch-gpio-") as directory:
        with Machine(options.cache, directory, []) as machine:
            machine.boot()
            words = f"--kills {options.kills} --keeper-kills {options.keeper_kills} --seed {options.seed}"
            machine.run(
                f"PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 {here}/door.py {options.programs} {options.chip} {RESULT} {words} "
                f">{OUTPUT} 2>&1 &"
            )
            heard = 0

            def is_over():
                nonlocal heard
                lines = machine.run(f"cat {OUTPUT}").splitlines()
                for line in lines[heard:]:
                    warn(f"    {line}")
                heard = len(lines)
                return machine.run(f"[ -e {RESULT} ] && echo yes", expect=None) == "yes"

            seconds = 600 + KILL_SECONDS * (options.kills + options.keeper_kills)
            eventually(is_over, "the drill is over", seconds)
            figures = json.loads(machine.run(f"cat {RESULT}"))
            if figures["violations"]:
                for log in ("radio", "keeper", "lock"):
                    for line in machine.run(f"tail -n 20 /run/{log}.log", expect=None).splitlines():
                        warn(f"    {log}: {line}")
            machine.stop()
    print(json.dumps(figures) if options.json else "\n".join(shown(figures)))
    return 1 if figures["violations"] else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except StepFailed as failure:
        warn(f"drill-gpio: {failure}")
        sys.exit(1)
