import { expect, test } from "vitest";

import { extent, formula, tokenWords } from "../src/machine/explain";
import { columnsOf, isContiguous, isScalar, layOut, messageWords, scoreboardOf, shorten } from "../src/machine/operands";
import { isScoreboard, parse, registerOf } from "../src/machine/parse";

const ADD = "        add (16|M0)              r4.0<1>:f     r2.0<1;1,0>:f     -r3.0<0;1,0>:f    {Compacted,I@1} // a comment";

test("an instruction is taken apart", () => {
  expect(parse(ADD)).toEqual({
    predicate: "",
    opcode: "add",
    channels: 16,
    mask: "M0",
    operands: ["r4.0<1>:f", "r2.0<1;1,0>:f", "-r3.0<0;1,0>:f"],
    options: ["Compacted", "I@1"],
    comment: "a comment",
  });
  const jump = parse("(~f0.1.any8h) goto (8|M24)   L120    L88");
  expect(jump).toMatchObject({ predicate: "(~f0.1.any8h)", opcode: "goto", channels: 8, mask: "M24", operands: ["L120", "L88"], options: [] });
  expect(parse("sync.nop null {Compacted,$3.dst}")).toMatchObject({ opcode: "sync.nop", channels: 0, mask: "", operands: ["null"] });
  expect(parse("mov (1|M0) r1.0<1>:f r[a0.0, 32]<0;1,0>:f").operands).toEqual(["r1.0<1>:f", "r[a0.0, 32]<0;1,0>:f"]);
  expect(parse("(W)     bfn.(s0^s1^s2) (1|M0)        r66.0<1>:ud    r17.0<0;0>:ud")).toMatchObject({ predicate: "(W)", opcode: "bfn.(s0^s1^s2)", channels: 1, mask: "M0", operands: ["r66.0<1>:ud", "r17.0<0;0>:ud"] });
  expect(parse("")).toMatchObject({ opcode: "", channels: 0, operands: [], options: [] });
});

test.each([
  ["r12.3<8;8,1>:ud", { file: "r", number: 12, sub: 3, region: "8;8,1", type: "ud" }],
  ["-(abs)r7.0<0;1,0>:f", { file: "r", number: 7, sub: 0, region: "0;1,0", type: "f" }],
  ["acc0.0<1>:f", { file: "acc", number: 0, sub: 0, region: "1", type: "f" }],
  ["(lt)f0.1", { file: "f", number: 0, sub: 1, region: "", type: "" }],
  ["0x10:ud", null],
  ["-0x10:w", null],
  ["L120", null],
  ["null", null],
])("the register of %s", (operand, register) => {
  expect(registerOf(operand)).toEqual(register);
});

test("regions: side by side, one element for all, and neither", () => {
  const regions = ["1;1,0", "8;8,1", "1;0", "1", "0;1,0", "0;0", "0", "2;1,0", "16;8,2", "4;4,1", "8;4,1"];
  expect(regions.filter(isContiguous)).toEqual(["1;1,0", "8;8,1", "1;0", "1", "4;4,1"]);
  expect(regions.filter(isScalar)).toEqual(["0;1,0", "0;0", "0"]);
});

test.each([
  ["r4.0<1>:f", 16, "r4:f"],
  ["r4.2<1;1,0>:f", 16, "r4.2:f"],
  ["-r3.0<0;1,0>:f", 16, "-r3<0>:f"],
  ["-r3.0<0;1,0>:f", 1, "-r3:f"],
  ["r3.0<2;1,0>:w", 8, "r3<2;1,0>:w"],
  ["(abs)r3.0<8;8,1>:f", 8, "(abs)r3:f"],
  ["null<1>:ud", 8, "null"],
  ["(lt)f0.0", 8, "(lt)f0.0"],
  ["0x3f800000:f", 8, "0x3f800000:f"],
])("%s of %i channels is written %s", (operand, channels, short) => {
  expect(shorten(operand, channels)).toBe(short);
  // From what it remembers, too.
  expect(shorten(operand, channels)).toBe(short);
});

test("rows stand in columns, tokens apart", () => {
  const rows = [ADD, "(W)     mov (8|M0)  r2.0<1>:ud  r0.0<1;1,0>:ud  {$3.dst}", "(W&~f0.0) jmpi L1272"].map(parse);
  const columns = columnsOf(rows);
  expect(rows.map((row) => layOut(row, columns))).toEqual([
    "    add  16    r4:f r2:f -r3<0>:f",
    "(W) mov  8     r2:ud r0:ud",
    "    jmpi       (W&~f0.0) →04f8",
  ]);
  expect(rows.map(scoreboardOf)).toEqual([["I@1"], ["$3.dst"], []]);
});

test.each([
  ["send.smpl (16|M16) r58 r14 r46:4 0x0 0x04842000 {A@1,$5}", "image load 256 B", "    send.smpl 16·16 r58 r14 r46:4 image load 256 B"],
  ["send.dc1 (16|M0) null r20 null:0 0x0 0x04025EFE", "global store 64 B", "    send.dc1 16    r20 global store 64 B"],
  ["send.slm (32|M0) null r29 r18:2 0x0 a0.0", "SLM store 128 B", "    send.slm 32    r29 r18:2 SLM store 128 B"],
  // Whoever does not know what it does sees how it is told.
  ["send.dc0 (8|M0) r1 r127 null:0 0x0 a0.0", null, "    send.dc0 8     r1 r127 0x0 a0"],
  ["(~f0.0) goto (32|M0) L680 L680", null, "    goto 32    (~f0.0) →02a8"],
  ["goto (32|M0) L680 L1160", null, "    goto 32    →02a8 →0488"],
  ["cmp (16|M0) (lt)f0.0 null<1>:d r1.0<1;1,0>:d 0:w", null, "    cmp  16    (lt)f0.0 r1:d 0:w"],
  ["sync.nop null {$3.dst}", null, "    sync.nop"],
])("%s is shown short", (line, words, row) => {
  const parsed = parse(line);
  expect(layOut(parsed, columnsOf([parsed]), words)).toBe(row);
});

test.each([
  [{ action: "load", memory: "image", bytes: 256 }, "image load 256 B"],
  [{ action: "store", memory: "slm", bytes: 64 }, "SLM store 64 B"],
  [{ action: "atomic", memory: "global", bytes: null }, "global atomic"],
  [{ action: "store", memory: "scratch", spill: true, bytes: 64 }, "spill 64 B"],
  [{ action: "load", memory: "scratch", spill: true, bytes: 32 }, "fill 32 B"],
  [{ operation: "fence" }, "fence"],
  [{ operation: "unknown" }, null],
  [{ words: "ends the thread, through the thread spawner" }, "end of thread"],
  [{}, null],
])("a message %o in words", (facts, words) => {
  expect(messageWords({ operation: null, action: null, memory: null, spill: false, bytes: null, words: "", ...facts })).toBe(words);
});

test("tokens of the scoreboard, and options that are none", () => {
  const options = ["I@2", "@1", "$3", "$15.dst", "$0.src", "Compacted", "$3.all", "I@", "EOT"];
  expect(options.filter(isScoreboard)).toEqual(["I@2", "@1", "$3", "$15.dst", "$0.src"]);
});

test.each([
  [ADD, "r4 = r2 − r3"],
  ["mad (8|M0) r1.0<1>:f r2.0<1;0>:f r3.0<1;0>:f r4.0<0>:f", "r1 = r2 + r3 × r4"],
  ["cmp (16|M0) (lt)f0.0 null<1>:d r1.0<1;1,0>:d 0:w", "f0.0 = r1 < 0"],
  ["math.inv (1|M0) r1.0<1>:f r2.0<0;1,0>:f", "r1 = inv(r2)"],
  ["send.dc0 (16|M0) r6 r4 null:0 0x0 0x02106E00", null],
  ["constructor (8|M0) r1.0<1>:f r2.0<1;1,0>:f", null],
])("what is computed by %s", (line, words) => {
  expect(formula(parse(line))).toBe(words);
});

test.each([
  [ADD, "16 floats"],
  ["(W) mov (1|M0) r1.0<1>:d 0:w", "one 32-bit integer, whatever the execution mask says"],
  ["mov (8|M16) r1.0<1>:ub r2.0<1;1,0>:ub", "8 bytes, channels from 16 on"],
  ["sync.nop null", ""],
])("what is computed at once by %s", (line, words) => {
  expect(extent(parse(line))).toBe(words);
});

test.each([
  ["F@1", "waits for the last instruction of the float pipe"],
  ["A@2", "waits for the 2nd last instruction of each pipe"],
  ["@7", "waits for the 7th last instruction of the pipe of what it reads"],
  ["$3", "takes this token, which others wait for"],
  ["$3.dst", "waits until the result has arrived"],
  ["$3.src", "waits until the operands have been read"],
])("what %s says", (token, words) => {
  expect(tokenWords(token)).toBe(words);
});

test("a listing of another disassembler keeps its operands, below one another, and has no lanes", () => {
  const texts = ["s_load_dword s2, s[4:5], null", "global_load_dwordx4 v[0:3], v4, s[2:3] offset:16", "s_endpgm"];
  const parsed = texts.map((text) => parse(text));
  const columns = columnsOf(parsed, true);
  const lines = parsed.map((each) => layOut(each, columns));
  expect(lines.map((line) => line.trim().replace(/ +/g, " "))).toEqual(texts);
  expect(lines[0].indexOf("s2,")).toBe(lines[1].indexOf("v[0:3]"));
  expect([columns.size, columnsOf(parsed).size]).toEqual([0, 6]);
});
