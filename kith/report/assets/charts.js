'use strict';
// Charts are whole without this script. It adds the values under the pointer
// or, with the arrow keys, at the focus.

const SVG = 'http://www.w3.org/2000/svg';

function make(tag, attributes = {}, text = '') {
  const element = tag === 'svg' || tag === 'line' || tag === 'circle'
    ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    element.setAttribute(name, value);
  }
  element.textContent = text;
  return element;
}

// The one tip of the page. Read aloud when the keyboard moved it: words that
// follow a pointer would never end.
const tip = make('div', { id: 'tip', role: 'status', hidden: '' });
document.body.append(tip);

function showTip(content, left, top, byKey) {
  tip.setAttribute('aria-live', byKey ? 'polite' : 'off');
  tip.hidden = false;
  tip.replaceChildren(...content);
  const box = tip.getBoundingClientRect();
  const width = document.documentElement.clientWidth;
  const x = left + 16 + box.width < width ? left + 16 : left - 16 - box.width;
  const y = Math.min(top + 16, window.innerHeight - box.height - 8);
  tip.style.transform =
    `translate(${Math.max(8, Math.min(x, width - box.width - 8))}px,` +
    `${Math.max(8, y)}px)`;
}

// From the page's pixels to the units of a drawing, and back.
function scaleOf(svg) {
  const box = svg.getBoundingClientRect();
  const unit = box.width / svg.viewBox.baseVal.width;
  return {
    inside: event => [(event.clientX - box.left) / unit,
                      (event.clientY - box.top) / unit],
    outside: (left, top) => [box.left + left * unit, box.top + top * unit],
  };
}

// The place in a sorted list that is nearest to a value.
function nearest(sorted, value) {
  let low = 0, high = sorted.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < value) low = middle; else high = middle;
  }
  return value - sorted[low] <= sorted[high] - value ? low : high;
}

// Hides what a chart shows; one at a time shows anything.
let release = null;
document.addEventListener('pointerdown', () => release?.(), true);

// Makes a figure answer to pointer, touch and keys. `probe` has at(x, y),
// move(key), show(byKey) and hide().
function listen(figure, svg, probe, keys) {
  const title = svg.querySelector('title');
  svg.setAttribute('aria-label', title.textContent);
  figure.tabIndex = 0;
  figure.setAttribute('role', 'application');
  figure.setAttribute('aria-roledescription', 'chart');
  figure.setAttribute('aria-label', `${title.textContent}. ${keys}`);
  // Tips of the browser would lie over ours.
  for (const old of svg.querySelectorAll('title')) old.remove();

  // When keys scroll the page a pointer at rest is told to have moved.
  let byKey = false;
  const hide = () => {
    if (release === hide) {
      release = null;
      tip.hidden = true;
    }
    byKey = false;
    probe.hide();
  };
  const show = keys => {
    if (release !== hide) release?.();
    release = hide;
    byKey = keys;
    probe.show(keys);
  };
  const point = event => {
    if (byKey && event.movementX === 0 && event.movementY === 0) return;
    if (!probe.at(...scaleOf(svg).inside(event))) return hide();
    show(false);
  };
  svg.addEventListener('pointermove', point);
  svg.addEventListener('pointerdown', point);
  svg.addEventListener('pointerleave', event => {
    if (event.pointerType !== 'touch' && !byKey) hide();
  });
  figure.addEventListener('blur', hide);
  figure.addEventListener('keydown', event => {
    if (event.key === 'Escape') return hide();
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (!probe.move(event.key)) return;
    event.preventDefault();
    show(true);
  });
}

function readSeries(group) {
  const points = group.dataset.points.split(' ').map(text => {
    const [x, y, left, top] = text.split(',');
    return { x, y, left: Number(left), top: Number(top) };
  }).sort((a, b) => a.left - b.left);
  return { name: group.dataset.name, stroke: group.dataset.stroke, points,
           lefts: points.map(point => point.left) };
}

class LineProbe {
  constructor(svg) {
    this.svg = svg;
    this.index = -1;
    this.marks = [];
  }

  // Read when it is first needed: the page opens faster.
  read() {
    if (this.series) return;
    const { x, y, box } = this.svg.querySelector('.axes').dataset;
    this.labels = { x, y };
    this.box = box.split(' ').map(Number);
    this.series = [...this.svg.querySelectorAll('.series')].map(readSeries);
    const lefts = new Set(this.series.flatMap(one => one.lefts));
    this.stops = [...lefts].sort((a, b) => a - b);
  }

  at(left, top) {
    this.read();
    const [x0, y0, x1, y1] = this.box;
    const inside = left > x0 - 12 && left < x1 + 12 && top > y0 - 12 &&
                   top < y1 + 30;
    if (inside) this.index = nearest(this.stops, left);
    return inside;
  }

  move(key) {
    this.read();
    const last = this.stops.length - 1;
    const steps = { ArrowRight: 1, ArrowLeft: -1, PageUp: 10, PageDown: -10,
                    Home: -last, End: last };
    if (!(key in steps)) return false;
    const start = this.index < 0 ? (steps[key] > 0 ? -1 : last + 1)
                                 : this.index;
    this.index = Math.max(0, Math.min(last, start + steps[key]));
    return true;
  }

  show(byKey) {
    this.clear();
    const left = this.stops[this.index];
    const [, top, , bottom] = this.box;
    this.add('line', { x1: left, x2: left, y1: top, y2: bottom,
                       class: 'cross' });
    const entries = [];
    let head = '', highest = bottom;
    for (const one of this.series) {
      const point = one.points[nearest(one.lefts, left)];
      if (Math.abs(point.left - left) > 3) continue;  // it has no value here
      this.add('circle', { cx: point.left, cy: point.top, r: 4.5,
                           class: `cross-dot ${one.stroke}` });
      entries.push(this.entry(one, point));
      if (!head || point.left === left) head = point.x;
      highest = Math.min(highest, point.top);
    }
    const words = make('div', { class: 'head' }, `${this.labels.x} ${head}`);
    showTip([words, ...entries],
            ...scaleOf(this.svg).outside(left, highest), byKey);
  }

  entry(one, point) {
    const row = make('div', { class: 'entry' });
    const swatch = make('svg', { class: 'swatch kith-chart',
                                 viewBox: '0 0 16 10', 'aria-hidden': 'true' });
    swatch.append(make('line', { x1: 1.5, x2: 14.5, y1: 5, y2: 5,
                                 class: `l ${one.stroke}` }));
    row.append(swatch, make('span', {}, one.name || this.labels.y),
               make('b', {}, point.y));
    return row;
  }

  add(tag, attributes) {
    const mark = make(tag, attributes);
    this.svg.append(mark);
    this.marks.push(mark);
  }

  clear() {
    for (const mark of this.marks) mark.remove();
    this.marks = [];
  }

  hide() {
    this.clear();
    this.index = -1;
  }
}

// Fades all points of a group's maps but those of a class; null: none fades,
// or all but the one that was chosen in the legend.
function markClass(scatters, number) {
  const shown = number ?? scatters.dataset.chosen ?? null;
  for (const svg of scatters.querySelectorAll('.charts svg')) {
    svg.classList.toggle('faded', shown !== null);
  }
  for (const group of scatters.querySelectorAll('.charts .dots')) {
    group.classList.toggle('same', group.dataset.class === shown);
  }
}

class ScatterProbe {
  constructor(svg, scatters) {
    this.svg = svg;
    this.root = scatters;
    this.scatters = scatters.dataset;
    this.items = document.getElementById(scatters.dataset.items).children;
    this.spot = make('circle', { r: 6.5, class: 'spot', visibility: 'hidden' });
    svg.append(this.spot);
  }

  read() {
    if (this.points) return;
    this.points = [...this.svg.querySelectorAll('[data-item]')].map(dot => ({
      dot, left: Number(dot.getAttribute('cx')),
      top: Number(dot.getAttribute('cy')) }));
    const by = (order, place) => {
      const sorted = [...this.points].sort(order);
      sorted.forEach((point, i) => { point[place] = i; });
      return sorted;
    };
    this.across = by((a, b) => a.left - b.left || a.top - b.top, 'column');
    this.down = by((a, b) => a.top - b.top || a.left - b.left, 'row');
  }

  at(left, top) {
    this.read();
    let best = null, least = 14 * 14;
    for (const point of this.points) {
      const away = (point.left - left) ** 2 + (point.top - top) ** 2;
      if (away < least) { least = away; best = point; }
    }
    this.point = best;
    return best !== null;
  }

  move(key) {
    this.read();
    const ways = { ArrowRight: [this.across, 'column', 1],
                   ArrowLeft: [this.across, 'column', -1],
                   ArrowDown: [this.down, 'row', 1],
                   ArrowUp: [this.down, 'row', -1] };
    if (!(key in ways)) return false;
    const [list, place, step] = ways[key];
    const next = this.point ? this.point[place] + step
                            : step > 0 ? 0 : list.length - 1;
    this.point = list[Math.max(0, Math.min(list.length - 1, next))];
    return true;
  }

  show(byKey) {
    const { dot, left, top } = this.point;
    markClass(this.root, dot.parentNode.dataset.class);
    this.spot.setAttribute('cx', left);
    this.spot.setAttribute('cy', top);
    this.spot.setAttribute('visibility', 'visible');
    const number = Number(dot.dataset.item);
    const item = this.items[number];
    const content = [this.thumbnail(number)];
    if (item) {
      content.push(make('b', {}, item.textContent),
                   make('div', { class: 'head' }, item.dataset.path));
    }
    showTip(content, ...scaleOf(this.svg).outside(left, top), byKey);
  }

  // A cell of the sheet, twice as large as it is.
  thumbnail(number) {
    const columns = Number(this.scatters.columns);
    const size = 2 * Number(this.scatters.cell);
    const picture = make('span', { class: `thumb ${this.scatters.sheet}` });
    picture.style.width = picture.style.height = `${size}px`;
    picture.style.backgroundSize = `${size * columns}px auto`;
    picture.style.backgroundPosition =
      `${-size * (number % columns)}px ${-size * Math.floor(number / columns)}px`;
    return picture;
  }

  hide() {
    this.point = null;
    markClass(this.root, null);
    this.spot.setAttribute('visibility', 'hidden');
  }
}

for (const figure of document.querySelectorAll('figure.chart')) {
  const svg = figure.querySelector('svg');
  const scatters = figure.closest('.scatters');
  if (scatters) {
    listen(figure, svg, new ScatterProbe(svg, scatters),
           'The arrow keys go from point to point.');
  } else if (svg.querySelector('.series')) {
    listen(figure, svg, new LineProbe(svg),
           'The left and right arrow keys go through the values.');
  }
}
