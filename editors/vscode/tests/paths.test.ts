import { describe, expect, test } from "vitest";
import { candidates, isSameFile } from "../src/paths";

describe("a file is what a program calls", () => {
  test.each([
    ["/work/a/blur.cl", "/work/a/blur.cl"],
    ["/work/a/blur.cl", "blur.cl"],
    ["/work/a/blur.cl", "./blur.cl"],
    ["/work/a/blur.cl", "a/blur.cl"],
    ["C:\\work\\blur.cl", "C:/work/blur.cl"],
    ["C:\\work\\blur.cl", "blur.cl"],
  ])("%s: %s", (file, path) => expect(isSameFile(file, path)).toBe(true));

  test.each([
    ["/work/a/blur.cl", "/other/blur.cl"],
    ["/work/a/blur.cl", "lur.cl"],
    ["/work/a/blur.cl", "b/blur.cl"],
    ["/work/a/blur.cl", "/blur.cl"],
    ["/work/a/blur.cl", ""],
    ["/work/C:/blur.cl", "C:/blur.cl"],
  ])("not %s: %s", (file, path) => expect(isSameFile(file, path)).toBe(false));
});

describe("files that a path may be", () => {
  const found = (path: string): string[] => candidates(path, "/work/cl/blur.cl", ["/work", "/lib"]);

  test("what is served comes first", () => expect(found("blur.cl")[0]).toBe("/work/cl/blur.cl"));
  test("beside what is served, then in the folders", () => expect(found("sum.h")).toEqual(["/work/cl/sum.h", "/work/sum.h", "/lib/sum.h"]));
  test("an absolute path in a folder", () => expect(found("/lib/sum.h")).toEqual(["/lib/sum.h"]));

  // A recording may come from anybody: its paths lead to no file elsewhere, and to no other machine.
  test.each(["/etc/passwd", "../../etc/passwd", "/work/../etc/passwd", "/workers/a.cl", "//host/share/a.cl", "\\\\host\\share\\a.cl"])("none outside of them: %s", (path) => {
    expect(found(path)).toEqual([]);
  });
});
