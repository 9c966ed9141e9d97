// All heads at once: a row per layer, a thumbnail per head.

import { useMemo, useRef, useState } from "preact/hooks";
import type { Switch } from "../../api";
import { attentionMap, type Attention, type Direction, type Point } from "../../attention";
import { useTexts } from "../../i18n";
import { Segments } from "../../parts/controls";
import { MapCanvas } from "../../parts/map_canvas";
import { headOff } from "./state";

interface Props {
  attention: Attention;
  at: Point;
  direction: Direction;
  layer: number;
  head: number;
  off: Switch;
  canSwitch: boolean;
  onOpen: (layer: number, head: number) => void;
  onToggleHead: (layer: number, head: number) => void;
  onToggleLayer: (layer: number) => void;
}

/** So few layers have room for larger maps. */
const kFewLayers = 4;

/** Moves among the thumbnails with the arrow keys. */
function neighbour(layers: { heads: number }[], layer: number, head: number, key: string) {
  const last = (l: number) => layers[l]!.heads - 1;
  if (key === "ArrowRight") return [layer, Math.min(head + 1, last(layer))] as const;
  if (key === "ArrowLeft") return [layer, Math.max(head - 1, 0)] as const;
  const next = key === "ArrowDown" ? layer + 1 : key === "ArrowUp" ? layer - 1 : -1;
  if (next < 0 || next >= layers.length) return null;
  return [next, Math.min(head, last(next))] as const;
}

export function HeadGrid(props: Props) {
  const { t } = useTexts();
  const { attention, at, direction, off } = props;
  const [mode, setMode] = useState<"open" | "switch">("open");
  const table = useRef<HTMLDivElement>(null);
  const maps = useMemo(
    () =>
      attention.layers.map((layer) =>
        Array.from({ length: layer.heads }, (_, h) =>
          attentionMap(attention, layer, h, at, direction),
        ),
      ),
    [attention, at?.y, at?.x, direction],
  );
  const switching = mode === "switch" && props.canSwitch;
  const onKey = (event: KeyboardEvent, layer: number, head: number) => {
    const next = neighbour(attention.layers, layer, head, event.key);
    if (next) {
      table.current!.querySelector<HTMLElement>(`[data-head="${next.join(".")}"]`)?.focus();
      if (!switching) props.onOpen(...next);
    } else if (event.key === "x" && props.canSwitch) props.onToggleHead(layer, head);
    else return;
    event.preventDefault();
  };
  const heads = maps[0]!.length;
  const focusable = (l: number, h: number) => l === props.layer && h === Math.max(props.head, 0);
  return (
    <>
      {props.canSwitch && (
        <Segments
          label={t("explore.click")}
          value={mode}
          onChange={setMode}
          choices={[
            { value: "open", label: t("explore.click_open") },
            { value: "switch", label: t("explore.click_switch") },
          ]}
        />
      )}
      <div class={maps.length <= kFewLayers ? "heads few" : "heads"} ref={table} role="group" aria-label={t("explore.heads")}>
        {maps.every((row) => row.length === heads) && (
          <div class="layer" aria-hidden="true">
            <span class="rowname" />
            {maps[0]!.map((_, h) => (
              <span class="columnname" key={h}>
                {h + 1}
              </span>
            ))}
          </div>
        )}
        {maps.map((row, l) => (
          <div class="layer" key={l} role="group" aria-label={t("layer", { n: l + 1 })}>
            {switching ? (
              <button
                type="button"
                class="rowname"
                aria-pressed={off.layers.includes(l)}
                title={t("explore.switch_layer", { n: l + 1 })}
                onClick={() => props.onToggleLayer(l)}
              >
                {l + 1}
              </button>
            ) : (
              <span class="rowname" title={attention.layers[l]!.name}>
                {l + 1}
              </span>
            )}
            {row.map((map, h) => (
              <button
                type="button"
                key={h}
                data-head={`${l}.${h}`}
                class={headOff(off, l, h) ? "thumb off" : "thumb"}
                tabIndex={focusable(l, h) ? 0 : -1}
                aria-pressed={switching ? headOff(off, l, h) : l === props.layer && h === props.head}
                aria-label={
                  t("explore.head_name", { layer: l + 1, head: h + 1 }) +
                  (headOff(off, l, h) ? ", " + t("explore.off") : "")
                }
                onClick={() => (switching ? props.onToggleHead(l, h) : props.onOpen(l, h))}
                onKeyDown={(e) => onKey(e, l, h)}
              >
                <MapCanvas cells={map} />
              </button>
            ))}
          </div>
        ))}
      </div>
    </>
  );
}
