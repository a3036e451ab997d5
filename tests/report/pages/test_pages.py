# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Pages of pbprobe in a real Chromium: what is seen, by whom, and what a stranger's names can do there.

PBPROBE_SCREENSHOTS=FOLDER keeps pictures.
"""

import json
import os
import pathlib
import subprocess

import chromium
import documents
import pytest

PROGRAM = pathlib.Path(os.environ.get("PBPROBE_TEST_BUILD", documents.SOURCE / "build")) / "bin/pbprobe"
MOST_BYTES = 500_000
WIDTHS = (400, 800, 1280)


@pytest.fixture(scope="session")
def window():
    if why := chromium.missing():
        if os.environ.get("PBPROBE_REQUIRE_PAGES"):
            pytest.fail(why)
        pytest.skip(why)
    with chromium.browser() as page:
        yield page


def written(folder, document, *command):
    (folder / "document.json").write_text(json.dumps(document))
    page = folder / "page.html"
    words = command or ("report", folder / "document.json")
    result = subprocess.run([PROGRAM, *words, "--format", "html", "--output", page], capture_output=True, text=True)
    assert page.exists(), result.stderr
    return page


@pytest.fixture(scope="session")
def rich(tmp_path_factory):
    return written(tmp_path_factory.mktemp("rich"), documents.rich())


def keep(page, name):
    if folder := os.environ.get("PBPROBE_SCREENSHOTS"):
        page.screenshot(pathlib.Path(folder) / f"{name}.png")


@pytest.fixture(scope="session")
def comparison(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compare")
    for name, factor in (("before", 1.0), ("after", 1.4)):
        report = documents.rich()
        for row in report["measurements"]["rows"][:3]:
            row["samples_us"] = [factor * us for us in row["samples_us"]]
        (folder / f"{name}.json").write_text(json.dumps(report))
    return written(folder, {}, "compare", folder / "before.json", folder / "after.json")


AXE = """axe.run(document, {resultTypes: ['violations']}).then(
  r => r.violations.map(v => v.id + ': ' + v.nodes.map(n => n.html).slice(0, 3).join(' | ')))"""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_page_passes_axe_and_console(window, rich, width, dark):
    page = window.open(rich, width=width, dark=dark)
    assert page.complaints == []
    assert page.requests == [rich.resolve().as_uri()], "nothing is fetched"
    keep(page, f"report-{width}-{'dark' if dark else 'light'}")
    # Injected by the debugging protocol: the page's own policy runs no other script.
    page.evaluate(chromium.axe_source() + ";0")
    assert page.evaluate(AXE) == []
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), "only tables and pictures scroll"


def test_axe_finds_planted_fault(window, rich):
    page = window.open(rich)
    page.evaluate("document.querySelector('section').append(document.createElement('button'))")
    page.evaluate(chromium.axe_source() + ";0")
    assert any(found.startswith("button-name") for found in page.evaluate(AXE))


def test_renders_comparison(window, comparison):
    page = window.open(comparison)
    assert page.complaints == []
    keep(page, "compare-1280-light")
    page.evaluate(chromium.axe_source() + ";0")
    assert page.evaluate(AXE) == []
    assert "slower" in page.evaluate("document.body.textContent")


def merged(folder, reports):
    (folder / "nodes").mkdir()
    for i, document in enumerate(reports):
        (folder / "nodes" / f"{i:04d}.json").write_text(json.dumps(document))
    page = folder / "page.html"
    subprocess.run([PROGRAM, "merge", folder / "nodes", "--html", page], capture_output=True, check=False)
    return page


@pytest.fixture(scope="session")
def fleet(tmp_path_factory):
    return merged(tmp_path_factory.mktemp("fleet"), documents.fleet())


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_renders_fleet(window, fleet, width, dark):
    page = window.open(fleet, width=width, dark=dark)
    assert page.complaints == [] and page.requests == [fleet.resolve().as_uri()]
    keep(page, f"fleet-{width}-{'dark' if dark else 'light'}")
    page.evaluate(chromium.axe_source() + ";0")
    assert page.evaluate(AXE) == []
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), "only tables and pictures scroll"


FIELDS = """[...document.querySelectorAll('table.heat')].map(t => [...t.querySelectorAll('td.bad')].map(
  c => [c.closest('tr').querySelector('th').textContent, t.querySelectorAll('thead th')[c.cellIndex].textContent]))"""


def test_fleet_shows_all_kinds_of_faults(window, fleet):
    page = window.open(fleet, scripts=False)  # the page needs none
    nodes, links = page.evaluate(FIELDS)
    marks = [(node, column) for node, column in map(tuple, nodes) if column != "outcome"]
    assert marks == [("node03", "gemm_bf16_tflops"), ("node03", "late")]
    assert {node for node, column in map(tuple, nodes) if column == "outcome"} == {"node03", "node05", "node07"}
    assert links == [["18 node09", "22"]]
    text = page.evaluate("document.body.textContent")
    assert "node07: nccl 2.27.3; 11 others 2.28.9" in text and "(1.1 % lost)" in text
    lines = page.evaluate("[...document.querySelectorAll('ul.key')].pop().textContent")
    assert lines.startswith("median of all") and "node03 rank 7" in lines
    assert fleet.stat().st_size < MOST_BYTES


def test_fleet_page_escapes_markup_in_names(window, tmp_path):
    reports = documents.fleet(nodes=10)
    for i, document in enumerate(reports):
        document["host"] = f"{documents.MARKUP}{documents.ENDS}{i}"
        document["ranks"][0]["device"] = documents.MARKUP
    page = window.open(merged(tmp_path, reports))
    assert page.evaluate("window.owned") is None and page.complaints == []


def test_page_is_small_and_shows_verdict_first(window, rich):
    assert rich.stat().st_size < MOST_BYTES
    page = window.open(rich)
    assert page.evaluate("document.querySelector('main').firstElementChild.textContent").startswith("✓ PASS")
    asked = page.evaluate("[...document.querySelectorAll('.answers dt')].map(x => x.textContent)")
    assert asked == ["Does it work?", "Is it native?", "Is it fast?", "What do I do?", "What do I paste?"]
    assert page.evaluate("document.querySelector('.answers').getBoundingClientRect().bottom") < 900, "the first screen"


FIGURES = """[...document.querySelectorAll('td[data-value]')].map(
  c => [c.closest('table').caption.textContent, Number(c.dataset.value), c.textContent])"""


def shown(value, text):
    """Reports whether the text shows the figure to its printed precision: "742.0 TFLOP/s", "1.04\u00d7"."""
    number, _, unit = text.partition(" ")
    digits = number.rstrip("\u00d7")
    scale = {"%": 100, "TFLOP/s": 1e-3, "Top/s": 1e-3}.get(unit, 1)
    return abs(float(digits) - value * scale) <= 0.51 * 10.0 ** -len(digits.partition(".")[2])


def test_figures_match_embedded_json(window, rich):
    page = window.open(rich)
    data = json.loads(page.evaluate("document.getElementById('pbprobe-data').textContent"))
    given = documents.rich()
    for key in ("measurements", "baseline"):
        assert {k: v for k, v in data[key].items() if k in given[key]} == given[key]
    figures = page.evaluate(FIGURES)
    on_page = {value for _, value, _ in figures}
    of_json = {row["gflops"] for row in given["measurements"]["rows"]}
    of_json |= {figure["gflops"] for figure in given["measurements"]["libtorch"]["figures"]}
    of_json |= {gain[key] for gain in given["baseline"]["gains"] for key in ("gain", "low", "high")}
    assert of_json <= on_page
    assert [figure for figure in figures if not shown(*figure[1:])] == []


def test_warns_about_point_above_roof(window, tmp_path, rich):
    assert window.open(rich).evaluate("document.querySelectorAll('.defect').length") == 0
    page = window.open(written(tmp_path, documents.above_its_roof()))
    keep(page, "above")
    assert "2 of 8 figures are above their roof" in page.evaluate("document.querySelector('.defect').textContent")
    assert page.evaluate("document.querySelectorAll('svg .sbad title').length") == 2


def test_names_with_markup_are_inert(window, tmp_path):
    page = window.open(written(tmp_path, documents.hostile()))
    assert page.complaints == []
    assert page.evaluate("window.owned === undefined")
    assert (
        page.evaluate(
            "document.querySelectorAll('img, iframe, object, [onload], [onerror], a[href]:not(.skip)').length"
        )
        == 0
    )
    assert page.evaluate("document.scripts.length") == 2
    assert "<script>window.owned" in page.evaluate("document.body.innerText"), "it is shown as what it is"
    assert "\u202e" not in page.evaluate("document.body.textContent.split('{\"schema\"')[0]")
    json.loads(page.evaluate("document.getElementById('pbprobe-data').textContent"))


def test_policy_blocks_other_scripts(window, rich, tmp_path):
    planted = tmp_path / "planted.html"
    planted.write_text(rich.read_text().replace("</main>", "<script>window.owned = 1</script></main>"))
    page = window.open(planted)
    assert page.evaluate("window.owned === undefined")
    assert page.complaints != []


def test_shows_same_text_without_scripts(window, rich):
    page = window.open(rich)
    page.evaluate("document.querySelectorAll('.filter').forEach(label => label.remove())")
    with_scripts = page.evaluate("document.querySelector('main').textContent")
    page = window.open(rich, scripts=False)
    assert page.evaluate("document.querySelectorAll('button').length") == 0
    assert page.evaluate("document.querySelector('main').textContent") == with_scripts


def test_page_sorts_and_filters_by_keyboard(window, rich):
    page = window.open(rich)
    tables = "[...document.querySelectorAll('table')]"
    rates = f"{tables}.find(t => t.caption.textContent.startsWith('✓ marks')).tBodies[0].rows"
    column = f"[...{rates}].map(r => Number(r.querySelector('td[data-value]').dataset.value))"
    head = f"[...{rates}[0].closest('table').tHead.querySelectorAll('button')].find(b => b.textContent === 'rate')"
    page.evaluate(f"{head}.focus()")
    page.press("Enter", 13)
    assert page.evaluate(column) == sorted(page.evaluate(column))
    page.press("Enter", 13)
    assert page.evaluate(column) == sorted(page.evaluate(column), reverse=True)
    assert page.evaluate(f"{head}.closest('th').getAttribute('aria-sort')") == "descending"


def test_print_shows_folded_sections(window, rich):
    page = window.open(rich, media="print")
    seen = "[...document.querySelectorAll('details .scroll')].every(d => d.checkVisibility())"
    assert page.evaluate(seen)
    assert not window.open(rich).evaluate(seen)
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(246, 247, 249)"
