// The states and their actions, sortable and searchable.

const SHOWN = 12;

/** Return { draw(frontier, place) } for a table in `element`. */
function stateTable(element, data, names, moving, time) {
  const columns = [
    { key: 'state', name: 'state', text: true },
    { key: 'action', name: 'action', text: true },
    { key: 'visits', name: 'visits' },
    ...(moving ? [{ key: 'changes', name: 'changes' }, { key: 'where', name: 'where', text: true }] : []),
  ];
  let sorted = { key: 'visits', down: true };
  let limit = SHOWN;
  let now = null;
  const body = html('tbody');
  const heads = columns.map((column) => html('th', { scope: 'col', class: column.text ? `text ${column.key}` : null },
    html('button', { type: 'button', class: 'sort', text: column.name, onclick: () => sortBy(column.key) })));
  const search = html('input', { type: 'search', id: 'state-search', placeholder: 'state or action', oninput: () => show() });
  const only = html('input', { type: 'checkbox', id: 'state-only', onchange: () => show() });
  only.checked = moving && !time;
  if (time) time.onchange(() => show());
  const count = html('p', { class: 'muted', role: 'status' });
  const more = html('button', { type: 'button', class: 'more', onclick: () => { limit = limit === SHOWN ? 100 : limit * 10; show(); } });
  const tools = html('div', { class: 'tools screen' }, html('label', { for: 'state-search', text: 'Find' }), search);
  if (moving) tools.append(html('span', { class: 'choice' }, only, html('label', { for: 'state-only', text: 'only states that change' })));
  element.append(tools, count, html('div', { class: 'scroll' },
    html('table', { class: 'states' }, html('thead', {}, html('tr', {}, ...heads)), body)), more);

  function sortBy(key) {
    sorted = { key, down: sorted.key === key ? !sorted.down : key !== 'state' && key !== 'action' };
    show();
  }

  /** Whether a state is one of the step that is shown. */
  function shown(s) {
    return !time || time.every || Math.floor(s / time.states) === time.step;
  }

  function rowsNow() {
    const { frontier, place } = now;
    const wanted = search.value.trim().toLowerCase();
    const visits = frontier.visitsAt(place);
    const all = only.checked ? [...frontier.changes.keys()] : Array.from({ length: data.states }, (_, s) => s);
    const rows = all.filter(shown).map((s) => {
      const list = frontier.changes.get(s) || [];
      return { s, state: s, visits: visits(s), changes: list.length, where: list.length ? frontier.limit[list[0][0]] : -Infinity };
    });
    if (!wanted && sorted.key !== 'action') return rows;
    rows.forEach((row) => describe(row, frontier, place));
    return rows.filter((row) => `${names.state(row.s)} ${row.action}`.replaceAll('\u00a0', ' ').toLowerCase().includes(wanted));
  }

  function describe(row, frontier, place) {
    row.pairs = frontier.rowAt(place, row.s);
    row.action = row.pairs.length === 1 ? names.action(row.pairs[0][0]) : rowText(row.pairs, names);
  }

  function show() {
    if (!now) return;
    const { frontier, place } = now;
    const rows = rowsNow();
    const sign = sorted.down ? -1 : 1;
    rows.sort((p, q) => {
      const [x, y] = [p[sorted.key], q[sorted.key]];
      const order = typeof x === 'string' ? x.localeCompare(y) : x - y;
      return sign * order || p.s - q.s;
    });
    heads.forEach((head, k) => head.setAttribute('aria-sort', columns[k].key === sorted.key ? (sorted.down ? 'descending' : 'ascending') : 'none'));
    body.replaceChildren(...rows.slice(0, limit).map((row) => {
      describe(row, frontier, place);
      const cells = [html('th', { scope: 'row', text: names.state(row.s) }), html('td', { class: row.pairs.length > 1 ? 'text mixed' : 'text', text: row.action }),
        html('td', { text: number(row.visits, 4) })];
      if (moving) {
        cells.push(html('td', { text: String(row.changes) }), html('td', { class: 'where' }, changeStrip(frontier, place, row.s)));
      }
      return html('tr', {}, ...cells);
    }));
    const among = time && !time.every ? `${time.states} in step ${time.step}` : data.states;
    count.textContent = `${plural(rows.length, 'state')} of ${among}${moving && only.checked ? ', those whose action changes along the frontier' : ''}.`;
    more.hidden = rows.length <= limit;
    more.textContent = `Show ${Math.min(rows.length, limit === SHOWN ? 100 : limit * 10) - limit} more`;
  }

  return {
    draw(frontier, place) {
      now = { frontier, place };
      show();
    },
  };
}

/** The frontier as a line of ascending limits, as on the slider, with a tick on each edge where a state's action changes. */
function changeStrip(frontier, { v, w }, s) {
  const { limit } = frontier;
  const ends = [Math.min(frontier.loosest, frontier.tightest), Math.max(frontier.loosest, frontier.tightest)];
  const share = (at) => 4 + (64 * (at - ends[0])) / (ends[1] - ends[0] || 1);
  const list = frontier.changes.get(s) || [];
  const words = list.map(([k]) => `between ${number(frontier.limit[k - 1], 4)} and ${number(frontier.limit[k], 4)}`);
  const strip = svg('svg', { viewBox: '0 0 72 14', width: 72, height: 14, role: 'img', 'aria-label': words.join('; ') },
    svg('title', { text: words.join('; ') }), svg('line', { class: 'strip', x1: 4, x2: 68, y1: 7, y2: 7 }));
  for (const [k] of list) {
    const x = share((limit[k - 1] + limit[k]) / 2);
    strip.append(svg('line', { class: 'strip-tick', x1: x, x2: x, y1: 2, y2: 12 }));
  }
  const here = share(w === 0 ? limit[v] : (1 - w) * limit[v] + w * limit[v + 1]);
  strip.append(svg('circle', { class: 'strip-now', cx: here, cy: 7, r: 2.6 }));
  return strip;
}
