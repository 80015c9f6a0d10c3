"""The packages on a machine of systemd's: installed, set up, killed, starved of its adapter, beside bluetoothd, upgraded, removed.

    service.py LATCH LAB CACHE KILLS OLD_PACKAGES NEW_PACKAGES

The machine is virtual and its adapters are the virtual radio's; the key is outside. What the drill believes is what the key outside is
told, what systemd says of the unit, and what the bolt's own file says.
"""

import glob
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "bluez"))

from machine import Machine
from support.daemons import Latch
from support.processes import DEADLINE_SECONDS
from support.radios import AdapterRadio
from support.steps import Suite, check, check_equal
from unit import CONFIGURATION, EXIT_CONFIGURATION, MACHINE_KEY, STATE, UNIT, Unit

# By the radio's rule for adapters. The lock's is plugged in second, so that its number is not what names it.
LOCK_ADDRESS = "02:4C:41:01:00:01"
LOCK_RADIO, OTHER_RADIO, KEY_ADAPTER = 0, 1, 3
EXPOSURE_MAXIMUM = 2.0
BACKUP_UNIT = "latch-backup.service"
BACKUPS = "/var/lib/latch-backup"


def packages(directory, names=("latch", "latch-lock")):
    """The files of these packages in a directory; those of a lock."""
    found = []
    for name in names:
        files = glob.glob(f"{directory}/{name}_*.deb")
        check_equal(len(files), 1, f"how many packages {name} are in {directory}")
        found += files
    return found


def unpack(machine, directory):
    machine.run(f"/usr/bin/dpkg --no-triggers -i {' '.join(packages(directory))}", seconds=4 * DEADLINE_SECONDS)


def check_fault_is_told(machine, lines, expect):
    """systemctl status names the key of the wrong configuration, and its file."""
    said = machine.run(f"systemctl status --no-pager --lines {lines} {UNIT}", expect=expect)
    check("relock_seconds" in said and CONFIGURATION in said, f"systemctl status says {said}")


def install(suite, machine, unit, old):
    with suite.step("dpkg installs the packages, and starts nothing") as figure:
        unpack(machine, old)
        check_equal(machine.run(f"systemctl is-enabled {UNIT}", expect=1), "disabled", "the unit")
        check(not unit.is_active, "the unit runs and nobody has set it up")
        figure.is_(machine.run("latch --version"))

    with suite.step("a machine key is made, which its owner alone reads; the configuration is there") as figure:
        check_equal(machine.run(f"stat -c '%a %U %s' {MACHINE_KEY}"), "400 root 32", "mode, owner and octets of the key")
        machine.run(f"test -f {CONFIGURATION}")
        figure.is_(machine.run("getent passwd latch-lock | cut -d: -f1,6,7"))

    with suite.step("the manual and the completion are there"):
        machine.run("test -f /usr/share/man/man1/latch-peripheral-run.1.gz")
        machine.run("bash -n /usr/share/bash-completion/completions/latch")


def set_up(suite, machine, unit, key):
    with suite.step("bluetoothd takes both adapters; the lock takes its own from it, by address") as figure:
        machine.run("systemctl start bluetooth.service")
        machine.add_adapter(OTHER_RADIO, number=0)
        machine.add_adapter(LOCK_RADIO, number=1)
        machine.until("hciconfig hci1 | grep -q UP", "bluetoothd has the lock's adapter up")
        # A challenge outlives the slowness of an emulated machine.
        unit.configure(transport=f'"hci:{LOCK_ADDRESS},take"', relock_seconds=0, challenge_life_ms=25_500)
        machine.run(f"systemctl enable --now {UNIT}", seconds=2 * DEADLINE_SECONDS)
        unit.until_serving()
        figure.is_(unit.show("StatusText"))

    with suite.step("a key outside is enrolled, and opens"):
        code = unit.open_window("anna")
        key.ask("enroll", "-", text=code + "\n")
        unit.is_served(key, DEADLINE_SECONDS)

    with suite.step(f"systemd-analyze security: {EXPOSURE_MAXIMUM} at most") as figure:
        exposure = unit.exposure()
        check(exposure <= EXPOSURE_MAXIMUM, f"the exposure is {exposure}")
        figure.is_(f"{exposure}")

    with suite.step("its user reads nothing of others, and nobody else its state") as figure:
        check_equal(machine.run(f"stat -c '%a %U' {STATE}"), "700 latch-lock", "mode and owner of the state")
        figure.is_(machine.run(f"grep -E '^(CapEff|NoNewPrivs|Seccomp):' /proc/{unit.pid}/status | tr '\\n\\t' '  '").strip())


def stay_beside(suite, machine, unit, key):
    with suite.step("bluetoothd is started anew, stopped and started beside it: the same daemon serves on"):
        pid = unit.pid
        for verb in ("restart", "stop", "start"):
            machine.run(f"systemctl {verb} bluetooth.service", seconds=2 * DEADLINE_SECONDS)
            unit.is_served(key, DEADLINE_SECONDS)
        check_equal(unit.pid, pid, "the daemon's process")

    with suite.step("bluetoothd has the other adapter, and that one only") as figure:
        adapters = "busctl tree --list org.bluez | grep -x '/org/bluez/hci[0-9]*'"
        machine.until(f"{adapters} | grep -q hci0", "bluetoothd has its adapter")
        check_equal(machine.run(adapters), "/org/bluez/hci0", "bluetoothd's adapters")
        figure.is_("hci0")


def be_killed(suite, machine, unit, key, kills):
    with suite.step(f"{kills} times killed: each time systemd starts it, and the key opens and locks") as figure:
        for _ in range(kills):
            pid = unit.pid
            machine.run(f"kill -KILL {pid}")
            unit.until_serving(otherwise_than=pid)
            unit.is_served(key, DEADLINE_SECONDS)
        figure.is_(f"{kills} kills, {2 * kills} commands done; systemd counts {unit.show('NRestarts')} restarts")

    with suite.step("one that hangs is ended by the watchdog, and served again"):
        pid = unit.pid
        machine.run(f"kill -STOP {pid}")
        unit.until_serving(otherwise_than=pid)
        unit.is_served(key, DEADLINE_SECONDS)


def back_up(suite, machine, unit):
    with suite.step("its backup's unit copies the database beside the daemon, for its own user alone") as figure:
        pid = unit.pid
        for number in (1, 2):
            machine.run(f"systemctl start {BACKUP_UNIT}", seconds=2 * DEADLINE_SECONDS)
            copy = f"{BACKUPS}/latch-{number:06}.sqlite"
            check_equal(machine.run(f"stat -c '%U %a' {copy}").strip(), "latch-lock 600", f"who may read {copy}")
            machine.run(f"latch audit verify --database {copy}")
        check_equal(len(machine.run(f"ls {BACKUPS}/*.sqlite").split()), 2, "copies among the backups")
        check_equal(unit.pid, pid, "the daemon's process")
        exposure = machine.run(f"systemd-analyze security --no-pager {BACKUP_UNIT} | tail -n 1")
        figure.is_(exposure.strip(" \n→"))

    with suite.step("its timer waits for the next day"):
        machine.run("systemctl enable --now latch-backup.timer")
        machine.run("systemctl is-active latch-backup.timer")


def lose_adapter(suite, machine, unit, key):
    with suite.step("its adapter is unplugged: the daemon stays, says so and answers operators") as figure:
        pid = unit.pid
        machine.remove_adapter(LOCK_RADIO)
        unit.until_status("waits for its controller")
        check_equal(unit.ask("status")["bolt"], "locked", "the bolt")
        figure.is_(unit.show("StatusText"))

    with suite.step("plugged in again under another number: the same daemon opens the door"):
        machine.remove_adapter(OTHER_RADIO)
        machine.add_adapter(LOCK_RADIO, number=0)
        unit.until_status("serves over")
        check_equal(unit.pid, pid, "the daemon's process")
        unit.is_served(key, DEADLINE_SECONDS)


def reload(suite, machine, unit, key):
    with suite.step("systemctl reload: a fault changes nothing and is told, a relock is taken up; the same daemon, the same link") as figure:
        pid = unit.pid
        unit.configure(relock_seconds="soon")
        machine.run(f"systemctl reload {UNIT}", expect=1)
        check_fault_is_told(machine, lines=10, expect=0)
        check_equal(unit.ask("status")["settings"]["relock_seconds"], 0, "the seconds until a relock")
        unit.configure(relock_seconds=7)
        machine.run(f"systemctl reload {UNIT}")
        check_equal(unit.ask("status")["settings"]["relock_seconds"], 7, "the seconds until a relock")
        unit.configure(relock_seconds=0)
        machine.run(f"systemctl reload {UNIT}")
        check_equal(unit.pid, pid, "the daemon's process")
        unit.is_served(key, DEADLINE_SECONDS)
        figure.is_("0, soon, 7 and 0 s")


def misconfigure(suite, machine, unit, key):
    with suite.step("a configuration that is wrong: the unit fails with its line, and nothing is tried again") as figure:
        unit.configure(relock_seconds="soon")
        machine.run(f"systemctl restart {UNIT}", expect=None, seconds=2 * DEADLINE_SECONDS)
        machine.until(f"systemctl is-failed --quiet {UNIT}", "the unit has failed")
        check_equal(unit.show("ExecMainStatus"), str(EXIT_CONFIGURATION), "the exit status")
        check_fault_is_told(machine, lines=5, expect=3)
        figure.is_(f"exit status {EXIT_CONFIGURATION}")

    with suite.step("mended: it serves"):
        unit.configure(relock_seconds=0)
        machine.run(f"systemctl restart {UNIT}", seconds=2 * DEADLINE_SECONDS)
        unit.until_serving()
        unit.is_served(key, DEADLINE_SECONDS)


def upgrade(suite, machine, unit, key, new):
    with suite.step("upgraded while it runs: another process, the same state, configuration and machine key") as figure:
        pid = unit.pid
        before = machine.run(f"sha256sum {MACHINE_KEY} {CONFIGURATION}")
        unpack(machine, new)
        unit.until_serving(otherwise_than=pid)
        check_equal(machine.run(f"sha256sum {MACHINE_KEY} {CONFIGURATION}"), before, "machine key and configuration")
        unit.is_served(key, DEADLINE_SECONDS)
        figure.is_(machine.run("/usr/bin/dpkg-query -W -f '${Version}' latch-lock"))


def leave(suite, machine, unit):
    with suite.step("removed: the daemon ends and is not enabled, its state and configuration stay"):
        machine.run("/usr/bin/dpkg --no-triggers -r latch-lock latch", seconds=4 * DEADLINE_SECONDS)
        check(not unit.is_active, "the unit still runs")
        machine.run("test ! -e /usr/bin/latch")
        for path in (f"{STATE}/latch.sqlite", MACHINE_KEY, CONFIGURATION):
            machine.run(f"test -e {path}")

    with suite.step("purged: nothing of it is left but its user"):
        machine.run("/usr/bin/dpkg --no-triggers -P latch-lock latch", seconds=4 * DEADLINE_SECONDS)
        left = machine.run("ls -d /etc/latch /var/lib/latch* /run/latch-peripheral /usr/lib/systemd/system/latch-* 2>/dev/null", expect=None)
        check_equal(left, "", "what is left")
        enabled = machine.run("find /etc/systemd/system -name 'latch-peripheral*'")
        check_equal(enabled, "", "what is left of its being enabled")


def main(program, lab, cache, kills, old, new):
    suite = Suite("service")
    with tempfile.TemporaryDirectory(prefix="latch-service-") as directory, AdapterRadio(lab, directory, 3) as radio:
        latch = Latch(program, directory)
        radios = [radio.adapter(number) for number in (1, 2)]
        with Machine(cache, directory, radios, has_systemd=True) as machine:
            unit = Unit(machine)
            with suite.step("boot Debian's kernel with systemd") as figure:
                machine.boot()
                machine.run("systemctl start basic.target dbus.service", seconds=2 * DEADLINE_SECONDS)
                figure.is_(machine.run("systemctl --version | head -n 1"))
            install(suite, machine, unit, old)
            with unit.explained(), latch.key(f"unix:{radio.adapter(KEY_ADAPTER)}") as key:
                set_up(suite, machine, unit, key)
                stay_beside(suite, machine, unit, key)
                be_killed(suite, machine, unit, key, kills)
                back_up(suite, machine, unit)
                lose_adapter(suite, machine, unit, key)
                reload(suite, machine, unit, key)
                misconfigure(suite, machine, unit, key)
                upgrade(suite, machine, unit, key, new)
                key.stop()
            leave(suite, machine, unit)
            with suite.step("shut down"):
                machine.stop()
        radio.stop()
    suite.end()


if __name__ == "__main__":
    main(*(os.path.abspath(path) for path in sys.argv[1:4]), int(sys.argv[4]), *(os.path.abspath(path) for path in sys.argv[5:7]))
