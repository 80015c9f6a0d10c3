"""A GATT application as bluetoothd takes it from any program over D-Bus, and its advertisement."""

import asyncio

from dbus_fast import DBusError, PropertyAccess
from dbus_fast.service import ServiceInterface, dbus_property, method

ROOT = "/latch/application"
ADVERTISEMENT = "/latch/advertisement"
READ = PropertyAccess.READ


def long_form(short):
    return f"0000{short.lower()}-0000-1000-8000-00805f9b34fb"


class Attribute(ServiceInterface):
    """What characteristics and descriptors have in common: a value that is read, and written in parts."""

    def __init__(self, interface, path, uuid, flags, value):
        super().__init__(interface)
        self.path = path
        self.uuid = uuid
        self.flags = flags
        self.value = value
        # What the value was after each write. bluetoothd may answer a write before its application has heard of it.
        self.written = asyncio.Queue()
        # The name and text of the D-Bus error that everything is refused with.
        self.refusal = None

    @dbus_property(access=READ)
    def UUID(self) -> "s":
        return self.uuid

    @dbus_property(access=READ)
    def Flags(self) -> "as":
        return self.flags

    @method()
    def ReadValue(self, options: "a{sv}") -> "ay":
        self._refuse()
        return self.value[_offset(options) :]

    @method()
    def WriteValue(self, value: "ay", options: "a{sv}"):
        self._refuse()
        self.value = self.value[: _offset(options)] + bytes(value)
        self.written.put_nowait(self.value)

    def _refuse(self):
        if self.refusal is not None:
            raise DBusError(*self.refusal)


class Service(ServiceInterface):
    def __init__(self, path, uuid, is_primary=True, includes=()):
        super().__init__("org.bluez.GattService1")
        self.path = path
        self._uuid = uuid
        self._is_primary = is_primary
        self._includes = [included.path for included in includes]

    @dbus_property(access=READ)
    def UUID(self) -> "s":
        return self._uuid

    @dbus_property(access=READ)
    def Primary(self) -> "b":
        return self._is_primary

    @dbus_property(access=READ)
    def Includes(self) -> "ao":
        return self._includes


class Characteristic(Attribute):
    def __init__(self, service, name, uuid, flags, value=b""):
        super().__init__("org.bluez.GattCharacteristic1", f"{service.path}/{name}", uuid, flags, value)
        self._service = service
        self.subscribed = asyncio.Event()
        self.unsubscribed = asyncio.Event()
        self.confirmed = asyncio.Event()

    @dbus_property(access=READ)
    def Service(self) -> "o":
        return self._service.path

    @dbus_property(access=READ)
    def Value(self) -> "ay":
        return self.value

    @method()
    def StartNotify(self):
        self.subscribed.set()

    @method()
    def StopNotify(self):
        self.unsubscribed.set()

    @method()
    def Confirm(self):
        self.confirmed.set()

    def update(self, value):
        """bluetoothd notifies of it, or indicates it, whoever has subscribed."""
        self.value = value
        self.emit_properties_changed({"Value": value})


class Descriptor(Attribute):
    def __init__(self, characteristic, name, uuid, flags, value):
        super().__init__("org.bluez.GattDescriptor1", f"{characteristic.path}/{name}", uuid, flags, value)
        self._characteristic = characteristic

    @dbus_property(access=READ)
    def Characteristic(self) -> "o":
        return self._characteristic.path


class Advertisement(ServiceInterface):
    def __init__(self, name, services):
        super().__init__("org.bluez.LEAdvertisement1")
        self.path = ADVERTISEMENT
        self._name = name
        self._services = services

    @dbus_property(access=READ)
    def Type(self) -> "s":
        return "peripheral"

    @dbus_property(access=READ)
    def LocalName(self) -> "s":
        return self._name

    @dbus_property(access=READ)
    def ServiceUUIDs(self) -> "as":
        return self._services

    @method()
    def Release(self):
        pass


def _offset(options):
    return options["offset"].value if "offset" in options else 0
