import { expect, test } from "vitest";

import { FROM_STAGE, type Kernel, type Stage } from "../src/document/kernel";
import { adviceFor, answerOf, unanswered } from "../src/frame/answer";
import { nextOf } from "../src/frame/next_step";
import { firstOf, type Entry } from "../src/frame/kernels";
import { inlined } from "./sample";

/** A kernel whose lines 3, 5 and 7 of two files have these figures. */
async function kernel(instructions: number[], spills: number[]): Promise<Kernel> {
  const built = await inlined();
  built.weights.instructions.set(instructions);
  built.weights.looped.set(instructions);
  built.weights.rounds.set(instructions.map((each) => 10 * each));
  built.weights.spills.set(spills);
  return built;
}

/** The same without lines, and without code but with this PTX, its rows of these keys. */
async function written(lines: string[], keys: number[]): Promise<Kernel> {
  const built = await kernel([0, 0, 0], [0, 0, 0]);
  const numbers = Int32Array.from(lines, (_, row) => row + 1);
  const stage = { name: "ptx", missing: null, lines, numbers, of: (key: number) => Int32Array.from(keys.flatMap((each, row) => (each === key ? [row] : []))) };
  Object.assign(built, { code: { ...built.code, count: 0 }, stages: [stage as unknown as Stage] });
  built.missing.code = "nvdisasm is not here; install it";
  return built;
}

const PTX = [".reg .b32 %r<3>;", "ld.param.u64 %rd1, [p];", "@%p1 bra $L__BB0_2;", "$L__BB0_1:", "mul.f32 %f2, %f1, %f1;", "add.f32 %f2, %f2, %f1;", "@!%p2 bra $L__BB0_1;", "$L__BB0_2:", "ret;"];

test("of a kernel that spills nothing it is the line with the most instructions, of equal ones the first", async () => {
  const sentence = "By the line table, line 5 has 3 of the 5 instructions (60.0%), in a loop: no line has more.";
  expect(answerOf(await kernel([1, 3, 3], [0, 0, 0]))).toEqual({ key: 1, rows: null, stage: null, name: "line 5", sentence });
});

test("of one that spills it is the line whose values hold most registers at the peak", async () => {
  const spilling = await kernel([4, 0, 0], [0, 0, 64]);
  const { peak } = spilling.code;
  if (peak === null) throw new Error("the sample has a peak");
  peak.held = [{ line: [0, 5], origin: null, registers: Int32Array.of(2, 3) }, { line: null, origin: "arguments", registers: Int32Array.of(4, 5, 6) }];
  expect(answerOf(spilling)).toMatchObject({ key: 1, sentence: "Registers spill: line 5 holds 2 of the 5 registers live at the peak, 0 for certain." });
  // Arguments alone are no line.
  peak.held = peak.held.slice(1);
  expect(answerOf(spilling)).toMatchObject({ key: 2, sentence: "Registers spill: line 7 moves 64 of the 64 bytes to memory and back." });
});

test("without lines it is the block with the most instructions, with its longest wait, and why no line is known", async () => {
  const built = await kernel([0, 0, 0], [0, 0, 0]);
  built.missing.lines = "the program was built without debug data; build with -g to get one";
  const answer = answerOf(built);
  const sizes = Array.from(built.code.blocks, (first, block) => built.code.blockEnd(block) - first);
  const most = Math.max(...sizes);
  expect(answer).toMatchObject({ key: -1, stage: null, name: `block B${sizes.indexOf(most)}` });
  expect(answer?.rows?.length).toBe(most);
  expect(answer?.sentence).toContain(` has ${most} of the 5 instructions (${(20 * most).toFixed(1)}%)`);
  expect(unanswered(built)).toBe("Which line costs most is not known: the program was built without debug data; build with -g to get one.");
  Object.assign(built.code.waits ?? {}, { cycles: Int32Array.of(0, 24, 0, 0, 0), rows: Int32Array.of(1) });
  expect(answerOf(built)?.sentence).toContain(" Its longest wait is 24 cycles, at 0x");
  expect(unanswered(await kernel([1, 3, 3], [0, 0, 0]))).toBeNull();
});

test("of code that is not decoded its PTX tells the line with the most instructions, and says that it is PTX", async () => {
  const lined = await written(PTX, [0, 0, 0, 1, 1, 1, 1, 2, 2]);
  expect(answerOf(lined)).toEqual({ key: 1, rows: null, stage: "ptx", name: "line 5", sentence: "Line 5 has 3 of the 6 instructions of its PTX (50.0%): no line has more." });
  expect(unanswered(lined)).toBe("What it is in machine code is not known: nvdisasm is not here; install it.");
});

test("and without lines the largest block of the PTX", async () => {
  const bare = await written(PTX, []);
  expect(answerOf(bare)).toMatchObject({ key: -1, rows: Int32Array.of(3, 4, 5, 6), name: "the block at $L__BB0_1" });
  expect(answerOf(bare)?.sentence).toBe("The block at $L__BB0_1 has 3 of the 6 instructions of its PTX (50.0%): no block has more.");
  expect(unanswered(bare)).toMatch(/^Which line costs most is not known: nvdisasm/);
});

test("what fills the code up behind its end is the cost of no line", async () => {
  const padded = await kernel([3, 3, 9], [0, 0, 0]);
  const [last] = padded.code.of(1).slice(-1);
  padded.weights.instructions.set([2, 3, 0]);
  padded.weights.rounds.set([2, 3, 0]);
  expect(answerOf(padded)?.sentence).toContain("line 5 has 3 of the");
  const opcode = padded.code.opcode.bind(padded.code);
  padded.code.opcode = (row) => (row >= last ? "NOP" : opcode(row));
  const { sentence } = answerOf(padded) ?? { sentence: "" };
  expect(sentence).toContain("line 3 has 2 of the");
  const words = padded.code.count - last === 1 ? "1 instruction that fills" : `${padded.code.count - last} instructions that fill`;
  expect(sentence).toContain(`: no line has more, but for the ${words} the code up behind its end.`);
});

test("what lines rank by is what they have in loops, and it is said how much that is", async () => {
  const built = await kernel([2, 54, 3], [0, 0, 0]);
  const { weights } = built;
  const told = (looped: number[], depth: number[]): string | undefined => {
    weights.looped.set(looped);
    weights.depth.set(depth);
    weights.rounds.set(looped.map((each, key) => weights.instructions[key] - each + each * 10 ** depth[key]));
    return answerOf(built)?.sentence.replace(/ of the 5 instructions \([\d.]+%\)/, "");
  };
  // The header of a loop, whose code is hoisted out of it.
  expect(told([0, 5, 0], [0, 1, 0])).toBe("By the line table, line 5 has 54, 5 of them in a loop: no line has more.");
  expect(told([2, 0, 3], [3, 0, 3])).toBe("By the line table, line 7 has 3, in 3 loops: no line has more in loops.");
  expect(told([2, 3, 0], [3, 1, 0])).toBe("By the line table, line 3 has 2, in 3 loops: no line has more, with 10 rounds of each loop.");
});

test("and the sentence names who tells the line", async () => {
  const built = await kernel([1, 3, 1], [0, 0, 0]);
  const rows = built.code.of(1);
  const told = (staged: ArrayLike<number>): string | undefined => {
    for (const row of rows) built.code.flags[row] = Array.from(staged).includes(row) ? FROM_STAGE : 0;
    return answerOf(built)?.sentence.split(",")[0];
  };
  expect([told([]), told(rows)]).toEqual(["By the line table", "By the compile's stages"]);
});

test("of a kernel that was observed it is what its data say, with what to try", async () => {
  const built = await kernel([1, 3, 3], [64, 0, 0]);
  Object.assign(built, { observed: { cause: { key: 2, words: "scattered access: 16 units where 4 would do", action: "transpose it" } } });
  expect(answerOf(built)).toMatchObject({ key: 2, name: "line 7", sentence: "On its data, line 7: scattered access: 16 units where 4 would do.", next: "Try: transpose it" });
  Object.assign(built, { observed: { cause: null } });
  expect(answerOf(built)?.sentence).toMatch(/^Registers spill/);
});

test("the advice beside it is of its line, or of the whole kernel: two lines at once would be two answers", async () => {
  const built = await kernel([1, 3, 3], [0, 0, 0]);
  const piece = (key: number) => ({ rule: "r", sentence: `of ${key}`, rows: Int32Array.of(0), key });
  const answer = answerOf(built);
  if (answer === null) throw new Error("there is an answer");
  const advised = (...keys: number[]) => adviceFor({ ...built, advice: keys.map(piece) } as unknown as Kernel, answer)?.sentence;
  expect([advised(0, 1), advised(2, 0), advised(2, -1), advised()]).toEqual(["of 1", undefined, "of -1", undefined]);
});

test("a document opens on the worst kernel with lines, and on the slowest where times are known", () => {
  const entry = (name: string, instructions: number, hasLines: boolean, time: number | null = null) => ({ name, instructions, hasLines, time, spill: 0 }) as Entry;
  expect(firstOf([entry("bare", 900, false), entry("small", 5, true), entry("large", 80, true)])?.name).toBe("large");
  expect(firstOf([entry("bare", 9, false, 50), entry("lined", 80, true, 2)])?.name).toBe("bare");
  expect(firstOf([])).toBeUndefined();
});

test("of a line that no rule speaks of stands what it is and which command tells more", async () => {
  const built = await kernel([1, 3, 3], [0, 0, 0]);
  const { words, command } = nextOf(built, 1);
  const observe = "kernlens observe a.cl --kernel add --device dg2 --size N";
  expect(command).toBe(observe);
  expect(words).toMatch(/^Line 5 is .+\. .*`kernlens observe .*` counts how often it runs/);
  const commandOf = (program: object, more: object = {}): string | null => nextOf({ ...built, ...more, program: { ...built.program, ...program } } as unknown as Kernel, 1).command;
  // What an application built is observed with it; a name that a shell would read otherwise is quoted.
  expect(commandOf({ command: null })).toBe("kernlens capture --observe -- APP");
  expect(commandOf({}, { name: "add;reboot" })).toBe(observe.replace("add", "'add;reboot'"));
  expect(commandOf({}, { name: "it's" })).toBe(observe.replace("add", "'it'\\''s'"));
  // What was observed already is not asked for, nor where no interpreter runs the language, or runs it as the device does.
  expect(commandOf({}, { observed: {} })).toBeNull();
  expect(commandOf({}, { files: built.files.map((path) => path.replace(/\.\w+$/, ".cpp")) })).toBeNull();
  expect(commandOf({ device: "sm_90", register_bytes: null })).toBeNull();
});

test("where the text is not here, the folder that the reason names is the command", async () => {
  const built = await kernel([1, 3, 3], [0, 0, 0]);
  built.missing.advice = "the source text is not known";
  const because = (missing: string): string | null => {
    built.program.files = built.files.map((path) => ({ path, chunk: null, missing }));
    return nextOf(built, 1).command;
  };
  expect(because("the text of this file is not at hand; --source-root DIR looks for it in a folder")).toBe("--source-root DIR");
  expect(because("it lies outside; --source-root /work/src allows it")).toBe("--source-root /work/src");
  expect(nextOf(built, 1).words).toContain("add `--source-root /work/src`");
  // Where it was looked in, or there is no name to look for, nothing is asked for.
  expect(because("no file of this name lies below /work/src")).toBeNull();
});
