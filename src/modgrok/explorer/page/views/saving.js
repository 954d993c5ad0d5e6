// A film as a file: every moment drawn on one sheet, as a GIF, or as a video where the browser can record one.
import { themed } from "../colours.js";
import { announce, el } from "../dom.js";
import { button } from "../parts.js";
import { drawLaw, drawSpectrum } from "../pictures/moving.js";
import { drawWaves } from "../pictures/small.js";
import { GIFEncoder, applyPalette, quantize } from "../vendor/gifenc.esm.js";
import { count, percent } from "../words.js";
import { LAW } from "./stage.js";

const WIDTH = 800, HEIGHT = 470, EDGE = 24;
const MILLISECONDS = 140, AT_THE_END = 2000;
const VIDEOS = ["video/mp4;codecs=avc1.42E01E", "video/mp4", "video/webm;codecs=vp9", "video/webm"];

/** What draws moment k of a stage's film on a sheet of its own. */
export function sheetOf(stage, title) {
  const canvas = el("canvas", { width: WIDTH, height: HEIGHT }), context = canvas.getContext("2d", { willReadFrequently: true });
  const { film } = stage, { marked } = stage.accuracy;
  const curve = stage.accuracy.still(430, 158);
  const words = (text, x, y, { colour = "ink", font = "13px Inter, system-ui, sans-serif", align = "left", room = undefined } = {}) => {
    Object.assign(context, { fillStyle: themed(colour), font, textAlign: align });
    context.fillText(text, x, y, room);
    context.textAlign = "left";
  };
  const within = (x, y, draw) => { context.save(); context.translate(x, y); draw(); context.restore(); };
  const draw = async (at) => {
    const numbers = film.numbers(at), step = film.steps[at];
    curve.mark(step);
    await null;  // uPlot draws when what runs now is over
    context.fillStyle = themed("paper");
    context.fillRect(0, 0, WIDTH, HEIGHT);
    words(title, EDGE, 36, { font: "600 19px Inter, system-ui, sans-serif", room: 470 });
    words(`step ${count(step)}`, WIDTH - EDGE, 36, { font: "600 19px Inter, system-ui, sans-serif", align: "right" });
    table(at, numbers);
    const right = 346;
    words(`training cells ${percent(numbers.train_accuracy)} right`, right + 52, 70, { colour: "blue" });
    words(`test cells ${percent(numbers.test_accuracy)} right`, right + 252, 70, { colour: "orange" });
    context.drawImage(curve.canvas, right, 76, 430, 158);
    within(right, 252, () => drawWaves(context, film.waves(at).slice(0, film.law ? 6 : 8), film.law ? 218 : 430, 2, 42));
    if (film.law) within(right + 236, 246, () => drawLaw(context, 194, 194, { ...film.dots(at), names: LAW[film.law.kind].names }));
    else if (film.bins) within(right, HEIGHT - 60, () => drawSpectrum(context, 430, 50, film.spectrum(at)));
    words("modgrok", WIDTH - EDGE, HEIGHT - 12, { colour: "soft", font: "11px Inter, system-ui, sans-serif", align: "right" });
  };
  const table = (at, numbers) => {
    const room = 298;
    if (film.sizes.length === 2) {
      stage.cellsAre(film.cells(at), film.sizes);
      stage.drawTable();
      const image = stage.cells.image(), scale = room / Math.max(image.width, image.height);
      const cell = scale > 1 ? Math.floor(scale) : scale;
      context.imageSmoothingEnabled = scale < 1;
      context.drawImage(image, EDGE, 58, image.width * cell, image.height * cell);
    } else words(percent(numbers.test_accuracy), EDGE, 200, { font: "600 56px Inter, system-ui, sans-serif" });
    [["test-right", "test cell, right"], ["test-wrong", "wrong"], ["train-right", "training cell, right"], ["train-wrong", "wrong"]].forEach(([colour, text], index) => {
      const x = EDGE + (index % 2) * 150, y = 388 + Math.floor(index / 2) * 20;
      context.fillStyle = themed(colour);
      context.fillRect(x, y - 10, 11, 11);
      words(text, x + 18, y, { colour: "soft", font: "12px Inter, system-ui, sans-serif" });
    });
  };
  const restore = () => { stage.accuracy.marked = marked; stage.moment(stage.player.at); };
  return { canvas, context, draw, restore };
}

const pause = (milliseconds = 0) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** The film as the bytes of a GIF; `progress` is told how much of it is done, from 0 to 1. */
export async function gifOf(stage, title, progress = () => {}) {
  const { context, draw, restore } = sheetOf(stage, title), last = stage.film.steps.length - 1;
  await document.fonts.ready;
  await pause();  // the curve is drawn after this task
  const gif = GIFEncoder(), pixels = () => context.getImageData(0, 0, WIDTH, HEIGHT).data;
  const sample = new Uint8Array(3 * 4 * WIDTH * HEIGHT);
  for (const [index, at] of [0, last >> 1, last].entries()) { await draw(at); sample.set(pixels(), index * 4 * WIDTH * HEIGHT); }
  const palette = quantize(sample, 64);
  for (let at = 0; at <= last; at++) {
    await draw(at);
    gif.writeFrame(applyPalette(pixels(), palette), WIDTH, HEIGHT, { palette: at ? undefined : palette, delay: at < last ? MILLISECONDS : AT_THE_END });
    progress((at + 1) / (last + 1));
    await pause();
  }
  gif.finish();
  restore();
  return new Blob([gif.bytes()], { type: "image/gif" });
}

const videoType = () => globalThis.MediaRecorder && VIDEOS.find((type) => MediaRecorder.isTypeSupported(type));

/** The film as a video, recorded while it is drawn. */
export async function videoOf(stage, title, progress = () => {}) {
  const { canvas, draw, restore } = sheetOf(stage, title), last = stage.film.steps.length - 1;
  await document.fonts.ready;
  await pause();
  const recorder = new MediaRecorder(canvas.captureStream(30), { mimeType: videoType(), videoBitsPerSecond: 4e6 });
  const parts = [];
  recorder.ondataavailable = ({ data }) => parts.push(data);
  const ended = new Promise((resolve, reject) => { recorder.onstop = resolve; recorder.onerror = () => reject(new Error("the browser could not record the film")); });
  recorder.start();
  for (let at = 0; at <= last; at++) {
    await draw(at);
    progress((at + 1) / (last + 1));
    await pause(at < last ? MILLISECONDS : AT_THE_END);
  }
  recorder.stop();
  await ended;
  restore();
  return new Blob(parts, { type: recorder.mimeType });
}

/** Give the person at the page a file. */
export function handOver(blob, name) {
  const link = el("a", { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** Letters and digits of a title, as the name of a file. */
export const fileName = (title, ending) => `${title.replace(/[^\p{L}\p{N}+^-]+/gu, "_").replace(/^_+|_+$/g, "").slice(0, 60) || "film"}.${ending}`;

/** Buttons that save a stage's film. */
export function savers(stage, title) {
  const video = videoType();
  const saver = (word, ending, make) => {
    const link = button(word, async () => {
      stage.player.pause();
      link.disabled = true;
      try {
        const blob = await make(stage, title, (share) => { link.textContent = `${word}: ${percent(Math.min(share, 0.99))}`; });
        handOver(blob, fileName(title, ending));
        announce(`The film is saved as ${fileName(title, ending)}`);
        link.textContent = word;
      } catch (error) {
        link.textContent = error.message;
      } finally {
        link.disabled = false;
      }
    });
    return link;
  };
  const ending = video?.startsWith("video/mp4") ? "mp4" : "webm";
  return [saver("Save as GIF", "gif", gifOf), video ? saver(`Save as ${ending === "mp4" ? "MP4" : "WebM"}`, ending, videoOf) : null];
}
