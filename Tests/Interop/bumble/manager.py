"""A Bumble central that manages a lock over the air, and has no signing key, as most phones have none: it lists and changes credentials,
reads the audit and checks it, and is sent away.

    manager.py LATCH LAB CACHE rootcanal|virtual

The chain of the audit and its signatures are checked here with Python's `hashlib` and with `cryptography`.
"""

import asyncio
import hashlib
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))

import peer
from bumble.att import ATT_Error
from bumble.hci import HCI_Error
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from phone import Typist, come_back, pair, passkey_of
from support.daemons import Latch
from support.steps import StepFailed, check, check_equal
from support.suites import play

# docs/PROTOCOL.md, Control point.
LIST, GET, DISABLE, ENABLE, REMOVE, SET_SCHEDULE, GET_SETTINGS = range(2, 9)
SET_SETTINGS, SET_MODE, GET_TIME, SET_TIME = range(0x0C, 0x10)
RESPONSE, SUCCESS, NOT_PERMITTED, CHANGED, FIXED = 0x20, 0x01, 0x05, 0x06, 0x09
LOCKDOWN, MACHINE = 3, 1
START = bytes(6)
LAST_PART = 0x01
# docs/PROTOCOL.md, The audit over the air.
REPORT_ALL, REPORT_FROM = b"\x01\x01", b"\x01\x03\x01"
COUNT_ALL = b"\x04\x01"
REPORTED, COUNTED = b"\x06\x00\x01\x01", b"\x05\x00"
FIRST, LAST = 0x01, 0x02
RECORD, CUT, END = 1, 2, 3
ATT_INSUFFICIENT_AUTHORIZATION = 0x08


class Manager:
    """An encrypted link on which somebody asks the lock."""

    def __init__(self, link):
        self.link = link

    async def begin(self):
        await peer.within(self.link.connection.encrypt(), "encryption")
        self.answers = await self.link.subscribe(peer.CONTROL_POINT, indications=True)
        return self

    async def ask(self, opcode, operands=b""):
        """The result, and its parameters."""
        await self.link.write(peer.CONTROL_POINT, bytes([opcode]) + operands)
        answer = await peer.within(self.answers.get(), f"the answer to procedure {opcode}")
        check_equal(answer[:2], bytes([RESPONSE, opcode]), "the answer's beginning")
        return answer[2], answer[3:]

    async def succeed(self, opcode, operands=b""):
        result, parameters = await self.ask(opcode, operands)
        check_equal(result, SUCCESS, f"the result of procedure {opcode}")
        return parameters

    async def list(self):
        """Number, role, flags and name of everybody."""
        rows, begun, first = [], b"", 0
        while True:
            place = len(begun).to_bytes(2, "little") + begun[8:12] if len(begun) >= 12 else START
            begun = begun if len(begun) >= 12 else b""
            part = await self.succeed(LIST, first.to_bytes(8, "little") + place)
            begun += part[1:]
            while len(begun) >= 15 and len(begun) >= 15 + begun[14]:
                number = int.from_bytes(begun[:8], "little")
                rows.append((number, begun[12], begun[13], begun[15 : 15 + begun[14]].decode()))
                begun, first = begun[15 + begun[14] :], number + 1
            if part[0] & LAST_PART:
                check_equal(begun, b"", "what is behind the last row")
                return rows

    async def read(self, opcode, operands=b""):
        """The version of a value, and its octets."""
        value = b""
        while True:
            place = len(value).to_bytes(2, "little") + value[:4] if value else START
            part = await self.succeed(opcode, operands + place)
            value += part[1:]
            if part[0] & LAST_PART:
                check_equal(value[:4], hashlib.sha256(value[4:]).digest()[:4], "the value's version")
                return value[:4], value[4:]

    async def record(self, number):
        return await self.read(GET, number.to_bytes(8, "little"))

    async def change(self, opcode, number, operands=b""):
        version, _ = await self.record(number)
        return await self.succeed(opcode, number.to_bytes(8, "little") + version + operands)


class Reading:
    """What is known of the audit, link by link."""

    def __init__(self, key):
        self.key = Ed25519PublicKey.from_public_bytes(key)
        self.sequence, self.hash = 0, hashlib.sha256(b"latch audit 1").digest()
        self.records, self.begun, self.is_signed = [], None, False

    def take(self, value):
        kind, flags = value[0] >> 4, value[0] & 0x0F
        check_equal(self.begun is None, bool(flags & FIRST), "whether an item begins")
        self.begun = (self.begun or b"") + value[1:]
        if flags & LAST:
            item, self.begun = self.begun, None
            {RECORD: self._record, CUT: self._cut, END: self._end}[kind](item)

    def _record(self, item):
        content, own = item[:-32], item[-32:]
        check_equal(int.from_bytes(content[:8], "little"), self.sequence + 1, "the record's sequence")
        check_equal(hashlib.sha256(self.hash + content).digest(), own, "the record's hash")
        self.records.append(content)
        self.sequence, self.hash = self.sequence + 1, own

    def _cut(self, item):
        raise StepFailed("a lock that is so young has forgotten something")

    def _end(self, item):
        check_equal(item[:40], self.sequence.to_bytes(8, "little") + self.hash, "the end")
        # Raises unless it is.
        self.key.verify(item[40:104], b"latch audit checkpoint 1" + item[:40])
        self.is_signed = True


async def enrol(phone, lock, name, role):
    """Its address and handles; the keys are with the phone."""
    window, _ = await asyncio.to_thread(lock.open_window, name, "--method", "passkey", "--role", role)
    address = (await phone.find_lock()).address
    phone.set_pairing(Typist(passkey_of(window), peer.UNSIGNED_KEYS))
    keys = await pair(phone, address)
    check(keys.csrk is None, "the lock distributed a CSRK that nobody asked for")
    address, handles = await come_back(phone, keys, window)
    return address, handles


def credentials(lock):
    return {one["name"]: one for one in lock.status()["credentials"]}


async def manage(suite, owner, guest_number, lock):
    with suite.step("list everybody in parts, and read a record of which each part is of one version") as figure:
        rows = await owner.list()
        check_equal(sorted((role, name) for _, role, _, name in rows), [(1, "owner"), (4, "guest")], "the list")
        check_equal({flags for _, _, flags, _ in rows}, {0x05}, "the flags: enabled, with a key")
        numbers = {name: number for number, _, _, name in rows}
        version, record = await owner.record(numbers["guest"])
        check_equal(record[8:], bytes([4, 5, 5]) + b"guest" + bytes([0, 1, 0, 0]), "the guest's record")
        figure.is_(f"{len(rows)} rows, version {version.hex()}")

    guest = numbers["guest"]
    with suite.step("disable and enable the guest; a change to an older version changes nothing"):
        await owner.change(DISABLE, guest)
        check_equal(credentials(lock)["guest"]["enabled"], False, "whether the guest is enabled")
        result, _ = await owner.ask(ENABLE, guest.to_bytes(8, "little") + version)
        check_equal(result, CHANGED, "the result of a change to a version that is past")
        await owner.change(ENABLE, guest)
        check_equal(credentials(lock)["guest"]["enabled"], True, "whether the guest is enabled")

    with suite.step("give the guest a schedule: weekdays from eight to six"):
        # No validity; version 1, one week day schedule (bit 0 is Sunday), no year day schedule.
        weekdays = bytes([0b0111110]) + (480).to_bytes(2, "little") + (1080).to_bytes(2, "little")
        rules = bytes([0, 1, 1]) + weekdays + bytes([0])
        await owner.change(SET_SCHEDULE, guest, rules)
        _, record = await owner.record(guest)
        check(record.endswith(rules), "the record has other rules")
        check_equal(record[9], 0x07, "the record's flags: enabled, with a key, limited")
        await owner.change(SET_SCHEDULE, guest, bytes([0, 1, 0, 0]))

    with suite.step("set the relock and the door's time zone; what was read before is past then"):
        version, record = await owner.read(GET_SETTINGS)
        check_equal(record, bytes([0, 3, 10, 0, 20, 0]) + (5000).to_bytes(8, "little") + b"\x01\x04UTC0\x00", "the settings")
        wanted = bytes([3, 45, 0, 20, 0]) + (5000).to_bytes(8, "little") + b"\x01\x08IST-5:30\x00"
        after = await owner.succeed(SET_SETTINGS, version + wanted)
        check_equal(await owner.read(GET_SETTINGS), (after, bytes([0]) + wanted), "what is read behind it")
        settings = lock.status()["settings"]
        check_equal((settings["relock_seconds"], settings["time_zone"]), (45, "IST-5:30"), "what the lock says")
        check_equal((await owner.ask(SET_SETTINGS, version + wanted))[0], CHANGED, "the result of the past version")

    with suite.step("put the lock into lockdown and back; its machine knows the time, and nobody sets it"):
        await owner.succeed(SET_MODE, bytes([LOCKDOWN]))
        check_equal(lock.status()["mode"], "lockdown", "the mode")
        await owner.succeed(SET_MODE, bytes([0]))
        check_equal(lock.status()["mode"], "normal", "the mode")
        time = await owner.succeed(GET_TIME)
        check_equal((time[0], len(time)), (MACHINE, 17), "the source of the time, and the answer's length")
        result, _ = await owner.ask(SET_TIME, (int.from_bytes(time[1:9], "little") + 60).to_bytes(8, "little"))
        check_equal(result, FIXED, "the result of setting the time")

    with suite.step("remove and disable oneself: not permitted"):
        number = numbers["owner"]
        version, _ = await owner.record(number)
        for opcode in (DISABLE, REMOVE):
            result, _ = await owner.ask(opcode, number.to_bytes(8, "little") + version)
            check_equal(result, NOT_PERMITTED, f"the result of procedure {opcode}")
    return guest


async def be_refused(suite, guest):
    with suite.step("ask as a guest for the list, for a mode and for the audit: refused"):
        for opcode, operands in [(LIST, bytes(8) + START), (SET_MODE, bytes([LOCKDOWN]))]:
            result, _ = await guest.ask(opcode, operands)
            check_equal(result, NOT_PERMITTED, f"the result of procedure {opcode}")
        await guest.link.subscribe(peer.RECORD_ACCESS, indications=True)
        await guest.link.subscribe(peer.AUDIT_RECORD)
        try:
            await guest.link.write(peer.RECORD_ACCESS, REPORT_ALL)
        except ATT_Error as error:
            check_equal(error.error_code, ATT_INSUFFICIENT_AUTHORIZATION, "the ATT error")
        else:
            raise StepFailed("a guest reads the audit")


async def listen(link):
    """Answers, and what is reported."""
    answers = await link.subscribe(peer.RECORD_ACCESS, indications=True)
    return answers, await link.subscribe(peer.AUDIT_RECORD)


async def read_audit(suite, phone, address, handles, lock):
    reading = Reading(bytes.fromhex(lock.status()["audit_key"]))
    with suite.step("read the audit at ATT_MTU 23, and lose the link in the middle") as figure:
        async with phone.connected(address, handles) as link:
            owner = await Manager(link).begin()
            _, parts = await listen(owner.link)
            await link.write(peer.RECORD_ACCESS, REPORT_ALL)
            for _ in range(20):
                part = await peer.within(parts.get(), "a part")
                check(len(part) <= 20, "a part is longer than ATT_MTU 23 allows")
                reading.take(part)
        reading.begun = None
        figure.is_(f"{len(reading.records)} records so far")

    with suite.step("go on behind it on the next link: the chain holds, and its end is signed") as figure:
        async with phone.connected(address, handles) as link:
            owner = await Manager(link).begin()
            answers, parts = await listen(owner.link)
            await link.write(peer.RECORD_ACCESS, REPORT_FROM + (reading.sequence + 1).to_bytes(8, "little"))
            check_equal(await peer.within(answers.get(), "the end of the report"), REPORTED, "the response")
            while not parts.empty():
                reading.take(parts.get_nowait())
            check(reading.is_signed, "the end is not signed")
            await link.write(peer.RECORD_ACCESS, COUNT_ALL)
            count = COUNTED + len(reading.records).to_bytes(4, "little")
            check_equal(await peer.within(answers.get(), "the number"), count, "the number of records")
        said = [event for event in lock.events() if event.get("message") == "audit"]
        check_equal(len(reading.records), len(said), "the number of records that the lock has told")
        figure.is_(f"{len(reading.records)} records")


async def be_gone(suite, phone, handles, link, remove):
    """Whoever is on this link is removed: it ends, and the bond is good for nothing on the next one."""
    with suite.step("be removed while connected: the link ends"):
        await remove()
        await link.end()

    with suite.step("come back: the key is unknown, and nothing is told"):
        # Behind its last bond the lock is under another address.
        async with phone.connected((await phone.find_lock()).address, handles) as again:
            try:
                await peer.within(again.connection.encrypt(), "the refusal")
            except HCI_Error:
                pass
            else:
                raise StepFailed("the lock encrypted with a key that is gone")
            if not again.is_up:
                return
            try:
                await again.write(peer.CONTROL_POINT, bytes([LIST]) + bytes(8) + START)
            except ATT_Error as error:
                check_equal(error.error_code, peer.ATT_INSUFFICIENT_AUTHENTICATION, "the ATT error")
            else:
                raise StepFailed("a removed key manages the lock")


async def run(suite, program, radio, directory):
    latch = Latch(program, directory)
    async with peer.Phone.on(radio) as phone, peer.Phone.on(radio) as second:
        with latch.lock(radio.transport) as lock:
            with suite.step("enrol an owner and a guest, neither with a signing key"):
                await enrol(phone, lock, "owner", "owner")
                address, handles = await enrol(second, lock, "guest", "guest")
            async with second.connected(address, handles) as guests, phone.connected(address, handles) as owners:
                guest = await Manager(guests).begin()
                owner = await Manager(owners).begin()
                await be_refused(suite, guest)
                await peer.within(owners.client.request_mtu(247), "the MTU exchange")
                number = await manage(suite, owner, guest, lock)
                await be_gone(suite, second, handles, guests, lambda: owner.change(REMOVE, number))
                check_equal(sorted(credentials(lock)), ["owner"], "the credentials")
            await read_audit(suite, phone, address, handles, lock)
            async with phone.connected(address, handles) as owners:
                await Manager(owners).begin()

                async def remove():
                    await asyncio.to_thread(lock.ask, "remove", "--credential", "owner")

                await be_gone(suite, phone, handles, owners, remove)
            lock.stop()


if __name__ == "__main__":
    play("Bumble as a manager", run)
