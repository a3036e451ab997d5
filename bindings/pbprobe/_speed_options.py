# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""The command line and the layers of `python -m pbprobe.speed`. Imports no torch, which takes seconds."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

LAYERS = Path(__file__).parent / "model_layers.json"
CPU_TYPES = ("fp32", "bf16", "int8")
PEERS = ("torch", "openblas")
_FP8_TYPES = ("fp8-tensor", "fp8-tensor-fast", "fp8-row", "fp8-1x128", "fp8-1x128-1x128")
GPU_TYPES = ("fp32", "tf32", "bf16", "fp16", "int8", *_FP8_TYPES)
_MOST_FLOP = {"cpu": 4e10, "cuda": 4e13}
_EXPECTED = 'give {"layers": [["name", n, k], ...]} with n and k from 1 on'


def load_layers(path: Path = LAYERS) -> list[tuple[str, int, int]]:
    """Returns the layers of a file: name, n and k. Errors: OSError, ValueError for a file without valid layers."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is not JSON ({error}): {_EXPECTED}") from error
    layers = document.get("layers") if isinstance(document, dict) else None
    if not isinstance(layers, list) or not layers:
        raise ValueError(f"{path} has no layers: {_EXPECTED}")
    for layer in layers:
        if not _is_layer(layer):
            raise ValueError(f"{path}: {json.dumps(layer)} is not a layer: {_EXPECTED}")
    return [(name, n, k) for name, n, k in layers]


def _is_layer(layer: object) -> bool:
    if not isinstance(layer, list) or len(layer) != 3 or not isinstance(layer[0], str):
        return False
    return all(type(size) is int and size >= 1 for size in layer[1:])  # bool is an int, too


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"pbprobe.speed: {message}\n")


def _make_parser(description: str | None) -> _Parser:
    parser = _Parser(
        prog="python -m pbprobe.speed", description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", choices=["cpu", "cuda"], help="default: cuda if torch has a GPU, else cpu")
    parser.add_argument("--dtype", choices=GPU_TYPES, action="append", help="repeatable; default: all")
    parser.add_argument(
        "--peer",
        choices=PEERS,
        default="torch",
        help="what pbprobe is compared with: torch, or for fp32 on a CPU the OpenBLAS in the wheels of numpy (needs "
        "numpy and threadpoolctl); default: %(default)s",
    )
    parser.add_argument("--threads", action="append", help="CPU: a number, or all; repeatable; default: 1 and all")
    parser.add_argument("--mode", choices=["eager", "graph"], action="append", help="GPU: repeatable; default: both")
    parser.add_argument("--count", type=int, default=120, help="shapes of each row; default: %(default)s")
    parser.add_argument("--seed", type=int, default=1, help="seed of shapes and operands; default: %(default)s")
    parser.add_argument(
        "--budget",
        type=float,
        default=60,
        help="seconds of each row (a type and a number of threads, or a mode), in which its last shape begins; the "
        "fastest kernels of the worst shapes take a quarter more; default: %(default)s",
    )
    parser.add_argument("--most-m", type=int, default=16384, help="largest m; default: %(default)s")
    parser.add_argument("--most-flop", type=float, help="operations of a shape; default: 4e10 on a CPU, 4e13 on a GPU")
    parser.add_argument("--layers", type=Path, default=LAYERS, help="JSON file; default: the file in the package")
    parser.add_argument("--worst", type=int, default=5, help="worst shapes to print; default: %(default)s")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every shape to FILE, after each row")
    parser.add_argument(
        "--host", action="store_true", help="print only the time that the CPU takes for a call of each operator"
    )
    return parser


def _refuse_numbers(options: argparse.Namespace) -> str | None:
    """Returns why numbers are refused, or None."""
    for name, least in (("count", 1), ("most_m", 1), ("budget", 1), ("worst", 0)):
        value = getattr(options, name)
        if not value >= least:  # NaN, too
            return f"--{name.replace('_', '-')} {value}: give at least {least}"
    most = len(os.sched_getaffinity(0))
    for each in options.threads or []:
        if each == "all":
            continue
        if not each.isdecimal() or int(each) < 1:
            return f"--threads {each}: give a number from 1 on, or all"
        if int(each) > most:
            return f"--threads {each}: this process may use 1 to {most}"
    return None


def _refuse_device(options: argparse.Namespace, gpu: bool | None) -> str | None:
    """Returns why the device does not go with other options, or None."""
    if options.peer == "openblas" and (options.device == "cuda" or (options.dtype or ["fp32"]) != ["fp32"]):
        return "--peer openblas: it computes fp32 on CPUs only: give --device cpu --dtype fp32"
    if options.peer != "torch" and options.host:
        return "--host: only torch is measured there: leave --peer out"
    if options.device == "cuda":
        if gpu is False:
            return "--device cuda: torch has no GPU here: give --device cpu"
        return "--threads: only CPUs are measured by threads: give --device cpu" if options.threads else None
    for dtype in options.dtype or []:
        if dtype not in CPU_TYPES:
            return f"--dtype {dtype}: only GPUs have it: give one of {', '.join(CPU_TYPES)}"
    if "graph" in (options.mode or []):
        return "--mode graph: only GPUs have CUDA graphs: leave it out for a CPU"
    return None


def _refuse_file(path: Path) -> str | None:
    """Returns why a file cannot be written, or None. A file that exists keeps its contents."""
    existed = path.exists() or path.is_symlink()
    try:
        with path.open("a"):
            pass
        if not existed:
            path.unlink()
    except OSError as error:
        return f"--json {path}: cannot be written ({error.strerror}): give a file in a folder that you may write to"
    return None


def prepare(options: argparse.Namespace) -> None:
    """Sets what a library reads when torch, or numpy through torch, loads it.

    Idle threads of OpenBLAS wait busily for 2^28 cycles, in which other libraries compute slowly; these, 2^20.
    """
    if options.peer == "openblas":
        os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "20")


def parse(
    description: str | None, arguments: Sequence[str] | None = None, gpu: bool | None = None
) -> argparse.Namespace:
    """Returns the options, `layers` as load_layers() does. A wrong one ends the process: a sentence, exit code 2.

    gpu: whether torch has a GPU; None before torch is imported: the defaults that depend on it stay None.
    """
    parser = _make_parser(description)
    options = parser.parse_args(arguments)
    if not options.device and gpu is not None:
        options.device = "cuda" if gpu else "cpu"
    refused = _refuse_numbers(options) or (options.device and _refuse_device(options, gpu))
    if refused:
        parser.error(refused)
    if options.device:
        every = CPU_TYPES if options.device == "cpu" else GPU_TYPES
        options.dtype = options.dtype or (every if options.peer == "torch" else ["fp32"])
        options.most_flop = _MOST_FLOP[options.device] if options.most_flop is None else options.most_flop
    try:
        options.layers = load_layers(options.layers)
    except OSError as error:
        parser.error(f"--layers {options.layers}: cannot be read ({error.strerror}): {_EXPECTED}")
    except ValueError as error:
        parser.error(f"--layers {error}")
    least = min(2 * n * k for _, n, k in options.layers)
    if options.most_flop is not None and not options.most_flop >= least:
        parser.error(f"--most-flop {options.most_flop:g}: a row of the smallest layer takes {least}: give more")
    if options.json and (refused := _refuse_file(options.json)):
        parser.error(refused)
    return options
