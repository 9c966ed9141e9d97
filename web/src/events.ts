// Server-sent events read from the body of an answer: EventSource can only ask with GET.

export interface ServerEvent {
  event: string;
  data: string;
}

/** The event of the lines between two blank ones; undefined where they are comments alone. */
function eventOf(lines: string[]): ServerEvent | undefined {
  let event = "message";
  const data: string[] = [];
  for (const line of lines) {
    const [, field, value] = /^([^:]*)(?:: ?(.*))?$/s.exec(line)!;
    if (field === "event") event = value ?? "";
    else if (field === "data") data.push(value ?? "");
  }
  return data.length ? { event, data: data.join("\n") } : undefined;
}

/** Every event as soon as it is whole, however the network cuts the bytes. An event without its
 * blank line is dropped, as the standard says. */
export async function* serverEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  let lines: string[] = [];
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      const pieces = (rest + decoder.decode(part.value, { stream: true })).split("\n");
      rest = pieces.pop()!;
      for (const piece of pieces) {
        const line = piece.replace(/\r$/, "");
        if (line !== "") {
          lines.push(line);
          continue;
        }
        const event = eventOf(lines);
        lines = [];
        if (event) yield event;
      }
    }
  } finally {
    await reader.cancel();
  }
}
