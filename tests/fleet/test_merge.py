# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""`pbprobe merge`: a planted fault gives its finding and no other one; the sound fleet beside it gives none."""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree

import jsonschema
import pytest
from nodes import PROGRAM, findings, make_fleet, merge

DOCS = pathlib.Path(__file__).parents[2] / "docs"
SIMULATION = DOCS.parent / "tools" / "fleet-simulation"


def only(fleet, host, rank, fault, outcome="fail"):
    assert findings(fleet) == [(host, rank, fault, outcome)]
    return True


def test_sound_fleet_passes_and_matches_schemas(tmp_path):
    documents = make_fleet()
    code, fleet, text = merge(tmp_path, documents, "--strict")
    assert (code, fleet["outcome"], findings(fleet)) == (0, "pass", [])
    assert text.startswith("PASS  4 nodes, 32 ranks")
    jsonschema.validate(documents[0], json.loads((DOCS / "node.schema.json").read_text()))
    jsonschema.validate(fleet, json.loads((DOCS / "fleet.schema.json").read_text()))


def test_shows_both_recorded_gpus(tmp_path):
    recorded = sorted((pathlib.Path(__file__).parent / "recorded").glob("two-h100-*.json"))
    page = tmp_path / "fleet.html"
    code, fleet, text = merge(tmp_path, [json.loads(file.read_text()) for file in recorded], "--html", page, "--strict")
    assert (code, findings(fleet)) == (0, []) and text.startswith("PASS  1 node, 2 ranks")
    jsonschema.validate(fleet, json.loads((DOCS / "fleet.schema.json").read_text()))
    ranks = fleet["nodes"][0]["ranks"]
    assert [rank["device"] for rank in ranks] == ["NVIDIA H100 80GB HBM3"] * 2 and len(fleet["links"]) == 2
    assert all(f"rank {rank['rank']}" in page.read_text() for rank in ranks)


def a_time(value):
    return {"value": value, "lower_is_better": True, "verified": None, "spread": 0}


def slow_rank(documents):
    documents[1]["ranks"][3]["figures"]["gemm_bf16_tflops"]["value"] *= 0.95


def wrong_bits(documents):
    documents[1]["ranks"][3]["digests"]["gemm_bf16_tflops"] = "ef" * 32


def wrong_result(documents):
    documents[1]["ranks"][3]["wrong"] = [
        {
            "what": "gemm_int8_tops", "how": "the first round", "row": 1, "column": 2, "expected": 3.0, "got": 4.0,
            "seed": 5, "by_rank": None, "count": 1,
        }
    ]  # fmt: skip


def wrong_as_others_saw(documents):
    for rank in (0, 1):
        documents[0]["ranks"][rank]["wrong"] = [
            {"what": "all_gather", "how": "the exact result", "by_rank": 11, "count": 1}
        ]


def late_rank(documents):
    for document in documents:
        for rank in document["ranks"]:
            rank["late_ms"] = [0.1 + 0.01 * (rank["rank"] % 3)] * 9
            rank["figures"]["lockstep_step_ms"] = {
                "value": 10.0,
                "lower_is_better": True,
                "verified": None,
                "spread": 0,
            }
    documents[1]["ranks"][3]["late_ms"] = [4.0] * 9


def dead_rank(documents):
    documents[1]["ranks"][3] |= {"state": "died", "state_why": "killed by SIGKILL"}


def hung_rank(documents):
    documents[1]["ranks"][3]["state"] = "hung"


def rank_without_an_end(documents):
    documents[1]["ranks"][3]["state"] = "running"


def full_disk(documents):
    documents[1]["ranks"][3]["errors"] = ["x could not be written: No space left on device"]


def unverified(documents):
    documents[1]["ranks"][3]["figures"]["gemm_bf16_tflops"]["verified"] = None


def throttled(documents):
    for document in documents:
        for rank in document["ranks"]:
            rank["figures"]["soak_clock_mhz"] = {
                "value": 1980.0,
                "lower_is_better": False,
                "verified": None,
                "spread": 0,
            }
    documents[1]["ranks"][3]["figures"]["soak_clock_mhz"]["value"] = 1200.0


@pytest.mark.parametrize(
    "plant, fault, outcome",
    [
        (throttled, "slow", "fail"),
        (slow_rank, "slow", "fail"),
        (wrong_bits, "wrong", "fail"),
        (wrong_result, "wrong", "fail"),
        (wrong_as_others_saw, "wrong", "fail"),
        (late_rank, "late", "fail"),
        (dead_rank, "died", "unknown"),
        (hung_rank, "hung", "unknown"),
        (rank_without_an_end, "died", "unknown"),
        (full_disk, "error", "unknown"),
        (unverified, "error", "unknown"),
    ],
)
def test_finds_planted_fault_only_in_its_place(tmp_path, plant, fault, outcome):
    documents = make_fleet()
    plant(documents)
    code, fleet, _ = merge(tmp_path, documents)
    assert only(fleet, "node01", 11, fault, outcome)
    assert (code, fleet["outcome"]) == (1 if outcome == "fail" else 0, outcome)
    assert merge(tmp_path, documents, "--strict")[0] == 1


def test_fast_ranks_are_not_outliers(tmp_path):
    documents = make_fleet()
    documents[1]["ranks"][3]["figures"]["gemm_bf16_tflops"]["value"] *= 1.2
    for document in documents:
        for rank in document["ranks"]:
            rank["figures"]["start_ms"] = a_time(5.0)
    documents[2]["ranks"][0]["figures"]["start_ms"]["value"] = 4.0
    assert findings(merge(tmp_path, documents)[1]) == []
    documents[2]["ranks"][0]["figures"]["start_ms"]["value"] = 6.0
    assert only(merge(tmp_path, documents)[1], "node02", 16, "slow")


def test_names_differing_version_in_one_line(tmp_path):
    documents = make_fleet(nodes=32, gpus=1)
    documents[17]["libraries"]["nccl"] = {"version": "2.27.3", "sha256": "34" * 32}
    _, fleet, text = merge(tmp_path, documents)
    assert "node17: nccl 2.27.3; 31 others 2.28.9" in text
    assert only(fleet, "node17", 17, "different")
    assert not any(node["excluded"] for node in fleet["nodes"])  # a package to install, not a node to avoid


def test_names_differing_file_of_same_version(tmp_path):
    documents = make_fleet(nodes=4, gpus=1)
    documents[2]["libraries"]["nccl"]["sha256"] = "ff" * 32
    _, fleet, _ = merge(tmp_path, documents)
    assert fleet["differences"][0]["sentence"] == "node02: nccl 2.28.9 file ffffffffffff; 3 others file 121212121212"


def test_names_ranks_that_never_joined(tmp_path):
    documents = make_fleet()
    del documents[1]["ranks"][3]
    documents[0]["roster"] = [f"node{rank // 8:02d}" for rank in range(32)]
    code, fleet, _ = merge(tmp_path, documents)
    assert only(fleet, "node01", 11, "missing", "unknown")
    assert code == 0
    assert [node["host"] for node in fleet["nodes"] if node["excluded"]] == ["node01"]


def test_names_expected_hosts_without_report(tmp_path):
    (tmp_path / "hosts").write_text("node00\nnode09\n")
    code, fleet, _ = merge(tmp_path, make_fleet(), "--expect", tmp_path / "hosts", "--strict")
    assert only(fleet, "node09", -1, "missing", "unknown")
    assert code == 1


def test_baseline_shows_slower_figures(tmp_path):
    before = tmp_path / "before.json"
    (tmp_path / "old").mkdir()
    before.write_text(json.dumps(merge(tmp_path / "old", make_fleet())[1]))
    documents = make_fleet()
    for document in documents:
        document["ranks"][0]["figures"]["gemm_bf16_tflops"]["value"] *= 1.02
    assert findings(merge(tmp_path, documents, "--baseline", before)[1]) == []
    documents[3]["ranks"][5]["figures"]["gemm_bf16_tflops"]["value"] *= 0.9
    faults = {(rank, fault) for _, rank, fault, _ in findings(merge(tmp_path, documents, "--baseline", before)[1])}
    assert faults == {(29, "slow"), (29, "slower")}
    del documents[3]
    missing = {host for host, _, fault, _ in findings(merge(tmp_path, documents[:3], "--baseline", before)[1])}
    assert missing == {"node03", "(unknown host)"}


def test_blames_slow_link_on_end_with_most_slow_links(tmp_path):
    documents = make_fleet(nodes=1, gpus=8)
    ranks = documents[0]["ranks"]
    for rank in ranks:
        rank["links"] = [
            {"peer": peer, "gb_per_s": 4.0 if 5 in (peer, rank["rank"]) else 40.0, "latency_us": 9.0, "verified": True}
            for peer in range(8) if peer != rank["rank"]
        ]  # fmt: skip
    assert only(merge(tmp_path, documents)[1], "node00", 5, "slow_link")
    for rank in ranks:
        for link in rank["links"]:
            link["gb_per_s"] = 4.0 if {link["peer"], rank["rank"]} == {2, 6} else 40.0
    found = findings(merge(tmp_path, documents)[1])
    assert {(rank, fault, outcome) for _, rank, fault, outcome in found} == {
        (2, "slow_link", "unknown"), (6, "slow_link", "unknown"),
    }  # fmt: skip


FACTS_OF_LINKS = {
    "loopback": ({"cpu": "NVIDIA H200"}, "top, numactl --hardware"),
    "PCIe": ({"nvlink": "none"}, "LnkSta in lspci -vv"),
    "NVLink": ({"nvlink": "18 x 26.562 GB/s"}, "nvidia-smi nvlink -s, nvidia-smi topo -m"),
    "unknown": ({}, "PCIe or NVLink"),
}


@pytest.mark.parametrize("kind", FACTS_OF_LINKS)
def test_fix_of_slow_link_fits_its_kind(tmp_path, kind):
    facts, fix = FACTS_OF_LINKS[kind]
    documents = make_fleet(nodes=1)
    for rank in documents[0]["ranks"]:
        rank["facts"] = facts
        rank["links"] = [
            {"peer": peer, "gb_per_s": 4.0 if {peer, rank["rank"]} == {2, 6} else 40.0, "latency_us": 9.0,
             "verified": True, "resent": None}
            for peer in range(8) if peer != rank["rank"]
        ]  # fmt: skip
    _, fleet, _ = merge(tmp_path, documents)
    fixes = {finding["fix"] for node in fleet["nodes"] for rank in node["ranks"] for finding in rank["findings"]}
    assert len(fixes) == 1 and fix in fixes.pop()


def crowd(documents, cpus, gpus=None, limit=None):
    """Links and speeds of ranks that slow each other down."""
    for rank in documents[0]["ranks"]:
        rank["facts"] = {"cpus": ",".join(map(str, range(cpus)))} | ({"cpu_limit": limit} if limit else {})
        rank["uuid"] = f"GPU-{rank['rank'] % gpus}" if gpus else None
        rank["links"] = [
            {"peer": peer, "gb_per_s": 4.0 if peer == 2 else 40.0, "latency_us": 9.0, "verified": True, "resent": 0.1}
            for peer in range(4) if peer != rank["rank"]
        ]  # fmt: skip
    documents[0]["ranks"][2]["figures"]["gemm_bf16_tflops"]["value"] *= 0.3
    return documents


@pytest.mark.parametrize(
    ("more", "shared"),
    [
        ({"cpus": 2}, "4 ranks share 2 CPUs"),
        ({"cpus": 64, "limit": "2.5"}, "4 ranks share 2 CPUs"),
        ({"cpus": 64, "limit": "0.5"}, "4 ranks share 1 CPU"),
        ({"cpus": 64, "gpus": 1}, "4 ranks share one GPU"),
    ],
)
def test_crowded_ranks_are_not_judged_by_speed(tmp_path, more, shared):
    code, fleet, text = merge(tmp_path, crowd(make_fleet(nodes=1, gpus=4), **more))
    assert (code, fleet["outcome"]) == (0, "unknown")
    assert {fault for _, _, fault, _ in findings(fleet)} == {"error"}
    assert f"{shared}, and each needs its own CPU or GPU: speeds and links are not judged" in fleet["reason"]
    assert "--nproc-per-node" in fleet["fix"] and " ".join(text.split()).count(f"error: {shared}") == 1
    assert not [node for node in fleet["nodes"] if node["excluded"]]
    assert merge(tmp_path, crowd(make_fleet(nodes=1, gpus=4), **more), "--strict")[0] == 1


def test_crowded_node_does_not_hide_or_blame_another(tmp_path):
    """Four ranks share two CPUs of the first of two nodes; a rank of the second node is slow by itself."""
    documents = make_fleet(nodes=2, gpus=4)
    for document, cpus in zip(documents, (2, 64), strict=True):
        for rank in document["ranks"]:
            rank["facts"] = {"cpus": ",".join(map(str, range(cpus)))}
            rank["uuid"] = None
            rank["links"] = [
                {"peer": peer, "gb_per_s": 4.0 if min(peer, rank["rank"]) < 4 else 40.0, "latency_us": 9.0,
                 "verified": True, "resent": None}
                for peer in range(8) if peer != rank["rank"]
            ]  # fmt: skip
    documents[0]["ranks"][2]["figures"]["gemm_bf16_tflops"]["value"] *= 0.3
    documents[1]["ranks"][1]["figures"]["gemm_bf16_tflops"]["value"] *= 0.3
    _, fleet, _ = merge(tmp_path, documents)
    found = {(node, rank, fault) for node, rank, fault, _ in findings(fleet)}
    assert {one for one in found if one[2] != "error"} == {("node01", 5, "slow")}
    assert {one[:2] for one in found if one[2] == "error"} == {("node00", rank) for rank in range(4)}
    assert [node["host"] for node in fleet["nodes"] if node["excluded"]] in ([], ["node01"])


def test_ranks_with_cpus_and_gpus_of_their_own_are_judged(tmp_path):
    _, fleet, _ = merge(tmp_path, crowd(make_fleet(nodes=1, gpus=4), cpus=4, gpus=4))
    assert "slow" in {fault for _, _, fault, _ in findings(fleet)}


def test_does_not_blame_the_other_end_of_a_slow_rank(tmp_path):
    documents = make_fleet(nodes=1, gpus=2)
    ranks = documents[0]["ranks"]
    for rank, speed in zip(ranks, (11.3, 25.1), strict=True):  # as measured on two GPUs, one busy with other work
        rank["links"] = [
            {"peer": 1 - rank["rank"], "gb_per_s": speed, "latency_us": 2e3, "verified": True, "resent": None}
        ]
    ranks[1]["figures"]["gemm_bf16_tflops"]["value"] *= 0.1
    _, fleet, _ = merge(tmp_path, documents)
    assert only(fleet, "node00", 1, "slow")
    assert "fail" in [link["outcome"] for link in fleet["links"]], "the link itself is shown as slow"


@pytest.mark.parametrize(
    "lossy, expected",
    [
        ({}, set()),
        ({(2, 6): 0.0008}, set()),  # a sound network loses a little
        ({(2, 6): 0.009}, {(2, "lossy_link", "unknown"), (6, "lossy_link", "unknown")}),
        ({(5, peer): 0.01 for peer in range(8) if peer != 5}, {(5, "lossy_link", "fail")}),
    ],
)
def test_blames_lossy_link_on_end_with_most_losses(tmp_path, lossy, expected):
    documents = make_fleet(nodes=8, gpus=1)
    for document in documents:
        for rank in document["ranks"]:
            rank["links"] = [
                {"peer": peer, "gb_per_s": 1.0, "latency_us": 9.0, "verified": True,
                 "resent": lossy.get((rank["rank"], peer), 0.0)}
                for peer in range(8) if peer != rank["rank"]
            ]  # fmt: skip
    _, fleet, text = merge(tmp_path, documents)
    assert {(rank, fault, outcome) for _, rank, fault, outcome in findings(fleet)} == expected
    failed = {(link["from"], link["to"]) for link in fleet["links"] if link["outcome"] == "fail"}
    assert failed == {pair for pair, share in lossy.items() if share > 0.005}
    if (2, 6) in failed:
        assert "the link from rank 2 (node02) to rank 6 (node06) loses 0.9 %" in " ".join(text.split())


@pytest.mark.parametrize("seconds, words", [(7201.3, "2 h 0 min ahead of"), (-90.0, "90 s behind"), (59.0, None)])
def test_names_clock_offset_once_per_node(tmp_path, seconds, words):
    documents = make_fleet(nodes=4, gpus=2)
    for i, document in enumerate(documents):
        document["clock_offset_s"] = 1000 + 0.2 * i  # it was the first rank's that is off
    documents[2]["clock_offset_s"] += seconds
    _, fleet, _ = merge(tmp_path, documents)
    if words is None:
        assert findings(fleet) == []
        return
    assert findings(fleet) == [("node02", rank, "different", "fail") for rank in (4, 5)]
    sentences = [difference["sentence"] for difference in fleet["differences"]]
    assert sentences == [f"node02: the system clock is {words} the clocks of most nodes"]
    assert not any(node["excluded"] for node in fleet["nodes"])


def test_page_of_large_fleet_shows_worst_nodes(tmp_path):
    folder = tmp_path / "nodes"
    subprocess.run([sys.executable, SIMULATION, "write", folder, *"--nodes 1250 --share 0.01".split()], check=True,
                   stdout=subprocess.DEVNULL)  # fmt: skip
    page = tmp_path / "fleet.html"
    fleet = tmp_path / "fleet.json"
    subprocess.run([PROGRAM, "merge", folder, "--html", page, "--output", fleet, "--quiet"], check=False)
    text = page.read_text()
    assert len(text.encode()) < 500_000
    failed = [node["host"] for node in json.loads(fleet.read_text())["nodes"] if node["outcome"] == "fail"]
    assert 50 < len(failed) < 150 and all(f">{host}</th>" in text for host in failed)
    assert "more rows: --format json lists all" in text


def test_unreadable_document_is_not_a_pass(tmp_path):
    code, fleet, _ = merge(tmp_path, [*make_fleet(nodes=1), '{"schema": "pbprobe.node/1"'], "--strict")
    assert code == 1 and fleet["outcome"] == "unknown"
    assert "node-001.json" in fleet["problems"][0]


@pytest.mark.parametrize("document", ["[]", "{}", '{"schema": "pbprobe.node/2"}', ""])
def test_exits_with_2_without_readable_document(tmp_path, document):
    code, fleet, text = merge(tmp_path, [document])
    assert (code, fleet) == (2, None) and "no report can be read" in text


def test_limits_absurd_world_size(tmp_path):
    documents = make_fleet(nodes=1)
    documents[0]["world"] = 2**62
    assert "ranks, and pbprobe reads at most" in merge(tmp_path, documents)[1]["problems"][0]


def test_writes_lists_for_other_tools(tmp_path):
    documents = make_fleet()
    documents[1]["host"] = 'node"01\\'
    slow_rank(documents)
    files = {name: tmp_path / name for name in ("exclude", "prometheus", "junit")}
    merge(tmp_path, documents, *(part for name, file in files.items() for part in (f"--{name}", file)))
    assert files["exclude"].read_text() == 'node"01\\\n'
    metrics = files["prometheus"].read_text()
    assert 'pbprobe_fleet_nodes{outcome="fail"} 1' in metrics and 'host="node\\"01\\\\"' in metrics
    for line in metrics.splitlines():
        assert re.fullmatch(r"# (HELP|TYPE) \w+ .+|\w+\{.*\} [0-9.e+]+", line), line
    if promtool := shutil.which("promtool"):  # Debian: prometheus
        checked = subprocess.run(
            [promtool, "check", "metrics"], input=metrics, capture_output=True, text=True, check=False
        )
        assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")
    assert len(re.findall("# TYPE pbprobe_rank_gemm_bf16_operations_per_second gauge", metrics)) == 1
    suite = xml.etree.ElementTree.parse(files["junit"]).getroot()[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("32", "1", "0")


def test_finds_simulated_slow_gpus(tmp_path):
    made = subprocess.run(
        [sys.executable, SIMULATION, "write", tmp_path / "nodes", *"--nodes 250 --slow 0.05 --share 0.05".split()],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    slow = set(json.loads(made.stdout))
    output = tmp_path / "fleet.json"
    subprocess.run([PROGRAM, "merge", tmp_path / "nodes", "--output", output, "--quiet"], check=False)
    called = {rank for _, rank, fault, _ in findings(json.loads(output.read_text())) if fault == "slow"}
    assert len(slow) == 100 and len(called & slow) >= 99 and len(called - slow) <= 1
