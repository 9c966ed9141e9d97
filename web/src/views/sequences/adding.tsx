// Two numbers, added by a network that was trained on sums: its answer, its doubts, and where its digits look.

import { addersOf, api, type Served, type Sum } from "../../api";
import { useTexts, type Texts } from "../../i18n";
import { NumberField, Section, Select } from "../../parts/controls";
import { NeedsModel } from "../../parts/needs_model";
import { Loaded } from "../../parts/notice";
import { ColorBar } from "../../parts/map_canvas";
import { WeightTable } from "../../parts/weight_table";
import { useResource } from "../../resource";
import { numberOf } from "../../route";
import { modelOf, type ViewProps } from "../explore";
import { AttentionView } from "./attention_view";

const kMost = 99;
const kPlaces = ["hundreds", "tens", "units"] as const;

const digitsOf = (value: number, count: number) => [...String(value).padStart(count, "0")].map(Number);

/** Written addition: the two columns, what they make, and what they carry. */
export function columnsOf(a: number, b: number) {
  const units = { a: a % 10, b: b % 10, carried: 0, sum: (a % 10) + (b % 10) };
  const carried = units.sum >= 10 ? 1 : 0;
  const [tensA, tensB] = [Math.floor(a / 10), Math.floor(b / 10)];
  return { units, tens: { a: tensA, b: tensB, carried, sum: tensA + tensB + carried } };
}

/** The sum as one computes it by hand, in sentences. */
export function explained({ t }: Pick<Texts, "t">, a: number, b: number): string[] {
  const { units, tens } = columnsOf(a, b);
  const carry = (sum: number) => t(sum >= 10 ? "adder.carry" : "adder.no_carry", { digit: sum % 10 });
  return [
    t("adder.units_sum", units) + carry(units.sum),
    t(tens.carried ? "adder.tens_carried" : "adder.tens_sum", tens) + carry(tens.sum),
  ];
}

/** The weight that the units of the two numbers give each other: tokens 1 and 3. */
export const looksAcross = (weights: number[][]): number => (weights[1]![3]! + weights[3]![1]!) / 2;
/** The weight that the tens, tokens 0 and 2, give to both units. */
export const tensAtUnits = (weights: number[][]): number =>
  (weights[0]![1]! + weights[0]![3]! + weights[2]![1]! + weights[2]![3]!) / 2;

/** The sum in columns, carries above, wrong digits of the answer marked. */
function Written({ sum }: { sum: Sum }) {
  const { t } = useTexts();
  const { units, tens } = columnsOf(sum.a, sum.b);
  const right = digitsOf(sum.expected, 3);
  const said = digitsOf(sum.sum, 3);
  const hidden = (digits: number[], i: number) => i === 0 && digits[0] === 0;
  return (
    <div class="written" aria-hidden="true">
      <span class="carry">{tens.sum >= 10 && "1"}</span>
      <span class="carry">{units.sum >= 10 && "1"}</span>
      <span />
      <span />
      {digitsOf(sum.a, 2).map((digit, i) => <span key={`a${i}`}>{digit}</span>)}
      <span class="plus">+</span>
      {digitsOf(sum.b, 2).map((digit, i) => <span key={`b${i}`}>{digit}</span>)}
      <hr />
      {said.map((digit, i) => (
        <span key={`s${i}`} class={digit === right[i] ? "right" : "wrong"} title={t(`place.${kPlaces[i]!}`)}>
          {hidden(said, i) && hidden(right, i) ? "" : digit}
        </span>
      ))}
    </div>
  );
}

function Answer({ sum, ...props }: ViewProps & { sum: Sum }) {
  const texts = useTexts();
  const { t, percent } = texts;
  const right = sum.sum === sum.expected;
  const places = kPlaces.slice(-sum.digits.length).map((place) => t(`place.${place}`));
  const note = (i: number) => t(i % 2 ? "place.units" : "place.tens");
  return (
    <>
      <div class="sum">
        <Written sum={sum} />
        <div class="verdict">
          <p class="figure-number">
            <strong data-testid="sum">{`${sum.a} + ${sum.b} = ${sum.sum}`}</strong>
            <span class={right ? "badge right" : "badge wrong"}>
              {right ? t("adder.right") : t("adder.wrong", { expected: sum.expected })}
            </span>
            <span>{t("adder.probability", { probability: percent(sum.probability) })}</span>
          </p>
          <h2>{t("adder.by_hand")}</h2>
          <ol>
            {explained(texts, sum.a, sum.b).map((line) => <li key={line}>{line}</li>)}
          </ol>
        </div>
      </div>
      <Section title={t("adder.digits")} about={t("adder.digits_about")}>
        <div class="matrixpart digits">
          <WeightTable
            caption={t("adder.digits_caption")}
            rows={places.map((text) => ({ text }))}
            columns={Array.from({ length: 10 }, (_, d) => ({ text: String(d) }))}
            rowAxis={t("adder.place")}
            columnAxis={t("adder.digit")}
            values={sum.digits.map((d) => d.probabilities)}
            top={1}
          />
          <ColorBar low="0" high={percent(1, 0)} />
        </div>
      </Section>
      {sum.layers.length ? (
        <AttentionView
          {...props}
          about={t("adder.about")}
          tokens={sum.tokens.map((text, i) => ({ text, note: note(i) }))}
          layers={sum.layers}
          causal={false}
          remark={(weights) => t("adder.look", { across: percent(looksAcross(weights)), tens: percent(tensAtUnits(weights)) })}
        />
      ) : (
        <p class="notice">{t("adder.no_attention")}</p>
      )}
    </>
  );
}

export function Adding({ models, ...props }: ViewProps & { models: Served[] }) {
  const { t } = useTexts();
  const { query, setQuery } = props;
  const adders = addersOf(models);
  const model = modelOf(adders, query.get("model"));
  const a = numberOf(query, "a", 57, 0, kMost);
  const b = numberOf(query, "b", 68, 0, kMost);
  const sum = useResource(model ? `add|${model.name}|${a}|${b}` : null, (s) => api.add(model!.name, a, b, s), { keep: true, delay: 60 });
  if (!model) return <NeedsModel about={t("adder.none")} recipe="addition-transformer.yaml" />;
  const any = () => Math.floor(Math.random() * (kMost + 1));
  return (
    <>
      <p class="lead">{t("adder.lead")}</p>
      <div class="toolbar">
        <NumberField label={t("adder.first")} value={a} min={0} max={kMost} onChange={(value) => setQuery({ a: value })} />
        <NumberField label={t("adder.second")} value={b} min={0} max={kMost} onChange={(value) => setQuery({ b: value })} />
        <button type="button" onClick={() => setQuery({ a: any(), b: any() })}>{t("adder.random")}</button>
        {adders.length > 1 && (
          <Select label={t("model")} value={model.name} choices={adders.map((m) => ({ value: m.name, label: m.name }))} onChange={(name) => setQuery({ model: name })} />
        )}
      </div>
      <Loaded resource={sum} absent={t("adder.absent")}>
        {(answer) => <Answer {...props} sum={answer} />}
      </Loaded>
    </>
  );
}
