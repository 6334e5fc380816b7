"""The table of known devices; ``devices.py`` looks things up in it.

Sources: compute-runtime's ``product_config_base.inl`` and ``device_ids_configs_*.h``, IGC's ``igfxfmid.h`` for the
product family and render core numbers, ``getIGAPlatform`` of IGC's ``visa/G4_Kernel.cpp`` for the libiga64 platform.
Names, IP versions and numbers agree with what ``ocloc ids`` prints and what NEO 22.43 and 26.27 write into the headers
and notes of binaries compiled for each device (Xe-HP SDV excepted: neither version compiles for it).
"""

from __future__ import annotations

# libiga64's iga_gen_t
GEN8, GEN9, GEN11 = 0x80000, 0x90000, 0xB0000
XE_LP, XE_HP, XE_HPG, XE_HPC = 0x1000000, 0x1000001, 0x1000002, 0x1000004
XE2, XE3, XE3P = 0x2000000, 0x3000000, 0x3000003

#: The name of each iga_gen_t in messages.
PLATFORM_TITLES = {
    GEN8: "Gen8", GEN9: "Gen9", GEN11: "Gen11", XE_LP: "Xe-LP", XE_HP: "Xe-HP", XE_HPG: "Xe-HPG", XE_HPC: "Xe-HPC",
    XE2: "Xe2", XE3: "Xe3", XE3P: "Xe3P",
}  # fmt: skip

#: What is printed on the box -> the device. Source: the names beside the PCI ids in compute-runtime's device ids.
PRODUCTS = {
    **dict.fromkeys(("a770", "a750", "a580", "a770m", "a730m", "a550m", "flex170"), "dg2"),
    **dict.fromkeys(("a380", "a310", "a370m", "a350m", "flex140"), "dg2-g11"),
    **dict.fromkeys(("a570m", "a530m"), "dg2-g12"),
    **dict.fromkeys(("max1550", "max1100"), "pvc"),
    **dict.fromkeys(("b580", "b570", "b60", "b50"), "bmg"),
    **dict.fromkeys(("140v", "130v"), "lnl"),
}

#: name, title, IP version, iga_gen_t, PRODUCT_FAMILY, GFXCORE_FAMILY, aliases. Where several devices share a family or
#: a render core, a header that says no more is taken to mean the first.
DEVICES = (
    ("bdw", "Broadwell", "8.0.0", GEN8, 16, 0x0B, ("broadwell",)),
    ("skl", "Skylake", "9.0.9", GEN9, 18, 0x0C, ("skylake",)),
    ("kbl", "Kaby Lake", "9.1.9", GEN9, 19, 0x0C, ("kabylake",)),
    ("cfl", "Coffee Lake", "9.2.9", GEN9, 20, 0x0C, ("coffeelake",)),
    ("apl", "Apollo Lake", "9.3.0", GEN9, 22, 0x0C, ("bxt", "broxton", "apollolake")),
    ("glk", "Gemini Lake", "9.4.0", GEN9, 23, 0x0C, ("geminilake",)),
    ("whl", "Whiskey Lake", "9.5.0", GEN9, 20, 0x0C, ("whiskeylake",)),
    ("aml", "Amber Lake", "9.6.0", GEN9, 19, 0x0C, ("amberlake",)),
    ("cml", "Comet Lake", "9.7.0", GEN9, 20, 0x0C, ("cometlake",)),
    ("icllp", "Ice Lake", "11.0.0", GEN11, 26, 0x0F, ("icl", "icelake")),
    ("lkf", "Lakefield", "11.1.0", GEN11, 27, 0x0F, ("lakefield",)),
    ("ehl", "Elkhart Lake, Jasper Lake", "11.2.0", GEN11, 28, 0x0F, ("jsl", "elkhartlake", "jasperlake")),
    ("tgllp", "Tiger Lake", "12.0.0", XE_LP, 29, 0x12, ("tgl", "tigerlake")),
    ("rkl", "Rocket Lake", "12.1.0", XE_LP, 30, 0x12, ("rocketlake",)),
    ("adl-s", "Alder Lake-S, Raptor Lake-S", "12.2.0", XE_LP, 31, 0x12, ("rpl-s",)),
    ("adl-p", "Alder Lake-P, Raptor Lake-P", "12.3.0", XE_LP, 32, 0x12, ("rpl-p",)),
    ("adl-n", "Alder Lake-N", "12.4.0", XE_LP, 33, 0x12, ()),
    ("dg1", "Iris Xe MAX (DG1)", "12.10.0", XE_LP, 1210, 0x12, ()),
    ("xe-hp-sdv", "Xe-HP SDV", "12.50.4", XE_HP, 1250, 0xC05, ("xehp-sdv", "xe-hp")),
    ("dg2", "Arc A-series, G10 (A770, A750)", "12.55.8", XE_HPG, 1270, 0xC07, ("dg2-g10", "acm-g10", "ats-m150")),
    ("dg2-g11", "Arc A-series, G11 (A380, A370M)", "12.56.5", XE_HPG, 1270, 0xC07, ("acm-g11", "ats-m75")),
    ("dg2-g12", "Arc A-series, G12 (A570M)", "12.57.0", XE_HPG, 1270, 0xC07, ("acm-g12",)),
    ("pvc", "Data Center GPU Max (Ponte Vecchio)", "12.60.7", XE_HPC, 1271, 0xC08, ("pvc-xt", "pvc-xt-c0")),
    ("pvc-vg", "Ponte Vecchio VG", "12.61.7", XE_HPC, 1271, 0xC08, ("pvc-xt-c0-vg",)),
    ("mtl", "Meteor Lake-U, Arrow Lake-S and -U", "12.70.4", XE_HPG, 1272, 0xC07,
     ("mtl-u", "mtl-m", "mtl-s", "mtl-u-b0", "arl-s", "arl-u", "meteorlake")),
    ("mtl-h", "Meteor Lake-H", "12.71.4", XE_HPG, 1272, 0xC07, ("mtl-p", "mtl-h-b0")),
    ("arl-h", "Arrow Lake-H", "12.74.4", XE_HPG, 1273, 0xC07, ("arl", "arl-h-b0", "arrowlake")),
    ("bmg", "Arc B-series, G21 (B580, B570)", "20.1.0", XE2, 1274, 0xC09, ("bmg-g21", "battlemage")),
    ("bmg-g31", "Arc B-series, G31", "20.2.0", XE2, 1274, 0xC09, ("bmg-g31-a0",)),
    ("lnl", "Lunar Lake", "20.4.4", XE2, 1275, 0xC09, ("lnl-m", "lnl-b0", "lunarlake")),
    ("ptl", "Panther Lake-H", "30.0.4", XE3, 1300, 0x1E00, ("ptl-h", "ptl-h-b0", "pantherlake")),
    ("ptl-u", "Panther Lake-U", "30.1.0", XE3, 1300, 0x1E00, ("ptl-u-a0",)),
    ("wcl", "Wildcat Lake", "30.3.1", XE3, 1300, 0x1E00, ("wcl-a1", "wildcatlake")),
    ("nvl-s", "Nova Lake-S", "30.4.4", XE3, 1340, 0x1E00, ("nvl-hx", "nvl-ul", "nvl-s-b0")),
    ("nvl-u", "Nova Lake-U", "30.5.4", XE3, 1340, 0x1E00, ("nvl-h", "nvl-u-b0")),
    ("nvl-p", "Nova Lake-P", "35.10.4", XE3P, 1360, 0x2300, ("nvl-p-b0",)),
    ("cri", "Crescent Island", "35.11.0", XE3P, 1380, 0x2300, ("cri-a0",)),
)  # fmt: skip

#: Early steppings that ocloc tells apart: its name, the device, the IP version.
STEPPINGS = (
    ("dg2-g10-a0", "dg2", "12.55.0"), ("dg2-g10-a1", "dg2", "12.55.1"), ("dg2-g10-b0", "dg2", "12.55.4"),
    ("dg2-g10-c0", "dg2", "12.55.8"), ("dg2-g11-a0", "dg2-g11", "12.56.0"), ("dg2-g11-b0", "dg2-g11", "12.56.4"),
    ("dg2-g11-b1", "dg2-g11", "12.56.5"), ("dg2-g12-a0", "dg2-g12", "12.57.0"),
    ("pvc-xl-a0", "pvc", "12.60.0"), ("pvc-sdv", "pvc", "12.60.1"), ("pvc-xl-a0p", "pvc", "12.60.1"),
    ("pvc-xt-a0", "pvc", "12.60.3"), ("pvc-xt-b0", "pvc", "12.60.5"), ("pvc-xt-b1", "pvc", "12.60.6"),
    ("mtl-u-a0", "mtl", "12.70.0"), ("mtl-h-a0", "mtl-h", "12.71.0"), ("arl-h-a0", "arl-h", "12.74.0"),
    ("bmg-g21-a0", "bmg", "20.1.0"), ("bmg-g21-a1", "bmg", "20.1.1"), ("bmg-g21-b0", "bmg", "20.1.4"),
    ("lnl-a0", "lnl", "20.4.0"), ("lnl-a1", "lnl", "20.4.1"),
    ("ptl-h-a0", "ptl", "30.0.0"), ("wcl-a0", "wcl", "30.3.0"),
    ("nvl-s-a0", "nvl-s", "30.4.0"), ("nvl-u-a0", "nvl-u", "30.5.0"), ("nvl-u-a1", "nvl-u", "30.5.1"),
    ("nvl-p-a0", "nvl-p", "35.10.0"),
)  # fmt: skip
