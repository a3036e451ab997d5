# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""What pbprobe's documents hold. By ci/python_types.py from the schemas in docs: `make generate`."""

from __future__ import annotations

from typing import Literal, TypedDict

Severity = Literal["fail", "warn", "note"]
Level = Literal["claimed", "shipped", "loaded", "executed", "measured"]
Outcome = Literal["pass", "fail", "unknown"]


class _Host(TypedDict):
    schema: Literal["pbprobe.host/1"]
    os: str
    kernel: str
    cpu: Cpu
    driver: Driver
    gpus: list[Gpu]


class Host(_Host, total=False):
    """Host in a document of pbprobe."""

    hostname: str | None
    glibc: str | None
    memory_bytes: int | None


class _Cpu(TypedDict):
    architecture: str
    vendor: str
    name: str
    features: list[str]
    targets: list[str]
    core_classes: list[CoreClass]
    logical_cpus: int
    usable_cpus: int


class Cpu(_Cpu, total=False):
    """Cpu in a document of pbprobe."""

    physical_cores: int | None
    sve_bits: int | None
    last_level_cache_bytes: int | None


class CoreClass(TypedDict):
    """CoreClass in a document of pbprobe."""

    name: str
    count: int


class _Driver(TypedDict):
    state: Literal["ok", "no_driver", "too_old", "no_gpu", "gpu_bad"]
    sentence: str


class Driver(_Driver, total=False):
    """Driver in a document of pbprobe."""

    version: str | None
    cuda_version: str | None
    library: str | None


class _Gpu(TypedDict):
    index: int
    name: str
    capability: str


class Gpu(_Gpu, total=False):
    """Gpu in a document of pbprobe."""

    target: str | None
    uuid: str | None
    sm_count: int | None
    memory_bytes: int | None
    unified_memory: bool | None
    max_sm_clock_mhz: int | None
    max_memory_clock_mhz: int | None
    l2_cache_bytes: int | None
    power_limit_watts: int | None
    mig: bool | None
    ecc: bool | None
    problem: str | None


class _Claim(TypedDict):
    schema: Literal["pbprobe.claim/1"]
    text: str
    exact: bool
    targets: list[str]


class Claim(_Claim, total=False):
    """Claim in a document of pbprobe."""

    cuda: str | None
    torch: str | None
    python: str | None
    blas: str | None
    files: list[FileClaim] | None
    ignored: list[IgnoredFiles] | None


class _FileClaim(TypedDict):
    files: str
    sms: list[str]
    ptx: list[str]


class FileClaim(_FileClaim, total=False):
    """FileClaim in a document of pbprobe."""

    cuda: str | None
    torch: str | None
    python: str | None


class IgnoredFiles(TypedDict):
    """IgnoredFiles in a document of pbprobe."""

    files: str
    reason: str


class _Inventory(TypedDict):
    schema: Literal["pbprobe.inventory/1"]
    artifact: str
    layout: str
    stated_versions: list[StatedVersion]
    packages: list[Package]
    files: list[File]
    problems: list[str]


class Inventory(_Inventory, total=False):
    """Inventory in a document of pbprobe."""

    torch_version: str | None
    cuda_version: str | None
    git_version: str | None
    component_versions: dict[str, str] | None
    required_versions: dict[str, str] | None
    version_floors: dict[str, str] | None
    python_abi: str | None
    wheel_tags: list[str] | None
    platform: str | None
    libtorch_dir: str | None
    open_folders: list[str] | None
    sha256: str | None
    store_closure: StoreClosure | None
    broken_links: list[str] | None
    loading: list[Loading] | None
    variant: WheelVariant | None
    redirected: list[RedirectedLibrary] | None
    torch_beside: str | None
    other_processor: OtherProcessor | None
    recorded: RecordedFiles | None
    faults: list[str] | None


class StatedVersion(TypedDict):
    """StatedVersion in a document of pbprobe."""

    of: str
    where: str
    stated: str


class _Package(TypedDict):
    folder: str


class Package(_Package, total=False):
    """Package in a document of pbprobe."""

    name: str | None
    version: str | None
    torch: str | None
    absent: list[str] | None


class _File(TypedDict):
    path: str
    size_bytes: int
    needed: list[str]
    rpath: list[str]
    runpath: list[str]


class File(_File, total=False):
    """File in a document of pbprobe."""

    component: str | None
    machine: str | None
    soname: str | None
    links: Links | None
    device_code: DeviceCode | None
    self_loaded_code: DeviceCode | None
    host_code: HostCode | None
    load_code: LoadCode | None
    compiler: Compiler | None
    sha256: str | None
    problem: str | None


class _Links(TypedDict):
    dependencies: list[Dependency]
    version_floors: dict[str, str]
    contains: list[str]
    versions: dict[str, str]
    torch_symbols: TorchSymbols
    cxx11_names: int
    pre_cxx11_names: int


class Links(_Links, total=False):
    """Links in a document of pbprobe."""

    opened: list[Dependency] | None
    executable_stack: bool | None
    uses_python: bool | None


class _Dependency(TypedDict):
    name: str
    provider: Literal["artifact", "outside", "system", "driver", "unresolved"]


class Dependency(_Dependency, total=False):
    """Dependency in a document of pbprobe."""

    path: str | None
    by: str | None


class _TorchSymbols(TypedDict):
    cxx: int
    stable: int
    first: list[str]


class TorchSymbols(_TorchSymbols, total=False):
    """TorchSymbols in a document of pbprobe."""

    releases: list[str] | None
    unknown: list[str] | None


class _DeviceCode(TypedDict):
    cubin: dict[str, int]
    ptx: dict[str, int]
    lto_ir: dict[str, int]
    stored_bytes: int
    uncompressed_bytes: int
    cubin_bytes: dict[str, CodeBytes]
    ptx_bytes: dict[str, CodeBytes]
    unit_sets: dict[str, int]
    toolkits: dict[str, int]
    ptx_versions: dict[str, str]
    units_without_code: int
    first_false_entries: list[FalseEntry]


class DeviceCode(_DeviceCode, total=False):
    """DeviceCode in a document of pbprobe."""

    other_entries: dict[str, dict[str, int]] | None
    assemblers: dict[str, dict[str, AssembledCode]] | None
    census: dict[str, SmCensus] | None
    ptx_kernels: dict[str, list[str]] | None
    unlinked: int | None
    false_entries: int | None


class CodeBytes(TypedDict):
    """CodeBytes in a document of pbprobe."""

    stored_bytes: int
    uncompressed_bytes: int


class AssembledCode(TypedDict):
    """AssembledCode in a document of pbprobe."""

    cubins: int
    kernels: int


class _SmCensus(TypedDict):
    kernels: int
    words: int
    instructions: dict[str, int]
    tensor_cubins: list[int]
    trap_kernels: int
    only_traps: list[str]
    cubins: int
    empty_cubins: int
    code_bytes: int
    stores: int
    idle_kernels: int
    idle: list[str]


class SmCensus(_SmCensus, total=False):
    """SmCensus in a document of pbprobe."""

    idle_cubins: int | None
    repeated: RepeatedCode | None
    names: list[str] | None
    families: dict[str, int] | None


class RepeatedCode(TypedDict):
    """RepeatedCode in a document of pbprobe."""

    cubins: int
    kernels: int
    code_bytes: int


class FalseEntry(TypedDict):
    """FalseEntry in a document of pbprobe."""

    label: str
    offset: int
    seen: str


class _HostCode(TypedDict):
    functions_from: str
    functions: dict[str, int]
    code_bytes: int
    instructions: int
    features: dict[str, int]
    unguarded: dict[str, int]
    at_load: dict[str, int]
    leaked: dict[str, int]
    unclassified: dict[str, int]
    cpu_capabilities: dict[str, CapabilityCode]
    dispatchers: dict[str, int]
    minimum_cpu: str
    offenders: list[CodeOffender]
    unguarded_instructions: int
    unknown_opcodes: dict[str, int]


class HostCode(_HostCode, total=False):
    """HostCode in a document of pbprobe."""

    minimum_cpu_at_most: str | None
    sse_functions: int | None
    avx_functions: int | None
    unknown_opcode: str | None
    undecided_length: str | None


class CapabilityCode(TypedDict):
    """CapabilityCode in a document of pbprobe."""

    functions: int
    features: dict[str, int]


CodeOffender = TypedDict(
    "CodeOffender",
    {
        "function": "str",
        "section": "str",
        "class": 'Literal["unguarded", "static_initializer", "default_capability", "cpu_capability", "dispatched", "capability_leak", "unclassified", "replaced"]',
        "features": "list[str]",
        "instructions": "int",
    },
    total=True,
)


class _LoadCode(TypedDict):
    functions: int
    features: dict[str, int]
    offenders: list[CodeOffender]
    open: list[CodeOffender]


class LoadCode(_LoadCode, total=False):
    """LoadCode in a document of pbprobe."""

    unknown_opcode: str | None
    flushes: str | None


class _Compiler(TypedDict):
    knows: list[str]


class Compiler(_Compiler, total=False):
    """Compiler in a document of pbprobe."""

    version: str | None


class _StoreClosure(TypedDict):
    outputs: list[str]
    paths: list[StorePath]


class StoreClosure(_StoreClosure, total=False):
    """StoreClosure in a document of pbprobe."""

    problem: str | None


class _StorePath(TypedDict):
    path: str
    package: str
    there: bool


class StorePath(_StorePath, total=False):
    """StorePath in a document of pbprobe."""

    version: str | None
    component: str | None


class Loading(TypedDict):
    """Loading in a document of pbprobe."""

    path: str
    missing_libraries: list[MissingLibrary]
    missing_versions: list[MissingVersion]
    unresolved: list[UnresolvedSymbol]
    assumed: list[str]


class _MissingLibrary(TypedDict):
    name: str
    needed_by: str


class MissingLibrary(_MissingLibrary, total=False):
    """MissingLibrary in a document of pbprobe."""

    other_processor: str | None


class _MissingVersion(TypedDict):
    version: str
    library: str
    needed_by: str


class MissingVersion(_MissingVersion, total=False):
    """MissingVersion in a document of pbprobe."""

    how: str | None


class _UnresolvedSymbol(TypedDict):
    name: str
    needed_by: str
    releases: list[str]


class UnresolvedSymbol(_UnresolvedSymbol, total=False):
    """UnresolvedSymbol in a document of pbprobe."""

    version: str | None
    library: str | None
    how: str | None


class WheelVariant(TypedDict):
    """WheelVariant in a document of pbprobe."""

    label: str
    properties: list[VariantProperty]


class VariantProperty(TypedDict):
    """VariantProperty in a document of pbprobe."""

    provider: str
    feature: str
    value: str


class RedirectedLibrary(TypedDict):
    """RedirectedLibrary in a document of pbprobe."""

    name: str
    needed_by: str
    taken: str
    how: str
    installed: str


class _OtherProcessor(TypedDict):
    processor: str
    expected: str
    known_by: str
    files: int
    first: str
    whole: bool


class OtherProcessor(_OtherProcessor, total=False):
    """OtherProcessor in a document of pbprobe."""

    reinstall: str | None


class RecordedFiles(TypedDict):
    """RecordedFiles in a document of pbprobe."""

    files: int
    missing: int
    changed: int
    first_missing: list[str]
    first_changed: list[str]
    changed_libraries: list[ChangedLibrary]
    reinstall: bool


class _ChangedLibrary(TypedDict):
    path: str
    how: str


class ChangedLibrary(_ChangedLibrary, total=False):
    """ChangedLibrary in a document of pbprobe."""

    other_owner: str | None


class _Measurements(TypedDict):
    schema: Literal["pbprobe.measurements/1"]
    rows: list[BenchRow]
    exact_cpus: list[int]
    probes: list[ProbeFigure]
    problems: list[str]
    notes: list[str]


class Measurements(_Measurements, total=False):
    """Measurements in a document of pbprobe."""

    libtorch: LibtorchRun | None
    not_run: list[NotRun] | None
    kernel_faults: list[KernelFault] | None
    gpu_use: list[GpuUse] | None
    traces: list[DeviceTrace] | None


BenchRow = TypedDict(
    "BenchRow",
    {
        "kernel": "str",
        "target": "str",
        "dtype": "str",
        "m": "int",
        "n": "int",
        "k": "int",
        "layout": "str",
        "out": "str",
        "instruction": "str",
        "class": "str",
        "threads": "int",
        "gflops": "float",
        "peak_fraction": "float | None",
        "peak_gflops": "float | None",
        "best": "bool",
        "clock_ghz": "float | None",
        "prepacked_b": "bool",
        "plan": "str",
        "model_us": "float | None",
        "samples_us": "list[float]",
        "peers": "dict[str, PeerFigure]",
        "note": "str | None",
        "disturbed": "str | None",
    },
    total=False,
)


class PeerFigure(TypedDict):
    """PeerFigure in a document of pbprobe."""

    gflops: float
    ratio: float
    samples_us: list[float]


class _LibtorchRun(TypedDict):
    path: str
    loaded: bool
    executed: bool
    areas: list[LibtorchArea]
    figures: list[LibtorchFigure]
    timings: list[AreaTiming]
    built_for: list[str]
    libraries: list[LibtorchLibrary]
    starts: list[LibtorchStart]
    kernels: list[LibtorchKernel]
    speeds: list[ProbeFigure]


class LibtorchRun(_LibtorchRun, total=False):
    """LibtorchRun in a document of pbprobe."""

    executed_on_gpu: bool | None
    version: str | None
    cpu_capability: str | None
    loader: ForeignLoader | None
    problem: str | None
    obstacle: (
        Literal[
            "out_of_memory",
            "busy",
            "device_failed",
            "missing",
            "time_limit",
            "driver",
            "not_permitted",
            "no_device",
            "unsupported",
            "killed",
            "unexplained",
        ]
        | None
    )
    intruded: str | None
    confinement: Confinement | None


class _LibtorchArea(TypedDict):
    area: str
    device: str


class LibtorchArea(_LibtorchArea, total=False):
    """LibtorchArea in a document of pbprobe."""

    problem: str | None
    skipped: str | None
    obstacle: (
        Literal[
            "out_of_memory",
            "busy",
            "device_failed",
            "missing",
            "time_limit",
            "driver",
            "not_permitted",
            "no_device",
            "unsupported",
            "killed",
            "unexplained",
        ]
        | None
    )


class _LibtorchFigure(TypedDict):
    device: str
    dtype: str
    m: int
    n: int
    k: int
    layout: str
    threads: int
    gflops: float
    samples_us: list[float]


class LibtorchFigure(_LibtorchFigure, total=False):
    """LibtorchFigure in a document of pbprobe."""

    disturbed: str | None


class _AreaTiming(TypedDict):
    area: str
    device: str
    samples_us: list[float]


class AreaTiming(_AreaTiming, total=False):
    """AreaTiming in a document of pbprobe."""

    disturbed: str | None


class _LibtorchLibrary(TypedDict):
    name: str


class LibtorchLibrary(_LibtorchLibrary, total=False):
    """LibtorchLibrary in a document of pbprobe."""

    compiled: str | None
    running: str | None
    path: str | None


class _LibtorchStart(TypedDict):
    how: str
    device: str


class LibtorchStart(_LibtorchStart, total=False):
    """LibtorchStart in a document of pbprobe."""

    first_tensor_seconds: float | None
    first_kernel_seconds: float | None
    cpu_capability: str | None
    problem: str | None
    obstacle: (
        Literal[
            "out_of_memory",
            "busy",
            "device_failed",
            "missing",
            "time_limit",
            "driver",
            "not_permitted",
            "no_device",
            "unsupported",
            "killed",
            "unexplained",
        ]
        | None
    )


class LibtorchKernel(TypedDict):
    """LibtorchKernel in a document of pbprobe."""

    operation: str
    device: str
    name: str
    machine_code: str
    ptx: str


class _ProbeFigure(TypedDict):
    device: str
    target: str
    name: str
    unit: str
    value: float
    samples: list[float]


class ProbeFigure(_ProbeFigure, total=False):
    """ProbeFigure in a document of pbprobe."""

    against: str | None
    ratio: float | None
    per_clock: float | None
    fits: str | None
    proved: bool | None
    disturbed: str | None
    intensity: float | None


class _ForeignLoader(TypedDict):
    path: str
    glibc: str
    finds_libcuda: bool


class ForeignLoader(_ForeignLoader, total=False):
    """ForeignLoader in a document of pbprobe."""

    driver: str | None


class _Confinement(TypedDict):
    apart: bool


class Confinement(_Confinement, total=False):
    """Confinement in a document of pbprobe."""

    landlock: int | None
    why_not: str | None


class _NotRun(TypedDict):
    what: str
    why: Literal[
        "out_of_memory",
        "busy",
        "device_failed",
        "missing",
        "time_limit",
        "driver",
        "not_permitted",
        "no_device",
        "unsupported",
        "killed",
        "unexplained",
    ]


class NotRun(_NotRun, total=False):
    """NotRun in a document of pbprobe."""

    device: str | None


class _KernelFault(TypedDict):
    device: str
    what: str
    again: FaultTrial
    others: list[FaultTrial]
    owner: Literal["undecided", "pbprobe", "machine"]


class KernelFault(_KernelFault, total=False):
    """KernelFault in a document of pbprobe."""

    xid: str | None
    log_read: bool | None


class _FaultTrial(TypedDict):
    kernel: str
    target: str
    instruction: str
    dtype: str
    out: str
    layout: str
    blocks: str
    scaled: bool
    m: int
    n: int
    k: int
    launches: int
    outcome: Literal["not_tried", "passed", "failed", "could_not_run"]


class FaultTrial(_FaultTrial, total=False):
    """FaultTrial in a document of pbprobe."""

    detail: str | None


class _GpuUse(TypedDict):
    device: str
    when: str
    processes: list[GpuProcess]


class GpuUse(_GpuUse, total=False):
    """GpuUse in a document of pbprobe."""

    free_bytes: int | None
    total_bytes: int | None
    utilization_percent: int | None


class _GpuProcess(TypedDict):
    pid: int


class GpuProcess(_GpuProcess, total=False):
    """GpuProcess in a document of pbprobe."""

    name: str | None
    memory_bytes: int | None


class DeviceTrace(TypedDict):
    """DeviceTrace in a document of pbprobe."""

    device: str
    points: list[TracePoint]


class _TracePoint(TypedDict):
    seconds: float


class TracePoint(_TracePoint, total=False):
    """TracePoint in a document of pbprobe."""

    clock_mhz: float | None
    power_watts: float | None
    celsius: float | None
    limits: list[str] | None


class _BaselineComparison(TypedDict):
    schema: Literal["pbprobe.baseline/1"]
    path: str
    differences: list[str]
    bytes: int
    baseline_bytes: int
    gains: list[AreaGain]


class BaselineComparison(_BaselineComparison, total=False):
    """BaselineComparison in a document of pbprobe."""

    problem: str | None
    missing_kernels: list[MissingKernels] | None


class _AreaGain(TypedDict):
    area: str
    device: str
    gain: float
    low: float
    high: float
    samples_us: list[float]
    baseline_samples_us: list[float]


class AreaGain(_AreaGain, total=False):
    """AreaGain in a document of pbprobe."""

    disturbed: str | None


class MissingKernels(TypedDict):
    """MissingKernels in a document of pbprobe."""

    sm: str
    baseline_sm: str
    kernels: int
    missing: int
    first: list[str]


class _ReferenceBuild(TypedDict):
    torch: str
    cuda: str
    platform: str
    build: str
    code: dict[str, ReferenceCode]
    files: dict[str, ReferenceFile]


class ReferenceBuild(_ReferenceBuild, total=False):
    """ReferenceBuild in a document of pbprobe."""

    families: dict[str, int] | None


class ReferenceCode(TypedDict):
    """ReferenceCode in a document of pbprobe."""

    units: int
    kernels: int
    code_bytes: int


class _ReferenceFile(TypedDict):
    linked: dict[str, str]
    code: dict[str, ReferenceCode]


class ReferenceFile(_ReferenceFile, total=False):
    """ReferenceFile in a document of pbprobe."""

    families: dict[str, int] | None


class _EmulatedLoad(TypedDict):
    target: str
    outcome: Literal["loaded", "died", "unknown"]
    what: str


class EmulatedLoad(_EmulatedLoad, total=False):
    """EmulatedLoad in a document of pbprobe."""

    cpu: str | None
    library: str | None


class _Preflight(TypedDict):
    cxx_compiler: CalledCompiler
    ptxas: list[CalledPtxas]
    caches: list[CompiledCache]


class Preflight(_Preflight, total=False):
    """Preflight in a document of pbprobe."""

    c_compiler: CalledCompiler | None
    python_header: PythonHeader | None
    driver: LinkedDriver | None


class _CalledCompiler(TypedDict):
    called: str


class CalledCompiler(_CalledCompiler, total=False):
    """CalledCompiler in a document of pbprobe."""

    variable: str | None
    path: str | None


class PythonHeader(TypedDict):
    """PythonHeader in a document of pbprobe."""

    path: str
    there: bool


class _LinkedDriver(TypedDict):
    name: str
    ldconfig_there: bool
    folders: list[str]


class LinkedDriver(_LinkedDriver, total=False):
    """LinkedDriver in a document of pbprobe."""

    variable: str | None
    ldconfig: str | None
    path: str | None


class _CalledPtxas(TypedDict):
    name: str
    path: str


class CalledPtxas(_CalledPtxas, total=False):
    """CalledPtxas in a document of pbprobe."""

    variable: str | None
    ignored: str | None
    problem: str | None
    compiler: Compiler | None


class _CompiledCache(TypedDict):
    of: str
    path: str


class CompiledCache(_CompiledCache, total=False):
    """CompiledCache in a document of pbprobe."""

    variable: str | None
    problem: str | None


class _Environment(TypedDict):
    schema: Literal["pbprobe.environment/1"]
    artifacts: list[str]
    sms: list[str]
    distributions: list[Distribution]
    without_files: int
    problems: list[str]
    notes: list[str]
    shared_libraries: list[SharedLibrary]


class Environment(_Environment, total=False):
    """Environment in a document of pbprobe."""

    interpreter: str | None
    reinstall: str | None


class _Distribution(TypedDict):
    name: str
    folder: str
    tags: list[str]
    files: int
    size_bytes: int
    torch_abi: Literal["none", "stable", "cxx", "own"]
    torch_symbols: int
    first_torch_symbols: list[str]
    torch_releases: list[str]
    python: list[str]
    cuda: list[str]
    toolkits: list[str]
    cubin: dict[str, int]
    ptx: dict[str, int]
    ptx_versions: dict[str, str]
    lto_ir: dict[str, int]
    self_loaded: dict[str, int]
    findings: list[Finding]
    problems: list[str]


class Distribution(_Distribution, total=False):
    """Distribution in a document of pbprobe."""

    version: str | None
    unknown_torch_symbol: str | None
    minimum_cpu: str | None
    cpu_needs: list[str] | None
    glibc: str | None
    loading: list[Loading] | None
    recorded: RecordedFiles | None
    gpus: list[ServedGpu] | None
    worst: Literal["fail", "warn", "note"] | None


class _ServedGpu(TypedDict):
    sm: str
    code: Literal["native", "same_major", "ptx", "none", "unknown"]
    native: int
    same_major: int
    ptx: int
    none: int
    kept_by_suffix: int
    lacking: list[LackingKernels]


class ServedGpu(_ServedGpu, total=False):
    """ServedGpu in a document of pbprobe."""

    ptx_taken: bool | None


class LackingKernels(TypedDict):
    """LackingKernels in a document of pbprobe."""

    only_for: list[str]
    kernels: int
    first: list[str]


class _Finding(TypedDict):
    id: str
    subject: Literal["reading", "artifact", "closure", "cpu", "gpu", "running", "baseline", "recipe"]
    severity: Literal["fail", "warn", "note"]
    level: Literal["claimed", "shipped", "loaded", "executed", "measured"]
    what: str
    operands: list[str]
    remedy: str


class Finding(_Finding, total=False):
    """Finding in a document of pbprobe."""

    where: str | None
    waived: str | None
    distribution: str | None


class SharedLibrary(TypedDict):
    """SharedLibrary in a document of pbprobe."""

    name: str
    taken: str
    how: str
    passed_over: list[str]
    beside: list[str]


class _Import(TypedDict):
    module: str
    path: str
    predicted: list[str]
    loaded: list[str]
    others: list[OtherLibrary]
    unpredicted: list[str]


class Import(_Import, total=False):
    """Import in a document of pbprobe."""

    refused_by_files: str | None
    problem: str | None
    obstacle: (
        Literal[
            "out_of_memory",
            "busy",
            "device_failed",
            "missing",
            "time_limit",
            "driver",
            "not_permitted",
            "no_device",
            "unsupported",
            "killed",
            "unexplained",
        ]
        | None
    )


class _OtherLibrary(TypedDict):
    name: str
    predicted: str


class OtherLibrary(_OtherLibrary, total=False):
    """OtherLibrary in a document of pbprobe."""

    loaded: str | None


class _OperatorRun(TypedDict):
    device: str
    compiled: bool
    torch: str
    packages: list[str]
    seed: int
    only: list[str]
    operators: int
    right: int
    wrong: int
    crashed: int
    not_run: int
    calls: int
    results: list[OperatorResult]
    random: list[str]
    not_repeated: list[str]
    omitted: list[str]
    refused: list[str]
    times_us: dict[str, float]
    seconds: float


class OperatorRun(_OperatorRun, total=False):
    """OperatorRun in a document of pbprobe."""

    problem: str | None
    obstacle: (
        Literal[
            "out_of_memory",
            "busy",
            "device_failed",
            "missing",
            "time_limit",
            "driver",
            "not_permitted",
            "no_device",
            "unsupported",
            "killed",
            "unexplained",
        ]
        | None
    )


class _OperatorResult(TypedDict):
    name: str
    type: str
    state: Literal["right", "random", "wrong", "crashed", "not_run"]


class OperatorResult(_OperatorResult, total=False):
    """OperatorResult in a document of pbprobe."""

    way: str | None
    reason: str | None
    index: list[int] | None
    expected: str | None
    actual: str | None
    tolerances: str | None
    input: str | None
    kernels: list[str] | None


class _Verdict(TypedDict):
    schema: Literal["pbprobe.verdict/1"]
    outcome: Literal["pass", "fail", "unknown"]
    reason: str
    runs: int
    complete: bool
    policy: Policy
    date: str
    gpus: list[GpuOutcome]
    cpu_targets: list[str]
    claims: list[ClaimRow]
    objections: list[Objection]
    waivers: list[WaiverUse]
    findings: list[Finding]
    checks: list[CheckRow]


class Verdict(_Verdict, total=False):
    """Verdict in a document of pbprobe."""

    fix: str | None
    require: Literal["claimed", "shipped", "loaded", "executed", "measured"] | None
    holdings: Holdings | None


class Policy(TypedDict):
    """Policy in a document of pbprobe."""

    schema: Literal["pbprobe.policy/1"]
    name: str
    stance: Literal["lenient", "strict"]
    levels: RequiredLevels
    severity: dict[str, SeverityChange]
    waive: list[Waiver]


class RequiredLevels(TypedDict):
    """RequiredLevels in a document of pbprobe."""

    sm: Literal["claimed", "shipped", "loaded", "executed", "measured"]
    isa: Literal["claimed", "shipped", "loaded", "executed", "measured"]
    torch: Literal["claimed", "shipped", "loaded", "executed", "measured"]
    cuda: Literal["claimed", "shipped", "loaded", "executed", "measured"]
    python: Literal["claimed", "shipped", "loaded", "executed", "measured"]
    blas: Literal["claimed", "shipped", "loaded", "executed", "measured"]


class SeverityChange(TypedDict):
    """SeverityChange in a document of pbprobe."""

    severity: Literal["fail", "warn", "note"]
    reason: str


class _Waiver(TypedDict):
    id: str
    reason: str
    until: str


class Waiver(_Waiver, total=False):
    """Waiver in a document of pbprobe."""

    component: str | None


class _GpuOutcome(TypedDict):
    gpu: int
    name: str
    capability: str
    code: Literal["native", "same_major", "ptx", "none", "unknown"]
    sentence: str


class GpuOutcome(_GpuOutcome, total=False):
    """GpuOutcome in a document of pbprobe."""

    best: str | None


class _ClaimRow(TypedDict):
    claim: str
    detail: str


class ClaimRow(_ClaimRow, total=False):
    """ClaimRow in a document of pbprobe."""

    claimed: str | None
    shipped: Literal["pass", "fail", "unknown"] | None
    loaded: Literal["pass", "fail", "unknown"] | None
    executed: Literal["pass", "fail", "unknown"] | None
    measured: Literal["pass", "fail", "unknown"] | None
    required: Literal["claimed", "shipped", "loaded", "executed", "measured"] | None
    proven: Literal["claimed", "shipped", "loaded", "executed", "measured"] | None
    outcome: Literal["pass", "fail", "unknown"] | None


class _Objection(TypedDict):
    id: str
    outcome: Literal["pass", "fail", "unknown"]
    what: str


class Objection(_Objection, total=False):
    """Objection in a document of pbprobe."""

    where: str | None
    remedy: str | None


class WaiverUse(TypedDict):
    """WaiverUse in a document of pbprobe."""

    waiver: Waiver
    state: Literal["used", "expired", "unused", "too_broad", "forbidden"]


class _CheckRow(TypedDict):
    id: str
    subject: Literal["reading", "artifact", "closure", "cpu", "gpu", "running", "baseline", "recipe"]
    level: Literal["claimed", "shipped", "loaded", "executed", "measured"]
    severity: Literal["fail", "warn", "note"]
    required: bool
    state: Literal["passed", "found", "unanswered", "not_asked"]
    asks: str


class CheckRow(_CheckRow, total=False):
    """CheckRow in a document of pbprobe."""

    why: str | None


class _Holdings(TypedDict):
    sentence: str
    sms: list[str]
    few: list[str]
    ptx: list[str]
    cpu_capabilities: list[str]
    size_bytes: int


class Holdings(_Holdings, total=False):
    """Holdings in a document of pbprobe."""

    minimum_cpu: str | None
    minimum_cpu_at_most: str | None
    leaks: list[str] | None


class _GatedRun(TypedDict):
    version: str
    commit: str
    created: str
    input: Literal["artifact", "facts"]
    verdict: Verdict
    problems: list[str]


class GatedRun(_GatedRun, total=False):
    """GatedRun in a document of pbprobe."""

    signed_by: str | None
    host: Host | None
    inventory: Inventory | None
    measurements: Measurements | None
    baseline: BaselineComparison | None
    reference: ReferenceBuild | None
    emulated_loads: list[EmulatedLoad] | None


class _ReportDocument(TypedDict):
    schema: Literal["pbprobe.report/1"]
    version: str
    commit: str
    created: str
    input: Literal["artifact", "facts"]
    problems: list[str]


class ReportDocument(_ReportDocument, total=False):
    """Report of pbprobe."""

    host: Host | None
    claim: Claim | None
    inventory: Inventory | None
    measurements: Measurements | None
    baseline: BaselineComparison | None
    reference: ReferenceBuild | None
    emulated_loads: list[EmulatedLoad] | None
    preflight: Preflight | None
    environment: Environment | None
    imports: list[Import] | None
    operators: list[OperatorRun] | None
    verdict: Verdict | None
    joined: list[GatedRun] | None
    seconds: float | None


class Comparison(TypedDict):
    """Comparison in a document of pbprobe."""

    before: str
    after: str
    facts: list[FactChange]
    figures: list[FigureChange]
    not_compared: list[str]


class FactChange(TypedDict):
    """FactChange in a document of pbprobe."""

    about: str
    change: Literal["gained", "lost", "changed"]
    what: str
    regressed: bool
    examples: list[str]


class FigureChange(TypedDict):
    """FigureChange in a document of pbprobe."""

    what: str
    before_us: float
    after_us: float
    times: float
    low: float
    high: float
    shift: Literal["faster", "slower", "not_shown"]


class ComparisonDocument(TypedDict):
    """Differences of builds or reports."""

    schema: Literal["pbprobe.comparison/1"]
    comparisons: list[Comparison]


class _EnvironmentDocument(TypedDict):
    schema: Literal["pbprobe.environment/1"]
    artifacts: list[str]
    sms: list[str]
    distributions: list[Distribution]
    without_files: int
    problems: list[str]
    notes: list[str]
    shared_libraries: list[SharedLibrary]


class EnvironmentDocument(_EnvironmentDocument, total=False):
    """Packages of an environment."""

    interpreter: str | None
    reinstall: str | None
