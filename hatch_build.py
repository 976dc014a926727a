"""Compile search/kernels.c into the wheel, where there is a C compiler.

Without one the wheel is for any platform, and numpy does the same more slowly: see
src/remembrancer/search/kernels.py.
"""

from __future__ import annotations

import os
import platform
import shlex
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import platform_tags

SOURCE = "src/remembrancer/search/kernels.c"
# Without -fno-tree-pre GCC moves the sums of a product from registers to memory; contracted
# products would round to other whole numbers than numpy.
FLAGS = (
    *("-O3", "-std=gnu11", "-fPIC", "-fvisibility=hidden"),
    *("-fno-math-errno", "-ffp-contract=off", "-fno-tree-pre"),
)
AVX2 = ("-mavx2", "-mfma")
AVX512 = ("-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mavx512vnni")
LEVELS = {0: (), 1: AVX2, 2: (*AVX2, *AVX512)}


class CompiledPart(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the library to a wheel, and to the source tree for an editable installation."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and name the platform if that worked."""
        source = Path(self.root, SOURCE)
        library = source.with_name("libkernels.so")
        try:
            compiled(source, library)
        except (OSError, subprocess.CalledProcessError) as error:
            self.app.display_warning(f"kernels.c is not compiled, numpy takes its place: {error}")
            return
        build_data["artifacts"].append(str(library.relative_to(self.root)))
        if version != "editable":
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{platform_tag()}"


def compiled(source: Path, library: Path) -> None:
    """Compile the library. Raises OSError without a compiler, CalledProcessError if it fails."""
    compiler = shlex.split(os.environ.get("CC", "cc"))
    levels = LEVELS if platform.machine() in {"x86_64", "AMD64"} else {0: ()}
    checksum = zlib.crc32(source.read_bytes())
    # The library needs nothing but memcpy and memset, of whatever C library the interpreter has.
    alone = ("-nostdlib", "-lgcc") if sys.platform == "linux" else ()
    with tempfile.TemporaryDirectory() as folder:
        objects = []
        for level, flags in levels.items():
            objects.append(f"{folder}/{level}.o")
            defined = (f"-DLEVEL={level}", f"-DSOURCE_CHECKSUM={checksum}u")
            command = [*compiler, *FLAGS, *flags, *defined, "-c", source.name, "-o", objects[-1]]
            subprocess.run(command, check=True, cwd=source.parent)
        output = Path(folder, library.name)
        subprocess.run([*compiler, "-shared", *objects, *alone, "-o", output], check=True)
        # A running server has the library before this one open: its file is not written to.
        staged = library.with_suffix(".new")
        staged.write_bytes(output.read_bytes())
        staged.replace(library)


def platform_tag() -> str:
    """Return the platform of the wheel. A library for Linux needs no version of the C library."""
    platforms = list(platform_tags())
    return next((one for one in platforms if one.startswith("manylinux_2_17_")), platforms[0])
