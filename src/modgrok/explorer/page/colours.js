// Palettes that the colour-blind can read: viridis for values, Okabe and Ito's for lines.

const VIRIDIS = "440154 48186a 472d7b 424086 3b528b 33638d 2c728e 26828e 21918c 1fa088 28ae80 3fbc73 5ec962 84d44b addc30 d8e219 fde725"
  .split(" ").map((hex) => [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16)));

/** Colour of a share from 0 to 1, as [red, green, blue]. */
export function viridis(share) {
  const at = Math.min(Math.max(share, 0), 1) * (VIRIDIS.length - 1);
  const low = Math.min(Math.floor(at), VIRIDIS.length - 2);
  return VIRIDIS[low].map((channel, index) => Math.round(channel + (at - low) * (VIRIDIS[low + 1][index] - channel)));
}

/** Pixels (as canvas stores them) of the values 0 … n − 1. */
export function valueColours(n) {
  const pixels = new Uint32Array(n);
  for (let value = 0; value < n; value++) pixels[value] = pixel(viridis(n > 1 ? value / (n - 1) : 0));
  return pixels;
}

export const pixel = ([red, green, blue], alpha = 255) => ((alpha << 24) | (blue << 16) | (green << 8) | red) >>> 0;

/** A colour of the style sheet, as it is now. */
export const themed = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
export const themedPixel = (name) => pixel([1, 3, 5].map((at) => parseInt(themed(name).slice(at, at + 2), 16)));

export const LINES = ["blue", "orange", "green", "purple", "sky", "grey"];
export const line = (index) => themed(LINES[index % LINES.length]);
