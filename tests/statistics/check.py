"""Secchi's statistics against scipy, statsmodels and numpy, on ten seeded pairs of graded files.

    check.py sets FILE                  writes the pairs
    check.py compare FILE NUMBERS       compares what Secchi makes of them (tests/it/statistics.rs) with the references

Wilson's intervals, mid-p McNemar, paired t (p and interval), the interval of Agresti and Min, Holm's correction and the
values themselves agree to 1e-9 in the unit of the column, percent or points.

A bound of a percentile bootstrap is a quantile of random resamples, 2,000 of Secchi's and 20,000 here, each with seeds of
their own. So it is held against the reference's resamples in probability: of these the share below a lower bound is 2.5 %
(97.5 % for an upper one) up to 4.5 standard errors of such a share, sqrt(0.025 * 0.975 * (1/2000 + 1/20000)).
"""

import json
import math
import sys

import numpy as np

ABSOLUTE = 1e-9
SECCHI_RESAMPLES, RESAMPLES = 2_000, 20_000
ERRORS = 4.5
CHUNK = 500

PERCENT = {
    "central_object": "MBC-so", "object_detect": "MBC-mo", "central_object_appearance": "PMT", "camera_motion": "PDO",
    "central_object_motion": "OBK", "environment": "SM-e", "lighting": "SM-l",
}
OPEN_ENDED = ["camera_object_open_ended", "caption"]
CAPTION = ["BEH", "AH", "ECF"]
OEMU = [0.35, 0.30, 0.35]

# Videos, the share that the two have right, how often the second errs as the first does, how many videos have a type.
SETS = [
    ("ordinary", 500, (0.85, 0.80), 0.5, 1.0),
    ("small", 30, (0.9, 0.7), 0.2, 1.0),
    ("good", 245, (0.967, 0.95), 0.6, 1.0),
    ("nearly perfect", 500, (0.998, 0.99), 0.3, 1.0),
    ("of different sizes", 120, (0.6, 0.7), 0.4, 0.3),
    ("equal", 60, (0.5, 0.5), 1.0, 1.0),
    ("all against nothing", 40, (1.0, 0.0), 0.0, 1.0),
    ("two videos", 2, (0.5, 0.5), 0.0, 1.0),
    ("one video", 1, (1.0, 0.0), 0.0, 1.0),
    ("large", 4000, (0.5, 0.47), 0.0, 1.0),
]


def made(place, name, videos, shares, agreeing, present):
    random = np.random.default_rng(20261130 + place)
    questions, files = [], ([], [])
    for video in range(videos):
        camera = ["static", "moving", "unknown"][video % 2 if videos < 100 else random.integers(3)]
        for kind in [*PERCENT, *OPEN_ENDED]:
            if random.random() >= present:
                continue
            questions.append([kind, camera, video])
            same = random.random() < agreeing
            draws = [random.random(3), random.random(3)]
            if same:
                draws[1] = draws[0]
            for file, share, draw in zip(files, shares, draws):
                if kind in PERCENT:
                    file.append(bool(draw[0] < share))
                else:
                    # Five points as often as a letter is right, and otherwise any.
                    file.append([5 if one < share else int(one * 1e6) % 6 if share else 0 for one in draw])
    return {"name": name, "questions": questions, "first": files[0], "second": files[1]}


def columns(questions, graded):
    """By column what each video adds to it, as {video: value}."""
    found = {}
    for (kind, camera, video), answer in zip(questions, graded):
        if kind in PERCENT:
            values = {PERCENT[kind]: 100.0 * answer}
        elif kind == "caption":
            values = {f"{camera}/{name}": float(score) for name, score in zip(CAPTION, answer)}
        else:
            values = {"OEMU": sum(weight * score for weight, score in zip(OEMU, answer))}
        for column, value in values.items():
            if not column.startswith("unknown/"):
                assert video not in found.setdefault(column, {}), "a type occurs once a video"
                found[column][video] = value
    return found


class Deviations:
    """The largest deviation of each kind, and where it is."""

    def __init__(self):
        self.kinds = {}
        self.failures = []

    def note(self, kind, where, deviation, allowed):
        count, largest, place, _ = self.kinds.get(kind, (0, -1.0, "", allowed))
        if not deviation <= largest:
            largest, place = deviation, where
        self.kinds[kind] = (count + 1, largest, place, allowed)
        if not deviation <= allowed:
            self.failures.append(f"{kind}, {where}: {deviation:.3g} is above {allowed:.3g}")

    def exact(self, kind, where, got, expected):
        for one, other in zip(np.ravel(got), np.ravel(expected), strict=True):
            self.note(kind, where, abs(float(one) - float(other)), ABSOLUTE)


def resampled(tallies, random):
    """Means of the columns' means over resamples of the videos; `tallies` has a row a video: sums, then counts."""
    videos, width = tallies.shape[0], tallies.shape[1] // 2
    means = []
    for _ in range(0, RESAMPLES, CHUNK):
        drawn = random.integers(videos, size=(CHUNK, videos))
        totals = np.stack([tallies[:, place][drawn].sum(axis=1) for place in range(2 * width)], axis=1)
        totals = totals[(totals[:, width:] > 0).all(axis=1)]
        means.append((totals[:, :width] / totals[:, width:]).mean(axis=1))
    return np.concatenate(means)


def check_bootstrap(deviations, where, tallies, bounds, top, random):
    from statsmodels.stats.proportion import proportion_confint

    allowed = ERRORS * math.sqrt(0.025 * 0.975 * (1 / SECCHI_RESAMPLES + 1 / RESAMPLES))
    means = resampled(np.array(tallies), random)
    if np.ptp(means) <= ABSOLUTE:
        # Resamples that are all alike say nothing: Wilson's interval for that share of the scale stands in.
        share, n = means[0] / top, len(tallies)
        expected = top * np.array(proportion_confint(share * n, n, alpha=0.05, method="wilson"))
        deviations.exact("Wilson where videos are alike", where, bounds, expected)
        return
    for bound, tail in zip(bounds, [0.025, 0.975], strict=True):
        # Many resamples may lie on the bound itself.
        below, up_to = (means < bound - ABSOLUTE).mean(), (means <= bound + ABSOLUTE).mean()
        deviations.note("bootstrap interval (share of resamples)", where, max(below - tail, tail - up_to, 0.0), allowed)


def check_scores(deviations, name, questions, graded, told, random):
    from scipy.stats import binomtest
    from statsmodels.stats.proportion import proportion_confint

    found = columns(questions, graded)
    for column, videos in found.items():
        where, score, values = f"{name} {column}", told[column], list(videos.values())
        n = len(values)
        deviations.exact("value of a column", where, [score["value"], score["n"]], [math.fsum(values) / n, n])
        if column in PERCENT.values():
            hits = round(sum(values) / 100)
            deviations.exact("Wilson, statsmodels", where, np.array(score["ci95"]) / 100,
                             proportion_confint(hits, n, alpha=0.05, method="wilson"))
            interval = binomtest(hits, n).proportion_ci(0.95, method="wilson")
            deviations.exact("Wilson, scipy", where, score["ci95"], [100 * interval.low, 100 * interval.high])
        else:
            check_bootstrap(deviations, where, [[value, 1] for value in values], score["ci95"], 5.0, random)
    if all(column in found for column in PERCENT.values()):
        parts = [found[column] for column in PERCENT.values()]
        value = math.fsum(math.fsum(part.values()) / len(part) for part in parts) / len(parts)
        deviations.exact("value of a column", f"{name} MCQ", told["MCQ"]["value"], value)
        videos = sorted(set().union(*parts))
        tallies = [[part.get(video, 0.0) for part in parts] + [video in part for part in parts] for video in videos]
        check_bootstrap(deviations, f"{name} MCQ", np.array(tallies, dtype=float), told["MCQ"]["ci95"], 100.0, random)


def check_counts(deviations, where, first, second, told):
    """McNemar's mid-p, and the interval of Agresti and Min for a difference of paired shares."""
    from scipy.stats import binom, norm
    from statsmodels.stats.contingency_tables import mcnemar

    pairs = [(first[video] > 0, second[video] > 0) for video in first]
    won, lost, n = pairs.count((True, False)), pairs.count((False, True)), len(pairs)
    least, differing = min(won, lost), won + lost
    on_least = binom.pmf(least, differing, 0.5)
    deviations.exact("mid-p McNemar, scipy", where, told["p"], min(2 * binom.cdf(least, differing, 0.5) - on_least, 1))
    if won != lost:
        exact = mcnemar([[pairs.count((True, True)), won], [lost, pairs.count((False, False))]], exact=True).pvalue
        deviations.exact("mid-p McNemar, statsmodels less the point", where, told["p"], exact - on_least)
    b, c, more = won + 0.5, lost + 0.5, n + 2
    centre, z = (b - c) / more, norm.ppf(0.975)
    half = z * np.sqrt((b + c) - (b - c) ** 2 / more) / more
    deviations.exact("difference of shares", where, told["value"], 100 * (won - lost) / n)
    deviations.exact("Agresti-Min interval", where, told["ci95"], [100 * (centre - half), 100 * (centre + half)])


def check_parts(deviations, where, first, second, told):
    """A paired t test over videos; `first` and `second` have a value a video, whose means differ as the columns do."""
    from scipy.stats import ttest_rel

    differences = first - second
    value = differences.mean()
    deviations.exact("difference of means", where, told["value"], value)
    if len(first) < 2 or np.allclose(differences, value, rtol=0, atol=1e-9):
        # No test has anything to say where all videos agree; Secchi's word for that is 1 or 0.
        expected = 1.0 if len(first) < 2 or value == 0 else 0.0
        deviations.exact("paired t where all videos agree (convention)", where, [told["p"], *told["ci95"]],
                         [expected, value, value])
        return
    reference = ttest_rel(first, second)
    interval = reference.confidence_interval(0.95)
    deviations.exact("paired t, p", where, told["p"], reference.pvalue)
    deviations.exact("paired t, interval", where, told["ci95"], [interval.low, interval.high])


def check_differences(deviations, name, questions, files, told):
    first, second = (columns(questions, graded) for graded in files)
    for column in first:
        where = f"{name} {column}"
        if column in PERCENT.values():
            check_counts(deviations, where, first[column], second[column], told[column])
        else:
            of = [np.array([file[column][video] for video in first[column]]) for file in (first, second)]
            check_parts(deviations, where, *of, told[column])
    if "MCQ" in told:
        names = list(PERCENT.values())
        videos = sorted({video for column in names for video in first[column]})
        # What a video adds to the mean of the columns' means, as a value of which MCQ is the plain mean.
        add = lambda file, video: math.fsum(
            file[column][video] * len(videos) / len(names) / len(file[column]) for column in names if video in file[column]
        )
        of = [np.array([add(file, video) for video in videos]) for file in (first, second)]
        check_parts(deviations, f"{name} MCQ", *of, told["MCQ"])


def check_holm(deviations, name, numbers):
    from statsmodels.stats.multitest import multipletests

    told = [numbers["differences"][column]["p"] for column in numbers["holm"]]
    raised = multipletests(told, method="holm")[1]
    deviations.exact("Holm", name, list(numbers["holm"].values()), raised)


def compare(sets, numbers):
    deviations, random = Deviations(), np.random.default_rng(2026)
    for made_set, told in zip(sets, numbers, strict=True):
        name, questions = made_set["name"], made_set["questions"]
        assert name == told["name"]
        for file in ("first", "second"):
            check_scores(deviations, name, questions, made_set[file], told[file], random)
        check_differences(deviations, name, questions, (made_set["first"], made_set["second"]), told["differences"])
        check_holm(deviations, name, told)
    print(f"{'statistic':<46} {'numbers':>7} {'largest deviation':>18} {'allowed':>9}  where")
    for kind, (count, largest, where, allowed) in deviations.kinds.items():
        print(f"{kind:<46} {count:>7} {largest:>18.3g} {allowed:>9.3g}  {where}")
    for failure in deviations.failures:
        print(f"FAILED {failure}", file=sys.stderr)
    return 1 if deviations.failures else 0


if __name__ == "__main__":
    command, path, *rest = sys.argv[1:]
    if command == "sets":
        with open(path, "w") as file:
            json.dump([made(place, *described) for place, described in enumerate(SETS)], file)
    else:
        with open(path) as file, open(rest[0]) as numbers:
            sys.exit(compare(json.load(file), json.load(numbers)))
