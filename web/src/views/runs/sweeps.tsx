// The sweeps of the server: one of them as parallel coordinates and as a table.

import { useMemo, useState } from "preact/hooks";
import { api, type Sweep, type SweepRun } from "../../api";
import { useTexts, type Texts } from "../../i18n";
import { Section, Select } from "../../parts/controls";
import { Loaded } from "../../parts/notice";
import { useResource } from "../../resource";
import { listOf } from "../../route";
import { axesOf, bestFirst, goodness, isKept, rangesOf, rangesText, type Axis, type Range, type Ranges } from "../../sweep";
import type { ViewProps } from "../explore";
import { ParallelPlot, runColor } from "./parallel";

function resultTexts({ t, number, percent, named }: Texts, sweep: Sweep) {
  const metric = named("metric", sweep.metric?.name ?? "");
  return {
    validation: t("sweeps.validation", { metric }),
    test: t("sweeps.test", { metric }),
    seconds: t("sweeps.seconds"),
    metric: (value: number) => (sweep.metric?.unit === "%" ? percent(value, 1) : number(value, value < 1 ? 4 : 3)),
    duration: (value: number) => number(value, value < 10 ? 1 : 0),
  };
}

/** "embed 32, lr 1e-3, seed 2: accuracy, validation 93.1%, ...". */
function reading({ t }: Texts, axes: Axis[], run: SweepRun): string {
  const pairs = (some: Axis[]) => some.map((axis) => `${axis.name} ${axis.textOf(run) || "–"}`).join(", ");
  const settings = pairs(axes.filter((axis) => !axis.result));
  const results = run.error ?? pairs(axes.filter((axis) => axis.result));
  return t("sweeps.reading", { settings, seed: run.seed, results });
}

function RunTable(props: {
  sweep: Sweep;
  axes: Axis[];
  runs: SweepRun[];
  chosen: string | undefined;
  onLight: (run: string | undefined) => void;
  onChoose: (run: string) => void;
}) {
  const texts = useTexts();
  const { t } = texts;
  const { sweep, axes } = props;
  return (
    <div class="scroll tall">
      <table class="sweep">
        <caption>{t("sweeps.table", { name: sweep.name })}</caption>
        <thead>
          <tr>
            <th scope="col">{t("runs.name")}</th>
            {axes.map((axis) => <th scope="col" key={axis.name} class="number">{axis.name}</th>)}
            <th scope="col">{t("runs.state")}</th>
          </tr>
        </thead>
        <tbody>
          {props.runs.map((run) => (
            <tr
              key={run.name}
              class={run.name === props.chosen ? "chosen" : ""}
              onPointerEnter={() => props.onLight(run.name)}
              onPointerLeave={() => props.onLight(undefined)}
            >
              <th scope="row">
                <button
                  type="button"
                  aria-pressed={run.name === props.chosen}
                  aria-label={`${t("sweeps.seed", { seed: run.seed })}: ${run.name}`}
                  onClick={() => props.onChoose(run.name)}
                  onFocus={() => props.onLight(run.name)}
                  onBlur={() => props.onLight(undefined)}
                >
                  <i class="dot" style={{ background: runColor(goodness(sweep, axes, run)) }} />
                  {t("sweeps.seed", { seed: run.seed })}
                </button>
              </th>
              {axes.map((axis) => <td key={axis.name} class="number">{axis.textOf(run) || "–"}</td>)}
              <td>
                <span class={`state ${run.state}`}>{texts.named("state", run.state)}</span>
                {run.error && <small class="why">{run.error}</small>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function SweepView({ sweep, query, setQuery }: ViewProps & { sweep: Sweep }) {
  const texts = useTexts();
  const { t } = texts;
  const axes = useMemo(() => axesOf(sweep, resultTexts(texts, sweep)), [sweep, texts]);
  // While a range is dragged it is held here: the address must not be written sixty times a second.
  const [dragged, setDragged] = useState<Ranges>();
  const ranges = dragged ?? rangesOf(listOf(query, "range"));
  const [hovered, setHovered] = useState<string>();
  const chosen = query.get("run") ?? undefined;
  const light = hovered ?? chosen;
  const kept = bestFirst(sweep).filter((run) => isKept(axes, ranges, run));
  const lit = sweep.runs.find((run) => run.name === light);
  const setRange = (axis: number, range: Range | undefined, held: boolean) => {
    const next = new Map(ranges);
    if (range) next.set(axis, range);
    else next.delete(axis);
    setDragged(held ? next : undefined);
    if (!held) setQuery({ range: rangesText(next) });
  };
  const choose = (run: string) => setQuery({ run: run === chosen ? null : run });
  if (sweep.runs.length === 0) return <p class="notice">{t("sweeps.empty", { planned: sweep.planned })}</p>;
  return (
    <>
      <p class="about">{t("sweeps.about")}</p>
      <ParallelPlot sweep={sweep} axes={axes} ranges={ranges} onRange={setRange} lit={lit?.name} onLight={setHovered} onChoose={choose} />
      <p class="reading">{lit ? reading(texts, axes, lit) : t("sweeps.point")}</p>
      <div class="actions">
        <span class="worstbest">
          <span>{t("sweeps.worse")}</span>
          <span class="ramp" />
          <span>{t("sweeps.better")}</span>
        </span>
        <span role="status">{t("sweeps.shown", { shown: kept.length, made: sweep.runs.length, planned: sweep.planned })}</span>
        {ranges.size > 0 && <button type="button" onClick={() => setQuery({ range: null })}>{t("sweeps.clear")}</button>}
      </div>
      <RunTable sweep={sweep} axes={axes} runs={kept} chosen={chosen} onLight={setHovered} onChoose={choose} />
    </>
  );
}

export function Sweeps({ tick, query, setQuery }: ViewProps & { tick: number }) {
  const { t } = useTexts();
  const list = useResource(`sweeps|${tick}`, api.sweeps, { keep: true });
  const names = [...(list.data ?? [])].sort((a, b) => b.modified - a.modified).map((s) => s.name);
  const name = names.find((n) => n === query.get("sweep")) ?? names[0];
  const sweep = useResource(name ? `sweep|${name}|${tick}` : null, (s) => api.sweep(name!, s), { keep: true });
  return (
    <Loaded resource={list} absent={t("sweeps.none")}>
      {() =>
        name === undefined ? (
          <p class="notice">{t("sweeps.none")}</p>
        ) : (
          <>
            <div class="sweepchoice">
              <Select label={t("sweeps.choose")} value={name} choices={names.map((n) => ({ value: n, label: n }))} onChange={(n) => setQuery({ sweep: n, range: null, run: null })} />
            </div>
            <Section title={name} class="sweepview">
              {sweep.data && sweep.data.name !== name ? null : (
                <Loaded resource={sweep}>{(data) => <SweepView sweep={data} query={query} setQuery={setQuery} />}</Loaded>
              )}
            </Section>
          </>
        )
      }
    </Loaded>
  );
}
