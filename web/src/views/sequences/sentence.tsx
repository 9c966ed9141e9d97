// A sentence, read by a model that was trained to predict the next word.

import { useState } from "preact/hooks";
import { api, generatorsOf, type Sentence, type Served } from "../../api";
import { useTexts } from "../../i18n";
import { Bars } from "../../parts/bars";
import { Section, Select } from "../../parts/controls";
import { NeedsModel } from "../../parts/needs_model";
import { Loaded } from "../../parts/notice";
import { useResource } from "../../resource";
import { modelOf, type ViewProps } from "../explore";
import { AttentionView } from "./attention_view";

const kStart = "<start>";
const kEnd = "<end>";
const kShownNext = 6;

/** Sentences to begin with. The vocabulary has both languages, so both are offered. */
const kExamples = [
  "The cat sat on the mat because it was",
  "The dog chased the",
  "소년이 공을 가지고",
  "고양이가 우유를",
];

/** Whether no token looks at a later one. */
const isCausal = ({ layers }: Sentence) =>
  layers.every(({ heads }) => heads.every((rows) => rows.every((row, q) => row.every((w, k) => k <= q || w === 0))));

/** The sentence with one more word; signs of punctuation follow without a blank. */
export const extended = (text: string, word: string): string =>
  /^[.,;:!?)]$/.test(word) ? text.trimEnd() + word : `${text.trimEnd()} ${word}`.trimStart();

function TextForm({ text, onChange }: { text: string; onChange: (text: string) => void }) {
  const { t } = useTexts();
  const [typed, setTyped] = useState(text);
  return (
    <form
      class="textform"
      onSubmit={(e) => {
        e.preventDefault();
        onChange(typed.trim());
      }}
    >
      <label class="select">
        <span>{t("sentence.text")}</span>
        <input type="text" value={typed} autocomplete="off" spellcheck={false} onInput={(e) => setTyped(e.currentTarget.value)} />
      </label>
      <button type="submit" class="primary">{t("sentence.read")}</button>
    </form>
  );
}

function Answer({ sentence, text, ...props }: ViewProps & { sentence: Sentence; text: string }) {
  const { t, named } = useTexts();
  const shown = (word: string) => (word === kStart ? named("word", "start") : word === kEnd ? named("word", "end") : word);
  const next = sentence.next.slice(0, kShownNext);
  return (
    <>
      <Section title={t("sentence.next")} about={t("sentence.next_about")}>
        <Bars
          predictions={next.map(({ word, probability }, index) => ({ label: shown(word), index, probability }))}
          choosing={(label) => t("sentence.append", { word: label })}
          choosable={(index) => next[index]!.word !== kEnd}
          onChoose={(index) => props.setQuery({ text: extended(text, next[index]!.word), word: null })}
        />
      </Section>
      {sentence.layers.length ? (
        <AttentionView
          {...props}
          about={t("sentence.about")}
          tokens={sentence.tokens.map((token) => ({ text: shown(token) }))}
          layers={sentence.layers}
          causal={isCausal(sentence)}
        />
      ) : (
        <p class="notice">{t("explore.no_attention")}</p>
      )}
    </>
  );
}

export function SentenceTab({ models, ...props }: ViewProps & { models: Served[] }) {
  const { t, language } = useTexts();
  const { query, setQuery } = props;
  const readers = generatorsOf(models).filter((m) => m.unit === "words");
  const model = modelOf(readers, query.get("model"));
  const text = query.get("text") ?? kExamples[language === "ko" ? 2 : 0]!;
  const sentence = useResource(model ? `sentence|${model.name}|${text}` : null, (s) => api.sentence(model!.name, text, s));
  if (!model) return <NeedsModel about={t("sentence.none")} recipe="word-transformer.yaml" />;
  const choose = (to: string) => setQuery({ text: to, word: null });
  return (
    <>
      <p class="lead">{t("sentence.lead")}</p>
      <div class="toolbar">
        <TextForm key={text} text={text} onChange={choose} />
        {readers.length > 1 && (
          <Select label={t("model")} value={model.name} choices={readers.map((m) => ({ value: m.name, label: m.name }))} onChange={(name) => setQuery({ model: name })} />
        )}
      </div>
      <div class="actions examples" role="group" aria-label={t("sentence.examples")}>
        {kExamples.map((example) => (
          <button type="button" key={example} lang={/[가-힣]/.test(example) ? "ko" : "en"} aria-pressed={example === text} onClick={() => choose(example)}>
            {example}
          </button>
        ))}
      </div>
      {model.vocabulary && (
        <details class="vocabulary">
          <summary>{t("sentence.vocabulary", { n: model.vocabulary.length })}</summary>
          <p>{model.vocabulary.filter((word) => !/^<.*>$/.test(word)).join(" · ")}</p>
        </details>
      )}
      <Loaded resource={sentence} absent={t("sentence.absent")}>
        {(answer) => <Answer {...props} sentence={answer} text={text} />}
      </Loaded>
    </>
  );
}
