// The confusion matrices of the chosen runs, and the test images behind a cell.

import { useEffect, useMemo, useState } from "preact/hooks";
import { api, ApiError, type Confusion, type TestExample } from "../../api";
import { useTexts } from "../../i18n";
import { Section } from "../../parts/controls";
import { ColorBar, MapCanvas } from "../../parts/map_canvas";
import { Loaded } from "../../parts/notice";
import { useResource } from "../../resource";
import { listOf } from "../../route";
import type { ViewProps } from "../explore";

/** [true class, predicted class]. */
export type Cell = [number, number];

/** Up to so many classes are named at the sides, and up to so many have numbers in their cells. */
const kNamed = 30;
const kNumbered = 12;
/** The most frequent confusions that are listed. */
const kListed = 6;
const kImages = 24;
/** The colours of the scale from here on are light: black reads better on them. */
const kLight = 0.58;

/** Counts and fractions of the true class by row, and the confusions from the most frequent one on. */
export function tableOf({ classes, cells }: Confusion) {
  const n = classes.length;
  const counts = new Array<number>(n * n).fill(0);
  const totals = new Array<number>(n).fill(0);
  for (const [truth, guess, count] of cells) {
    counts[truth * n + guess] = count;
    totals[truth]! += count;
  }
  const fraction = ([truth, guess]: Cell) => counts[truth * n + guess]! / (totals[truth] || 1);
  const confused = cells
    .map(([truth, guess]): Cell => [truth, guess])
    .filter(([truth, guess]) => truth !== guess)
    .sort((a, b) => fraction(b) - fraction(a));
  return { n, counts, totals, fraction, confused };
}

type Table = ReturnType<typeof tableOf>;

const kSteps: Record<string, Cell> = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

function Matrix(props: { label: string; classes: string[]; table: Table; cell: Cell | undefined; onCell: (cell: Cell) => void }) {
  const { t, percent, number } = useTexts();
  const { classes, table, cell } = props;
  const { n } = table;
  const [hovered, setHovered] = useState<Cell>();
  const roots = useMemo(
    () => Array.from({ length: n * n }, (_, i) => Math.sqrt(table.fraction([Math.floor(i / n), i % n]))),
    [table],
  );
  const cellAt = (e: PointerEvent | MouseEvent): Cell => {
    const box = (e.currentTarget as Element).getBoundingClientRect();
    const at = (part: number) => Math.min(n - 1, Math.max(0, Math.floor(part * n)));
    return [at((e.clientY - box.top) / box.height), at((e.clientX - box.left) / box.width)];
  };
  const onKeyDown = (e: KeyboardEvent) => {
    const step = kSteps[e.key];
    if (!step) return;
    e.preventDefault();
    const [truth, guess] = cell ?? [0, 0];
    const to = (from: number, by: number) => Math.min(n - 1, Math.max(0, from + (cell ? by : 0)));
    props.onCell([to(truth, step[0]), to(guess, step[1])]);
  };
  const read = hovered ?? cell;
  const names = n <= kNamed ? classes : [];
  return (
    <>
      <div class={n <= kNamed ? "matrix named" : "matrix"} style={{ "--classes": n }}>
        {n <= kNamed && <div class="rownames" aria-hidden="true">{names.map((c) => <span key={c}>{c}</span>)}</div>}
        <div
          class="cells"
          tabIndex={0}
          role="application"
          aria-label={props.label}
          aria-description={t("confusion.keys")}
          onPointerMove={(e) => setHovered(cellAt(e))}
          onPointerLeave={() => setHovered(undefined)}
          onClick={(e) => props.onCell(cellAt(e))}
          onKeyDown={onKeyDown}
        >
          <MapCanvas cells={{ rows: n, columns: n, values: roots }} top={1} />
          {n <= kNumbered && (
            <div class="counts" aria-hidden="true">
              {roots.map((root, i) => (
                <span key={i} style={{ color: root > kLight ? "#000" : "#fff" }}>{root * root >= 0.005 ? number(100 * root * root) : ""}</span>
              ))}
            </div>
          )}
          {cell && <i class="mark" style={{ top: `${(100 * cell[0]) / n}%`, left: `${(100 * cell[1]) / n}%`, width: `${100 / n}%`, height: `${100 / n}%` }} />}
        </div>
        {n <= kNamed && <div class="columnnames" aria-hidden="true">{names.map((c) => <span key={c}>{c}</span>)}</div>}
      </div>
      <ColorBar low="0" high={percent(1, 0)} />
      <p class="reading" aria-live="polite">
        {read
          ? t("confusion.cell", { truth: classes[read[0]]!, guess: classes[read[1]]!, count: number(table.counts[read[0] * n + read[1]]!), total: number(table.totals[read[0]]!), rate: percent(table.fraction(read)) })
          : t("confusion.choose")}
      </p>
    </>
  );
}

function Thumbnail({ image, alt }: { image: Blob; alt: string }) {
  const [url, setUrl] = useState("");
  const [small, setSmall] = useState(true);
  useEffect(() => {
    const made = URL.createObjectURL(image);
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [image]);
  if (!url) return null;
  return <img class={small ? "pixels" : ""} src={url} alt={alt} onLoad={(e) => setSmall(e.currentTarget.naturalWidth < 80)} />;
}

/** The images of a cell, and how sure the network was of each. */
function CellImages({ name, classes, cell }: { name: string; classes: string[]; cell: Cell }) {
  const { t, percent, number } = useTexts();
  const [truth, guess] = cell;
  const [wanted, setWanted] = useState(kImages);
  const examples = useResource(`cell|${name}|${cell}|${wanted}`, (s) => api.cell(name, truth, guess, wanted, s), { keep: true, delay: 100 });
  const indices = examples.data?.examples.map((e) => e.index);
  const images = useResource(
    indices?.length ? `images|${name}|${indices}` : null,
    (s) => Promise.all(indices!.map((index) => api.testImage(name, index, s))),
    { keep: true },
  );
  const said = (e: TestExample) =>
    truth === guess
      ? [`${classes[truth]} ${percent(e.probability, 0)}`]
      : [`${classes[guess]} ${percent(e.probability, 0)}`, `${classes[truth]} ${percent(e.true_probability, 0)}`];
  return (
    <div class="behind">
      <h3>{t(truth === guess ? "confusion.right" : "confusion.wrong", { truth: classes[truth]!, guess: classes[guess]! })}</h3>
      <Loaded resource={examples}>
        {({ total, examples: list }) =>
          total === 0 ? (
            <p class="notice">{t("confusion.no_image")}</p>
          ) : (
            <>
              <p class="about">{t("confusion.shown", { shown: number(list.length), total: number(total) })}</p>
              <Loaded resource={images}>
                {(blobs) => (
                  <ul class="thumbnails">
                    {list.slice(0, blobs.length).map((e, i) => (
                      <li key={e.index}>
                        <Thumbnail image={blobs[i]!} alt={t("confusion.image", { index: e.index })} />
                        {said(e).map((text) => <span key={text}>{text}</span>)}
                      </li>
                    ))}
                  </ul>
                )}
              </Loaded>
              {total > list.length && (
                <button type="button" onClick={() => setWanted(wanted + kImages)}>{t("confusion.more")}</button>
              )}
            </>
          )
        }
      </Loaded>
    </div>
  );
}

function RunConfusion(props: { name: string; confusion: Confusion; cell: Cell | undefined; onCell: (cell: Cell) => void }) {
  const { t, percent } = useTexts();
  const { name, confusion } = props;
  const table = useMemo(() => tableOf(confusion), [confusion]);
  const cell = props.cell?.every((c) => c < table.n) ? props.cell : undefined;
  const { classes } = confusion;
  const isChosen = ([truth, guess]: Cell) => truth === cell?.[0] && guess === cell[1];
  return (
    <figure class="confusion">
      <figcaption>{t("confusion.of", { name })}</figcaption>
      <Matrix label={t("confusion.of", { name })} classes={classes} table={table} cell={cell} onCell={props.onCell} />
      {table.confused.length > 0 && (
        <ul class="confused">
          {table.confused.slice(0, kListed).map((c) => (
            <li key={c.join()}>
              <button type="button" aria-pressed={isChosen(c)} onClick={() => props.onCell(c)}>
                {t("runs.confused", { truth: classes[c[0]]!, guess: classes[c[1]]!, rate: percent(table.fraction(c)) })}
              </button>
            </li>
          ))}
        </ul>
      )}
      {cell && <CellImages key={cell.join()} name={name} classes={classes} cell={cell} />}
    </figure>
  );
}

/** The matrices of those runs that have one, side by side. */
export function Confusions({ names, query, setQuery }: ViewProps & { names: string[] }) {
  const { t } = useTexts();
  const all = useResource(`confusion|${names.join("|")}`, (s) =>
    Promise.all(
      names.map((name) =>
        api.confusion(name, s).catch((e): null => {
          if (e instanceof ApiError && e.status === 404) return null;  // no classifier, or not tested
          throw e;
        }),
      ),
    ),
  );
  const [chosen] = listOf(query, "cell");
  const cell: Cell | undefined = chosen?.length === 2 ? [chosen[0]!, chosen[1]!] : undefined;
  return (
    <Section title={t("confusion.title")} about={t("confusion.about")}>
      <Loaded resource={all}>
        {(matrices) =>
          matrices.every((m) => m === null) ? (
            <p class="notice">{t("confusion.none")}</p>
          ) : (
            <div class="confusions">
              {matrices.map((m, i) =>
                m ? <RunConfusion key={names[i]} name={names[i]!} confusion={m} cell={cell} onCell={(c) => setQuery({ cell: c.join(".") })} /> : null,
              )}
            </div>
          )
        }
      </Loaded>
    </Section>
  );
}
