# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Properties of wheel variants (PEP 817 and 825, drafts), as variantlib and its providers know them."""

import platform

import pytest
from test_cli import run

models = pytest.importorskip("variantlib.models.variant")
PROVIDERS = {"x86_64": ("provider_variant_x86_64.plugin", "X8664Plugin"),
             "aarch64": ("provider_variant_aarch64.plugin", "AArch64Plugin")}  # fmt: skip


# Features that the first level of the architecture implies.
OF_EVERY_CPU = {"mmx", "sse", "sse2", "cx16", "lahf_lm", "xsave", "fp", "asimd", "cpuid", "evtstrm"}


@pytest.fixture(scope="module")
def provider():
    if platform.machine() not in PROVIDERS:
        pytest.skip(f"no provider knows {platform.machine()}")
    module, name = PROVIDERS[platform.machine()]
    return getattr(pytest.importorskip(module), name)()


@pytest.fixture(scope="module")
def stated():
    return [models.VariantProperty.from_str(line) for line in run("host", "--format", "variant").stdout.splitlines()]


def test_states_the_findings_of_the_provider(provider, stated):
    """The provider looks up the CPU by name, and lists only the features of its level for an unknown CPU."""
    found = {config.name for config in provider.get_supported_configs(None)} - OF_EVERY_CPU - {"level"}
    assert found - {one.feature for one in stated} == set()


def test_its_levels_are_the_provider_s(provider, stated):
    configs = {config.name: config.values for config in provider.get_supported_configs(None)}
    if "level" not in configs:
        pytest.skip("the provider finds no level here")
    assert [one.value for one in stated if one.feature == "level"] == configs["level"]


def test_writes_valid_properties_for_each_provider(provider, stated):
    def valid(one):
        return one.namespace != provider.namespace or provider.validate_property(one)

    assert [one.to_str() for one in stated if not valid(one)] == []
