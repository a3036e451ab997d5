#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Writes docs/variants.md from recipes/matrix.json, recipes/targets.json and the results in docs/matrix.md.

  recipes/variants_page.py [--check]

--check changes no file; exit code 1 if the page is not what the data says.
"""

import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/variants.md"
MATRIX = json.loads((ROOT / "recipes/matrix.json").read_text(encoding="utf-8"))
TARGETS = json.loads((ROOT / "recipes/targets.json").read_text(encoding="utf-8"))["targets"]
BY_ID = {target["id"]: target for target in TARGETS}
DEFAULT = next(line for line in MATRIX["lines"] if line["id"] == MATRIX["default_line"])
PYTHON = MATRIX["python"]["default"]


def table(head: str, rows: list[str]) -> str:
    return f"| {head} |\n" + "|---" * (head.count(" | ") + 1) + "|\n" + "".join(f"| {row} |\n" for row in rows)


def variants(line: dict) -> list[tuple[str, str | None, str]]:
    """Returns name, SM and ISA of each variant, in the order of the matrix. A CPU-only variant has no SM."""
    names = [
        (f"pytorch-python{PYTHON}-{line['id']}-{gpu}-{cpu}", gpu, cpu)
        for row in line["rows"]
        for gpu in row["gpus"]
        for cpu in row["cpus"]
    ]
    return names + [(f"pytorch-python{PYTHON}-cpu-{cpu}", None, cpu) for cpu in line["cpu_only"]]


def min_driver(line: dict, gpu: dict) -> int:
    """Returns the first driver of CUDA's major version, or of the CUDA that first knew the chip."""
    versions = (line["cuda"].split(".")[0] + ".0", gpu["first_cuda"])
    return max((MATRIX["drivers"].get(version, 0) for version in versions), default=0)


def line_row(line: dict) -> str:
    listed = variants(line)
    drivers = [min_driver(line, BY_ID[gpu]) for _, gpu, _ in listed if gpu]
    bold = "**" if line is DEFAULT else ""
    cpu_only = len(line["cpu_only"])
    counts = f" ({len(listed) - cpu_only} GPU, {cpu_only} CPU)" if cpu_only else ""
    pythons = ", ".join(f"{choice[0]}.{choice[1:]}" for choice in MATRIX["python"]["choices"])
    rev = line["pin"]["rev"]
    pin = f"[{rev[:7]}](https://github.com/NixOS/nixpkgs/tree/{rev})" + (
        "" if line["pin"]["hash"] else ", not verified"
    )
    cells = [f"{bold}{line['id']}{bold}", line["torch"], line["cuda_release"], pythons, f"{len(listed)}{counts}"]
    return " | ".join([*cells, str(min(drivers, default=0)), pin])


def stand_in_result(results: str, name: str) -> str:
    """Returns the result of a recipe by its row of docs/matrix.md: recipe, torch, CUDA, platform, built, gate …"""
    row = re.search(rf"^\| {re.escape(name)} \|(.*)\|$", results, re.MULTILINE)
    if row is None:
        return "never"
    cells = [cell.strip() for cell in row[1].split("|")]
    return f"built, gate {cells[4]}" if len(cells) > 4 and cells[3] == "yes" else "failed"


def variant_row(results: str, name: str, gpu: str | None, cpu: str) -> str:
    platforms = [one for one in (BY_ID[gpu] if gpu else BY_ID[cpu])["platforms"] if one in BY_ID[cpu]["platforms"]]
    cells = [f"[{name}](../.flox/pkgs/{name}.nix)", ", ".join(BY_ID[gpu]["products"]) if gpu else "none"]
    cells += [", ".join(BY_ID[cpu]["products"]), ", ".join(platforms), "yes", stand_in_result(results, name), "never"]
    return " | ".join(cells)


def gpu_row(target: dict) -> str:
    lines = [line for line in MATRIX["lines"] if any(gpu == target["id"] for _, gpu, _ in variants(line))]
    types: dict[str, list[str]] = {}
    for path in target["instructions"]:
        types.setdefault(path["name"], []).append(path["dtype"])
    cells = [target["id"].upper(), target["capability"], ", ".join(target["products"])]
    cells += [", ".join(line["id"] for line in lines), ", ".join(str(min_driver(line, target)) for line in lines)]
    cells += [", ".join(f"{name} ({', '.join(listed)})" for name, listed in types.items()), target["note"] or ""]
    return " | ".join(cells)


def cpu_row(target: dict) -> str:
    best_for, not_for = [], []
    for workload in MATRIX["workloads"]:
        # The first ISA of an architecture is the choice.
        same = [cpu for cpu in workload["cpus"] if BY_ID[cpu]["architecture"] == target["architecture"]]
        if target["id"] in same[:1]:
            best_for.append(workload["id"])
        if target["id"] not in same:
            not_for.append(workload["id"])
    cells = [target["id"], ", ".join(target["recipe_requires"]), ", ".join(target["products"])]
    cells += [f"`{' '.join(target['recipe_flags'])}`", ", ".join(best_for), ", ".join(not_for), target["note"] or ""]
    return " | ".join(cells)


def render(results: str) -> str:
    """Returns the page. `results`: text of docs/matrix.md."""
    line = DEFAULT["id"]
    listed = variants(DEFAULT)
    workloads = [f"   - {one['id']}: {', then '.join(one['cpus'])} ({one['why']})\n" for one in MATRIX["workloads"]]
    gpus = [gpu_row(target) for target in TARGETS if target["kind"] == "gpu" and target["compiler"] != "none"]
    cpus = [cpu_row(target) for target in TARGETS if target["kind"] == "cpu" and target["recipe_flags"]]
    rules = [f"- {', '.join(rule['gpus'] + rule['cpus'])}: {rule['note']}\n" for rule in MATRIX["rules"]]
    wrong = [f"{one['stated']} | {one['fact']} | <{one['source']}>" for one in MATRIX["corrections"]]
    newest_driver = max(MATRIX["drivers"].items())[1]
    return f"""# Variants

Written by `make generate` from `recipes/matrix.json` and `recipes/targets.json`.

`pbprobe recommend` selects the variant for your machine, and prints the reason.

## Lines

{table("line | torch | CUDA | Python | variants | driver | nixpkgs", [line_row(one) for one in MATRIX["lines"]])}
The recipes of {line} are in `.flox/pkgs`; `pbprobe recipes write --line LINE --output FOLDER` writes the recipes of \
another line.

## The {len(listed)} variants of {line}

*Evaluated*: in the tests, Nix evaluates the recipe to a derivation that matches the matrix. *In the stand-in*: \
`make matrix` built and judged the recipe in a small stand-in for nixpkgs ([matrix.md](matrix.md)). *In \
nixpkgs*: built completely in the pinned nixpkgs.

{
        table(
            "recipe | GPUs | CPUs | system | evaluated | in the stand-in | in nixpkgs",
            [variant_row(results, *variant) for variant in listed],
        )
    }
## Choose a variant

1. Run `nvidia-smi --query-gpu=name,compute_cap --format=csv,noheader`, and take the SM with the printed compute \
capability. Without a GPU, take a `cpu` variant.
2. Run `grep -om1 -wE 'Features.*|flags.*' /proc/cpuinfo`. From the ISAs whose features are all printed, select by \
workload:
{"".join(workloads)}\
3. `nvidia-smi` prints the CUDA version of the driver. The default line, {line}, needs driver {newest_driver}. With an \
older driver, take an older line that has the SM.

## GPUs

{table("SM | compute capability | GPUs | lines | driver | instructions | note", gpus)}
## CPUs

{table("ISA | look for, in /proc/cpuinfo | first CPUs | flags | best for | not for | note", cpus)}
## Additional settings of some variants

{"".join(rules)}
## Stated elsewhere, and wrong

{table("stated | in fact | source", wrong)}"""


def main() -> int:
    text = render((ROOT / "docs/matrix.md").read_text(encoding="utf-8"))
    if PAGE.read_text(encoding="utf-8") == text:
        return 0
    if "--check" in sys.argv[1:]:
        print(f"{PAGE} is not what the data says: run `make generate` and commit it", file=sys.stderr)
        return 1
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
