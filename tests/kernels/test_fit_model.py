# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""pbprobe_fit_model on samples of an H200 (fit/h200.json, of tools/measure-candidates), and on files that have none.

test_fit_model.py PROGRAM
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
FITS = HERE.parents[1] / "kernels" / "dispatch" / "fits.inc"


def read_samples(shapes=None):
    """Returns the samples. A fit of all shapes takes seconds; what a test writes needs only one."""
    samples = json.loads((HERE / "fit" / "h200.json").read_text())
    samples["shapes"] = samples["shapes"][:shapes]
    return samples


def run(program, *arguments):
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=False)


def test_fit_lowers_the_loss_and_replaces_the_row(program, folder):
    fits = folder / "fits.inc"
    shutil.copy(FITS, fits)
    samples = read_samples()
    (folder / "samples.json").write_text(json.dumps(samples))
    done = run(program, folder / "samples.json", "--write", fits)
    assert done.returncode == 0, done.stderr
    before, after = (float(loss) for loss in re.findall(r"mean ([\d.]+) %", done.stdout))
    assert after < before, done.stdout
    assert fits.read_text().count(samples["device"]["name"]) == 1
    assert fits.read_text().count(".device = ") == FITS.read_text().count(".device = ")
    assert fits.read_text() != FITS.read_text()
    # A device without a row gets one; the others stay.
    samples = read_samples(shapes=1)
    samples["device"]["name"] = "an unknown card"
    (folder / "samples.json").write_text(json.dumps(samples))
    assert run(program, folder / "samples.json", "--write", fits).returncode == 0
    assert fits.read_text().count(".device = ") == FITS.read_text().count(".device = ") + 1


def test_rejects_files_without_samples(program, folder):
    broken = folder / "broken.json"
    broken.write_text("{}")
    unknown = folder / "unknown.json"
    unknown.write_text((HERE / "fit" / "h200.json").read_text().replace('"type": "bf16"', '"type": "bf17"'))
    for file in (folder / "missing.json", broken, unknown):
        done = run(program, file)
        assert done.returncode == 2, done.stdout
        assert "measure-candidates" in done.stderr


def test_reports_fits_that_cannot_be_written(program, folder):
    (folder / "samples.json").write_text(json.dumps(read_samples(shapes=1)))
    done = run(program, folder / "samples.json", "--write", folder / "missing.inc")
    assert done.returncode == 2, done.stdout
    assert "missing.inc: cannot be read or written" in done.stderr
    assert not (folder / "missing.inc").exists()


if __name__ == "__main__":
    for test in (
        test_fit_lowers_the_loss_and_replaces_the_row,
        test_rejects_files_without_samples,
        test_reports_fits_that_cannot_be_written,
    ):
        with tempfile.TemporaryDirectory() as folder:
            test(sys.argv[1], Path(folder))
