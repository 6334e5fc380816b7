"""The table of AMD's GPUs, by the processors that compilers name (``gfx1030``).

Source: LLVM's "User Guide for AMDGPU Backend", "Processors". Of the products of a processor the best known stand here.
"""

from __future__ import annotations

from kernlens.model.device import Device

VENDOR, ISA = "AMD", "amdgcn"
#: Processor, products, further names; oldest first, generic processors behind those that they stand for.
_PROCESSORS = (
    ("gfx600", "Radeon HD 7900 (Tahiti)", ("tahiti",)),
    ("gfx601", "Radeon HD 7700, 7800 (Pitcairn, Cape Verde)", ("pitcairn", "verde")),
    ("gfx602", "Radeon HD 8000M (Hainan, Oland)", ("hainan", "oland")),
    ("gfx700", "A10-7850K (Kaveri)", ("kaveri",)),
    ("gfx701", "Radeon R9 290 (Hawaii), FirePro", ("hawaii",)),
    ("gfx702", "Radeon R9 290, 390", ()),
    ("gfx703", "E1, A4 (Kabini, Mullins)", ("kabini", "mullins")),
    ("gfx704", "Radeon HD 7790 (Bonaire)", ("bonaire",)),
    ("gfx705", "APU of the second generation", ()),
    ("gfx801", "A10-8700P (Carrizo)", ("carrizo",)),
    ("gfx802", "Radeon R9 285 (Tonga, Iceland)", ("tonga", "iceland")),
    ("gfx803", "Radeon R9 Fury, RX 480 (Fiji, Polaris)", ("fiji", "polaris10", "polaris11")),
    ("gfx805", "FirePro S7150 (Tonga Pro)", ("tongapro",)),
    ("gfx810", "A9-9410 (Stoney)", ("stoney",)),
    ("gfx900", "Radeon RX Vega, Instinct MI25", ("vega10",)),
    ("gfx902", "Ryzen 2000, 3000 APU (Raven)", ("raven",)),
    ("gfx904", "Radeon Vega Mobile (Vega 12)", ("vega12",)),
    ("gfx906", "Radeon VII, Instinct MI50, MI60", ("vega20",)),
    ("gfx908", "Instinct MI100", ("mi100",)),
    ("gfx909", "Ryzen APU (Raven 2)", ("raven2",)),
    ("gfx90a", "Instinct MI210, MI250, MI250X", ("mi200",)),
    ("gfx90c", "Ryzen 4000, 5000 APU (Renoir)", ("renoir",)),
    ("gfx940", "Instinct MI300, early samples", ()),
    ("gfx941", "Instinct MI300X, early samples", ()),
    ("gfx942", "Instinct MI300A, MI300X", ("mi300",)),
    ("gfx950", "Instinct MI350X, MI355X", ("mi350",)),
    ("gfx1010", "Radeon RX 5600, 5700", ("navi10",)),
    ("gfx1011", "Radeon Pro V520", ("navi12",)),
    ("gfx1012", "Radeon RX 5500", ("navi14",)),
    ("gfx1013", "BC-250", ()),
    ("gfx1030", "Radeon RX 6800, 6900 XT", ("navi21",)),
    ("gfx1031", "Radeon RX 6700 XT", ("navi22",)),
    ("gfx1032", "Radeon RX 6600", ("navi23",)),
    ("gfx1033", "Steam Deck (Van Gogh)", ()),
    ("gfx1034", "Radeon RX 6500 XT", ("navi24",)),
    ("gfx1035", "Ryzen 6000 APU (Rembrandt)", ()),
    ("gfx1036", "Ryzen 7000 (Raphael)", ()),
    ("gfx1100", "Radeon RX 7900, Radeon Pro W7900", ("navi31",)),
    ("gfx1101", "Radeon RX 7700, 7800 XT", ("navi32",)),
    ("gfx1102", "Radeon RX 7600", ("navi33",)),
    ("gfx1103", "Ryzen 7040 APU (Phoenix)", ()),
    ("gfx1150", "Ryzen AI 300 (Strix Point)", ()),
    ("gfx1151", "Ryzen AI Max (Strix Halo)", ()),
    ("gfx1152", "Ryzen AI 300 (Krackan Point)", ()),
    ("gfx1153", "Ryzen AI APU", ()),
    ("gfx1200", "Radeon RX 9060 XT", ("navi44",)),
    ("gfx1201", "Radeon RX 9070, 9070 XT", ("navi48",)),
    ("gfx1250", "GPU of the GFX12.5 generation", ()),
    ("gfx9-generic", "any of gfx900 to gfx90c but the Instincts", ()),
    ("gfx9-4-generic", "any of gfx940 to gfx950", ()),
    ("gfx10-1-generic", "any of gfx1010 to gfx1013", ()),
    ("gfx10-3-generic", "any of gfx1030 to gfx1036", ()),
    ("gfx11-generic", "any of gfx1100 to gfx1153", ()),
    ("gfx12-generic", "any of gfx1200, gfx1201", ()),
)
#: The processors that have no instructions for images: LLVM compiles reads of images there to nothing, without a word.
WITHOUT_IMAGES = frozenset({"gfx940", "gfx941", "gfx942", "gfx950", "gfx9-4-generic", "gfx1250"})

#: Every known AMD GPU.
AMD_DEVICES = tuple(Device(name, title, VENDOR, ISA, aliases=aliases) for name, title, aliases in _PROCESSORS)
_BY_NAME = {name: device for device in AMD_DEVICES for name in (device.name, *device.aliases)}


def amd_device(name: str) -> Device | None:
    """Return the GPU of this name, whatever features stand behind it (``gfx90a:xnack-``); None if there is none."""
    return _BY_NAME.get(name.partition(":")[0].strip().lower())


def processor_named(name: str) -> str:
    """Return what compilers call a GPU of AMD's, ``gfx90a:xnack-`` for ``mi200:xnack-``; ``name`` itself if there is none."""
    device = amd_device(name)
    _, colon, features = name.partition(":")
    return name if device is None else f"{device.name}{colon}{features}"


def is_of_amd(name: str) -> bool:
    """Return whether a name is one of AMD's GPUs, with or without features behind it."""
    return amd_device(name) is not None


def wavefront_sizes(processor: str) -> tuple[int, ...]:
    """Return the wavefront sizes that the processor has, the one that compilers choose first."""
    return (32, 64) if processor.startswith(("gfx10", "gfx11", "gfx12")) else (64,)
