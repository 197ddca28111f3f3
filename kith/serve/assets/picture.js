// Makes what the user gives ready for the server.

import { Trouble } from './client.js';

const kSide = 1024;  // pixels; networks see far fewer

// How files begin that the server reads. Neither their names nor the types
// that the browser makes of them can be trusted.
const kBeginnings = [
  [0xff, 0xd8, 0xff],                                // JPEG
  [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a],  // PNG
];

async function isKnown(file) {
  const bytes = new Uint8Array(await file.slice(0, 8).arrayBuffer());
  return kBeginnings.some(
      beginning => beginning.every((byte, i) => bytes[i] === byte));
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
  const image = await decode(file);
  const { naturalWidth: width, naturalHeight: height } = image;
  const scale = Math.min(1, kSide / Math.max(width, height),
                         Math.sqrt(limits.max_pixels / (width * height)));
  if (scale === 1 && file.size <= limits.max_body_bytes &&
      await isKnown(file)) {
    return file;
  }
  const scaled = side => Math.max(1, Math.floor(scale * side));
  return draw(image, scaled(width), scaled(height));
}
