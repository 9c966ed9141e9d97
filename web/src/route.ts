// The address: "#/view?key=value". All state that a permalink should carry is there.

import { useEffect, useState } from "preact/hooks";

export const kViews = ["explore", "guided", "sequences", "runs"] as const;
export type View = (typeof kViews)[number];

export interface Route {
  view: View;
  query: URLSearchParams;
}

export function parseRoute(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const view = kViews.find((v) => v === path) ?? "explore";
  return { view, query: new URLSearchParams(query) };
}

export function routeHash(view: View, query: URLSearchParams): string {
  const text = query.toString().replaceAll("%2C", ",");
  return `#/${view}${text ? "?" + text : ""}`;
}

/** Changes some keys; null removes one. */
export type SetQuery = (change: Record<string, string | number | null>) => void;

export function useRoute(): [Route, SetQuery] {
  const [route, setRoute] = useState(() => parseRoute(location.hash));
  useEffect(() => {
    const read = () => setRoute(parseRoute(location.hash));
    addEventListener("hashchange", read);
    return () => removeEventListener("hashchange", read);
  }, []);
  const setQuery: SetQuery = (change) => {
    // The address is read again: two changes in one event must not undo each other.
    const { view, query } = parseRoute(location.hash);
    for (const [key, value] of Object.entries(change)) {
      if (value === null || value === "") query.delete(key);
      else query.set(key, String(value));
    }
    history.replaceState(null, "", routeHash(view, query));
    setRoute({ view, query });
  };
  return [route, setQuery];
}

/** A whole number of the query, within bounds; anything else gives the default. */
export function numberOf(
  query: URLSearchParams,
  key: string,
  otherwise: number,
  low: number,
  high: number,
): number {
  const text = query.get(key);
  const value = text === null ? NaN : Number(text);
  return Number.isInteger(value) && value >= low && value <= high ? value : otherwise;
}

export function choiceOf<T extends string>(
  query: URLSearchParams,
  key: string,
  choices: readonly T[],
  otherwise: T,
): T {
  return choices.find((c) => c === query.get(key)) ?? otherwise;
}

/** "1,5,12" or "0.3,2.1": the parts that are whole numbers, or groups of them. */
export function listOf(query: URLSearchParams, key: string): number[][] {
  return (query.get(key) ?? "")
    .split(",")
    .filter((part) => /^\d+(\.\d+)*$/.test(part))
    .map((part) => part.split(".").map(Number));
}
