// Questions to the server. A refusal is an ApiError with the sentence that the library wrote, and a place for the caret.

export class ApiError extends Error {
  constructor(status, answer) {
    super(answer.error || `the server answered ${status}`);
    this.status = status;
    this.position = answer.position ?? null;
    this.text = answer.text ?? null;
  }
}

const token = () => document.querySelector('meta[name="modgrok-token"]').content;

async function answered(request) {
  try {
    const response = await request;
    const answer = await response.json();
    if (response.ok) return answer;
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

export const get = (path, parameters = {}, signal = undefined) => answered(fetch(`/api/${path}${query(parameters)}`, { signal }));
export const address = (path, parameters) => `/api/${path}${query(parameters)}`;

export const post = (path, body = {}, signal = undefined) =>
  answered(fetch(`/api/${path}`, {
    method: "POST", signal, body: JSON.stringify(body),
    headers: { "Content-Type": "application/json", "X-Modgrok-Token": token() },
  }));

export const upload = (path, file) =>
  answered(fetch(`/api/${path}?${new URLSearchParams({ name: file.name })}`, {
    method: "POST", body: file,
    headers: { "Content-Type": "application/octet-stream", "X-Modgrok-Token": token() },
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
