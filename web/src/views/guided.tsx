// How it works: from patches to logits, with the real numbers of one image. Only what the API gives is shown.

import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { api, classifiersOf, type HeadVectors, type Model } from "../api";
import { attentionMap, tokenAt, type Attention } from "../attention";
import { greatest, seenBox } from "../draw";
import type { LoadedImage } from "../images";
import { useTexts, type Key } from "../i18n";
import { Select } from "../parts/controls";
import { ImageInput } from "../parts/image_input";
import { LensTable } from "../parts/lens_table";
import { Loaded } from "../parts/notice";
import { useResource } from "../resource";
import { choiceOf } from "../route";
import { kFirstImage, modelOf, useImage, type ViewProps } from "./explore";
import { PatchMap } from "./explore/patch_map";
import { exploreState, pointText, type ExploreState } from "./explore/state";
import { chosenHead } from "./explore/use_panel";
import { HeadsOfLayer, LayersOfNetwork, LogitTable, SoftmaxRow, Tokens } from "./guided/figures";
import { VectorsOfHead } from "./guided/vectors";

const kSteps = ["patches", "vectors", "softmax", "heads", "layers", "lens", "logits"] as const;
type Step = (typeof kSteps)[number];

/** The middle of the image, until a patch is chosen. */
const kMiddle = { y: 0.501, x: 0.501 };

/** The walk follows one head, never the mean of heads. */
const oneHead = (attention: Attention, state: ExploreState) =>
  chosenHead(attention, { ...state, head: Math.max(0, state.head) });

/** Query, keys and values of the chosen head and patch; an error where the network has none to give. */
function useVectors(
  subject: { model: Model; image: LoadedImage } | null,
  attention: Attention | undefined,
  state: ExploreState,
) {
  const chosen = subject && attention && oneHead(attention, state);
  const token = chosen ? tokenAt(chosen.layer.queries, state.at ?? kMiddle) : 0;
  const key = chosen && ["head", subject.model.name, subject.image.key, chosen.index, chosen.head, token].join("|");
  return useResource(
    key || null,
    (s) => api.head(subject!.model.name, subject!.image.blob, chosen!.index, chosen!.head, token, s),
    { keep: true, delay: 60 },
  );
}

function StepList({ steps, step, go }: { steps: Step[]; step: Step; go: (step: Step) => void }) {
  const { t } = useTexts();
  return (
    <ol class="steps">
      {steps.map((name) => (
        <li key={name}>
          <button type="button" aria-current={name === step ? "step" : undefined} onClick={() => go(name)}>
            {t(`guided.${name}` as Key)}
          </button>
        </li>
      ))}
    </ol>
  );
}

function Figure(props: ViewProps & {
  name: Step;
  model: Model;
  image: LoadedImage;
  state: ExploreState;
  attention: Attention;
  vectors: HeadVectors | undefined;
}) {
  const { t } = useTexts();
  const { name, model, image, state, attention, vectors, setQuery } = props;
  const chosen = oneHead(attention, state);
  const at = state.at ?? kMiddle;
  const box = useMemo(
    () => seenBox(image.bitmap.width, image.bitmap.height, model.image, model.resize, model.stretch),
    [image, model],
  );
  const lens = useResource(name === "lens" ? `lens|${model.name}|${image.key}` : null, (s) =>
    api.lens(model.name, image.blob, s),
  );
  const subject = { attention, model, index: chosen.index, layer: chosen.layer, head: chosen.head, at };
  const row = attentionMap(attention, chosen.layer, chosen.head, at, "from");
  const picker = (
    <PatchMap
      bitmap={image.bitmap}
      box={box}
      overlay={row}
      top={greatest(row.values)}
      opacity={name === "softmax" || name === "vectors" ? state.opacity : 0}
      grid={chosen.layer.queries}
      cursor={at}
      masked={{ rows: 1, columns: 1, patches: [] }}
      label={t("explore.map_label")}
      described={t("explore.map_keys")}
      masking={false}
      onHover={() => {}}
      onPick={(point) => setQuery({ at: pointText(point) })}
      onMask={() => {}}
    />
  );
  const headSelects = (
    <div class="toolbar">
      <Select label={t("layer_axis")} value={chosen.index} choices={attention.layers.map((_, value) => ({ value, label: `${value + 1}` }))} onChange={(layer) => setQuery({ layer })} />
      {name !== "layers" && (
        <Select label={t("head_axis")} value={chosen.head} choices={chosen.layer.scale.map((_, value) => ({ value, label: `${value + 1}` }))} onChange={(head) => setQuery({ head })} />
      )}
    </div>
  );
  const figures: Record<Step, () => ComponentChildren> = {
    patches: () => <Tokens {...subject} image={image} box={box} />,
    vectors: () => (
      <>
        {headSelects}
        <div class="pair">
          {picker}
          {vectors && <VectorsOfHead vectors={vectors} keys={chosen.layer.keys} />}
        </div>
      </>
    ),
    softmax: () => (
      <>
        {headSelects}
        <div class="pair">
          {picker}
          <SoftmaxRow {...subject} />
        </div>
      </>
    ),
    heads: () => (
      <>
        {headSelects}
        <div class="pair">
          {picker}
          <HeadsOfLayer {...subject} onOpen={(head) => setQuery({ head })} />
        </div>
      </>
    ),
    layers: () => <LayersOfNetwork {...subject} onOpen={(layer) => setQuery({ layer })} />,
    lens: () => (
      <Loaded resource={lens} absent={t("lens.absent")}>
        {(data) => <LensTable lens={data} />}
      </Loaded>
    ),
    logits: () => <LogitTable predictions={attention.predictions} classes={model.classes} />,
  };
  return <>{figures[name]()}</>;
}

export default function Guided(props: ViewProps) {
  const { t, number } = useTexts();
  const { query, setQuery } = props;
  const models = useResource("models", api.models);
  const imageKey = query.get("image") ?? kFirstImage;
  const image = useImage(imageKey);
  const model = modelOf(classifiersOf(models.data ?? []), query.get("model"));
  const ready = model && typeof image === "object" ? { model, image } : null;
  const attention = useResource(ready && `attention|${ready.model.name}|${imageKey}`, (s, progress) =>
    api.attention(ready!.model.name, ready!.image.blob, s, progress),
  );
  const state = exploreState(query);
  const vectors = useVectors(ready, attention.data, state);
  const steps = kSteps.filter((s) => s !== "vectors" || (vectors.data && !vectors.error));
  const name = choiceOf(query, "step", steps, "patches");
  const step = steps.indexOf(name);
  const go = (to: Step) => setQuery({ step: to });
  const values = (a: Attention) => {
    const { layer, index } = chosenHead(a, state);
    const { rows, columns, prefix } = a.layers[0]!.queries;
    const pixels = Math.round(model!.image / rows);
    return {
      image: model!.image, rows, columns, prefix, pixels,
      patches: rows * columns,
      tokens: prefix + rows * columns,
      numbers: number(pixels * pixels * 3),
      layers: a.layers.length,
      layer: index + 1,
      heads: layer.heads,
      classes: number(model!.classes),
    };
  };
  return (
    <>
      <header class="intro">
        <h1>{t("guided.title")}</h1>
        <p>{t("guided.lead")}</p>
      </header>
      <Loaded resource={models}>
        {(all) => (
          <div class="subject">
            <ImageInput chosen={imageKey} pastes onChoose={(key) => setQuery({ image: key })} />
            {model && (
              <Select label={t("model")} value={model.name} choices={classifiersOf(all).map((m) => ({ value: m.name, label: m.name }))} onChange={(value) => setQuery({ model: value })} />
            )}
          </div>
        )}
      </Loaded>
      {models.data && !model && <p class="notice">{t("explore.no_models")}</p>}
      {image === "missing" && <p class="notice problem" role="alert">{t("image.missing")}</p>}
      <div class="walk">
        <StepList steps={steps} step={name} go={go} />
        <section class="step" aria-labelledby="step-title">
          <h2 id="step-title">
            <span class="ordinal">{step + 1}</span> {t(`guided.${name}` as Key)}
          </h2>
          <Loaded resource={attention} absent={t("explore.no_attention")}>
            {(a) => (
              <>
                <p class="prose">{t(`guided.${name}_text` as Key, values(a))}</p>
                {ready && <Figure {...props} {...ready} name={name} state={state} attention={a} vectors={vectors.data} />}
              </>
            )}
          </Loaded>
          <div class="actions">
            <button type="button" disabled={step === 0} onClick={() => go(steps[step - 1]!)}>{t("guided.back")}</button>
            <button type="button" class="primary" disabled={step === steps.length - 1} onClick={() => go(steps[step + 1]!)}>{t("guided.next")}</button>
          </div>
        </section>
      </div>
      <p class="about">
        {t("guided.honest")} {vectors.error && t("guided.no_vectors")}
      </p>
    </>
  );
}
