"""The symbol graphs of a module that was built before: what check-symbols compares and docs documents."""
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def extract(module, directory, *options):
    """Writes the graphs of what `module` exports into `directory`. Ends the program when the module has not been built."""
    program = Path(sys.argv[0]).name
    build = Path(subprocess.check_output(["swift", "build", "--show-bin-path"], text=True, cwd=ROOT).strip())
    target = json.loads(subprocess.check_output(["swiftc", "-print-target-info"]))["target"]["unversionedTriple"]
    maps = {path.parent for place in (ROOT / "Sources", build) for path in place.rglob("module.modulemap")}
    command = ["swift", "symbolgraph-extract", "-module-name", module, "-target", target, "-output-dir", str(directory)]
    for place in [build / "Modules", *sorted(maps)]:
        command += ["-I", str(place)]
    ran = subprocess.run(
        [*command, "-minimum-access-level", "public", *options], capture_output=True, text=True, check=False, cwd=ROOT
    )
    if ran.returncode != 0:
        # Behind the reason stands a list of every module there is.
        reason = ran.stderr.strip().partition("\n")[0]
        sys.exit(f"{program}: {module} has to be built before, with swift build: {reason}")
