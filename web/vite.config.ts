import { defineConfig } from "vitest/config";

export default defineConfig({
  base: "./",
  build: { target: "es2022", assetsInlineLimit: 0, modulePreload: { polyfill: false } },
  server: { proxy: { "/v1": "http://127.0.0.1:8080" } },
  // A busy machine may leave a browser without a processor for many seconds.
  test: { testTimeout: 300000, hookTimeout: 300000, fileParallelism: false, expect: { poll: { timeout: 60000 } } },
});
