"""The answers of ``kernlens link`` for each way of linking; each function returns the exit status."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kernlens.cli.output import print_json, print_lines, write_bytes
from kernlens.report.link.symbol_tables import shortened
from kernlens.report.style import style

if TYPE_CHECKING:
    from kernlens.analysis.linking.driver_rules import DriverRules
    from kernlens.runtime.driver_environment import DriverEnvironment
    from kernlens.verbs.link.link_modules import DriverLink, Linkable

#: The name by which ``--device`` means the machine's own, not a simulated one.
REAL_DEVICE = "real"


def predict_link(linkable: Sequence[Linkable], rules: DriverRules, device: str | None, as_json: bool) -> int:
    """Print the predicted answer, for which no driver runs."""
    from kernlens.report.link.link_answer import link_document, link_text
    from kernlens.verbs.forecast import link_forecast

    answer = link_forecast(linkable, rules, device)
    if as_json:
        print_json(link_document(answer.forecast, answer.obstacles, answer.static, answer.notes))
    else:
        print_lines(link_text(answer.forecast, answer.obstacles, answer.static, answer.notes))
    return 0 if answer.links else 1


def rules_of_toolchain(name: str) -> DriverRules:
    """Return the rules of the driver that a toolchain has."""
    from kernlens.analysis.linking.driver_rules import LATEST, nearest
    from kernlens.toolchain.toolchains import toolchain

    release = toolchain(name).release
    return LATEST if release is None else nearest(release)


def compiled(modules: Sequence[Linkable], device: str, toolchain: str) -> list[Linkable]:
    """Return the modules with their SPIR-V built by a driver."""
    from kernlens.loading.live_programs import compiled_modules

    return compiled_modules(modules, _environment(device, toolchain))


def _environment(device: str, toolchain: str) -> DriverEnvironment:
    from kernlens.isa.devices import name_among
    from kernlens.runtime.driver_environment import DriverEnvironment
    from kernlens.toolchain.simulation import simulated_devices, simulated_driver
    from kernlens.toolchain.toolchains import toolchain as find_toolchain

    if device == REAL_DEVICE:
        return DriverEnvironment(REAL_DEVICE)
    return simulated_driver(name_among(device, simulated_devices(find_toolchain(toolchain))) or device, toolchain)


def link_live(
    modules: Sequence[Linkable], device: str, toolchain: str, static: bool, output: str | None, as_json: bool
) -> int:
    """Print the answer of a driver, on a simulated device or the machine's own."""
    from kernlens.verbs.link.link_modules import link_on_driver

    answer = link_on_driver(modules, _environment(device, toolchain), static=static)
    if output and answer.binary is not None and answer.linked:
        write_bytes(output, [answer.binary])
    if as_json:
        print_json(_live_document(answer, output))
    else:
        print_lines(_live_lines(answer, device, output))
    return 0 if answer.linked else 1


def _live_lines(answer: DriverLink, device: str, output: str | None) -> list[str]:
    colour = "green" if answer.linked else "red"
    if answer.linked:
        outcome = f"links: {answer.result_name}"
    elif answer.succeeded:
        outcome = f"builds a module that still imports {', '.join(map(shortened, answer.unresolved[:5]))}"
    else:
        outcome = f"does not link: {answer.result_name}"
    lines = [style(f"{answer.kind} link on {device} {outcome}", fg=colour, bold=True)]
    lines += [f"  the driver says: {answer.words}"] if answer.words else []
    lines += [f"  {line}" for line in answer.log.splitlines()]
    for name, log in answer.build_logs:
        # 26.27 writes its whole log twice.
        log_lines = dict.fromkeys(line for line in log.splitlines() if line.strip())
        lines += [f"build log of {name}", *(f"  {line}" for line in log_lines)]
    lines += [f"unresolved: {', '.join(map(shortened, answer.unresolved))}"] if answer.unresolved else []
    creatable = [f"{shortened(state.kernel)} of {state.module}" for state in answer.kernels if state.reason is None]
    lines += [f"kernels that can be created: {', '.join(creatable)}"] if creatable else []
    lines += [
        f"kernel {shortened(state.kernel)} of {state.module}: {state.reason}"
        for state in answer.kernels
        if state.reason
    ]
    lines += [f"written: {output}"] if output and answer.linked else []
    return lines


def _live_document(answer: DriverLink, output: str | None) -> dict[str, Any]:
    return {
        "schema": 1,
        "kind": answer.kind,
        "links": answer.linked,
        "code_name": answer.result_name,
        "words": answer.words,
        "log": answer.log.splitlines(),
        "build_logs": dict(answer.build_logs),
        "unresolved": list(answer.unresolved),
        "kernels": [
            {"module": kernel.module, "name": kernel.kernel, "reason": kernel.reason} for kernel in answer.kernels
        ],
        "output": output if answer.linked else None,
    }
