# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Documents to make pages of: the recorded report of tests/report/golden, with what a page is to show planted in it."""

import copy
import json
import math
import pathlib
import sys

SOURCE = pathlib.Path(__file__).parents[3]
RECORDED = json.loads((SOURCE / "tests/report/golden/h200.json").read_text())


def samples(us, count=12):
    return [us * (1 + 0.004 * ((7 * i) % count)) for i in range(count)]


def row(kernel, target, instruction, dtype, shape, gflops, peak=None, reading_gb_per_s=None, **more):
    m, n, k = shape
    us = 2e-3 * m * n * k / gflops
    made = copy.deepcopy(RECORDED["measurements"]["rows"][0])
    made |= {"kernel": kernel, "target": target, "instruction": instruction, "dtype": dtype, "m": m, "n": n, "k": k}
    made |= {"out": dtype, "gflops": gflops, "peak_gflops": peak, "best": True, "samples_us": samples(us)}
    made |= {"peak_fraction": gflops / peak if peak else None, "threads": 0 if target.startswith("sm") else 2}
    made["peers"] = {"libtorch": {"gflops": gflops * 0.97, "ratio": 1.03, "samples_us": samples(us * 1.03)}}
    if reading_gb_per_s:
        bytes_of_b = n * k * {"fp32": 4, "bf16": 2, "int8": 1}[dtype]
        rate = 2e-3 * m * n * k / (bytes_of_b / reading_gb_per_s * 1e-3)
        made["peers"]["reading"] = {
            "gflops": rate,
            "ratio": 1.1,
            "samples_us": samples(bytes_of_b / reading_gb_per_s * 1e-3),
        }
    return made | more


def trace(device, clock, watts, celsius, count=60):
    points = []
    for i in range(count):
        load = 1 - math.exp(-i / 12)
        point = {"seconds": 0.25 * i, "clock_mhz": clock * (1 - 0.06 * load) if clock else None}
        point |= {
            "power_watts": watts * (0.2 + 0.8 * load) if watts else None,
            "limits": None,
            "celsius": celsius[0] + celsius[1] * load,
        }
        points.append(point)
    return {"device": device, "points": points}


def speed(name, unit, value, intensity):
    """Makes a libtorch operation on the GPU with a stated intensity."""
    made = dict.fromkeys(("against", "ratio", "per_clock", "fits", "proved", "disturbed"))
    made |= {"device": "cuda:0", "target": "libtorch", "name": name, "unit": unit, "value": value}
    return made | {"samples": [value * factor for factor in (0.98, 1.0, 1.01)], "intensity": intensity}


def gain(area, device, low, high):
    return {"area": area, "device": device, "gain": (low + high) / 2, "low": low, "high": high} | {
        "samples_us": [100.0],
        "baseline_samples_us": [50 * (low + high)],
        "disturbed": None,
    }


def rich():
    """A GPU and a CPU with ceilings, points, traces and a baseline."""
    report = copy.deepcopy(RECORDED)
    report["host"]["gpus"][0]["target"] = "sm90"
    measurements = report["measurements"]
    square, thin = (4096, 4096, 4096), (1, 4096, 4096)
    measurements["rows"] = [
        row("wgmma_bf16_128x256_sm90", "sm90", "wgmma", "bf16", square, 742000.0, 841000.0),
        row("wgmma_int8_128x256_sm90", "sm90", "wgmma", "int8", square, 1480000.0, 1690000.0),
        row("gemm_fp32_128x128_sm90", "sm90", "ffma", "fp32", square, 50100.0, 58200.0),
        row("gemm_fp32_splitk_sm90", "sm90", "ffma", "fp32", thin, 1850.0, 58200.0, 4120.0),
        row("gemm_fp32_14x32_avx512", "avx512", "vfmadd zmm", "fp32", (1024, 1024, 1024), 158.0, 204.0),
        row("gemm_fp32_14x32_avx512", "avx512", "vfmadd zmm", "fp32", (256, 256, 256), 121.0, 204.0),
        row("gemm_fp32_14x32_avx512", "avx512", "vfmadd zmm", "fp32", thin, 10.5, 204.0, 22.4),
    ]
    for figure in measurements["libtorch"]["figures"]:
        figure["samples_us"] = samples(2e-3 * figure["m"] * figure["n"] * figure["k"] / figure["gflops"])
    measurements["libtorch"]["speeds"] = [
        speed("elementwise fp32", "GB/s", 3900.0, 0.125),
        speed("convolution bf16", "Gop/s", 560000.0, 1990.0),
        speed("attention bf16", "Gop/s", 610000.0, 1024.0),
    ]
    measurements["traces"] = [trace("cpu", 3100, None, (44, 27)), trace("cuda:0", 1980, 640, (31, 38))]
    report["baseline"] = {
        "schema": "pbprobe.baseline/1",
        "path": "generic/torch",
        "differences": [],
        "bytes": 500 << 20,
        "baseline_bytes": 1000 << 20,
        "gains": [
            gain("softmax", "cuda:0", 1.04, 1.12),
            gain("convolution", "cpu", 0.98, 1.03),
            gain("sort", "cpu", 0.99, 1.02),
        ],
        "problem": None,
        "missing_kernels": None,
    }
    return report


def above_its_roof():
    report = rich()
    report["measurements"]["rows"][0]["peak_gflops"] = 600000.0
    return report


MARKUP = '"><script>window.owned = 1</script><img src=x onerror="window.owned = 2"><svg onload="window.owned = 3">'
ENDS = "</script></style></title><!-- ]]> &lt;b&gt; javascript:window.owned=4 \u202egnp.exe\u0000\u001b[31m"


def hostile():
    """Whatever a stranger may have named holds markup."""
    words = MARKUP + ENDS

    def plant(value, key=""):
        if isinstance(value, dict):
            return {name: plant(inner, name) for name, inner in value.items()}
        if isinstance(value, list):
            return [plant(inner, key) for inner in value]
        named = (
            "name",
            "path",
            "what",
            "reason",
            "where",
            "remedy",
            "fix",
            "kernel",
            "note",
            "artifact",
            "claim",
            "detail",
        )
        named += (
            "component",
            "sentence",
            "version",
            "commit",
            "created",
            "area",
            "problem",
            "torch_version",
            "os",
            "kernel",
            "id",
        )
        return value + words if isinstance(value, str) and key in named else value

    return plant(rich())


def fleet(nodes=12, ranks=2):
    """Documents of nodes with something wrong in some of them, as `pbprobe merge` reads them."""
    sys.path.insert(0, str(SOURCE / "tests/fleet"))
    import nodes as reports

    documents = reports.make_fleet(nodes, ranks)
    world = nodes * ranks
    for document in documents:
        for row in document["ranks"]:
            rank = row["rank"]
            wobble = 1 + 0.004 * math.sin(rank)
            row["figures"]["hbm_copy_gb_per_s"] = {"value": 2800 * wobble, "lower_is_better": False, "verified": True,
                                                   "spread": 0.001}  # fmt: skip
            row["figures"]["lockstep_step_ms"] = {"value": 10.0 * wobble, "lower_is_better": True, "verified": None,
                                                  "spread": 0.001}  # fmt: skip
            row["late_ms"] = [abs(0.2 * math.sin(i * (rank + 1))) for i in range(120)]
            peers = [peer for peer in range(world) if peer // ranks == rank // ranks or peer % ranks == rank % ranks]
            row["links"] = [
                {"peer": peer, "gb_per_s": 45 * wobble, "latency_us": 9.0, "verified": True, "resent": 0.0}
                for peer in peers if peer != rank
            ]  # fmt: skip
            row["collectives"] = [{"operation": "all_reduce", "bytes": 1 << 28, "ranks": world, "time_us": 900.0,
                                   "algbw_gb_per_s": 290.0, "busbw_gb_per_s": 556.0, "verified": True}]  # fmt: skip
    slow = documents[3]["ranks"][1]
    slow["figures"]["gemm_bf16_tflops"]["value"] *= 0.9
    slow["late_ms"] = [3.0 + 0.5 * math.sin(i / 9) for i in range(120)]
    documents[5]["ranks"][0]["wrong"] = [
        {"what": "gemm_int8_tops", "how": "the first round", "row": 17, "column": 5, "expected": 3.0, "got": 4.0,
         "seed": 5, "by_rank": None, "count": 1},
    ]  # fmt: skip
    documents[7]["libraries"]["nccl"]["version"] = "2.27.3"
    documents[8]["ranks"][0] |= {"state": "hung", "state_why": "no sign of life for 15 s"}
    documents[9]["ranks"][0]["links"][-1]["resent"] = 0.011
    return documents
