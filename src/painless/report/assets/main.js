// Start: read the data, and bring the page to life.

function start() {
  const page = JSON.parse(byId('data').textContent);
  const data = page.frontiers[0] || page.fixed;
  const names = data && {
    state: (s) => (data.state_names ? data.state_names[s] : `state ${s}`),
    action: (a) => (data.action_names ? data.action_names[a] : `action ${a}`),
  };
  const tools = { number, percent, Frontier };
  if (page.frontiers.length) {
    tools.explorer = explorer(page.frontiers.map((one) => new Frontier(one)), data, names);
  } else if (page.fixed) {
    const fixed = new Frontier(page.fixed);
    const time = timeline(data);
    if (data.layout) gridMap(byId('map'), data, names, time).draw(fixed, { v: 0, w: 0 });
    stateTable(byId('states'), data, names, false, time).draw(fixed, { v: 0, w: 0 });
  }
  learningCurves(page.panels);
  window.painless = tools;
  document.documentElement.dataset.ready = 'yes';
}

start();
