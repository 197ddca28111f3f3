// Texts whose contrast is too low, as a list of texts. WCAG 2.1: contrast is
// (L1 + 0.05) / (L2 + 0.05) of the relative luminances, the larger above.

// Any CSS colour as [red, green, blue, alpha], 0 to 1: the canvas knows them.
const canvas = document.createElement("canvas");
canvas.width = canvas.height = 1;
const context = canvas.getContext("2d", {willReadFrequently: true});
const known = new Map();
function rgba(text) {
  if (!known.has(text)) {
    context.clearRect(0, 0, 1, 1);
    context.fillStyle = text;
    context.fillRect(0, 0, 1, 1);
    known.set(text, [...context.getImageData(0, 0, 1, 1).data].map(
        (value) => value / 255));
  }
  return known.get(text);
}

// A colour in front of an opaque one.
const over = (front, back) => [0, 1, 2].map(
    (i) => front[i] * front[3] + back[i] * (1 - front[3])).concat(1);

function luminance(colour) {
  const [r, g, b] = colour.map((c) =>
      c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(a, b) {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}

// The canvas of the page, where nothing else is behind: dark if the page takes
// the user's dark theme.
const canvas_colour = rgba(
    getComputedStyle(document.documentElement).colorScheme.includes("dark") &&
    matchMedia("(prefers-color-scheme: dark)").matches ? "#121212" : "white");

function background(element) {
  const layers = [];
  for (let e = element; e; e = e.parentElement) {
    const colour = rgba(getComputedStyle(e).backgroundColor);
    if (colour[3] > 0) layers.push(colour);
    if (colour[3] === 1) break;
  }
  return layers.reverse().reduce((back, front) => over(front, back),
                                 canvas_colour);
}

function opacity(element) {
  let product = 1;
  for (let e = element; e; e = e.parentElement) {
    product *= Number(getComputedStyle(e).opacity);
  }
  return product;
}

// On the page and larger than what is there for screen readers only.
function shown(element, range) {
  if (!element.checkVisibility({visibilityProperty: true})) return false;
  const box = range.getBoundingClientRect();
  if (box.width < 1 || box.height < 1) return false;
  for (let e = element; e; e = e.parentElement) {
    const style = getComputedStyle(e);
    if (style.position === "absolute" && e.clientWidth <= 1 &&
        style.overflow === "hidden") {
      return false;
    }
  }
  return true;
}

const faults = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
for (let node = walker.nextNode(); node; node = walker.nextNode()) {
  const element = node.parentElement;
  if (!node.data.trim() || element.closest("script, style, noscript, title")) {
    continue;
  }
  const range = document.createRange();
  range.selectNodeContents(node);
  if (!shown(element, range)) continue;
  const style = getComputedStyle(element);
  const text = [...rgba(element.closest("svg") ? style.fill : style.color)];
  text[3] *= opacity(element);
  const back = background(element);
  const size = parseFloat(style.fontSize);
  const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
  const found = contrast(over(text, back), back);
  if (found < (large ? 3 : 4.5)) {
    faults.push(`contrast ${found.toFixed(2)} of "${
        node.data.trim().slice(0, 40)}" in ${element.outerHTML.slice(0, 80)}`);
  }
}
return faults;
