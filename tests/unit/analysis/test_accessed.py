"""The variables that loads and stores access, and the arrays of a source, as its text tells them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from kernlens.analysis.advice.accessed import accessed_name
from kernlens.analysis.advice.facts import Facts
from kernlens.analysis.advice.private_array import declared_arrays
from kernlens.analysis.advice.source_tokens import SourceTokens
from kernlens.model.build import Build, HeldParts, Source
from kernlens.model.program import Kernels, Program
from kernlens.model.source_map import SourcePlace


def facts_of(text: str) -> Facts:
    """Return the facts of a source with this text, as far as they are about its words."""
    source = Source("a.cl", text)
    program = Program(
        "a", "zebin", Kernels({}), Build("a", parts=HeldParts(sources=(source,))), find_sources=lambda: (source,)
    )
    return cast("Facts", SimpleNamespace(tokens=SourceTokens(program)))


@pytest.mark.parametrize(
    ("line", "at", "name"),
    [
        ("x = t[i] + 1;", "t", "t"),
        ("t[i] = x;", "=", "t"),
        ("t[a[i] + (b)] += x;", "+=", "t"),
        ("*p = x;", "=", "p"),
        ("h[k]++;", "++", "h"),
        ("s.t[2] = x;", "=", "t"),
        ("s.x[2] = x;", "=", "x"),
        ("t[i].x = x;", "=", "t"),
        ("t.s01 = x;", "=", "t"),
        ("(t[i] + j)[1] = x;", "=", ""),
        ("] = x;", "=", ""),
        ("ä[0] = x;", "=", ""),
        ("f(x) + 1;", "+", ""),
    ],
)
def test_the_variable_of_a_place(line: str, at: str, name: str) -> None:
    place = SourcePlace("a.cl", 2, len(line[: line.index(at)].encode()) + 1)
    assert accessed_name(facts_of(f"// first\n{line}\n"), place) == name


def test_private_arrays() -> None:
    text = """
    constant int table[4] = {1, 2, 3, 4};
    kernel void k(global float a[], local int shared[4]) {
      // The values (and more):
      float t[64], u [2][3];  /* two */
      const int n = a[3], *p = q[2];
      global float *rgb[4] = {0};
      local float tile[16 * 16];
      struct cell cells[8];
      volatile int slow[4];
      float *head = t, *other = u, *const end = t + 63, *last;
      float *whole = &u;
  #define N 4
      const struct cell *second = &cells [1];
      for (float * restrict each = &t[0]; each < end; each++) n *= t[2];
      global float *red = rgb[0];
      float *green = rgb[1], *alpha = rgb->next;
      local float *own = tile, *own_end = tile + n;
      global float *more = a + n;
      return a[4];
    }
    """
    own = {"t": "t", "u": "u", "rgb": "rgb", "cells": "cells"}
    assert declared_arrays(facts_of(text)) == {**own, "head": "t", "second": "cells", "each": "t", "whole": "u"}


def test_a_text_without_an_end_takes_no_time() -> None:
    assert declared_arrays(facts_of("a " * 500_000 + "[")) == {}
    assert declared_arrays(facts_of(("a " * 190 + "* p;") * 2_000 + "a* p = " + " " * 500_000)) == {}
