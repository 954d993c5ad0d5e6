// A film as explorer/films.py sends it, moment by moment: cells, numbers, waves, spectrum, and the dots of the law.
import { bytes, floats, numbers as wholes, signed } from "./decode.js";

const NO_PLACE = -128;
const COLOURS = 5;

const bit = (packed, at) => (packed[at >> 3] >> (7 - (at & 7))) & 1;

export class Film {
  constructor(film) {
    Object.assign(this, { steps: film.steps, why: film.why, sizes: film.sizes, variables: film.variables, about: film });
    if (!film.steps.length) return;
    this.rows = film.sizes.reduce((product, size) => product * size, 1);
    this.trained = bytes(film.trained);
    this.known = bytes(film.known);
    this.right = bytes(film.right);
    if (film.neurons) {
      const { waves, frequency, amplitude, phase } = film.neurons;
      this.neurons = { ...film.neurons, waves: signed(waves), frequency: wholes(frequency), amplitude: floats(amplitude), phase: floats(phase) };
    }
    if (film.spectrum) {
      this.sizesOfBins = floats(film.spectrum.sizes);
      this.largestBin = this.sizesOfBins.reduce((most, size) => Math.max(most, size), 1e-12);
      this.bins = this.sizesOfBins.length / film.steps.length;
    }
    if (film.law) {
      const { x, y, size, of, kind } = film.law;
      this.law = { ...film.law, x: x && bytes(x), y: kind === "phases" ? bytes(y) : signed(y), size: bytes(size), of: wholes(of) };
    }
    this.colours = this.colouring();
  }

  /** Frequencies of the neurons at the end, each with a colour of its own as long as there are colours. */
  colouring() {
    const found = new Map();
    if (this.neurons) {
      const { shown, frequency } = this.neurons, from = (this.steps.length - 1) * shown.length;
      for (const each of frequency.subarray(from, from + shown.length)) if (each && !found.has(each) && found.size < COLOURS) found.set(each, found.size);
    }
    return found;
  }

  colour(of) { return this.colours.get(of) ?? COLOURS; }

  /** What each cell is: 0 and 1 a test cell, wrong and right; 2 and 3 a training cell; 4 one that nobody knows. */
  cells(at) {
    const from = at * Math.ceil(this.rows / 8), hits = this.right.subarray(from);
    return Uint8Array.from({ length: this.rows }, (_, cell) => bit(this.known, cell) ? 2 * bit(this.trained, cell) + bit(hits, cell) : 4);
  }

  numbers(at) { return Object.fromEntries(Object.entries(this.about.numbers).map(([name, values]) => [name, values[at]])); }

  /** The neurons, each with the cosine that is nearest to it, where it has one. */
  waves(at) {
    if (!this.neurons) return [];
    const { shown, period, waves, frequency, amplitude, phase } = this.neurons;
    const bins = this.about.spectrum?.names ?? [];
    return shown.map((neuron, k) => {
      const from = (at * shown.length + k) * period, own = at * shown.length + k, f = frequency[own];
      const values = Array.from(waves.subarray(from, from + period), (value) => value === NO_PLACE ? NaN : value / 127);
      const fit = amplitude[own] > 0 && f ? values.map((_, place) => amplitude[own] * Math.cos(2 * Math.PI * f * place / period + phase[own])) : null;
      return { values, fit, largest: 1, colour: this.colour(f), label: bins.length ? `representation ${bins[f - 1] ?? f}` : f ? `frequency ${f}` : "constant" };
    });
  }

  spectrum(at) {
    if (!this.bins) return null;
    const values = Array.from(this.sizesOfBins.subarray(at * this.bins, (at + 1) * this.bins));
    return { values, largest: this.largestBin, colours: values.map((_, bin) => this.colour(bin + 1)), what: this.about.spectrum.what };
  }

  /** Dots with x and y from 0 to 1, y upwards. */
  dots(at) {
    if (!this.law) return null;
    const { kind, dots, x, y, size, of } = this.law;
    const groups = Math.max(1, this.bins || 1);
    return { kind, dots: Array.from({ length: dots }, (_, k) => {
      const own = at * dots + k;
      const across = kind === "phases" ? (x[own] + 0.5) / 256 : (of[own] - 0.5 + 0.56 * ((k * 0.618034) % 1 - 0.5)) / groups;
      return { x: across, y: kind === "phases" ? (y[own] + 0.5) / 256 : (y[own] / 127 + 1) / 2, size: size[own] / 255, colour: this.colour(of[own]) };
    }) };
  }
}
