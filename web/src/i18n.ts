// Texts in English and Korean. The keys of en.json are the type: an unknown key does not compile.

import { createContext } from "preact";
import { useContext } from "preact/hooks";
import en from "./texts/en.json";
import ko from "./texts/ko.json";

export type Language = "en" | "ko";
export type Key = keyof typeof en;
export type Values = Record<string, string | number>;

const kTexts: Record<Language, Record<Key, string>> = { en, ko };
const kStored = "vitrine.language";

export const LanguageContext = createContext<Language>("en");

export function initialLanguage(): Language {
  const stored = localStorage.getItem(kStored);
  if (stored === "en" || stored === "ko") return stored;
  return navigator.language.startsWith("ko") ? "ko" : "en";
}

export function storeLanguage(language: Language): void {
  localStorage.setItem(kStored, language);
}

export function translate(language: Language, key: Key, values: Values = {}): string {
  return kTexts[language][key].replace(/\{(\w+)\}/g, (whole, name) =>
    name in values ? String(values[name]) : whole,
  );
}

export interface Texts {
  language: Language;
  t: (key: Key, values?: Values) => string;
  /** At most so many digits after the point; at least `least` of them, so that columns align. */
  number: (value: number, digits?: number, least?: number) => string;
  percent: (value: number, digits?: number) => string;
  /** 86.6M, 8657만. */
  compact: (value: number) => string;
  /** A text whose key is made of a name that the server gave; the name itself if there is none. */
  named: (prefix: string, name: string) => string;
}

const kFormats = new Map<string, Intl.NumberFormat>();

/** Making a formatter takes far longer than using it. */
function formatter(language: Language, options: Intl.NumberFormatOptions): Intl.NumberFormat {
  const key = language + JSON.stringify(options);
  const known = kFormats.get(key) ?? new Intl.NumberFormat(language, options);
  kFormats.set(key, known);
  return known;
}

function textsOf(language: Language): Texts {
  const format = (value: number, options: Intl.NumberFormatOptions) =>
    formatter(language, options).format(value);
  return {
    language,
    t: (key, values) => translate(language, key, values),
    number: (value, digits = 0, least = 0) =>
      format(value, { maximumFractionDigits: digits, minimumFractionDigits: least }),
    percent: (value, digits = 1) =>
      format(value, {
        style: "percent",
        minimumFractionDigits: digits,
        maximumFractionDigits: digits,
      }),
    compact: (value) => format(value, { notation: "compact", maximumSignificantDigits: 3 }),
    named: (prefix, name) =>
      (kTexts[language] as Record<string, string>)[`${prefix}.${name}`] ?? name,
  };
}

export const kTextsByLanguage = { en: textsOf("en"), ko: textsOf("ko") };

export function useTexts(): Texts {
  return kTextsByLanguage[useContext(LanguageContext)];
}
