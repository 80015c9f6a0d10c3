"""A Bumble central that is enrolled: pairing, its keys, commands by both paths, and what an attacker makes of them.

    phone.py LATCH CACHE rootcanal|virtual

The signature of a command and the seal of its receipt are computed here with the Python package `cryptography`.
"""

import asyncio
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))

import peer
from bumble.core import ProtocolError
from bumble.hci import Address
from bumble.pairing import PairingConfig, PairingDelegate
from bumble.smp import OobContext, OobSharedData
from cryptography.exceptions import InvalidTag
from support.daemons import EXIT_OK, Latch
from support.processes import DEADLINE_SECONDS
from support.steps import StepFailed, check, check_equal
from support.suites import play

# docs/PROTOCOL.md, Control Point.
KEY_STATUS = b"\x01"
RESPONSE, SUCCESS = 0x20, 0x01
# Core 5.4, Vol 3, Part H, 3.5.5 (Pairing Failed)
REPEATED_ATTEMPTS = 0x09


class Typist(PairingDelegate):
    """Somebody who types what the lock's operator reads out, once it is there."""

    def __init__(self, passkey, keys=peer.KEYS):
        super().__init__(PairingDelegate.KEYBOARD_INPUT_ONLY, keys, keys)
        self._passkey = passkey

    async def get_number(self):
        return await asyncio.to_thread(self._passkey)


def passkey_of(window, wrong=False):
    def read():
        passkey = int(window.wait_for_event("passkey")["passkey"])
        return (passkey + 1) % 1_000_000 if wrong else passkey

    return read


async def pair(phone, address):
    """Pairs on a link of its own; the keys, or what went wrong."""
    async with phone.connected(address) as link:
        keys = asyncio.get_running_loop().create_future()
        link.connection.on("pairing", keys.set_result)
        await peer.within(link.connection.pair(), "pairing")
        return await peer.within(keys, "the keys")


async def pair_in_time(phone, address):
    """Pairs as soon as the lock lets whoever failed before try again; nothing tells of that."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while True:
        try:
            return await pair(phone, address)
        except ProtocolError as error:
            if error.error_code != REPEATED_ATTEMPTS or time.monotonic() >= deadline:
                raise


async def come_back(phone, keys, window):
    """The first encrypted reconnection, with Key Status: what makes a bond one. The address, and the handles of the tree."""
    address = (await phone.find_lock(keys.irk.value)).address
    async with phone.connected(address) as link:
        await peer.within(link.connection.encrypt(), "encryption with the new LTK")
        await link.discover()
        answers = await link.subscribe(peer.CONTROL_POINT, indications=True)
        await link.write(peer.CONTROL_POINT, KEY_STATUS)
        answer = await peer.within(answers.get(), "the answer")
        check_equal(answer[:3], bytes([RESPONSE]) + KEY_STATUS + bytes([SUCCESS]), "the answer to Key Status")
    at_lock = await asyncio.to_thread(window.answer)
    check_equal(at_lock.status, EXIT_OK, "the window's exit status")
    return address, link.handles


async def enrol_by_passkey(suite, phone, lock, address):
    with suite.step("pair with a wrong passkey: refused, the window stays open"):
        window, _ = await asyncio.to_thread(lock.open_window, "phone", "--method", "passkey")
        phone.set_pairing(Typist(passkey_of(window, wrong=True)))
        try:
            await pair(phone, address)
        except ProtocolError:
            pass
        else:
            raise StepFailed("the lock paired")

    with suite.step("pair by passkey, not at once but soon") as figure:
        phone.set_pairing(Typist(passkey_of(window)))
        keys = await pair_in_time(phone, address)
        check(keys.ltk.authenticated, "the LTK is not authenticated")
        check_equal(len(keys.ltk.value), 16, "the LTK's octets")
        check(any(keys.irk.value) and any(keys.csrk.value), "the lock distributed a key of zeros")
        figure.is_("LTK, IRK and CSRK, identity " + lock.status()["address"])

    with suite.step("come back to the private address, encrypt, ask for Key Status: the bond is confirmed") as figure:
        private, handles = await come_back(phone, keys, window)
        check_bond(lock, "phone")
        check_on_air(lock, private)
        figure.is_(f"{address} before, {private} since, as the IRK resolves it")
    return private, keys, handles


async def enrol_without_signing(suite, phone, lock):
    with suite.step("pair without a signing key, as most phones do, and come back: the bond is confirmed"):
        window, _ = await asyncio.to_thread(lock.open_window, "phone without CSRK", "--method", "passkey")
        address = (await phone.find_lock()).address
        phone.set_pairing(Typist(passkey_of(window), peer.UNSIGNED_KEYS))
        keys = await pair(phone, address)
        check(keys.ltk.authenticated, "the LTK is not authenticated")
        check(keys.csrk is None, "the lock distributed a CSRK that nobody asked for")
        address, handles = await come_back(phone, keys, window)
        check_bond(lock, "phone without CSRK")

    await command_encrypted(suite, phone, lock, address, handles)

    with suite.step("write signed, with a key that it has never given: nothing moves"):
        before = (lock.status()["bolt"], grants(lock))
        async with phone.connected(address, handles) as link:
            challenge = await link.challenge()
            link.send(phone.sign(handles[peer.LOCK_COMMAND], peer.command(peer.OPERATION_LOCK, challenge)))
            asked = asyncio.ensure_future(link.challenge())
            await asyncio.wait([asked, link.ended], return_when=asyncio.FIRST_COMPLETED)
            asked.cancel()
        check_equal((lock.status()["bolt"], grants(lock)), before, "the bolt and the grants")


async def tap(suite, phone, lock):
    with suite.step("tap pair and walk away: the code still serves whoever has it"):
        window, opened = await asyncio.to_thread(lock.open_window, "phone by code")
        phone.set_pairing(PairingDelegate(PairingDelegate.NO_OUTPUT_NO_INPUT, peer.KEYS, peer.KEYS))
        address = (await phone.find_lock()).address
        try:
            await pair(phone, address)
        except ProtocolError:
            pass
        else:
            raise StepFailed("the lock paired")
    return window, opened


async def enrol_by_code(suite, phone, lock, window, opened):
    with suite.step("pair by setup code: the lock's out-of-band data, and none of the phone's") as figure:
        take_setup_code(phone, opened["setup_code"])
        # While its window is open the lock shows the address that the code names.
        named = lock.status()["address"].removesuffix("/random")
        check_equal((await phone.find_lock()).address.to_string(False), named, "where the lock is on the air")
        keys = await pair(phone, Address(named, Address.RANDOM_DEVICE_ADDRESS))
        check(keys.ltk.authenticated, "the LTK is not authenticated")
        await come_back(phone, keys, window)
        check_bond(lock, "phone by code")
        figure.is_("confirmed")


def take_setup_code(phone, text):
    """From now on the phone pairs by this code. r."""
    random, confirm = read_setup_code(text)
    ours = OobContext()
    # The lock has nothing out of band from the phone, and so r of the phone is zero in its checks.
    ours.r = bytes(16)
    phone.set_pairing(
        PairingDelegate(PairingDelegate.NO_OUTPUT_NO_INPUT, peer.KEYS, peer.KEYS),
        oob=PairingConfig.OobConfig(
            our_context=ours, peer_data=OobSharedData(c=confirm[::-1], r=random[::-1]), legacy_context=None
        ),
    )
    return random


def read_setup_code(text):
    """docs/PROTOCOL.md, Enrolment: kind, address, r, C and a checksum in Crockford's base 32."""
    digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
    bits = "".join(f"{digits.index(digit):05b}" for digit in text.partition(":")[2].replace("-", ""))
    payload = bytes(int(bits[at : at + 8], 2) for at in range(0, len(bits) - 7, 8))
    return payload[7:23], payload[23:39]


def check_bond(lock, name):
    states = {one["name"]: one.get("bond_state") for one in lock.status()["credentials"]}
    check_equal(states.get(name), "confirmed", f"the bond of {name!r}")


def check_on_air(lock, address):
    status = lock.status()
    check_equal(status["on_air"].removesuffix("/random"), address.to_string(False), "the address on the air")
    check(status["address"] != status["on_air"], "the lock shows its identity address")


async def command_encrypted(suite, phone, lock, address, handles):
    with suite.step("unlock on an encrypted link, by Write Request"):
        async with phone.connected(address, handles) as link:
            await peer.within(link.connection.encrypt(), "encryption")
            states = await link.subscribe(peer.LOCK_STATE)
            challenge = await link.challenge()
            await link.write(peer.LOCK_COMMAND, peer.command(peer.OPERATION_UNLOCK, challenge))
            while True:
                # Bolt, door and flags, result, and the beginning of the challenge answered; zero is no answer.
                state = await peer.within(states.get(), "the outcome")
                if state[3:] == challenge[:4] and state[2] != peer.RESULT_ACCEPTED:
                    break
            check_equal((state[0], state[2]), (peer.BOLT_UNLOCKED, peer.RESULT_DONE), "the bolt and the result")
        check_equal(lock.status()["bolt"], "unlocked", "the bolt")


async def command_signed(suite, phone, lock, address, keys, handles):
    """The packet that did it."""
    # On the air the key came least significant octet first.
    lock_csrk = keys.csrk.value[::-1]

    with suite.step("lock by a write signed here, and open its sealed receipts here") as figure:
        async with phone.connected(address, handles) as link:
            receipts = await link.subscribe(peer.RECEIPT)
            challenge = await link.challenge()
            packet = phone.sign(handles[peer.LOCK_COMMAND], peer.command(peer.OPERATION_LOCK, challenge))
            link.send(packet)
            counters = []
            while True:
                receipt = await peer.within(receipts.get(), "a receipt")
                state = peer.open_receipt(receipt, lock_csrk, challenge, handles[peer.RECEIPT])
                counters.append(int.from_bytes(receipt[:4], "little"))
                check_equal(state[3:], challenge[:4], "the challenge answered")
                if state[2] != peer.RESULT_ACCEPTED:
                    break
            check_equal((state[0], state[2]), (peer.BOLT_LOCKED, peer.RESULT_DONE), "the bolt and the result")
            check_equal(counters, sorted(set(counters)), "the lock's counters")
            try:
                peer.open_receipt(receipt, phone.device.csrk, challenge, handles[peer.RECEIPT])
            except InvalidTag:
                figure.is_(f"{len(counters)} receipts, counters {counters}")
            else:
                raise StepFailed("a receipt opened with another key")
        check_equal(lock.status()["bolt"], "locked", "the bolt")
    return packet


async def attack(suite, phone, lock, address, handles, recorded):
    """With what was heard on the air, and with a good signature under a bad command."""
    at = handles[peer.LOCK_COMMAND]

    async def nothing_moves(title, make):
        with suite.step(f"{title}: nothing moves") as figure:
            before = grants(lock)
            async with phone.connected(address, handles) as link:
                link.send(make(await link.challenge()))
                # Dealt with when this is answered, or when the lock has hung up.
                asked = asyncio.ensure_future(link.challenge())
                await asyncio.wait([asked, link.ended], return_when=asyncio.FIRST_COMPLETED)
                asked.cancel()
                figure.is_("ignored" if link.is_up else "the lock hung up")
            check_equal((lock.status()["bolt"], grants(lock)), ("locked", before), "the bolt and the grants")

    await nothing_moves("replay the signed command on another link", lambda _: recorded)
    await nothing_moves(
        "sign a challenge that was never handed out",
        lambda _: phone.sign(at, peer.command(peer.OPERATION_UNLOCK, bytes(6))),
    )
    await nothing_moves(
        "answer a fresh challenge with a signature that is wrong in one bit",
        lambda challenge: flip_last_bit(phone.sign(at, peer.command(peer.OPERATION_UNLOCK, challenge))),
    )


def flip_last_bit(packet):
    return packet[:-1] + bytes([packet[-1] ^ 1])


def grants(lock):
    return len([event for event in lock.events() if event.get("what") == "granted"])


async def find_again(suite, phone, lock, keys, before):
    with suite.step("start the lock once more: it is under another address, and the phone resolves that too") as figure:
        address = (await phone.find_lock(keys.irk.value)).address
        check(address != before, "the lock is under its old address")
        check_on_air(lock, address)
        figure.is_(f"{address}")
    return address


async def run(suite, program, radio, directory):
    latch = Latch(program, directory)
    options = ("--config", latch.write("lock.conf", "[lock]\nrelock_seconds = 0\n"))
    async with peer.Phone.on(radio) as phone:
        with latch.lock(radio.transport, *options) as lock:
            address = (await phone.find_lock()).address
            address, keys, handles = await enrol_by_passkey(suite, phone, lock, address)
            await command_encrypted(suite, phone, lock, address, handles)
            recorded = await command_signed(suite, phone, lock, address, keys, handles)
            await attack(suite, phone, lock, address, handles, recorded)
            lock.stop()
        with latch.lock(radio.transport, *options) as lock:
            address = await find_again(suite, phone, lock, keys, address)
            await command_encrypted(suite, phone, lock, address, handles)
            await command_signed(suite, phone, lock, address, keys, handles)
            async with peer.Phone.on(radio) as stranger:
                window, opened = await tap(suite, stranger, lock)
            async with peer.Phone.on(radio) as second:
                await enrol_by_code(suite, second, lock, window, opened)
            async with peer.Phone.on(radio) as third:
                await enrol_without_signing(suite, third, lock)
            lock.stop()


if __name__ == "__main__":
    play("Bumble as a key", run)
