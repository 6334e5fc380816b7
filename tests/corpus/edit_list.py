"""Forty edits of darktable's kernels, each with what an engineer expects ``diff`` to say of it.

The expectations were written before ``diff`` was run on the edits. In that run 36 of 40 were right. In three the expectation
was wrong, and ``diff`` right: ``convolve`` is compiled for SIMD32, not 16; a factor before a subtraction becomes one ``mad``,
no second instruction; and a ``long`` index gives the same bytes, as the offset into a surface has 32 bits. The fourth did not
compile, as ``basic.cl`` includes other sources.
"""

from __future__ import annotations

from dataclasses import dataclass, field

MORE, FEWER, AS_MANY, ANY = "more", "fewer", "as many", "any"


@dataclass(frozen=True)
class Change:
    """What becomes of one kernel: whether it has more instructions, fewer or as many, and spills likewise; its SIMD widths;
    and the lines, by a part of their text, that are named as edited."""

    instructions: str = ANY
    cause: tuple[str, ...] = ()
    spills: str = AS_MANY
    simd: tuple[int, int] | None = None


@dataclass(frozen=True)
class Edit:
    """An edit of ``file``, which is compiled, or of a file ``edited`` that it includes: each of these texts is replaced once by
    another; ``new_files`` are added. The kernels that are not in ``changes`` have equal code. ``renamed``: the new names, each
    with its old one. ``options`` are those of both sides."""

    name: str
    file: str
    replaced: tuple[tuple[str, str], ...] = ()
    changes: dict[str, Change] = field(default_factory=dict)
    renamed: dict[str, str] = field(default_factory=dict)
    only_old: frozenset[str] = frozenset()
    only_new: frozenset[str] = frozenset()
    new_files: dict[str, str] = field(default_factory=dict)
    device: str = "dg2"
    toolchain: str = "system"
    options: tuple[str, str] = ("", "")
    edited: str = ""


WEIGHT = """\
float4
weight(const float4 c1, const float4 c2, const float sharpen)
{
  // native_exp is faster than the cpu floating point aliasing hack:
  const float wc = native_exp(-((c1.y - c2.y)*(c1.y - c2.y) + (c1.z - c2.z)*(c1.z - c2.z)) * sharpen);
  const float wl = native_exp(- (c1.x - c2.x)*(c1.x - c2.x) * sharpen);
  return (float4)(wl, wc, wc, 1.0f);
}
"""
MIX = """\
kernel void
sharpen_mix(read_only image2d_t in_a, read_only image2d_t in_b, write_only image2d_t out,
            const int width, const int height, const float sharpen, const float thrs)
{
  const int x = get_global_id(0);
  const int y = get_global_id(1);

  if(x >= width || y >= height) return;

  float4 pixel = read_imagef(in_a, sampleri, (int2)(x, y));
  float blurredx  = read_imagef(in_b, sampleri, (int2)(x, y)).x;
  float4 Labmin = (float4)(0.0f, -128.0f, -128.0f, 0.0f);
  float4 Labmax = (float4)(100.0f, 128.0f, 128.0f, 1.0f);

  float delta = pixel.x - blurredx;
  float amount = sharpen * copysign(fmax(0.0f, fabs(delta) - thrs), delta);
  pixel.x = pixel.x + amount;
  write_imagef (out, (int2)(x, y), pixel);
}
"""
COMMON = '#include "common.h"\n'
HEAD = "\n\n/* a comment\n * of some lines\n */\n\n"
BOUNDS = "  if(x >= width || y >= height) return;\n"
INIT = "\n".join(
    (
        "dwt_init_buffer(global float4 *buffer, int width, int height)",
        "{",
        "  const int x = get_global_id(0);",
        "  const int y = get_global_id(1);",
        "",
        "  if(x >= width || y >= height) return;",
        "",
        "  const int idx = mad24(y, width, x);",
        "",
        "  buffer[idx] = 0.f;",
    )
)
COPY = """\
kernel void
dwt_copy(global float4 *from, global float4 *to)
{
  to[get_global_id(0)] = from[get_global_id(0)];
}
"""
NONE = "\n".join(
    (
        "kernel void",
        "lut3d_none(read_only image2d_t in, write_only image2d_t out, const int width, const int height)",
        "{",
        "  const int x = get_global_id(0);",
        "  const int y = get_global_id(1);",
        "",
        "  if(x >= width || y >= height) return;",
        "",
        "  float4 input = read_imagef(in, sampleri, (int2)(x, y));",
        "",
        "  write_imagef(out, (int2)(x, y), input);",
        "}",
    )
)
ADD = "pixel.x = pixel.x + amount;"

#: The code is equal: what was edited is nothing to the compiler.
EQUAL = (
    Edit("comments above a kernel", "sharpen.cl", ((COMMON, COMMON + HEAD),)),
    Edit(
        "a variable renamed",
        "blurs.cl",
        (
            ("float4 acc = 0.f", "float4 total = 0.f"),
            ("acc += k", "total += k"),
            ("  acc.w =", "  total.w ="),
            ("(x, y), acc)", "(x, y), total)"),
        ),
    ),
    Edit(
        "white space",
        "bspline.cl",
        (("write_imagef(HF, (int2)(x, y), d - lf);", "write_imagef(HF,\n    (int2)(x, y),\n    d - lf);"),),
    ),
    Edit(
        "a function moved to a header",
        "atrous.cl",
        ((WEIGHT, '#include "weight.h"\n'),),
        new_files={"weight.h": WEIGHT},
    ),
    Edit(
        "kernels in another order",
        "sharpen.cl",
        (
            (MIX, ""),
            (COMMON, f"{COMMON}\n{MIX}"),
        ),
    ),
    Edit(
        "a kernel renamed",
        "sharpen.cl",
        (("sharpen_mix(", "sharpen_final("),),
        renamed={"sharpen_final": "sharpen_mix"},
    ),
    Edit(
        "a parameter renamed",
        "dwt.cl",
        (
            ("float4 *img,", "float4 *image,"),
            ("+= img[idx]", "+= image[idx]"),
        ),
    ),
    Edit(
        "a condition by De Morgan",
        "bloom.cl",
        (("if(x >= width || y >= height) return;", "if(!(x < width && y < height)) return;"),),
    ),
    Edit("a macro as an enumeration", "bspline.cl", (("#define FSIZE 5", "enum { FSIZE = 5 };"),)),
    Edit(
        "a function that nobody calls",
        "highpass.cl",
        ((COMMON, f"{COMMON}\nstatic inline float half_of(float a)\n{{\n  return a / 2;\n}}\n"),),
    ),
    Edit("const taken away", "bspline.cl", (("const float4 d =", "float4 d ="),)),
    Edit("a sum turned round", "atrous.cl", (("c + boost*amount", "boost*amount + c"),)),
    Edit(
        "variables that nobody reads are gone",
        "sharpen.cl",
        (
            ("  float4 Labmin = (float4)(0.0f, -128.0f, -128.0f, 0.0f);\n", ""),
            ("  float4 Labmax = (float4)(100.0f, 128.0f, 128.0f, 1.0f);\n", ""),
        ),
    ),
    Edit(
        "two kernels renamed, and comments",
        "sharpen.cl",
        (
            (COMMON, COMMON + HEAD),
            ("sharpen_hblur(", "sharpen_rows("),
            ("sharpen_vblur(", "sharpen_columns("),
        ),
        renamed={"sharpen_rows": "sharpen_hblur", "sharpen_columns": "sharpen_vblur"},
    ),
    Edit(
        "a kernel moved to a header",
        "sharpen.cl",
        ((MIX, '#include "mix.h"\n'),),
        new_files={"mix.h": MIX},
    ),
    Edit(
        "a wide index",
        "dwt.cl",
        ((INIT, INIT.replace("const int idx = mad24(y, width, x);", "const long idx = (long)y * width + x;")),),
    ),
    Edit("comments, by the newest compiler", "bloom.cl", ((COMMON, COMMON + HEAD),), toolchain="newest"),
)

#: One or more kernels change.
CHANGED = (
    Edit(
        "a factor more",
        "sharpen.cl",
        ((ADD, "pixel.x = pixel.x + amount * 2.0f;"),),
        {"sharpen_mix": Change(MORE, ("pixel.x + amount * 2.0f",))},
    ),
    Edit(
        "a division by a reciprocal",
        "hazeremoval.cl",
        (("(pixel.x - A0_r) / t +", "(pixel.x - A0_r) * native_recip(t) +"),),
        {"hazeremoval_dehaze": Change(FEWER, ("native_recip(t)",))},
    ),
    Edit(
        "an exact function for a native one, in a function that is inlined",
        "atrous.cl",
        (("wl = native_exp(-", "wl = exp(-"),),
        {"eaw_decompose": Change(MORE, ("wl = exp(",))},
    ),
    Edit(
        "a barrier more",
        "bloom.cl",
        (("  pixel = sum/(2*rad+1);", "  barrier(CLK_LOCAL_MEM_FENCE);\n  pixel = sum/(2*rad+1);"),),
        {"bloom_hblur": Change(MORE, ("barrier(",))},
    ),
    Edit(
        "no check of bounds",
        "dwt.cl",
        ((INIT, INIT.replace(BOUNDS, "")),),
        {"dwt_init_buffer": Change(FEWER, ("if(x >= width",))},
    ),
    Edit(
        "a constant in a function of a header",
        "soften.cl",
        (("return (v1 + (v2 - v1) * 6.0f * vH);", "return (v1 + (v2 - v1) * 7.0f * vH);"),),
        {"soften_overexposed": Change(ANY, ("* 7.0f * vH",))},
        edited="colorspace.h",
    ),
    Edit(
        "a macro",
        "bspline.cl",
        (("#define FSTART (FSIZE - 1) / 2", "#define FSTART (FSIZE - 1) / 4"),),
        {
            "blur_2D_Bspline_vertical": Change(ANY, ("#define FSTART",)),
            "blur_2D_Bspline_horizontal": Change(ANY, ("#define FSTART",)),
        },
    ),
    Edit(
        "a value of double precision",
        "sharpen.cl",
        (
            ("float amount =", "double amount ="),
            (ADD, "pixel.x = (float)(pixel.x + amount * amount);"),
        ),
        {"sharpen_mix": Change(MORE, ("(float)(pixel.x + amount * amount)",))},
        device="pvc",
    ),
    Edit(
        "a parameter that was not read",
        "dwt.cl",
        (("bh[idx] -= bl[idx];", "bh[idx] -= bl[idx] * lpass_mult;"),),
        {"dwt_subtract_layer": Change(AS_MANY, ("* lpass_mult;",))},
    ),
    Edit(
        "one of two equal loops",
        "bloom.cl",
        (("sum += buffer[i];", "sum += fabs(buffer[i] - 1.0f);"),),
        {"bloom_hblur": Change(MORE, ("fabs(buffer[i] - 1.0f)",))},
    ),
    Edit(
        "two kernels alike",
        "highpass.cl",
        (("sum += buffer[i] * m[i];", "sum += buffer[i] * m[i] * m[i];"),) * 2,
        {
            "highpass_hblur": Change(MORE, ("* m[i] * m[i]",)),
            "highpass_vblur": Change(MORE, ("* m[i] * m[i]",)),
        },
    ),
    Edit(
        "fast mathematics",
        "negadoctor.cl",
        changes={"negadoctor": Change(FEWER)},
        options=("", "-cl-fast-relaxed-math"),
    ),
    Edit(
        "twice as many registers",
        "diffuse.cl",
        changes={"diffuse_pde": Change(ANY, spills=FEWER), "build_mask": Change(), "inpaint_mask": Change()},
        options=("", "-cl-intel-256-GRF-per-thread"),
    ),
    Edit(
        "a wider kernel",
        "diffuse.cl",
        (("kernel void\ndiffuse_pde(", "kernel __attribute__((intel_reqd_sub_group_size(16))) void\ndiffuse_pde("),),
        {"diffuse_pde": Change(ANY, ("intel_reqd_sub_group_size(16)",), spills=MORE, simd=(8, 16))},
    ),
    Edit(
        "a narrower kernel",
        "blurs.cl",
        (("kernel void", "kernel __attribute__((intel_reqd_sub_group_size(8))) void"),),
        {"convolve": Change(FEWER, ("intel_reqd_sub_group_size(8)",), simd=(32, 8))},
    ),
    Edit(
        "a new kernel",
        "dwt.cl",
        ((COMMON, f"{COMMON}\n{COPY}"),),
        only_new=frozenset({"dwt_copy"}),
    ),
    Edit("a kernel is gone", "lut3d.cl", ((NONE, ""),), only_old=frozenset({"lut3d_none"})),
    Edit(
        "renamed, and an operator changed",
        "sharpen.cl",
        (
            ("sharpen_mix(", "sharpen_final("),
            (ADD, "pixel.x = pixel.x - amount;"),
        ),
        {"sharpen_final": Change(AS_MANY, ("pixel.x - amount",))},
        renamed={"sharpen_final": "sharpen_mix"},
    ),
    Edit(
        "another sampler",
        "blurs.cl",
        (("float4 pix_in = read_imagef(in, samplerA,", "float4 pix_in = read_imagef(in, samplerc,"),),
        {"convolve": Change(ANY, ("samplerc",))},
    ),
    Edit(
        "an exact power",
        "rgblevels.cl",
        (("level = native_powr(", "level = powr("),),
        {"rgblevels": Change(MORE, ("level = powr(",))},
    ),
    Edit(
        "a constant",
        "bloom.cl",
        (("100.0f-(((100.0f-pixel.x)", "90.0f-(((100.0f-pixel.x)"),),
        {"bloom_mix": Change(AS_MANY, ("90.0f-",))},
    ),
    Edit(
        "comments above, and an edit below",
        "sharpen.cl",
        (
            (COMMON, COMMON + HEAD),
            (ADD, "pixel.x = pixel.x + amount + 1.0f;"),
        ),
        {"sharpen_mix": Change(MORE, ("pixel.x + amount + 1.0f",))},
    ),
    Edit(
        "one kernel of seventy",
        "basic.cl",
        (("((pixel - black ) * scale).xyz", "((pixel - black ) * scale * scale).xyz"),),
        {"exposure": Change(MORE, ("* scale * scale",))},
    ),
)
EDITS = EQUAL + CHANGED
