"""A Bumble central that nobody invited, before our lock: what it may see, and all that it is refused.

stranger.py LATCH CACHE rootcanal|virtual
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))

import peer
from bumble import gatt
from bumble.att import ATT_Error
from bumble.core import ProtocolError
from bumble.pairing import PairingDelegate
from support.daemons import Latch
from support.steps import StepFailed, check, check_equal
from support.suites import play

Properties = gatt.Characteristic.Properties

# docs/PROTOCOL.md, Identifiers.
LOCK_TREE = {
    peer.LOCK_STATE: Properties.READ | Properties.NOTIFY,
    peer.LOCK_COMMAND: Properties.AUTHENTICATED_SIGNED_WRITES | Properties.WRITE | Properties.WRITE_WITHOUT_RESPONSE,
    peer.CHALLENGE: Properties.READ | Properties.NOTIFY,
    peer.CONTROL_POINT: Properties.WRITE | Properties.INDICATE,
    peer.CAPABILITIES: Properties.READ,
    peer.RECEIPT: Properties.NOTIFY,
    peer.AUDIT_RECORD: Properties.NOTIFY,
    peer.RECORD_ACCESS: Properties.WRITE | Properties.INDICATE,
    peer.ALARM: Properties.READ | Properties.NOTIFY,
}
SERVICES = [gatt.GATT_GENERIC_ACCESS_SERVICE, gatt.GATT_GENERIC_ATTRIBUTE_SERVICE, peer.LOCK_SERVICE]


async def expect_refusal(asking, what):
    try:
        await asking
    except ATT_Error as error:
        check_equal(error.error_code, peer.ATT_INSUFFICIENT_AUTHENTICATION, f"the ATT error of: {what}")
    else:
        raise StepFailed(f"{what} was not refused")


# A link that does not prove itself is dropped by the lock after a few seconds: each step has one of its own.


async def look_around(suite, phone, lock, address):
    async with phone.connected(address) as link:
        with suite.step("exchange the MTU") as figure:
            mtu = await peer.within(link.client.request_mtu(247), "the MTU exchange")
            check_equal(lock.status()["links"][0]["mtu"], mtu, "the lock's MTU")
            figure.is_(f"{mtu} octets")

    async with phone.connected(address) as link:
        with suite.step("discover the tree") as figure:
            services = await link.discover()
            found = {service.uuid: service for service in services}
            check_equal(sorted(found, key=str), sorted(SERVICES, key=str), "the services")
            profile = {one.uuid: one.properties for one in found[peer.LOCK_SERVICE].characteristics}
            check_equal(profile, LOCK_TREE, "the Lock service")
            figure.is_(f"{len(services)} services, {len(link.handles)} characteristics")

        with suite.step("read the Database Hash: it is that of the tree discovered") as figure:
            claimed = await link.read(gatt.GATT_DATABASE_HASH_CHARACTERISTIC)
            check_equal(claimed.hex(), peer.database_hash(services).hex(), "the Database Hash")
            figure.is_(claimed.hex())
        handles = link.handles

    async with phone.connected(address, handles) as link:
        with suite.step("read what is open: the name, two challenges") as figure:
            name = await link.read(gatt.GATT_DEVICE_NAME_CHARACTERISTIC)
            first, second = await link.challenge(), await link.challenge()
            check(first[:6] != second[:6], "a challenge was handed out twice")
            figure.is_(repr(name.decode()))
    return handles


async def be_refused(suite, phone, lock, address, handles):
    async with phone.connected(address, handles) as link:
        with suite.step("read and write what is protected: Insufficient Authentication"):
            for uuid in (peer.LOCK_STATE, peer.CAPABILITIES):
                await expect_refusal(link.read(uuid), f"reading {uuid}")
            for uuid in (peer.LOCK_COMMAND, peer.CONTROL_POINT, peer.RECORD_ACCESS):
                await expect_refusal(link.write(uuid, bytes(8)), f"writing {uuid}")
            for uuid in (peer.LOCK_STATE, peer.AUDIT_RECORD, peer.ALARM):
                await expect_refusal(link.subscribe(uuid), f"subscribing to {uuid}")
            for uuid in (peer.CONTROL_POINT, peer.RECORD_ACCESS):
                await expect_refusal(link.subscribe(uuid, indications=True), f"subscribing to {uuid}")

    async with phone.connected(address, handles) as link:
        with suite.step("command unasked, by write and by signature: nothing moves, nothing is written down"):
            before = audits(lock)
            at = handles[peer.LOCK_COMMAND]
            value = peer.command(peer.OPERATION_UNLOCK, await link.challenge())
            link.send(b"\x52" + at.to_bytes(2, "little") + value)
            link.send(phone.sign(at, value))
            # What is answered after them shows that they have been dealt with.
            await link.challenge()
            check_equal(lock.status()["bolt"], "locked", "the bolt")
            check_equal(audits(lock), before, "the number of audit records")

    for title, capability in (
        ("", PairingDelegate.KEYBOARD_INPUT_ONLY),
        (" by Just Works", PairingDelegate.NO_OUTPUT_NO_INPUT),
    ):
        phone.set_pairing(PairingDelegate(capability, peer.KEYS, peer.KEYS))
        async with phone.connected(address, handles) as link:
            with suite.step(f"pair{title} while no window is open: refused") as figure:
                try:
                    await peer.within(link.connection.pair(), "pairing")
                except ProtocolError as error:
                    figure.is_(error.error_name)
                else:
                    raise StepFailed("the lock paired")
                check_equal(lock.status()["credentials"], [], "the credentials")

    async with phone.connected(address, handles) as link:
        with suite.step("say nothing: the lock hangs up"):
            await link.end()


def audits(lock):
    return len([event for event in lock.events() if event.get("message") == "audit"])


async def run(suite, program, radio, directory):
    latch = Latch(program, directory)
    with latch.lock(radio.transport) as lock:
        async with peer.Phone.on(radio) as phone:
            with suite.step("hear the lock advertise") as figure:
                advertisement = await phone.find_lock()
                address = advertisement.address
                check_equal(address.to_string(False), lock.status()["address"].removesuffix("/random"), "the address")
                figure.is_(f"{address}, {advertisement.rssi} dBm")
            handles = await look_around(suite, phone, lock, address)
            await be_refused(suite, phone, lock, address, handles)
        lock.stop()


if __name__ == "__main__":
    play("Bumble as a stranger", run)
