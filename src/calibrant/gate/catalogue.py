"""All sentences of a gate: its verdict and what to do, what stands beside it, and which options have no effect."""

from __future__ import annotations

from calibrant.door.request import (
    CENSORED,
    LOG,
    NO_SEARCH,
    NO_WEIGHTS,
    OF_CLASSES,
    OF_ROWS,
    OF_SINGLE,
    ROLES,
    SEARCH,
    TOO_DEEP,
    Idle,
)

# The verdict, and what to do.
USE = "Do: use the predictions as they are."
CORRECT = "Do: do not use the predictions yet; calibrant audit shows where they err and what to correct."
COLLECT = "Do: do not use the predictions yet if the limit matters; collect {more} and gate them again."
DISTANCES = (
    "How far predictions would have to move on average to be calibrated; limit {limit}. 'At most' holds with {sure} "
    "confidence in each check"
)
IN_ALL = ", 'at least' in all {n:,} together; a check alone proves a larger 'at least':"
REST = "and {n:,} more: {counts}; --json and --junit have all of them"
NO_SEGMENT_BEYOND = "; no found segment is proved beyond"

# Beside the verdict: where predictions err, what a small error may cost, and what to do about it.
FEW_GROUPS = "before you use the predictions; calibrant audit says more."
SEE_CLASSES = "use no probability of a single class before you have seen what calibrant audit says of it."
CORRECT_ALL_THE_SAME = "correct the predictions all the same before you use them; calibrant audit prints the code."
SEE_AUDIT = "do not use the predictions before you have seen what calibrant audit says of them."
IMPROVES = "correcting would improve the score (log loss) {by}"
REAL = "a real error, within the limit"
NOT_SURE = "an error, within the limit ({p})"
NO_SIGN = "no sign of error, but {cost}."
CLASSES_OFF = "single classes are off, {worst} farthest (by {size})."

# The rows.
INDEPENDENT = "Rows are taken to be independent; if those of one {name} depend on one another, {ways}."
NO_GROUPS_BESIDE = "gate all rows without --{option}, which takes no groups, and {ways}"
FIND_ALL = "; --find all gates the segments that they make"
TOP_LABEL = "Of the {n} classes the top label is gated: was the most probable class right?"
NEW_ROWS = "{file} begins with {rows} that {state} has: only the {new} after {them} {are} added."

# Rows that a state has, or may have.
NO_MAX_WEIGHT = "cannot be used: this gate has no max_weight, so its rows have no weights"
SAME_BATCH = "are exactly those of an earlier batch"
READ_OTHERWISE = "is {now}, and the rows of {state!r} have {was}; nothing was added"
ADDED_FILE = "{file!r} was added to {state} before, and did not change since; nothing was added"
ALL_THERE = "all {rows} of {file} are already in {state}"
COPY = "the {rows} of {file} are equal to rows that {state} has, too few events to tell a copy from a new batch"
GROWN = "{file} begins with the {rows} that {state} already has, too few events to tell a grown log from a new batch"
ONLY_NEW = "if it is the same log, give only its new rows, or a column of ids or times"
OTHER_POPULATION = "{file} and {state} cannot be one population ({ends}): predictor, data or label changed"
NEW_STATE = "begin another state with --anytime NEWSTATE"

# A baseline, and columns and sketches that a gate does not take.
NO_ITEMS = "leave it out; rows are matched where both files are of rows, not too many, with few checks"
SHARED = "{name!r} and FILE share about {rows}, predictions and all; the two are compared as independent rows"
OTHER_BASELINE = "name other rows, or the baseline's predictions of all rows of FILE in their order"
ITSELF = "{path!r} is FILE itself, or a part of it, which is never worse than itself"
ALL_OTHERS = "--distinct says that all rows are other ones"
TWO_CLASSES = "columns {!r} ... {!r} are probabilities of classes, and the gate takes one probability: name the event's"
TAKE_ROWS = "gate all rows by --max-distance and --max-weight, or the file of rows with --sample-weight"

# What is allowed where rows, or weights, cannot be taken.
BOUNDED = "use them with --sample-weight and --max-weight N, the most that one row (or group) can weigh, known before"
LEFT_OUT = "or leave them out with --unweighted (rows sampled by outcome need --sampling-fractions as well)"
SO_FAR = "--so-far, without FILE, says what is proved so far"
DISTINCT = f"--distinct says that they are other rows; {SO_FAR}"
OTHER_NAME = f"other rows are taken with --distinct from a file of another name; {SO_FAR}"

# Which options have no effect beside others, or in which mode.
_SEGMENTS = "cannot be combined with --by or --find, which take rows with an outcome each"
_BASELINE = "cannot be combined with --baseline yet: it takes single, independent rows"
_NO_WEIGHTS = "has no effect: rows have no weights with"
GATE = (
    Idle(
        "so far",
        f"file {ROLES} max_regret threshold groups unweighted trials sampling_fractions time event horizon "
        "strata least_followed by find max_depth "
        "baseline max_worse items pos_label exclude_bad filesystem distinct",
        "cannot be used with --so-far, which says what a state proves and adds no rows",
    ),
    Idle("no state", "so_far", "needs --anytime STATE"),
    Idle("distance", "threshold", "needs --max-regret"),
    Idle("regret", "anytime", "needs --max-distance; a bound of regret holds for rows read once"),
    Idle("regret", "by find max_depth baseline max_worse items", "is of --max-distance only"),
    Idle("no search", "max_depth", NO_SEARCH, SEARCH),
    TOO_DEEP,
    Idle("no baseline", "max_worse", "says how much worse than a baseline is allowed; name it with --baseline"),
    Idle("no baseline", "items", "says how rows of FILE and of a baseline belong together; name it with --baseline"),
    Idle(
        "begun by one source",
        "distinct",
        "has no effect: STATE holds no rows yet, and FILE is one source, whose rows are not compared",
        "leave it out of the first run",
    ),
    Idle("state", "trials", "cannot be used with --anytime: it takes single rows; write each trial as a row"),
    Idle("state", "horizon", "cannot be used with --anytime: the share that is followed is estimated anew each time"),
    Idle("trials", "horizon", "cannot be used with --trials: it is of single rows"),
    Idle("state", "sampling_fractions", "cannot be used with --anytime yet: a state holds weights of one scale"),
    Idle("state", "groups", "cannot be used with --anytime: it assumes independent rows"),
    Idle("state", "by find baseline", "cannot be used with --anytime: it adds up the rows of one population"),
    Idle("trials", "sample_weight", "cannot be used with --trials, itself a column of weights"),
    Idle("trials", "sampling_fractions", OF_SINGLE),
    *CENSORED,
    Idle(
        "fractions",
        "sample_weight",
        "cannot be used with --sampling-fractions, which are weights themselves",
        "give --unweighted in its place",
    ),
    Idle("fractions", "max_weight", "has no effect: --sampling-fractions say what a row can weigh"),
    Idle("segments", "trials", _SEGMENTS, "write each trial as a row"),
    Idle("baseline", "sample_weight trials groups sampling_fractions horizon", _BASELINE),
    Idle(
        "segments of single rows",
        "max_weight",
        f"{_NO_WEIGHTS} --by and --find here",
        "with --groups or --sample-weight they take it",
    ),
    Idle("baseline of single rows", "max_weight", f"{_NO_WEIGHTS} --baseline"),
    NO_WEIGHTS,
    Idle(
        "log",
        f"{ROLES} by find exclude_bad unweighted groups trials sampling_fractions horizon max_weight pos_label",
        LOG,
    ),
    Idle(
        "sketches", f"{ROLES} find exclude_bad unweighted groups pos_label trials sampling_fractions horizon", OF_ROWS
    ),
    Idle("classes", "by trials find exclude_bad sampling_fractions horizon pos_label", OF_CLASSES),
    Idle(
        "state without a limit",
        "anytime",
        "needs --max-distance: a state is for one limit, chosen before its first rows",
        "such as --max-distance 0.05",
    ),
    Idle("regret of sums", "max_weight", "is of single rows here: a bound of regret takes sums without weights"),
)
