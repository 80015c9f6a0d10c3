"""Our lock and our key over RootCanal's controllers: enrolment, commands, kills, link loss and return.

lock_and_key.py LATCH CACHE
"""

import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))

from support.daemons import EXIT_OK, EXIT_REFUSED, EXIT_UNAVAILABLE, EXIT_USAGE, Latch
from support.processes import eventually
from support.radios import RootCanal
from support.steps import StepFailed, Suite, check, check_equal


class Pair:
    """A lock and a key, and the ordinals of their controllers."""

    def __init__(self, latch, radio):
        self.latch = latch
        self.radio = radio
        self.lock = self.key = None
        # Nothing moves but what a step asks for.
        self.settings = latch.write("lock.conf", "[lock]\nrelock_seconds = 0\n")
        self.start_lock()
        try:
            self.start_key()
        except StepFailed as error:
            self.__exit__(StepFailed, error, None)
            raise

    def start_lock(self):
        self.lock = self.latch.lock(self.radio.transport, "--config", self.settings)
        self.lock_radio = self.radio.next_controller()

    def start_key(self, *options):
        self.key = self.latch.key(self.radio.transport, *options)
        self.key_radio = self.radio.next_controller()

    def air(self, verb, *operands):
        self.radio.command(" ".join(map(str, (verb, self.lock_radio, self.key_radio, *operands))))

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        for daemon in (self.key, self.lock):
            if daemon is not None:
                daemon.__exit__(kind, error, trace)


def enrol(suite, pair):
    with suite.step("enrol by setup code"):
        window, opened = pair.lock.open_window("anna", "--role", "owner")
        with window:
            enrolled = pair.key.ask("enroll", "-", text=opened["setup_code"] + "\n")
            at_lock = window.answer()
        check_equal(at_lock.status, EXIT_OK, "the lock's exit status")
        check_equal(at_lock.result["credential"], "anna", "the credential enrolled at the lock")
        check("id" in enrolled.result, f"the key does not say which lock it enrolled at: {enrolled}")

    with suite.step("refuse what is no setup code, and the code of another window"):
        pair.key.ask("enroll", "-", text="LATCH1:NONSENSE\n", expect=EXIT_USAGE)
        window, _ = pair.lock.open_window("ben")
        with window:
            pair.key.ask("enroll", "-", text=opened["setup_code"] + "\n", expect=EXIT_REFUSED)
            # The key finds what is wrong before it sends a check value: nothing is burnt.
            check_equal(pair.lock.status()["enrolling"], "ben", "whom the window is open for")

    with suite.step("both know of one bond") as figure:
        lock, key = pair.lock.status(), pair.key.status()
        bonds = [(one["name"], one["bond_state"]) for one in lock["credentials"] if "bond" in one]
        check_equal(bonds, [("anna", "confirmed")], "the lock's bonds")
        check_equal(len(key["locks"]), 1, "the number of the key's locks")
        figure.is_(f"lock {lock['address']}, key {key['address']}")


def move(suite, pair, title, verb):
    with suite.step(title):
        answer = pair.key.ask(verb)
        check_equal(answer.result, {"outcome": "done"}, f"what became of {verb}")
        check_equal(pair.lock.status()["bolt"], f"{verb}ed", "the bolt")


def move_both_ways(suite, pair, when):
    move(suite, pair, f"unlock {when}", "unlock")
    move(suite, pair, f"lock {when}", "lock")


def begin(pair, verb):
    """A command whose bolt has begun to move: the link is up, and the key waits for the outcome."""
    pair.lock.errors.skip()
    pair.key.errors.skip()
    command = pair.key.begin(verb, "--wait", "60")
    pair.lock.wait_for_event("actuator", movement=verb)
    return command


def kill_both(suite, pair):
    with suite.step("SIGKILL both at rest, start both"):
        pair.lock.kill()
        pair.key.kill()
        pair.start_lock()
        pair.start_key()
    move_both_ways(suite, pair, "after both were killed")


def check_taken(answer):
    """The lock took it. Whether the command also hears its end depends on when the receipt and the loss came."""
    check_equal(answer.status, EXIT_OK, "the command's exit status")
    check(answer.result["outcome"] in ("done", "accepted"), f"the command came to {answer}")


def kill_the_lock(suite, pair):
    move(suite, pair, "unlock", "unlock")
    with suite.step("SIGKILL the lock while its bolt moves: its next process completes what secures the door"):
        command = begin(pair, "lock")
        with command:
            pair.lock.kill()
            pair.key.wait_for_event("disconnected")
            pair.start_lock()
            check_taken(command.answer())
        check_equal(pair.lock.status()["bolt"], "locked", "the bolt")
    move_both_ways(suite, pair, "after the lock was killed")


def kill_the_key(suite, pair):
    with suite.step("SIGKILL the key while the bolt moves: nothing is asked twice"):
        command = begin(pair, "unlock")
        with command:
            pair.key.kill()
            check_equal(command.answer().status, EXIT_UNAVAILABLE, "the command's exit status")
        # RootCanal tells links apart by their two addresses alone, so the old one has to be gone before the new.
        pair.lock.wait_for_event("disconnected")
        pair.start_key()
        # What it does not know, it asks; if it had the receipt, it owes nothing.
        eventually(lambda: "request" not in pair.key.status()["locks"][0], "the key knows what became of its command")
        check_equal(pair.lock.status()["bolt"], "unlocked", "the bolt")
    move_both_ways(suite, pair, "after the key was killed")
    with suite.step("exactly one grant for each command") as figure:
        audits = [event for event in pair.lock.events() if event["message"] == "audit"]
        grants = [event["command"] for event in audits if event["what"] == "granted"]
        check_equal(len(grants), len(set(grants)), "the number of commands granted")
        check_equal(len(grants), 5, "the number of grants of this lock's process")
        figure.is_(f"{len(grants)} grants")


def lose_the_link(suite, pair):
    with suite.step("cut the air while the bolt moves: both hear of it by their supervision timeouts"):
        command = begin(pair, "unlock")
        with command:
            pair.air("cut")
            pair.key.wait_for_event("disconnected")
            pair.lock.wait_for_event("disconnected")
            pair.air("join")
            check_taken(command.answer())
        eventually(lambda: "request" not in pair.key.status()["locks"][0], "the key knows what became of its command")
        check_equal(pair.lock.status()["bolt"], "unlocked", "the bolt")
    with suite.step("ask while the air is cut: the lock is not reached, and nothing was sent"):
        pair.air("cut")
        answer = pair.key.ask("lock", "--wait", "1", expect=EXIT_UNAVAILABLE)
        check_equal(answer.error["code"], "unavailable", "the error's code")
        check_equal(pair.lock.status()["bolt"], "unlocked", "the bolt")
    with suite.step("ask while the air is cut, then join it: the pending connection delivers"):
        with ask_out_of_reach(pair, "lock") as command:
            pair.air("join")
            answer = command.answer()
        check_equal((answer.status, answer.result), (EXIT_OK, {"outcome": "done"}), "what became of the command")
        check_equal(pair.lock.status()["bolt"], "locked", "the bolt")
    with suite.step("ask while the air is cut, SIGKILL the key, start it within reach: the wish outlived its process"):
        pair.air("cut")
        with ask_out_of_reach(pair, "unlock") as command:
            pair.key.kill()
            check_equal(command.answer().status, EXIT_UNAVAILABLE, "the command's exit status")
        pair.start_key()
        pair.key.wait_for_event("outcome", result="done")
        check_equal(pair.lock.status()["bolt"], "unlocked", "the bolt")
    move(suite, pair, "lock after the air was joined", "lock")


def come_and_go(suite, pair):
    """By the signal strength that the controller reports of a link with the lock. It decides when to ask, never what is
    allowed."""
    options = ("--config", pair.latch.write("key.conf", "[proximity]\nunlock = true\n"))

    def proximity():
        return pair.key.status()["locks"][0]["proximity"]

    move(suite, pair, "lock before coming near is watched for", "lock")
    with suite.step("start a key that unlocks on coming near, within reach: it has not come, and asks for nothing"):
        pair.key.stop()
        pair.start_key(*options)
        check_equal((proximity(), pair.lock.status()["bolt"]), ("near", "locked"), "proximity and bolt")
    with suite.step("grow weak to -95 dBm: away, as a link shows") as figure:
        pair.air("rssi", -95)
        eventually(lambda: proximity() == "away", "the key counts as away")
        check_equal(pair.lock.status()["bolt"], "locked", "the bolt")
        figure.is_("away")
    with suite.step("SIGKILL the key while it is away, start it near: it scans again by itself, looks, and asks"):
        pair.key.kill()
        # A new controller is heard at full strength: it comes near.
        pair.start_key(*options)
        pair.key.wait_for_event("outcome", result="done")
        check_equal((proximity(), pair.lock.status()["bolt"]), ("near", "unlocked"), "proximity and bolt")
    move(suite, pair, "lock after coming near", "lock")


def ask_out_of_reach(pair, verb):
    """A command that the key has taken and cannot deliver."""
    pair.key.errors.skip()
    command = pair.key.begin(verb, "--wait", "60")
    pair.key.wait_for_event("asked")
    return command


def main(program, cache):
    suite = Suite("lock and key over RootCanal")
    with tempfile.TemporaryDirectory(prefix="latch-interop-") as directory:
        latch = Latch(program, directory)
        with RootCanal(cache, directory) as radio, Pair(latch, radio) as pair:
            enrol(suite, pair)
            move_both_ways(suite, pair, "on a signed link")
            kill_both(suite, pair)
            kill_the_lock(suite, pair)
            kill_the_key(suite, pair)
            lose_the_link(suite, pair)
            come_and_go(suite, pair)
            with suite.step("stop both"):
                pair.key.stop()
                pair.lock.stop()
            with suite.step("no controller complained of its host"):
                radio.stop()
    suite.end()


if __name__ == "__main__":
    main(*sys.argv[1:])
