// The map in one sentence, for those who cannot see it and those who want the figure.

import type { Attention, Grid, Point } from "../../attention";
import { kMeanHead, tokenAt } from "../../attention";
import { useTexts, type Texts } from "../../i18n";
import type { ExploreState } from "./state";
import { chosenHead, cursorGrid, type ShownMap } from "./use_panel";

function cellName({ t }: Texts, index: number, columns: number): string {
  return t("cell", { row: Math.floor(index / columns) + 1, column: (index % columns) + 1 });
}

function tokenName(texts: Texts, grid: Grid, at: Point): string {
  if (at) return cellName(texts, tokenAt(grid, at) - grid.prefix, grid.columns);
  return texts.t(grid.prefix ? "explore.class_token" : "explore.mean_query");
}

export function useReading(
  attention: Attention | undefined,
  state: ExploreState,
  at: Point,
  { cells, top, prefix }: ShownMap,
): string {
  const texts = useTexts();
  if (!attention || !cells) return "";
  const { t, percent } = texts;
  const { index, layer, head } = chosenHead(attention, state);
  const most = Array.prototype.indexOf.call(cells.values, top);
  const parts = [
    t(head === kMeanHead ? "explore.where_mean" : "explore.where", { layer: index + 1, head: head + 1 }),
    t(state.direction === "to" ? "explore.reads_to" : "explore.reads_from", {
      token: tokenName(texts, cursorGrid(layer, state), at),
      most: cellName(texts, most, cells.columns),
      weight: percent(top),
    }),
  ];
  if (prefix.length && state.direction === "from")
    parts.push(t("explore.reads_class", { weight: percent(prefix[0]!) }));
  return parts.join(" ");
}
