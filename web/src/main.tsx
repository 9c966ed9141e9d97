// The page: header, language, theme, token, and the view that the address names.

import { render, type ComponentType } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { setToken } from "./api";
import { initialLanguage, LanguageContext, storeLanguage, translate, useTexts, type Language } from "./i18n";
import { SessionContext } from "./resource";
import { kViews, useRoute, type View } from "./route";
import { initialTheme, setTheme, type Theme } from "./theme";
import Explore, { type ViewProps } from "./views/explore";
import "./style.css";

/** Views beside the first are loaded when they are opened. */
const kLater: Record<Exclude<View, "explore">, () => Promise<{ default: ComponentType<ViewProps> }>> = {
  guided: () => import("./views/guided"),
  sequences: () => import("./views/sequences"),
  runs: () => import("./views/runs"),
};

function LaterView({ view, ...props }: ViewProps & { view: Exclude<View, "explore"> }) {
  const { t } = useTexts();
  const [found, setFound] = useState<{ view: View; Body: ComponentType<ViewProps> }>();
  useEffect(() => {
    let current = true;
    void kLater[view]().then((module) => current && setFound({ view, Body: module.default }));
    return () => {
      current = false;
    };
  }, [view]);
  if (found?.view !== view) return <p class="notice waiting">{t("loading")}</p>;
  return <found.Body {...props} />;
}

function TokenDialog({ open, onDone }: { open: boolean; onDone: (token: string | null) => void }) {
  const { t } = useTexts();
  const dialog = useRef<HTMLDialogElement>(null);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (open && !dialog.current!.open) dialog.current!.showModal();
  }, [open]);
  if (!open) return null;
  return (
    <dialog ref={dialog} aria-labelledby="token-title" onClose={() => onDone(null)}>
      <form
        method="dialog"
        onSubmit={(e) => {
          e.preventDefault();
          onDone(input.current!.value);
        }}
      >
        <h2 id="token-title">{t("token.title")}</h2>
        <p class="about">{t("token.about")}</p>
        <input ref={input} type="password" autocomplete="off" aria-label={t("token.title")} required />
        <div class="actions">
          <button type="button" onClick={() => onDone(null)}>{t("cancel")}</button>
          <button type="submit" class="primary">{t("token.use")}</button>
        </div>
      </form>
    </dialog>
  );
}

function Header(props: {
  view: View;
  language: Language;
  theme: Theme;
  onLanguage: (language: Language) => void;
  onTheme: (theme: Theme) => void;
}) {
  const { t } = useTexts();
  const next: Theme = props.theme === "dark" ? "light" : "dark";
  return (
    <header class="top">
      <a class="skip" href="#main" onClick={(e) => {
        e.preventDefault();
        document.getElementById("main")!.focus();
      }}>
        {t("skip")}
      </a>
      <a class="brand" href="#/explore">
        <img src="./icon.svg" alt="" width="22" height="22" />
        Vitrine
      </a>
      <nav aria-label={t("views")}>
        {kViews.map((view) => (
          <a key={view} href={`#/${view}`} aria-current={view === props.view ? "page" : undefined}>
            {t(`view.${view}`)}
          </a>
        ))}
      </nav>
      <div class="settings">
        <button
          type="button"
          lang={props.language === "en" ? "ko" : "en"}
          onClick={() => props.onLanguage(props.language === "en" ? "ko" : "en")}
        >
          {props.language === "en" ? "한국어" : "English"}
        </button>
        <button type="button" onClick={() => props.onTheme(next)}>
          {t(`theme.${next}`)}
        </button>
      </div>
    </header>
  );
}

function Page() {
  const [route, setQuery] = useRoute();
  const [language, setLanguage] = useState(initialLanguage);
  const [theme, setThemeState] = useState(initialTheme);
  const [version, setVersion] = useState(0);
  const [asking, setAsking] = useState(false);
  useEffect(() => {
    document.documentElement.lang = language;
    document.title = translate(language, "title");
  }, [language]);
  const { view, query } = route;
  const done = (token: string | null) => {
    setAsking(false);
    if (token === null) return;
    setToken(token);
    setVersion(version + 1);
  };
  return (
    <LanguageContext.Provider value={language}>
      <SessionContext.Provider value={{ version, askToken: () => setAsking(true) }}>
        <Header
          view={view}
          language={language}
          theme={theme}
          onLanguage={(to) => {
            storeLanguage(to);
            setLanguage(to);
          }}
          onTheme={(to) => {
            setTheme(to);
            setThemeState(to);
          }}
        />
        <main id="main" tabIndex={-1} class={view}>
          {view === "explore" ? (
            <Explore query={query} setQuery={setQuery} />
          ) : (
            <LaterView view={view} query={query} setQuery={setQuery} />
          )}
        </main>
        <TokenDialog open={asking} onDone={done} />
      </SessionContext.Provider>
    </LanguageContext.Provider>
  );
}

render(<Page />, document.getElementById("page")!);
