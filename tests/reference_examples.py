"""The examples of docs/reference: what they begin with, and those that are written by hand.

``tests.reference`` finds the others. A line of ``BEGIN`` or ``MORE`` is on a page if an example of the page needs it.
"""

from __future__ import annotations

#: What examples begin with, in the root of a checkout; from these names paths to objects are looked for.
BEGIN = """\
import kernlens
(program,) = kernlens.compile("examples/kernels/blur.cl", "dg2")
kernel = program.kernels["blur"]
annotation = kernlens.annotate(program)
verdict = kernlens.check(program, max_spill_bytes=0)
tone = "examples/kernels/tone.cl"
difference = kernlens.diff("examples/kernels/blur.cl", tone, device="dg2", pairs=[("blur", "tone")])
sweep = kernlens.sweep("examples/kernels/window.cl", "dg2", options=["-DROWS=8", "-DROWS=16"])
advice = kernlens.advise(tone, device="dg2")
pipeline = kernlens.stages("examples/kernels/blur.cl", "dg2")
words = ["random:float:4096", "random:float:4096", "64"]
behaviour = kernlens.observe("examples/kernels/blur.cl", size=[64], group=[64], arguments=words)
message = next(each for each in kernel.instructions if each.kind.access)
links = kernel.register_links(20)
line = program.line(20)
"""
#: What examples that are written by hand begin with besides.
MORE = """\
import subprocess, sys, tarfile
from kernlens.model.containers import CONTAINERS
from kernlens.model.stages import POCL, stage_named
from pathlib import Path
from tempfile import TemporaryDirectory
temporary = TemporaryDirectory()
folder = Path(temporary.name)
recording, _ = folder / "b.klens", kernlens.compile("examples/kernels/blur.cl", "dg2", recording=folder / "b.klens")
disasm = [sys.executable, "-m", "kernlens", "disasm", "--editable", recording]
listing = subprocess.run(disasm, capture_output=True, text=True).stdout
edited = folder / "edited.asm"
_ = edited.write_text(listing.replace("0x0:ud", "0x1:ud", 1))
misspelt = folder / "misspelt.asm"
_ = misspelt.write_text(listing.replace("mov ", "move ", 1))
damaged = folder / "damaged.klens"
_ = damaged.write_bytes(b"\\x7fELF" + bytes(60))
application = [sys.executable, "examples/opencl_launch.py"]
captured = kernlens.capture(application, folder / "kept.klens", launches=["brighten"], time=True)
(replayed,) = kernlens.replay(captured.recording, runs=1, profile="nice")
(brighten,) = kernlens.load(captured.recording)
(launch,) = brighten.build.kept_launches
blur = {"size": [128], "group": [64], "arguments": ["random:float:64", "random:float:64", "64"]}
faulty = kernlens.observe("examples/kernels/blur.cl", **blur)
causes = "tests/data/behaviour/causes.cl"
floats = ["random:float:8192", "random:float:4096", "random:int:64", "64"]
stride = {"kernel": "stride_2", "device": "dg2", "size": [64], "group": [64], "arguments": floats}
strided, _ = folder / "strided.klens", kernlens.observe(causes, **stride, recording=folder / "strided.klens")
(observed,) = [each for each in kernlens.advise(strided).ranked if each.cause]
(loops,) = kernlens.compile(causes, "dg2")
weighed = kernlens.diff(loops, loops, kernels=["uneven_rounds"], trips=["depth=8"])
weights = weighed.pairing.kernels[0].new.trip_weights
deep = folder / "deep.cl"
nested = "".join(f"for (int i{number} = 0; i{number} < n; i{number}++)" for number in range(3))
_ = deep.write_text("kernel void deep(global int *out, int n) { " + nested + " { out[i0] *= i1; barrier(1); } }")
window = "examples/kernels/window.cl"
few, more = ["-DROWS=8", "-DROWS=16"]
small, large = (kernlens.compile(window, "dg2", options=each)[0] for each in [few, more])
sized = kernlens.diff(small, large, items_per_launch=[4096, 2048])
from kernlens.model.best_sets import best_sets
best = best_sets(sweep, "spills,size")
blurred, halved = folder / "blurred.cl", folder / "halved.cl"
_ = blurred.write_text(Path("examples/kernels/blur.cl").read_text())
_ = halved.write_text(blurred.read_text().replace("RADIUS 4", "RADIUS 2"))
parted = kernlens.diff(blurred, halved, device="dg2", stages=True, all_passes=True)
spilling = kernlens.stages(window, "dg2", options="-DROWS=64").programs[0].kernels["window"]
(threshold,) = kernlens.compile("examples/kernels/threshold.cl", "dg2")
branch = next(each for each in threshold.kernels["threshold"].instructions if each.predicate)
compare = next(each for each in kernel.instructions if each.condition)
(debugged,) = kernlens.compile("examples/kernels/blur.cl", "dg2", options="-g")
variable = debugged.kernels["blur"].variables[3]
stated = debugged.kernels["blur"].variable_ranges(variable)[0]
(gemm,) = kernlens.load("examples/generated/gemm_32.zebin")
archive = tarfile.open("tests/data/intel_triton/triton_cache.tar.xz")
_ = archive.extractall(folder)
(softmax,) = kernlens.load(folder / archive.getmember("./native/softmax.spv").name)
from kernlens.level_zero import IsolatedDriver, simulated_driver
driver = IsolatedDriver(simulated_driver("dg2"))
module = driver.build_spirv("blur", bytes(program.spirv))
reported = module and driver.kernel("blur", "blur")
calls = folder / "calls.cl"
text = "__attribute__((noinline)) int twice(int i) { return i * 2 + get_local_id(0); }"
text += "kernel void call(global int *out) { out[0] = twice(out[0]); out[1] = twice(out[2]); }"
_ = calls.write_text(text)
(calling,) = kernlens.compile(calls, "dg2")
repository = folder / "repository"
git = ["git", "-C", repository, "-c", "user.name=you", "-c", "user.email=you@example.org"]
_ = repository.mkdir()
_ = repository.joinpath("blur.cl").write_text(Path("examples/kernels/blur.cl").read_text())
commands = [["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "first"]]
_, committed = repository, [subprocess.run([*git, *each], check=True) for each in commands]
_ = repository.joinpath(committed and "blur.cl").write_text(Path("examples/kernels/tone.cl").read_text())
revised = kernlens.diff(git="HEAD", repository=str(repository), device="dg2")
from tests.writers.sycl_hosts import WrittenImage, assembly
library = folder / "library.so"
_ = library.with_suffix(".s").write_text(assembly([WrittenImage(bytes(program.spirv), ["blur"])]))
_ = library.exists() or subprocess.run(["gcc", "-shared", "-nostdlib", "-o", library, library.with_suffix(".s")])
"""
#: What the examples of pages about live objects begin with: the driver reads its variables when it is opened.
LIVE = {
    "opencl": """\
import os, tempfile, warnings
import kernlens
from kernlens.opencl import *
os.environ.update(simulated_environment("dg2"))
import pyopencl
platform = next(each for each in pyopencl.get_platforms() if "Intel" in each.name)
context = pyopencl.Context(platform.get_devices())
(device,) = context.devices
source = open("examples/kernels/blur.cl").read()
program = pyopencl.Program(context, source)
labels = []
request_program_snapshot(program, device, "visa", TEXT, lambda size, content, label, data: labels.append(label))
_ = program.build(cache_dir=False)
(build,) = live_builds(program)
""",
    "level_zero": """\
import os
import kernlens
from kernlens.level_zero import *
simulated = simulated_driver("dg2")
os.environ.update({name: value for name, value in simulated.variables.items() if value is not None})
(program,) = kernlens.compile("examples/kernels/blur.cl", "dg2")
device = first_device()
context = Context(device.driver)
module = build_spirv(context, device, bytes(program.spirv), "", "blur")
kernel = LiveKernel.create(module, "blur")
from pathlib import Path
from tempfile import TemporaryDirectory
from examples.setting import spirv_of
temporary = TemporaryDirectory()
folder = Path(temporary.name)
parts = [spirv_of(open(f"examples/modules/{name}.cl").read(), folder) for name in ["kernels", "library"]]
user = build_spirv(context, device, parts[0], "", "kernels")
library = build_spirv(context, device, parts[1], "-library-compilation", "library")
link = dynamic_link([user, library])
damaged = bytes(program.spirv).replace(b"OpenCL.std", b"OpenCL.xyz")
driver = IsolatedDriver(simulated)
""",
}
#: Class -> its example: lines, of which the last one shows an object of the class, or a part of it that is the same in each
#: run, or raises it.
EXAMPLES = {
    "kernlens.KernlensError": "kernlens.diff(program)",
    "kernlens.errors.KernlensError": "kernlens.diff(program)",
    "kernlens.errors.ArgumentError": "kernlens.load(3)",
    "kernlens.errors.NotFoundError": 'kernlens.load("examples/kernels/blurr.bin")',
    "kernlens.errors.UnknownKernelError": 'program.kernels["blurr"]',
    "kernlens.errors.UnknownCostError": 'kernel.costs["spils"]',
    "kernlens.errors.UnknownColumnError": 'program.kernels.table["spils"]',
    "kernlens.errors.NoDeviceError": 'kernlens.annotate("examples/kernels/blur.cl")',
    "kernlens.errors.OutputError": 'kernlens.compile("examples/kernels/tone.cl", "dg2", recording="/nowhere/tone.klens")',
    "kernlens.errors.FormatError": "kernlens.load(damaged)",
    "kernlens.errors.TooManyError": 'kernlens.diff(deep, deep, device="dg2", trips=["depth=2147483648"])',
    "kernlens.errors.AmbiguousKernelError": 'loops.kernels["banks_*"]',
    "kernlens.errors.UnsupportedError": (
        'kernlens.observe("examples/kernels/blur.cl", **blur, recording=folder / "observed.klens")'
    ),
    "kernlens.errors.ToolError": 'kernlens.compile("README.md", "dg2")',
    "kernlens.errors.AssemblyError": "kernlens.assemble(misspelt, into=recording)",
    "kernlens.errors.NearestNames": "kernel",
    "kernlens.answers.Assembly": "kernlens.assemble(edited, into=recording)",
    "kernlens.answers.Capture": "captured.exit_status",
    "kernlens.answers.CapturedKernel": "captured.kernels[0].launches",
    "kernlens.answers.Cause": "observed.cause",
    "kernlens.answers.Compared": "replayed.builds[0].compared[0]",
    "kernlens.answers.Fault": "faulty.faults[0]",
    "kernlens.answers.Parting": "parted.partings[0]",
    "kernlens.answers.PassParting": "parted.partings[0].first_pass",
    "kernlens.answers.Profile": "replayed.profile.compared",
    "kernlens.answers.Replayed": "replayed.is_equal",
    "kernlens.answers.ReplayedBuild": "replayed.builds[0].title",
    "kernlens.answers.Tabular": "annotation",
    "kernlens.answers.Tolerance": "kernlens.answers.Tolerance(ulp=4)",
    "kernlens.answers.Unpaired": "kernlens.diff(program, small).pairing.only_old[0]",
    "kernlens.model.best_sets.BestSet": "best[0].best.options",
    "kernlens.model.best_sets.Criterion": "best[0].weighing.criteria[0]",
    "kernlens.model.best_sets.Weighing": "best[0].weighing",
    "kernlens.model.binary.Relocation": "gemm.relocations[0]",
    "kernlens.model.binary.Symbol": "gemm.symbols[1]",
    "kernlens.model.bounds.Tolerance": (
        'kernlens.check(program, baseline=recording, tolerances={"spill-bytes": "5%"}).findings[2].tolerance'
    ),
    "kernlens.model.build.Build": "program.build.outcome",
    "kernlens.model.code_function.CodeFunction": 'calling.kernels["call"].functions[1]',
    "kernlens.model.code_shape.CodeShape": "sized.changes[0].launches.before.shape",
    "kernlens.model.columns.Tabular": "program.kernels",
    "kernlens.model.containers.ContainerKind": 'CONTAINERS["zebin"].title',
    "kernlens.model.containers.Holds": 'CONTAINERS["zebin"].holds',
    "kernlens.model.device_time.DeviceTime": 'brighten.kernels["brighten"].launch_time.launches',
    "kernlens.model.fault.Fault": "faulty.faults[0]",
    "kernlens.model.hash_trailer.HashTrailer": "softmax.kernels[softmax.code_order[0]].trailer",
    "kernlens.model.instruction.Instruction": "kernel.instructions[0]",
    "kernlens.model.instruction.Instructions": "kernel.instructions",
    "kernlens.model.kernel.ReportedKernel": "reported.origin",
    "kernlens.model.kept_launch.ImageForm": "launch.memory[0].image",
    "kernlens.model.kept_launch.KeptArgument": "launch.arguments[1]",
    "kernlens.model.kept_launch.KeptLaunch": "launch.global_size",
    "kernlens.model.kept_launch.KeptMemory": "launch.memory[1]",
    "kernlens.model.line_code.LineOf": "kernel.source_map.line_of(60)",
    "kernlens.model.listed_instructions.ListedInstructions": 'brighten.kernels["brighten"].instructions.trailing',
    "kernlens.model.loop_nest.Loop": 'loops.kernels["uneven_rounds"].loops.loops[0]',
    "kernlens.model.operand.Condition": "compare.condition",
    "kernlens.model.operand.Predicate": "branch.predicate",
    "kernlens.model.source_change.SourceChange": "revised.sources.compiled[0]",
    "kernlens.model.source_change.SourceChanges": "revised.sources",
    "kernlens.model.source_map.StatedPlace": "spilling.source_map.stated[60]",
    "kernlens.model.spilled_value.SpilledValue": "spilling.spilled_values[0]",
    "kernlens.model.spirv.SpirvLine": 'program.spirv_module.lines["weight"][0].line',
    "kernlens.model.stages.CompilerKind": "POCL",
    "kernlens.model.stages.Stage": 'stage_named("visa").sentence',
    "kernlens.model.sycl_image.SyclImage": "kernlens.load(library)[0].image",
    "kernlens.model.trial.Change": "sized.changes[0].launches.change",
    "kernlens.model.trial.Trial": "sized.changes[0].launches",
    "kernlens.model.trial.TrialCode": "sized.changes[0].launches.after",
    "kernlens.model.trips.TripWeights": "weights",
    "kernlens.model.trips.Trips": "weights.trips",
    "kernlens.model.variable.Location": "stated.location",
    "kernlens.model.variable.Place": "stated.location.lanes[0][0]",
    "kernlens.model.variable.StatedRange": "stated",
    "kernlens.model.variable.Variable": "variable",
    "kernlens.model.verdict.Cause": "kernlens.check(program, max_instructions=2).findings[0].cause",
    "kernlens.opencl.Build": "build.outcome",
    "kernlens.opencl.OpenCLError": 'request_program_snapshot(program, device, "visas", TEXT, print)',
    "kernlens.opencl.OpenCLHandleError": "kernel_binary(program)",
    "kernlens.opencl.ReportedKernel": "build.kernels[0].origin",
    "kernlens.opencl.SnapshotLabel": "labels[0]",
    "kernlens.opencl.SnapshotWarning": """\
later = pyopencl.Program(context, source)
request_program_snapshot(later, device, "gen-assembly", TEXT, print)
os.environ.update(KERNLENS_SNAPSHOT_OWN_BUILD="0", TMPDIR="/nowhere")
tempfile.tempdir = "/nowhere"
warnings.simplefilter("error", SnapshotWarning)
later.build("-g", cache_dir=False)""",
    "kernlens.level_zero.BufferTooSmallError": "kernel.binary_into(bytearray(4))",
    "kernlens.level_zero.Build": "live_build(module).outcome",
    "kernlens.level_zero.Context": "context.kind",
    "kernlens.level_zero.Driver": 'device.driver.extensions["ZE_extension_float_atomics"]',
    "kernlens.level_zero.DriverDiedError": 'driver.build_spirv("damaged", damaged)',
    "kernlens.level_zero.DriverEnvironment": "simulated.device",
    "kernlens.level_zero.DynamicLink": "link.linked",
    "kernlens.level_zero.GlobalPointer": 'library.global_pointer("calls").size',
    "kernlens.level_zero.HandleError": "kernel.binary_into(None)",
    "kernlens.level_zero.IsolatedDriver": 'driver.build_spirv("blur", bytes(program.spirv))',
    "kernlens.level_zero.KernelProperties": "kernel.properties",
    "kernlens.level_zero.LevelZeroError": "load_native(context, device, bytes(program.binary[:100]))",
    "kernlens.level_zero.LiveDevice": "device.slices, device.subslices, device.eus",
    "kernlens.level_zero.LiveKernel": "kernel.binary_size",
    "kernlens.level_zero.LiveModule": "module.kernel_names",
    "kernlens.level_zero.ModuleLinkage": "inspect_linkage([user, library])[0]",
    "kernlens.level_zero.RefusedCallError": 'build_spirv(context, device, b"no module")',
    "kernlens.level_zero.ReportedKernel": "live_build(module).kernels[0].origin",
    "kernlens.level_zero.Resolution": "link.resolutions[0]",
    "kernlens.level_zero.StaticInput": 'StaticInput(b"", "-ze-opt-large-register-file")',
}
