import { configDefaults, defineConfig } from "vitest/config";

// Two scripts without imports: what runs in VS Code's extension host, and (--mode page) what runs in the page beside the viewer.
export default defineConfig(({ mode }) => ({
  test: {
    // What needs a server is run where there is a kernlens to run (tests/integration/serve/test_vscode.py).
    exclude: process.env.KERNLENS === undefined ? [...configDefaults.exclude, "tests/serve.test.ts"] : configDefaults.exclude,
    alias: { vscode: `${import.meta.dirname}/tests/vscode.fake.ts` },
    testTimeout: 120_000,
  },
  build: {
    target: mode === "page" ? "es2022" : "node20",
    outDir: "dist",
    emptyOutDir: false,
    reportCompressedSize: false,
    minify: false,
    lib:
      mode === "page"
        ? { entry: "src/page/bridge.ts", formats: ["iife" as const], name: "bridge", fileName: () => "bridge.js" }
        : { entry: "src/extension.ts", formats: ["cjs" as const], fileName: () => "extension.js" },
    rolldownOptions: { external: ["vscode", /^node:/] },
  },
}));
