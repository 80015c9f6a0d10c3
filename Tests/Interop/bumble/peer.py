"""A Bumble host on one of the radios, and the lock's profile computed with nothing of this project's."""

import asyncio
import contextlib
import logging
import secrets

from bumble import att, gatt, hci, smp
from bumble.core import UUID
from bumble.device import Device, DeviceConfiguration, Peer
from bumble.hci import HCI_Error
from bumble.keys import MemoryKeyStore
from bumble.pairing import PairingConfig, PairingDelegate
from bumble.transport import open_transport
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import AESCCM
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import ECB
from cryptography.hazmat.primitives.cmac import CMAC

from support.processes import DEADLINE_SECONDS
from support.steps import StepFailed, check_equal

# Half of what these suites do is to be refused, which Bumble warns of.
logging.getLogger("bumble").setLevel(logging.ERROR)

ATT_INSUFFICIENT_AUTHENTICATION = 0x05
KEYS = (
    PairingDelegate.KeyDistribution.DISTRIBUTE_ENCRYPTION_KEY
    | PairingDelegate.KeyDistribution.DISTRIBUTE_IDENTITY_KEY
    | PairingDelegate.KeyDistribution.DISTRIBUTE_SIGNING_KEY
)
UNSIGNED_KEYS = KEYS & ~PairingDelegate.KeyDistribution.DISTRIBUTE_SIGNING_KEY


def lock_uuid(number):
    return UUID(f"FD51{number:04X}-D1DB-463D-86FD-15EFB82160A8")


LOCK_SERVICE = lock_uuid(0)
LOCK_STATE, LOCK_COMMAND, CHALLENGE, CONTROL_POINT = (lock_uuid(number) for number in range(1, 5))
AUDIT_RECORD, CAPABILITIES, RECEIPT, ALARM = (lock_uuid(number) for number in range(5, 9))
RECORD_ACCESS = UUID(0x2A52)

OPERATION_LOCK, OPERATION_UNLOCK = 1, 2
BOLT_LOCKED, BOLT_UNLOCKED = 1, 3
RESULT_DONE, RESULT_ACCEPTED = 0, 1


async def within(awaitable, what):
    """Its result; a failure if it takes so long that it will never come."""
    try:
        return await asyncio.wait_for(awaitable, DEADLINE_SECONDS)
    except asyncio.TimeoutError as error:
        raise StepFailed(f"{what}: not within {DEADLINE_SECONDS:.0f} s") from error


class Session(smp.Session):
    """Bumble distributes a signature key of zeros; this one distributes its device's."""

    def send_command(self, command):
        if isinstance(command, smp.SMP_Signing_Information_Command):
            # On the air the key goes least significant octet first.
            command = smp.SMP_Signing_Information_Command(signature_key=self.manager.device.csrk[::-1])
        super().send_command(command)


class Phone:
    """A central. Its identity is a static random address, its keys are random and forgotten with it."""

    def __init__(self, device):
        self.device = device
        self.sign_counter = 0

    @classmethod
    @contextlib.asynccontextmanager
    async def on(cls, radio):
        octets = bytearray(secrets.token_bytes(6))
        octets[5] |= 0xC0
        address = hci.Address(bytes(octets), hci.Address.RANDOM_DEVICE_ADDRESS)
        configuration = DeviceConfiguration(name="stranger", address=address, irk=secrets.token_bytes(16))
        async with await open_transport(f"unix:{radio.socket}") as transport:
            device = Device.from_config_with_hci(configuration, transport.source, transport.sink)
            device.keystore = MemoryKeyStore()
            device.csrk = secrets.token_bytes(16)
            device.smp_session_proxy = Session
            await within(device.power_on(), "Bumble brings its controller up")
            yield cls(device)

    def set_pairing(self, delegate, **options):
        self.device.pairing_config_factory = lambda connection: PairingConfig(
            sc=True,
            mitm=True,
            bonding=True,
            delegate=delegate,
            identity_address_type=PairingConfig.AddressType.RANDOM,
            **options,
        )

    async def find_lock(self, irk=None):
        """The advertisement of whoever advertises the Lock service; with a key, under an address that it made."""
        found = asyncio.get_running_loop().create_future()

        def heard(advertisement):
            # 0x06, 0x07: some or all of the 128-bit service UUIDs.
            octets = advertisement.data_bytes
            is_meant = LOCK_SERVICE.to_bytes() in octets and (not irk or made(advertisement.address, irk))
            if is_meant and not found.done():
                found.set_result(advertisement)

        self.device.on("advertisement", heard)
        await self.device.start_scanning(active=False, scanning_phys=[hci.HCI_LE_1M_PHY])
        advertisement = await within(found, "the lock advertises")
        await self.device.stop_scanning()
        self.device.remove_listener("advertisement", heard)
        return advertisement

    @contextlib.asynccontextmanager
    async def connected(self, address, handles=None):
        connection = await within(
            self.device.connect(address, own_address_type=hci.OwnAddressType.RANDOM, timeout=None), "the connection"
        )
        link = Link(connection, handles)
        try:
            yield link
        finally:
            if link.is_up:
                with contextlib.suppress(HCI_Error):
                    await within(connection.disconnect(), "the disconnection")

    def sign(self, handle, value):
        """ATT_SIGNED_WRITE_CMD with the next counter.

        Core 5.4, Vol 3, Part H, 2.4.5 (Signing Algorithm)
        """
        message = b"\xd2" + handle.to_bytes(2, "little") + value + self.sign_counter.to_bytes(4, "little")
        self.sign_counter += 1
        return message + cmac(self.device.csrk, message[::-1])[:8][::-1]


class Link:
    """A connection, as a GATT client that knows the Lock service by its handles."""

    def __init__(self, connection, handles=None):
        self.connection = connection
        self.client = Peer(connection).gatt_client
        self.handles = handles or {}
        self.ended = asyncio.get_running_loop().create_future()
        connection.on("disconnection", self._end)

    def _end(self, reason):
        if not self.ended.done():
            self.ended.set_result(reason)

    @property
    def is_up(self):
        return not self.ended.done()

    async def end(self):
        """Why it ended, once it has."""
        return await within(self.ended, "the link ends")

    async def discover(self):
        """The whole tree; from here on handles are known."""
        services = await within(self.client.discover_services(), "services")
        for service in services:
            await within(service.discover_characteristics(), f"characteristics of {service.uuid}")
            for characteristic in service.characteristics:
                await within(characteristic.discover_descriptors(), f"descriptors of {characteristic.uuid}")
                self.handles[characteristic.uuid] = characteristic.handle
        return services

    async def read(self, uuid):
        return await within(self.client.read_value(self.handles[uuid]), f"reading {uuid}")

    async def write(self, uuid, value):
        """By Write Request."""
        await within(self.client.write_value(self.handles[uuid], value, with_response=True), f"writing {uuid}")

    async def subscribe(self, uuid, indications=False):
        """A queue of what comes. In this tree the Client Characteristic Configuration follows its value."""
        queue = asyncio.Queue()
        subscribers = self.client.indication_subscribers if indications else self.client.notification_subscribers
        subscribers.setdefault(self.handles[uuid], set()).add(queue.put_nowait)
        value = b"\x02\x00" if indications else b"\x01\x00"
        await within(self.client.write_value(self.handles[uuid] + 1, value, with_response=True), f"subscribe {uuid}")
        return queue

    async def challenge(self):
        value = await self.read(CHALLENGE)
        check_equal(len(value), 8, "the challenge's octets")
        return value

    def send(self, pdu):
        """An ATT PDU as it is."""
        self.connection.send_l2cap_pdu(att.ATT_CID, pdu)


def command(operation, challenge):
    """Lock Command: version 1, the lock's own relock setting, the challenge that it answers."""
    return bytes([0x10 | operation, 0]) + challenge[:6]


def open_receipt(receipt, lock_csrk, challenge, handle):
    """The seven octets of Lock State in a receipt; raises if the tag is wrong."""
    key = cmac(lock_csrk, b"latch receipt 1")
    nonce = receipt[:4] + challenge[:6] + handle.to_bytes(2, "little") + b"\x1b"
    return AESCCM(key, tag_length=8).decrypt(nonce, receipt[4:], None)


def made(address, irk):
    """Whether the key made this address, which as the key is least significant octet first.

    Core 5.4, Vol 6, Part B, 1.3.2.3 (Private Device Address resolution)
    """
    octets = bytes(address)[:6]
    if not address.is_resolvable:
        return False
    encryptor = Cipher(AES(irk[::-1]), ECB()).encryptor()
    return encryptor.update(bytes(13) + octets[:2:-1])[13:] == octets[2::-1]


def cmac(key, message):
    mac = CMAC(AES(key))
    mac.update(message)
    return mac.finalize()


def database_hash(services):
    """Core 5.4, Vol 3, Part G, 7.3.1 (Database Hash Calculation), of what was discovered."""
    attributes = {}

    def add(handle, uuid, value=b""):
        attributes[handle] = handle.to_bytes(2, "little") + uuid.to_bytes() + value

    for service in services:
        add(service.handle, gatt.GATT_PRIMARY_SERVICE_ATTRIBUTE_TYPE, service.uuid.to_bytes())
        for characteristic in service.characteristics:
            declaration = (
                bytes([characteristic.properties])
                + characteristic.handle.to_bytes(2, "little")
                + characteristic.uuid.to_bytes()
            )
            add(characteristic.handle - 1, gatt.GATT_CHARACTERISTIC_ATTRIBUTE_TYPE, declaration)
            for descriptor in characteristic.descriptors:
                # Of these the type counts and not the value; the tree has no others.
                if descriptor.type != gatt.GATT_CLIENT_CHARACTERISTIC_CONFIGURATION_DESCRIPTOR:
                    raise StepFailed(f"an unexpected descriptor {descriptor.type}")
                add(descriptor.handle, descriptor.type)
    return cmac(bytes(16), b"".join(attributes[handle] for handle in sorted(attributes)))[::-1]
