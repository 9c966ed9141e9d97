import { describe, expect, it } from "vitest";
import { orientationOf } from "../../src/exif";

const bytes = (hex: string) => new Uint8Array(Buffer.from(hex.replaceAll(" ", ""), "hex")).buffer;
const kBig = "ffd8 ffe00004aaaa ffe10022 457869660000 4d4d002a00000008 0001 0112000300000001 00060000 00000000";
const kLittle = "ffd8 ffe10022 457869660000 49492a0008000000 0100 1201030001000000 08000000 00000000";

describe("the orientation of a photograph", () => {
  it("is read in both byte orders, behind other segments", () => {
    expect([orientationOf(bytes(kBig)), orientationOf(bytes(kLittle))]).toEqual([6, 8]);
  });
  it("is upright where the file has none, another value or an early end", () => {
    expect(orientationOf(bytes("ffd8 ffe00004aaaa ffda"))).toBe(1);
    expect(orientationOf(bytes("89504e47 0d0a1a0a"))).toBe(1);
    expect(orientationOf(bytes(kBig.replace("00060000", "00090000")))).toBe(1);
    const whole = bytes(kBig);
    for (let length = 0; length < whole.byteLength - 8; ++length) expect(orientationOf(whole.slice(0, length))).toBe(1);
  });
});
