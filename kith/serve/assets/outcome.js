// What was searched with, and what was found.

import { imageAddress } from './client.js';

const at = id => document.getElementById(id);
const kThumbnail = '?size=320';

let releases = [];  // of the images that are shown

export function showSearching() {
  at('outcome').hidden = false;
  at('outcome').setAttribute('aria-busy', 'true');
  at('state').textContent = 'Searching\u2026';
}

export function clearOutcome() {
  releases.splice(0).forEach(release => release());
  at('hits').replaceChildren();
  at('state').textContent = '';
  at('outcome').removeAttribute('aria-busy');
  at('outcome').hidden = true;
}

// `query`: { picture, name }, or an item of the index, { label, path, image }.
// `filter`: the class that was asked for, or ''. `linkTo`: the address of a
// search with the item at a position. Images that are still loading when
// `signal` is aborted are left.
export function showOutcome(query, reply, filter, linkTo, signal) {
  releases.splice(0).forEach(release => release());
  showQuery(query, signal);
  at('hits').replaceChildren(
      ...reply.results.map((hit, i) => makeHit(hit, i + 1, linkTo, signal)));
  at('state').textContent = summary(reply, filter);
  at('outcome').removeAttribute('aria-busy');
}

// For keyboards and screen readers the results come next; the page is scrolled
// only if they are out of sight.
export function moveToOutcome() {
  at('outcome-title').focus({ preventScroll: true });
  const { top } = at('outcome').getBoundingClientRect();
  if (top < 0 || top > innerHeight / 2) at('outcome').scrollIntoView();
}

function showQuery(query, signal) {
  const image = at('query-picture');
  const own = 'picture' in query;
  at('query-kind').textContent = own ? 'Your picture' : 'From the index';
  showName(at('query-name'), own ? query.name : query.label);
  showName(at('query-detail'), own ? '' : query.path);
  image.alt = own ? 'Your picture' : `Image ${query.label || query.path}`;
  if (!own) return load(image, query.image, signal);
  const address = URL.createObjectURL(query.picture);
  releases.push(() => URL.revokeObjectURL(address));
  setImage(image, address);
}

// A long name breaks after its signs rather than within a word.
function showName(element, name) {
  const words = name.match(/[^/_-]*[/_-]+|[^/_-]+/g) || [];
  element.replaceChildren(
      ...words.flatMap(word => [word, document.createElement('wbr')]));
}

// Without its image a frame says so.
function setImage(image, address) {
  const miss = missed => {
    image.hidden = missed;
    image.parentElement.classList.toggle('missing', missed);
  };
  image.onload = () => miss(false);
  image.onerror = () => miss(true);
  if (address) image.src = address; else miss(true);
}

async function load(image, path, signal) {
  try {
    const { address, release } = await imageAddress(path, signal);
    if (signal.aborted) return release();
    releases.push(release);
    setImage(image, address);
  } catch {
    if (!signal.aborted) setImage(image, null);
  }
}

function makeHit(hit, rank, linkTo, signal) {
  const element = at('hit').content.cloneNode(true);
  const part = selector => element.querySelector(selector);
  const similarity = hit.similarity.toFixed(3).replace('-', '\u2212');
  const link = part('a');
  link.href = linkTo(hit.position);
  // What the caption leaves out of a long name.
  link.title = hit.label ? `${hit.label}\n${hit.path}` : hit.path;
  link.setAttribute('aria-label', `${rank}: ${hit.label || hit.path}, ` +
                    `similarity ${similarity}. Search with this image`);
  part('.rank').textContent = rank;
  showName(part('.caption'), hit.label || hit.path.split('/').pop());
  part('.number').textContent = similarity;
  if (hit.accepted === false) {
    part('li').classList.add('unlike');
    link.setAttribute('aria-label', `Below the threshold, ${
        link.getAttribute('aria-label')}`);
  }
  part('.bar span').style.width =
      `${100 * Math.min(1, Math.max(0, hit.similarity))}%`;
  load(part('img'), hit.image + kThumbnail, signal);
  return element;
}

// The label that most results have, and how many; the nearest of equals.
function commonLabel(results) {
  const counts = new Map();
  for (const { label } of results) {
    counts.set(label, (counts.get(label) || 0) + 1);
  }
  return [...counts].sort((a, b) => b[1] - a[1])[0];
}

// With a threshold: how many images are at least as similar.
function accepted({ results, threshold }) {
  const number = threshold.toFixed(3).replace('-', '\u2212');
  const count = results.filter(hit => hit.accepted).length;
  if (count === results.length) return '';
  return count === 0
      ? `Nothing like this here: all are below the threshold ${number}. `
      : `${results.length - count} are below the threshold ${number}. `;
}

function summary(reply, filter) {
  const { results, milliseconds, threshold } = reply;
  const total = results.length;
  if (total === 0) {
    return filter ? `No other image of class ${filter}.` : 'Nothing was found.';
  }
  const decision = threshold === undefined ? '' : accepted(reply);
  const [label, count] = commonLabel(results);
  const share = filter || !label || total === 1
      ? '' : `, ${count === total ? 'all' : count} of class ${label}`;
  return decision + `${total} ${total === 1 ? 'image' : 'images'} in ` +
         `${Math.ceil(milliseconds)} ms${share}.`;
}
