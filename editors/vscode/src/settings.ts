import { homedir } from "node:os";
import { isAbsolute } from "node:path";
import * as vscode from "vscode";

/** How a source is compiled: "" stands for what kernlens chooses. */
export interface Build {
  device: string;
  toolchain: string;
  options: string;
}

/** The user's settings for a file; in an untrusted workspace VS Code leaves out what that says of `path` and the like. */
export function settings(file: vscode.Uri): vscode.WorkspaceConfiguration {
  return vscode.workspace.getConfiguration("kernlens", file);
}

export function buildOf(file: vscode.Uri): Build {
  const own = settings(file);
  return { device: own.get("device", ""), toolchain: own.get("toolchain", ""), options: own.get("buildOptions", "") };
}

/** The command to run. Throws an Error for a path that would depend on the folder that it is run in. */
export function commandOf(file: vscode.Uri): string {
  const command = expanded(settings(file).get("path", "kernlens").trim() || "kernlens", file);
  if (/[\\/]/.test(command) && !isAbsolute(command)) {
    throw new Error(`The setting kernlens.path is ${command}: write an absolute path, or begin it with \${workspaceFolder}.`);
  }
  return command;
}

/** The words of `kernlens serve` for a file. */
export function serveWords(file: vscode.Uri, build: Build): string[] {
  const words = ["serve", file.fsPath, "--json", "--no-browser", "--idle-timeout", String(IDLE)];
  if (build.device !== "") words.push("--device", build.device);
  if (build.toolchain !== "") words.push("--toolchain", build.toolchain);
  if (build.options !== "") words.push(`--build-options=${build.options}`);
  for (const folder of settings(file).get<string[]>("includeFolders", [])) words.push(`--include=${expanded(folder, file)}`);
  return words;
}

/** Seconds after which a server ends whose editor has gone without ending it. */
export const IDLE = 300;

function expanded(value: string, file: vscode.Uri): string {
  const folder = vscode.workspace.getWorkspaceFolder(file)?.uri.fsPath;
  // By functions: in a text a `$` would stand for something else.
  const inFolder = folder === undefined ? value : value.replace(/\$\{workspaceFolder\}/g, () => folder);
  return inFolder.replace(/^~(?=[\\/])/, () => homedir());
}
