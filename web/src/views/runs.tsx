// Run folders: a list that refreshes itself, curves, recipes, results and confusion matrices of those that are chosen.
// Sweeps have a tab of their own.

import { useEffect, useMemo, useState } from "preact/hooks";
import { api, type MetricLine, type Run } from "../api";
import { seriesColor } from "../colors";
import { useTexts } from "../i18n";
import { Check, Section, Segments, Select } from "../parts/controls";
import { Loaded } from "../parts/notice";
import { Tabs } from "../parts/tabs";
import { bestText, metricNames, points, type Axis } from "../metrics";
import { useResource } from "../resource";
import { choiceOf } from "../route";
import type { ViewProps } from "./explore";
import { Confusions } from "./runs/confusion";
import { Curves } from "./runs/curves";
import { RecipeDiff } from "./runs/recipe_diff";
import { Results } from "./runs/results";
import { Sweeps } from "./runs/sweeps";
import "./runs/runs.css";

const kRefreshSeconds = 5;
const kTabs = ["runs", "sweeps"] as const;
const kAxes = ["step", "epoch", "minutes"] as const;
/** What one wants to see first, in this order. */
const kFirstMetrics = ["epoch/validation_accuracy", "epoch/validation_loss", "step/loss"];

/** Grows every few seconds while the page is in sight. */
function useTick(): number {
  const [tick, setTick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => document.hidden || setTick((n) => n + 1), kRefreshSeconds * 1000);
    return () => clearInterval(timer);
  }, []);
  return tick;
}

function Age({ since }: { since: number }) {
  const { language } = useTexts();
  const minutes = (since - Date.now() / 1000) / 60;
  const format = new Intl.RelativeTimeFormat(language, { numeric: "auto" });
  const [value, unit] =
    minutes > -1 ? [0, "second"] : minutes > -60 ? [minutes, "minute"] : minutes > -1440 ? [minutes / 60, "hour"] : [minutes / 1440, "day"];
  return (
    <time dateTime={new Date(since * 1000).toISOString()}>
      {format.format(Math.round(value as number), unit as Intl.RelativeTimeFormatUnit)}
    </time>
  );
}

function RunTable(props: { runs: Run[]; chosen: string[]; onToggle: (name: string) => void }) {
  const texts = useTexts();
  const { t } = texts;
  return (
    <div class="scroll">
      <table class="runs">
        <thead>
          <tr>
            <th scope="col">{t("runs.name")}</th>
            <th scope="col">{t("runs.state")}</th>
            <th scope="col">{t("runs.best")}</th>
            <th scope="col" class="number">{t("runs.epochs")}</th>
            <th scope="col">{t("model")}</th>
            <th scope="col">{t("runs.dataset")}</th>
            <th scope="col">{t("runs.modified")}</th>
          </tr>
        </thead>
        <tbody>
          {props.runs.map((run) => {
            const at = props.chosen.indexOf(run.name);
            return (
              <tr key={run.name} class={at >= 0 ? "chosen" : ""}>
                <th scope="row">
                  <label class="check">
                    <input
                      type="checkbox"
                      checked={at >= 0}
                      onChange={() => props.onToggle(run.name)}
                      style={at >= 0 ? { accentColor: seriesColor(at) } : undefined}
                    />
                    <span>{run.name}</span>
                  </label>
                </th>
                <td><span class={`state ${run.state}`}>{texts.named("state", run.state)}</span></td>
                <td class="best">{bestText(texts, run.best)}</td>
                <td class="number">{run.epochs || "–"}</td>
                <td>{run.model}</td>
                <td>{run.dataset}</td>
                <td><Age since={run.modified} /></td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function Comparison({ chosen, tick, query, setQuery }: ViewProps & { chosen: string[]; tick: number }) {
  const texts = useTexts();
  const { t } = texts;
  const metrics = useResource(
    `metrics|${chosen.join("|")}|${tick}`,
    (s) => Promise.all(chosen.map((name) => api.metrics(name, s).catch((e): MetricLine[] => {
      if (e.status === 404) return [];  // an evaluation alone has no metrics
      throw e;
    }))),
    { keep: true },
  );
  const axis = choiceOf<Axis>(query, "x", kAxes, "step");
  const lines = metrics.data?.length === chosen.length ? metrics.data : undefined;
  const names = useMemo(() => [...new Set((lines ?? []).flatMap(metricNames))], [lines]);
  const asked = query.get("metric");
  const metric = names.find((n) => n === asked) ?? kFirstMetrics.find((n) => names.includes(n)) ?? names[0];
  const series = useMemo(
    () =>
      !lines || !metric
        ? []
        : chosen.map((name, i) => ({ name, color: i, points: points(lines[i]!, metric, axis) }))
            .filter((s) => s.points.length > 0),
    [lines, metric, axis],
  );
  return (
    <Section title={t("runs.curves")}>
      {metrics.error || !lines ? <Loaded resource={metrics}>{() => null}</Loaded> : null}
      {metric && (
        <>
          <div class="toolbar">
            <Select label={t("runs.metric")} value={metric} choices={names.map((n) => ({ value: n, label: n.replace("/", ": ") }))} onChange={(m) => setQuery({ metric: m })} />
            <Segments label={t("runs.axis")} value={axis} onChange={(x) => setQuery({ x })} choices={kAxes.map((value) => ({ value, label: texts.named("axis", value) }))} />
            <Check label={t("runs.log")} checked={query.has("log")} onChange={(on) => setQuery({ log: on ? "yes" : null })} />
          </div>
          <Curves series={series} axis={texts.named("axis", axis)} metric={metric} log={query.has("log")} label={t("runs.curves_label", { metric, runs: series.map((s) => s.name).join(", ") })} />
        </>
      )}
      {lines && !metric && <p class="notice">{t("runs.no_metrics")}</p>}
    </Section>
  );
}

function RunList({ tick, query, setQuery }: ViewProps & { tick: number }) {
  const { t } = useTexts();
  const runs = useResource(`runs|${tick}`, api.runs, { keep: true });
  const filter = query.get("filter") ?? "";
  const chosen = (query.get("runs") ?? "").split(",").filter(Boolean);
  const toggle = (name: string) => {
    const next = chosen.includes(name) ? chosen.filter((n) => n !== name) : [...chosen, name];
    setQuery({ runs: next.join(",") });
  };
  const matches = (run: Run) =>
    `${run.name} ${run.model} ${run.dataset} ${run.state}`.toLowerCase().includes(filter.toLowerCase());
  return (
    <>
      <label class="filter">
        <span>{t("runs.filter")}</span>
        <input type="search" value={filter} onInput={(e) => setQuery({ filter: e.currentTarget.value })} />
      </label>
      <Loaded resource={runs} absent={t("runs.absent")}>
        {(all) =>
          all.length === 0 ? (
            <p class="notice">{t("runs.none")}</p>
          ) : (
            <RunTable
              runs={all.filter(matches).sort((a, b) => b.modified - a.modified)}
              chosen={chosen}
              onToggle={toggle}
            />
          )
        }
      </Loaded>
      {chosen.length === 0 && runs.data && runs.data.length > 0 && <p class="notice">{t("runs.choose")}</p>}
      {chosen.length > 0 && (
        <>
          <Comparison chosen={chosen} tick={tick} query={query} setQuery={setQuery} />
          <Section title={t("runs.recipes")} about={t("runs.recipes_about")}>
            {chosen.length >= 2 ? (
              <RecipeDiff left={chosen[0]!} right={chosen[1]!} />
            ) : (
              <p class="notice">{t("runs.choose_two")}</p>
            )}
          </Section>
          <Section title={t("runs.results")}>
            <Results names={chosen} />
          </Section>
          <Confusions names={chosen} query={query} setQuery={setQuery} />
        </>
      )}
    </>
  );
}

export default function Runs(props: ViewProps) {
  const { t } = useTexts();
  const tick = useTick();
  const tab = choiceOf(props.query, "tab", kTabs, "runs");
  const Shown = tab === "runs" ? RunList : Sweeps;
  return (
    <>
      <header class="intro">
        <h1>{t("runs.title")}</h1>
        <p>{t("runs.lead", { seconds: kRefreshSeconds })}</p>
      </header>
      <Tabs label={t("view.runs")} tabs={kTabs} tab={tab} name={(name) => t(`tab.${name}`)} onChange={(to) => props.setQuery({ tab: to })}>
        <Shown {...props} tick={tick} />
      </Tabs>
    </>
  );
}
