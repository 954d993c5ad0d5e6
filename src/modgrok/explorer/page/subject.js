// The bar on top: the expression and its modulus, read by the server as they are typed; errors with a caret.
import { START } from "./address.js";
import { ApiError, get, newest } from "./api.js";
import { announce, debounced, el, replace } from "./dom.js";
import { formula } from "./maths.js";
import { count } from "./words.js";

const EXAMPLES = [["n1 n2", 97], ["n1 + n2", 97], ["(2n1 + 3n2)^4", 97], ["a b in S5", ""], ["power2022:x/y", ""], ["8x^5 y + 34x^9 y^5", 97], ["n1^2 + n1 n2 + n2^2", 97], ["n1 n2", 96]];

const LONGEST_SENT = 16000;  // an address with more is not taken

export class Subject {
  constructor(app) {
    this.app = app;
    this.expression = el("input", { id: "expression", autocomplete: "off", spellcheck: "false", autocapitalize: "off", "aria-describedby": "subject-below", oninput: () => this.typed() });
    this.modulus = el("input", { id: "modulus", inputmode: "numeric", autocomplete: "off", "aria-describedby": "subject-below", oninput: () => this.typed() });
    this.residues = START.mod;  // the modulus of the last function that has one: a group's order or a field's size is none
    this.below = el("div", { className: "below small", id: "subject-below" });
    replace(app.form, el("div", {}, el("label", { for: "expression" }, "Function"), this.expression),
      el("div", { className: "modulus" }, el("label", { for: "modulus" }, "Modulus"), this.modulus), this.below);
    app.form.addEventListener("submit", (event) => { event.preventDefault(); this.read(); });
    this.ask = newest((question, signal) => get("function", question, signal));
    this.typed = () => { this.app.state.network = ""; this.app.subjectTyped(); this.later(); };
    this.later = debounced(() => this.read(), 120);
  }

  /** Fill in what the address says, and read it. */
  fill({ expression = "", mod = "", table = "" }) {
    this.table = table;
    this.expression.value = table ? "" : expression;
    this.expression.placeholder = table ? "a table of your own" : "n1 n2";
    this.modulus.value = mod;
    return this.read();
  }

  question() {
    const mod = this.modulus.value.trim() || (this.elsewhere ? this.residues : "");
    const expression = this.expression.value;
    return this.table && !expression.trim() ? { table: this.table, mod } : { expression, mod };
  }

  async read() {
    const question = this.question(), asked = JSON.stringify(question);
    const typed_since = () => JSON.stringify(this.question()) !== asked;  // then another answer is on its way
    try {
      const sent = new URLSearchParams(question).toString().length;
      if (sent > LONGEST_SENT) throw new ApiError(0, { error: `this is too long: ${count(question.expression.length)} characters, where 4,000 are the limit and any but plain letters and digits count more; shorten it` });
      const info = await this.ask(question);
      if (typed_since()) return;
      this.elsewhere = Boolean(info.elements) && !question.table;
      if (this.elsewhere) this.modulus.value = question.mod = "";
      else if (info.modulus && Number(this.modulus.value) !== info.modulus) {  // where the expression says its own: n1 n2 mod 7
        this.modulus.value = String(info.modulus);
        if (!question.table) question.mod = this.modulus.value;
      }
      this.modulus.placeholder = this.elsewhere ? "none" : "";
      if (info.modulus && !this.elsewhere && !question.table) this.residues = String(info.modulus);
      this.show(info);
      this.app.subjectRead({ question, info });
    } catch (error) {
      if (error.name === "AbortError" || typed_since()) return;
      if (!(error instanceof ApiError)) throw error;
      this.refuse(error, question);
      this.app.subjectRefused(error);
    }
  }

  show(info) {
    this.expression.removeAttribute("aria-invalid");
    const what = info.typeset ? formula(info.typeset, info.modulus) : el("span", {}, info.title);
    const size = `${info.sizes.map(count).join(" × ")} cells${info.form ? `, read as ${info.form}` : ""}`;
    replace(this.below, what, el("span", { className: "soft" }, size), this.examples());
  }

  examples() {
    const plain = (text) => text.replace(/\s/g, "");
    const others = EXAMPLES.filter(([text]) => plain(text) !== plain(this.expression.value)).slice(0, 5);
    return el("span", { className: "examples soft" }, "try ", others.map(([text, mod]) =>
      el("button", { className: "link", type: "button", onclick: () => this.app.go({ expression: text, mod, table: "", run: "", network: "" }, { subject: true }) }, text)));
  }

  /** The sentence, and where the place is known the expression with a caret under it. */
  refuse(error, { expression }) {
    this.expression.setAttribute("aria-invalid", "true");
    const trouble = el("div", { className: "trouble", role: "alert" }, error.message);
    if (error.position !== null && expression) {
      const from = Math.max(0, error.position - 40);
      const part = expression.slice(from, from + 80).replace(/\s/g, " ");
      const lead = from ? "…" : "";
      trouble.append(el("pre", {}, `${lead}${part}\n`, el("span", { className: "caret" }, `${" ".repeat(error.position - from + lead.length)}^`)));
    }
    replace(this.below, trouble);
    announce(error.message);
  }
}
