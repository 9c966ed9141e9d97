// One dot per head over the layers: mean attention distance, and entropy.

import { scaleLinear } from "d3-scale";
import { useEffect, useState } from "preact/hooks";
import { numbersOfHead, uniformDistance, type Attention, type HeadNumbers } from "../../attention";
import { useTexts } from "../../i18n";

const kWidth = 420;
const kHeight = 220;
const kMargin = { left: 44, right: 12, top: 12, bottom: 36 };

function DotPlot(props: {
  label: string;
  axis: string;
  values: number[][];
  /** What uniform attention has, by layer. */
  uniform: number[];
  top: number;
  chosen: [number, number];
  shown: (value: number) => string;
  onOpen: (layer: number, head: number) => void;
}) {
  const { t } = useTexts();
  const layers = props.values.length;
  const x = scaleLinear([0, layers - 1 || 1], [kMargin.left + 14, kWidth - kMargin.right - 14]);
  const y = scaleLinear([0, props.top], [kHeight - kMargin.bottom, kMargin.top]).nice(5);
  const step = Math.ceil(layers / 12);
  return (
    <figure class="plot">
      <svg viewBox={`0 0 ${kWidth} ${kHeight}`} role="img" aria-label={props.label}>
        {y.ticks(5).map((tick) => (
          <g key={tick} class="tick" transform={`translate(0 ${y(tick)})`}>
            <line x1={kMargin.left} x2={kWidth - kMargin.right} />
            <text x={kMargin.left - 8} dy="0.32em" text-anchor="end">
              {tick}
            </text>
          </g>
        ))}
        {props.values.map((_, l) =>
          l % step ? null : (
            <text key={l} class="tick" x={x(l)} y={kHeight - kMargin.bottom + 16} text-anchor="middle">
              {l + 1}
            </text>
          ),
        )}
        <text class="axis" x={(kWidth + kMargin.left) / 2} y={kHeight - 4} text-anchor="middle">
          {t("layer_axis")}
        </text>
        <polyline class="uniform" points={props.uniform.map((u, l) => `${x(l)},${y(u)}`).join(" ")} />
        {props.values.map((row, l) =>
          row.map((value, h) => (
            <circle
              key={`${l}.${h}`}
              class={l === props.chosen[0] && h === props.chosen[1] ? "dot chosen" : "dot"}
              cx={x(l)}
              cy={y(value)}
              r={l === props.chosen[0] && h === props.chosen[1] ? 6 : 3.6}
              onClick={() => props.onOpen(l, h)}
            >
              <title>
                {t("explore.head_name", { layer: l + 1, head: h + 1 })}: {props.shown(value)}
              </title>
            </circle>
          )),
        )}
      </svg>
      <figcaption>
        {props.axis}
      </figcaption>
    </figure>
  );
}

interface HeadFigures {
  numbers: HeadNumbers[][];
  /** The distance of uniform attention, by layer. */
  uniform: number[];
}

/** So long the page may compute before it answers the pointer again. */
const kBusyMilliseconds = 20;

/** The figures of all heads, computed in slices: those of a network with many tokens take a second. */
function useHeadFigures(attention: Attention, image: number): HeadFigures | undefined {
  const [figures, setFigures] = useState<HeadFigures & { attention: Attention }>();
  useEffect(() => {
    let current = true;
    void (async () => {
      const numbers: HeadNumbers[][] = [];
      const uniform: number[] = [];
      let since = performance.now();
      for (const layer of attention.layers) {
        const row: HeadNumbers[] = [];
        for (let head = 0; head < layer.heads; ++head) {
          row.push(numbersOfHead(attention, layer, head, image));
          if (performance.now() - since < kBusyMilliseconds) continue;
          await new Promise((done) => setTimeout(done));
          if (!current) return;
          since = performance.now();
        }
        numbers.push(row);
        uniform.push(uniformDistance(layer, image));
      }
      setFigures({ attention, numbers, uniform });
    })();
    return () => {
      current = false;
    };
  }, [attention, image]);
  return figures?.attention === attention ? figures : undefined;
}

export function HeadPlots(props: {
  attention: Attention;
  image: number;
  chosen: [number, number];
  onOpen: (layer: number, head: number) => void;
}) {
  const { t, number } = useTexts();
  const { attention, image } = props;
  const figures = useHeadFigures(attention, image);
  if (!figures) return <p class="notice waiting">{t("explore.counting")}</p>;
  const { numbers, uniform } = figures;
  const distance = numbers.map((row) => row.map((n) => n.distance));
  const [layer, head] = props.chosen;
  const chosen = numbers[layer]?.[head];
  return (
    <>
      <div class="plots">
        <DotPlot
          {...props}
          label={t("explore.distance_label")}
          axis={t("explore.distance_caption")}
          values={distance}
          uniform={uniform}
          top={Math.max(...distance.flat(), ...uniform)}
          shown={(v) => `${number(v, 1)} px`}
        />
        <DotPlot
          {...props}
          label={t("explore.entropy_label")}
          axis={t("explore.entropy_caption")}
          values={numbers.map((row) => row.map((n) => n.entropy))}
          uniform={numbers.map(() => 1)}
          top={1}
          shown={(v) => number(v, 2)}
        />
      </div>
      <p class="reading">
        {chosen
          ? t("explore.head_reading", {
              layer: layer + 1,
              head: head + 1,
              distance: number(chosen.distance, 1),
              uniform: number(uniform[layer]!, 1),
              entropy: number(chosen.entropy, 2),
            })
          : t("explore.head_none")}
      </p>
    </>
  );
}
