import * as vscode from "vscode";
import { Problem } from "./server";

const OUTPUT = "Show Output";
const SETTINGS = "Open Settings";

/** Tells a problem, with what can be done about it; true if the user wants it tried again. */
export async function offer(output: vscode.OutputChannel, what: string, problem: unknown, again: string): Promise<boolean> {
  const buttons = [...(problem instanceof Problem && problem.isMissing ? [SETTINGS] : []), again, OUTPUT];
  const button = await vscode.window.showErrorMessage(`${what} ${wordsOf(problem)}`, ...buttons);
  if (button === OUTPUT) output.show(true);
  if (button === SETTINGS) await vscode.commands.executeCommand("workbench.action.openSettings", "kernlens.path");
  return button === again;
}

/** A problem as a sentence. */
export function wordsOf(problem: unknown): string {
  const words = problem instanceof Error ? problem.message : String(problem);
  return /[.!?]$/.test(words) ? words : `${words}.`;
}
