import { defineConfig } from "vite";

// Two scripts without imports: what runs in VS Code's extension host, and (--mode page) what runs in the page beside the viewer.
export default defineConfig(({ mode }) => ({
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
