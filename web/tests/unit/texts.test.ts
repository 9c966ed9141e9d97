import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { translate } from "../../src/i18n";
import en from "../../src/texts/en.json";
import ko from "../../src/texts/ko.json";

const placeholders = (text: string) => [...new Set(text.match(/\{\w+\}/g) ?? [])].sort();
const sources = (folder: string): string[] =>
  readdirSync(folder, { withFileTypes: true }).flatMap((e) =>
    e.isDirectory() ? sources(join(folder, e.name)) : /\.tsx?$/.test(e.name) ? [join(folder, e.name)] : [],
  );

describe("texts", () => {
  it("have the same keys in both languages, in the same order", () => {
    expect(Object.keys(ko)).toEqual(Object.keys(en));
  });
  it("have the same placeholders", () => {
    for (const key of Object.keys(en) as (keyof typeof en)[])
      expect([key, placeholders(ko[key])]).toEqual([key, placeholders(en[key])]);
  });
  it("are Korean in ko.json, but for names", () => {
    for (const [key, text] of Object.entries(ko))
      if (!/[가-힣]/.test(text)) expect(["Grad-CAM", "Longformer", "{value}%p", "‘{text}’"], key).toContain(text);
  });
  it("are all used", () => {
    const code = sources("src").map((path) => readFileSync(path, "utf8")).join("\n");
    const named = /^(sample|map|pattern|pattern_about|factor|state|axis|metric|view|theme|guided|tab|word|place|phase|unit)\./;
    for (const key of Object.keys(en)) if (!named.test(key)) expect(code, key).toContain(`"${key}"`);
  });
  it("fill in values and keep what is not given", () => {
    expect(translate("en", "layer", { n: 3 })).toBe("Layer 3");
    expect(translate("ko", "layer", { n: 3 })).toBe("3번 층");
    expect(translate("en", "layer")).toBe("Layer {n}");
  });
});
