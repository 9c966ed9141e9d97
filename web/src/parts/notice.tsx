// What a resource says while it has no data.

import type { ComponentChildren } from "preact";
import type { ApiError } from "../api";
import { useTexts, type Texts } from "../i18n";
import type { Resource } from "../resource";

export function errorText({ t }: Texts, error: ApiError): string {
  switch (error.status) {
    case 0:
      return t("error.unreachable");
    case 401:
      return t("error.token");
    case 404:
      return t("error.missing");
    case 503:
      return t("error.busy", { seconds: error.retryAfter ?? 1 });
    default:
      return t("error.server", { text: error.message });
  }
}

export function Problem({ error }: { error: ApiError }) {
  const texts = useTexts();
  return (
    <p class="notice problem" role="alert">
      {errorText(texts, error)}
    </p>
  );
}

/** A line that says that something is being loaded and, if it is large, how much of it is there. */
function Waiting({ loaded }: Pick<Resource<unknown>, "loaded">) {
  const { t, number } = useTexts();
  const megabytes = (bytes: number) => number(bytes / 1e6, 1, 1);
  if (!loaded) return <p class="notice waiting">{t("loading")}</p>;
  const { bytes, total } = loaded;
  return (
    <label class="notice waiting">
      {total
        ? t("loading_of", { loaded: megabytes(bytes), total: megabytes(total) })
        : t("loading_size", { loaded: megabytes(bytes) })}
      <progress value={bytes} max={total ?? bytes} />
    </label>
  );
}

/** The data once they are there; before that a line that says so, or what went wrong. */
export function Loaded<T>(props: {
  resource: Resource<T>;
  /** Said instead when the server has no such route. */
  absent?: string;
  children: (data: T) => ComponentChildren;
}) {
  const { data, error, loading, loaded } = props.resource;
  if (error?.status === 404 && props.absent) return <p class="notice">{props.absent}</p>;
  return (
    <>
      {error && <Problem error={error} />}
      {data !== undefined ? (
        <div aria-busy={loading}>{props.children(data)}</div>
      ) : (
        !error && loading && <Waiting loaded={loaded} />
      )}
    </>
  );
}
