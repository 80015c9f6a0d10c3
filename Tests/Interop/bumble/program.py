"""A Bumble central whose host other programs share: it agrees with the lock on a key that only its own program has, and moves the bolt by
that key and by nothing else.

    program.py LATCH LAB CACHE rootcanal|virtual

The agreement, the authenticators and the seal of the receipts are computed here with the Python package `cryptography`.
"""

import asyncio
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))

import peer
from bumble.core import ProtocolError
from bumble.hci import Address
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESCCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from phone import KEY_STATUS, RESPONSE, SUCCESS, check_bond, grants, pair, take_setup_code
from support.daemons import EXIT_OK, Latch
from support.steps import StepFailed, check, check_equal
from support.suites import play

# docs/PROTOCOL.md, Control Point and Program key.
AGREE_ON_KEY, CONFIRM_KEY = 0x10, 0x11
NOT_PERMITTED = 0x05
PHASE_NONE, PHASE_DONE = 0, 3
LIST_CREDENTIALS = bytes([0x02]) + bytes(14)
MTU = 247
LINK_LAYER_RANDOM = 1


class Program:
    """What only this program knows, once it has agreed with its lock."""

    def __init__(self, random, lock):
        self._random = random
        octets = bytes(int(part, 16) for part in lock.removesuffix("/random").split(":"))
        self._lock = bytes([LINK_LAYER_RANDOM if lock.endswith("/random") else 0]) + octets[::-1]
        self._own = ec.generate_private_key(ec.SECP256R1())
        self._counter = 0
        self.key = None

    def _authenticator(self, side, keys, random=None):
        key = peer.cmac(random or self._random, b"latch agreement 1")
        return peer.cmac(key, bytes([side]) + self._lock + keys)

    def offer(self, random=None):
        own = wire(self._own.public_key())
        return own + self._authenticator(1, own, random)

    def agree(self, answer):
        own, theirs = wire(self._own.public_key()), answer[:64]
        check_equal(answer[64:], self._authenticator(2, own + theirs), "the lock's authenticator")
        numbers = ec.EllipticCurvePublicNumbers(
            int.from_bytes(theirs[:32], "little"), int.from_bytes(theirs[32:], "little"), ec.SECP256R1()
        )
        shared = self._own.exchange(ec.ECDH(), numbers.public_key())
        information = b"latch program key 1" + self._lock + own + theirs
        self.key = HKDF(algorithm=SHA256(), length=32, salt=self._random, info=information).derive(shared)

    def confirmation(self):
        return peer.cmac(self.key[:16], b"latch confirm 1")

    def acceptance(self):
        return peer.cmac(self.key[:16], b"latch confirmed 1")

    def question(self, challenge):
        """The operands of Key Status."""
        return os.urandom(8) + challenge[:6]

    def status(self, question, answer):
        """The parameters of an answer to this question, without the authenticator."""
        said, authenticator = answer[:-8], answer[-8:]
        key = peer.cmac(self.key[16:], b"latch status 1")
        check_equal(authenticator, peer.cmac(key, KEY_STATUS + question + said)[:8], "the answer's authenticator")
        return said[3:]

    def command(self, operation, challenge):
        message = peer.command(operation, challenge) + self._counter.to_bytes(4, "little")
        self._counter += 1
        return message + peer.cmac(self.key[:16], b"latch command 1" + message)[:8]

    def last_counter(self):
        return (self._counter - 1).to_bytes(4, "little")

    def open(self, receipt, challenge):
        key = peer.cmac(self.key[16:], b"latch receipt 1")
        nonce = receipt[:4] + challenge[:6] + bytes(2) + b"\x1b"
        return AESCCM(key, tag_length=8).decrypt(nonce, receipt[4:], None)


def wire(key):
    """X then Y, each least significant octet first."""
    numbers = key.public_numbers()
    return numbers.x.to_bytes(32, "little") + numbers.y.to_bytes(32, "little")


async def pair_by_code(phone, lock, opened):
    """The keys, and r."""
    check(opened["setup_code"].startswith("LATCH2:"), "the code is not one for a program")
    random = take_setup_code(phone, opened["setup_code"])
    named = lock.status()["address"].removesuffix("/random")
    return await pair(phone, Address(named, Address.RANDOM_DEVICE_ADDRESS)), random


async def encrypted(link):
    await peer.within(link.connection.encrypt(), "encryption")
    if not link.handles:
        await link.discover()
    await peer.within(link.client.request_mtu(MTU), "a larger ATT_MTU")


async def refused(awaitable, what):
    try:
        await awaitable
    except ProtocolError:
        return
    raise StepFailed(f"{what} was not refused")


async def ask(link, answers, opcode, operands=b""):
    """Result and parameters."""
    await link.write(peer.CONTROL_POINT, bytes([opcode]) + operands)
    answer = await peer.within(answers.get(), "the answer")
    check_equal(answer[:2], bytes([RESPONSE, opcode]), "what is answered")
    return answer[2], answer[3:]


async def enrol(suite, phone, lock):
    with suite.step("pair by a code for a program"):
        window, opened = await asyncio.to_thread(lock.open_window, "laptop", "--method", "program")
        keys, random = await pair_by_code(phone, lock, opened)
        program = Program(random, lock.status()["address"])

    with suite.step("Key Status, a wrong offer and a wrong confirmation confirm no such bond"):
        address = (await phone.find_lock(keys.irk.value)).address
        async with phone.connected(address) as link:
            await encrypted(link)
            handles = link.handles
            answers = await link.subscribe(peer.CONTROL_POINT, indications=True)
            await refused(link.write(peer.CONTROL_POINT, KEY_STATUS), "Key Status")
            wrong = await ask(link, answers, AGREE_ON_KEY, program.offer(bytes(16)))
            check_equal(wrong, (NOT_PERMITTED, b""), "an offer under another r")
            check_equal((await ask(link, answers, CONFIRM_KEY, bytes(16)))[0], NOT_PERMITTED, "before there is a key")

    with suite.step("agree on a key, and confirm it: the bond is confirmed") as figure:
        async with phone.connected(address, handles) as link:
            await encrypted(link)
            answers = await link.subscribe(peer.CONTROL_POINT, indications=True)
            result, parameters = await ask(link, answers, AGREE_ON_KEY, program.offer())
            check_equal((result, len(parameters)), (SUCCESS, 80), "the answer")
            program.agree(parameters)
            check_equal((await ask(link, answers, CONFIRM_KEY, bytes(16)))[0], NOT_PERMITTED, "a wrong confirmation")
            for _ in range(2):
                accepted = await ask(link, answers, CONFIRM_KEY, program.confirmation())
                check_equal(accepted, (SUCCESS, program.acceptance()), "confirmation")
        at_lock = await asyncio.to_thread(window.answer)
        check_equal(at_lock.status, EXIT_OK, "the window's exit status")
        check_bond(lock, "laptop")
        figure.is_("agreed, and confirmed twice")
    return program, address, handles


async def operate(suite, phone, lock, program, address, handles, operation, bolt):
    with suite.step(f"move the bolt by the program's key: {bolt}, by receipts that open here") as figure:
        async with phone.connected(address, handles) as link:
            await encrypted(link)
            receipts = await link.subscribe(peer.RECEIPT)
            challenge = await link.challenge()
            await link.write(peer.LOCK_COMMAND, program.command(operation, challenge))
            counters = []
            while True:
                receipt = await peer.within(receipts.get(), "a receipt")
                state = program.open(receipt, challenge)
                counters.append(int.from_bytes(receipt[:4], "little"))
                if state[2] != peer.RESULT_ACCEPTED:
                    break
            check_equal(state[2], peer.RESULT_DONE, "the result")
            figure.is_(f"{len(counters)} receipts, counters {counters}")
        check_equal(lock.status()["bolt"], bolt, "the bolt")


async def question(suite, phone, program, address, handles):
    with suite.step("ask what became of a command: the lock answers under the program's key, in 20 octets"):
        async with phone.connected(address, handles) as link:
            await encrypted(link)
            answers = await link.subscribe(peer.CONTROL_POINT, indications=True)
            taken = await link.challenge()
            await link.write(peer.LOCK_COMMAND, program.command(peer.OPERATION_LOCK, taken))
            for challenge, phase in ((taken, PHASE_DONE), (bytes(6), PHASE_NONE)):
                operands = program.question(challenge)
                await link.write(peer.CONTROL_POINT, KEY_STATUS + operands)
                answer = await peer.within(answers.get(), "the answer")
                check_equal(len(answer), 20, "the answer's octets")
                status = program.status(operands, answer)
                check_equal((status[3:7], status[8]), (program.last_counter(), phase), "the counter, and the phase")


async def attack(suite, phone, lock, program, address, handles):
    """With all that another program on the same host has: the link and the bond."""
    other = Program(bytes(16), lock.status()["address"])
    other.key = bytes(32)
    for title, make in (
        ("a command without an authenticator", lambda challenge: peer.command(peer.OPERATION_UNLOCK, challenge)),
        ("a command under another key", lambda challenge: other.command(peer.OPERATION_UNLOCK, challenge)),
        ("a command whose last bit is another", lambda challenge: flipped(program, challenge)),
    ):
        with suite.step(f"{title}: nothing moves"):
            before = grants(lock)
            async with phone.connected(address, handles) as link:
                await encrypted(link)
                await link.write(peer.LOCK_COMMAND, make(await link.challenge()))
                await link.challenge()
            check_equal((lock.status()["bolt"], grants(lock)), ("locked", before), "the bolt and the grants")

    with suite.step("read the state of the door, and who has a credential: refused"):
        async with phone.connected(address, handles) as link:
            await encrypted(link)
            answers = await link.subscribe(peer.CONTROL_POINT, indications=True)
            await refused(link.read(peer.LOCK_STATE), "reading the state")
            check_equal((await ask(link, answers, LIST_CREDENTIALS[0], LIST_CREDENTIALS[1:]))[0], NOT_PERMITTED, "a list")


def flipped(program, challenge):
    command = program.command(peer.OPERATION_UNLOCK, challenge)
    return command[:-1] + bytes([command[-1] ^ 1])


async def run(suite, program, radio, directory):
    latch = Latch(program, directory)
    options = ("--config", latch.write("lock.conf", "[lock]\nrelock_seconds = 0\n"))
    async with peer.Phone.on(radio) as phone:
        with latch.lock(radio.transport, *options) as lock:
            held, address, handles = await enrol(suite, phone, lock)
            await operate(suite, phone, lock, held, address, handles, peer.OPERATION_UNLOCK, "unlocked")
            await operate(suite, phone, lock, held, address, handles, peer.OPERATION_LOCK, "locked")
            await question(suite, phone, held, address, handles)
            await attack(suite, phone, lock, held, address, handles)
            await operate(suite, phone, lock, held, address, handles, peer.OPERATION_UNLOCK, "unlocked")
            lock.stop()


if __name__ == "__main__":
    play("Bumble as a program with a key of its own", run)
