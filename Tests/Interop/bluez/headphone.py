"""The headphone that bluetoothd is connected with all along."""

import os

import bluez
from support.processes import Process

HERE = os.path.dirname(os.path.abspath(__file__))


class Headphone(Process):
    """Of Bumble's: it says when its link is up and when it is down."""

    def __init__(self, python, radio):
        super().__init__("headphone", [python, f"{HERE}/../bumble/headphone.py", radio.transport])
        self.address = self.output.wait_for(lambda line: line.split()[1] if line.startswith("ADVERTISING") else None, "the headphone advertises")

    @property
    def path(self):
        return f"/org/bluez/hci0/dev_{self.address.replace(':', '_')}"

    def counts(self):
        """Links that were made, and that were lost."""
        lines = self.output.all()
        return tuple(sum(line.startswith(word) for line in lines) for word in ("UP", "DOWN"))

    async def connected_by(self, host):
        """bluetoothd finds it, and connects."""
        await host.call("/org/bluez/hci0", bluez.ADAPTER, "StartDiscovery")
        await host.until(lambda: host.get(self.path, bluez.DEVICE, "RSSI") is not None, "the headphone is heard")
        await host.call("/org/bluez/hci0", bluez.ADAPTER, "StopDiscovery")
        await host.call(self.path, bluez.DEVICE, "Connect")
