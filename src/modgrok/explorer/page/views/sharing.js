// Anything of the explorer as one page to send to others.
import { made } from "../api.js";
import { announce } from "../dom.js";
import { button } from "../parts.js";
import { handOver } from "./saving.js";

const WORD = "Share as a page";

/** A button that fetches the page of what `question()` asks about. */
export function sharer(question) {
  const link = button(WORD, async () => {
    link.disabled = true;
    link.textContent = "making the page …";
    try {
      const { blob, name } = await made("shared", question());
      handOver(blob, name);
      announce(`The page is saved as ${name}`);
      link.textContent = WORD;
    } catch (error) {
      link.textContent = error.message;
    } finally {
      link.disabled = false;
    }
  });
  link.title = "One file with everything in it: it opens in any browser, without a server";
  return link;
}
