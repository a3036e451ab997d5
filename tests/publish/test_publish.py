# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""ci/publish builds, judges, publishes and compares. Each possible failure is planted."""

import json
import pathlib
import re
import shutil
import signal
import subprocess
import time

import pytest
from world import NAME, PROGRAM, PUBLISH, RECIPE, WRONG, nothing_published, stopped, torch_tree

GONE = "rm -f {state}/gcroots/auto/*; nix-store --gc >/dev/null 2>&1"


# ---- the way it goes ---------------------------------------------------------------------------------------------


def test_publishes_and_compares_passed_build_in_one_clone(world):
    result = world.publish()
    assert result.returncode == 0, result.stdout + result.stderr
    published = world.published()
    assert published["rev"] == world.run("git", "rev-parse", "HEAD")
    assert sorted(published["outputs"]) == ["lib", "out"]
    for path in published["outputs"].values():
        assert path in result.stdout
    assert result.stdout.count("sha256-") == 2
    assert "what the catalog holds is what was tested" in result.stdout
    assert len(re.findall(r"^publish: .*: took \d+ s$", result.stdout, re.MULTILINE)) == 3
    assert world.left_behind() == []
    (build,), (publish,) = world.asked("build"), world.asked("publish")
    folder = build[build.index("-d") + 1]
    assert publish[publish.index("-d") + 1] == folder
    assert folder.startswith(str(world.temporary))
    assert not list(world.checkout.glob("result*"))


def test_keeps_complete_and_consistent_evidence(world):
    folder = world.folder / "kept"
    assert world.publish("--evidence", str(folder), NAME).returncode == 0
    kept = json.loads((folder / "report.json").read_text())
    assert kept["claim"]["text"] == NAME
    assert kept["verdict"]["outcome"] == "pass"
    assert {"report.json", "junit.xml", "pbprobe.sarif", "statement.intoto.json"} <= {p.name for p in folder.iterdir()}
    again = subprocess.run([PROGRAM, "gate", "--from", folder], capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stdout + again.stderr


def test_signs_evidence_with_given_key(world):
    key, public, folder = (str(world.folder / name) for name in ("key.pem", "public.pem", "kept"))
    world.run("openssl", "genpkey", "-algorithm", "ed25519", "-out", key)
    world.run("openssl", "pkey", "-in", key, "-pubout", "-out", public)
    result = world.publish("--evidence", folder, "--sign", key, NAME)
    assert result.returncode == 0, result.stdout + result.stderr
    command = [PROGRAM, "verify", folder, "--key", public]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("arguments", [("--dry-run", NAME), (NAME, "--dry-run")])
def test_dry_run_publishes_nothing(world, arguments):
    result = world.publish(*arguments)
    assert result.returncode == 0, result.stderr
    assert "passed, and would be published" in result.stdout
    assert world.asked("build")
    assert not world.asked("publish")
    assert world.left_behind() == []


def test_keeps_existing_evidence(world):
    before = world.folder / "kept"
    before.mkdir()
    stopped(world.publish("--evidence", str(before), NAME), 2, "the folder exists", "name a new folder")
    assert not world.asked("build")


def test_writes_separate_evidence_for_each_run(world):
    store = f"file://{world.hub / 'store'}"
    for _ in range(2):
        result = world.publish("--store", store, NAME)
        assert result.returncode == 0, result.stderr
    revision = world.run("git", "rev-parse", "HEAD")[:12]
    kept = {folder.name for folder in (world.checkout / "evidence" / NAME).iterdir()}
    assert kept == {revision, f"{revision}-2"}


def test_writes_evidence_next_to_recipes_by_default(world):
    assert world.publish().returncode == 0
    revision = world.run("git", "rev-parse", "HEAD")
    assert (world.checkout / "evidence" / NAME / revision[:12] / "report.json").is_file()


def test_passes_options_after_name_to_flox(world):
    key = world.folder / "key"
    result = world.publish(NAME, "-o", "myorg", "--signing-private-key", str(key), "--stability", "stable")
    assert result.returncode == 0, result.stderr
    (build,), (publish,) = world.asked("build"), world.asked("publish")
    handed = publish[publish.index("-d") + 2 :]
    assert handed == ["-o", "myorg", "--signing-private-key", str(key), "--stability", "stable", NAME]
    assert build[-3:] == ["--stability", "stable", NAME]
    assert world.published("myorg")
    assert world.published() is None


def test_accepts_recipe_folder_option_of_flox(world):
    result = world.publish(NAME, "-d", str(world.checkout), at=world.folder)
    assert result.returncode == 0, result.stderr
    publish = world.asked("publish")[0]
    assert publish.count("-d") == 1
    assert str(world.checkout) not in publish


def test_accepts_recipes_below_the_repository(world):
    (world.checkout / "below").mkdir()
    for part in (".flox", "recipes", "torch"):
        shutil.move(world.checkout / part, world.checkout / "below" / part)
    world.push()
    result = world.publish(at=world.checkout / "below")
    assert result.returncode == 0, result.stderr
    assert world.asked("publish")[0][2].endswith("/source/below")


def test_builds_checked_out_revision_only(world):
    mine = world.run("git", "rev-parse", "HEAD")
    world.write("README.md", "newer\n")
    world.push()
    world.run("git", "reset", "--quiet", "--hard", mine)
    assert world.publish().returncode == 0
    assert world.published()["rev"] == mine


def test_ignores_untracked_files(world):
    world.write("notes.txt", "mine\n")
    assert world.publish().returncode == 0


# ---- the gate ----------------------------------------------------------------------------------------------------


def test_does_not_publish_build_that_fails_its_claim(world):
    torch_tree(world.checkout / "torch", WRONG)
    world.push()
    result = world.publish()
    stopped(result, 1, "the gate did not pass", "exit code 1", "Evidence: ")
    assert "PB207" in result.stdout
    nothing_published(world)


def test_unproved_claim_is_not_a_pass(world):
    """The toy is not a libtorch that could be loaded."""
    stopped(world.publish("--require", "executed", NAME), 1, "the gate did not pass")
    nothing_published(world)


def test_passes_policy_to_gate(world):
    stopped(world.publish("--policy", str(world.folder / "none.json"), NAME), 2, "could not run (exit code 2)")
    nothing_published(world)


def test_passes_gate_options_to_gate():
    ours, gate = (
        subprocess.run([*command, "--help"], capture_output=True, text=True, check=True).stdout
        for command in ([PUBLISH], [PROGRAM, "gate"])
    )
    handed = re.findall(r"handed to `pbprobe gate (--\w+)`", " ".join(ours.split()))
    assert handed
    assert set(handed) <= set(re.findall(r"--\w+", gate))


def test_does_not_publish_build_that_cannot_be_judged(world):
    (world.checkout / "torch/lib/libtorch_cpu.so").unlink()
    world.write("torch/lib/README", "no library\n")
    world.push()
    assert world.publish().returncode in (1, 2)
    nothing_published(world)


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("exit 2", ["could not run (exit code 2)"]),
        ("exit 139", ["could not run (exit code 139)"]),
        ("exit 77", ["could not run (exit code 77)"]),
        ("kill -SEGV $$", ["was ended by SIGSEGV"]),
        ("kill -KILL $$", ["was ended by SIGKILL"]),
    ],
)
def test_crashed_gate_is_not_a_pass(world, script, words):
    program = world.folder / "pbprobe"
    program.write_text(f"#!/bin/bash\n[[ $1 == recipes ]] || {script}\n")
    program.chmod(0o755)
    stopped(world.publish(environment={"PBPROBE": str(program)}), 2, "nothing was published", *words)
    nothing_published(world)


@pytest.mark.parametrize(
    ("reported", "code"),
    [
        ("openblas: not found", 1),
        ("cc1plus: error: writing: No space left on device", 2),
        ("c++: fatal error: Killed signal terminated program cc1plus", 2),
    ],
)
def test_prints_nix_output_of_failed_build(world, reported, code):
    """1, whatever code Nix has for it; 2 where the machine could not: it says nothing of the recipe."""
    toy = (world.checkout / "recipes/toy.nix").read_text()
    world.write("recipes/toy.nix", toy.replace("set -e\n", f"echo '{reported}' >&2; exit 3\n"))
    world.push()
    words = ("flox build ended with 1", "nothing was published", reported, "failed with exit code 3")
    stopped(world.publish(), code, *words)
    nothing_published(world)


def test_reports_broken_links(world):
    world.hook("after-build", f"rm $1/result-{NAME}")
    stopped(world.publish(), 2, f"left no result-{NAME}")
    nothing_published(world)


# ---- the garbage collector ---------------------------------------------------------------------------------------


def state(world) -> str:
    return world.environment["NIX_STATE_DIR"]


def test_fails_if_build_was_collected_before_test(world):
    world.hook("after-build", GONE.format(state=state(world)))
    stopped(world.publish(), 2, "is gone from the store", "garbage collected")
    nothing_published(world)


def test_protects_build_from_garbage_collection(world):
    """The links of the build are no roots here: only those that ci/publish makes hold what was tested."""
    links = f"for r in {state(world)}/gcroots/auto/*; do case $(readlink $r) in */source/result-*) rm $r;; esac; done"
    world.hook("after-build", links)
    world.hook("before-publish", "nix-store --gc >/dev/null 2>&1")
    result = world.publish()
    assert result.returncode == 0, result.stdout + result.stderr
    assert world.published()


def test_nar_hash_detects_second_different_build(world):
    """The recipe never gives the same bits twice: the path is the tested one, what it holds is not."""
    world.hook("before-publish", GONE.format(state=state(world)))
    result = world.publish()
    stopped(result, 1, "PUBLISHED, AND NOT SHOWN", "NAR hash in the local store of lib: tested sha256-", "now sha256-")
    assert "path of" not in result.stderr


def test_does_not_report_equal_build_if_gone(world):
    world.hook("after-publish", GONE.format(state=state(world)))
    stopped(world.publish(), 1, "PUBLISHED, AND NOT SHOWN", "now missing")


# ---- the path ----------------------------------------------------------------------------------------------------


def test_stops_before_upload_if_path_differs(world):
    recipe = RECIPE.format(name=NAME, outside=f"builtins.readFile {world.outside}")
    world.write(f".flox/pkgs/{NAME}.nix", recipe)
    world.push()
    world.hook("after-build", f"echo changed >{world.outside}")
    result = world.publish()
    stopped(result, 1, "gives another path than the tested one", "path of out: tested /", "path of lib")
    nothing_published(world)


def test_fails_if_catalog_path_differs(world):
    """flox says 0, and what it uploaded is another build."""
    recipe = RECIPE.format(name=NAME, outside=f"builtins.readFile {world.outside}")
    world.write(f".flox/pkgs/{NAME}.nix", recipe)
    world.push()
    world.hook("before-publish", f"echo changed >{world.outside}")
    result = world.publish()
    stopped(result, 1, "PUBLISHED, AND NOT SHOWN", f"alice/{NAME}", "path of out: tested /", "taken out of the catalog")
    assert world.published()["outputs"]["out"] in result.stderr


def test_rejects_deduplication_of_older_path(world):
    """Published once before from the same revision, with a variable set: flox says 0, and uploads nothing."""
    folder = world.folder / "before"
    world.run("git", "clone", "--quiet", world.folder / "origin.git", folder, at=world.folder)
    environment = {**world.environment, "CUDA_TOOLKIT_REPO": "/elsewhere"}
    subprocess.run(["flox", "publish", "-d", folder, NAME], env=environment, check=True, capture_output=True)
    older = world.published()["outputs"]
    result = world.publish()
    stopped(result, 1, "PUBLISHED, AND NOT SHOWN", older["out"], "says 0 without building")
    assert "already published" in result.stdout
    assert world.published()["outputs"] == older


def test_deduplication_needs_upload_store(world):
    assert world.publish().returncode == 0
    result = world.publish()
    stopped(result, 1, "was published before", "flox uploaded nothing", "--store URL")
    assert "Tell nobody" not in result.stderr
    result = world.publish("--store", f"file://{world.hub / 'store'}", NAME)
    assert result.returncode == 0, result.stderr


def test_reports_no_deduplication_if_catalog_was_unreachable(world):
    """flox warns, with nearly the same words, and publishes."""
    (world.hub / "unreachable").touch()
    result = world.publish()
    assert result.returncode == 0, result.stderr
    assert "Unable to check if already published" in result.stdout


def test_finds_other_bits_in_catalog_store(world):
    """Simulates an upload of the same path from another machine, with other bits."""
    assert world.publish().returncode == 0
    subprocess.run(GONE.format(state=state(world)), shell=True, check=True, env=world.environment)
    store = f"file://{world.hub / 'store'}"
    stopped(world.publish("--store", store, NAME), 1, f"NAR hash in {store} of lib", "PUBLISHED, AND NOT SHOWN")


def test_fails_if_catalog_lost_build(world):
    world.hook("after-publish", f"rm -r {world.hub}/catalog")
    stopped(world.publish(), 1, "could not be compared", "could not find package")


def test_waits_for_slow_catalog(world):
    flag = world.folder / "asked"
    world.hook("before-install", f"[[ -e {flag} ]] || {{ touch {flag}; exit 1; }}")
    result = world.publish("--wait", "30", NAME)
    assert result.returncode == 0, result.stderr
    assert flag.exists()


def test_reports_failing_upload(world):
    world.hook("while-publishing", "exit 5")
    stopped(world.publish(), 2, "flox publish ended with 5")
    assert world.published() is None


# ---- interrupted -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("where", ["before-build", "before-publish"])
def test_interrupt_leaves_no_clone_or_child(world, number, where):
    mark = world.folder / "pid"
    world.hook(where, f"sleep 300 & echo $! >{mark}.new; mv {mark}.new {mark}; wait")
    child = subprocess.Popen(
        world.command(),
        cwd=world.checkout,
        env=world.environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    deadline = time.monotonic() + 60
    while not mark.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    child.send_signal(number)
    _, errors = child.communicate(timeout=30)
    assert child.returncode == 130
    assert "interrupted" in errors
    assert ("look whether the catalog has" in errors) == (where == "before-publish")
    assert world.left_behind() == []
    assert world.published() is None
    sleeper = pathlib.Path("/proc") / mark.read_text().strip() / "status"
    while sleeper.exists() and "State:\tZ" not in sleeper.read_text() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not sleeper.exists() or "State:\tZ" in sleeper.read_text()
