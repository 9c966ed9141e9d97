// What one panel asks the server for, and the map that results.

import { useMemo } from "preact/hooks";
import { api, type Model } from "../../api";
import { attentionMap, kMeanHead, type Attention, type Layer, type Point } from "../../attention";
import { greatest, type Cells } from "../../draw";
import type { LoadedImage } from "../../images";
import { useResource } from "../../resource";
import { anyOff, offWithin, type ExploreState } from "./state";

export const kTop = 5;
/** More than are shown, so that a class that rises from below has a value before. */
const kTopBefore = 20;

export function usePanelData(model: Model, image: LoadedImage, state: ExploreState) {
  const subject = `${model.name}|${image.key}`;
  const { blob } = image;
  const method = model.explain.includes(state.map) ? state.map : null;
  const classified = useResource(`classify|${subject}`, (s) =>
    api.classify(model.name, blob, Math.min(kTopBefore, model.classes), s),
  );
  const attention = useResource(`attention|${subject}`, (s, progress) =>
    api.attention(model.name, blob, s, progress),
  );
  const explained = useResource(
    method && `explain|${subject}|${method}|${state.target ?? ""}`,
    (s) => api.explain(model.name, blob, method!, state.target, s),
  );
  const lens = useResource(`lens|${subject}`, (s) => api.lens(model.name, blob, s));
  const off = offWithin(attention.data, state.off, model.image);
  const changed = useResource(
    anyOff(off) ? `ablate|${subject}|${JSON.stringify(off)}` : null,
    (s) => api.ablate(model.name, blob, off, kTop, s),
    { keep: true, delay: 60 },
  );
  return { method, classified, attention, explained, lens, off, changed };
}

/** The layer and head of the state, within what this model has. */
export function chosenHead(attention: Attention, state: ExploreState) {
  const index = Math.min(state.layer ?? Infinity, attention.layers.length - 1);
  const layer = attention.layers[index]!;
  const head = state.head === kMeanHead ? kMeanHead : Math.min(state.head, layer.heads - 1);
  return { index, layer, head };
}

export interface ShownMap {
  cells: Cells | null;
  top: number;
  /** Weights of tokens without a position. */
  prefix: number[];
}

export function useAttentionMap(
  attention: Attention | undefined,
  state: ExploreState,
  at: Point,
): ShownMap {
  return useMemo(() => {
    if (!attention) return { cells: null, top: 0, prefix: [] };
    const { layer, head } = chosenHead(attention, state);
    const cells = attentionMap(attention, layer, head, at, state.direction);
    return { cells, top: greatest(cells.values), prefix: cells.prefix };
  }, [attention, state.layer, state.head, state.direction, at?.y, at?.x]);
}

/** The grid on which a patch is chosen: keys when asking who looks at it. */
export const cursorGrid = (layer: Layer, state: ExploreState) =>
  state.direction === "to" ? layer.keys : layer.queries;
