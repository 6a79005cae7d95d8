// Learning curves, drawn into the panels that the page has for them.

function learningCurves(panels) {
  panels.forEach((panel, index) => {
    const element = byId(`panel-${index}`);
    const series = panel.series.map((one) => ({ ...one, x: panel.steps }));
    plot(element, { ...panel, series, x: panel.x || 'iteration', label: panel.title });
    element.prepend(element.querySelector('h3'));
    element.querySelector('.plot').after(legend(series, panel.rules));
  });
}
