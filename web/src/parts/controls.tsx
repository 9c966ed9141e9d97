// Small controls that every view uses.

import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

interface Choice<T> {
  value: T;
  label: string;
  title?: string;
  disabled?: boolean;
}

/** Radio buttons that look like one bar. */
export function Segments<T extends string>(props: {
  label: string;
  choices: Choice<T>[];
  value: T;
  onChange: (value: T) => void;
}) {
  const name = useId();
  return (
    <fieldset class="segments">
      <legend>{props.label}</legend>
      <div>
        {props.choices.map((c) => (
          <label key={c.value} title={c.title}>
            <input
              type="radio"
              name={name}
              value={c.value}
              checked={c.value === props.value}
              disabled={c.disabled}
              onChange={() => props.onChange(c.value)}
            />
            <span>{c.label}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}

export function Slider(props: {
  label: string;
  value: number;
  min: number;
  max: number;
  step?: number;
  shown?: string;
  onChange: (value: number) => void;
}) {
  return (
    <label class="slider">
      <span>{props.label}</span>
      <input
        type="range"
        min={props.min}
        max={props.max}
        step={props.step ?? 1}
        value={props.value}
        onInput={(e) => props.onChange(Number(e.currentTarget.value))}
      />
      <output>{props.shown ?? props.value}</output>
    </label>
  );
}

/** A whole number within bounds; nothing is reported while what is typed is none. */
export function NumberField(props: {
  label: string;
  value: number;
  min: number;
  max: number;
  onChange: (value: number) => void;
}) {
  return (
    <label class="select">
      <span>{props.label}</span>
      <input
        type="number"
        inputMode="numeric"
        min={props.min}
        max={props.max}
        value={props.value}
        onInput={(e) => {
          const { value, validity } = e.currentTarget;
          if (value !== "" && validity.valid) props.onChange(Number(value));
        }}
        onBlur={(e) => (e.currentTarget.value = String(props.value))}
      />
    </label>
  );
}

export function Select<T extends string | number>(props: {
  label: string;
  value: T;
  choices: { value: T; label: string }[];
  onChange: (value: string) => void;
}) {
  return (
    <label class="select">
      <span>{props.label}</span>
      <select value={props.value} onChange={(e) => props.onChange(e.currentTarget.value)}>
        {props.choices.map((c) => (
          <option key={c.value} value={c.value}>
            {c.label}
          </option>
        ))}
      </select>
    </label>
  );
}

export function Check(props: {
  label: string;
  checked: boolean;
  onChange: (checked: boolean) => void;
}) {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={props.checked}
        onChange={(e) => props.onChange(e.currentTarget.checked)}
      />
      <span>{props.label}</span>
    </label>
  );
}

/** A part of a page under a heading, with a sentence that says what it shows. */
export function Section(props: {
  title: string;
  about?: string;
  class?: string;
  children: ComponentChildren;
}) {
  const id = useId();
  return (
    <section class={`part ${props.class ?? ""}`} aria-labelledby={id}>
      <h2 id={id}>{props.title}</h2>
      {props.about && <p class="about">{props.about}</p>}
      {props.children}
    </section>
  );
}
