"""Sweeps over the components of a chain, compiled. The equations are in `component_sweeps`.

Indices are unsigned, so that no kernel tests them for a negative sign.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array
from painless.common.compiling import inner, njit

# Sweeps up and down after which no more than this share of the states of a component should move by half of the last largest change
SWEEPS, MOVING = 16, 0.45
MISSED = 1  # spans for which their sweeps do not suffice, after which the others are left out
# Over-relaxation: the largest excess of a factor over 1, and how much of it is used: at first, and if so many sweeps leave more than a part of the changes
FURTHEST, BOLD, CAREFUL = 0.7, 0.7, 0.3
LOOK, LEFT = 8, 0.5
# Sweeps of the pairs that were chosen alone after one of all pairs: so many, or until changes are this share of what they were
FOLLOWED, SETTLED = 4, 0.1

Indices = NDArray[np.uint32]


@njit
def sweep_values(
    start: Indices,
    stop: Indices,
    target: Indices,
    weight: Array,
    stay: Array,
    gain: Array,
    order: Indices,
    bounds: Indices,
    least: float,
    floor: float,
    most: int,
    value: Array,
) -> None:
    """Sweep V = u + PV, (S,) each, in each component in turn, until no value changes by more than `least` of the largest there, or `floor`.

    A component has the states order[bounds[c]..bounds[c + 1] − 1]. It takes at most `most` sweeps.
    """
    for c in range(len(bounds) - 1):
        low, high = np.uint64(bounds[c]), np.uint64(bounds[c + 1])
        sweeps, done = 0, False
        while sweeps < most and not done:
            sweeps += 1
            change, size = 0.0, 0.0
            for i in range(low, high):
                s = np.uint64(order[i])
                total = gain[s]
                for k in range(start[s], stop[s]):
                    total += weight[k] * value[target[k]]
                total /= 1.0 - stay[s]
                change = max(change, abs(total - value[s]))
                size = max(size, abs(total))
                value[s] = total
            done = high - low == np.uint64(1) or change <= max(least * size, floor)


@njit
def sweep_visits(
    start: Indices,
    stop: Indices,
    target: Indices,
    weight: Array,
    stay: Array,
    order: Indices,
    bounds: Indices,
    least: float,
    floor: float,
    most: int,
    rest: Array,
    visits: Array,
) -> None:
    """Pass `rest` (S,) on until it is gone: d = ρ + dP, component after component, each before those that it leads to.

    A component is done if it keeps at most `least` of its visits, or `floor`, or after `most` sweeps.
    """
    for n in range(len(bounds) - 1):
        c = len(bounds) - 2 - n
        low, high = np.uint64(bounds[c]), np.uint64(bounds[c + 1])
        sweeps, done = 0, False
        while sweeps < most and not done:
            sweeps += 1
            kept, whole = 0.0, 0.0
            for i in range(low, high):
                s = np.uint64(order[high - np.uint64(1) - (i - low)])
                moved = rest[s] / (1.0 - stay[s])
                rest[s] = 0.0
                visits[s] += moved
                for k in range(start[s], stop[s]):
                    rest[target[k]] += weight[k] * moved
            done = high - low == np.uint64(1)
            if not done:
                for i in range(low, high):
                    s = np.uint64(order[i])
                    kept = max(kept, abs(rest[s]))
                    whole = max(whole, abs(visits[s]))
                done = kept <= max(least * whole, floor)


@njit
def components_in_order(first: Indices, pointer: Indices, successor: Indices) -> Indices:
    """Return the strongly connected component of every state of a model by its rows, (S,), numbered so that each comes after those that it leads to."""
    begin = pointer[first]
    return ordered_components(begin[:-1], begin[1:], successor, np.empty(0, np.uint32))[0]


@njit
def ordered_components(
    start: Indices, stop: Indices, successor: Indices, roots: Indices
) -> tuple[Indices, Indices, NDArray[np.bool_], Indices]:
    """Return the strongly connected component of every state, (S,), the states by their components, (S,), which of them the `roots` (n,) lead to, (S,), and where each component begins, (C + 1,).

    The successors of state s are successor[start[s]..stop[s] − 1]. Components are numbered so that each comes after those that it leads to; in each, states come after
    those that they lead to as far as there is no cycle: where a depth-first search leaves them, from the roots on, then from the state with the lowest number.
    This is Tarjan's algorithm (1972) with a path in the place of recursion.
    """
    states = len(start)
    label, left = np.empty(states, np.uint32), np.empty(states, np.uint32)
    seen = np.zeros(states, np.uint32)  # the order in which states are found, from 1 on
    back = np.zeros(states, np.uint32)  # the earliest state that is known to lead to it
    is_open = np.zeros(states, np.bool_)
    place = np.empty(states, np.uint32)  # the transition of each state that is followed next
    path, waiting = np.empty(states, np.uint32), np.empty(states, np.uint32)
    reached = np.zeros(states, np.bool_)
    found, components, held, ended = np.uint32(0), np.uint32(0), 0, 0
    for turn in range(len(roots) + states):
        root = np.uint64(roots[turn]) if turn < len(roots) else np.uint64(turn - len(roots))
        if turn == len(roots):
            reached[:] = seen > 0
        if seen[root] > 0:
            continue
        depth = 1
        path[0] = root
        while depth > 0:
            s = np.uint64(path[depth - 1])
            if seen[s] == 0:
                found += np.uint32(1)
                seen[s] = back[s] = found
                is_open[s] = True
                waiting[held] = s
                held += 1
                place[s] = start[s]
            end, deeper = stop[s], False
            while place[s] < end:
                t = np.uint64(successor[place[s]])
                if seen[t] == 0:
                    path[depth] = t
                    depth += 1
                    deeper = True
                    break
                if is_open[t]:
                    back[s] = min(back[s], back[t])
                place[s] += np.uint32(1)
            if deeper:
                continue
            depth -= 1
            left[ended] = s
            ended += 1
            if back[s] == seen[s]:
                while True:
                    held -= 1
                    t = np.uint64(waiting[held])
                    is_open[t] = False
                    label[t] = components
                    if t == s:
                        break
                components += np.uint32(1)
    bounds = np.zeros(components + 1, np.uint32)
    for n in range(states):
        bounds[label[n] + np.uint32(1)] += np.uint32(1)
    for c in range(components):
        bounds[c + 1] += bounds[c]
    if int(components) == states:
        return label, left, reached, bounds
    place, order = bounds[:-1].copy(), path
    for n in range(states):
        s = np.uint64(left[n])
        order[place[label[s]]] = s
        place[label[s]] += np.uint32(1)
    return label, order, reached, bounds


@inner
def relaxation(before: float, behind: float) -> float:
    """Return how much further than it is a change should be taken at a state that leads to earlier states and to later ones of its component with these probabilities.

    On a line with probabilities p and q Young's factor (1954) is 2/(1 + √(1 − 4pq)): with p + q = 1 even errors are gone in one sweep. Uneven ones may grow, so that only a part of it is used.
    """
    return min(2.0 / (1.0 + np.sqrt(max(1.0 - 4.0 * before * behind, 0.0))) - 1.0, FURTHEST)


@inner
def used_part(part: float, left: float, last: float) -> float:
    """Return how much of the factors is used from now on, if changes are `left` of which there were `last` some sweeps ago."""
    if left <= LEFT * last:
        return part
    return CAREFUL if part > CAREFUL else part if left <= last else 0.0


@njit
def pair_relaxation(
    first: Indices, pointer: Indices, successor: Indices, probability: Array, label: Indices, place: Indices
) -> Array:
    """Return how much further changes are taken by each pair, (N,), from the components (S,) and the places (S,) of the states."""
    further = np.zeros(len(pointer) - 1)
    for s in range(np.uint64(len(label))):
        for pair in range(first[s], first[s + np.uint64(1)]):
            before, behind, stay = 0.0, 0.0, 0.0
            for k in range(pointer[pair], pointer[pair + np.uint64(1)]):
                t = np.uint64(successor[k])
                if t == s:
                    stay += probability[k]
                elif label[t] == label[s]:
                    if place[t] < place[s]:
                        before += probability[k]
                    else:
                        behind += probability[k]
            if behind > 0.0:
                further[pair] = relaxation(before / (1.0 - stay), behind / (1.0 - stay))
    return further


@njit
def chain_relaxation(
    start: Indices, stop: Indices, target: Indices, weight: Array, stay: Array, label: Indices, place: Indices
) -> Array:
    """Return how much further changes are taken in each state of a chain, (S,)."""
    further = np.zeros(len(label))
    for s in range(np.uint64(len(label))):
        before, behind = 0.0, 0.0
        for k in range(start[s], stop[s]):
            t = np.uint64(target[k])
            if label[t] == label[s]:
                if place[t] < place[s]:
                    before += weight[k]
                else:
                    behind += weight[k]
        if behind > 0.0:
            further[s] = relaxation(before / (1.0 - stay[s]), behind / (1.0 - stay[s]))
    return further


@njit
def best_in_order(
    first: Indices,
    pointer: Indices,
    successor: Indices,
    probability: Array,
    utility: Array,
    further: Array,
    part: Array,
    order: Indices,
    spans: Indices,
    turns: bool,
    least: float,
    floor: float,
    most: int,
    value: Array,
    choice: Indices,
) -> int:
    """Sweep V = max u + PV, (S,), in each span in turn, with the best pair of each state as choice, until no value changes by more than in `sweep_values`.

    A span (n, 3) has the states order[span[0]..span[1] − 1], and takes at most span[2] sweeps, or as many as it needs if that is 0. Once some do not suffice, those with a limit
    are left out up to the next one without. Sweeps follow the order, and with `turns` every other one goes backwards. Changes are taken by a `part` (1,) of the `further` of the pair (N,) further, if that is not empty; the part becomes smaller if that does not help. A self-loop counts as if it were taken until it is left. A state keeps its pair unless
    another is better by more than rounding. Return how often a state was looked at; −1 if that is more often than `most`,
    or if all states of a component go on moving by about as much: then there is no direction in which to sweep.
    """
    work, missed = 0.0, 0
    alone = float(len(value)) / float(len(utility))  # the work of a state of which one pair is looked at
    for c in range(len(spans)):
        low, high, limit = np.uint64(spans[c, 0]), np.uint64(spans[c, 1]), int(spans[c, 2])
        done, descending, sweeps, change = limit > 0 and missed > MISSED, False, 0, 0.0
        relaxed, last = len(further) > 0 and high - low > np.uint64(1), np.inf
        improves, followed, goal, looked = True, 0, 0.0, 0
        while not done:
            work += float(high - low) * (1.0 if improves else alone)
            if work > most:
                return -1
            half, moving, sweeps = 0.5 * change, 0, sweeps + 1
            change, size = 0.0, 0.0
            for i in range(low, high):
                s = np.uint64(order[low + high - np.uint64(1) - i if descending else i])
                best, here, at = -np.inf, -np.inf, choice[s]
                current = at
                begin = first[s] if improves else current
                end = first[s + np.uint64(1)] if improves else current + np.uint32(1)
                for pair in range(begin, end):
                    total, stay = utility[pair], 0.0
                    for k in range(pointer[pair], pointer[pair + np.uint64(1)]):
                        t = np.uint64(successor[k])
                        if t == s:
                            stay += probability[k]
                        else:
                            total += probability[k] * value[t]
                    if stay > 0.0:
                        total /= 1.0 - stay
                    if pair == current:
                        here = total
                    if total > best:
                        best, at = total, np.uint32(pair)
                if best > here + least * abs(best):
                    choice[s] = at
                moved = abs(best - value[s])
                change = max(change, moved)
                if moved > half:
                    moving += 1
                size = max(size, abs(best))
                value[s] = best + part[0] * further[at] * (best - value[s]) if relaxed else best
            descending = turns and not descending
            if improves:
                done = high - low == np.uint64(1) or change <= max(least * size, floor)
                if relaxed and sweeps - looked >= LOOK:
                    part[0], last, looked = used_part(part[0], change, last), change, sweeps
                improves, followed, goal = False, 0, max(SETTLED * change, floor)
            else:
                followed += 1
                improves = followed == FOLLOWED or change <= goal
            if sweeps == limit and not done:
                done, missed = True, missed + 1
            astray = turns and sweeps == SWEEPS and moving > MOVING * float(high - low)
            if not np.isfinite(size) or (astray and not done):
                return -1
        if limit == 0:
            missed = 0
    return int(work)


@njit
def values_in_order(
    start: Indices,
    stop: Indices,
    target: Indices,
    weight: Array,
    stay: Array,
    gain: Array,
    further: Array,
    part: Array,
    order: Indices,
    spans: Indices,
    turns: bool,
    least: float,
    floor: Array,
    most: int,
    value: Array,
) -> int:
    """Sweep V = u + PV of several utilities, (S, J), and the time to stop, (S, J + 1) in all, in each span in turn as `best_in_order` does, until none changes by more than its `floor` (J + 1,), or `least` of its largest value there.

    Changes are taken further as there, by (S,). Return how often a state was looked at; −1 if that is more often than `most`.
    """
    work, missed, utilities, columns = 0, 0, np.uint64(gain.shape[1]), np.uint64(value.shape[1])
    change, size, one, two = np.empty(columns), np.empty(columns), np.uint64(1), np.uint64(2)
    for n in range(len(spans)):
        low, high, limit = np.uint64(spans[n, 0]), np.uint64(spans[n, 1]), int(spans[n, 2])
        done, descending, sweeps = limit > 0 and missed > MISSED, False, 0
        relaxed, last = len(further) > 0 and high - low > one, np.inf
        while not done:
            sweeps += 1
            work += int(high - low)
            if work > most:
                return -1
            beyond = part[0] if relaxed else 0.0
            for c in range(np.uint64(0), columns, np.uint64(3)):
                # Three at a time; the last one is done again for those that are missing
                d, e = min(c + one, columns - one), min(c + two, columns - one)
                moved, jumped, turned, most_first, most_second, most_third = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
                for i in range(low, high):
                    s = np.uint64(order[low + high - one - i if descending else i])
                    stays = 1.0 / (1.0 - stay[s])
                    first = gain[s, c] if c < utilities else 1.0
                    second = gain[s, d] if d < utilities else 1.0
                    third = gain[s, e] if e < utilities else 1.0
                    for k in range(start[s], stop[s]):
                        t, share = np.uint64(target[k]), weight[k]
                        first += share * value[t, c]
                        second += share * value[t, d]
                        third += share * value[t, e]
                    first, second, third = first * stays, second * stays, third * stays
                    before, among, behind = value[s, c], value[s, d], value[s, e]
                    moved, most_first = max(moved, abs(first - before)), max(most_first, abs(first))
                    jumped, most_second = max(jumped, abs(second - among)), max(most_second, abs(second))
                    turned, most_third = max(turned, abs(third - behind)), max(most_third, abs(third))
                    if relaxed:
                        bold = beyond * further[s]
                        first += bold * (first - before)
                        second += bold * (second - among)
                        third += bold * (third - behind)
                    value[s, c], value[s, d], value[s, e] = first, second, third
                change[c], change[d], change[e] = moved, jumped, turned
                size[c], size[d], size[e] = most_first, most_second, most_third
            done, descending = True, turns and not descending
            if high - low > one:
                largest = 0.0
                for j in range(columns):
                    goal = max(least * size[j], floor[j])
                    done = done and change[j] <= goal
                    largest = max(largest, change[j] / goal if goal > 0.0 else change[j])
                if relaxed and sweeps % LOOK == 0:
                    part[0], last = used_part(part[0], largest, last), largest
            if sweeps == limit and not done:
                done, missed = True, missed + 1
        if limit == 0:
            missed = 0
    return work
