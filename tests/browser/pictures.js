// Pictures that are not drawn, as a promise of a list of texts.
const shown = (element) => element.outerHTML.slice(0, 120);

async function fault_of_image(image) {
  image.loading = "eager";  // wherever it is on the page
  try {
    await image.decode();
  } catch (error) {
    return `not loaded: ${shown(image)}`;
  }
  return image.naturalWidth > 0 ? null : `empty: ${shown(image)}`;
}

const loaded = new Map();  // one picture may be behind many elements
function fault_of_source(source, element) {
  if (!loaded.has(source)) {
    const image = new Image();
    image.src = source;
    loaded.set(source, image.decode().then(() => true, () => false));
  }
  return loaded.get(source).then(
      (good) => good ? null : `not loaded: ${shown(element)}`);
}

function fault_of_background(element) {
  const found = /url\("(.*?)"\)/.exec(
      getComputedStyle(element).backgroundImage);
  // A picture may also be drawn with what is inside: SVG, other images.
  if (found) return fault_of_source(found[1], element);
  return element.children.length ? null : `no picture: ${shown(element)}`;
}

return Promise.all([
  ...[...document.images].map(fault_of_image),
  ...[...document.querySelectorAll('[role="img"]:not(svg):not(img):not(svg *)')]
      .map(fault_of_background),
  ...[...document.querySelectorAll("svg image")].map((element) =>
      fault_of_source(element.href.baseVal, element)),
]).then((faults) => faults.filter(Boolean));
