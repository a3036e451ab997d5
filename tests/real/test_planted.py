# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Faults in a real environment: `pbprobe report` has one finding with the right fix for each, and none without a fault.

PBPROBE_TEST_ENVIRONMENTS names a sound environment first: torch 2.11 with torchvision, triton, xformers, bitsandbytes.
PBPROBE_TEST_MISMATCHED names an environment with packages for another torch. Faults are planted in, and removed from, a
copy that shares the files; no shared file is changed.
"""

import contextlib
import dataclasses
import json
import os
import pathlib
import shutil
import subprocess

import pytest
from made import OUT, PROGRAM, SOURCE, made, nvcc

ENVIRONMENTS = [pathlib.Path(path) for path in os.environ.get("PBPROBE_TEST_ENVIRONMENTS", "").split(":") if path]
MISMATCHED = os.environ.get("PBPROBE_TEST_MISMATCHED", "")
GB10 = json.loads((SOURCE / "tests/core/host/gb10_host.json").read_text())
OF_THE_ENVIRONMENT = ("PB16", "PB170", "PB178", "PB53")
PTXAS = "triton/backends/nvidia/bin/ptxas"

pytestmark = pytest.mark.skipif(not ENVIRONMENTS, reason="PBPROBE_TEST_ENVIRONMENTS names no environment")


def gpu(name, capability):
    return GB10["gpus"][0] | {"name": name, "capability": capability, "target": "sm" + capability.replace(".", "")}


@dataclasses.dataclass(frozen=True)
class Copied:
    place: pathlib.Path
    host: pathlib.Path
    variables: dict[str, str]

    @property
    def site(self):
        return next(self.place.glob("lib/python3*/site-packages"))

    def findings(self, name="NVIDIA H100", capability="9.0"):
        """Returns the findings of this machine as if it had that GPU."""
        own = json.loads(subprocess.run([PROGRAM, "host", "--format", "json"], capture_output=True, check=True).stdout)
        driver = GB10["driver"] | {"cuda_version": "13.0"}
        self.host.write_text(json.dumps(own | {"gpus": [gpu(name, capability)], "driver": driver}))
        command = [PROGRAM, "report", self.place, "--host", self.host, "--format", "json"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=self.variables)
        assert done.returncode in (0, 1), done.stderr
        found = json.loads(done.stdout)["verdict"]["findings"]
        return [one for one in found if one["id"].startswith(OF_THE_ENVIRONMENT) and one["severity"] != "note"]

    @contextlib.contextmanager
    def without(self, *names):
        """Removes these paths of site-packages, and restores them."""
        away = self.place.parent / "away"
        for name in names:
            (away / name).parent.mkdir(parents=True, exist_ok=True)
            (self.site / name).rename(away / name)
        yield away
        for name in names:
            shutil.rmtree(self.site / name, ignore_errors=True)
            (self.site / name).unlink(missing_ok=True)
            (away / name).rename(self.site / name)

    def list_files(self, package):
        return [path.name for path in self.site.iterdir()
                if path.name == package or path.name.startswith((f"{package}-", f"{package}."))]  # fmt: skip

    @contextlib.contextmanager
    def unrecorded(self, package, *names):
        """Removes the files, and their digests from the package's RECORD."""
        record = next(self.site.glob(f"{package}-*.dist-info")).name + "/RECORD"
        with self.without(record, *names) as away:
            lines = [line for line in (away / record).read_text().splitlines() if line.split(",")[0] not in names]
            (self.site / record).write_text("\n".join([*lines, *(f"{name},," for name in names)]) + "\n")
            yield away

    @contextlib.contextmanager
    def replaced(self, package, other):
        """Replaces the package by the package of another environment."""
        [site] = pathlib.Path(other).glob("lib/python3*/site-packages")
        with self.without(*self.list_files(package)):
            there = Copied(pathlib.Path(other), self.host, self.variables).list_files(package)
            for name in there:
                shutil.copytree(site / name, self.site / name, copy_function=os.link, symlinks=True)
            yield
            for name in there:
                shutil.rmtree(self.site / name)

    @contextlib.contextmanager
    def add_cubin(self, cubin):
        folder, info = (self.site / name for name in ("cubins", "cubins-1.0.dist-info"))
        folder.mkdir()
        shutil.copyfile(cubin, folder / "kernel.cubin")
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: cubins\nVersion: 1.0\n")
        (info / "RECORD").write_text(f"cubins/kernel.cubin,,\n{info.name}/METADATA,,\n{info.name}/RECORD,,\n")
        yield
        shutil.rmtree(info)
        shutil.rmtree(folder)


@pytest.fixture(scope="module")
def copied(tmp_path_factory):
    folder = tmp_path_factory.mktemp("environment")
    place = folder / "venv"
    subprocess.run(["cp", "-al", ENVIRONMENTS[0], place], check=True)
    cache = folder / "cache"
    cache.mkdir(mode=0o700)
    yield Copied(place, folder / "host.json", {**os.environ, "XDG_CACHE_HOME": str(cache)})
    shutil.rmtree(place)


@pytest.fixture
def mismatched():
    return MISMATCHED or pytest.skip("PBPROBE_TEST_MISMATCHED names no environment")


def only(findings):
    assert len(findings) == 1, [(one["id"], one["what"]) for one in findings]
    return findings[0]


def installs_again(finding, copied, package):
    pip = f"{copied.place}/bin/python -m pip install --force-reinstall --no-deps"
    assert finding["remedy"].startswith(f"{pip} {package}==")


@pytest.fixture(scope="module")
def sound(copied):
    """Returns findings without a fault, such as xformers 0.0.35 for CUDA 12 beside a torch for CUDA 13."""
    return {one["what"] for one in copied.findings()}


def planted(copied, sound, *machine):
    return [one for one in copied.findings(*machine) if one["what"] not in sound]


def test_finds_only_true_faults_in_a_sound_environment(sound):
    assert all(what.startswith("xformers 0.0.35") and "libcudart.so.12" in what for what in sound), sound


@pytest.mark.parametrize("package", ["torchvision", "xformers"])
def test_finds_a_package_of_another_torch(copied, sound, mismatched, package):
    with copied.replaced(package, mismatched):
        found = only(planted(copied, sound))
    assert (found["id"], found["severity"], found["distribution"]) == ("PB163", "fail", package)
    assert "the package loads only with torch 2.9" in found["what"]
    command = f"pip install --upgrade {package} torch==2.11.0"
    assert found["remedy"].startswith(f"install the {package} that is made for this torch: {command}")


def test_finds_an_overwritten_cublaslt(copied, sound):
    [file] = copied.site.glob("nvidia/**/libcublasLt.so.*")
    name = str(file.relative_to(copied.site))
    with copied.without(name) as away:
        shutil.copyfile(away / name, file)
        with file.open("r+b") as content:
            content.seek(-1, os.SEEK_END)
            content.write(b"\1")
        found = only(planted(copied, sound))
    assert (found["id"], found["severity"]) == ("PB168", "fail")
    assert f"{name} has another SHA-256 than its RECORD" in found["what"]
    installs_again(found, copied, "nvidia-cublas")


def test_finds_a_missing_ptxas(copied, sound):
    with copied.without(PTXAS):
        found = only(planted(copied, sound))
    assert (found["id"], found["severity"], found["distribution"]) == ("PB168", "fail", "triton")
    assert PTXAS in found["what"]
    installs_again(found, copied, "triton")


def test_finds_a_package_without_this_sm(copied, sound):
    """bitsandbytes as a build for 8.0 only leaves it, and its twin for 9.0."""
    libraries = [str(file.relative_to(copied.site)) for file in copied.site.glob("bitsandbytes/lib*cuda*.so")]
    assert libraries
    source = SOURCE / "tests/audit/planted/unit.cu"
    for sm, expected in (("sm_80", ["PB169"]), ("sm_90", [])):
        built = made(f"{sm}.so", nvcc(), "-shared", "-Xcompiler=-fPIC", "-DNAME=kernel", "-gencode",
                     f"arch=compute_{sm[3:]},code={sm}", source, "-o", OUT)  # fmt: skip
        with copied.unrecorded("bitsandbytes", *libraries):
            for name in libraries:
                shutil.copyfile(built, copied.site / name)
            found = planted(copied, sound)
        assert [one["id"] for one in found] == expected, [one["what"] for one in found]
        if found:
            assert (found[0]["severity"], found[0]["distribution"]) == ("fail", "bitsandbytes")
            assert found[0]["what"].endswith(
                "holds no device code that runs on GPU 0 NVIDIA H100 (9.0): its device code is sm_80"
            )
            assert "TORCH_CUDA_ARCH_LIST=9.0" in found[0]["remedy"]


def test_finds_a_package_of_cubins_without_this_sm(copied, sound):
    source = SOURCE / "tests/audit/planted/unit.cu"

    def cubin(sm):
        return made(f"{sm}.cubin", nvcc(), "-cubin", "-DNAME=kernel", f"-arch={sm}", source, "-o", OUT)

    with copied.add_cubin(cubin("sm_80")):
        found = only(planted(copied, sound))
    assert (found["id"], found["distribution"]) == ("PB169", "cubins")
    assert found["what"].endswith("its device code is sm_80")
    with copied.add_cubin(cubin("sm_90")):
        assert planted(copied, sound) == []


def test_finds_a_module_of_another_processor(copied, sound):
    """Changes only the processor in the header, as after an rsync from another machine."""
    [file] = copied.site.glob("torchvision/_C*.so")
    name = str(file.relative_to(copied.site))
    with copied.unrecorded("torchvision", name) as away:
        content = bytearray((away / name).read_bytes())
        machine = 18
        content[machine : machine + 2] = (183 if content[machine] == 62 else 62).to_bytes(2, "little")
        file.write_bytes(content)
        found = only(planted(copied, sound))
    assert (found["id"], found["severity"], found["distribution"]) == ("PB178", "fail", "torchvision")
    installs_again(found, copied, "torchvision")
