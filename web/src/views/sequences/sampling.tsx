// Images and texts while they are sampled, token by token, or an image while it is completed.

import { useLayoutEffect, useRef } from "preact/hooks";
import { api, generatorsOf, type Generator, type Served } from "../../api";
import type { Generation } from "../../generation";
import { cutTo, type LoadedImage } from "../../images";
import { useTexts } from "../../i18n";
import { NumberField, Segments, Select, Slider } from "../../parts/controls";
import { ImageInput } from "../../parts/image_input";
import { NeedsModel } from "../../parts/needs_model";
import { Problem } from "../../parts/notice";
import { choiceOf, numberOf } from "../../route";
import { kFirstImage, modelOf, useImage, type ViewProps } from "../explore";
import { useGeneration, type Running } from "./use_generation";

const kMostImages = 16;
const kMostTexts = 8;
const kMostSeed = 2 ** 31 - 1;

interface Settings {
  model: Generator;
  completing: boolean;
  count: number;
  /** In hundredths, as the address has it. */
  temperature: number;
  top: number;
  seed: number;
  keep: number;
  text: string;
}

function settingsOf(query: URLSearchParams, model: Generator): Settings {
  return {
    model,
    completing: model.image !== null && choiceOf(query, "mode", ["sample", "complete"], "sample") === "complete",
    count: numberOf(query, "count", model.image ? 4 : 2, 1, model.image ? kMostImages : kMostTexts),
    temperature: numberOf(query, "temperature", 100, 10, 200),
    top: numberOf(query, "top", 0, 0, 256),
    seed: numberOf(query, "seed", 1, 0, kMostSeed),
    keep: numberOf(query, "keep", 50, 0, 95),
    text: query.get("prompt") ?? "",
  };
}

function GeneratedImage({ generation, index, version }: { generation: Generation; index: number; version: number }) {
  const { t } = useTexts();
  const canvas = useRef<HTMLCanvasElement>(null);
  const { width, height } = generation.start.image!;
  useLayoutEffect(() => {
    canvas.current!.getContext("2d")!.putImageData(new ImageData(generation.images[index]!, width, height), 0, 0);
  }, [generation, index, version]);
  return <canvas ref={canvas} width={width} height={height} role="img" aria-label={t("sampling.image", { n: index + 1 })} />;
}

function Results({ running }: { running: Running }) {
  const { generation, version } = running;
  if (!generation) return null;
  const { image, count } = generation.start;
  return image ? (
    <div class={count === 1 ? "generated one" : "generated"}>
      {generation.images.map((_, i) => (
        <GeneratedImage key={i} generation={generation} index={i} version={version} />
      ))}
    </div>
  ) : (
    <ol class="texts">
      {generation.texts.map((text, i) => (
        <li key={i}>
          {text}
          {running.phase === "running" && <span class="caret" aria-hidden="true" />}
        </li>
      ))}
    </ol>
  );
}

function Status({ running }: { running: Running }) {
  const { t, number, named } = useTexts();
  const { generation, phase, tokens, seconds, error } = running;
  const rate = seconds > 0 ? tokens / seconds : 0;
  const unit = generation && named("unit", generation.start.unit);
  return (
    <div class="status">
      {error && <Problem error={error} />}
      {phase !== "failed" && (
        <p role="status">
          {t(`phase.${phase}`)}
        </p>
      )}
      {generation && (
        <>
          <progress aria-label={t("sampling.progress")} value={phase === "finished" ? generation.start.total : generation.done} max={generation.start.total} />
          <p class="reading" data-testid="rate">
            {t("sampling.rate", { done: number(generation.done), total: number(generation.start.total), unit: unit!, rate: number(rate, rate < 10 ? 1 : 0) })}
          </p>
        </>
      )}
    </div>
  );
}

function Controls({ settings, imageKey, query, setQuery }: ViewProps & { settings: Settings; imageKey: string }) {
  const { t, number, percent } = useTexts();
  const { model } = settings;
  return (
    <>
      {model.image && (
        <Segments
          label={t("sampling.mode")}
          value={settings.completing ? "complete" : "sample"}
          onChange={(mode) => setQuery({ mode: mode === "sample" ? null : mode })}
          choices={[
            { value: "sample", label: t("sampling.mode_sample") },
            { value: "complete", label: t("sampling.mode_complete") },
          ]}
        />
      )}
      {settings.completing && (
        <>
          <ImageInput chosen={imageKey} pastes onChoose={(image) => setQuery({ image })} />
          <Slider label={t("sampling.keep")} value={settings.keep} min={0} max={95} step={5} shown={percent(settings.keep / 100, 0)} onChange={(keep) => setQuery({ keep })} />
        </>
      )}
      {!model.image && (
        <label class="select prompt">
          <span>{t("sampling.prompt")}</span>
          <input type="text" value={query.get("prompt") ?? ""} autocomplete="off" onInput={(e) => setQuery({ prompt: e.currentTarget.value })} />
        </label>
      )}
      <Slider label={t("sampling.count")} value={settings.count} min={1} max={model.image ? kMostImages : kMostTexts} onChange={(count) => setQuery({ count })} />
      <Slider label={t("sampling.temperature")} value={settings.temperature} min={10} max={200} step={5} shown={number(settings.temperature / 100, 2, 2)} onChange={(temperature) => setQuery({ temperature })} />
      <Slider label={t("sampling.top")} value={settings.top} min={0} max={256} shown={settings.top ? String(settings.top) : t("sampling.all")} onChange={(top) => setQuery({ top: top || null })} />
      <NumberField label={t("sampling.seed")} value={settings.seed} min={0} max={kMostSeed} onChange={(seed) => setQuery({ seed })} />
    </>
  );
}

async function* asked(settings: Settings, image: LoadedImage | undefined, signal: AbortSignal) {
  const { model, count, temperature, top, seed, text } = settings;
  const options = { model: model.name, count, temperature: temperature / 100, top_k: top, seed };
  if (settings.completing) {
    const cut = await cutTo(image!, model.image!.width, model.image!.height);
    yield* api.complete(options, cut, settings.keep / 100, signal);
  } else {
    yield* api.sample(options, model.image ? undefined : text, signal);
  }
}

function Sampler({ model, generators, ...props }: ViewProps & { model: Generator; generators: Generator[] }) {
  const { t, number, named } = useTexts();
  const { query, setQuery } = props;
  const settings = settingsOf(query, model);
  const imageKey = query.get("image") ?? kFirstImage;
  const image = useImage(imageKey);
  const { running, start, stop } = useGeneration();
  const busy = running?.phase === "waiting" || running?.phase === "running";
  const ready = !settings.completing || typeof image === "object";
  return (
    <div class="columns">
      <div class="controls">
        <Select label={t("model")} value={model.name} choices={generators.map((m) => ({ value: m.name, label: m.name }))} onChange={(name) => setQuery({ model: name, count: null })} />
        <p class="about">
          {model.image
            ? t("sampling.of_images", { width: model.image.width, height: model.image.height, tokens: number(model.context), unit: named("unit", model.unit) })
            : t("sampling.of_texts", { tokens: number(model.context), unit: named("unit", model.unit) })}
        </p>
        <Controls {...props} settings={settings} imageKey={imageKey} />
        {settings.completing && image === "missing" && <p class="notice problem" role="alert">{t("image.missing")}</p>}
        <div class="actions">
          <button type="button" class="primary" disabled={busy || !ready} onClick={() => void start((signal) => asked(settings, typeof image === "object" ? image : undefined, signal))}>
            {t("sampling.start")}
          </button>
          <button type="button" disabled={!busy} onClick={stop}>{t("sampling.stop")}</button>
        </div>
      </div>
      <div class="outcome">
        {running ? (
          <>
            <Status running={running} />
            <Results running={running} />
          </>
        ) : (
          <p class="notice">{t("sampling.idle")}</p>
        )}
      </div>
    </div>
  );
}

export function Sampling({ models, ...props }: ViewProps & { models: Served[] }) {
  const { t } = useTexts();
  const generators = generatorsOf(models);
  const model = modelOf(generators, props.query.get("model"));
  if (!model) return <NeedsModel about={t("sampling.none")} recipe="sparse-tiny.yaml" />;
  return (
    <>
      <p class="lead">{t("sampling.lead")}</p>
      <Sampler key={model.name} {...props} model={model} generators={generators} />
    </>
  );
}
