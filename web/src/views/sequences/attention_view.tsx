// The attention of a short sequence: one head or all of a layer, as lines and as a matrix, and every head at once.

import { useState } from "preact/hooks";
import type { HeadsOfTokens } from "../../api";
import { seriesColor } from "../../colors";
import { greatest } from "../../draw";
import { useTexts, type Texts } from "../../i18n";
import { Section, Segments } from "../../parts/controls";
import { ColorBar, MapCanvas } from "../../parts/map_canvas";
import { WeightTable, type Label } from "../../parts/weight_table";
import { numberOf } from "../../route";
import type { ViewProps } from "../explore";
import { HeadLines, wordOf, wordText, type Word } from "./head_lines";

const kAll = -1;
const kMany = 1 << 20;

/** The mean of matrices of one size. */
export function meanOf(matrices: number[][][]): number[][] {
  return matrices[0]!.map((row, q) =>
    row.map((_, k) => matrices.reduce((sum, m) => sum + m[q]![k]!, 0) / matrices.length),
  );
}

/** What a token looks at most, or by which it is looked at most, in a sentence. */
function readingOf({ t, percent }: Texts, tokens: Label[], weights: number[][], { side, index }: Word): string {
  const row = side === "query" ? weights[index]! : weights.map((r) => r[index]!);
  const most = row.indexOf(greatest(row));
  const name = (i: number) => t("attention.word", { text: [tokens[i]!.text, tokens[i]!.note].filter(Boolean).join(" ") });
  return t(side === "query" ? "explore.reads_from" : "explore.reads_to", {
    token: name(index),
    most: name(most),
    weight: percent(row[most]!),
  });
}

function AllHeads(props: {
  layers: HeadsOfTokens[];
  layer: number;
  head: number;
  onOpen: (layer: number, head: number) => void;
}) {
  const { t } = useTexts();
  return (
    <div class="heads few" role="group" aria-label={t("explore.heads")}>
      {props.layers.map(({ heads }, l) => (
        <div class="layer" key={l} role="group" aria-label={t("layer", { n: l + 1 })}>
          <span class="rowname">{l + 1}</span>
          {heads.map((weights, h) => (
            <button
              type="button"
              key={h}
              class="thumb"
              aria-pressed={l === props.layer && h === props.head}
              aria-label={t("explore.head_name", { layer: l + 1, head: h + 1 })}
              onClick={() => props.onOpen(l, h)}
            >
              <MapCanvas cells={{ rows: weights.length, columns: weights[0]!.length, values: weights.flat() }} />
            </button>
          ))}
        </div>
      ))}
    </div>
  );
}

export function AttentionView(props: ViewProps & {
  tokens: Label[];
  layers: HeadsOfTokens[];
  causal: boolean;
  about: string;
  /** A sentence about the weights that are shown. */
  remark?: (weights: number[][], layer: number) => string;
}) {
  const texts = useTexts();
  const { t, percent } = texts;
  const { tokens, layers, query, setQuery } = props;
  const [hover, setHover] = useState<Word>();
  const last = layers.length - 1;
  const layer = Math.min(numberOf(query, "layer", last, 0, kMany), last);
  const { heads } = layers[layer]!;
  const head = Math.min(numberOf(query, "head", kAll, 0, kMany), heads.length - 1);
  const within = (word: Word | undefined) => (word && word.index < tokens.length ? word : undefined);
  const chosen = within(wordOf(query.get("word")));
  const active = within(hover) ?? chosen;
  const shown = head === kAll ? heads.map((weights, index) => ({ index, weights })) : [{ index: head, weights: heads[head]! }];
  const weights = head === kAll ? meanOf(heads) : heads[head]!;
  const top = greatest(weights.flat());
  const where = t(head === kAll ? "explore.where_mean" : "explore.where", { layer: layer + 1, head: head + 1 });
  return (
    <>
      <Section title={t("attention.title")} about={props.about}>
        <div class="toolbar">
          <Segments
            label={t("layer_axis")}
            value={String(layer)}
            onChange={(value) => setQuery({ layer: value })}
            choices={layers.map((_, l) => ({ value: String(l), label: `${l + 1}` }))}
          />
          <Segments
            label={t("head_axis")}
            value={String(head)}
            onChange={(value) => setQuery({ head: Number(value) === kAll ? null : value })}
            choices={[kAll, ...heads.keys()].map((h) => ({ value: String(h), label: h === kAll ? t("attention.all") : `${h + 1}` }))}
          />
          {head === kAll && heads.length > 1 && (
            <p class="swatches">
              {heads.map((_, h) => (
                <span key={h}><i style={{ background: seriesColor(h) }} />{t("attention.head", { n: h + 1 })}</span>
              ))}
            </p>
          )}
        </div>
        <div class="twofold">
          <HeadLines
            tokens={tokens}
            heads={shown}
            active={active}
            chosen={chosen}
            onHover={setHover}
            onChoose={(word) => setQuery({ word: wordText(word) })}
          />
          <div class="matrixpart">
            <WeightTable
              caption={`${where} ${t("attention.percent")}`}
              rows={tokens}
              columns={tokens}
              rowAxis={t("patterns.query_axis")}
              columnAxis={t("patterns.key_axis")}
              values={weights}
              top={top}
              exists={props.causal ? (q, k) => k <= q : undefined}
              lit={active && (active.side === "query" ? { row: active.index } : { column: active.index })}
            />
            <ColorBar low="0" high={percent(top)} />
          </div>
        </div>
        <p class="reading" aria-live={hover ? "off" : "polite"}>
          {active ? `${where} ${readingOf(texts, tokens, weights, active)}` : t("attention.choose")}
        </p>
        {props.remark && <p class="reading">{`${where} ${props.remark(weights, layer)}`}</p>}
      </Section>
      {layers.length * heads.length > 1 && (
        <Section title={t("explore.heads")} about={t("attention.heads_about")}>
          <AllHeads layers={layers} layer={layer} head={head} onOpen={(l, h) => setQuery({ layer: l, head: h })} />
        </Section>
      )}
    </>
  );
}
