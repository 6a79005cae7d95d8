// The step of a finite horizon that is shown, and who wants to know when it changes.

/** Return { step, states, onchange(listener) } of the slider through time; null where all steps are alike. */
function timeline(data) {
  const slider = document.getElementById('step');
  if (!slider || !data.horizon) return null;
  const listeners = [];
  const every = byId('step-all');
  const time = { step: 0, every: false, states: data.states / data.horizon, onchange: (listener) => listeners.push(listener) };
  const changed = () => {
    time.step = Number(slider.value);
    time.every = every.checked;
    byId('step-text').textContent = slider.value;
    for (const listener of listeners) listener();
  };
  slider.addEventListener('input', changed);
  every.addEventListener('change', changed);
  return time;
}
