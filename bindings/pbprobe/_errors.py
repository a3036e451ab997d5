# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Exceptions for problems other than findings about a build."""

from __future__ import annotations


class Error(Exception):
    """pbprobe could not run. The message has the attempt, the observation and the fix."""


class VerdictError(Error):
    """A verdict that is not pass, by `raise_for_verdict()`."""
