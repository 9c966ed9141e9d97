// The curves of several runs in one chart (uPlot).

import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { seriesColor } from "../../colors";
import { aligned } from "../../metrics";

interface Series {
  name: string;
  color: number;
  points: [number, number][];
}

export function Curves(props: { series: Series[]; axis: string; metric: string; log: boolean; label: string }) {
  const place = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot>();
  const { theme } = document.documentElement.dataset;  // the colours of axes are drawn, not styled
  const shape = JSON.stringify([props.series.map((s) => s.name), props.axis, props.metric, props.log, theme]);

  useEffect(() => {
    const ink = getComputedStyle(place.current!);
    const axis = {
      stroke: ink.color,
      grid: { stroke: ink.getPropertyValue("--line"), width: 1 },
      ticks: { stroke: ink.getPropertyValue("--line"), width: 1 },
      font: "12px system-ui, sans-serif",
      labelFont: "12px system-ui, sans-serif",
    };
    chart.current = new uPlot(
      {
        width: place.current!.clientWidth,
        height: 340,
        scales: { x: { time: false }, y: { distr: props.log ? 3 : 1 } },
        axes: [{ ...axis, label: props.axis }, { ...axis, size: 64 }],
        series: [
          { label: props.axis },
          ...props.series.map((s) => ({
            label: s.name,
            stroke: seriesColor(s.color),
            width: 1.75,
            spanGaps: true,
            points: { show: s.points.length < 30, size: 6 },
          })),
        ],
      },
      aligned(props.series.map((s) => s.points)) as uPlot.AlignedData,
      place.current!,
    );
    const watch = new ResizeObserver(() =>
      chart.current?.setSize({ width: place.current!.clientWidth, height: 340 }),
    );
    watch.observe(place.current!);
    return () => {
      watch.disconnect();
      chart.current?.destroy();
      chart.current = undefined;
    };
  }, [shape]);
  useLayoutEffect(() => {
    chart.current?.setData(aligned(props.series.map((s) => s.points)) as uPlot.AlignedData);
  }, [props.series]);
  return <div class="curves" ref={place} role="img" aria-label={props.label} />;
}
