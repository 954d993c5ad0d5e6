// A shared page has nobody to ask: it answers from what it brought along. It stands in for api.js.

export const DATA = JSON.parse(document.getElementById("data").textContent);
export const PUBLIC = false;

const unasked = async () => { throw new ApiError("this page has nobody to ask"); };
export const made = unasked;
export const post = unasked;

export class ApiError extends Error {}

/** The closed form beside a trained network is all that its views ask for. */
export const get = async (path) => {
  const found = DATA.closed_form?.[path];
  if (!found) throw new ApiError("this page was not given that");
  return found;
};
