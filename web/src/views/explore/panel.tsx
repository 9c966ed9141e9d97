// One image seen by one model: prediction, map, heads, lens and what changes when parts are off.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Model } from "../../api";
import { kMeanHead, type Point } from "../../attention";
import { download, seenBox } from "../../draw";
import { useTexts } from "../../i18n";
import type { LoadedImage } from "../../images";
import { Bars } from "../../parts/bars";
import { Section, Segments } from "../../parts/controls";
import { LensTable } from "../../parts/lens_table";
import { ColorBar } from "../../parts/map_canvas";
import { Loaded, Problem } from "../../parts/notice";
import type { SetQuery } from "../../route";
import { HeadGrid } from "./head_grid";
import { HeadPlots } from "./head_plot";
import { PatchMap } from "./patch_map";
import { useReading } from "./reading";
import { kAllOn, pointText, toggleHead, toggleLayer, togglePatch, anyOff, type ExploreState } from "./state";
import { chosenHead, cursorGrid, kTop, useAttentionMap, usePanelData } from "./use_panel";

interface Props {
  model: Model;
  image: LoadedImage;
  state: ExploreState;
  hover: Point | undefined;
  setHover: (at: Point | undefined) => void;
  setQuery: SetQuery;
}

const kLateMilliseconds = 30;

/** The point, once the pointer rests: the map over the image comes first, a hundred thumbnails after it. */
function useLate(at: Point): Point {
  const [late, setLate] = useState(at);
  useEffect(() => {
    const timer = setTimeout(() => setLate(at), kLateMilliseconds);
    return () => clearTimeout(timer);
  }, [at?.y, at?.x]);
  return late;
}

export function Panel({ model, image, state, hover, setHover, setQuery }: Props) {
  const { t, percent, number, compact, named } = useTexts();
  const [tool, setTool] = useState<"look" | "mask">("look");
  const stage = useRef<HTMLDivElement>(null);
  const data = usePanelData(model, image, state);
  const { off } = data;
  const attention = data.attention.data;
  const at = hover === undefined ? state.at : hover;
  const shown = useAttentionMap(attention, state, at);
  const late = useLate(at);
  const reading = useReading(attention, state, at, shown);
  const box = useMemo(
    () => seenBox(image.bitmap.width, image.bitmap.height, model.image, model.resize, model.stretch),
    [image, model],
  );
  // Why it has none is said where its heads would be.
  const refused = [400, 404].includes(data.attention.error?.status ?? 0);
  const canSwitch = data.changed.error?.status !== 404;
  const chosen = attention && chosenHead(attention, state);
  const grid = chosen ? cursorGrid(chosen.layer, state) : { rows: 1, columns: 1, prefix: 0 };
  const maskGrid = attention?.layers[0]?.queries ?? grid;
  const attending = state.map === "attention";
  const explained = data.explained.data;
  const overlay = data.method
    ? explained
      ? { rows: explained.grid[0], columns: explained.grid[1], values: explained.values }
      : null
    : attending
      ? shown.cells
      : null;

  const open = (layer: number, head: number) =>
    setQuery({ layer, head: head === kMeanHead ? null : head, map: null });
  // The same element is not compared again: hovering must not cost hundreds of dots.
  const plots = useMemo(
    () =>
      attention && (
        <HeadPlots attention={attention} image={model.image} chosen={[chosen!.index, chosen!.head]} onOpen={open} />
      ),
    [attention, chosen?.index, chosen?.head],
  );
  const mask = (point: NonNullable<Point>) =>
    setQuery(togglePatch(state.off, point, maskGrid));

  const file = `vitrine-${model.name}-${image.key}`;
  const savePng = () =>
    stage.current!.querySelector("canvas")!.toBlob((blob) => blob && download(`${file}.png`, blob));
  const saveJson = () => {
    const content = {
      model: model.name,
      image: image.key,
      address: location.href,
      predictions: data.classified.data?.predictions.slice(0, kTop),
      switched_off: anyOff(off) ? off : undefined,
      predictions_switched_off: data.changed.data?.predictions,
      map: data.method ?? state.map,
      ...(data.method
        ? { class: explained?.class }
        : { layer: chosen?.index, head: state.head === kMeanHead ? "mean" : chosen?.head, direction: state.direction, at: state.at ?? "class token" }),
      grid: overlay && [overlay.rows, overlay.columns],
      values: overlay && Array.from(overlay.values, (v) => Number(v.toPrecision(5))),
    };
    const text = JSON.stringify(content, null, 2);
    download(`${file}.json`, new Blob([text], { type: "application/json" }));
  };

  return (
    <article class="panel" aria-label={`${model.name}, ${image.key}`}>
      <div class="stage" ref={stage}>
        <PatchMap
          bitmap={image.bitmap}
          box={box}
          overlay={overlay}
          top={data.method ? 1 : shown.top}
          opacity={state.opacity}
          grid={grid}
          cursor={at}
          masked={{ rows: off.grid![0], columns: off.grid![1], patches: off.patches }}
          label={t("explore.map_label")}
          described={t("explore.map_keys")}
          masking={tool === "mask"}
          onHover={setHover}
          onPick={(point) => setQuery({ at: pointText(point) })}
          onMask={mask}
        />
        {data.method ? (
          <ColorBar low="0" high={t("explore.greatest")} />
        ) : (
          attending && attention && <ColorBar low="0" high={percent(shown.top)} />
        )}
        {!data.method && !attending && state.map !== "none" && (
          <p class="notice">{t("explore.no_method", { model: model.name, method: named("map", state.map) })}</p>
        )}
        {attending && data.attention.error && !refused && <Problem error={data.attention.error} />}
        {attending && refused && <p class="notice">{t("explore.no_attention")}</p>}
        <Loaded resource={data.method ? data.explained : { loading: false }} absent={t("explore.no_explain")}>
          {(e) => <p class="reading">{t("explore.explained", { label: e.class.label })}</p>}
        </Loaded>
        {attending && (
          <p class="reading" aria-live={hover === undefined ? "polite" : "off"}>
            {reading}
          </p>
        )}
        <div class="actions">
          {attention && (
            <>
              <button type="button" onClick={() => setQuery({ at: null })} aria-pressed={state.at === null}>
                {t(grid.prefix ? "explore.class_token" : "explore.mean_query")}
              </button>
              <button type="button" onClick={() => setQuery({ head: null, map: null })} aria-pressed={state.head === kMeanHead}>
                {t("explore.mean_heads")}
              </button>
            </>
          )}
          <button type="button" aria-label={t("explore.png")} title={t("explore.png")} onClick={savePng}>PNG</button>
          <button type="button" aria-label={t("explore.json")} title={t("explore.json")} onClick={saveJson}>JSON</button>
        </div>
        {canSwitch && attention && (
          <Segments
            label={t("explore.tool")}
            value={tool}
            onChange={setTool}
            choices={[
              { value: "look", label: t("explore.tool_look") },
              { value: "mask", label: t("explore.tool_mask") },
            ]}
          />
        )}
      </div>

      <Section class="answer" title={t("explore.prediction")}>
        <Loaded resource={data.classified}>
          {(c) => (
            <>
              {anyOff(off) && canSwitch && data.changed.data ? (
                <Bars predictions={data.changed.data.predictions} before={c.predictions} />
              ) : (
                <Bars
                  predictions={c.predictions.slice(0, kTop)}
                  chosen={state.target ?? c.predictions[0]?.index}
                  choosing={(label) => t("explore.explain_class", { label })}
                  onChoose={(index) => setQuery({ class: index === c.predictions[0]?.index ? null : index })}
                />
              )}
              <p class="about">
                {t("explore.time", { ms: number(c.milliseconds, 1), n: compact(model.parameters) })}
              </p>
            </>
          )}
        </Loaded>
        {anyOff(off) && (
          <div class="switched">
            {data.changed.error && canSwitch && <Problem error={data.changed.error} />}
            <p>
              {canSwitch
                ? t("explore.switched", {
                    heads: off.heads.length,
                    layers: off.layers.length,
                    patches: off.patches.length,
                  })
                : t("explore.no_ablate")}
            </p>
            <button type="button" onClick={() => setQuery(kAllOn)}>{t("explore.all_on")}</button>
          </div>
        )}
      </Section>

      <Section class="allheads" title={t("explore.heads")} about={attention && t("explore.heads_about")}>
        <Loaded resource={data.attention} absent={t("explore.no_attention")}>
          {(a) => (
            <HeadGrid
              attention={a}
              at={late}
              direction={state.direction}
              layer={chosen!.index}
              head={chosen!.head}
              off={off}
              canSwitch={canSwitch}
              onOpen={open}
              onToggleHead={(l, h) => setQuery(toggleHead(state.off, l, h))}
              onToggleLayer={(l) => setQuery(toggleLayer(state.off, l))}
            />
          )}
        </Loaded>
      </Section>

      {attention && (
        <Section class="numbers" title={t("explore.numbers")} about={t("explore.numbers_about")}>
          {plots}
        </Section>
      )}
      <Section class="lenspart" title={t("lens.title")} about={t("lens.about")}>
        <Loaded resource={data.lens} absent={t("lens.absent")}>
          {(lens) => <LensTable lens={lens} chosen={state.target} />}
        </Loaded>
      </Section>
    </article>
  );
}
