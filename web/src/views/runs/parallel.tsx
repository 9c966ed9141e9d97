// Parallel coordinates: an axis per setting and result, a line per run. Dragging along an axis, or moving its two handles
// with the arrow keys, keeps the runs that cross it there.

import { useEffect, useRef, useState } from "preact/hooks";
import type { Sweep, SweepRun } from "../../api";
import { useTexts } from "../../i18n";
import { goodness, isKept, nextPlace, type Axis, type Range, type Ranges } from "../../sweep";

const kHeight = 330;
const kTop = 58;
/** Below the axes: where runs go that have no value. */
const kMissing = 34;
const kSide = 70;
const kSpacing = 104;
/** A shorter drag is a click. */
const kDrag = 0.015;
const kWhole: Range = [0, 1];

const y = (place: number) => kTop + (1 - place) * kHeight;

/** The colour of a run between the worst and the best; failed runs have none. */
export function runColor(good: number | undefined): string | undefined {
  return good === undefined ? undefined : `color-mix(in oklab, var(--best) ${Math.round(100 * good)}%, var(--worst))`;
}

/** "train.optimizer." and "lr": the last word of a key says most. */
function keyParts(name: string): [string, string] {
  const dot = name.lastIndexOf(".") + 1;
  return [name.slice(0, dot), name.slice(dot)];
}

function Handle(props: {
  axis: Axis;
  label: string;
  place: number;
  upper: boolean;
  on: boolean;
  bounds: Range;
  runs: SweepRun[];
  onMove: (place: number) => void;
}) {
  const { axis, place, bounds } = props;
  const onKeyDown = (e: KeyboardEvent) => {
    const step = (up: boolean) => () => nextPlace(axis, props.runs, place, up);
    const places: Record<string, () => number> = {
      ArrowUp: step(true),
      ArrowRight: step(true),
      ArrowDown: step(false),
      ArrowLeft: step(false),
      Home: () => bounds[0],
      End: () => bounds[1],
    };
    const to = places[e.key];
    if (!to) return;
    e.preventDefault();
    props.onMove(Math.min(bounds[1], Math.max(bounds[0], to())));
  };
  const at = y(place);
  return (
    <path
      class={props.on ? "handle on" : "handle"}
      d={props.upper ? `M-7 ${at - 8}h14l-7 8z` : `M-7 ${at + 8}h14l-7 -8z`}
      tabindex={0}
      role="slider"
      aria-orientation="vertical"
      aria-label={props.label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(100 * place)}
      aria-valuetext={axis.textAt(place)}
      onKeyDown={onKeyDown}
    />
  );
}

function AxisColumn(props: {
  axis: Axis;
  x: number;
  range: Range | undefined;
  runs: SweepRun[];
  /** `held`: a drag goes on. */
  onRange: (range: Range | undefined, held: boolean) => void;
}) {
  const { t } = useTexts();
  const { axis, range } = props;
  const [low, high] = range ?? kWhole;
  /** Where a drag began, or which end of the range it leaves alone. */
  const drag = useRef<{ from: number; fixed?: number } | null>(null);
  const [first, last] = keyParts(axis.name);
  const missing = props.runs.some((run) => axis.place(run) === undefined);
  const set = (a: number, b: number, held: boolean) => {
    const next: Range = [Math.min(a, b), Math.max(a, b)];
    props.onRange(next[0] <= 0 && next[1] >= 1 ? undefined : next, held);
  };
  const placeOf = (e: PointerEvent) => {
    const box = (e.currentTarget as Element).getBoundingClientRect();
    return Math.min(1, Math.max(0, (box.bottom - e.clientY - 10) / kHeight));
  };
  const onDown = (e: PointerEvent) => {
    const at = placeOf(e);
    // Near an end of the range that end is dragged, elsewhere a new range.
    const near = (end: number) => Math.abs(at - end) < 0.03;
    const fixed = !range ? undefined : near(low) ? high : near(high) ? low : undefined;
    drag.current = { from: at, fixed };
    (e.currentTarget as Element).setPointerCapture(e.pointerId);
  };
  const onMove = (e: PointerEvent, held = true) => {
    if (!drag.current) return;
    const { from, fixed } = drag.current;
    const at = placeOf(e);
    if (fixed !== undefined || Math.abs(at - from) >= kDrag) set(fixed ?? from, at, held);
    else if (!held) props.onRange(undefined, held);  // a click
  };
  const onUp = (e: PointerEvent) => {
    onMove(e, /*held=*/ false);
    drag.current = null;
  };
  return (
    <g class="axis" transform={`translate(${props.x} 0)`}>
      <text class="prefix" y="16" text-anchor="middle">{first}</text>
      <text class="name" y="33" text-anchor="middle">
        {last}
        {axis.log && <tspan class="prefix"> log</tspan>}
        <title>{axis.name}</title>
      </text>
      <line class="rail" y1={y(1)} y2={y(0)} />
      {axis.ticks.map((tick) => (
        <g key={tick.text} class="tick" transform={`translate(0 ${y(tick.place)})`}>
          <line x1="-4" x2="4" />
          <text x="9" dy="0.32em">{tick.text}</text>
        </g>
      ))}
      {missing && (
        <text class="tick" y={y(0) + kMissing + 16} text-anchor="middle">
          {t(axis.result ? "sweeps.no_result" : "sweeps.as_recipe")}
        </text>
      )}
      {range && <rect class="range" x="-8" width="16" y={y(high)} height={Math.max(1, y(low) - y(high))} />}
      <rect class="grip" x="-14" width="28" y={y(1) - 10} height={kHeight + 20} onPointerDown={onDown} onPointerMove={onMove} onPointerUp={onUp} onPointerCancel={onUp} />
      <Handle axis={axis} label={t("sweeps.high", { axis: axis.name })} place={high} upper on={!!range} bounds={[low, 1]} runs={props.runs} onMove={(to) => set(low, to, false)} />
      <Handle axis={axis} label={t("sweeps.low", { axis: axis.name })} place={low} upper={false} on={!!range} bounds={[0, high]} runs={props.runs} onMove={(to) => set(to, high, false)} />
    </g>
  );
}

export function ParallelPlot(props: {
  sweep: Sweep;
  axes: Axis[];
  ranges: Ranges;
  /** `held`: a drag goes on. */
  onRange: (axis: number, range: Range | undefined, held: boolean) => void;
  /** The run whose line stands out. */
  lit: string | undefined;
  onLight: (run: string | undefined) => void;
  onChoose: (run: string) => void;
}) {
  const { t } = useTexts();
  const { sweep, axes, lit } = props;
  const place = useRef<HTMLDivElement>(null);
  const [room, setRoom] = useState(0);
  useEffect(() => {
    const watch = new ResizeObserver(([entry]) => setRoom(entry!.contentRect.width));
    watch.observe(place.current!);
    return () => watch.disconnect();
  }, []);
  const width = Math.max(room, 2 * kSide + (axes.length - 1) * kSpacing);
  const x = (i: number) => kSide + (i * (width - 2 * kSide)) / Math.max(1, axes.length - 1);
  const missing = y(0) + kMissing;
  const shape = (run: SweepRun) => {
    const at = axes.map((axis) => axis.place(run));
    return {
      line: at.map((p, i) => `${i ? "L" : "M"}${x(i).toFixed(1)} ${(p === undefined ? missing : y(p)).toFixed(1)}`).join(""),
      crosses: at.flatMap((p, i) => (p === undefined && axes[i]!.result ? [x(i)] : [])),
    };
  };
  // What stands out is drawn over the rest.
  const rank = (run: SweepRun) => (run.name === lit ? 2 : isKept(axes, props.ranges, run) ? 1 : 0);
  const runs = [...sweep.runs].sort((a, b) => rank(a) - rank(b));
  return (
    <div class="scroll parallel" ref={place}>
      <svg width={width} height={missing + 30} role="group" aria-label={t("sweeps.plot_label", { name: sweep.name, n: sweep.runs.length })}>
        <g class={lit ? "lines dimmed" : "lines"} aria-hidden="true">
          {runs.map((run) => {
            const { line, crosses } = shape(run);
            const kept = isKept(axes, props.ranges, run);
            const failed = run.state === "failed";
            const names = ["run", failed && "failed", !kept && "out", run.name === lit && "lit"].filter(Boolean);
            return (
              <g key={run.name} class={names.join(" ")} data-run={run.name} style={{ "--run": runColor(goodness(sweep, axes, run)) }}>
                <path class="line" d={line} />
                {crosses.map((at) => (
                  <path key={at} class="cross" d={`M${at - 4} ${missing - 4}l8 8m0 -8l-8 8`} />
                ))}
                {kept && (
                  <path
                    class="near"
                    d={line}
                    onPointerEnter={() => props.onLight(run.name)}
                    onPointerLeave={() => props.onLight(undefined)}
                    onClick={() => props.onChoose(run.name)}
                  />
                )}
              </g>
            );
          })}
        </g>
        {axes.map((axis, i) => (
          <AxisColumn key={axis.name} axis={axis} x={x(i)} range={props.ranges.get(i)} runs={sweep.runs} onRange={(range, held) => props.onRange(i, range, held)} />
        ))}
      </svg>
    </div>
  );
}
