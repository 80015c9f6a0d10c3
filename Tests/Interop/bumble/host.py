"""A Bumble host on one of the radios, in either role, and its links as octets."""

import asyncio
import contextlib
import logging
import secrets

from bumble import att, gatt, hci, smp
from bumble.core import UUID, AdvertisingData
from bumble.device import ConnectionParametersPreferences, Device, DeviceConfiguration, Peer
from bumble.hci import HCI_Error
from bumble.keys import MemoryKeyStore
from bumble.pairing import PairingConfig, PairingDelegate
from bumble.transport import open_transport
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.cmac import CMAC

from support.processes import DEADLINE_SECONDS
from support.steps import StepFailed

# Half of what these suites do is to be refused, which Bumble complains of.
logging.getLogger("bumble").setLevel(logging.CRITICAL)

KEYS = (
    PairingDelegate.KeyDistribution.DISTRIBUTE_ENCRYPTION_KEY
    | PairingDelegate.KeyDistribution.DISTRIBUTE_IDENTITY_KEY
    | PairingDelegate.KeyDistribution.DISTRIBUTE_SIGNING_KEY
)
# The shortest that there is: a request and its response are two of them on a paced radio.
INTERVAL_MILLISECONDS = 7.5


async def within(awaitable, what):
    """Its result; a failure if it takes so long that it will never come."""
    try:
        return await asyncio.wait_for(awaitable, DEADLINE_SECONDS)
    except asyncio.TimeoutError as error:
        raise StepFailed(f"{what}: not within {DEADLINE_SECONDS:.0f} s") from error


def cmac(key, message):
    mac = CMAC(AES(key))
    mac.update(message)
    return mac.finalize()


class User(PairingDelegate):
    """Whoever stands before Bumble: sees `shown`, types what `types` comes to, says of numbers what `compares` does."""

    def __init__(self, capability, types=None, compares=None, accepts=True):
        super().__init__(capability, KEYS, KEYS)
        self.shown = asyncio.get_running_loop().create_future()
        self._types = types
        self._compares = compares
        self._accepts = accepts

    async def accept(self):
        return self._accepts

    async def display_number(self, number, digits):
        if not self.shown.done():
            self.shown.set_result(number)

    async def get_number(self):
        return await self._types()

    async def compare_numbers(self, number, digits):
        await self.display_number(number, digits)
        return await self._compares(number)


class Session(smp.Session):
    """Bumble distributes a signature key of zeros; this one distributes its device's."""

    def send_command(self, command):
        if isinstance(command, smp.SMP_Signing_Information_Command):
            # On the air the key goes least significant octet first.
            command = smp.SMP_Signing_Information_Command(signature_key=self.manager.device.csrk[::-1])
        super().send_command(command)


class Host:
    """A Bumble device. Its identity is a static random address, its keys are random and forgotten with it."""

    def __init__(self, device):
        self.device = device

    @classmethod
    @contextlib.asynccontextmanager
    async def on(cls, radio, name="stranger"):
        octets = bytearray(secrets.token_bytes(6))
        octets[5] |= 0xC0
        address = hci.Address(bytes(octets), hci.Address.RANDOM_DEVICE_ADDRESS)
        configuration = DeviceConfiguration(name=name, address=address, irk=secrets.token_bytes(16))
        async with await open_transport(f"unix:{radio.socket}") as transport:
            device = Device.from_config_with_hci(configuration, transport.source, transport.sink)
            device.keystore = MemoryKeyStore()
            device.csrk = secrets.token_bytes(16)
            device.smp_session_proxy = Session
            await within(device.power_on(), "Bumble brings its controller up")
            yield cls(device)

    @property
    def address(self):
        """As our side writes it."""
        return self.device.random_address.to_string(False) + "/random"

    def set_pairing(self, user, secure_connections=True, out_of_band=None):
        """How the next pairings are done. `out_of_band` is a `PairingConfig.OobConfig`."""
        self.device.pairing_config_factory = lambda connection: PairingConfig(
            sc=secure_connections,
            mitm=True,
            bonding=True,
            delegate=user,
            identity_address_type=PairingConfig.AddressType.RANDOM,
            oob=out_of_band,
        )

    # As central.

    async def find(self, service):
        """The address of whoever advertises a service."""
        found = asyncio.get_running_loop().create_future()

        def heard(advertisement):
            if service.to_bytes() in advertisement.data_bytes and not found.done():
                found.set_result(advertisement.address)

        self.device.on("advertisement", heard)
        await self.device.start_scanning(active=False, filter_duplicates=False, scanning_phys=[hci.HCI_LE_1M_PHY])
        address = await within(found, f"{service} is advertised")
        await self.device.stop_scanning()
        self.device.remove_listener("advertisement", heard)
        return address

    @contextlib.asynccontextmanager
    async def connected(self, service):
        """A link to whoever advertises a service, for as long as the body runs."""
        link = await self.connect(await self.find(service))
        try:
            yield link
        finally:
            await link.close()

    async def connect(self, address):
        interval = ConnectionParametersPreferences(
            connection_interval_min=INTERVAL_MILLISECONDS, connection_interval_max=INTERVAL_MILLISECONDS
        )
        connection = await within(
            self.device.connect(
                address,
                own_address_type=hci.OwnAddressType.RANDOM,
                connection_parameters_preferences={hci.HCI_LE_1M_PHY: interval},
                timeout=None,
            ),
            "the connection",
        )
        return Link(connection)

    # As peripheral.

    async def advertise(self, service):
        """Connectable, by one 16-bit service UUID; the next link."""
        connected = asyncio.get_running_loop().create_future()
        self.device.once("connection", lambda connection: connected.set_result(Link(connection)))
        data = AdvertisingData(
            [
                (AdvertisingData.FLAGS, bytes([0x06])),
                (AdvertisingData.COMPLETE_LIST_OF_16_BIT_SERVICE_CLASS_UUIDS, service.to_bytes()),
            ]
        )
        await self.device.start_advertising(
            advertising_data=bytes(data), advertising_interval_min=20, advertising_interval_max=20
        )
        return connected


class Link:
    """A connection, and ATT on it as octets: what is asked and answered, and what the server sends by itself."""

    def __init__(self, connection):
        self.connection = connection
        self.client = Peer(connection).gatt_client
        self.ended = asyncio.get_running_loop().create_future()
        connection.on("disconnection", self._end)
        # Bumble's keys, once it has kept them.
        self.paired = asyncio.get_running_loop().create_future()
        connection.on("pairing", lambda keys: self.paired.done() or self.paired.set_result(keys))
        self.updates = asyncio.Queue()
        self.confirms = True
        self.client.on_att_handle_value_notification = self._updated
        self.client.on_att_handle_value_indication = self._indicated

    def _end(self, reason):
        if not self.ended.done():
            self.ended.set_result(reason)

    def _updated(self, pdu):
        self.updates.put_nowait(bytes(pdu))

    def _indicated(self, pdu):
        self.updates.put_nowait(bytes(pdu))
        if self.confirms:
            self.confirm()

    def confirm(self):
        self.client.send_confirmation(att.ATT_Handle_Value_Confirmation())

    @property
    def is_up(self):
        return not self.ended.done()

    async def end(self):
        """Why it ended, once it has."""
        return await within(self.ended, "the link ends")

    async def close(self):
        if self.is_up:
            with contextlib.suppress(HCI_Error):
                await within(self.connection.disconnect(), "the disconnection")

    async def ask(self, pdu):
        """The response to a request, both as octets."""
        return bytes(await within(self.client.send_request(_Raw(pdu)), f"the answer to {pdu.hex()}"))

    def send(self, pdu):
        """A PDU that nothing answers."""
        self.connection.send_l2cap_pdu(att.ATT_CID, pdu)

    async def update(self):
        """The next notification or indication."""
        return await within(self.updates.get(), "a notification or indication")

    async def exchange_mtu(self, octets):
        return await within(self.client.request_mtu(octets), "the MTU exchange")


class _Raw:
    """A request for Bumble's client, which wants to know its name for the response's."""

    def __init__(self, pdu):
        self._pdu = pdu
        self.op_code = pdu[0]
        self.name = att.Opcode(pdu[0]).name

    def __bytes__(self):
        return self._pdu


def le(number):
    return number.to_bytes(2, "little")


def error(request, handle, code):
    """ATT_ERROR_RSP to a request's opcode."""
    return bytes([0x01, request]) + le(handle) + bytes([code])


_DECLARATIONS = {0x2800, 0x2801, 0x2802, 0x2803, 0x2900}
_DESCRIPTORS = {0x2901, 0x2902, 0x2903, 0x2904, 0x2905}


async def database_hash(link):
    """Core 5.4, Vol 3, Part G, 7.3.1 (Database Hash Calculation), of all attributes as they are found and read."""
    message = b""
    for attribute in await within(link.client.discover_attributes(), "the attributes"):
        kind = attribute.type.to_bytes()
        short = int.from_bytes(kind, "little") if len(kind) == 2 else None
        if short in _DECLARATIONS:
            message += le(attribute.handle) + kind + await link.client.read_value(attribute.handle)
        elif short in _DESCRIPTORS:
            message += le(attribute.handle) + kind
    return cmac(bytes(16), message)[::-1]


__all__ = ["KEYS", "Host", "Link", "UUID", "User", "cmac", "database_hash", "error", "gatt", "le", "within"]
