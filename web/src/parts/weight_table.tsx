// A matrix as a table: a label for each row and column, a colour and a percentage in each cell.

import { kMagmaCss } from "../colors";
import { useTexts } from "../i18n";

export interface Label {
  text: string;
  /** Said in small letters below it. */
  note?: string;
}

/** The colours of the scale from here on are light: black reads better on them. */
const kLight = 0.58;
/** Labels up to this length stand upright above a column. */
const kShort = 2;

export function WeightTable(props: {
  caption: string;
  rows: Label[];
  columns: Label[];
  rowAxis: string;
  columnAxis: string;
  values: number[][];
  /** The value at the light end of the colour scale. */
  top: number;
  /** Whether a cell exists: a causal model has no weights for later keys. */
  exists?: (row: number, column: number) => boolean;
  lit?: { row?: number; column?: number };
}) {
  const { percent } = useTexts();
  const { lit = {} } = props;
  const upright = props.columns.every((c) => c.text.length <= kShort);
  const name = (label: Label) => (
    <>
      {label.text}
      {label.note && <small>{label.note}</small>}
    </>
  );
  return (
    <div class="scroll">
      <table class="weights">
        <caption>{props.caption}</caption>
        <thead>
          <tr>
            <td>
              {props.rowAxis} ↓ {props.columnAxis} →
            </td>
            {props.columns.map((label, c) => (
              <th scope="col" key={c} class={lit.column === c ? "lit" : ""}>
                <span class={upright ? "" : "steep"}>{name(label)}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {props.rows.map((label, r) => (
            <tr key={r}>
              <th scope="row" class={lit.row === r ? "lit" : ""}>
                {name(label)}
              </th>
              {props.columns.map((_, c) => {
                if (props.exists && !props.exists(r, c)) return <td key={c} class="none" />;
                const value = props.values[r]![c]!;
                const part = props.top > 0 ? Math.min(1, value / props.top) : 0;
                return (
                  <td
                    key={c}
                    class={lit.row === r || lit.column === c ? "lit" : ""}
                    title={percent(value)}
                    style={{ background: kMagmaCss[Math.round(255 * part)], color: part > kLight ? "#000" : "#fff" }}
                  >
                    {Math.round(100 * value)}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
