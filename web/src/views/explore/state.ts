// What the explorer shows, read from and written to the address.

import type { Switch } from "../../api";
import { kMeanHead, tokenAt, type Attention, type Direction, type Point } from "../../attention";
import { choiceOf, listOf, numberOf } from "../../route";

export interface ExploreState {
  /** Undefined: the last layer. */
  layer?: number;
  head: number;
  at: Point;
  direction: Direction;
  /** "attention", "none" or a method of /v1/explain. */
  map: string;
  opacity: number;
  /** The class that is explained; undefined: the most likely one. */
  target?: number;
  off: Switch;
}

const kMany = 1 << 20;
const optional = (value: number) => (value < 0 ? undefined : value);

/** "row,column" in per mille of the image, so that the point is the same on every grid. */
function pointOf(text: string | null): Point {
  const match = /^(\d{1,3}),(\d{1,3})$/.exec(text ?? "");
  return match ? { y: Number(match[1]) / 1000, x: Number(match[2]) / 1000 } : null;
}

export function pointText(at: Point): string | null {
  const mille = (part: number) => Math.min(999, Math.round(part * 1000));
  return at && `${mille(at.y)},${mille(at.x)}`;
}

/** "rows.columns" of the masked patches; undefined: the network's own. */
function gridOf(text: string | null): [number, number] | undefined {
  const match = /^([1-9]\d{0,2})\.([1-9]\d{0,2})$/.exec(text ?? "");
  return match ? [Number(match[1]), Number(match[2])] : undefined;
}

export function exploreState(query: URLSearchParams): ExploreState {
  return {
    layer: optional(numberOf(query, "layer", -1, 0, kMany)),
    head: numberOf(query, "head", kMeanHead, 0, kMany),
    at: pointOf(query.get("at")),
    direction: choiceOf(query, "look", ["from", "to"], "from"),
    map: query.get("map") ?? "attention",
    opacity: numberOf(query, "opacity", 70, 0, 100),
    target: optional(numberOf(query, "class", -1, 0, kMany)),
    off: {
      heads: listOf(query, "heads").filter((h) => h.length === 2) as [number, number][],
      layers: listOf(query, "layers").map((l) => l[0]!),
      patches: listOf(query, "patches").map((p) => p[0]!),
      grid: gridOf(query.get("grid")),
    },
  };
}

export const anyOff = ({ heads, layers, patches }: Switch): boolean =>
  heads.length + layers.length + patches.length > 0;

export function headOff(off: Switch, layer: number, head: number): boolean {
  return off.layers.includes(layer) || off.heads.some(([l, h]) => l === layer && h === head);
}

/** The cells of another grid at the places of these ones. */
function moved(patches: number[], [rows, columns]: [number, number], to: [number, number]): number[] {
  const places = patches.map((p) => ({ y: (Math.floor(p / columns) + 0.5) / rows, x: ((p % columns) + 0.5) / columns }));
  return [...new Set(places.map((at) => tokenAt({ rows: to[0], columns: to[1], prefix: 0 }, at)))].sort((a, b) => a - b);
}

/** What is off and this network has: the address may have been that of another network. Masked patches
 * are a part of the image: they keep the grid that they were chosen on, so that two networks with
 * different grids lose the same pixels, unless it is finer than the pixels of this network. */
export function offWithin(attention: Attention | undefined, off: Switch, image: number): Switch {
  const layers = attention?.layers ?? [];
  const first = layers[0]?.queries;
  const own: [number, number] = first ? [first.rows, first.columns] : [0, 0];
  const chosen = off.grid ?? own;
  const patches = off.patches.filter((p) => p < chosen[0] * chosen[1]);
  const tooFine = Math.max(...chosen) > image;
  return {
    heads: off.heads.filter(([l, h]) => h < (layers[l]?.heads ?? 0)),
    layers: off.layers.filter((l) => l < layers.length),
    patches: !tooFine ? patches : first ? moved(patches, chosen, own) : [],
    grid: tooFine ? own : chosen,
  };
}

const toggled = (list: number[], value: number) =>
  list.includes(value) ? list.filter((v) => v !== value) : [...list, value].sort((a, b) => a - b);

/** The change of the address that switches one thing off, or on again. */
export function toggleHead(off: Switch, layer: number, head: number) {
  const same = ([l, h]: [number, number]) => l === layer && h === head;
  const heads = off.heads.some(same)
    ? off.heads.filter((pair) => !same(pair))
    : [...off.heads, [layer, head]];
  return { heads: heads.map((pair) => pair.join(".")).join(",") };
}
export const toggleLayer = (off: Switch, layer: number) => ({
  layers: toggled(off.layers, layer).join(","),
});
/** The patch at a point of the image: of the grid that others were chosen on, or of this network's own. */
export function togglePatch(off: Switch, at: { y: number; x: number }, own: { rows: number; columns: number }) {
  const [rows, columns] = (off.patches.length ? off.grid : undefined) ?? [own.rows, own.columns];
  const patches = toggled(off.patches, tokenAt({ rows, columns, prefix: 0 }, at));
  return { patches: patches.join(","), grid: patches.length ? `${rows}.${columns}` : null };
}
export const kNoneMasked = { patches: null, grid: null };
export const kAllOn = { heads: null, layers: null, ...kNoneMasked };
