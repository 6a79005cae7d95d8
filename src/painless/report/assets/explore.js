// The explorer: a slider over the limit of one constraint, and everything that answers to it.

const STEPS = 400; // of the slider, at least
const SLACK = 0.08; // of the frontier's width is shown where the limit costs nothing

/** Round limits for the slider, ascending, from where the limit costs nothing to the tightest. */
function stops(frontier) {
  const span = Math.abs(frontier.tightest - frontier.loosest) || Math.abs(frontier.tightest) || 1;
  const ends = [frontier.loosest - frontier.sign * SLACK * span, frontier.tightest].sort((p, q) => p - q);
  const power = 10 ** Math.floor(Math.log10(span / STEPS));
  const step = [5, 2, 1].map((k) => k * power).find((k) => k <= span / STEPS) || power;
  const found = [inward(frontier.tightest, frontier.lower)];
  for (let k = Math.ceil(ends[0] / step); k * step <= ends[1]; k += 1) found.push(Number(number(k * step)));
  return [...new Set(found)].filter((b) => !frontier.impossible(b)).sort((p, q) => p - q);
}

/** The nearest number of six digits that does not lie beyond the tightest limit. */
function inward(x, lower) {
  const text = Number(number(x));
  if (x === 0 || (lower ? text <= x : text >= x)) return text;
  const unit = 10 ** (Math.floor(Math.log10(Math.abs(x))) - 5);
  return Number(number(lower ? text - unit : text + unit));
}

const priceText = ([low, high]) => (low === high ? number(low) : `${number(low)} to ${high === null ? '∞' : number(high)}`);

function explorer(frontiers, data, names) {
  const [slider, box, chooser] = ['limit', 'limit-text', 'constraint'].map(byId);
  const time = timeline(data);
  const map = data.layout ? gridMap(byId('map'), data, names, time) : null;
  const table = stateTable(byId('states'), data, names, true, time);
  const objective = data.objective === 'minimise' ? 'cost' : 'reward';
  let [frontier, list, curves, now, waiting] = [null, [], [], null, false];

  function choose(index) {
    frontier = frontiers[index];
    list = stops(frontier);
    slider.min = 0;
    slider.max = list.length - 1;
    byId('limit-name').textContent = `${frontier.name} ${frontier.lower ? '≥' : '≤'}`;
    for (const node of document.querySelectorAll('[data-constraint]')) node.hidden = Number(node.dataset.constraint) !== frontier.index;
    for (const node of document.querySelectorAll('[data-other]')) node.hidden = Number(node.dataset.other) === frontier.index;
    curves = drawCurves();
    go(frontier.impossible(frontier.given) ? list[list.length >> 1] : frontier.given);
  }

  function drawCurves() {
    const label = `${frontier.lower ? 'threshold' : 'budget'} on ${frontier.name}`;
    const beyond = frontier.lower ? list[0] : list[list.length - 1];
    const line = [[beyond, frontier.value[0]], ...frontier.limit.map((x, i) => [x, frontier.value[i]])];
    const stairs = [[beyond, 0], [frontier.loosest, 0]];
    frontier.data.vertices.slice(0, -1).forEach((vertex, i) => stairs.push([frontier.limit[i], vertex.multiplier[1]], [frontier.limit[i + 1], vertex.multiplier[1]]));
    const curve = (points) => {
      const ascending = frontier.lower ? points : [...points].reverse();
      return { x: ascending.map(([x]) => x), y: ascending.map(([, y]) => y) };
    };
    const describe = (x) => {
      const here = frontier.at(list[nearest(list, x)]);
      return `${label} ${number(here.b)} · ${objective} ${number(here.value)} · shadow price ${priceText(here.price)}`;
    };
    const common = { x: label, xRange: [list[0], list[list.length - 1]], onpick: (x) => go(list[nearest(list, x)]), describe };
    const cut = usualPrice(stairs);
    byId('price-note').textContent = cut === null ? '' : ` The steepest part, up to ${number(Math.max(...stairs.map(([, y]) => y)))}, is cut off.`;
    for (const id of ['value-plot', 'price-plot']) byId(id).querySelectorAll('.plot, .readout').forEach((node) => node.remove());
    return [
      plot(byId('value-plot'), { ...common, y: objective, label: `The frontier: ${objective} against the ${label}`, series: [{ ...curve(line), dots: line.length < 60 }] }),
      plot(byId('price-plot'), { ...common, y: 'shadow price', label: `Shadow price against the ${label}`, top: cut, series: [{ ...curve(stairs), colour: 1, dash: 0 }] }),
    ];
  }

  /** Move to the limit b, now; the pictures follow with the next frame. */
  function go(b, typed = false) {
    now = frontier.at(b);
    slider.value = nearest(list, b);
    if (!typed) box.value = number(b);
    box.removeAttribute('aria-invalid');
    byId('limit-note').textContent = '';
    byId('value').textContent = number(now.value);
    byId('price').textContent = priceText(now.price);
    now.spent.forEach((value, k) => { byId(`spent-${k}`).textContent = number(value); });
    slider.setAttribute('aria-valuetext', `${number(b)}; ${objective} ${number(now.value)}, shadow price ${priceText(now.price)}`);
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; redraw(); });
  }

  function redraw() {
    const { place } = now;
    curves[0].mark(now.b, now.value);
    curves[1].mark(now.b, now.price[0]);
    if (map) map.draw(frontier, place);
    table.draw(frontier, place);
    describePolicy(place);
  }

  function describePolicy(place) {
    const random = frontier.randomAt(place);
    const few = random.slice(0, 3).map((s) => `in ${names.state(s)}: ${rowText(frontier.rowAt(place, s), names)}`);
    const where = random.length === 0 ? 'The policy is deterministic.'
      : `The policy is random in ${plural(random.length, 'state')}: ${few.join('; ')}${random.length > 3 ? '; …' : '.'}`;
    const slack = frontier.sign * now.b < frontier.step[0] ? ' The limit costs nothing: the best policy keeps it anyway.' : '';
    byId('policy-note').textContent = where + slack;
  }

  slider.addEventListener('input', () => go(list[Number(slider.value)]));
  slider.addEventListener('keydown', (event) => {
    const jump = { PageUp: 20, PageDown: -20 }[event.key];
    if (!jump) return;
    event.preventDefault();
    slider.value = Number(slider.value) + jump;
    go(list[Number(slider.value)]);
  });
  box.addEventListener('input', () => {
    const b = Number(box.value.trim().replace('−', '-').replace(',', '.'));
    const wrong = box.value.trim() === '' || !Number.isFinite(b) ? 'Give a number.'
      : frontier.impossible(b) ? `No policy keeps ${frontier.name} ${frontier.lower ? '≥' : '≤'} ${number(b)}; the ${frontier.lower ? 'largest' : 'smallest'} possible limit is ${number(inward(frontier.tightest, frontier.lower))}.` : '';
    if (!wrong) return go(b, true);
    box.setAttribute('aria-invalid', 'true');
    byId('limit-note').textContent = wrong;
  });
  box.addEventListener('change', () => { if (!box.hasAttribute('aria-invalid')) box.value = number(now.b); });
  if (chooser) chooser.addEventListener('change', () => choose(Number(chooser.value)));
  choose(0);
  return { go, redraw, get now() { return now; }, get frontier() { return frontier; } };
}

/** A top for the price's axis where a short steep end would flatten the rest; null where all of it fits. */
function usualPrice(stairs) {
  const pieces = [];
  for (let i = 0; i + 1 < stairs.length; i += 2) pieces.push([stairs[i][1], Math.abs(stairs[i + 1][0] - stairs[i][0])]);
  pieces.sort((p, q) => p[0] - q[0]);
  const whole = pieces.reduce((sum, [, length]) => sum + length, 0);
  let seen = 0;
  const usual = pieces.find(([, length]) => { seen += length; return seen >= 0.97 * whole; });
  const most = pieces[pieces.length - 1][0];
  return usual && usual[0] > 0 && most > 5 * usual[0] ? 2 * usual[0] : null;
}
