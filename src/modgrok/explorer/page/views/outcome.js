// What became of a training: a word, a sentence, and when it happened.
import { el } from "../dom.js";
import { prose } from "../maths.js";
import { facts } from "../parts.js";
import { count, duration } from "../words.js";

export function outcome({ diagnosis, expected_text, memorised_at, grokked_at, seconds, train_rows, test_rows }, more = {}) {
  const good = diagnosis?.outcome === "grokked" ? "in-class" : "unknown";
  return [diagnosis ? el("p", { className: "verdict-line" }, el("span", { className: `badge ${good}` }, diagnosis.outcome), " ", prose(diagnosis.text)) : null,
    facts({
      "memorised at": memorised_at ? `step ${count(memorised_at)}` : null, "grokked at": grokked_at ? `step ${count(grokked_at)}` : null,
      cells: train_rows ? `${count(train_rows)} to train, ${count(test_rows)} to test` : null, took: seconds ? duration(seconds) : null,
      expected: expected_text || null, ...more,
    }, "facts inline")];
}
