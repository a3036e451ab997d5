# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Exceptions for problems other than findings about a build."""

from __future__ import annotations


class Error(Exception):
    """pbprobe could not run: its words say what was tried, what was seen, and the way out."""


class VerdictError(Error):
    """A verdict that is not pass, by `raise_for_verdict()`."""
