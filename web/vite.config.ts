import { defineConfig } from "vitest/config";

export default defineConfig({
  base: "./",
  build: { target: "es2022", assetsInlineLimit: 0, modulePreload: { polyfill: false } },
  server: { proxy: { "/v1": "http://127.0.0.1:8080" } },
  test: { testTimeout: 120000, hookTimeout: 60000, fileParallelism: false, expect: { poll: { timeout: 20000 } } },
});
