# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""A report in a notebook, executed by a real kernel: its page is shown, and nothing is printed."""

import sys

import pytest

nbformat = pytest.importorskip("nbformat", reason="nbclient is not installed: make setup")
nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed: make setup")
pytest.importorskip("ipykernel", reason="ipykernel is not installed: make setup")


def test_shows_the_page_in_a_cell_and_prints_nothing(build, sound, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(build / "python"))
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    code = f"import sys; assert sys.executable == {sys.executable!r}\nimport pbprobe\n"
    code += f"pbprobe.report({str(sound)!r}, budget=1)"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    outputs = notebook.cells[0].outputs
    assert [output.output_type for output in outputs] == ["execute_result"]
    assert outputs[0].data["text/html"].startswith("<iframe sandbox ")
    assert "torch 2.10.0" in outputs[0].data["text/html"]
    assert outputs[0].data["text/plain"].startswith("<pbprobe.Report: ")
