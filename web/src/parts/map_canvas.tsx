// A small map, one pixel per cell, enlarged by the style sheet.

import { useLayoutEffect, useRef } from "preact/hooks";
import { drawCells, greatest, type Cells } from "../draw";
import { kMagmaGradient } from "../colors";

export function MapCanvas(props: { cells: Cells; top?: number; label?: string; class?: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useLayoutEffect(() => {
    drawCells(canvas.current!, props.cells, props.top ?? greatest(props.cells.values));
  }, [props.cells, props.top]);
  return (
    <canvas
      ref={canvas}
      class={`map ${props.class ?? ""}`}
      role={props.label ? "img" : undefined}
      aria-label={props.label}
      aria-hidden={!props.label}
    />
  );
}

/** The colour scale with the values of its ends. */
export function ColorBar({ low, high }: { low: string; high: string }) {
  return (
    <div class="colorbar">
      <span>{low}</span>
      <span class="ramp" style={{ background: kMagmaGradient }} />
      <span>{high}</span>
    </div>
  );
}
