"""The answers of ``kernlens link`` for each way of linking; each function returns the exit status."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kernlens.cli.answers.link_map import map_document, map_text
from kernlens.cli.output import print_json, print_lines, write_bytes
from kernlens.errors import KernlensError, LinkError
from kernlens.model.module import Module
from kernlens.report.link.symbol_tables import shortened
from kernlens.report.style import style

if TYPE_CHECKING:
    from kernlens.analysis.linking.driver_rules import DriverRules
    from kernlens.runtime.driver_environment import DriverEnvironment
    from kernlens.verbs.link.link_modules import DriverLink, Linkable

#: The name by which ``--device`` means the machine's own, not a simulated one.
REAL_DEVICE = "real"


def predict_link(linkable: Sequence[Linkable], rules: DriverRules, device: str | None, as_json: bool, dot: bool) -> int:
    """Print the predicted answer, for which no driver runs."""
    from kernlens.report.link.link_answer import link_document, link_graph, link_text
    from kernlens.verbs.forecast import link_forecast

    answer = link_forecast(linkable, rules, device)
    if dot:
        print_lines(link_graph(answer.forecast))
    elif as_json:
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


def link_offline(
    modules: Sequence[Linkable], output: str, partial: bool, base: int | None, with_map: bool, as_json: bool
) -> int:
    """Print the answer of the offline linker: zebins are merged, SPIR-V goes through spirv-link."""
    if all(module.format == "spirv" for _, module in modules):
        if base is not None or with_map:
            raise KernlensError("--base and --map need zebins; SPIR-V has no relocations yet")
        return _link_spirv(modules, output, partial, as_json)
    return _link_zebins(modules, output, partial, base, with_map, as_json)


def _link_spirv(modules: Sequence[Linkable], output: str, partial: bool, as_json: bool) -> int:
    from kernlens.verbs.link.spirv_link import link_spirv

    linked = link_spirv([(module.name, bytes(program.spirv)) for program, module in modules], partial=partial)
    write_bytes(output, [linked.spirv])
    if as_json:
        raised = [{"module": name, "from": old, "to": new} for name, old, new in linked.raised]
        print_json({"schema": 1, "output": output, "format": "spirv", "raised": raised})
    else:
        print_lines([f"{name} was SPIR-V {old} and is taken as {new}" for name, old, new in linked.raised])
        print_lines([f"{len(modules)} modules linked into {output}"])
    return 0


def _link_zebins(
    modules: Sequence[Linkable], output: str, partial: bool, base: int | None, with_map: bool, as_json: bool
) -> int:
    from kernlens.formats.zebin.locate import locate
    from kernlens.verbs.link.link_modules import link_offline as merge

    linked = merge(modules)
    if linked.imports and not partial:
        raise LinkError(_unresolved([module for _, module in modules], linked.imports), linked.imports)
    located = locate(memoryview(linked.content), base or 0) if base is not None or with_map else None
    write_bytes(output, [located.content if located is not None and base is not None else linked.content])
    # Without a base the map shows values as if it were 0.
    sites = located.sites if located is not None and with_map else ()
    if as_json:
        print_json(
            {
                "schema": 1,
                "output": output,
                "format": "zebin",
                "base": base,
                "imports": list(linked.imports),
                "bound": linked.bound,
                "renamed": [
                    {"module": module, "symbol": symbol, "to": new} for (module, symbol), new in linked.renamed.items()
                ],
                "dropped": list(linked.dropped),
                "map": map_document(sites) if with_map else None,
            }
        )
        return 0
    lines = [f"{shortened(symbol)} comes from {module}" for symbol, module in linked.bound.items()]
    lines += [f"{symbol} of {module} is now {new}" for (module, symbol), new in linked.renamed.items()]
    lines += [f"still imported: {', '.join(map(shortened, linked.imports))}"] if linked.imports else []
    lines += [f"left out, as they cannot be merged: {', '.join(linked.dropped)}"] if linked.dropped else []
    print_lines([*lines, f"{len(modules)} modules linked into {output}"])
    if with_map:
        print_lines(map_text(sites))
    return 0


def _unresolved(modules: Sequence[Module], imports: Sequence[str]) -> str:
    from kernlens.analysis.linking.unresolved_reasons import advise

    advice = "; ".join(f"{shortened(symbol)}: {advise(symbol, modules)}" for symbol in imports[:5])
    more = f" (and {len(imports) - 5} more)" if len(imports) > 5 else ""
    return f"unresolved: {advice}{more}; --partial links all the same"
