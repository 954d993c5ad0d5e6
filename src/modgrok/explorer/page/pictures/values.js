// The values of a function as colours.
import { themedPixel, valueColours } from "../colours.js";
import { numbers } from "../decode.js";
import { count } from "../words.js";
import { valueStrip } from "./small.js";

export const UNKNOWN = 65535;

/** One pixel for each cell of a function's table, dark to bright along the values, in their order where `order` has one;
    cells that are not known have the colour of a line. */
export function valuePixels(info, table = numbers(info.table), order = null) {
  const palette = valueColours(info.values), colours = palette.slice(), free = themedPixel("line");
  order?.values?.forEach((value, place) => { colours[value] = palette[place]; });
  return Uint32Array.from(table, (value) => value === UNKNOWN ? free : colours[value]);
}

/** Whether all of a function is one picture: two variables, and every cell of their table. */
export const isFlat = ({ sizes, every }) => sizes.length === 2 && every === 1;

/** Says a cell of a table in words, with the names of elements; `at` has the values of the variables after the second. */
export const reader = (info, values = numbers(info.table), at = info.at) => (row, column) => {
  const value = values[row * info.shown[1] + column], name = (element) => info.elements?.[element] ?? element;
  const inputs = [row * info.every, column * info.every, ...at].map((input, axis) => `${info.variables[axis]} = ${name(input)}`);
  return `${inputs.join(", ")}: ${value === UNKNOWN ? "unknown" : `value ${name(value)}`}`;
};

/** The colours of a function's values, with the first and the last of them named. */
export function strip(info, order = null) {
  const ends = order?.values ? [order.values[0], order.values.at(-1)] : [0, info.values - 1];
  return valueStrip(valueColours(info.values), ends.map((value) => info.elements?.[value] ?? count(value)));
}
