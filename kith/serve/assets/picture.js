// Makes what the user gives ready for the server.

import { Trouble } from './client.js';

const kSide = 1024;  // pixels; networks see far fewer

// How files begin that the server may read, by the names it gives them. Neither
// the names of files nor the types that the browser makes of them can be
// trusted.
const kBeginnings = [
  ['JPEG', '\xff\xd8\xff'],
  ['PNG', '\x89PNG\r\n\x1a\n'],
  ['GIF', 'GIF8'],
  ['BMP', 'BM'],
  ['WebP', 'RIFF....WEBP'],
  ['TIFF', 'II*\0'],
  ['TIFF', 'MM\0*'],
];

async function isKnown(file, formats) {
  const bytes = new Uint8Array(await file.slice(0, 12).arrayBuffer());
  const fits = beginning => [...beginning].every(
      (sign, i) => sign === '.' || bytes[i] === sign.charCodeAt(0));
  return kBeginnings.some(
      ([name, beginning]) => formats.includes(name) && fits(beginning));
}

// What cannot be seen is no picture: a drawing may have no size.
async function decode(file) {
  const image = new Image();
  const address = URL.createObjectURL(file);
  image.src = address;
  const decoded = await image.decode().then(() => true, () => false);
  URL.revokeObjectURL(address);
  if (decoded && image.naturalWidth > 0 && image.naturalHeight > 0) {
    return image;
  }
  throw new Trouble(
      `${file.name || 'This'} is not a picture that can be read.`,
      'Choose a JPEG, PNG or WebP file.');
}

// As a JPEG.
function draw(image, width, height) {
  const canvas = document.createElement('canvas');
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext('2d');
  context.imageSmoothingQuality = 'high';
  context.fillStyle = 'white';  // behind transparency, as the server does
  context.fillRect(0, 0, width, height);
  context.drawImage(image, 0, 0, width, height);
  return new Promise((done, fail) => canvas.toBlob(
      blob => blob ? done(blob) : fail(new Trouble(
          'The browser could not scale this picture down.',
          'Choose a smaller one.')), 'image/jpeg', 0.92));
}

// What is sent for a file: itself, or a JPEG if it is large or of a kind that
// only the browser reads. `limits`: what the server tells of itself.
export async function preparePicture(file, limits) {
  const sendable = file.size <= limits.max_body_bytes &&
      await isKnown(file, limits.formats);
  let image;
  try {
    image = await decode(file);
  } catch (trouble) {
    if (sendable) return file;  // a TIFF, or the server says what is wrong
    throw trouble;
  }
  const { naturalWidth: width, naturalHeight: height } = image;
  const scale = Math.min(1, kSide / Math.max(width, height),
                         Math.sqrt(limits.max_pixels / (width * height)));
  if (scale === 1 && sendable) return file;
  const scaled = side => Math.max(1, Math.floor(scale * side));
  return draw(image, scaled(width), scaled(height));
}
