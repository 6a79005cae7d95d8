// Elements. Text goes in as text: nothing here ever parses HTML.

const SVG = 'http://www.w3.org/2000/svg';

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined) continue;
    if (name === 'text') node.textContent = value;
    else if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

const svg = (tag, attributes = {}, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);
const html = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
const byId = (id) => document.getElementById(id);

/** Call `draw(width)` now, and whenever the element's width changes. */
function whenResized(element, draw) {
  let last = 0;
  const look = () => {
    const width = Math.round(element.clientWidth);
    if (width > 0 && width !== last) {
      last = width;
      draw(width);
    }
  };
  new ResizeObserver(look).observe(element);
  look();
}
