// The same without the page: a command for the shell, or Python, to copy. What they say, the server knows.
import { announce, el, replace } from "./dom.js";
import { button, notice } from "./parts.js";

const KINDS = { command: "command", python: "Python" };
const NONE = "No command says this: what the page shows was made in Python, lies on another machine, or is not there yet.";

/** Two buttons that copy what `ask()` gives or promises, { command, python, needs }, and a place that shows it. */
export function copying(ask) {
  const shown = el("div", { className: "copied stack tight" });
  const copy = async (kind) => {
    replace(shown);
    try {
      const recipe = await ask();
      if (!recipe) { replace(shown, notice(NONE)); return; }
      const text = el("pre", { className: "small", tabindex: 0, role: "region", "aria-label": `The ${KINDS[kind]}` }, recipe[kind]);
      const word = el("p", { className: "soft small" });
      replace(shown, word, text);
      const said = await copied(recipe[kind], text) ? "Copied." : "Copy this:";
      word.textContent = recipe.needs ? `${said} It reads ${recipe.needs} from the folder where you run it.` : said;
      announce(word.textContent);
    } catch (error) {
      replace(shown, notice(error.message));
    }
  };
  const buttons = Object.entries(KINDS).map(([kind, name]) => button(`Copy as ${name}`, () => copy(kind), "link small"));
  return { element: el("div", { className: "recipe stack tight" }, el("p", { className: "links" }, buttons), shown), forget: () => replace(shown) };
}

/** Whether a text went to the clipboard; where a browser forbids it, it is selected, ready to be copied by hand. */
async function copied(text, shown) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    getSelection().selectAllChildren(shown);
    return false;
  }
}
