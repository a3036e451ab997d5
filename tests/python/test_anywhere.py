# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""The package in unusual surroundings: locales, folders, threads, event loops, forks, ZIP files."""

import shutil
import subprocess
import sys
import zipfile

import pytest

ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
JUDGED = """
import os, sys, pbprobe
report = pbprobe.gate(sys.argv[1], "avx2,torch=2.10.0")
print(ascii(report.to_dict()["inventory"]["artifact"]), report.verdict)
"""
BESIDE = """
import asyncio, multiprocessing, os, sys, threading, pbprobe

def layout(found=None):
    value = pbprobe.audit(sys.argv[1])["layout"]
    return value if found is None else found.append(value)

if __name__ == "__main__":
    found = []
    threads = [threading.Thread(target=layout, args=(found,)) for _ in range(4)]
    for one in threads: one.start()
    for one in threads: one.join()

    async def main():
        return [layout(), await asyncio.to_thread(layout)]

    found += asyncio.run(main())
    for how in ("fork", "spawn", "forkserver"):
        with multiprocessing.get_context(how).Pool(1) as pool: found.append(pool.apply(layout))
    print(len(found), set(found))
"""


@pytest.fixture
def elsewhere(build, tmp_path):
    """The package in a folder whose name has a space and letters that ASCII lacks."""
    folder = tmp_path / "Ä ж" / "site"
    shutil.copytree(build / "python/pbprobe", folder / "pbprobe", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def run(command, **environment):
    return subprocess.run(
        list(map(str, command)),
        env={"PATH": "/usr/bin:/bin", **{key: str(value) for key, value in environment.items()}},
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("locale", [ASCII, {"LC_ALL": "C.UTF-8"}, {}], ids=["ascii", "utf8", "none"])
def test_names_that_the_locale_lacks(elsewhere, sound, tmp_path, locale):
    artifact = tmp_path / "Ü ж"
    shutil.copytree(sound, artifact)
    judged = run([sys.executable, "-c", JUDGED, artifact], PYTHONPATH=elsewhere, **locale)
    assert judged.returncode == 0, judged.stderr
    assert judged.stdout.split("' ")[0] == ascii(str(artifact))[:-1]


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_shows_a_report_on_any_output(build, encoding):
    code = (
        "import json, sys, pbprobe, pbprobe._functions as f\n"
        "f.render = lambda *_, **__: 'libc10.so \\u2026 0.97 \\u00d7\\n'\n"
        "f.make_report_document = lambda **_: ({'problems': []}, True)\n"
        "f._with_missing_kernels = lambda document: document\n"
        "pbprobe.report('.', show=True)"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(build / "python"), "PYTHONIOENCODING": encoding, "PATH": "/usr/bin:/bin"},
        capture_output=True,
        check=False,
    )
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout == "libc10.so … 0.97 \u00d7\n".encode(encoding, "replace")


def test_names_the_remedy_in_a_zip_file(build, tmp_path):
    with zipfile.ZipFile(tmp_path / "app.pyz", "w") as archive:
        for file in (build / "python/pbprobe").rglob("*.py"):
            archive.write(file, f"pbprobe/{file.relative_to(build / 'python/pbprobe')}")
        archive.writestr("__main__.py", "from pbprobe.__main__ import main\nmain()\n")
    for command in ([tmp_path / "app.pyz", "--version"], ["-c", "import pbprobe; pbprobe.host()"]):
        done = run([sys.executable, *command], PYTHONPATH=tmp_path / "app.pyz")
        assert done.returncode == 1
        assert done.stderr.splitlines()[-1].endswith("install it by pip, or unpack the file")


def test_runs_in_threads_loops_and_other_processes(build, sound, tmp_path):
    script = tmp_path / "beside.py"
    script.write_text(BESIDE)
    done = run([sys.executable, script, sound], PYTHONPATH=build / "python")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "9 {'site-packages'}\n"


@pytest.mark.parametrize("option", ["-O", "-OO", "-I", "-Xdev", "-Werror"])
def test_runs_by_an_interpreter_with_options(build, sound, option):
    code = f"import sys; sys.path.insert(0, {str(build / 'python')!r})\n"
    code += "import pbprobe; print(pbprobe.audit(sys.argv[1])['layout'])"
    done = run([sys.executable, option, "-c", code, sound], PYTHONSAFEPATH=1)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "site-packages\n"


def test_runs_without_a_home_and_streams(build, sound, tmp_path):
    code = f"import pbprobe; print(pbprobe.audit({str(sound)!r})['layout'], file=open({str(tmp_path / 'seen')!r}, 'w'))"
    words = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", sys.executable, "-c", code]
    assert run(words, PYTHONPATH=build / "python").returncode == 0
    assert (tmp_path / "seen").read_text() == "site-packages\n"
