"""Audits of every kind, and a reader of their JSON who looks for what does not fit together.

``python -m tests.contradictions 1000`` audits that many tables of a new seed, gates every tenth as well, and prints
what was found; ``tools/long_runs.py contradictions`` does it in several processes, and the suite reads a few.
"""

import argparse
import json
import os
import re
import sys
from collections import Counter

import numpy as np
import pandas as pd
from scipy.special import expit, logit

import calibrant
from calibrant.door.request import Listener
from calibrant.findings.decision import found_off
from calibrant.gate.checks import check_opened
from calibrant.gate.request import GateRequest
from calibrant.tables.frames import OpenedFrame

LEAVE = ("leave unchanged",)
REAL = ("worth correcting", "too small to matter")
ACTIONS = {
    "worth correcting": {"recalibrate", "look closer", "predict the base rate", "check the labels", "none"},
    "too small to matter": {"leave unchanged", "look at the parts"},
    "no evidence": {"leave unchanged", "look at the parts"},
    "too few rows": {"collect more rows", "look at the parts"},
    "not tested": {"none", "collect more rows"},
}


def drawn(seed):
    """Predictions of a kind, and outcomes with a fault or none; now and then weights, rates or classes."""
    rng = np.random.default_rng([seed, 20])
    n = int(rng.choice([1, 2, 20, 100, 400, 1500, 4000, 30_000], p=[0.02, 0.03, 0.15, 0.2, 0.2, 0.2, 0.18, 0.02]))
    p = {
        "uniform": lambda: rng.random(n),
        "beta": lambda: rng.beta(0.7, 3.0, n),
        "rare": lambda: rng.beta(0.5, 100.0, n),
        "atoms": lambda: np.clip(1.3 * rng.random(n) - 0.15, 0.0, 1.0),
        "five": lambda: rng.choice([0.05, 0.3, 0.5, 0.8, 0.99], n),
        "one": lambda: np.full(n, rng.choice([1e-3, 0.2, 0.7])),
    }[str(rng.choice(["uniform", "beta", "rare", "atoms", "five", "one"]))]()
    odds = logit(np.clip(p, 1e-9, 1.0 - 1e-9))
    true = {
        "none": lambda: p,
        "shift": lambda: expit(odds + rng.choice([-1.0, -0.3, 0.3, 1.0])),
        "slope": lambda: expit(odds * rng.choice([0.4, 0.8, 1.3, 2.0])),
        "wave": lambda: np.clip(p + 0.1 * np.sin(25.0 * p), 0.0, 1.0),
        "little": lambda: np.clip(p + 0.004, 0.0, 1.0),
        "reversed": lambda: 1.0 - p,
        "nothing": lambda: np.full(n, p.mean()),
    }[str(rng.choice(["none", "none", "none", "shift", "slope", "wave", "little", "reversed", "nothing"]))]()
    y = (rng.random(n) < true).astype(float)
    kinds = {"rows": 0.62, "weights": 0.08, "rates": 0.07, "cells": 0.1, "classes": 0.05, "parts": 0.08}
    kind = str(rng.choice(list(kinds), p=list(kinds.values())))
    return rng, kind, y, p, true


def audited(seed):
    """The audit of a table drawn."""
    rng, kind, y, p, true = drawn(seed)
    options = {"n_resamples": int(rng.choice([0, 199, 199, 199])), "random_state": seed}
    if rng.random() < 0.3:
        options["max_distance"] = float(rng.choice([0.001, 0.01, 0.1, 0.4]))
    if rng.random() < 0.1:
        options["level"] = 0.01
    if kind == "weights":
        return calibrant.audit(y, p, sample_weight=rng.exponential(size=y.size) + 0.01, **options)
    if kind == "rates" and not np.isin(p, (0.0, 1.0)).all():  # rates at hard predictions are refused
        return calibrant.audit(np.clip(true, 0.001, 0.999), p, **options)
    if kind == "cells":
        return calibrant.CalibrationSketch(resolution=256).update(y, p).audit(**options)
    if kind == "parts" and y.size >= 100:
        day = np.sort(rng.integers(0, 10, y.size))
        frame = pd.DataFrame({"y": y, "p": p, "day": day, "site": rng.choice(["a", "b", "c"], y.size)})
        off = rng.choice(["none", "site", "day"])
        turned = (frame["site"] == "a") & (off == "site") | (frame["day"] > 6) & (off == "day")
        frame["y"] = np.where(turned, rng.random(y.size) < np.sqrt(p), y).astype(float)
        return calibrant.audit_table(frame, y_true="y", y_prob="p", by="site", drift="day", **options)
    if kind == "classes" and y.size >= 20:
        table = rng.dirichlet(np.ones(3), y.size)
        label = (table.cumsum(axis=1) < rng.random((y.size, 1))).sum(axis=1)
        sharp = table ** rng.choice([1.0, 2.0])
        return calibrant.audit(label, sharp / sharp.sum(axis=1, keepdims=True), **options)
    return calibrant.audit(y, p, **options)


def searched(seed):
    """The audit and the gate of a table with a column of customers, in which one site may be off."""
    rng = np.random.default_rng([seed, 21])
    n = int(rng.choice([300, 1500, 6000]))
    p, customer = rng.beta(2.0, 3.0, n), np.arange(n) // int(rng.choice([1, 3]))
    site = rng.choice(["a", "b", "c", "d"], n)[customer]
    off = rng.choice([0.0, 0.06, 0.15, 0.3]) * np.where(rng.random() < 0.3, np.where(p < 0.4, 1.0, -1.0), 1.0)
    y = (rng.random(n) < np.clip(p + np.where(site == "a", off, 0.0), 0.0, 1.0)) * 1
    frame = pd.DataFrame({"y": y, "p": p, "site": site, "plan": rng.choice(["u", "v"], n), "customer": customer})
    limit = float(rng.choice([0.02, 0.05, 0.1, 0.3]))
    of = {"y_true": "y", "y_prob": "p", "find": ("site", "plan"), "max_distance": limit}
    of |= {"groups": "customer", "max_weight": 3} if rng.random() < 0.4 else {}
    audit = calibrant.audit_table(frame, **of, n_resamples=999, random_state=0)
    return audit, check_opened(OpenedFrame(frame), GateRequest(**of, level=0.05), Listener())


def apart(audit, gated):
    """What the audit and the gate of one table say differently, a text each."""
    rows, found, wrong = gated.checks[0].result, gated.checks[1].result, []
    off = [each.name for each in found_off(audit) if abs(each.bias) > audit.max_distance]
    if found.verdict == "none beyond" and off:
        wrong.append(f"the gate passes {off}")
    if (rows.verdict == "within") != (audit.gate.verdict == "within"):
        wrong.append(f"all rows are {rows.verdict} and {audit.gate.verdict}")
    where, first = gated.checks[0].asides.where, audit.answer
    alone = first.examples or not found_off(audit)  # else one segment to blame, which the gate of all rows is not told
    if where and alone and not first.headline.endswith(where.removeprefix("Slightly ")):
        wrong.append(f"the gate says {where!r}")
    if rows.verdict == "within" and bool(gated.checks[0].asides.warning) == (
        first.state in ("no evidence", "too small to matter")
    ):
        wrong.append(f"the gate warns of {gated.checks[0].asides.warning!r}, the state is {first.state}")
    if any(each.pvalue > audit.level for each in found.undecided):
        wrong.append("undecided about what the search does not call off")
    return wrong


def faults(audit):
    """What does not fit together, a text each."""
    found = json.loads(audit.to_json())
    answer, test, gate = found["answer"], found["tests"]["calibration_test"], found["gate"]
    said, page, first = answer["sentence"], " ".join(audit.summary().split()), " ".join(found["sentences"])
    state, wrong = answer["state"], []

    def check(holds, what):
        if not holds:
            wrong.append(what)

    ran = "pvalue" in test
    odd = "which calibrated predictions rule out" in page
    many = "hardly makes so many" in page
    impossible = many or (odd and (gate is None or gate["lower_distance"]["low"] > 0.0))
    within = gate is not None and gate["verdict"] == "within"
    beyond = gate is not None and gate["verdict"] == "beyond"
    real = beyond or (ran and (test["reject"] or impossible))
    gain = found["advice"]["gain"]
    possible = None if gain is None else gain["log_loss"]["possible"]["high"] / gain["log_loss"]["before"]
    costly = gain is not None and not gain["doubt"] and gain["log_loss"]["relative_interval"]["low"] >= 0.01
    cheap = bool(found["classes"]) or (gain is not None and not gain["doubt"] and possible <= 0.01 and not costly)
    expected = (
        "not tested"
        if not (ran or beyond) and (found["options"]["n_resamples"] == 0 or not found["group_line"])
        else ("too small to matter" if within and cheap else "worth correcting")
        if real
        else ("no evidence" if within and cheap else "too few rows")
    )
    by_class = (ran or beyond) and found["classes"] and found["classes"]["state"]
    if by_class == "worth correcting" or (by_class and expected == "no evidence"):
        expected = by_class
    check(state == expected, f"state {state}, expected {expected}")
    check(answer["action"] in ACTIONS[state], f"{state}: {answer['action']}")
    limit = answer["max_distance"]
    parts = [each for each in found["segments"] if each["reject"] and each["lower_distance_bracket"]["upper"] > limit]
    parts += [each for each in found["periods"] if each["reject"]]
    for each in (found["found_segments"] or {"segments": []})["segments"]:
        most = max(abs(each["bias"]), abs(each["where_bias"]) * each["where_share"])
        parts += [each] if each["conditions"] and most > limit else []
    if state not in ("worth correcting", "not tested"):
        check((answer["action"] == "look at the parts") == bool(parts), "parts are off, and nothing follows from it")
    in_parts = answer["action"] == "look at the parts" or "allowing for" in said or "may be false alarms" in said
    ruled_out = "No error that matters" in said or "Over all rows no error matters" in said
    check(ruled_out == (state == "no evidence"), "no error that matters")
    check(("No sign of error" in said) == (state == "too few rows"), "no sign of error")
    sure = "This is not chance" in said
    against = "which calibrated predictions rule out" in said and "No sign of error" not in said
    told = sure or "Chance alone rarely does this" in said or against
    told = told or (beyond and "A bound proves this" in said) or (bool(by_class) and "Single classes are off" in said)
    check(told == (state in REAL) or in_parts, "not chance")
    check(in_parts or not sure or answer["pvalue"] < 0.001, "sure of what chance may do")
    small = "too small to matter" in said or "Over all rows it is small" in said
    check(small == (state == "too small to matter"), "too small")
    check(("and change nothing" in said) == (answer["action"] in LEAVE), "leave")
    check("neither rely" not in page.lower() and "do not settle" not in page, "words that are gone")
    check(said in first and said in page, "the page does not begin with the answer")
    check(answer["direction"] is None or state in REAL, "a direction without evidence")
    check(not found["regions"] or not ran or real, "regions without evidence")
    if ran:
        check(test["reject"] == (test["pvalue"] <= test["level"]), "reject")
        check(answer["pvalue"] == test["pvalue"], "p-value")
        # Of classes the page has other tests too, of whole vectors and class by class.
        check(not test["reject"] or found["classes"] or "does not reject" not in page, "the page does not reject")
        printed = re.search(r"p = ([0-9.e-]+)", said)
        check(in_parts or not printed or abs(float(printed[1]) / test["pvalue"] - 1.0) < 0.34, "p in words")
        below, above = (f"p {side} {test['level']:g}" in said for side in "<>")
        check(in_parts or below == (0.001 <= test["pvalue"] <= test["level"] and told), "p below")
        check(not above or not test["reject"], "p above")
    check(answer["interval"] is not None or state != "no evidence", "nothing is bounded, and an error ruled out")
    if answer["interval"] is not None:
        low, high = answer["interval"]["low"], answer["interval"]["high"]
        check(0.0 <= low <= high <= 1.0, "interval")
        check(state != "too small to matter" or high <= answer["max_distance"], "small, and not within")
        check(gate["lower_distance"]["high"] == high, "another upper end")
        for number in re.findall(r"(?:at most|likely [0-9.]+ to|error of up to) ([0-9.]*[0-9])(?![0-9.]*%)", said):
            check(float(number) / 100.0 >= high - 1e-9, f"printed {number} points, proved {high}")
            small = state in ("no evidence", "too small to matter")
            check(not small or float(number) <= 100.5 * answer["max_distance"], "small, and printed beyond")
        for number in re.findall(r"likely ([0-9.]*[0-9]) to", said):
            check(float(number) / 100.0 <= low + 1e-9, f"printed {number} points, proved {low}")
    move = re.search(r"would have to move by ([0-9.]*[0-9]) point", said)
    if move:
        check(abs(float(move[1]) / 100.0 - answer["size"]) <= 0.051 * answer["size"] + 1e-12, "another size")
    lower = found["lower_distance_bracket"]
    check(lower["lower"] - 1e-12 <= answer["size"] <= lower["upper"] + 2e-9, "size")
    chosen, scores = found["advice"]["chosen"], {each["method"]: each for each in found["advice"]["scores"]}
    check(chosen is not None or not scores, "scores without advice")
    check(not (scores and gain), "the gain of a map that was compared with others")
    check(chosen is None or state == "worth correcting", "advice that nobody asked for")
    fitted = chosen not in (None, "unchanged", "constant")
    check((answer["action"] == "recalibrate") == (fitted and answer["action"] != "check the labels"), "recalibrate")
    fall = re.search(r"should improve by ([0-9.]+)%, likely ([0-9.]+)% to ([0-9.]+)%", said)
    alone = " alone (SegmentRecalibrator)" in said  # one segment, whose own map is not fitted here
    alone = alone or "If it lasts, correct the predictions with the rows since " in said
    check(chosen != "averaged" or fall is not None or alone or answer["action"] != "recalibrate", "without its gain")
    if fall:
        log = gain["log_loss"]
        shares = (log["value"] / log["before"], *log["relative_interval"].values())
        for number, share in zip(fall.groups(), shares, strict=True):
            check(abs(float(number) - 100.0 * share) <= 0.51, f"a gain of {number}% that is another")
    at_most = re.search(r"would improve the score \(log loss\) by (?:at most|less than) ([0-9.]+)%", said)
    check(not at_most or 100.0 * possible <= float(at_most[1]) + 0.051, "a possible gain that is another")
    check(gain is None or answer["action"] not in LEAVE or possible <= 0.01, "left, and a map could gain much")
    falls = re.search(r"the error falls from ([0-9.]+) to ([0-9.]+) point", said)
    if falls:
        for name, number in zip(("unchanged", chosen), falls.groups(), strict=True):
            distance = scores[name]["lower_calibration_distance"]
            check(abs(float(number) / 100.0 - distance) <= 0.051 * distance, "the distance falls otherwise")
    conditional, sure = "if rows of one " in said, sure or state in ("no evidence", "too few rows") or told
    check(not conditional or audit.perhaps_groups is not None, "a condition that does not apply")
    check(conditional or audit.perhaps_groups is None or not sure, "chance without its condition")
    missing = answer["interval"] is None and (audit.weighted or audit.n_groups is not None)
    check(missing or "--max-weight" not in said, "max_weight")
    check("could be noise" not in page, "could be noise")
    check(all(each["holds"] for each in found["inequalities"]), "an inequality fails")
    return wrong


def found_in(cases, seed):
    """What was found in so many tables of this seed, a text each, and how many have which answer."""
    states, found = Counter(), []
    for number in range(cases):
        table = int(np.random.default_rng([seed, number]).integers(2**31))
        audit = audited(table)
        states[audit.answer.state] += 1
        found += [f"audited({table}): {what}: {audit.answer.sentence}" for what in faults(audit)]
        if number % 10 == 0:
            audit, gated = searched(table)
            wrong = [*faults(audit), *apart(audit, gated)]
            found += [f"searched({table}): {what}: {audit.answer.sentence}" for what in wrong]
    return found, states


def main():
    """Audit so many tables, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="?", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4)))
    said = parser.parse_args()
    print(f"seed {said.seed}", flush=True)
    found, states = found_in(said.cases, said.seed)
    print(*found, sep="\n")
    print(f"{said.cases} audits, {len(found)} contradictions; states: {dict(states)}")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
