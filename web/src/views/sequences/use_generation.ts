// A generation that is under way: asking for it, following its events, stopping it.

import { useContext, useEffect, useRef, useState } from "preact/hooks";
import { ApiError, type GenerationEvent } from "../../api";
import { Generation } from "../../generation";
import { SessionContext } from "../../resource";

export type Phase = "waiting" | "running" | "finished" | "stopped" | "failed";

export interface Running {
  phase: Phase;
  generation?: Generation;
  error?: ApiError;
  /** Sampled tokens of all sequences, and the seconds that they took. */
  tokens: number;
  seconds: number;
  /** Grows with every drawing. */
  version: number;
}

const kRetries = 5;

export function useGeneration() {
  const session = useContext(SessionContext);
  const [running, setRunning] = useState<Running>();
  const control = useRef<AbortController>();
  useEffect(() => () => control.current?.abort(), []);

  const stop = () => control.current?.abort();

  const start = async (ask: (signal: AbortSignal) => AsyncGenerator<GenerationEvent>) => {
    stop();
    const own = new AbortController();
    control.current = own;
    let state: Running = { phase: "waiting", tokens: 0, seconds: 0, version: 0 };
    let frame = 0;
    let began = 0;
    const show = (change: Partial<Running> = {}) => {
      cancelAnimationFrame(frame);
      frame = 0;
      state = { ...state, ...change, version: state.version + 1 };
      if (control.current === own) setRunning(state);
    };
    const follow = async () => {
      for await (const event of ask(own.signal)) {
        if (event.event === "start") {
          began = performance.now();
          show({ phase: "running", generation: new Generation(event), error: undefined });
        } else if (event.event === "tokens") {
          const { generation } = state;
          generation!.add(event);
          const { count, kept } = generation!.start;
          state.tokens = Math.max(0, generation!.done - kept) * count;
          state.seconds = (performance.now() - began) / 1000;
          // Events may come faster than a screen can show them.
          frame ||= requestAnimationFrame(() => show());
        } else {
          show({ phase: "finished", tokens: event.tokens, seconds: event.seconds });
        }
      }
    };
    show();
    for (let retries = 0; ; ++retries) {
      try {
        return await follow();
      } catch (reason) {
        if (own.signal.aborted) return show({ phase: "stopped", error: undefined });
        const error = reason instanceof ApiError ? reason : new ApiError(0, String(reason));
        if (error.status === 401) session.askToken();
        if (error.retryAfter === undefined || retries >= kRetries) return show({ phase: "failed", error });
        show({ error });
        await new Promise((done) => setTimeout(done, error.retryAfter! * 1000));
        if (own.signal.aborted) return show({ phase: "stopped", error: undefined });
      }
    }
  };
  return { running, start, stop };
}
