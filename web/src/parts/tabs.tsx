// Tabs of a view; the arrow keys move between them.

import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";

export function Tabs<T extends string>(props: {
  label: string;
  tabs: readonly T[];
  tab: T;
  name: (tab: T) => string;
  onChange: (tab: T) => void;
  /** What the chosen tab shows. */
  children: ComponentChildren;
}) {
  const { tabs, tab } = props;
  const list = useRef<HTMLDivElement>(null);
  const onKey = (event: KeyboardEvent) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!step) return;
    event.preventDefault();
    const next = (tabs.indexOf(tab) + step + tabs.length) % tabs.length;
    props.onChange(tabs[next]!);
    list.current!.querySelectorAll<HTMLElement>("[role=tab]")[next]!.focus();
  };
  return (
    <>
      <div class="tabs" role="tablist" aria-label={props.label} ref={list} onKeyDown={onKey}>
        {tabs.map((name) => (
          <button
            type="button"
            key={name}
            role="tab"
            id={`tab-${name}`}
            aria-selected={name === tab}
            aria-controls="tab-panel"
            tabIndex={name === tab ? 0 : -1}
            onClick={() => name !== tab && props.onChange(name)}
          >
            {props.name(name)}
          </button>
        ))}
      </div>
      <div class="tab" role="tabpanel" id="tab-panel" aria-labelledby={`tab-${tab}`} key={tab}>
        {props.children}
      </div>
    </>
  );
}
