// Line plots in SVG: labelled axes, dashes beside colours, bands, rules, and a readout of exact numbers.

const DASHES = ['', '7 4', '7 3 2 3', '2 3', '11 3', '6 2 2 2 2 2', '1 2'];
const MARGIN = { top: 14, right: 14, bottom: 46, left: 66 };

/** Round numbers within [low, high], about `count` of them. */
function ticks(low, high, count) {
  const rough = (high - low) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((k) => k * power).find((k) => k >= rough * 0.999);
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k += 1) found.push(k * step);
  return found.map((value) => Number(value.toPrecision(12)));
}

/** [low, high] with a little room around it. */
function widened(low, high, share) {
  const room = (high - low) * share || Math.abs(high) * 0.1 || 1;
  return [low - room, high + room];
}

/** The range of all curves, bands and rules, without the first part of each curve. */
function verticalRange(series, rules, skip) {
  let [low, high] = [Infinity, -Infinity];
  const see = (y) => {
    if (y !== null && Number.isFinite(y)) [low, high] = [Math.min(low, y), Math.max(high, y)];
  };
  for (const one of series) {
    const from = Math.floor(one.y.length * skip);
    one.y.slice(from).forEach(see);
    if (one.low) [...one.low.slice(from), ...one.high.slice(from)].forEach(see);
  }
  rules.forEach((rule) => see(rule.y));
  return Number.isFinite(low) ? widened(low, high, 0.07) : [0, 1];
}

function pathOf(xs, ys, px, py) {
  let d = '';
  let pen = 'M';
  for (let i = 0; i < xs.length; i += 1) {
    if (ys[i] === null || !Number.isFinite(ys[i])) { pen = 'M'; continue; }
    d += `${pen}${px(xs[i]).toFixed(2)} ${py(ys[i]).toFixed(2)}`;
    pen = 'L';
  }
  return d;
}

/** The index in ascending `xs` that is nearest to x. */
function nearest(xs, x) {
  let [low, high] = [0, xs.length - 1];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (xs[middle] <= x) low = middle; else high = middle;
  }
  return x - xs[low] <= xs[high] - x ? low : high;
}

/**
 * Draw a plot into `element`, and again when its width changes.
 * options: x, y and label (texts), series [{name, x, y, low, high, colour}], rules [{y, name}], skip, top, xRange, onpick, height.
 * Returns { mark(x, y): move the marker }.
 */
function plot(element, options) {
  const { series, rules = [], skip = 0 } = options;
  const readout = html('p', { class: 'readout', 'aria-hidden': 'true' });
  const holder = html('div', { class: 'plot' });
  element.prepend(holder, readout);
  const id = `clip-${Math.random().toString(36).slice(2)}`;
  let marker = null;
  let scale = null;
  let spot = null;

  function draw(width) {
    const height = options.height || Math.round(Math.min(330, Math.max(230, width * 0.58)));
    const inner = { left: MARGIN.left, right: width - MARGIN.right, top: MARGIN.top, bottom: height - MARGIN.bottom };
    const xs = series.flatMap((one) => [one.x[0], one.x[one.x.length - 1]]);
    const [x0, x1] = options.xRange || [Math.min(...xs), Math.max(...xs)];
    const [y0, y1] = options.top ? [-0.05 * options.top, options.top] : verticalRange(series, rules, skip);
    const px = (x) => inner.left + ((x - x0) / (x1 - x0 || 1)) * (inner.right - inner.left);
    const py = (y) => inner.bottom - ((y - y0) / (y1 - y0)) * (inner.bottom - inner.top);
    scale = { px, py, x0, x1, y0, y1, inner };
    const picture = svg('svg', { viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': options.label, class: options.onpick ? 'pick' : null });
    picture.append(svg('defs', {}, svg('clipPath', { id }, svg('rect', {
      x: inner.left, y: inner.top - 4, width: Math.max(0, inner.right - inner.left), height: Math.max(0, inner.bottom - inner.top + 5) }))));
    drawAxes(picture, options, scale, width, height);
    const body = svg('g', { 'clip-path': `url(#${id})` });
    drawRules(body, rules, scale);
    drawSeries(body, series, scale);
    marker = svg('g', { class: 'marker', visibility: 'hidden' },
      svg('line', { y1: inner.top, y2: inner.bottom }), svg('circle', { r: 5.5 }));
    picture.append(body, marker);
    const cross = svg('line', { class: 'cross', y1: inner.top, y2: inner.bottom, visibility: 'hidden' });
    picture.append(cross);
    listen(picture, cross, width);
    holder.replaceChildren(picture);
    if (spot) place(spot[0], spot[1]);
  }

  function listen(picture, cross, width) {
    const where = (event) => {
      const box = picture.getBoundingClientRect();
      const pixel = ((event.clientX - box.left) / box.width) * width;
      const share = (pixel - scale.inner.left) / (scale.inner.right - scale.inner.left);
      return scale.x0 + Math.min(1, Math.max(0, share)) * (scale.x1 - scale.x0);
    };
    let pressed = false;
    picture.addEventListener('pointerdown', (event) => {
      if (!options.onpick || event.button > 0) return;
      pressed = true;
      picture.setPointerCapture(event.pointerId);
      options.onpick(where(event));
    });
    picture.addEventListener('pointermove', (event) => {
      const x = where(event);
      if (pressed) options.onpick(x);
      cross.setAttribute('visibility', 'visible');
      cross.setAttribute('x1', scale.px(x));
      cross.setAttribute('x2', scale.px(x));
      readout.textContent = describe(x);
    });
    for (const kind of ['pointerup', 'pointercancel']) picture.addEventListener(kind, () => { pressed = false; });
    picture.addEventListener('pointerleave', () => {
      cross.setAttribute('visibility', 'hidden');
      readout.textContent = '';
    });
  }

  function describe(x) {
    if (options.describe) return options.describe(x);
    const parts = series.map((one) => {
      const i = nearest(one.x, x);
      const band = one.low && one.low[i] !== null ? ` [${number(one.low[i])}, ${number(one.high[i])}]` : '';
      return `${one.name ? `${one.name}: ` : ''}${number(one.y[i])}${band}`;
    });
    return `${options.x} ${number(series[0].x[nearest(series[0].x, x)])} · ${parts.join(' · ')}`;
  }

  function place(x, y) {
    const shown = x >= scale.x0 - 1e-12 * Math.abs(scale.x0) && x <= scale.x1 + 1e-12 * Math.abs(scale.x1);
    marker.setAttribute('visibility', shown ? 'visible' : 'hidden');
    const [line, circle] = marker.children;
    line.setAttribute('x1', scale.px(x));
    line.setAttribute('x2', scale.px(x));
    circle.setAttribute('cx', scale.px(x));
    circle.setAttribute('cy', scale.py(y));
  }

  whenResized(element, draw);
  return {
    mark(x, y) {
      spot = [x, y];
      if (marker) place(x, y);
    },
  };
}

function drawAxes(picture, options, { px, py, x0, x1, y0, y1, inner }, width, height) {
  const axes = svg('g', { class: 'axes', 'aria-hidden': 'true' });
  for (const y of ticks(y0, y1, Math.max(2, Math.round((inner.bottom - inner.top) / 38)))) {
    axes.append(svg('line', { class: 'grid', x1: inner.left, x2: inner.right, y1: py(y), y2: py(y) }));
    axes.append(svg('text', { x: inner.left - 9, y: py(y) + 4, 'text-anchor': 'end', text: number(y) }));
  }
  for (const x of ticks(x0, x1, Math.max(2, Math.round((inner.right - inner.left) / 85)))) {
    axes.append(svg('line', { class: 'tick', x1: px(x), x2: px(x), y1: inner.bottom, y2: inner.bottom + 5 }));
    axes.append(svg('text', { x: px(x), y: inner.bottom + 19, 'text-anchor': 'middle', text: number(x) }));
  }
  axes.append(svg('line', { class: 'base', x1: inner.left, x2: inner.right, y1: inner.bottom, y2: inner.bottom }));
  axes.append(svg('text', { class: 'title', x: (inner.left + inner.right) / 2, y: height - 6, 'text-anchor': 'middle', text: options.x }));
  axes.append(svg('text', { class: 'title', transform: `translate(13 ${(inner.top + inner.bottom) / 2}) rotate(-90)`, 'text-anchor': 'middle', text: options.y }));
  picture.append(axes);
}

function drawRules(body, rules, { py, inner }) {
  rules.forEach((rule) => body.append(svg('line', { class: 'rule', x1: inner.left, x2: inner.right, y1: py(rule.y), y2: py(rule.y) })));
}

function drawSeries(body, series, { px, py }) {
  series.forEach((one, index) => {
    const colour = `var(--series-${((one.colour ?? index) % 7) + 1})`;
    if (one.hidden) return;
    if (one.low) {
      const d = pathOf(one.x, one.high, px, py)
        + pathOf([...one.x].reverse(), [...one.low].reverse(), px, py).replace('M', 'L') + 'Z';
      body.append(svg('path', { d, fill: colour, opacity: 0.17 }));
    }
    body.append(svg('path', {
      d: pathOf(one.x, one.y, px, py), class: 'curve', stroke: colour,
      'stroke-dasharray': DASHES[(one.dash ?? one.colour ?? index) % DASHES.length] || null,
      'stroke-width': one.thin ? 1 : null, opacity: one.thin ? 0.55 : null,
    }));
    if (one.dots) {
      one.x.forEach((x, i) => body.append(svg('circle', { class: 'dot', cx: px(x), cy: py(one.y[i]), r: 2.6, fill: colour })));
    }
  });
}

/** A legend with the dashes and colours of the series, and the rules that have a name. */
function legend(series, rules) {
  const list = html('ul', { class: 'legend' });
  const add = (name, look) => list.append(html('li', {},
    svg('svg', { viewBox: '0 0 30 10', width: 30, height: 10, 'aria-hidden': 'true' }, svg('line', { x1: 0, x2: 30, y1: 5, y2: 5, ...look })),
    html('span', { text: name })));
  series.forEach((one, index) => add(one.name, {
    stroke: `var(--series-${((one.colour ?? index) % 7) + 1})`, 'stroke-width': one.thin ? 1 : 2.2, opacity: one.thin ? 0.6 : null,
    'stroke-dasharray': DASHES[(one.dash ?? one.colour ?? index) % DASHES.length] || null,
  }));
  rules.filter((rule) => rule.name).forEach((rule) => add(`${rule.name} ${number(rule.y)}`, { class: 'rule' }));
  return list;
}
