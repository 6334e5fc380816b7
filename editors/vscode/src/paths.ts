import { posix } from "node:path";

/** Whether a file is what a program calls `path`: line tables and recordings often hold the end of the path alone. */
export function isSameFile(file: string, path: string): boolean {
  const [own, other] = [plain(file), plain(path)];
  return own === other || (!other.startsWith("/") && !/^[a-z]:/i.test(other) && own.endsWith(`/${other.replace(/^(\.\/)+/, "")}`));
}

/**
 * The files that a program's `path` may be, the likeliest first. The path comes from a file that anybody may have made, so only what is
 * below one of `folders` counts: no other file, and no other machine, is asked for.
 */
export function candidates(path: string, served: string, folders: readonly string[]): string[] {
  const other = plain(path);
  const places = [posix.dirname(plain(served)), ...folders.map(plain)];
  const isAbsolute = other.startsWith("/") || /^[a-z]:/i.test(other);
  const files = isAbsolute ? [posix.normalize(other)] : places.map((folder) => posix.join(folder, other));
  const own = isSameFile(served, path) ? [plain(served)] : [];
  return [...new Set([...own, ...files.filter((file) => places.some((folder) => file.startsWith(folder.endsWith("/") ? folder : `${folder}/`)))])];
}

function plain(path: string): string {
  return path.replaceAll("\\", "/");
}
