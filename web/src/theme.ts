// Dark or light: the system's choice until the switch is used.

export type Theme = "dark" | "light";
const kStored = "vitrine.theme";

export function initialTheme(): Theme {
  const stored = localStorage.getItem(kStored);
  if (stored === "dark" || stored === "light") {
    document.documentElement.dataset.theme = stored;
    return stored;
  }
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

export function setTheme(theme: Theme): void {
  localStorage.setItem(kStored, theme);
  document.documentElement.dataset.theme = theme;
}
