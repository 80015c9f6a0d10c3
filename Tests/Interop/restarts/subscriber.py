"""The central that misses its notifications: after a lost link it connects again, and subscribes again, as soon as it can."""

import asyncio
import time

from peripherals import BEAT
from support.interop_peer import Failed
from support.ours import Refused, Remote


class Subscriber:
    def __init__(self, ours, service):
        self._ours = ours
        self._service = service
        self._remote = None
        # Links that were lost though nothing had been killed.
        self.lost = 0

    async def begin(self):
        # What earlier scans heard may still be waiting to be taken.
        self._ours.drop("discovered")
        self._remote = await Remote.find(self._ours, self._service)
        await self._follow()
        await self._beat()

    async def miss(self, kill):
        """Kills the peripheral. How many seconds from then to the next notification over a new link."""
        # A link that an overloaded machine has lost by itself is none to measure.
        while self._drop("disconnected"):
            self.lost += 1
            await self._follow()
        self._drop("value")
        await self._beat()
        begin = time.monotonic()
        await asyncio.to_thread(kill)
        await self._remote.event("disconnected")
        self._drop("value")
        await self._follow()
        await self._beat()
        return time.monotonic() - begin

    def _drop(self, event):
        return self._ours.drop(event, peripheral=self._remote.identifier)

    async def _follow(self):
        while True:
            try:
                await self._remote.connect()
                while not await self._subscribe():
                    # Connected before there was anything to subscribe to.
                    await self._remote.event("modifiedServices")
                return
            except (Refused, Failed):
                await self._remote.event("disconnected")

    async def _subscribe(self):
        found = await self._remote.services([self._service])
        if not found:
            return False
        characteristics = await self._remote.characteristics(found[0], [BEAT])
        if not characteristics:
            return False
        await self._remote.notify(characteristics[0])
        return True

    async def _beat(self):
        await self._remote.event("value")
