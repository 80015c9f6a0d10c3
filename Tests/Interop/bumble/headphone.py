"""A headphone of Bumble's: it lets anybody connect, notifies for as long as somebody is connected, and says when a link is up and down.

    headphone.py RADIO
"""

import asyncio
import sys

from bumble import hci
from bumble.core import AdvertisingData, UUID
from bumble.device import Device, DeviceConfiguration
from bumble.gatt import Characteristic, Service
from bumble.transport import open_transport

ADDRESS = "F0:00:00:00:00:AA"
SERVICE, SOUND = UUID.from_16_bits(0xFFE0), UUID.from_16_bits(0xFFE1)


def say(*words):
    print(*words, flush=True)


async def main(radio):
    async with await open_transport(radio) as transport:
        device = Device.from_config_with_hci(
            DeviceConfiguration(name="headphone", address=hci.Address(ADDRESS, hci.Address.RANDOM_DEVICE_ADDRESS)),
            transport.source,
            transport.sink,
        )
        sound = Characteristic(SOUND, Characteristic.Properties.NOTIFY, Characteristic.READABLE, bytes(4))
        device.add_service(Service(SERVICE, [sound]))
        await device.power_on()
        up = asyncio.Event()

        def connected(connection):
            say("UP", connection.peer_address)
            up.set()

            def disconnected(reason):
                say("DOWN", hex(reason))
                up.clear()

            connection.on("disconnection", disconnected)

        device.on("connection", connected)
        data = AdvertisingData([(AdvertisingData.FLAGS, bytes([6])), (AdvertisingData.COMPLETE_LOCAL_NAME, b"headphone")])
        await device.start_advertising(
            advertising_data=bytes(data), own_address_type=hci.OwnAddressType.RANDOM, auto_restart=True
        )
        say("ADVERTISING", ADDRESS)
        while True:
            await up.wait()
            await device.notify_subscribers(sound, bytes(4))
            await asyncio.sleep(0.05)


asyncio.run(main(sys.argv[1]))
