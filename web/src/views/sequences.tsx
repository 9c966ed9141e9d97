// Sequences: a sentence, a sum, attention patterns, and images and texts while they are generated.

import { useRef } from "preact/hooks";
import { api, type Served } from "../api";
import { useTexts, type Key } from "../i18n";
import { Loaded } from "../parts/notice";
import { useResource } from "../resource";
import { choiceOf } from "../route";
import type { ViewProps } from "./explore";
import { Adding } from "./sequences/adding";
import { Patterns } from "./sequences/patterns";
import { Sampling } from "./sequences/sampling";
import { SentenceTab } from "./sequences/sentence";

const kTabs = ["sentence", "adder", "patterns", "sampling"] as const;
type Tab = (typeof kTabs)[number];

/** The keys of the address that mean something else in another tab. */
const kOfOneTab = { model: null, layer: null, head: null, word: null };

function Tabs({ tab, onChange }: { tab: Tab; onChange: (tab: Tab) => void }) {
  const { t } = useTexts();
  const list = useRef<HTMLDivElement>(null);
  const onKey = (event: KeyboardEvent) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!step) return;
    event.preventDefault();
    const next = (kTabs.indexOf(tab) + step + kTabs.length) % kTabs.length;
    onChange(kTabs[next]!);
    list.current!.querySelectorAll<HTMLElement>("[role=tab]")[next]!.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label={t("view.sequences")} ref={list} onKeyDown={onKey}>
      {kTabs.map((name) => (
        <button
          type="button"
          key={name}
          role="tab"
          id={`tab-${name}`}
          aria-selected={name === tab}
          aria-controls="tab-panel"
          tabIndex={name === tab ? 0 : -1}
          onClick={() => onChange(name)}
        >
          {t(`tab.${name}` as Key)}
        </button>
      ))}
    </div>
  );
}

/** The tabs that need a model. */
const kBodies = { sentence: SentenceTab, adder: Adding, sampling: Sampling };

function Body({ tab, models, ...props }: ViewProps & { tab: keyof typeof kBodies; models: Served[] }) {
  const Content = kBodies[tab];
  return <Content {...props} models={models} />;
}

export default function Sequences(props: ViewProps) {
  const { t } = useTexts();
  const models = useResource("models", api.models);
  const tab = choiceOf(props.query, "tab", kTabs, "sentence");
  return (
    <>
      <header class="intro">
        <h1>{t("sequences.title")}</h1>
        <p>{t("sequences.lead")}</p>
      </header>
      <Tabs tab={tab} onChange={(to) => to !== tab && props.setQuery({ ...kOfOneTab, tab: to })} />
      <div class="tab" role="tabpanel" id="tab-panel" aria-labelledby={`tab-${tab}`} key={tab}>
        {tab === "patterns" ? (
          <Patterns {...props} />
        ) : (
          <Loaded resource={models}>{(all) => <Body {...props} tab={tab} models={all} />}</Loaded>
        )}
      </div>
    </>
  );
}
