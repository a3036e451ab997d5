# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""python -m pbprobe.speed: our operators beside torch's own."""

import pytest

pytest.importorskip("torch", reason="operators need a torch: `make test` installs one")
pytest.importorskip("pbprobe.ops", reason="built without a torch", exc_type=ImportError)

from pbprobe import speed

pytestmark = pytest.mark.filterwarnings("ignore:Failed to initialize NumPy")


def test_speed_prints_the_hosts_time():
    head, _, *rows = speed.host_rows(["cpu"], 100, ("eager",))
    assert len(rows) == 3
    for row in rows:
        assert row.count("|") == head.count("|")
        assert all(float(cell) > 0 for cell in row.split("|")[-5:-1])


def test_speed_prints_a_row_for_each_product(monkeypatch):
    shapes = [("linear", "float32", 3, 40, 50), ("mm", "bfloat16", 30, 40, 50), ("mm", "int8", 30, 40, 48)]
    monkeypatch.setattr(speed, "SHAPES", shapes)
    head, rule, *rows = speed.rows(["cpu"], 0.01)
    assert rule.count("|") == head.count("|")
    assert len(rows) == len(shapes)
    for row in rows:
        assert row.count("|") == head.count("|")
        assert float(row.split("|")[-2]) > 0
