// Talks to the server, with the token if there is one.

// What went wrong and what helps, in words for the user.
export class Trouble extends Error {
  constructor(message, remedy, status = 400) {
    super(message);
    this.remedy = remedy;
    this.status = status;  // 0: no answer
  }

  // Whether the same request may succeed a little later.
  get passing() {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

const kToken = 'kith-token';

// Kept until the tab is closed. False if no token looks like this.
export function setToken(text) {
  const good = /^[\x21-\x7e]+$/.test(text);
  if (good) sessionStorage.setItem(kToken, text);
  return good;
}

export function hasToken() {
  return sessionStorage.getItem(kToken) !== null;
}

export function forgetToken() {
  sessionStorage.removeItem(kToken);
}

// Also a request that the page itself gave up has no answer.
async function send(path, options) {
  const token = sessionStorage.getItem(kToken);
  const headers = token === null ? {} : { Authorization: `Bearer ${token}` };
  try {
    return await fetch(path, { ...options, headers });
  } catch {
    throw new Trouble('The server does not answer.',
                      'Is kith serve still running? Then try again.', 0);
  }
}

const sentence = text =>
    `${text[0].toUpperCase()}${text.slice(1)}`.replace(/[^.?!]$/, '$&.');

async function ask(path, options = {}) {
  const reply = await send(path, options);
  if (reply.ok) return reply;
  const told = await reply.json().catch(() => ({}));
  throw new Trouble(
      sentence(told.error || `the server answered ${reply.status}`),
      sentence(told.remedy || 'try again'), reply.status);
}

// What the addresses of the index that is searched begin with.
let base = '/api';

export function setBase(address) {
  base = address;
}

// The JSON that is answered.
export async function askJson(path, options) {
  const reply = await ask(path, options);
  try {
    return await reply.json();
  } catch {
    throw new Trouble('The answer of the server broke off.', 'Try again.', 0);
  }
}

// The same from the index: '/info'.
export function askIndex(path, options) {
  return askJson(base + path, options);
}

// The neighbours of a query, { picture: Blob } or { item: position }.
export function findSimilar(query, count, label, signal) {
  const wanted = new URLSearchParams({ k: count });
  if (label) wanted.set('label', label);
  if ('item' in query) {
    return askIndex(`/items/${query.item}/similar?${wanted}`, { signal });
  }
  return askIndex(`/search?${wanted}`,
                  { method: 'POST', body: query.picture, signal });
}

// An address for <img> and a function that lets it go. The browser sends no
// token for images, so with one they are fetched here.
export async function imageAddress(path, signal) {
  if (!hasToken()) return { address: path, release: () => {} };
  const address =
      URL.createObjectURL(await (await ask(path, { signal })).blob());
  return { address, release: () => URL.revokeObjectURL(address) };
}
