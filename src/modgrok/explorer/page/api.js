// Questions to the server. A refusal is an ApiError with the sentence that the library wrote, and a place for the caret.

export class ApiError extends Error {
  constructor(status, answer) {
    super(answer.error || `the server answered ${status}`);
    this.status = status;
    this.position = answer.position ?? null;
    this.text = answer.text ?? null;
  }
}

/** What a public demo tells its visitors; empty for an explorer of one's own. */
export const PUBLIC = document.querySelector('meta[name="modgrok-public"]')?.content ?? "";

/** Refusals come as answers with an `error`: a browser would write each reply of status 400 into its console. */
const IN_WORDS = { "X-Modgrok-Refusals": "answers" };
const token = () => document.querySelector('meta[name="modgrok-token"]').content;

async function answered(request) {
  try {
    const response = await request;
    const answer = await response.json();
    if (response.ok && typeof answer.error !== "string") return answer;
    throw new ApiError(response.status, answer);
  } catch (error) {
    if (error.name === "AbortError" || error instanceof ApiError) throw error;
    throw new ApiError(0, { error: "the explorer does not answer; is `modgrok explore` still running?" });
  }
}

const query = (parameters) => {
  const kept = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return kept.length ? `?${new URLSearchParams(kept)}` : "";
};

export const get = (path, parameters = {}, signal = undefined) => answered(fetch(`/api/${path}${query(parameters)}`, { signal, headers: IN_WORDS }));
export const address = (path, parameters) => `/api/${path}${query(parameters)}`;

/** A file that the server makes: its content and its name. */
export async function made(path, parameters) {
  const response = await fetch(address(path, parameters));
  if (!response.ok) throw new ApiError(response.status, await response.json().catch(() => ({})));
  const name = /filename="([^"]+)"/.exec(response.headers.get("Content-Disposition") ?? "");
  return { blob: await response.blob(), name: name?.[1] ?? "page.html" };
}

export const post = (path, body = {}, signal = undefined) =>
  answered(fetch(`/api/${path}`, {
    method: "POST", signal, body: JSON.stringify(body),
    headers: { "Content-Type": "application/json", "X-Modgrok-Token": token(), ...IN_WORDS },
  }));

export const upload = (path, file) =>
  answered(fetch(`/api/${path}?${new URLSearchParams({ name: file.name })}`, {
    method: "POST", body: file,
    headers: { "Content-Type": "application/octet-stream", "X-Modgrok-Token": token(), ...IN_WORDS },
  }));

/** The newest of many questions: asking again cancels the one before. */
export function newest(ask) {
  let controller = null;
  return (...values) => {
    controller?.abort();
    controller = new AbortController();
    return ask(...values, controller.signal);
  };
}
