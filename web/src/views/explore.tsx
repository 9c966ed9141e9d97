// Explore an image: what one model, or two, make of it.

import { useEffect, useState } from "preact/hooks";
import { api, classifiersOf, type Model } from "../api";
import type { Point } from "../attention";
import { imageOf, type LoadedImage } from "../images";
import { useTexts } from "../i18n";
import { Segments, Select, Slider } from "../parts/controls";
import { ImageInput } from "../parts/image_input";
import { Loaded } from "../parts/notice";
import { useResource } from "../resource";
import type { SetQuery } from "../route";
import { Panel } from "./explore/panel";
import { exploreState, kNoneMasked, type ExploreState } from "./explore/state";

export interface ViewProps {
  query: URLSearchParams;
  setQuery: SetQuery;
}

export const kFirstImage = "ship";

/** The image of a key; "missing" if it was one of another session. */
export function useImage(key: string): LoadedImage | "missing" | undefined {
  const [image, setImage] = useState<LoadedImage | "missing">();
  useEffect(() => {
    let current = true;
    void imageOf(key).then((found) => current && setImage(found ?? "missing"));
    return () => {
      current = false;
    };
  }, [key]);
  return typeof image === "object" && image.key !== key ? undefined : image;
}

export function modelOf<M extends { name: string }>(models: M[], name: string | null): M | undefined {
  return models.find((m) => m.name === name) ?? models[0];
}

/** A side of the comparison; the second one has keys of its own in the address. */
function Side(props: ViewProps & {
  models: Model[];
  second: boolean;
  state: ExploreState;
  hover: Point | undefined;
  setHover: (at: Point | undefined) => void;
}) {
  const { t } = useTexts();
  const { models, query, setQuery, second } = props;
  const keys = second ? { image: "image2", model: "model2" } : { image: "image", model: "model" };
  const imageKey = query.get(keys.image) ?? kFirstImage;
  const model = modelOf(models, query.get(keys.model))!;
  const image = useImage(imageKey);
  return (
    <div class="side">
      <div class="subject">
        <ImageInput
          chosen={imageKey}
          pastes={!second}
          onChoose={(key) => setQuery({ [keys.image]: key, ...kNoneMasked })}
        />
        <Select
          label={t("model")}
          value={model.name}
          choices={models.map((m) => ({ value: m.name, label: m.name }))}
          onChange={(name) => setQuery({ [keys.model]: name })}
        />
      </div>
      {image === "missing" && <p class="notice problem" role="alert">{t("image.missing")}</p>}
      {typeof image === "object" && (
        <Panel key={`${model.name}|${image.key}`} {...props} model={model} image={image} />
      )}
    </div>
  );
}

function MapControls({ models, state, query, setQuery }: ViewProps & { models: Model[]; state: ExploreState }) {
  const texts = useTexts();
  const { t } = texts;
  const model = modelOf(models, query.get("model"))!;
  const comparing = query.has("model2") || query.has("image2");
  return (
    <div class="toolbar">
      <Segments
        label={t("explore.map")}
        value={state.map}
        onChange={(map) => setQuery({ map: map === "attention" ? null : map })}
        choices={["attention", ...model.explain, "none"].map((value) => ({
          value,
          label: texts.named("map", value),
        }))}
      />
      <Segments
        label={t("explore.direction")}
        value={state.direction}
        onChange={(look) => setQuery({ look: look === "from" ? null : look })}
        choices={[
          { value: "from", label: t("explore.from"), disabled: state.map !== "attention" },
          { value: "to", label: t("explore.to"), disabled: state.map !== "attention" },
        ]}
      />
      <Slider
        label={t("explore.opacity")}
        value={state.opacity}
        min={0}
        max={100}
        shown={`${state.opacity} %`}
        onChange={(opacity) => setQuery({ opacity })}
      />
      <button
        type="button"
        class="compare"
        aria-pressed={comparing}
        onClick={() =>
          setQuery(
            comparing
              ? { model2: null, image2: null }
              : {
                  model2: models.find((m) => m !== model)?.name ?? model.name,
                  image2: query.get("image") ?? kFirstImage,
                },
          )
        }
      >
        {t("explore.compare")}
      </button>
    </div>
  );
}

export default function Explore(props: ViewProps) {
  const { t } = useTexts();
  const models = useResource("models", api.models);
  const [hover, setHover] = useState<Point | undefined>();
  const state = exploreState(props.query);
  const comparing = props.query.has("model2") || props.query.has("image2");
  return (
    <>
      <header class="intro">
        <h1>{t("explore.title")}</h1>
        <p>{t("explore.lead")}</p>
      </header>
      <Loaded resource={models}>
        {(all) => {
          const usable = classifiersOf(all);
          if (!usable.length) return <p class="notice">{t("explore.no_models")}</p>;
          const shared = { ...props, models: usable, state, hover, setHover };
          return (
            <>
              <MapControls {...shared} />
              <div class={comparing ? "sides two" : "sides"}>
                <Side {...shared} second={false} />
                {comparing && <Side {...shared} second={true} />}
              </div>
            </>
          );
        }}
      </Loaded>
    </>
  );
}
