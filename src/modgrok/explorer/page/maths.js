// Mathematics as it is printed: the server's tree of an expression as MathML, and n1^2 n2 in a sentence, with Z_7 and `code`.
import { el, mathml } from "./dom.js";

const row = (nodes) => nodes.length === 1 ? nodes[0] : mathml("mrow", nodes);
const fenced = (node) => mathml("mrow", mathml("mo", "("), typeset(node), mathml("mo", ")"));
const SUMS = ["sum", "negation"];

/** The MathML of one node: see `typeset` in the answer of /api/function. */
export function typeset(node) {
  switch (node.kind) {
    case "number": return mathml("mn", String(node.value));
    case "variable": return mathml("msub", mathml("mi", node.letter), mathml("mn", String(node.index)));
    case "negation": return mathml("mrow", mathml("mo", "−"), SUMS.includes(node.operand.kind) ? fenced(node.operand) : typeset(node.operand));
    case "power": {
      const plain = ["variable", "number"].includes(node.base.kind);
      if (node.base.kind === "variable") {
        return mathml("msubsup", mathml("mi", node.base.letter), mathml("mn", String(node.base.index)), mathml("mn", String(node.exponent)));
      }
      return mathml("msup", plain ? typeset(node.base) : fenced(node.base), mathml("mn", String(node.exponent)));
    }
    case "product": return row(node.factors.flatMap((factor, index) => {
      const shown = SUMS.includes(factor.kind) ? fenced(factor) : typeset(factor);
      return index && factor.kind === "number" ? [mathml("mo", "·"), shown] : [shown];
    }));
    case "sum": return row(node.terms.flatMap(signed));
    default: return mathml("mtext", "…");
  }
}

/** A term of a sum with its sign, which the first one has only if it is negative. */
function signed(term, index) {
  if (term.kind === "negation") return [mathml("mo", "−"), SUMS.includes(term.operand.kind) ? fenced(term.operand) : typeset(term.operand)];
  return index ? [mathml("mo", "+"), typeset(term)] : [typeset(term)];
}

/** `typeset` as a whole formula with its modulus: one <math> for each term, since browsers break lines between them alone. */
export function formula(node, modulus) {
  const terms = node.kind === "sum" ? node.terms : [node];
  const parts = terms.map((term, index) => mathml("math", mathml("mrow", signed(term, index))));
  parts.slice(1).forEach((part) => part.querySelector("mo").setAttribute("rspace", "0.2em"));
  if (modulus) {
    const space = mathml("mspace");
    space.setAttribute("width", "0.25em");
    parts.push(mathml("math", mathml("mrow", space, mathml("mo", "mod"), mathml("mn", String(modulus)))));
  }
  return el("span", { className: "formula" }, parts.flatMap((part, index) => index ? [" ", part] : [part]));
}

const TOKEN = /(?<![A-Za-z])([ng])(\d{1,2})(?:\^(-?\d+))?(?!\w)|(?<=(?<![A-Za-z])[a-z]|[\d)])\^(-?\d+)|(?<![A-Za-z])Z_(\d+)|`([^`]+)`/g;

/** A sentence in which n1^2 stands as mathematics; everything else stays the text it was. */
export function prose(text) {
  const nodes = [];
  let from = 0;
  for (const found of text.matchAll(TOKEN)) {
    nodes.push(text.slice(from, found.index));
    const [whole, letter, index, power, exponent, order, code] = found;
    if (letter) nodes.push(el("span", { className: "maths" }, el("i", {}, letter), el("sub", {}, index), power ? el("sup", {}, power) : null));
    else nodes.push(exponent ? el("sup", {}, exponent) : order ? ["Z", el("sub", {}, order)] : el("code", {}, code));
    from = found.index + whole.length;
  }
  nodes.push(text.slice(from));
  return nodes;
}
