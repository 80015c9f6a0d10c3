"""A logind with one session of one user, on a bus that the environment names: `lid on|off` and `locked on|off` on its standard input change
it, and each is answered with a line."""

import asyncio
import os
import sys

from dbus_fast import BusType, PropertyAccess
from dbus_fast.aio import MessageBus
from dbus_fast.service import ServiceInterface, dbus_property, method

SESSION = "/org/freedesktop/login1/session/_31"


class Manager(ServiceInterface):
    def __init__(self):
        super().__init__("org.freedesktop.login1.Manager")
        self.is_lid_closed = False

    @method()
    def ListSessions(self) -> "a(susso)":
        return [["1", os.getuid(), "anna", "seat0", SESSION]]

    @dbus_property(access=PropertyAccess.READ)
    def LidClosed(self) -> "b":
        return self.is_lid_closed


class Session(ServiceInterface):
    def __init__(self):
        super().__init__("org.freedesktop.login1.Session")
        self.is_locked = False

    @dbus_property(access=PropertyAccess.READ)
    def LockedHint(self) -> "b":
        return self.is_locked

    @dbus_property(access=PropertyAccess.READ)
    def Active(self) -> "b":
        return True

    @dbus_property(access=PropertyAccess.READ)
    def Remote(self) -> "b":
        return False

    @dbus_property(access=PropertyAccess.READ)
    def Class(self) -> "s":
        return "user"


async def run():
    bus = await MessageBus(bus_type=BusType.SYSTEM).connect()
    manager, session = Manager(), Session()
    bus.export("/org/freedesktop/login1", manager)
    bus.export(SESSION, session)
    await bus.request_name("org.freedesktop.login1")
    print("ready", flush=True)
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        what, value = line.split()
        if what == "lid":
            manager.is_lid_closed = value == "on"
        else:
            session.is_locked = value == "on"
        print(f"{what} {value}", flush=True)


asyncio.run(run())
