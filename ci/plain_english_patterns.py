# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Patterns of ci/plain-english: text kinds, regular expression, replacement, and one example each.

Text kinds: comment (also docstrings), doc (Markdown prose), message (string literals), field (descriptions of JSON
fields), test (test names), name (function names).
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Example(NamedTuple):
    """One text that the pattern finds, and the same fact in plain English."""

    kind: str
    bad: str
    good: str


class Pattern(NamedTuple):
    """A sentence or name pattern that the project does not use."""

    kinds: tuple[str, ...]
    regex: re.Pattern[str]
    instead: str
    example: Example


def pattern(kinds: str, regex: str, instead: str, example: tuple[str, str, str]) -> Pattern:
    """Compiles `regex`, which applies to texts of the space-separated `kinds`."""
    return Pattern(tuple(kinds.split()), re.compile(regex), instead, Example(*example))


SENTENCE = r"(?:^|(?<=[.;:!] ))"  # the place where a sentence or a clause begins
PROSE = "comment doc message field"
NO_TAIL = r"(?! (?:a|an|any|no|is|are|was|were|some|one|enough|room|nothing|to|may|must|can|should)\b)"
PREPOSITION = r"(?:of|in|on|at|by|for|from|with|to|under|beside|against|than|as)"

PATTERNS = {
    "opener": pattern(
        "comment field",
        r"(?i)^(?:what|of|that|those|these|the same|where|whether|as|else|none|each|which|who|whose|how|why|by|its|it"
        r"|nothing|nobody|null|errors?|empty)\b(?!-)",
        "Start with a verb (function), a noun phrase (type, field), or a cause (why-comment).",
        ("comment", "Of this machine's CPUs.", "Returns the CPUs of this machine."),
    ),
    "null-colon": pattern(
        "comment field",
        r"\b(?:[Nn]ull|[Ee]mpty|[Nn]othing|[Nn]one): (?=\w)",
        "Returns std::nullopt if …",
        ("comment", "The driver's version; null: no driver.", "Driver version; nullopt if no driver is installed."),
    ),
    "where-if": pattern(
        PROSE,
        r"\b[Ww]here (?=(?:there|it|they|nothing|nobody|none|no|neither|one|that|those|this|these|both|either)\b)",
        "if …",
        ("comment", "Returns null where there is no GPU.", "Returns null if the machine has no GPU."),
    ),
    "of-first": pattern(
        PROSE + " test",
        SENTENCE + r"[Oo]f (?!course)(?=\w)|^Of[A-Z]|(?<=\.)Of[A-Z]|^test_of_",
        "Put the subject first: `X holds …`, `the … of X`.",
        ("doc", "Of a document too only the files count.", "pbprobe judges only the files of a document."),
    ),
    "what-subject": pattern(
        PROSE + " test",
        SENTENCE + r"What (?=[^?]*$|[^?.]*[.])|(?<=\.)What[A-Z]|^test_what_",
        "Name the thing: `Code that …`, `Files that …`.",
        ("doc", "What the driver refuses is reported.", "Code that the driver refuses is reported."),
    ),
    "that-of": pattern(
        PROSE,
        r"(?<![Aa]ll )(?<![Ss]o )\b(?:[Tt]hat|[Tt]hose|[Tt]he one|[Tt]he ones) "
        r"(?:of|in|from|with|without|for|on|before|after)\b"
        r"(?! th(?:at|is)\b)",
        "Repeat the noun.",
        (
            "comment",
            "Compares the digest with that of the record.",
            "Compares the digest with the digest of the record.",
        ),
    ),
    "is-there": pattern(
        PROSE + " test name",
        r"\b(?:is|are|was|were|be|been|stays?) (?:not |no longer |also |still |all |already |only )?(?:there|here)\b"
        + NO_TAIL
        + r"|\b(?:is|are|was|were) none\b(?! of (?:the|these|them|its|our)\b)"
        r"|(?:Is|Are|Was|Were)(?:Not)?(?:There|Here|None)(?![a-z])|_(?:is|are|was|were)(?:_not)?_(?:there|here|none)(?:_|$)",
        "exists; is missing; is installed; is not a …; there is no ….",
        ("message", "the library is not there", "the library is missing"),
    ),
    "stands-lies": pattern(
        PROSE + " test",
        r"\b(?:[Ss]tands?|[Ss]tood)\b(?! for\b| in for\b|-)|\b(?:[Ll]ies|[Ll]ie)\b"
        r"|(?:Stands?|(?<![a-z])Lies?)(?![a-z])|_(?:stands?|lies?)(?:_|$)",
        "is in; is at; appears; is listed; is stored; is laid out.",
        ("doc", "The record lies beside the kernel.", "The record is stored next to the kernel."),
    ),
    "says-so": pattern(
        PROSE + " test",
        r"\b(?:says?|said|tells?|told|reports?|reported|saying|names?) so\b|SaysSo|_says_so",
        "State the output: `prints …`, `returns …`.",
        ("doc", "The report says so.", "The report prints the cause."),
    ),
    "nobody": pattern(
        PROSE + " test",
        r"\b(?:[Nn]obody|[Ss]omebody|[Ee]verybody|[Aa]nybody|[Ww]hoever)\b|" + SENTENCE + r"[Ww]ho (?=\w)"
        r"|(?:Nobody|Somebody|Everybody|Whoever)(?![a-z])|(?<=\.)Who[A-Z]|_(?:nobody|somebody|everybody|whoever)(?:_|$)",
        "Name the actor: the caller, the driver, the loader, a user.",
        ("doc", "Nobody changes these files.", "No command changes these files."),
    ),
    "bare-possessive": pattern(
        PROSE,
        r"(?<![Ii]t)(?<![Tt]hat)(?<![Ww]hat)(?<![Hh]ere)(?<![Ll]et)(?<!\b[A-Z])\b[A-Za-z]\w*'s(?=[.,;:)](?!\w)|$"
        r"| (?:is|are|was|were|has|have|and|or|as|by|too|only|not|where|that|which|in|at|of|from|on|with)\b)",
        "Finish the phrase: `the build's files`.",
        ("comment", "Its owner is the caller's.", "The caller owns the buffer."),
    ),
    "test-opener": pattern(
        "test",
        r"(?<=\.)(?:A|An|The|That|Than|Those|This|These|As|By|In|On|At|With|Without|For|From|Only|Each|Every|One|Ones|Two|No|Not"
        r"|Nothing|None|Both|Either|Neither|Another|Other|Others|Where|When|Which|Behind|Beside|Below|Above|Beyond|Between)"
        r"(?=[A-Z0-9])|^test_(?:a|an|the|that|those|as|by|in|on|at|with|without|for|from|only|each|every|one|two|no|not|nothing"
        r"|none|both|neither|another|other|where|when|which|behind|beside|below|above|beyond|between)_",
        "Suite.RejectsTruncatedHeader; test_rejects_truncated_header.",
        ("test", "Header.ATruncatedOneIsRejected", "Header.RejectsTruncatedInput"),
    ),
    "test-no-verb": pattern(
        "test",
        r"$^",  # found by has_verb()
        "Say what the subject does: Returns, Rejects, Parses, Keeps, Fails.",
        ("test", "Header.TruncatedInput", "Header.RejectsTruncatedInput"),
    ),
    "name-preposition": pattern(
        "name",
        r"^(?!is_|has_|size_|index_)\w+_"
        + PREPOSITION
        + r"$|^"
        + PREPOSITION
        + r"_(?!json$|bits$|string$)\w+$|^is_of_|_s$",
        "A verb phrase (find_, parse_, compute_) or a member.",
        ("name", "rows_of", "parse_rows"),
    ),
}

# Verbs of test names. A test name without any of them does not state a behaviour.
VERBS = set(
    """
    accept accepts add adds agree agrees allow allows alternate alternates answer answers appear appears applies
    apply are ask asked asks assume assumes audit audits await awaits be begin begins believe believes belong
    belongs bind binds blame blames block blocks break breaks bring brings build builds call called calls can
    cannot catch catches change changes check checks choose chooses chosen claim claims clean cleans clears
    close closes combine combines come comes compare compared compares compile compiles complete completes
    compute computed computes contain contains convert converts copies copy cost costs could count counted
    counts cover covers crash crashes create creates credits cut cuts decide decided decides decode decodes
    deduplicate deliver delivers demangle demangles denies deny depend depends describe described describes
    detect detected detects did die dies differ differs discard do does draw draws drop drops dump dumps embed
    embeds emit emits enable end ended ends enforce ensure enters escape escapes evaluate evaluated evaluates
    exceed exceeds exclude excludes excuse excuses execute executes exist exists exit exits expand expands
    expect expects explain explains export exports fail failed fails fall falls fetch fetches fill filled fills
    filter filters find finds finish finishes fit fits fixes flag flags follow followed follows forbid forbids
    forget forgets format formats found gain gains gather gathers get gets give given gives go goes grant grants
    grow grows guard guards had hand handle handles hands hang hangs has hash hashes have held hide hides hit
    hold holds identify ignore ignored ignores include includes inflate inflates inherit inherits install
    installed installs invert inverts is join joined joins judge judged judges keep keeps kept know known knows
    lack lacks land launch launched launches lay lays lead leads leak leaks learn learns leave leaves left let
    lets lie lies like limit limits link linked links list listed lists live lives load loaded loads locate lock
    look looks lose loses lost made make makes map maps mark marked marks match matches matter matters may mean
    means measure measured measures meet meets merge merges might miss missed misses move moved moves multiplies
    multiply must name named names narrow narrows need needs normalize note notes obey obeys object objects omit
    omits open opened opens order orders outrank outranks overlap overlaps overwrite pack packed packs parse
    parses pass passed passes pay permit pick picks place places plan plans point points prefer prefers prepare
    prevent prevents print printed prints produce produces promise promises propagate propagates prove proved
    proves publish publishes put puts raise raises ran reach reaches read reads recognize recommend recommends
    record records recover redact redacts redirect reduce reduces refer refuse refused refuses refute refutes
    regress regressed regresses reject rejected rejects release releases remain remains remember remembers
    remove removed removes render rendered renders repeat repeats replace replaced replaces report reported
    reports request require required requires resolve resolved resolves respect respects restore restores
    retries retry return returns reuse reuses round rounds rule rules run runs said sanitize sanitizes save say
    says scale scales search searches see seen sees select selects send sends separate serve served serves set
    sets share shares show shown shows sign signed signs skip skipped skips sort sorts span spans speak speaks
    spend split splits spoil spoils stand stands start started starts state stated states stay stays stop
    stopped stops store stored stores suit suits sum summarize summarizes sums supersede supersedes support
    supports survive survived survives take taken takes tell tells terminate test tests throw thrown throws time
    timed times told touch touches trace traces travel travels treat treats tried tries trim trims truncate
    trust trusts try turn turns unpack update updates upload use used uses validate validates verified verifies
    verify wait waited waits walk walks want wants warm warms warn warns was waste weigh weighs were widen
    widens wins work works wrap wraps write writes written yield yields
    """.split()
)


def has_verb(test: str) -> bool:
    """Reports whether a test name, "Suite.Name" or "test_name", contains a word of VERBS."""
    if "." not in test:
        return not VERBS.isdisjoint(test.split("_")[1:])
    words = re.findall(r"[A-Z][a-z]+|[A-Z]+(?![a-z])", test.split(".", 1)[1])
    return any(word.lower() in VERBS for word in words)
