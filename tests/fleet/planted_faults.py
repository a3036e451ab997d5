# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Faults that one rank brings along: sitecustomize modules and folders for its PYTHONPATH."""

import os
import pathlib
import sysconfig

import pbprobe

# A bit of one product in some hundred is wrong, as of a broken multiplier.
WRONG_BIT = """
import builtins, sys
original = builtins.__import__
calls = [0]
def patched(name, *rest, **more):
    module = original(name, *rest, **more)
    torch = sys.modules.get("torch")
    if "pbprobe.fleet.figures" in sys.modules and torch is not None and not hasattr(torch, "sound_mm"):
        torch.sound_mm = torch.mm
        def mm(a, b):
            calls[0] += 1
            result = torch.sound_mm(a, b)
            if calls[0] % 32 == 0:
                result.view(torch.int16)[17, 5] ^= 1
            return result
        torch.mm = mm
    return module
builtins.__import__ = patched
"""

# A signal to itself where the worker calls that function; when is noted first.
STRIKE = """
import builtins, os, sys, time
original = builtins.__import__
def strike(*_, **__):
    open({note!r}, "w").write(repr(time.monotonic()))
    os.kill(os.getpid(), {signal})
def patched(name, *rest, **more):
    module = original(name, *rest, **more)
    target = sys.modules.get({module!r})
    if target is not None and hasattr(target, {function!r}) and not hasattr(target, "strikes"):
        target.strikes = True
        setattr(target, {function!r}, strike)
    return module
if "pbprobe.fleet.worker" in " ".join(sys.orig_argv):
    builtins.__import__ = patched
"""

CLOCK = """
import time
real = time.time
time.time = lambda: real() + {seconds}
"""

# Another function in the place of one of ours, which is `target.planted` from then on.
REPLACED = """
import builtins, sys, time
original = builtins.__import__
def patched(name, *rest, **more):
    module = original(name, *rest, **more)
    target = sys.modules.get({module!r})
    if target is not None and hasattr(target, {function!r}) and not hasattr(target, "planted"):
        target.planted = target.{function}
        target.{function} = {by}
    return module
builtins.__import__ = patched
"""

# First function that the worker calls in each phase.
PHASES = {
    "join": ("pbprobe.fleet.meeting", "open_store"),
    "identity": ("pbprobe.fleet.identity", "libraries"),
    "local": ("pbprobe.fleet.figures", "measure_copies"),
    "kernels": ("pbprobe.fleet.kernels", "measure_kernels"),
    "soak": ("pbprobe.fleet.figures", "soak"),
    "links": ("pbprobe.fleet.together", "measure_links"),
    "collectives": ("pbprobe.fleet.together", "measure_collectives"),
    "lockstep": ("pbprobe.fleet.together", "measure_lockstep"),
}


def extend_python_path(folder):
    return {"PYTHONPATH": f"{folder}:{os.environ['PYTHONPATH']}"}


def plant(folder, text):
    folder.mkdir(parents=True)
    (folder / "sitecustomize.py").write_text(text)
    return extend_python_path(folder)


def wrong_bit(scratch):
    return plant(scratch / "wrong", WRONG_BIT)


def stuck(scratch):
    """Blocks the other ranks in collectives, as NCCL's start does after the death of a rank."""
    module, function = PHASES["collectives"]
    return plant(scratch / "stuck", REPLACED.format(module=module, function=function, by="lambda *_: time.sleep(1000)"))


def claims_gpu(scratch):
    """Says that it has a GPU; what it measures is the CPU."""
    by = 'lambda store, rank, _: target.planted(store, rank, "cuda")'
    return plant(scratch / "gpu", REPLACED.format(module="pbprobe.fleet.meeting", function="note_device", by=by))


def clock_off(scratch, seconds):
    return plant(scratch / "clock", CLOCK.format(seconds=seconds))


def strike(scratch, phase, signal):
    module, function = PHASES[phase]
    note = str(scratch / "struck")
    return plant(scratch / "strike", STRIKE.format(note=note, signal=int(signal), module=module, function=function))


def other_version(scratch):
    """The package, as a version of its own."""
    site = scratch / "version" / "pbprobe"
    site.mkdir(parents=True)
    for path in pathlib.Path(pbprobe.__file__).parent.iterdir():
        (site / path.name).symlink_to(path.resolve())
    (site / "__init__.py").unlink()
    (site / "__init__.py").write_text('__version__ = "0.0.9"\n')
    return extend_python_path(site.parent)


def other_torch(scratch):
    """The installed torch by links, but for one of its libraries, which is another file that does the same."""
    installed = pathlib.Path(sysconfig.get_paths()["purelib"]) / "torch"
    site = scratch / "torch" / "torch"
    (site / "lib").mkdir(parents=True)
    for path in installed.iterdir():
        if path.name != "lib":
            (site / path.name).symlink_to(path)
    for path in (installed / "lib").iterdir():
        (site / "lib" / path.name).symlink_to(path)
    (site / "lib" / "libc10.so").unlink()
    data = (installed / "lib" / "libc10.so").read_bytes()
    (site / "lib" / "libc10.so").write_bytes(data + b"another build")
    return extend_python_path(site.parent)
