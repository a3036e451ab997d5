# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
import shutil

import builds
import pytest


@pytest.fixture(scope="session", autouse=True)
def _scratch():
    yield
    shutil.rmtree(builds.scratch())
