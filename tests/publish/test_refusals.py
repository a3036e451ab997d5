# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Refusals of ci/publish before it builds: each states the fix, and flox is called only for the login."""

import shutil
import sys

import pytest
from world import NAME, SOURCE, nothing_published, stopped

LINKED = ("git", "env", "bash", "sh", "python3", "nix", "nix-store", "nix-instantiate")


def refused(world, result, *words: str) -> None:
    stopped(result, 2, *words)
    nothing_published(world)
    assert {call[0] for call in world.calls()} <= {"auth"}


def test_refuses_without_login(world):
    (world.hub / "user").unlink()
    refused(world, world.publish(), "not currently logged in", "flox auth login")


def test_refuses_without_user_name(world):
    (world.hub / "user").write_text("")
    refused(world, world.publish(), "is logged in", "-o")


def test_refuses_without_environment(world):
    (world.checkout / ".flox/env.json").unlink()
    refused(world, world.publish(), ".flox/env.json", "-d")


def test_refuses_environment_on_floxhub(world):
    world.write(".flox/env.json", '{ "name": "toy", "owner": "alice", "version": 1 }')
    world.push()
    refused(world, world.publish(), "FloxHub", "flox pull --copy")


def test_refuses_without_repository(world):
    shutil.rmtree(world.checkout / ".git")
    refused(world, world.publish(), "in no git repository")


@pytest.mark.parametrize("removed", ["gone", "untracked"])
def test_refuses_without_lock_file(world, removed):
    lock = ".flox/env/manifest.lock"
    world.run("git", "rm", "--quiet", *(["--cached"] if removed == "untracked" else []), lock)
    world.run("git", "commit", "--quiet", "--message", "without it")
    world.run("git", "push", "--quiet")
    assert (world.checkout / lock).exists() == (removed == "untracked")
    refused(world, world.publish(), lock, "commit the file")


def test_refuses_two_targets(world):
    refused(world, world.publish(NAME, "pytorch-python313-cpu-avx"), "a second target", "one at a time")


def test_refuses_two_targets_among_options(world):
    refused(world, world.publish(NAME, "-o", "myorg", "another"), "a second target, another")


def test_refuses_without_target(world):
    result = world.publish("--evidence", str(world.folder))
    assert result.returncode == 2
    assert "NAME" in result.stderr


def test_refuses_name_that_is_no_variant(world):
    refused(world, world.publish("pytorch-python313-cpu-i386"), "pytorch-python313-cpu-i386 is not a variant")


def test_refuses_missing_recipe(world):
    other = "pytorch-python313-cpu-avx"
    refused(world, world.publish(other), f".flox/pkgs/{other}.nix", "commit it")


def test_refuses_untracked_recipe(world):
    other = "pytorch-python313-cpu-avx"
    shutil.copy(world.checkout / f".flox/pkgs/{NAME}.nix", world.checkout / f".flox/pkgs/{other}.nix")
    refused(world, world.publish(other), "missing or untracked")


@pytest.mark.parametrize("staged", [False, True])
def test_refuses_dirty_tree(world, staged):
    world.write("recipes/toy.nix", "{ }: { }\n")
    if staged:
        world.run("git", "add", "--all")
    refused(world, world.publish(), "not clean", "recipes/toy.nix", "commit or stash")


def test_refuses_unpushed_revision(world):
    world.write("README.md", "mine\n")
    world.commit("not pushed")
    refused(world, world.publish(), world.run("git", "rev-parse", "HEAD"), "is not on main", "git push")


def test_refuses_revision_removed_by_force_push(world):
    """The origin's branch was rewritten since: what the checkout remembers of it counts for nothing."""
    folder = world.folder / "other"
    world.run("git", "clone", "--quiet", world.folder / "origin.git", folder, at=world.folder)
    world.run("git", "commit", "--quiet", "--amend", "--message", "rewritten", at=folder)
    world.run("git", "push", "--quiet", "--force", at=folder)
    refused(world, world.publish(), "is not on main")


def test_refuses_branch_without_upstream(world):
    world.run("git", "branch", "--unset-upstream")
    refused(world, world.publish(), "no upstream", "git push --set-upstream origin main")


def test_refuses_detached_head(world):
    world.run("git", "checkout", "--quiet", "--detach")
    refused(world, world.publish(), "no branch is checked out", "git switch")


def test_refuses_missing_origin(world):
    (world.folder / "origin.git").rename(world.folder / "moved.git")
    refused(world, world.publish(), "cannot be cloned", "origin.git")


def test_hides_password_in_origin_address(world):
    world.run("git", "remote", "set-url", "origin", "https://alice:secret@127.0.0.1:9/toy.git")
    result = world.publish()
    refused(world, result, "cannot be cloned")
    assert "127.0.0.1:9/toy.git" in result.stdout
    assert "secret" not in result.stdout + result.stderr


# ---- variables ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["/somewhere", ""])
@pytest.mark.parametrize("variable", ["CUDA_TOOLKIT_REPO", "TOY_VARIABLE"])
def test_refuses_variable_that_recipe_reads(world, variable, value):
    result = world.publish(environment={variable: value})
    refused(world, result, f"{variable} is set", f"env -u {variable}")


def test_refuses_cuda_toolkit_repo(world):
    recipe = (world.checkout / f".flox/pkgs/{NAME}.nix").read_text()
    world.write(f".flox/pkgs/{NAME}.nix", recipe.replace('builtins.getEnv "CUDA_TOOLKIT_REPO"', '""'))
    world.push()
    refused(world, world.publish(environment={"CUDA_TOOLKIT_REPO": "/somewhere"}), "CUDA_TOOLKIT_REPO is set")


def test_accepts_variable_that_recipe_does_not_read(world):
    assert world.publish(environment={"OTHER_VARIABLE": "1"}).returncode == 0


def test_refuses_variable_with_computed_name(world):
    toy = (world.checkout / "recipes/toy.nix").read_text()
    world.write("recipes/toy.nix", toy.replace('builtins.getEnv "TOY_VARIABLE"', 'builtins.getEnv ("TOY" + "_X")'))
    world.push()
    refused(world, world.publish(), "whose name is unknown", "builtins.getEnv")


# ---- pins and locks ----------------------------------------------------------------------------------------------

VERIFIED = "// { passthru.pbprobe.nixpkgsVerified = true; }\n"


@pytest.mark.parametrize("stated", [VERIFIED.replace("true", "false"), ""])
def test_refuses_unverified_pin(world, stated):
    toy = (world.checkout / "recipes/toy.nix").read_text()
    assert VERIFIED in toy
    world.write("recipes/toy.nix", toy.replace(VERIFIED, stated))
    world.push()
    refused(world, world.publish(), "not verified", "hash = null", "pbprobe recipes lock --fill")


def test_refuses_cuda_packages_of_a_checkout(world):
    toy = (world.checkout / "recipes/toy.nix").read_text()
    stated = '// { passthru.pbprobe = { nixpkgsVerified = true; cudaToolkitRepo = "/my/checkout"; }; }\n'
    world.write("recipes/toy.nix", toy.replace(VERIFIED, stated))
    world.push()
    refused(world, world.publish(), "takes its CUDA packages from /my/checkout")


def test_refuses_catalog_reference_without_lock(world):
    recipe = world.checkout / ".flox/pkgs/other.nix"
    recipe.write_text("{ catalogs }: catalogs.alice.tool\n")
    world.push()
    refused(world, world.publish(), ".flox/pkgs/other.nix refers to catalogs", "flox build update-catalogs")
    world.write(".flox/catalog.lock", "{}")
    refused(world, world.publish(), ".flox/catalog.lock is not tracked", "commit and push it")
    world.push()
    assert world.publish().returncode == 0


def test_refuses_catalogs_of_older_flox_without_lock(world):
    world.write(".flox/nix-builds.toml", "version = 1\n")
    world.push()
    refused(world, world.publish(), ".flox/nix-builds.toml names catalogs", "flox build update-catalogs")
    world.write(".flox/nix-builds.lock", "{}")
    world.push()
    assert world.publish().returncode == 0


@pytest.mark.parametrize("text", ["# catalogs.alice\n{ }: { }", '{ }: "catalogs.alice"', "{ a }: a.catalogs.alice"])
def test_accepts_text_that_only_resembles_a_catalog(world, text):
    world.write(".flox/pkgs/other.nix", text)
    world.push()
    assert world.publish().returncode == 0


# ---- tools and usage ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("missing", "way_out"),
    [("flox", "install flox"), ("nix", "install Nix"), ("nix-store", "install Nix"), ("git", "install git")],
)
def test_refuses_if_tool_is_missing(world, missing, way_out):
    programs = world.folder / "few"
    programs.mkdir()
    (programs / "flox").symlink_to(world.folder / "bin/flox")
    for name in LINKED:
        (programs / name).symlink_to(sys.executable if name == "python3" else shutil.which(name))
    (programs / missing).unlink()
    refused(world, world.publish(environment={"PATH": str(programs)}), f"no {missing} on PATH", way_out)


def test_refuses_without_pbprobe(world):
    copy = world.folder / "copy/ci"
    shutil.copytree(SOURCE / "ci", copy)
    result = world.publish(environment={"PBPROBE": ""}, program=copy / "publish")
    refused(world, result, "no pbprobe", "make build")


@pytest.mark.parametrize("option", ["--evidence", "--store=x", "--require"])
def test_requires_own_options_before_name(world, option):
    refused(world, world.publish(NAME, option, "x"), "stands before")


def test_refuses_option_without_value(world):
    refused(world, world.publish(NAME, "-o"), "-o wants a value")


def test_help_has_examples(world):
    result = world.publish("--help")
    assert result.returncode == 0
    for word in ("examples:", "ci/publish pytorch-python313-cuda13_0-sm121-armv9", "exit codes:", "--evidence"):
        assert word in result.stdout
