// Numbers and verdicts as people read them.

export const VERDICTS = { "in-class": "in the class", "not-in-class": "not in the class", unknown: "undecided" };

/** Never 100 % for less, as 99.7 %. */
export const percent = (share) => {
  if (share === null || share === undefined) return "–";
  const value = 100 * share;
  if (value > 0 && value < 0.1) return `${value.toPrecision(1)} %`;
  const shown = value >= 99.5 && value < 100 || value < 10 && value > 0 ? value.toFixed(1) : value.toFixed(0);
  return `${shown === "100.0" ? "99.9" : shown} %`;
};
/** Without decimals, and never 100 % for less, as an answer's sentence says it. */
export const whole = (share) => `${share < 1 ? Math.min(Math.round(100 * share), 99) : 100} %`;
export const count = (number) => number === null || number === undefined ? "–" : number.toLocaleString("en");
export const plural = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;

/** 2nd, 3rd, 12th. */
export const ordinal = (number) => `${count(number)}${{ 1: "st", 2: "nd", 3: "rd" }[Math.floor(number / 10) % 10 === 1 ? 0 : number % 10] ?? "th"}`;

/** Three significant digits: 0.00210, 4.97, 1.2e-7. */
export function figure(number) {
  if (number === null || number === undefined || !Number.isFinite(number)) return "–";
  if (number === 0) return "0";
  const size = Math.abs(number);
  if (size >= 1e5 || size < 1e-3) return number.toExponential(1).replace("e+", "e");
  return size >= 100 ? number.toFixed(0) : number.toPrecision(3);
}
/** A loss: what a training tells as 0 is smaller than its numbers of 32 bits are exact. */
export const lossText = (loss) => loss === 0 ? "<1e-7" : figure(loss);
/** A power of ten, as beside an axis; empty for all other numbers. */
export function power(number) {
  const exponent = Math.log10(number);
  if (number === null || Math.abs(exponent - Math.round(exponent)) > 1e-6) return "";
  return `10${[...String(Math.round(exponent))].map((digit) => digit === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]).join("")}`;
}
/** Where a job stands in the queue. */
export const standing = (before) => before ? `waiting, ${count(before)} before you` : "waiting, next";
export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}
