// A grid: occupancy as colour, the policy as arrows whose length is the probability.

const SHADES = 28;
const POWER = 3; // of the colour scale: visits = top · shade³
const EDGE = 0.06; // around the picture, in cells
const MANY = 2500; // cells beyond which a map does without lines between them

/** Return { draw(frontier, place) } for a map in `element`. */
function gridMap(element, data, names, time) {
  const { rows: height, columns: width, cells, moves } = data.layout;
  const placed = cells.flatMap((cell, s) => (cell ? [s] : []));
  const at = new Map(placed.map((s) => [cells[s].join(), s]));
  const square = cells.map((cell) => cell && `M${cell[1]} ${cell[0]}h1v1h-1z`);
  const middle = cells.map((cell) => cell && `M${cell[1] + 0.5} ${cell[0] + 0.5}`);
  const alone = moves.map((move) => arrow(move, 1, true));
  const shapes = Array.from({ length: SHADES }, (_, k) => svg('path', { class: 'shade', 'fill-opacity': (k / (SHADES - 1)).toFixed(3) }));
  const onDark = svg('path', { class: 'arrows on-dark' });
  const onLight = svg('path', { class: 'arrows on-light' });
  const ring = svg('rect', { class: 'ring', width: 1, height: 1, visibility: 'hidden' });
  const everything = placed.map((s) => square[s]).join('');
  const marks = markGroups(data, cells);
  const picture = svg('svg', {
    viewBox: `${-EDGE} ${-EDGE} ${width + 2 * EDGE} ${height + 2 * EDGE}`, class: placed.length > MANY ? 'map large' : 'map', role: 'application', tabindex: 0,
    'aria-label': 'Map of the policy; arrow keys go from cell to cell',
  }, svg('rect', { class: 'walls', width, height }), svg('path', { class: 'floor', d: everything }), ...shapes,
  svg('path', { class: 'cell-lines', d: placed.length > MANY ? '' : everything }), onDark, onLight, ...marks.map((mark) => mark.shape), ring);
  const spoken = html('p', { class: 'readout', role: 'status' });
  const keys = html('div', { class: 'keys' });
  element.prepend(picture, spoken, keys);
  picture.style.maxWidth = `${Math.max(16, Math.min(44, width * 5.2))}rem`;
  let now = null;
  let picked = null;
  const first = () => (time ? time.step * time.states : 0); // the first state of the step that is shown: all steps have the same cells
  if (time) time.onchange(() => now && draw(now.frontier, now.place));

  function draw(frontier, place) {
    now = { frontier, place };
    const every = frontier.visitsAt(place);
    const start = first();
    const visits = (s) => every(start + s);
    const shade = Array.from({ length: SHADES }, () => []);
    const [dark, light] = [[], []];
    let run = { level: 0, row: 0, start: 0, end: 0 }; // cells beside each other with the same colour
    for (const s of placed) {
      const level = Math.min(SHADES - 1, Math.round((SHADES - 1) * Math.cbrt(Math.max(0, visits(s)) / (frontier.top || 1))));
      if (level === run.level && cells[s][0] === run.row && cells[s][1] === run.end) run.end += 1;
      else {
        close(shade, run);
        run = { level, row: cells[s][0], start: cells[s][1], end: cells[s][1] + 1 };
      }
      const row = frontier.rowAt(place, start + s);
      const ink = level > SHADES * 0.55 ? dark : light;
      if (row.length === 1) ink.push(middle[s], alone[row[0][0]]);
      else for (const [a, p] of row) if (p >= 0.005) ink.push(middle[s], arrow(moves[a], p, p > 0.995));
    }
    close(shade, run);
    shapes.forEach((shape, k) => set(shape, shade[k]));
    set(onDark, dark);
    set(onLight, light);
    if (!keys.firstChild) keys.append(colourScale(frontier.top, frontier.visitsName), ...marks.map((mark) => mark.key));
    if (picked !== null) say(picked);
  }

  function say(s) {
    picked = s;
    ring.setAttribute('visibility', 'visible');
    ring.setAttribute('x', cells[s][1]);
    ring.setAttribute('y', cells[s][0]);
    const place = first() + s;
    const row = rowText(now.frontier.rowAt(now.place, place), names);
    spoken.textContent = `${names.state(place)}: ${row} · visits ${number(now.frontier.visitsAt(now.place)(place), 4)}`;
  }

  picture.addEventListener('pointermove', (event) => {
    const box = picture.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * (width + 2 * EDGE) - EDGE;
    const y = ((event.clientY - box.top) / box.height) * (height + 2 * EDGE) - EDGE;
    const s = at.get(`${Math.floor(y)},${Math.floor(x)}`);
    if (s !== undefined && now) say(s);
  });
  picture.addEventListener('keydown', (event) => {
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (!step || !now) return;
    event.preventDefault();
    if (picked === null) return void say(placed[0]);
    let [row, column] = [cells[picked][0] + step[0], cells[picked][1] + step[1]];
    while (row >= 0 && column >= 0 && row < height && column < width) {
      const s = at.get(`${row},${column}`);
      if (s !== undefined) return void say(s);
      [row, column] = [row + step[0], column + step[1]];
    }
  });
  return { draw };
}

/** Note a finished run of cells; the lightest shade is none. */
function close(shade, { level, row, start, end }) {
  if (level > 0) shade[level].push(`M${start} ${row}h${end - start}v1h${start - end}z`);
}

/** Give a path its pieces, where they are others than before. */
function set(path, pieces) {
  const d = pieces.join('');
  if (path.getAttribute('d') !== d) path.setAttribute('d', d);
}

/** A line with a head, from a cell's middle: across it where the action is alone, else outwards; a ring for none. */
function arrow(move, p, alone) {
  if (!move) return '';
  const [down, right] = move;
  const r = 0.11 * p;
  if (!down && !right) return `m${-r} 0a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`;
  const norm = Math.hypot(down, right);
  const [dx, dy] = [right / norm, down / norm];
  const [from, to] = alone ? [-0.24, 0.24] : [0, 0.1 + 0.32 * p];
  const head = alone ? 0.15 : 0.06 + 0.09 * p;
  const by = (along, side) => `${(dx * along - dy * side).toFixed(3)} ${(dy * along + dx * side).toFixed(3)}`;
  return `m${by(from, 0)}l${by(to - from, 0)}m${by(-head, 0.8 * head)}l${by(head, -0.8 * head)}l${by(-head, -0.8 * head)}`;
}

/** Signs in the corners of cells that pay or cost: a diamond for the objective, a triangle for the constraint. */
function markGroups(data, cells) {
  const signs = [
    { list: data.marks.objective, d: (x, y, k) => `M${x + 0.13} ${y + 0.04 + 0.09 - 0.09 * k}l${0.09 * k} ${0.09 * k}l${-0.09 * k} ${0.09 * k}l${-0.09 * k} ${-0.09 * k}z`, name: `${data.objective === 'minimise' ? 'cost' : 'reward'} here` },
    { list: data.marks.constraints[data.constraint] || [], d: (x, y, k) => `M${x + 0.86} ${y + 0.13 - 0.09 * k}l${0.1 * k} ${0.17 * k}h${-0.2 * k}z`, name: `counts for ${data.constraints.length ? data.constraints[data.constraint].name : 'the constraint'}` },
  ];
  return signs.filter(({ list }) => list.length > 0).map(({ list, d, name }, k) => {
    const largest = list.reduce((top, [, x]) => Math.max(top, Math.abs(x)), 0);
    const path = list.filter(([s]) => cells[s]).map(([s, x]) => d(cells[s][1], cells[s][0], 0.6 + 0.5 * (Math.abs(x) / largest))).join('');
    const kind = `mark mark-${d === signs[0].d ? 1 : 2}`;
    const sample = svg('svg', { viewBox: d === signs[0].d ? '0 0 0.26 0.26' : '0.72 0 0.28 0.28', width: 14, height: 14, 'aria-hidden': 'true' }, svg('path', { class: kind, d: d(0, 0, 1) }));
    return { shape: svg('path', { class: kind, d: path }), key: html('span', { class: 'key' }, sample, html('span', { text: name })), k };
  });
}

/** The colours with the visits that they stand for. */
function colourScale(top, name) {
  const bar = svg('svg', { viewBox: '0 0 300 34', class: 'colour-scale', role: 'img', 'aria-label': `Colour: from 0 to ${number(top, 3)} ${name}` });
  for (let k = 0; k < SHADES; k += 1) {
    bar.append(svg('rect', { class: 'shade', x: 10 + k * 10, y: 0, width: 10.2, height: 12, 'fill-opacity': (k / (SHADES - 1)).toFixed(3) }));
  }
  bar.append(svg('rect', { class: 'frame', x: 10, y: 0, width: 280, height: 12 }));
  for (const share of [0, 0.25, 0.5, 0.75, 1]) {
    bar.append(svg('text', { x: 10 + 280 * share, y: 28, 'text-anchor': 'middle', text: number(top * share ** POWER, 2) }));
  }
  return html('div', { class: 'scale' }, html('span', { text: name }), bar);
}
