// A frontier in the browser: between two vertices the occupancies mix linearly, and the policy follows from them.

const TOLERANCE = 1e-9; // by which a limit may be missed, as everywhere in painless

class Frontier {
  /** `data` is a frontier's JSON, as Frontier.save writes it. */
  constructor(data) {
    this.data = data;
    this.index = data.constraint;
    const own = data.constraints[data.constraint];
    this.name = own.name;
    this.given = own.limit ?? data.vertices[0].threshold; // no limit: where the constraint begins to cost
    this.lower = own.sense === '>='; // the limit is a threshold, else a budget
    this.sign = this.lower ? 1 : -1;
    this.limit = data.vertices.map((vertex) => vertex.threshold);
    this.step = this.limit.map((limit) => this.sign * limit); // ascending: from loose to tight
    this.value = data.vertices.map((vertex) => vertex.reward_value);
    this.visits = data.occupancy;
    this.visitsName = data.average ? 'share of the time' : data.discount < 1 ? 'discounted visits' : 'visits';
    this.top = data.occupancy.visits.reduce((top, list) => list.reduce((x, y) => Math.max(x, y), top), 0);
    this.whole = data.occupancy.vertices.length === data.vertices.length; // whether every vertex has its visits
    this.changes = new Map(); // state → [[vertex, row, visits before, visits after], …]
    data.policy.changes.forEach((list, edge) => list.forEach(([s, row, before, after]) => {
      if (!this.changes.has(s)) this.changes.set(s, []);
      this.changes.get(s).push([edge + 1, pairs(row), before, after]);
    }));
    this.first = data.policy.first.map(pairs);
    this.everRandom = new Set(data.policy.first.flatMap((row, s) => (Array.isArray(row) ? [s] : [])));
    for (const [s, list] of this.changes) if (list.some(([, row]) => row.length > 1)) this.everRandom.add(s);
  }

  /** The loosest limit that costs anything, and the tightest that some policy keeps. */
  get loosest() { return this.limit[0]; }

  get tightest() { return this.limit[this.limit.length - 1]; }

  impossible(b) {
    const end = this.step[this.step.length - 1];
    return this.sign * b > end + TOLERANCE * Math.max(Math.abs(end), Math.abs(end - this.step[0]));
  }

  /** Where b lies: the vertex on its loose side, and the weight of the next one. */
  place(b) {
    const at = this.sign * b;
    const end = this.step.length - 1;
    if (at <= this.step[0]) return { v: 0, w: 0 };
    if (at >= this.step[end]) return { v: end, w: 0 };
    let [low, high] = [0, end];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (this.step[middle] <= at) low = middle; else high = middle;
    }
    return { v: low, w: (at - this.step[low]) / (this.step[high] - this.step[low]) };
  }

  /** Everything at the limit b, but for the policy, which is asked for state by state. */
  at(b) {
    const place = this.place(b);
    const { v, w } = place;
    const { vertices } = this.data;
    const mix = (pick) => (w === 0 ? pick(vertices[v]) : (1 - w) * pick(vertices[v]) + w * pick(vertices[v + 1]));
    return {
      b, place,
      value: mix((vertex) => vertex.reward_value),
      spent: this.data.constraints.map((_, k) => mix((vertex) => vertex.constraint_value[k])),
      price: this.priceAt(b, place),
    };
  }

  /** The smallest and the largest shadow price: equal, but at a vertex. */
  priceAt(b, { v, w }) {
    const [low, high] = this.data.vertices[v].multiplier;
    if (w > 0) return [high, high];
    return this.sign * b < this.step[0] ? [0, 0] : [low, high];
  }

  /** π(·|s) at a place, as [[action, probability], …]. */
  rowAt({ v, w }, s) {
    let left = this.first[s];
    const list = this.changes.get(s);
    if (!list) return left;
    let k = 0;
    for (; k < list.length && list[k][0] <= v; k += 1) left = list[k][1];
    if (w === 0 || k === list.length || list[k][0] > v + 1) return left;
    const [, right, before, after] = list[k];
    const mass = new Map();
    const add = (row, weight) => row.forEach(([a, p]) => mass.set(a, (mass.get(a) || 0) + weight * p));
    add(left, (1 - w) * before);
    add(right, w * after);
    const total = [...mass.values()].reduce((sum, x) => sum + x, 0);
    if (!(total > 0)) return w < 0.5 ? left : right;
    return [...mass].filter(([, x]) => x > 0).map(([a, x]) => [a, x / total]).sort((p, q) => p[0] - q[0]);
  }

  /** A function from states to their discounted visits at a place. */
  visitsAt({ v, w }) {
    const { vertices, visits } = this.visits;
    const position = v + w;
    let k = 0;
    while (k < vertices.length - 2 && vertices[k + 1] <= position) k += 1;
    const next = visits[k + 1];
    if (!next) return (s) => visits[k][s];
    const share = this.whole ? position - vertices[k] : this.shareBetween(vertices[k], vertices[k + 1], v, w);
    return (s) => (1 - share) * visits[k][s] + share * next[s];
  }

  /** How far the limit has come from vertex i to vertex j. */
  shareBetween(i, j, v, w) {
    const at = w === 0 ? this.step[v] : (1 - w) * this.step[v] + w * this.step[v + 1];
    return (at - this.step[i]) / (this.step[j] - this.step[i]);
  }

  /** The states where the policy is random at a place. */
  randomAt(place) {
    const changing = place.w > 0 ? this.data.policy.changes[place.v].map(([s]) => s) : [];
    const found = [...new Set([...this.everRandom, ...changing])].filter((s) => this.rowAt(place, s).length > 1);
    return found.sort((a, b) => a - b);
  }
}

const pairs = (row) => (Array.isArray(row) ? row : [[row, 1]]);
