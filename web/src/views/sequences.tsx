// Sequences: a sentence, a sum, attention patterns, and images and texts while they are generated.

import { api, type Served } from "../api";
import { useTexts, type Key } from "../i18n";
import { Loaded } from "../parts/notice";
import { Tabs } from "../parts/tabs";
import { useResource } from "../resource";
import { choiceOf } from "../route";
import type { ViewProps } from "./explore";
import { Adding } from "./sequences/adding";
import { Patterns } from "./sequences/patterns";
import { Sampling } from "./sequences/sampling";
import { SentenceTab } from "./sequences/sentence";

const kTabs = ["sentence", "adder", "patterns", "sampling"] as const;

/** The keys of the address that mean something else in another tab. */
const kOfOneTab = { model: null, layer: null, head: null, word: null };

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
      <Tabs
        label={t("view.sequences")}
        tabs={kTabs}
        tab={tab}
        name={(name) => t(`tab.${name}` as Key)}
        onChange={(to) => props.setQuery({ ...kOfOneTab, tab: to })}
      >
        {tab === "patterns" ? (
          <Patterns {...props} />
        ) : (
          <Loaded resource={models}>{(all) => <Body {...props} tab={tab} models={all} />}</Loaded>
        )}
      </Tabs>
    </>
  );
}
