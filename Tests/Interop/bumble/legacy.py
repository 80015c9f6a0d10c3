"""Legacy pairing with Bumble by each of its methods and in both roles, where our side allows it.

legacy.py INTEROP_PEER LATCH CACHE rootcanal|virtual
"""

import asyncio
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))

import host
from bumble.pairing import PairingConfig
from bumble.smp import OobLegacyContext
from pairing_rig import (
    METHODS,
    NOTHING,
    UUID,
    Table,
    check_bond,
    come_back,
    encrypt,
    meet,
    publish,
    return_to,
    run_parts,
    stranger,
)

TEMPORARY_KEY = bytes(range(16))


async def legacy(suite, ours, radio):
    table = Table(ours)
    guarded = await publish(ours)
    for capability, model, how in METHODS:
        if model == "numericComparison":
            continue
        async with stranger(radio) as bumble:
            with suite.step(f"our peripheral, legacy {model}, {how}: pair, come back with EDIV, Rand and LTK"):
                user = table.user(capability)
                bumble.set_pairing(user, secure_connections=False)
                async with bumble.connected(UUID) as link:
                    paired = asyncio.ensure_future(link.connection.pair())
                    await table.consent(model)
                    await table.take_part(user, model)
                    await host.within(paired, "pairing")
                    await check_bond(ours, bumble, await table.ended(), model, secure_connections=False)
                # Level 3 at the most.
                await come_back(bumble, guarded, is_authenticated=False)
        async with stranger(radio) as bumble:
            with suite.step(f"our central, legacy {model}, {how}: pair, come back with EDIV, Rand and LTK"):
                user = table.user(capability)
                remote, link = await meet(ours, bumble, user, secure_connections=False)
                await remote.call("pair")
                await table.agree(model)
                await table.take_part(user, model)
                bond = await check_bond(ours, bumble, await table.ended(), model, secure_connections=False)
                await refile(bumble, link)
                link = await return_to(ours, remote, bumble, link)
                await encrypt(remote, bond, is_authenticated=model != "justWorks")
                await remote.disconnect()
                await link.end()


async def legacy_out_of_band(suite, ours, radio):
    """With a temporary key that both were given; least significant octet first at Bumble."""
    table = Table(ours)
    guarded = await publish(ours)
    config = PairingConfig.OobConfig(
        our_context=None, peer_data=None, legacy_context=OobLegacyContext(tk=TEMPORARY_KEY[::-1])
    )
    user = host.User(NOTHING)
    async with stranger(radio) as bumble:
        with suite.step("our peripheral, legacy out of band: pair, come back with EDIV, Rand and LTK"):
            bumble.set_pairing(user, secure_connections=False, out_of_band=config)
            async with bumble.connected(UUID) as link:
                paired = asyncio.ensure_future(link.connection.pair())
                await table.consent("outOfBand")
                await host.within(paired, "pairing")
                await check_bond(ours, bumble, await table.ended(), "outOfBand", secure_connections=False)
            await come_back(bumble, guarded, is_authenticated=False)
    async with stranger(radio) as bumble:
        with suite.step("our central, legacy out of band: pair, come back with EDIV, Rand and LTK"):
            remote, link = await meet(ours, bumble, user, secure_connections=False, out_of_band=config)
            await remote.call("pair")
            bond = await check_bond(ours, bumble, await table.ended(), "outOfBand", secure_connections=False)
            await refile(bumble, link)
            link = await return_to(ours, remote, bumble, link)
            await encrypt(remote, bond)
            await remote.disconnect()
            await link.end()


async def refile(bumble, link):
    """What Bumble gave as a responder it files as a central's, and looks for as a peripheral's."""
    await host.within(link.paired, "Bumble's keys")
    for _, keys in await bumble.device.keystore.get_all():
        keys.ltk_peripheral = keys.ltk_central


if __name__ == "__main__":
    run_parts(
        "Bumble and legacy pairing",
        [(legacy, "legacy"), (legacy_out_of_band, f"legacyKey={TEMPORARY_KEY.hex()}")],
    )
