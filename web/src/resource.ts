// Something that is loaded from the server: its data, its error, or neither yet.

import { createContext } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";
import { ApiError, type Progress } from "./api";

export interface Resource<T> {
  data?: T;
  error?: ApiError;
  loading: boolean;
  /** Of a large answer: the bytes that have come, and all of them if that is known. */
  loaded?: { bytes: number; total?: number };
}

/** What resources share: `version` grows when all have to be loaded again, `askToken` at a 401. */
export const SessionContext = createContext({ version: 0, askToken: () => {} });

const kRetries = 5;

/** Answers below this size come too quickly to be worth a line about them. */
const kLargeBytes = 4e6;
/** How much has to come before it is said again. */
const kSaidBytes = 5e5;

/** Loads when `key` changes (null: nothing to load) and forgets answers that come too late. A busy
 * server (503) is asked again when it says so. While loading the data before it stay, if `keep`. */
export function useResource<T>(
  key: string | null,
  load: (signal: AbortSignal, progress: Progress) => Promise<T>,
  { keep = false, delay = 0 } = {},
): Resource<T> {
  const session = useContext(SessionContext);
  const [state, setState] = useState<Resource<T> & { key: string | null }>({ key, loading: true });
  useEffect(() => {
    if (key === null) {
      setState({ key, loading: false });
      return;
    }
    const control = new AbortController();
    let timer: ReturnType<typeof setTimeout>;
    let retries = 0;
    let said = 0;
    const progress: Progress = (bytes, total) => {
      if ((total ?? bytes) < kLargeBytes || bytes < said + kSaidBytes || control.signal.aborted) return;
      said = bytes;
      setState((old) => ({ ...old, loaded: { bytes, total } }));
    };
    const attempt = () => {
      load(control.signal, progress).then(
        (data) => !control.signal.aborted && setState({ key, data, loading: false }),
        (reason) => {
          if (control.signal.aborted) return;
          const error = reason instanceof ApiError ? reason : new ApiError(-1, String(reason));
          if (error.status === 401) session.askToken();
          const again = error.retryAfter !== undefined && retries++ < kRetries;
          if (again) timer = setTimeout(attempt, error.retryAfter! * 1000);
          setState((old) => ({ key, data: old.data, error, loading: again }));
        },
      );
    };
    setState((old) => ({ key, data: keep ? old.data : undefined, loading: true }));
    timer = setTimeout(attempt, delay);
    return () => {
      clearTimeout(timer);
      control.abort();
    };
  }, [key, session.version]);
  // Between a new key and its effect the old data must not show as those of the new key.
  return state.key === key || keep ? state : { loading: key !== null };
}
