// The figures of the walk from patches to logits.

import { useLayoutEffect, useRef } from "preact/hooks";
import type { Model, Prediction } from "../../api";
import { attentionMap, headNumbers, kMeanHead, tokenAt, weightsFrom, type Attention, type Layer, type Point } from "../../attention";
import type { Box } from "../../draw";
import type { LoadedImage } from "../../images";
import { useTexts } from "../../i18n";
import { MapCanvas } from "../../parts/map_canvas";

interface Subject {
  attention: Attention;
  model: Model;
  index: number;
  layer: Layer;
  head: number;
  at: Point;
}

const kSide = 560;
const kGap = 3;

/** The image cut along the grid of the first layer. */
export function Tokens({ attention, image, box }: Subject & { image: LoadedImage; box: Box }) {
  const { t } = useTexts();
  const canvas = useRef<HTMLCanvasElement>(null);
  const { rows, columns } = attention.layers[0]!.queries;
  useLayoutEffect(() => {
    const c = canvas.current!.getContext("2d")!;
    c.clearRect(0, 0, kSide, kSide);
    const gap = Math.min(kGap, kSide / rows / 5);
    const w = kSide / columns;
    const h = kSide / rows;
    for (let r = 0; r < rows; ++r)
      for (let k = 0; k < columns; ++k)
        c.drawImage(
          image.bitmap,
          box.x + (k * box.width) / columns, box.y + (r * box.height) / rows,
          box.width / columns, box.height / rows,
          k * w, r * h, w - gap, h - gap,
        );
  }, [image, box, rows, columns]);
  return <canvas ref={canvas} class="cut" width={kSide} height={kSide} role="img" aria-label={t("guided.cut_label", { rows, columns })} />;
}

const kShownKeys = 8;

/** The greatest weights of one row, the rest in one line, and the sum. */
export function SoftmaxRow({ attention, layer, head, at }: Subject) {
  const { t, percent, number } = useTexts();
  const weights = weightsFrom(attention, layer, head, at);
  const order = [...weights.keys()].sort((a, b) => weights[b]! - weights[a]!);
  const sum = weights.reduce((a, b) => a + b, 0);
  const top = order.slice(0, kShownKeys);
  const rest = sum - top.reduce((total, k) => total + weights[k]!, 0);
  const most = weights[order[0]!]!;
  const { prefix, columns } = layer.keys;
  const name = (k: number) =>
    k < prefix
      ? t("explore.class_token")
      : t("cell", { row: Math.floor((k - prefix) / columns) + 1, column: ((k - prefix) % columns) + 1 });
  return (
    <div class="scroll">
      <table class="softmax">
        <thead>
          <tr>
            <th scope="col">{t("guided.key")}</th>
            <th scope="col">{t("guided.score")}</th>
            <th scope="col">{t("guided.weight")}</th>
          </tr>
        </thead>
        <tbody>
          {top.map((k) => (
            <tr key={k}>
              <th scope="row">{name(k)}{at && k === tokenAt(layer.keys, at) ? ` (${t("guided.self")})` : ""}</th>
              <td class="number">{weights[k]! > 0 ? number(Math.log(weights[k]! / most), 2, 2) : "–"}</td>
              <td class="bar"><span class="fill" style={{ width: `${(100 * weights[k]!) / most}%` }} /><span class="text">{percent(weights[k]!)}</span></td>
            </tr>
          ))}
          <tr>
            <th scope="row">{t("guided.rest", { n: weights.length - top.length })}</th>
            <td />
            <td class="bar"><span class="text">{percent(Math.max(0, rest))}</span></td>
          </tr>
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">{t("guided.sum")}</th>
            <td />
            <td class="bar"><span class="text" data-testid="sum">{percent(sum)}</span></td>
          </tr>
        </tfoot>
      </table>
    </div>
  );
}

export function HeadsOfLayer({ attention, model, layer, head, at, onOpen }: Subject & { onOpen: (head: number) => void }) {
  const { t, number } = useTexts();
  const numbers = headNumbers(attention, layer, model.image);
  return (
    <div class="gallery">
      {numbers.map((n, h) => (
        <button type="button" key={h} class="tile" aria-pressed={h === head} onClick={() => onOpen(h)}>
          <MapCanvas cells={attentionMap(attention, layer, h, at, "from")} />
          <span>{t("guided.head_tile", { head: h + 1, distance: number(n.distance, 0) })}</span>
        </button>
      ))}
    </div>
  );
}

/** What the class token (or all queries together) looks at, layer by layer. */
export function LayersOfNetwork({ attention, index, onOpen }: Subject & { onOpen: (layer: number) => void }) {
  const { t } = useTexts();
  return (
    <div class="gallery wide">
      {attention.layers.map((layer, l) => (
        <button type="button" key={l} class="tile" aria-pressed={l === index} onClick={() => onOpen(l)}>
          <MapCanvas cells={attentionMap(attention, layer, kMeanHead, null, "from")} />
          <span>{t("layer", { n: l + 1 })}</span>
        </button>
      ))}
    </div>
  );
}

/** Probabilities and the differences of logits that they imply. */
export function LogitTable({ predictions, classes }: { predictions: Prediction[]; classes: number }) {
  const { t, percent, number } = useTexts();
  const most = predictions[0]?.probability ?? 1;
  const rest = 1 - predictions.reduce((sum, p) => sum + p.probability, 0);
  return (
    <div class="scroll">
      <table class="softmax">
        <thead>
          <tr>
            <th scope="col">{t("guided.class")}</th>
            <th scope="col">{t("guided.logit")}</th>
            <th scope="col">{t("guided.probability")}</th>
          </tr>
        </thead>
        <tbody>
          {predictions.map((p) => (
            <tr key={p.index}>
              <th scope="row">{p.label}</th>
              <td class="number">{p.probability > 0 ? number(Math.log(p.probability / most), 2, 2) : "–"}</td>
              <td class="bar"><span class="fill" style={{ width: `${100 * p.probability}%` }} /><span class="text">{percent(p.probability)}</span></td>
            </tr>
          ))}
          {classes > predictions.length && (
            <tr>
              <th scope="row">{t("guided.rest_classes", { n: classes - predictions.length })}</th>
              <td />
              <td class="bar"><span class="text">{percent(Math.max(0, rest))}</span></td>
            </tr>
          )}
        </tbody>
      </table>
    </div>
  );
}
