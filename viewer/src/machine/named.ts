import { type Parsed, registerOf } from "./parse";

/** A general register that an instruction's text names. */
export interface Named {
  register: number;
  /** It is the destination: the first operand behind the condition modifier. */
  isWritten: boolean;
}

/** The general registers in the text of an instruction, in its order. */
export function namedIn({ operands }: Parsed): Named[] {
  const first = operands.findIndex((operand) => !/^\([a-z]+\)f\d/.test(operand));
  return operands.flatMap((operand, index) => {
    const register = registerOf(operand);
    return register?.file === "r" ? [{ register: register.number, isWritten: index === first }] : [];
  });
}

/** Which register of those that are named stands for another: the operand that reaches it begins there. -1 for none. */
export function namedFor(named: readonly Named[], register: number): number {
  let nearest = -1;
  for (const each of named) if (each.register <= register && each.register > nearest && register - each.register < MOST_OF_OPERAND) nearest = each.register;
  return nearest;
}

/** Registers of one operand. */
const MOST_OF_OPERAND = 16;
