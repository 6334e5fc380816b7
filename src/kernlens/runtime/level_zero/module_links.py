"""Links of modules on the driver, dynamic or static, and the inspection of what a link would need."""

from __future__ import annotations

import re
from collections.abc import Sequence
from ctypes import POINTER, Array, addressof, byref, c_char_p, c_size_t, c_void_p, cast, pointer

from kernlens.dataclass import dataclass, field
from kernlens.runtime.level_zero import ze_structures as ze
from kernlens.runtime.level_zero.drivers import Context, LiveDevice
from kernlens.runtime.level_zero.handle_owner import HandleError
from kernlens.runtime.level_zero.live_module import LiveModule, create, read_log
from kernlens.runtime.level_zero.native_binary import NativeBinary
from kernlens.runtime.level_zero.refusals import refuse_spirv
from kernlens.runtime.level_zero.result_codes import (
    LINK_FAILURE,
    SUCCESS,
    UNSUPPORTED_FEATURE,
    LevelZeroError,
    RefusedCallError,
    result_name,
)

_RESOLVED = re.compile(
    r"Module <(?P<user>[^>]*)>:\s+Unresolved Symbol <(?P<symbol>.*)> Successfully Resolved Thru Dynamic Link to "
    r"Module <(?P<provider>[^>]*)>"
)
_UNRESOLVED = re.compile(r"Module <(?P<user>[^>]*)>:\s+Unresolved Symbol <(?P<symbol>[^>]*)>\s*$")
_ADDRESS = re.compile(r"Module <(0x[0-9a-fA-F]+)>")
_INSPECTED = re.compile(
    r"Module <(?P<module>[^>]*)>:\s+(?P<kind>Exported|Imported|Unresolved Imported) Symbol <(?P<symbol>.*)>"
)
#: The driver's log names a module by its object's address, which is the handle, or lies 8 bytes below it (26.27).
_HANDLE_OFFSETS = (0, 8)
_INSPECT_ALL = 7


@dataclass(frozen=True, slots=True)
class Resolution:
    """An import and the module that the driver bound it to. ``user`` and ``provider`` are the modules' names. ``user``
    is None for a module that is not among those linked, ``provider`` None if no module exports the symbol."""

    symbol: str
    user: str | None
    provider: str | None


@dataclass(frozen=True, slots=True)
class DynamicLink:
    """The answer of zeModuleDynamicLink. ``log`` is its whole text, with the modules' names for their addresses.

    ``resolutions`` are the imports that were bound, ``missing`` those that no module exports. ``words`` is the driver's
    description of a failure, beside the log; empty if there is none.
    """

    linked: bool
    code: int
    log: str = field(repr=False)
    resolutions: tuple[Resolution, ...] = ()
    missing: tuple[Resolution, ...] = ()
    words: str = ""

    @property
    def result_name(self) -> str:
        """The name of the driver's result, as ``ZE_RESULT_SUCCESS``."""
        return result_name(self.code)


@dataclass(frozen=True, slots=True)
class ModuleLinkage:
    """A module's exports and imports; ``unresolved`` are the imports that none of the inspected modules exports.

    ``origin`` is ``zeModuleInspectLinkageExt``, or ``zeModuleGetNativeBinary`` if the driver has no inspection and the
    module's binary was read instead.
    """

    module: str
    exports: tuple[str, ...]
    imports: tuple[str, ...]
    unresolved: tuple[str, ...]
    origin: str


@dataclass(frozen=True, slots=True)
class StaticInput:
    """A SPIR-V module of a static link, with build flags, which act on the whole result, and with its specialisation
    constants, (number, bits) each."""

    spirv: bytes = field(repr=False)
    flags: str = ""
    name: str = "module"
    constants: Sequence[tuple[int, int]] = ()


@dataclass(frozen=True, slots=True)
class NativeInput:
    """A native binary of a static link."""

    binary: bytes = field(repr=False)
    name: str = "module"


def dynamic_link(modules: Sequence[LiveModule]) -> DynamicLink:
    """Link ``modules`` with each other. A link that fails is an answer, not an error.

    The first module of the list that exports a symbol provides it. After a failure, the modules before the failing one
    are linked all the same. Raises RefusedCallError for a call that would crash the driver, HandleError for a closed or
    foreign object, LevelZeroError for any result but success and link failure.
    """
    call = "zeModuleDynamicLink"
    handles = _handles(call, modules)
    refuse_link(call, modules)
    loader = modules[0].context.driver.loader
    log_handle = c_void_p(0)
    code = loader.result(call, len(handles), handles, byref(log_handle))
    log = read_log(loader, log_handle)
    if code not in (SUCCESS, LINK_FAILURE):
        raise LevelZeroError(call, code, device=str(modules[0].device), input=_names(modules), log=log)
    if code == SUCCESS:
        for module in modules:
            others = [other for other in modules if other is not module]
            module.partners = tuple(dict.fromkeys([*module.partners, *others]))
    words = "" if code == SUCCESS else modules[0].context.driver.last_error().strip()
    return parse_dynamic_link(code, log, {module.handle: module.name for module in modules}, words)


def parse_dynamic_link(code: int, log: str, names: dict[int, str], words: str = "") -> DynamicLink:
    """Parse the driver's link log; ``names`` are the modules' names by handle."""
    resolutions: list[Resolution] = []
    missing: list[Resolution] = []
    for line in log.splitlines():
        if match := _RESOLVED.search(line):
            user, provider = _named(match["user"], names), _named(match["provider"], names)
            resolutions.append(Resolution(match["symbol"], user, provider))
        elif match := _UNRESOLVED.search(line):
            missing.append(Resolution(match["symbol"], _named(match["user"], names), None))
    return DynamicLink(
        linked=code == SUCCESS,
        code=code,
        log=_ADDRESS.sub(lambda match: f"Module <{_named(match[1], names) or match[1]}>", log),
        resolutions=tuple(dict.fromkeys(resolutions)),
        missing=tuple(dict.fromkeys(missing)),
        words=words,
    )


def static_link(
    context: Context,
    device: LiveDevice,
    inputs: Sequence[StaticInput],
    name: str = "linked module",
    *,
    as_given: bool = False,
) -> LiveModule:
    """Compile several SPIR-V modules to one module (ze_module_program_exp_desc_t).

    With ``as_given`` the driver gets the very flags, and joins them as it does; else they are kept apart. A symbol that none
    of them provides is no error: the module then has imports. Raises LevelZeroError with the build log if the compiler
    refuses the modules, RefusedCallError if they would crash it.
    """
    call = "zeModuleCreate"
    if not inputs:
        raise RefusedCallError(call, "a static link needs at least one SPIR-V module", device=str(device), input=name)
    joined = " ".join(item.flags for item in inputs if item.flags)
    for item in inputs:
        refuse_spirv(call, item.spirv, joined, device, item.name)
    constants_of = [ze.module_constants(item.constants) for item in inputs]
    constants = (POINTER(ze.ze_module_constants_t) * len(inputs))(*map(pointer, constants_of))
    # The drivers join the modules' flags without a separator, and before that rewrite some words, which takes the spaces
    # at one end or the other: `-library-compilation` and `-g` became one unknown word.
    program = _program(
        [(item.spirv, f" {item.flags} " if item.flags and not as_given else item.flags) for item in inputs],
        pConstants=cast(constants, POINTER(POINTER(ze.ze_module_constants_t)))
        if any(item.constants for item in inputs)
        else None,
    )
    return _linked(context, device, program, ze.ZE_MODULE_FORMAT_IL_SPIRV, inputs, name, joined)


def static_link_natives(
    context: Context, device: LiveDevice, inputs: Sequence[NativeInput], name: str = "linked module"
) -> LiveModule:
    """Make one module of several native binaries, which needs no SPIR-V (26.27; 22.43 refuses it).

    The driver loads them and links them dynamically, so that the first that exports a symbol provides it. A symbol that
    none of them provides is no error: kernels that need it cannot be created. The native binary of the result is an archive
    of the inputs. Raises LevelZeroError if the driver does not take them, RefusedCallError if they would crash it.
    """
    call = "zeModuleCreate"
    if not inputs:
        raise RefusedCallError(call, "a static link needs at least one binary", device=str(device), input=name)
    read = [(item.name, NativeBinary(item.binary, item.name)) for item in inputs]
    _refuse_data_imports(call, read, device)
    program = _program([(item.binary, "") for item in inputs])
    return _linked(context, device, program, ze.ZE_MODULE_FORMAT_NATIVE, inputs, name)


def _program(modules: Sequence[tuple[bytes, str]], **more: object) -> ze.ze_module_program_exp_desc_t:
    """Describe several modules, each with its flags, that one module is to be made of."""
    count = len(modules)
    sizes = (c_size_t * count)(*(len(content) for content, _ in modules))
    contents = (c_void_p * count)(*(cast(c_char_p(content), c_void_p).value for content, _ in modules))
    flags = (c_char_p * count)(*(words.encode() for _, words in modules))
    return ze.make(
        ze.ze_module_program_exp_desc_t,
        count=count,
        inputSizes=cast(sizes, POINTER(c_size_t)),
        pInputModules=cast(contents, POINTER(c_void_p)),
        pBuildFlags=cast(flags, POINTER(c_char_p)),
        **more,
    )


def _linked(
    context: Context,
    device: LiveDevice,
    program: ze.ze_module_program_exp_desc_t,
    format: int,
    inputs: Sequence[StaticInput | NativeInput],
    name: str,
    flags: str = "",
) -> LiveModule:
    description = ze.make(ze.ze_module_desc_t, pNext=addressof(program), format=format)
    handle, log = create(context, device, description, f"{name} ({', '.join(item.name for item in inputs)})")
    return LiveModule(context, device, handle, name=name, flags=flags, build_log=log)


def inspect_linkage(modules: Sequence[LiveModule]) -> tuple[ModuleLinkage, ...]:
    """Return the exports and imports of each of ``modules``, in their order, and which imports none of them provides.
    Raises RefusedCallError and HandleError as ``dynamic_link``, LevelZeroError if the driver fails."""
    call = "zeModuleInspectLinkageExt"
    handles = _handles(call, modules)
    loader = modules[0].context.driver.loader
    code, log = UNSUPPORTED_FEATURE, ""
    if loader.has(call):
        log_handle = c_void_p(0)
        description = ze.make(ze.ze_linkage_inspection_ext_desc_t, flags=_INSPECT_ALL)
        code = loader.result(call, byref(description), len(handles), handles, byref(log_handle))
        log = read_log(loader, log_handle)
    if code == UNSUPPORTED_FEATURE:
        return _linkage_of_binaries(modules)
    if code != SUCCESS:
        raise LevelZeroError(call, code, device=str(modules[0].device), input=_names(modules), log=log)
    return parse_inspection(log, {module.handle: module.name for module in modules})


def parse_inspection(log: str, names: dict[int, str]) -> tuple[ModuleLinkage, ...]:
    """Parse the driver's inspection log; ``names`` are the modules' names by handle, in the order of the answer. The
    driver repeats a module's earlier lines in each of its entries, so only a line's text says what it is."""
    symbols: dict[tuple[int | None, str], dict[str, None]] = {}
    for match in _INSPECTED.finditer(log):
        symbols.setdefault((_handle(match["module"], names), match["kind"]), {})[match["symbol"]] = None

    def symbols_of(handle: int, kind: str) -> tuple[str, ...]:
        return tuple(symbols.get((handle, kind), ()))

    return tuple(
        ModuleLinkage(
            module=name,
            exports=symbols_of(handle, "Exported"),
            imports=symbols_of(handle, "Imported"),
            unresolved=symbols_of(handle, "Unresolved Imported"),
            origin="zeModuleInspectLinkageExt",
        )
        for handle, name in names.items()
    )


def _linkage_of_binaries(modules: Sequence[LiveModule]) -> tuple[ModuleLinkage, ...]:
    exported = {symbol for module in modules for symbol in module.native.exports}
    return tuple(
        ModuleLinkage(
            module=module.name,
            exports=module.native.exports,
            imports=module.native.imports,
            unresolved=tuple(symbol for symbol in module.native.imports if symbol not in exported),
            origin="zeModuleGetNativeBinary",
        )
        for module in modules
    )


def _handles(call: str, modules: Sequence[LiveModule]) -> Array[c_void_p]:
    for module in modules:
        if not isinstance(module, LiveModule):
            raise HandleError(f"{call} links LiveModule objects, not {type(module).__name__}")
    _refuse_strangers(call, modules)
    return (c_void_p * len(modules))(*(module.handle for module in modules))


def refuse_link(call: str, modules: Sequence[LiveModule]) -> None:
    """Raise RefusedCallError if linking ``modules`` dynamically would crash the driver.

    * Both drivers crash if there is no module, or something that is not a module.
    * 26.27 crashes if a module's global initialiser takes the address of a variable that another of ``modules`` exports.
      (It does not when it inspects them.)
    """
    _refuse_strangers(call, modules)
    _refuse_data_imports(call, [(module.name, module.native) for module in modules], modules[0].device)


def _refuse_strangers(call: str, modules: Sequence[LiveModule]) -> None:
    if not modules:
        raise RefusedCallError(call, "the list of modules is empty, and the driver crashes on it")
    for module in modules:
        if module.context.driver != modules[0].context.driver or module.device != modules[0].device:
            raise RefusedCallError(
                call, f"{module.name} is a module of another driver or device than {modules[0].name}", input=module.name
            )


def _refuse_data_imports(call: str, modules: Sequence[tuple[str, NativeBinary]], device: LiveDevice) -> None:
    exporters = {symbol: name for name, native in reversed(modules) for symbol in native.exports}
    for name, native in modules:
        for symbol in native.data_imports:
            if symbol in exporters:
                raise RefusedCallError(
                    call,
                    f"the driver crashes when a global initialiser of {name} takes the address of variable "
                    f"{symbol} of {exporters[symbol]}: link statically from SPIR-V, or set the pointer in a kernel",
                    device=str(device),
                    input=name,
                )


def _handle(address: str, names: dict[int, str]) -> int | None:
    """Return the handle of the module that a log calls ``address``; None if it is none of ``names``."""
    try:
        value = int(address, 16)
    except ValueError:
        return None
    return next((value + offset for offset in _HANDLE_OFFSETS if value + offset in names), None)


def _named(address: str, names: dict[int, str]) -> str | None:
    handle = _handle(address, names)
    return None if handle is None else names[handle]


def _names(modules: Sequence[LiveModule]) -> str:
    return ", ".join(module.name for module in modules)
