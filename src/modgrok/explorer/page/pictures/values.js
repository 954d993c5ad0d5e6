// The values of a function as colours.
import { themedPixel, valueColours } from "../colours.js";
import { numbers } from "../decode.js";

export const UNKNOWN = 65535;

/** One pixel for each cell of a function's table; cells that are not known have the colour of a line. */
export function valuePixels(info, table = numbers(info.table)) {
  const colours = valueColours(info.values), free = themedPixel("line");
  return Uint32Array.from(table, (value) => value === UNKNOWN ? free : colours[value]);
}

/** Whether all of a function is one picture: two variables, and every cell of their table. */
export const isFlat = ({ sizes, every }) => sizes.length === 2 && every === 1;
