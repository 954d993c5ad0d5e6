"""What each key of every command's JSON object means, for docs/commands.md (`reference`) and the tests.

A mapping from each key to its meaning; where a command has several actions, each of them to such a mapping. Nothing in
the package reads it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from modgrok.answers.outlook import LEADS
from modgrok.base.machine import Machine
from modgrok.censuses.law_check import FamilyErrors, NormalisationError, SettingErrors
from modgrok.censuses.outcomes import FamilyAccuracy, PredictorError
from modgrok.loss_law.from_table import MODEL_NAMES
from modgrok.separable.verdict import FAMILIES
from modgrok.training.bench import BenchSettings, Called, CaseResult, Contender
from modgrok.training.diagnosis import OUTCOMES
from modgrok.training.steps import Metrics

PROVENANCE_KEY = {
    "provenance": "where the result comes from, one object for each call that computed part of it: `version` (or "
    "`unknown`), `commit`, `changed`, `command`, `settings`, `libraries`, `device`, `processor`, `cores`, `date`, "
    "`seconds`, `code_of`, `code_digest`, `data_digest` (docs/report.md)"
}
"""What commands say of the key under which results have it."""

MODULUS_KEY = {"modulus": "p; `null` for a table whose variables and values differ in number"}

FUNCTION_KEY = {
    "function": "the function: `expression`, `name`, `variables`, `sizes`, `values`, `known_cells`, and "
    "`digest`, a name for the content of its table"
}

NETWORK_KEYS = {
    "expression": "the function in canonical spelling; for a table, its name",
    **MODULUS_KEY,
    "variables": "names of the inputs, in the order in which `predict` takes them",
    "sizes": "how many values each variable has: p, except for tables",
    "values": "how many values the function has: p, except for tables",
    "method": "how it was made: `exact`, `paper`, `mix`, `trained`, `snapped`, or `wrapped` for others' networks",
    "model": "`circuit`, `power`, `mlp`, `transformer`, or `logits` where nothing else is known",
    "experts": "one object for each expert of a circuit: `kind` (`sum`, `product`, `squares`, "
    "`remainders`, `relabel`, `separable`, `trained`; docs/exact.md explains them), "
    "`text` (what it computes), `inputs` (names: variables, or `e1`, `e2`, … for experts), `width`, `group_order` (of "
    "its cyclic group), `absorbing` (whether zero joins it), `frequencies`, `margin` and `beta` (inverse temperature) "
    "where they are known, `own_accuracy` (on the expert's own table), `learned` (`task`, `fraction`, `task_accuracy` "
    "of a trained expert)",
    "width": "hidden neurons in all; in a transformer, the dimension of the residual stream",
    "parameters": "weights in all",
    "dtype": "`float32` or `float64`",
    "proof": "what the kernel proved of these weights in this call: `holds` (right on every input), `rows_total`, "
    "`right`, `wrong`, `undecided` (rounding may choose), `dtype`, `margin` (the smallest lead of the right answer), "
    "`error_bound` (the most that rounding can change a logit), `method`; `null` where nothing is proved",
    "unproved": "why there is no proof, or `null`",
    "claimed": "whether the network's file claims to be proved; that is no proof",
    "notes": "what the compiler had to change, in words",
    "settings": "what it was made with",
}

VERIFICATION_KEYS = {
    "accuracy": "share of the checked inputs that are right; ties are wrong",
    "mse": "mean squared distance of the logits from the one-hot answer, over inputs and classes",
    "min_margin": "smallest (correct logit − best wrong logit) over the checked inputs",
    "rows_checked": "how many inputs were checked",
    "rows_total": "inputs in the whole table",
    "errors": "wrong answers",
    "first_error": "the first input with a wrong answer, or `null`",
    "led": 'inputs on which the class of "=" leads, where other people\'s network has one and it is left out',
}

FILES_KEY = {"files": "paths of what was written"}

SECONDS_KEY = {"seconds": "how long the work took"}

CHECKED_KEYS = NETWORK_KEYS | VERIFICATION_KEYS | FILES_KEY | SECONDS_KEY


def keys_in(kind: type, lead: str = "one object for each: ") -> str:
    """What a key means that holds objects of a class: their own keys are its fields."""
    return lead + ", ".join(f"`{field.name}`" for field in fields(kind))


PREDICT = {
    "expression": "of the network",
    **MODULUS_KEY,
    "variables": "names of the inputs",
    "row": "the value of each input; in a group or a field, the number of the element",
    "value": "the network's answer",
    "expected": "the right answer, from integers or from the table; `null` where the table does not have it",
    "row_names": "the same by name",
    "value_name": "the answer by name",
    "expected_name": "the right answer by name, or `null`",
    "correct": "whether they agree, or `null`",
    "margin": "correct logit − best wrong logit; where the right answer is not known, largest logit − next largest",
}

EXPORT = {"expression": "of the network", **MODULUS_KEY, "format": "`onnx`, `torch` or `transformer-lens`", **FILES_KEY}

CLASSIFY = {
    "answer": "two strings: what the function is; whether a network will learn it, and from how much of the table",
    "expression": "the function, in canonical spelling",
    "variables": "names of the axes of its table",
    **MODULUS_KEY,
    **FUNCTION_KEY,
    "verdict": "`in-class`, `not-in-class` or `unknown`",
    "family": f"the first family that fits: {', '.join(f'`{name}`' for name in FAMILIES)}, or `null`; "
    "`product-group` is additive over a group that is not cyclic, `group` is h(g1 · g2) over any finite group",
    "group_order": "order of the group of that family: p, or p − 1 with an absorbing element; or `null`",
    "witness": "of that family: `g1`, `g2` (… `gS`), lists of p elements with `null` for ∞; `h`, a list of "
    "`group_order` values with `null` where free; `h_absorbing`, the value at ∞; of the family `group` also "
    "`products`, the group's multiplication table, and `group_name` or `null`; or `null`",
    "obstruction": "where no family fits: `kind` (of the first family) and `explanation` (of all); else `null`",
    "families": "one object for each family that was tried: `family`, `verdict`, `group_order`, `absorbing`, "
    "`witness`, `obstruction`, `excluded` (what an `unknown` rules out), `steps` (of search), `decided_by` (the "
    "procedure that found the witness, or the kinds of the refutations; `null` where it is unknown), `proved`",
    "predicted": "the value that the witness gives every cell of a table with unknown cells, as nested lists, -1 "
    "where it gives none; `null` for a whole table, or without a witness",
    "closed_form": "the sum or product behind the function, where it has a short one; or `null`",
    "group_facts": "of the group of the family `group`: `group_name` or `null`, `group_order`, `is_abelian`, "
    "`exponent`, `class_sizes`, `centre_factors` (orders of the cyclic factors of its centre), `commutator_name` and "
    "`commutator_order` (of the subgroup that its commutators generate), `abelian_factors` (the same of the group but "
    "for these), `element_orders` (pairs of an order and how many elements have it); or `null`",
    "symmetries": "of a whole table modulo m of two variables and at most 16,384 cells: how many `shifts` "
    "(n1 + s, n2 + t) and, modulo a prime, `scalings` (s n1, t n2) permute its values, out of `cells`; `characters`, "
    "the share of frequency pairs that the Fourier transform of its one-hot table needs; or `null`",
    "fraction": "share of the table that a network would train on",
    "redundancy": "share of test cells with a twin in the training set, through equal rows or columns",
    "complexity": "of a table of two variables: r as `value`, in closed form where `is_exact`, beside that of a "
    "`random` table of its size, and in `words`; `null` beyond 4,096 cells or 64 values, unless the table is a group "
    "in disguise",
    "outlook": f"the decision behind the second string: `outcome` ({', '.join(LEADS)}), `because` (the reason) and "
    "`advice` (what to do, or empty)",
    "expected_accuracy": "expected test accuracy: `value`, and `low` and `high`, between which nine networks of ten "
    "lie (all `null` where no trainings are similar), `reason`, and `source` (`table`)",
    "model": f"the network that would be trained: {', '.join(f'`{name}`' for name in MODEL_NAMES)}",
    "curve": "with --curve: `shares`, and for each of them the keys of `expected_accuracy` as `expected`; `half` and "
    "`whole`, the shares from which half of the unseen cells and 99 % of them are expected, or `null`; else `null`",
    "enough": "for a function in the class, the share of the table from which half of all trainings reach 99 %; "
    "`null` where that was not measured, where 0.9 is not enough, or where the expected accuracy disagrees",
    "probe": "with --probe, or where nothing else is known and it takes seconds: the keys of `expected_accuracy`, with "
    "`source` `probe`, from the training loss of one small network; its `train_loss`, the `test_accuracy` that it "
    "reached (both `null` for a table too large to train on, the latter where no cell is left to test), `model`, "
    "`width`, `steps`, `fraction`, `seconds`; or `null`",
    "notes": "sentences on families that could not be decided as usual",
    "seconds": "time taken",
}

CHECK = {
    "holds": "whether the file claims something and all of it is proved",
    **FUNCTION_KEY,
    "claims": "one object for each claim: `family`, `verdict`, `group`, `outcome` (`proved`, `refuted`, `unreadable`, "
    "`too much work` or `nothing claimed`), `reason`, `holds` (`null` for an `unknown`, which claims nothing)",
    "seconds": "how long the work took",
}

TASKS = {
    "tasks": "one object for each: `name` (give it in place of an expression), `number` (in the paper's list), "
    "`expression`, `structure` (where it has its values) and `text` (both)"
}

SWEEP = {
    "folder": "where the sweep is",
    "varied": "the settings that vary, and their values",
    "seeds": "the seeds that every combination was trained with",
    "rows": "one object for each training: `network` (its number), every setting, the last metrics (as `final` of "
    "`train`), `memorised_at`, `grokked_at` and `outcome`",
    "medians": "one object for each combination, over its seeds: `settings`, `networks` (how many), medians of "
    "`test_accuracy`, `train_accuracy` and `test_loss`, `low` and `high` (half of the test accuracies lie between), "
    "`grokked` (share of the seeds), `grokked_at` (median step, `null` where less than half grok), `network_numbers` "
    "(of the rows)",
    "best": "the one of these with the best median",
    "words": "what was found, in words",
    "compilations": "training programs compiled in this call: one for all settings that are traced",
    **SECONDS_KEY,
    **FILES_KEY,
    **PROVENANCE_KEY,
}

RUN_KEYS = {
    "config": "every setting of the training",
    "folder": "where the run is",
    "finished": "whether all steps were taken",
    "reused": "whether the run had been finished before",
    "step": "the last step",
    "final": f"the metrics there: {', '.join(f'`{name}`' for name in Metrics._fields)}",
    "memorised_at": "first measured step with 99 % of the training set right, or `null`",
    "grokked_at": "first measured step with 99 % of the test set right, or `null`",
    "order": "the order of residues in which the IPR is measured: `additive`, `multiplicative` or `witness`; `none` "
    "for a word in a group that is not cyclic, which has no IPR",
    "ipr_blocks": "the variables, and the readout, whose weights the IPR is the mean over",
    "train_rows": "inputs in the training set",
    "test_rows": "inputs in the test set",
    "unknown_cells": "cells of a table whose values are not known; the network predicts them",
    "seconds": "how long it trained, without compilation; of a run that was resumed, since then",
    "steps_per_second": "in that time",
    "device": "what it was trained on",
    "diagnosis": f"how it ended: `outcome` ({', '.join(OUTCOMES)}), `because` (the likely cause), `advice`, and all of "
    "it as `text`; `go_on_to`, the step to continue to if that is the advice, or `null`; `expectation`, the test "
    "accuracy expected from the training loss alone, in words, or empty. `null` where Ctrl-C or SIGTERM stopped the "
    "run before its first measurement",
    "expected_accuracy": "the test accuracy expected from the training loss alone: `value`, `low`, `high`, `reason`, "
    "`source`; the numbers are `null` where the loss law was not measured",
    **PROVENANCE_KEY,
} | FILES_KEY

TRAIN = {"EXPRESSION": RUN_KEYS, "EXPRESSION --seeds N": SWEEP}

RUNS = {
    "folder": "the folder that was searched",
    "runs": "one object for each run, the latest last: `folder`, `title` (the function in one phrase), `expression` "
    "(in canonical spelling), `modulus`, `model`, `settings` (those that differ among these runs and are not what "
    "suits the model), `state` (`running`, `finished` or `stopped`), `step`, `steps` (planned), `train_accuracy`, "
    "`test_accuracy`, `outcome` (as in `train`, or `untrained`), `when` (of its last measurement)",
}

COMPARE = {
    "names": "names of the runs in this table: their folders, or the last parts of these",
    "settings": "every setting in which they differ, and its value in each of the runs",
    "numbers": "`step`, the metrics there (as `final` of `train`), `memorised_at`, `grokked_at` and `outcome`, of "
    "each run",
} | FILES_KEY

INSPECT = {
    "expression": "of the network",
    **MODULUS_KEY,
    "model": "`circuit`, `power`, `mlp`, `transformer`, or `logits` where nothing else is known",
    "order": "the order of residues in which the weights are periodic: `additive`, `multiplicative`, `witness`, "
    "`mixed` where experts differ, or `none` for a word in a group that is not cyclic",
    "no_weights_view": "why the keys from `width` to `experts` are `null` or empty: the model is no circuit of "
    "experts; else `null`",
    "width": "hidden neurons",
    "alive": "neurons that weight decay has left alive: squared norm over 10⁻³ of the largest",
    "constant": "living neurons that act as a bias: the same for every residue",
    "answer_zero": "living neurons whose readout is about the class of zero",
    "ipr": "mean inverse participation ratio over all neurons",
    "ipr_alive": "the same over the living ones",
    "ipr_histogram": "`edges` and `counts` of the IPR of living neurons",
    "common_frequency_share": "share of the living neurons whose blocks all have one frequency",
    "phase_residual_median": "median of |Σψ_s − ψ_Q| in radians, over neurons that have phases",
    "phase_residual_quantiles": "the same at 0.1, 0.5 and 0.9",
    "neurons_with_phases": "how many neurons that is",
    "power_explained": "mean share of squared weights that one cosine per block carries",
    "frequencies_used": "how many frequencies from 1 on living neurons have, over all experts",
    "snapped": "`accuracy` of the network with one cosine per block, `accuracy_nonzero` where no input is zero, and "
    "`rows_checked`",
    "nearest_design": "of the last expert: `name`, `words`, `designs` (neurons per frequency they need), "
    "`neurons_per_frequency`, `leakage`, `leakage_ratio`",
    "experts": "the same keys for each expert, with `multipliers`, `offset`, `ipr_by_block` (mean IPR of each block, "
    "`null` where no order makes it a wave) and `neurons_per_frequency`",
    "logits": "what the logits compute (docs/inspect.md has the formulas): `order`, `why` (there is no analytical form "
    "to compare with, or `null`), `group_order` (m), `rows_placed` and `classes` (how many have places), "
    "`analytical_share`, `sum_share`, `noise_share`, `shares` by frequency, `key_frequencies`, `key_share`, "
    "`loss` (its name), `full_loss`, `restricted_loss`, `excluded_loss` and `full_accuracy`, `restricted_accuracy`, "
    "`excluded_accuracy` (each with `all`, and `train` and `test` where the split is known), `input_spectrum` (over "
    "two inputs: `order`, shares `constant`, `one_input`, `sum`, `difference`, `other`, and the `strongest` pairs)",
    "in_group": "of a word in a group (docs/group-networks.md has the formulas), else `null`: `name`, `group_order`, "
    "`why` (nothing was measured, or `null`), `closed_form_share` of the logits' variance, `code_share` (on "
    "functions of value and class with one representation in both), `word_share` (on all functions of these), "
    "`rows_seen` (at how many inputs: random ones where all are too many), `noise_share`, `code_noise_share`, "
    "`representations` (a list: `representation`, its number, `kind`, "
    "`degree`, `kernel_order`, `logits_share`, `neurons` that use it), and of the neurons `neurons_alive`, "
    "`one_representation_share`, `law_median`, `coset_share` and `coset_orders` (how many are constant on the "
    "cosets of a subgroup of which order)",
    "inside": "`order`, `spectra` of embedding and readout (share of power by frequency), `layers` (`neurons`, "
    "`active`, `explained`, `one_frequency_share`, `neurons_per_frequency`) and `attention` (for each layer and head "
    "the mean share for each token)",
    "film": "over the steps of a training that kept its weights: `order`, `loss`, `key_frequencies` (of the trained "
    "network), `measures` (columns `step`, `analytical_share`, `full_loss_all`, … `excluded_accuracy_test`, `ipr`, "
    "`common_frequency_share`, `phase_residual_median`, `snapped_accuracy`), and `norm_per_frequency` (a list for each "
    "step); else `null`. Of a word in a group that is not cyclic, representations stand in place of frequencies, the "
    "analytical share is that on the closed form, and `measures` has `one_representation_share` and `law_median`, too",
} | FILES_KEY

DECOMPILE = {
    "model": "`circuit`, `power`, `mlp`, `transformer`, or `logits` where nothing else is known",
    "modulus": "how many classes the network has",
    "formula": "the formula of its answers; `null` where there is none",
    "family": "where that was found: `sums`, `products`, `groups`, `polynomials of degree 2`, …",
    "group": "over which group it is h(g1 · g2), where that is known",
    "why": "why there is no formula, else `null`",
    "share": "share of the inputs on which the formula is right",
    "log10_chance": "a bound on the probability, as a power of ten, that random answers get so good a formula of the "
    "family",
    "tried": "for each family that was tried `family`, `formula` (its best), `right` (inputs on which it is), `needed` "
    "(how many rule out chance; `null` where no number would), `counted` (the inputs that count: fewer than all where "
    "the formula does not read every variable) and `log10_formulas` (how many formulas the family has)",
    "wrong_rows": "numbers of the inputs on which the network differs from the formula",
    "tied": "on how many inputs its best logits are equal: the first is read as its answer, and is none for `verify`; "
    "`null` where the logits are too many to be looked at",
    "order": "the order of residues in which its waves are waves: `additive`, `multiplicative`, `witness`, or `group`",
    "waves": "key frequencies, strongest first: `frequency`, `amplitude`, `share` (of the logits' variance), and over "
    "groups `representation` (its kind and degree; `frequency` is then its number)",
    "logits": "what the logits compute, as in `inspect`: `analytical_share`, `restricted_loss`, `excluded_loss`, …",
    "neuron_waves": "an object for each hidden neuron: `layer`, `neuron`, `frequency` (or `representation`), "
    "`left_over` (share of the neuron that its waves do not explain), and an amplitude and a phase for each part; "
    "`null` where none are known",
    "twin": "the closed-form network: `made_of` (`neurons` or `logits`), `width`, `wave_count`, `agreement` (share of "
    "inputs on which both give the same answer), `original_errors`, `twin_errors`, `both_err`, `same_error` (inputs on "
    "which both give the same wrong answer); `null` where there is none",
    "no_twin": "why there is none, else `null`",
    "paragraph": "all of it in words",
} | FILES_KEY

OF_CENSUS = {"folder": "of the census"} | FILES_KEY | SECONDS_KEY

LAW = {
    "evaluated": "networks that the errors are taken over: at the last step, with a test set, where the law applies",
    "networks_left_out": "those where it does not apply: random tables cost nothing to memorise, or too little data",
    "error_own_curves": "mean absolute error of the law with a curve for each setting, cross-validated",
    "error_one_curve": "the same with one curve for all settings",
    "error_one_curve_half": "the same at half of the table; or `null`",
    "error_left_out": "of one curve at the settings that are left out; or `null`",
    "errors_held_out": "one object for each of `tables`, `families`, `moduli` and `widths` as `held_out`: `networks`, "
    "`error`, and `error_by_group`, with one after the other held out",
    "errors_by_normalisation": keys_in(NormalisationError),
    "errors_by_setting": keys_in(SettingErrors),
    "errors_by_family": keys_in(FamilyErrors),
}

WORDS = {"words": "how many networks grokked, in a sentence; empty for a slice"}

CENSUS = {
    "PLAN": OF_CENSUS
    | {
        **WORDS,
        "files": "the files that hold the rows",
        "networks": "networks in the folder",
        "planned": "networks of the plan",
        "finished": "whether all networks that were asked for are there",
        "networks_trained": "networks trained by this call",
        "networks_per_second": "speed of this call; or `null`",
        "device_share": "share of the training time in which the device took steps (the mean over devices); or `null`",
    }
    | PROVENANCE_KEY,
    "annotate": OF_CENSUS
    | {"rows_total": "rows of the census", "rows_annotated": "those that had no annotations before"},
    "report": OF_CENSUS
    | {
        **WORDS,
        "networks": "networks of the census",
        "tables": "tables of the census",
        "steps": "the last step, which the report is about",
    }
    | LAW
    | PROVENANCE_KEY
    | {
        "accuracy_by_family": keys_in(FamilyAccuracy, "at half of the table, one object for each: "),
        "verdicts": "one object for each `verdict`: `networks`, and by `outcomes` how many of them came to each",
        "surprises": "tables in the class that were not learned, and outside it that were: `networks`, `tables`, and "
        "the strongest as `shown`",
        "predictors": keys_in(PredictorError, "what tells the accuracy, best first: "),
    },
    "fit": OF_CENSUS | LAW | PROVENANCE_KEY,
    "fractions": OF_CENSUS
    | {
        "made_by": "the command",
        "modulus_range": "the least and the largest",
        "fraction_range": "the least and the largest",
        "kinds": "by kind of function: `networks`, `weights` of the law, `by_modulus` (those of p and f alone), and "
        "how well they hold on moduli held out: `misjudged`, `misjudged_by_modulus`, `edge_error`",
    },
    "query": {"folder": "of the census", "column_names": "of the answer", "rows": "its rows, one object each"}
    | SECONDS_KEY,
}

DATASET = {
    "folder": "that was written",
    **FILES_KEY,
    "configurations": "names that `load_dataset` takes",
    "networks": "of all censuses",
    "rows_total": "measurements of networks, of all censuses",
    "tables": "that networks were trained on, each counted once",
    "bytes_total": "of all files",
    **SECONDS_KEY,
}

LISTED = {
    "folder": "of the zoo",
    "networks": "that are in it",
    "rows": "one object for each: `name`, `kind`, `model`, `function`, `size`, `outcome` (`learned`, `partly` or "
    "`memorised`), `accuracy` (on all inputs), `test_accuracy`, `proved_accuracy` (what the kernel proved when it was "
    "made, as its file says; or `null`)",
}

ZOO = {
    "build": LISTED,
    "list": LISTED,
    "score": {
        "folder": "of the zoo",
        "networks": "that were asked about: those that learned or memorised",
        "right": "answers that are right",
        "score": "their share",
        "networks_left_out": "those in between, which are not asked about",
        "by_kind": "one object for each `model`, `kind` and `outcome`: `networks`, `right`",
        "rows": "one object for each network: `name`, `kind`, `model`, `function`, `outcome`, `answered` (a function "
        "was given), `right`",
    }
    | SECONDS_KEY,
}

OF_BENCH = {"machine": keys_in(Machine, "where it was measured: ")} | FILES_KEY | SECONDS_KEY | PROVENANCE_KEY

BENCH = {
    "train": OF_BENCH
    | {
        "settings": keys_in(BenchSettings, "how it was measured: "),
        "cases": keys_in(CaseResult)
        + keys_in(Contender, "; `contenders` by name, each with ")
        + keys_in(Called, "; `called` by name, each with "),
    },
    "census": OF_BENCH
    | {
        "plan": "what was trained, as in plan.json of a census",
        "finished": "whether the time was enough for all of it",
        "networks": "networks trained",
        "programs": "different compiled programs",
        "networks_per_second": "with everything counted: tables, compiling, training, writing",
        "network_steps_per_second": "the same in steps of networks",
        "teraflops": "useful TFLOP a second: six for each weight and each input of the training set",
        "device_share": "share of the time spent on training steps, by this process's clock",
        "kernel_share": "share of the time in which an NVIDIA GPU ran any kernel, from its driver; or `null`",
        "seconds_to_first_part": "time until the first networks were trained, with tables and compiling",
    },
}

PAPER = {
    "ITEM": {
        "item": "its name",
        "title": "what it shows, in a line",
        "settings": "what it was computed with",
        "published": "what the paper says",
        "measured": "what was found",
        "verdict": "`reproduced`, `partly reproduced`, `differs`, `finding` (nothing was published) or `undecided`",
        "why": "the verdict in a sentence",
        "notes": "what else is to be said",
        "columns": "keys of `rows` that are printed, and their headings",
        "rows": "one object for each row of the table",
        "further_tables": "tables after that one: `caption`, `columns`, `rows`",
        "data": "what the figures are drawn from, such as learning curves",
        "files": "paths of what was written",
        "seconds": "how long it took",
        **PROVENANCE_KEY,
    },
    "all": {
        "item": "`all`",
        "size": "`quick`, `standard` or `full`",
        "items": "for each item `item`, `published`, `measured`, `verdict`, `why`, `seconds`, `files`, `provenance`, "
        "and `reused`: whether an earlier result was taken",
        "recorded": "for each recorded result `item`, `where`, `command`, `verdict`, `provenance`",
        "differing": "items of which what was computed here and what was recorded have different verdicts",
        "files": "the report as HTML and as Markdown",
        "seconds": "how long it took",
    },
    "diff A B": {
        "item": "`diff`",
        "reports": "the two that were given",
        "same": "whether every item that is in both has the same verdict in both; the exit code is 0 if so, else 1",
        "claims": "for each item `item`, `claim`, `sides` (for each report `verdict`, `text`: what was measured, "
        "`settings`, `provenance`; or `null`), `same_verdict` and `same_settings` (`null` where it is in one of them "
        "alone), `numbers` (measured values that differ, by name: in the first, in the second) and `outcome`, in words",
        "damaged": "results that were left out, and why",
    },
}

SHARE = {
    "kind": "what is on the page: `run`, `network` or `function`",
    "title": "the function in one phrase",
    "about": "the sentence at the top of the page",
    "moments": "of its film: kept steps of the training; 0 or 1 where there is no film",
    "page_bytes": "how large the page is",
    **SECONDS_KEY,
    **FILES_KEY,
}

EXPLORE = {
    "address": "where it was served",
    "folder": "folder of the runs; `null` for a public explorer",
    "seconds": "how long it was served",
}

KEYS: dict[str, Mapping[str, Any]] = {
    "compile": CHECKED_KEYS,
    "verify": CHECKED_KEYS,
    "predict": PREDICT,
    "export": EXPORT,
    "classify": CLASSIFY,
    "check": CHECK,
    "tasks": TASKS,
    "train": TRAIN,
    "sweep": SWEEP,
    "runs": RUNS,
    "compare": COMPARE,
    "watch": RUN_KEYS,
    "inspect": INSPECT,
    "decompile": DECOMPILE,
    "census": CENSUS,
    "dataset": DATASET,
    "zoo": ZOO,
    "bench": BENCH,
    "mix": CHECKED_KEYS,
    "paper": PAPER,
    "share": SHARE,
    "explore": EXPLORE,
}
