// Drawing maps and images on canvases.

import { kMagma } from "./colors";

export interface Cells {
  rows: number;
  columns: number;
  values: ArrayLike<number>;
}

export function greatest(values: ArrayLike<number>): number {
  let most = 0;
  for (let i = 0; i < values.length; ++i) if (values[i]! > most) most = values[i]!;
  return most;
}

/** One pixel per cell, 0 .. `top` over the colour scale. */
export function drawCells(canvas: HTMLCanvasElement, cells: Cells, top: number): void {
  if (canvas.width !== cells.columns) canvas.width = cells.columns;
  if (canvas.height !== cells.rows) canvas.height = cells.rows;
  const context = canvas.getContext("2d")!;
  const image = context.createImageData(cells.columns, cells.rows);
  const pixels = new Uint32Array(image.data.buffer);
  const scale = top > 0 ? 255 / top : 0;
  for (let i = 0; i < pixels.length; ++i)
    pixels[i] = kMagma[Math.min(255, Math.round(cells.values[i]! * scale))]!;
  context.putImageData(image, 0, 0);
}

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** What the server shows the model of an image: short side to `resize`, the centre `size` x `size`. */
export function seenBox(width: number, height: number, size: number, resize?: number, stretch?: boolean): Box {
  if (stretch) return { x: 0, y: 0, width, height };
  const side = Math.min(width, height) * Math.min(1, size / (resize || size));
  return { x: (width - side) / 2, y: (height - side) / 2, width: side, height: side };
}

export function download(name: string, blob: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
