import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { defineConfig, type Plugin } from "vite";

const ROOT = import.meta.dirname;

/** The files that the script is made from; a test (tests/unit/viewer/test_viewer_build.py) takes the same. */
function sources(): string[] {
  const own = readdirSync(join(ROOT, "src"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length + 1));
  return [...own, "package.json", "package-lock.json", "tsconfig.json", "vite.config.ts"].sort();
}

/** Its SHA-256 is the script's first line, so that a script that is older than the sources is noticed. */
function digest(): string {
  const hash = createHash("sha256");
  for (const name of sources()) {
    hash.update(`${name}\0`);
    hash.update(readFileSync(join(ROOT, name)));
    hash.update("\0");
  }
  return hash.digest("hex");
}

/** Names the sources. */
const finish: Plugin = {
  name: "finish",
  enforce: "post",
  generateBundle(_, bundle) {
    for (const file of Object.values(bundle)) if (file.type === "chunk") file.code = `/* kernlens viewer; sources ${digest()} */\n${file.code.trimEnd()}\n`;
  },
};

/** For notebooks, which keep what they show in their files: what lies in src/notebook/ stands in for the file of the same path. */
const forNotebooks: Plugin = {
  name: "for notebooks",
  enforce: "pre",
  async resolveId(name, importer) {
    const file = await this.resolve(name, importer, { skipSelf: true });
    const path = relative(join(ROOT, "src"), file?.id ?? "");
    const standIn = join(ROOT, "src/notebook", path);
    return path.endsWith(".ts") && existsSync(standIn) ? standIn : file;
  },
};

// One script without imports, to be put into a page as it is. Nothing is fetched at run time: styles are text inside of it.
export default defineConfig(({ mode }) => ({
  plugins: [finish, ...(mode === "notebook" ? [forNotebooks] : [])],
  build: {
    target: "es2022",
    outDir: "../src/kernlens/explorer/viewer",
    emptyOutDir: false,
    reportCompressedSize: false,
    rolldownOptions: { checks: { pluginTimings: false } },
    lib: { entry: "src/main.ts", formats: ["iife"], name: "kernlens", fileName: () => (mode === "notebook" ? "notebook.js" : "viewer.js") },
  },
}));
