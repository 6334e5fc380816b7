import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
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

/** Names the sources, and breaks what HTML would take for the end of a script, or for a comment. */
const finish: Plugin = {
  name: "finish",
  enforce: "post",
  generateBundle(_, bundle) {
    for (const file of Object.values(bundle)) {
      if (file.type !== "chunk") continue;
      const code = file.code.replace(/<(?=\/script|!--)/gi, "\\x3c").trimEnd();
      file.code = `/* kernlens viewer; sources ${digest()} */\n${code}\n`;
    }
  },
};

// One script without imports, to be put into a page as it is. Nothing is fetched at run time: styles are text inside of it.
export default defineConfig({
  plugins: [finish],
  build: {
    target: "es2022",
    outDir: "../src/kernlens/explorer/viewer",
    emptyOutDir: true,
    reportCompressedSize: false,
    lib: { entry: "src/main.ts", formats: ["iife"], name: "kernlens", fileName: () => "viewer.js" },
  },
});
