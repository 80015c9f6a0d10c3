"""A suite over one of the radios, as the programs here run it: PROGRAM LAB CACHE virtual|rootcanal."""

import asyncio
import sys
import tempfile

from support.radios import RootCanal, VirtualRadio
from support.steps import Suite


def play(title, *parts):
    """Runs each part, `async part(suite, program, radio, directory)`, on a radio and in a directory of its own."""
    program, lab, cache, kind = sys.argv[1:]
    suite = Suite(f"{title} over {kind}")
    for part in parts:
        with tempfile.TemporaryDirectory(prefix="latch-interop-") as directory:
            radio = RootCanal(cache, directory) if kind == "rootcanal" else VirtualRadio(lab, directory)
            with radio:
                asyncio.run(part(suite, program, radio, directory))
                radio.stop()
    suite.end()
