import * as vscode from "vscode";
import { offer } from "./offer";
import { printed } from "./server";
import { type Build, commandOf } from "./settings";

/** What `kernlens devices --json` says of a device, as far as it is shown. */
interface Device {
  name: string;
  title: string;
  compiled_by: string[];
}

/** What the first choice of a toolchain is called. */
const ANY = "Any";

/** Asks for the device, and (not `onlyDevice`) for the toolchain and the options; null if the user leaves the questions. */
export async function askBuild(file: vscode.Uri, last: Build, output: vscode.OutputChannel, onlyDevice = false): Promise<Build | null> {
  let devices: Device[];
  try {
    devices = (await knownDevices(file)).filter(({ compiled_by }) => compiled_by.length > 0);
  } catch (problem) {
    const again = await offer(output, "kernlens cannot say for which devices it compiles.", problem, "Try Again");
    return again ? askBuild(file, last, output, onlyDevice) : null;
  }
  if (devices.length === 0) {
    void vscode.window.showErrorMessage("No compiler for Intel GPUs is installed: kernlens doctor says which package to install.");
    return null;
  }
  const device = await vscode.window.showQuickPick(
    devices.map(({ name, title, compiled_by }) => ({ label: name, description: title, detail: name === last.device ? "as before" : undefined, compiled_by })),
    { title: "Device", placeHolder: "The device to compile for; it does not have to be in this machine", matchOnDescription: true },
  );
  if (device === undefined) return null;
  if (onlyDevice) return { ...last, device: device.label };
  const toolchain =
    device.compiled_by.length < 2
      ? { label: device.compiled_by[0] }
      : await vscode.window.showQuickPick([{ label: ANY, description: "as kernlens chooses" }, ...device.compiled_by.map((label) => ({ label }))], { title: "Toolchain" });
  if (toolchain === undefined) return null;
  const options = await vscode.window.showInputBox({ title: "Build options", value: last.options, prompt: "Such as -cl-fast-relaxed-math -DN=4; none is fine." });
  if (options === undefined) return null;
  return { device: device.label, toolchain: toolchain.label === ANY ? "" : toolchain.label, options };
}

async function knownDevices(file: vscode.Uri): Promise<Device[]> {
  const document = await printed(commandOf(file), ["devices", "--json"]);
  return (JSON.parse(document) as { devices: Device[] }).devices;
}
