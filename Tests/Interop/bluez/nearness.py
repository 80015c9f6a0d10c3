"""How near the key is to its locks, by the RSSI of their links beside bluetoothd: what opens by approach, the nearest of several, and
thresholds of a lock's own."""

import time

from key import LATER, LOCK, LOCK_SETTINGS, MACHINE, WAIT
from support.daemons import EXIT_REFUSED, EXIT_UNAVAILABLE, Lock
from support.steps import check, check_equal

FAR, NEAR = 20, 1


def approach(suite, radio, machine, key, lock):
    with suite.step("it opens by approach: seen far away by a link, and then at the door") as figure:
        check_equal(key.ask(f"lock --wait {WAIT}").get("result"), {"outcome": "done"}, "what became of the command")
        check_equal(lock.status()["bolt"], "locked", "the bolt at the beginning")
        key.kill()
        lock.errors.skip()
        radio.command(f"distance {MACHINE} {LOCK} {FAR}")
        key.start("[proximity]\nunlock = true\n")
        key.says('"message":"radio","state":"on"')

        def is_away():
            return key.ask("status")["result"]["locks"][0]["proximity"] == "away"

        machine.eventually(is_away, "a link shows that the key is away")
        check_equal(lock.status()["bolt"], "locked", "the bolt of the lock that is away")
        radio.command(f"distance {MACHINE} {LOCK} {NEAR}")
        begin = time.monotonic()
        lock.wait_for_event("bolt", bolt="unlocked")
        figure.is_(f"{time.monotonic() - begin:.1f} s at the door")
        key.kill()
        key.start()
        key.says('"message":"radio","state":"on"')


def nearest(suite, radio, latch, machine, key, lock):
    settings = latch.write("garage.conf", LOCK_SETTINGS + 'name = "Garage"\n')
    first = key.ask("status")["result"]["locks"][0]["name"]
    with Lock(latch, "garage", "peripheral", radio.transport, ("--config", settings)) as garage:
        with suite.step("the nearest of two locks is unlocked, and only that") as figure:
            window, opened = garage.open_window("anna", "--role", "owner", "--method", "program")
            check_equal(key.ask("enroll -", text=opened["setup_code"])["result"]["lock"], "Garage", "the second lock")
            check_equal(window.answer().status, 0, "the window's exit status")
            times = []
            for here, there, name, number, other in ((garage, lock, "Garage", LATER, LOCK), (lock, garage, first, LOCK, LATER)):
                close(key, {first: lock, "Garage": garage})
                radio.command(f"distance {MACHINE} {number} {NEAR}")
                radio.command(f"distance {MACHINE} {other} {FAR}")
                begin = time.monotonic()
                answer = key.ask(f"unlock --nearest --wait {WAIT}")
                times.append(time.monotonic() - begin)
                check_equal((answer["result"]["outcome"], here.status()["bolt"]), ("done", "unlocked"), f"{name}, which is nearer")
                check_equal(there.status()["bolt"], "locked", "the bolt of the other one")
            figure.is_(", ".join(f"{seconds:.1f} s" for seconds in times))
        with suite.step("of two that are about equally near none is, nor of two that are out of reach") as figure:
            close(key, {first: lock, "Garage": garage})
            for number in (LOCK, LATER):
                radio.command(f"distance {MACHINE} {number} {NEAR}")
            answer = key.ask(f"unlock --nearest --wait {WAIT}", expect=EXIT_REFUSED)
            check("equally near" in answer["error"]["message"], f"the key said {answer}")
            for number in (LOCK, LATER):
                radio.command(f"cut {MACHINE} {number}")
            answer = key.ask("unlock --nearest --wait 6", expect=EXIT_UNAVAILABLE)
            check("no lock is in reach" in answer["error"]["message"], f"the key said {answer}")
            for number in (LOCK, LATER):
                radio.command(f"join {MACHINE} {number}")
            check_equal((lock.status()["bolt"], garage.status()["bolt"]), ("locked", "locked"), "both bolts")
            figure.is_(answer["error"]["message"])
        key.ask("forget --lock Garage --yes")


def close(key, locks):
    for name, lock in locks.items():
        answer = key.ask(f"lock --lock '{name}' --wait {WAIT}")
        check_equal((answer.get("result"), lock.status()["bolt"]), ({"outcome": "done"}, "locked"), f"what became of {name}")


def calibrate(suite, radio, machine, key):
    enter, walk, picture = "/run/enter", "/run/walk.log", f"{key.state}/walk.svg"

    def goes_on_when(phase):
        machine.until(f"grep -q '\"phase\":\"{phase}\",\"linked\":true' {walk}", f"the walk is {phase}")

    with suite.step("a walk gives the lock thresholds of its own") as figure:
        machine.run(f"mkfifo {enter}")
        radio.command(f"distance {MACHINE} {LOCK} {NEAR}")
        machine.run(f"{key.words('calibrate')} --yes --seconds 3 --svg {picture} <>{enter} >{walk} 2>&1 &")
        goes_on_when("coming_near")
        machine.run(f"echo >{enter}")
        goes_on_when("going_away")
        radio.command(f"distance {MACHINE} {LOCK} {FAR}")
        # Nobody walks in no time: the filter has followed whoever presses Enter.
        machine.until(f"tail -n 1 {walk} | grep -qE '\"level_hundredths\":-[6-9][0-9]{{3}}\\b'", "the signal is weak")
        machine.run(f"echo >{enter}")
        machine.until(f"grep -qE '\"(result|error)\"' {walk}", "the walk ends")
        check('"result"' in machine.run(f"tail -n 1 {walk}"), f"the walk ended with {machine.run(f'tail -n 1 {walk}')}")
        own = thresholds(key)
        check(own["calibrated"], "the thresholds are not the lock's own")
        check(-20 > own["near_dbm"] > own["away_dbm"] > -100, f"the thresholds are {own}")
        check_equal(machine.run(f"stat -c %a:%u {picture}"), "600:1000", "mode and owner of the picture")
        readings = machine.run(f"grep -c '\"event\":\"reading\"' {walk}")
        key.kill()
        key.start()
        key.says('"message":"radio","state":"on"')
        check_equal(thresholds(key), own, "the thresholds behind a kill")
        key.ask("calibrate --clear")
        check(not thresholds(key)["calibrated"], "the lock's own thresholds are cleared")
        radio.command(f"distance {MACHINE} {LOCK} {NEAR}")
        figure.is_(f"near {own['near_dbm']} dBm, away {own['away_dbm']} dBm, of {readings} readings")


def thresholds(key):
    lock = key.ask("status")["result"]["locks"][0]
    return {name: lock[name] for name in ("near_dbm", "away_dbm", "calibrated")}
