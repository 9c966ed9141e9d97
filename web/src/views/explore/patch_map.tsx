// The image with its patch grid and a map over it; pointer and arrow keys choose a patch.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { tokenAt, type Point } from "../../attention";
import { drawCells, type Box, type Cells } from "../../draw";

interface Props {
  bitmap: ImageBitmap;
  /** The part of the image that the model is shown. */
  box: Box;
  overlay: Cells | null;
  top: number;
  opacity: number;
  grid: { rows: number; columns: number };
  cursor: Point;
  masked: { rows: number; columns: number; patches: number[] };
  label: string;
  described: string;
  onHover: (at: Point | undefined) => void;
  onPick: (at: Point) => void;
  onMask: (at: NonNullable<Point>) => void;
  masking: boolean;
}

const overlayCanvas = () => document.createElement("canvas");

function drawGrid(c: CanvasRenderingContext2D, side: number, rows: number, columns: number) {
  if (side / Math.max(rows, columns) < 8) return;
  c.strokeStyle = "rgb(255 255 255 / 0.22)";
  c.lineWidth = 1;
  c.beginPath();
  for (let i = 1; i < columns; ++i) {
    c.moveTo(Math.round((i * side) / columns) + 0.5, 0);
    c.lineTo(Math.round((i * side) / columns) + 0.5, side);
  }
  for (let i = 1; i < rows; ++i) {
    c.moveTo(0, Math.round((i * side) / rows) + 0.5);
    c.lineTo(side, Math.round((i * side) / rows) + 0.5);
  }
  c.stroke();
}

function cellBox(index: number, side: number, rows: number, columns: number): Box {
  const width = side / columns;
  const height = side / rows;
  return { x: (index % columns) * width, y: Math.floor(index / columns) * height, width, height };
}

function drawMasked(c: CanvasRenderingContext2D, side: number, { rows, columns, patches }: Props["masked"]) {
  for (const patch of patches) {
    const b = cellBox(patch, side, rows, columns);
    c.fillStyle = "#8b8a90";
    c.fillRect(b.x, b.y, b.width, b.height);
    c.strokeStyle = "#d9d8dd";
    c.beginPath();
    c.moveTo(b.x + b.width * 0.25, b.y + b.height * 0.25);
    c.lineTo(b.x + b.width * 0.75, b.y + b.height * 0.75);
    c.moveTo(b.x + b.width * 0.75, b.y + b.height * 0.25);
    c.lineTo(b.x + b.width * 0.25, b.y + b.height * 0.75);
    c.stroke();
  }
}

function drawCursor(c: CanvasRenderingContext2D, side: number, { grid, cursor }: Props) {
  if (!cursor) return;
  const cell = tokenAt({ ...grid, prefix: 0 }, cursor);
  const b = cellBox(cell, side, grid.rows, grid.columns);
  const unit = Math.max(1, side / 400);
  for (const [color, width] of [["#000", 4 * unit], ["#fff", 2 * unit]] as const) {
    c.strokeStyle = color;
    c.lineWidth = width;
    c.strokeRect(b.x, b.y, b.width, b.height);
  }
}

function draw(canvas: HTMLCanvasElement, overlay: HTMLCanvasElement, props: Props) {
  const c = canvas.getContext("2d")!;
  const side = canvas.width;
  const { box } = props;
  c.imageSmoothingEnabled = box.width > side / 3;  // small images stay pixels
  c.drawImage(props.bitmap, box.x, box.y, box.width, box.height, 0, 0, side, side);
  if (props.overlay) {
    drawCells(overlay, props.overlay, props.top);
    c.imageSmoothingEnabled = false;
    c.globalAlpha = props.opacity / 100;
    c.drawImage(overlay, 0, 0, side, side);
    c.globalAlpha = 1;
  }
  drawMasked(c, side, props.masked);
  drawGrid(c, side, props.grid.rows, props.grid.columns);
  drawCursor(c, side, props);
}

/** The centre of the cell next to the cursor's. */
function moved({ grid, cursor }: Props, down: number, right: number): NonNullable<Point> {
  const { rows, columns } = grid;
  const at = cursor ?? { y: 0.5, x: 0.5 };
  const cell = tokenAt({ ...grid, prefix: 0 }, at);
  const clamp = (value: number, count: number) => Math.min(count - 1, Math.max(0, value));
  const row = clamp(Math.floor(cell / columns) + (cursor ? down : 0), rows);
  const column = clamp((cell % columns) + (cursor ? right : 0), columns);
  return { y: (row + 0.5) / rows, x: (column + 0.5) / columns };
}

const kMoves: Record<string, [number, number]> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

export function PatchMap(props: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const overlay = useRef<HTMLCanvasElement>();
  overlay.current ??= overlayCanvas();
  const [side, setSide] = useState(400);
  const hovered = useRef(-1);

  useEffect(() => {
    const watch = new ResizeObserver(([entry]) => {
      setSide(Math.max(64, Math.round(entry!.contentRect.width * devicePixelRatio)));
    });
    watch.observe(canvas.current!);
    return () => watch.disconnect();
  }, []);
  useLayoutEffect(() => draw(canvas.current!, overlay.current!, props));

  const exactPoint = (event: MouseEvent): NonNullable<Point> => {
    const r = canvas.current!.getBoundingClientRect();
    return { y: (event.clientY - r.top) / r.height, x: (event.clientX - r.left) / r.width };
  };
  const pointAt = (event: MouseEvent): NonNullable<Point> => {
    const { rows, columns } = props.grid;
    const at = exactPoint(event);
    const cell = tokenAt({ ...props.grid, prefix: 0 }, at);
    return { y: (Math.floor(cell / columns) + 0.5) / rows, x: ((cell % columns) + 0.5) / columns };
  };
  const onKey = (event: KeyboardEvent) => {
    const move = kMoves[event.key];
    if (move) props.onPick(moved(props, ...move));
    else if (event.key === "Escape") props.onPick(null);
    else if ((event.key === " " || event.key === "Enter") && props.masking && props.cursor)
      props.onMask(props.cursor);
    else return;
    event.preventDefault();
  };
  return (
    <canvas
      ref={canvas}
      class="patches"
      width={side}
      height={side}
      tabIndex={0}
      role="application"
      aria-label={props.label}
      aria-description={props.described}
      onKeyDown={onKey}
      onPointerMove={(e) => {
        const at = pointAt(e);
        const cell = tokenAt({ ...props.grid, prefix: 0 }, at);
        if (cell !== hovered.current) props.onHover(at);
        hovered.current = cell;
      }}
      onPointerLeave={() => {
        hovered.current = -1;
        props.onHover(undefined);
      }}
      onClick={(e) => {
        // The grid of the masked patches need not be the one of this layer.
        if (props.masking) props.onMask(exactPoint(e));
        else props.onPick(pointAt(e));
      }}
    />
  );
}
