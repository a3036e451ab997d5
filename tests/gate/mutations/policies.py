# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Operators on the policy that a build is judged by."""

from __future__ import annotations

import json

from device import holders
from files import needed
from made import SOURCE
from operators import REFUSED, changes, keeps


def builder() -> dict:
    return json.loads((SOURCE / "ci/policies/builder.json").read_text())


def set_policy(tree, text: str) -> None:
    tree.beside["policy.json"] = text.encode()
    tree.options = ["--policy", "policy.json"]


def waiver(identifier: str, component: str) -> dict:
    return {"id": identifier, "component": component, "reason": "we know", "until": "2099-12-31"}


@changes("waive", "policy", REFUSED)
def damage_that_nobody_may_waive(tree, about, rng):
    """A library is cut short, and the policy says never mind."""
    if tree.options:
        return None
    path = needed(tree, rng)
    if path is None:
        return None
    content = tree.read(path)
    tree.files[path] = content[: rng.randrange(64, len(content) // 2)]
    name = path.rsplit("/", 1)[-1]
    rows = [waiver("PB101", where) for where in {path, name, f"torch/lib/{name}", f"torch/{name}", f"lib/{name}"}]
    if rng.random() < 0.5:
        set_policy(tree, json.dumps(builder() | {"severity": {"PB101": {"severity": "note", "reason": "we know"}}}))
    else:
        set_policy(tree, json.dumps(builder() | {"waive": [rng.choice(rows)]}))
    return f"{path}: {tree.beside['policy.json'].decode()[-160:]}"


@changes("waive", "policy", REFUSED)
def the_device_code_that_is_gone(tree, about, rng):
    if tree.options:
        return None
    path = tree.named("libtorch_cuda.so")
    if path is None or path not in holders(tree, about):
        return None
    del tree.files[path]
    rows = [waiver(one, "libtorch_cuda.so") for one in ("PB310", "PB314", "PB115", "PB101")]
    set_policy(tree, json.dumps(builder() | {"waive": rng.sample(rows, 2)}))
    return path


@changes("relabel", "policy", REFUSED)
def a_policy_that_says_one_thing_twice(tree, about, rng):
    if tree.options:
        return None
    text = (SOURCE / "ci/policies/builder.json").read_text()
    key, before = rng.choice(
        (
            ('"severity": {}', '"severity": {"PB314": {"severity": "note", "reason": "x"}}'),
            ('"waive": []', '"waive": []'),
            ('"sm": "shipped"', '"sm": "claimed"'),
            ('"name": "builder"', '"name": "mine"'),
        )
    )
    set_policy(tree, text.replace(key, rng.choice((f"{before}, {key}", f"{key}, {before}"))))
    return before


@changes("relabel", "policy", REFUSED)
def a_policy_that_asks_for_nothing(tree, about, rng):
    """Keys misspelled, levels left out, or no policy at all."""
    if tree.options:
        return None
    policy = builder()
    how = rng.choice(
        ("misspelled", "no schema", "not JSON", "empty", "an array", "unknown level", "unknown check", "deep")
    )
    text = {
        "misspelled": json.dumps({("waives" if key == "waive" else key): value for key, value in policy.items()}),
        "no schema": json.dumps({key: value for key, value in policy.items() if key != "schema"}),
        "not JSON": "schema: pbprobe.policy/1\n",
        "empty": "",
        "an array": json.dumps([policy]),
        "unknown level": json.dumps(policy | {"levels": policy["levels"] | {"sm": "none"}}),
        "unknown check": json.dumps(policy | {"severity": {"PB999": {"severity": "note", "reason": "x"}}}),
        "deep": "[" * 100000,
    }[how]
    set_policy(tree, text)
    return how


@changes("waive", "policy")
def a_waiver_that_lets_nothing_through(tree, about, rng):
    if tree.options:
        return None
    row = waiver("PB314", "torch/lib/libtorch_cuda.so")
    set_policy(
        tree, json.dumps(builder() | {"waive": [row | rng.choice(({}, {"until": "2020-01-01"}, {"component": "*"}))]})
    )
    return json.dumps(row)


@changes("hide", "policy")
def a_file_of_the_working_folder_called_builder(tree, about, rng):
    """A library is gone; the file in the working folder would have it waived."""
    if tree.options:
        return None
    path = tree.named("libtorch_cpu.so")
    if path is None:
        return None
    del tree.files[path]
    rows = [waiver(one, "libtorch_cpu.so") for one in ("PB103",)]
    text = json.dumps(
        builder() | {"levels": {}, "severity": {"PB103": {"severity": "note", "reason": "x"}}, "waive": rows}
    )
    tree.beside["builder"] = text.encode()
    tree.options = rng.choice(([], ["--policy", "builder"]))
    return " ".join(tree.options) or "the default"


@keeps("reorder", "policy")
def the_same_policy_written_otherwise(tree, about, rng):
    if tree.options:
        return None
    policy = builder()
    keys = rng.sample(list(policy), len(policy))
    set_policy(tree, json.dumps({key: policy[key] for key in keys}, indent=rng.choice((None, 1, 8))))
    return ", ".join(keys)


@keeps("add", "policy")
def files_of_the_working_folder(tree, about, rng):
    if tree.options:
        return None
    tree.beside["builder"] = rng.choice((b"", b"{}", b"not a policy"))
    tree.options = rng.choice(([], ["--policy", "builder"]))
    return "builder"
