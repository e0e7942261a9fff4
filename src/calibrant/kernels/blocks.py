"""Smooth calibration error of many rows: the forward pass of smooth.py on masses per bin of keys, block by block.

The pass eats from both ends of the keys, and a value needs only how much was eaten on the far side of the last key:
from the top of the keys below it, from the bottom of those above. So keys are put into bins, in their order, and a bin
has its mass, a whole number, and its moment. A block of rows whose keys lie strictly between the bins that it eats is
one step. Bins that are eaten from one end, or wholly, are settled by their moments. Of the few others, those that both
ends ate or that are left in part, the rows are ranked and what was logged of them is eaten again, key by key.
docs/smooth.md proves that the value is that of the pass, and bounds its rounding.
"""

from __future__ import annotations

import math

import numpy as np

from calibrant.kernels.bits import leading_zeros, trailing_zeros
from calibrant.kernels.compiled import inner, njit
from calibrant.kernels.sums import add
from calibrant.kernels.types import FloatArray, IntArray, UIntArray

_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_ALL = ~_ZERO
_LOW = np.uint64(63)
_UNITS = 2.0**60  # to the height 1: a bin may hold the whole mass of 2 and be given as much in one step
_STEP = 2.0**-60
_HIGHEST = np.int64(1 << 60)
BLOCK = 128
_PART = 16
"""Rows of a block that are tried together where the whole of it is not one step."""
_AT_ONCE = 16
"""Blocks that are described at once where the same thread eats: what is written of them stays near."""
_AHEAD = 64
"""Bins looked at, at most, to see that a block eats only outside its own keys."""
_FROM_TOP, _FROM_BOTTOM, _OPEN = np.uint8(1), np.uint8(2), np.uint8(4)
"""What is known of a bin: eaten in part from either end since it was last empty; not settled by its moment."""


@inner
def _read(
    keys: UIntArray,
    v: FloatArray,
    outcome: FloatArray,
    weight: FloatArray,
    first: int,
    rows: int,
    bits: UIntArray,
    place: FloatArray,
    residual: FloatArray,
) -> None:
    """Write predictions, and their weight less the outcomes', of some rows; bits are those of the places.

    Rows are slices: an index that might be negative to the compiler would be gathered one by one.
    """
    if keys.size > 0:
        of_keys = keys[first : first + rows]
        for i in range(rows):
            bits[i] = of_keys[i] >> _ONE
        for i in range(rows):
            residual[i] = place[i] - np.float64(of_keys[i] & _ONE)
        return
    of_v = v[first : first + rows]
    of_outcome = outcome[first : first + rows]
    for i in range(rows):
        place[i] = of_v[i]
    if weight.size > 1:
        of_weight = weight[first : first + rows]
        for i in range(rows):
            residual[i] = of_weight[i] * of_v[i] - of_outcome[i]
    else:
        each = weight[0]
        for i in range(rows):
            residual[i] = each * of_v[i] - of_outcome[i]


@inner
def _sum(term: FloatArray, rows: int) -> float:
    """Sum in eight parts, which do not wait for one another."""
    for i in range(rows, (rows + 7) // 8 * 8):
        term[i] = 0.0
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
    for i in range(0, rows, 8):
        s0 += term[i]
        s1 += term[i + 1]
        s2 += term[i + 2]
        s3 += term[i + 3]
        s4 += term[i + 4]
        s5 += term[i + 5]
        s6 += term[i + 6]
        s7 += term[i + 7]
    return ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))


@inner
def _add_up(start: float, rows: int, key: FloatArray, size: FloatArray) -> None:
    """Turn the residuals of a block into its keys: they are added as whole numbers, so that no sum of them rounds."""
    for i in range(rows):
        size[i] = abs(key[i])
    exponent = max(math.frexp(_sum(size, rows))[1], -900)
    unit = math.ldexp(1.0, exponent - 61)
    units = math.ldexp(1.0, 61 - exponent)
    total = np.int64(0)
    for i in range(rows):
        residual = np.int64(key[i] * units)
        key[i] = start + total * unit
        total += residual


@njit(cache=True, nogil=True)
def block_sums(
    keys: UIntArray,
    v: FloatArray,
    outcome: FloatArray,
    weight: FloatArray,
    first_block: int,
    last_block: int,
    total: FloatArray,
    falls: IntArray,
    ties: IntArray,
) -> None:
    """Write each block's sum of residuals, and how many predictions are below, or equal, the one before.

    Those outside [0, 1] count as below. Rows are sorted keys of sorting.py, or predictions, weighted outcomes and
    weights (one, if all are).
    """
    m = max(keys.size, v.size)
    place = np.empty(BLOCK)
    bits = place.view(np.uint64)
    residual = np.empty(BLOCK)
    later = place[1:]
    before = -1.0
    if first_block > 0 and keys.size > 0:
        bits[0] = keys[first_block * BLOCK - 1] >> _ONE
        before = place[0]
    elif first_block > 0:
        before = v[first_block * BLOCK - 1]
    for block in range(first_block, last_block):
        first = block * BLOCK
        rows = min(m, first + BLOCK) - first
        _read(keys, v, outcome, weight, first, rows, bits, place, residual)
        fall = np.int64(not before <= place[0])
        tie = np.int64(before == place[0])
        for i in range(rows - 1):
            fall += not place[i] <= later[i]
            tie += place[i] == later[i]
        before = place[rows - 1]
        fall += block == 0 and not place[0] >= 0.0
        fall += first + rows == m and not before <= 1.0
        total[block] = _sum(residual, rows)
        falls[block] = fall
        ties[block] = tie


@njit(cache=True, nogil=True)
def block_keys(total: FloatArray, start: FloatArray) -> tuple[float, float]:
    """Write the key before each block and after the last; return the least and the largest of these."""
    sum_ = 0.0
    lost = 0.0
    low = 0.0
    high = 0.0
    for block in range(total.size):
        key = sum_ + lost
        start[block] = key
        low = min(low, key)
        high = max(high, key)
        sum_, lost = add(sum_, lost, total[block])
    key = sum_ + lost
    start[total.size] = key
    return min(low, key), max(high, key)


@njit(cache=True, nogil=True)
def keys_in_turn(
    keys: UIntArray, v: FloatArray, outcome: FloatArray, weight: FloatArray, start: FloatArray
) -> tuple[float, float, int, int]:
    """As `block_sums` of all blocks, then `block_keys`; how many predictions are below, and equal, the one before."""
    blocks = start.size - 1
    total = np.empty(blocks)
    falls = np.empty(blocks, np.int64)
    ties = np.empty(blocks, np.int64)
    block_sums(keys, v, outcome, weight, 0, blocks, total, falls, ties)
    low, high = block_keys(total, start)
    fall = tie = 0
    for block in range(blocks):
        fall += falls[block]
        tie += ties[block]
    return low, high, fall, tie


@njit(cache=True, nogil=True)
def describe(
    keys: UIntArray,
    v: FloatArray,
    outcome: FloatArray,
    weight: FloatArray,
    start: FloatArray,
    scale: float,
    middle: int,
    size: int,
    first_block: int,
    last_block: int,
    bin_of: UIntArray,
    place: IntArray,
    about: FloatArray,
    part: FloatArray,
) -> None:
    """Write what the sweep needs of the rows of these blocks, and what nothing that is eaten changes.

    Each row's bin, among those of all rows; its place, behind that of the row before the first; twice its jump times
    how far its key is from its bin's centre; and each block's part of the value. Bins are `size`, those from `middle`
    on above the last key.
    """
    m = max(keys.size, v.size)
    last = start[start.size - 1]
    offset = float(middle)
    width = 1.0 / scale
    base = last + (0.5 - offset) * width  # the centre of bin b is base + b * width
    highest = size - 1.0
    key = np.empty(BLOCK)
    number = np.empty(BLOCK)
    bits = number.view(np.uint64)
    term = np.empty(BLOCK)
    gaps = np.empty(BLOCK, np.uint64)
    bins = np.empty(BLOCK, np.int32)
    for block in range(first_block, last_block):
        first = block * BLOCK
        rows = min(m, first + BLOCK) - first
        at = first - first_block * BLOCK
        _read(keys, v, outcome, weight, first, rows, bits, number, key)
        _add_up(start[block], rows, key, term)
        after = place[at + 1 : at + rows + 1]
        for i in range(rows):
            after[i] = np.int64(number[i] * _UNITS)
        if at == 0:
            before = number[0]
            if first > 0 and keys.size > 0:
                bits[0] = keys[first - 1] >> _ONE
                before = number[0]
            elif first > 0:
                before = v[first - 1]
            place[0] = np.int64(before * _UNITS)
        places = place[at : at + rows]
        for i in range(rows):
            gaps[i] = np.uint64(after[i] - places[i])
        for i in range(rows):
            bins[i] = np.int32(min(max((key[i] - last) * scale + offset, 0.0), highest))
        kept = bin_of[first : first + rows]
        for i in range(rows):
            kept[i] = bins[i]
        moved = about[at : at + rows]
        for i in range(rows):
            moved[i] = 2.0 * (gaps[i] * _STEP) * (key[i] - (base + bins[i] * width))
        for i in range(rows):
            term[i] = (gaps[i] * _STEP) * (key[i] if bins[i] >= middle else -key[i])
        part[block] = _sum(term, rows)


ENTRIES = 2
"""Where a sweep's state, with which the next goes on, has how many entries the log has; see its last lines."""


@njit(cache=True, nogil=True)
def sweep(
    start: FloatArray,
    scale: float,
    middle: int,
    first_block: int,
    last_block: int,
    bin_of: UIntArray,
    place: IntArray,
    about: FloatArray,
    mass: IntArray,
    sums: FloatArray,
    leaf: UIntArray,
    node: UIntArray,
    flag: UIntArray,
    since: UIntArray,
    until: UIntArray,
    when: UIntArray,
    where: UIntArray,
    eaten: IntArray,
    state: IntArray,
) -> bool:
    """Eat and give as the rows of these blocks do; whether there was room in the log.

    The log says at which row (`when`) which bin (`where`) lost how much (`eaten`: from the top; negative: from the
    bottom). Of each bin `sums` has the moment, that of what the far end ate, and that when it was last settled; trees
    have a bit for each bin with mass. All are zero before the first block.
    """
    moment, taken, settled = sums[0], sums[1], sums[2]
    size = mass.size
    last = start[start.size - 1]
    offset = float(middle)
    width = 1.0 / scale
    base = last + (0.5 - offset) * width
    if first_block == 0:
        bottom = np.int64(min(max((0.0 - last) * scale + offset, 0.0), size - 1.0))
        top = bottom
        mass[top] = 2 * _HIGHEST
        moment[top] = -2.0 * (base + top * width)
        leaf[top >> 6] |= _ONE << np.uint64(top & 63)
        node[top >> 12] |= _ONE << np.uint64((top >> 6) & 63)
        last_bottom = last_top = np.int64(-1)
        entries = entry_bottom = entry_top = np.int64(0)
    else:
        bottom, top, entries = state[0], state[1], state[2]
        last_bottom, last_top, entry_bottom, entry_top = state[3], state[4], state[5], state[6]
    room = when.size - 4 * BLOCK
    gaps = np.empty(BLOCK, np.int64)
    for block in range(first_block, last_block):
        first = block * BLOCK
        rows = min(bin_of.size, first + BLOCK) - first
        at = first - first_block * BLOCK
        bins = bin_of[first : first + rows]
        moved = about[at : at + rows]
        places = place[at : at + rows]
        after = place[at + 1 : at + rows + 1]
        for i in range(rows):
            gaps[i] = after[i] - places[i]
        if entries > room:
            return False

        a = 0
        c = rows
        while a < rows:
            least = np.int64(bins[a])
            largest = least
            whole = after[c - 1] - places[a]
            for i in range(c - a):
                b = np.int64(bins[np.uint64(a + i)])
                least = min(least, b)
                largest = max(largest, b)
            inside = bottom < least and largest < top
            if inside:
                rest = whole - mass[top]
                b = top
                while rest >= 0 and inside:
                    b -= 1
                    inside = b > largest and top - b < _AHEAD
                    rest -= mass[b]
                rest = whole - mass[bottom]
                b = bottom
                while rest >= 0 and inside:
                    b += 1
                    inside = b < least and b - bottom < _AHEAD
                    rest -= mass[b]
            if not inside and c - a > _PART:
                c = a + _PART
                continue
            for i in range(a, a + 1 if inside else c):
                gap = whole
                if not inside:
                    gap = gaps[i]
                    b = np.int64(bins[i])
                    if mass[b] == 0:
                        leaf[b >> 6] |= _ONE << np.uint64(b & 63)
                        node[b >> 12] |= _ONE << np.uint64((b >> 6) & 63)
                    mass[b] += 2 * gap
                    moment[b] += moved[i]
                    top = max(top, b)
                    bottom = min(bottom, b)
                    if b == last_top:
                        last_top = np.int64(-1)
                    if b == last_bottom:
                        last_bottom = np.int64(-1)

                rest = gap
                x = mass[top]
                while rest > 0:
                    y = min(x, rest)
                    if top != last_top:
                        last_top = top
                        entry_top = entries
                        when[entries] = first + i
                        where[entries] = top
                        eaten[entries] = y
                        entries += 1
                    else:
                        eaten[entry_top] += y
                    rest -= y
                    mass[top] = x - y
                    if x > y:
                        flag[top] |= _FROM_TOP
                        if top < middle:
                            taken[top] += (y * _STEP) * (base + top * width)
                        break
                    if flag[top] & _FROM_BOTTOM:
                        flag[top] = _OPEN
                        until[top] = first + i + 1
                        taken[top] = settled[top]
                    else:
                        flag[top] &= _OPEN
                        if top < middle:
                            taken[top] += (y * _STEP) * (base + top * width) + moment[top]
                        if flag[top] == 0:
                            since[top] = first + i + 1
                            settled[top] = taken[top]
                    moment[top] = 0.0
                    j = top >> 6
                    word = leaf[j] ^ (_ONE << np.uint64(top & 63))
                    leaf[j] = word
                    if word == _ZERO:
                        h = j >> 6
                        word = node[h] ^ (_ONE << np.uint64(j & 63))
                        node[h] = word
                        while word == _ZERO:
                            h -= 1
                            word = node[h]
                        j = (h << 6) | np.int64(_LOW - leading_zeros(word))
                        word = leaf[j]
                    top = (j << 6) | np.int64(_LOW - leading_zeros(word))
                    x = mass[top]

                rest = gap
                x = mass[bottom]
                while rest > 0:
                    y = min(x, rest)
                    if bottom != last_bottom:
                        last_bottom = bottom
                        entry_bottom = entries
                        when[entries] = first + i
                        where[entries] = bottom
                        eaten[entries] = -y
                        entries += 1
                    else:
                        eaten[entry_bottom] -= y
                    rest -= y
                    mass[bottom] = x - y
                    if x > y:
                        flag[bottom] |= _FROM_BOTTOM
                        if bottom >= middle:
                            taken[bottom] += (y * _STEP) * (base + bottom * width)
                        break
                    if flag[bottom] & _FROM_TOP:
                        flag[bottom] = _OPEN
                        until[bottom] = first + i + 1
                        taken[bottom] = settled[bottom]
                    else:
                        flag[bottom] &= _OPEN
                        if bottom >= middle:
                            taken[bottom] += (y * _STEP) * (base + bottom * width) + moment[bottom]
                        if flag[bottom] == 0:
                            since[bottom] = first + i + 1
                            settled[bottom] = taken[bottom]
                    moment[bottom] = 0.0
                    j = bottom >> 6
                    word = leaf[j] ^ (_ONE << np.uint64(bottom & 63))
                    leaf[j] = word
                    if word == _ZERO:
                        h = j >> 6
                        word = node[h] ^ (_ONE << np.uint64(j & 63))
                        node[h] = word
                        while word == _ZERO:
                            h += 1
                            word = node[h]
                        j = (h << 6) | np.int64(trailing_zeros(word))
                        word = leaf[j]
                    bottom = (j << 6) | np.int64(trailing_zeros(word))
                    x = mass[bottom]
            if inside:
                for i in range(np.uint64(a), np.uint64(c)):
                    u = bins[i]
                    x = mass[u]
                    mass[u] = x + 2 * gaps[i]
                    moment[u] += moved[i]
                    if x == 0:
                        b = np.int64(u)
                        leaf[b >> 6] |= _ONE << np.uint64(b & 63)
                        node[b >> 12] |= _ONE << np.uint64((b >> 6) & 63)
                if least <= last_top <= largest:
                    last_top = np.int64(-1)
                if least <= last_bottom <= largest:
                    last_bottom = np.int64(-1)
            a = c
            c = min(rows, c + _PART)
    state[0], state[1], state[2] = bottom, top, entries
    state[3], state[4], state[5], state[6] = last_bottom, last_top, entry_bottom, entry_top
    return True


@njit(cache=True, nogil=True)
def settle(
    start: FloatArray,
    middle: int,
    rows: int,
    part: FloatArray,
    mass: IntArray,
    sums: FloatArray,
    flag: UIntArray,
    until: UIntArray,
) -> float:
    """Return the value but for the open bins, after the last block; those that are left in part are opened."""
    taken, settled = sums[1], sums[2]
    last = start[start.size - 1]
    value = 0.0
    lost = 0.0
    for block in range(part.size):
        value, lost = add(value, lost, part[block])
    value, lost = add(value, lost, -last)
    left = 0
    for at in range(mass.size):
        if at < middle:
            left += int(mass[at])
        if mass[at] > 0 and flag[at] & (_FROM_TOP if at < middle else _FROM_BOTTOM):
            flag[at] = _OPEN
            until[at] = rows
            taken[at] = settled[at]
        value, lost = add(value, lost, taken[at] if at < middle else -taken[at])
    value, lost = add(value, lost, last * (left * _STEP))
    return value + lost


@njit(cache=True, nogil=True)
def sweep_in_turn(
    keys: UIntArray,
    v: FloatArray,
    outcome: FloatArray,
    weight: FloatArray,
    start: FloatArray,
    scale: float,
    middle: int,
    bin_of: UIntArray,
    mass: IntArray,
    flag: UIntArray,
    since: UIntArray,
    until: UIntArray,
    when: UIntArray,
    where: UIntArray,
    eaten: IntArray,
) -> tuple[float, int]:
    """Describe and sweep all blocks, a few at a time; return the value but for the open bins, and the log's entries.

    Minus one for entries: there was no room in the log.
    """
    blocks = start.size - 1
    place = np.empty(_AT_ONCE * BLOCK + 1, np.int64)
    about = np.empty(_AT_ONCE * BLOCK)
    part = np.empty(blocks)
    sums = np.zeros((3, mass.size))
    leaf = np.zeros((mass.size >> 6) + 1, np.uint64)
    node = np.zeros((mass.size >> 12) + 1, np.uint64)
    state = np.empty(7, np.int64)
    for first in range(0, blocks, _AT_ONCE):
        final = min(first + _AT_ONCE, blocks)
        describe(keys, v, outcome, weight, start, scale, middle, mass.size, first, final, bin_of, place, about, part)
        if not sweep(
            *(start, scale, middle, first, final, bin_of, place, about, mass, sums, leaf, node, flag),
            *(since, until, when, where, eaten, state),
        ):
            return 0.0, -1
    return settle(start, middle, bin_of.size, part, mass, sums, flag, until), state[ENTRIES]


@njit(cache=True, nogil=True)
def count_open(
    bin_of: UIntArray, since: UIntArray, until: UIntArray, count: IntArray, first_block: int, last_block: int
) -> None:
    """Write how many rows of each of these blocks their bins want again."""
    for block in range(first_block, last_block):
        hits = 0
        row = np.uint32(block * BLOCK)
        for b in bin_of[block * BLOCK : (block + 1) * BLOCK]:
            hits += row < until[b] and row >= since[b]
            row += np.uint32(1)
        count[block] = hits


@njit(cache=True, nogil=True)
def open_rows(
    keys: UIntArray,
    v: FloatArray,
    outcome: FloatArray,
    weight: FloatArray,
    start: FloatArray,
    bin_of: UIntArray,
    since: UIntArray,
    until: UIntArray,
    before: IntArray,
    first_block: int,
    last_block: int,
    row: UIntArray,
    open_key: FloatArray,
    jump: IntArray,
) -> None:
    """Write the rows that their bins want again, in order, with keys and jumps; `before`: how many precede a block."""
    key = np.empty(BLOCK)
    term = np.empty(BLOCK)
    place = np.empty(BLOCK + 1)
    bits = place.view(np.uint64)
    for block in range(first_block, last_block):
        c = before[block]
        if before[block + 1] == c:
            continue
        first = block * BLOCK
        rows = min(bin_of.size, first + BLOCK) - first
        _read(keys, v, outcome, weight, first, rows, bits, place, key)
        _add_up(start[block], rows, key, term)
        if keys.size > 0:
            bits[BLOCK] = keys[max(first - 1, 0)] >> _ONE
        else:
            place[BLOCK] = v[max(first - 1, 0)]
        bins = bin_of[first : first + rows]
        for i in range(rows):
            j = first + i
            if since[bins[i]] <= j < until[bins[i]]:
                row[c] = j
                open_key[c] = key[i]
                gap = np.int64(place[i] * _UNITS) - np.int64(place[i - 1 if i else BLOCK] * _UNITS)
                jump[c] = 2 * (gap if j else _HIGHEST)
                c += 1


@njit(cache=True, nogil=True)
def replay(
    bin_of: UIntArray,
    since: UIntArray,
    until: UIntArray,
    row: UIntArray,
    key: FloatArray,
    jump: IntArray,
    order: UIntArray,
    rank: UIntArray,
    segment: IntArray,
    mass: IntArray,
    when: UIntArray,
    where: UIntArray,
    eaten: IntArray,
    middle: int,
    first_bin: int,
    last_bin: int,
) -> float:
    """Moment that the far end ate of the open bins among these while they were open, negative above the last key.

    `segment` has the least rank in each bin; masses are scratch, as long as there are rows in open bins.
    """
    words = (row.size >> 6) + 1
    leaf = np.zeros(words, np.uint64)
    node = np.zeros((words >> 6) + 1, np.uint64)
    root = np.zeros((words >> 12) + 1, np.uint64)
    value = 0.0
    lost = 0.0
    c = 0
    for entry in range(when.size):
        b = np.int64(where[entry])
        time = when[entry]
        if not since[b] <= time < until[b] or b < first_bin or b >= last_bin:
            continue
        while c < row.size and row[c] <= time:
            j = np.int64(row[c])
            if first_bin <= bin_of[j] < last_bin:
                r = np.int64(rank[c])
                mass[r] = jump[c]
                leaf[r >> 6] |= _ONE << np.uint64(r & 63)
                node[r >> 12] |= _ONE << np.uint64((r >> 6) & 63)
                root[r >> 18] |= _ONE << np.uint64((r >> 12) & 63)
            c += 1
        rest = eaten[entry]
        down = rest > 0
        far = down == (b < middle)
        rest = abs(rest)
        r = segment[b + 1] - 1 if down else segment[b]
        while rest > 0:
            j = r >> 6
            word = leaf[j] & (_ALL >> np.uint64(63 - (r & 63)) if down else _ALL << np.uint64(r & 63))
            if word == _ZERO:
                n = j >> 6
                bit = _ONE << np.uint64(j & 63)
                word = node[n] & (bit - _ONE if down else ~(bit | (bit - _ONE)))
                if word == _ZERO:
                    h = n >> 6
                    bit = _ONE << np.uint64(n & 63)
                    word = root[h] & (bit - _ONE if down else ~(bit | (bit - _ONE)))
                    while word == _ZERO:
                        h += -1 if down else 1
                        word = root[h]
                    n = (h << 6) | np.int64(_LOW - leading_zeros(word) if down else trailing_zeros(word))
                    word = node[n]
                j = (n << 6) | np.int64(_LOW - leading_zeros(word) if down else trailing_zeros(word))
                word = leaf[j]
            r = (j << 6) | np.int64(_LOW - leading_zeros(word) if down else trailing_zeros(word))
            y = min(rest, mass[r])
            if far:
                value, lost = add(value, lost, (y if down else -y) * _STEP * key[order[r]])
            rest -= y
            mass[r] -= y
            if mass[r] == 0:
                word = leaf[j] ^ (_ONE << np.uint64(r & 63))
                leaf[j] = word
                if word == _ZERO:
                    n = j >> 6
                    word = node[n] ^ (_ONE << np.uint64(j & 63))
                    node[n] = word
                    if word == _ZERO:
                        root[n >> 6] ^= _ONE << np.uint64(n & 63)
    return value + lost
