// The page. What is searched with is in the address, so that the back button
// works: #item=17, or #picture= and a number that this page gave to a picture;
// before it #index=NAME& if it is not the first index.

import { Trouble, askIndex, askJson, findSimilar, forgetToken, hasToken,
         setBase, setToken } from './client.js';
import { clearOutcome, moveToOutcome, showOutcome, showSearching } from
    './outcome.js';
import { preparePicture } from './picture.js';

const at = id => document.getElementById(id);
const kKeptPictures = 50;
const kShownClasses = 200;  // of those that fit what is typed

let info = null;              // of the index; null: it cannot be asked yet
let indexes = [];             // [{ name, items, address }]
let classes = [];             // [{ label, count }]
const pictures = new Map();   // number: { blob, name }
// Numbers are not used again after the page is loaded again: the address and
// the history may still hold them.
let lastPicture = Date.now();
let wish = 0;                 // counts what the user asked for
let search = null;            // AbortController of the last one
let searchedClass = '';       // '': any

// Errors

function showTrouble(error, again = () => show({ move: true })) {
  if (error.status === 401) return askForToken('This token was not accepted.');
  const known = error instanceof Trouble;
  const box = at('trouble-text').content.cloneNode(true);
  box.querySelector('strong').textContent =
      known ? error.message : 'Something went wrong in this page.';
  box.querySelector('span').textContent =
      known ? error.remedy : `Load it again. (${error})`;
  const retry = box.querySelector('.again');
  retry.hidden = !(known && error.passing);
  retry.addEventListener('click', () => { hideTrouble(); again(); });
  box.querySelector('.close').addEventListener('click', hideTrouble);
  at('trouble').replaceChildren(box);
  at('trouble').scrollIntoView({ block: 'nearest' });
}

// The keyboard goes on at the file chooser, not at the top of the page.
function hideTrouble() {
  const focused = at('trouble').contains(document.activeElement);
  at('trouble').replaceChildren();
  if (focused) at('file').focus();
}

// The token

function askForToken(hint) {
  info = null;
  ++wish;  // what is under way has no token any more
  search?.abort();
  at('token-hint').textContent = hasToken() ? hint : '';
  forgetToken();
  at('entry').hidden = false;
  at('ask').hidden = at('outcome').hidden = true;
  hideTrouble();
  at('token').focus();
}

at('entry').addEventListener('submit', event => {
  event.preventDefault();
  const good = setToken(at('token').value.trim());
  at('token').value = '';
  at('token-hint').textContent = good ? '' : 'No token looks like this.';
  if (good) start(true);
});

// Queries

// What the address says: the name of the index, 'item', 'picture' or nothing,
// and its number.
function readAddress() {
  const found = /^#(?:index=([\w-]+)&?)?(?:(item|picture)=(\d{1,15}))?$/.exec(
      location.hash);
  const [, index, kind, number] = found || [];
  return { index: index ?? indexes[0].name, kind, number: Number(number) };
}

// The address of a search in an index: 'item' or 'picture' and its number, or
// of none.
function addressOf(index, kind = '', number = 0) {
  const query = kind && `${kind}=${number}`;
  if (index === indexes[0].name) return `#${query}`;
  return `#index=${index}${query && `&${query}`}`;
}

// { item }, { picture, name }, or null: nothing is asked for. A picture that
// is not here any more is undefined.
function currentQuery() {
  const { kind, number } = readAddress();
  if (!kind) return null;
  if (kind === 'item') return { item: number };
  const kept = pictures.get(number);
  return { picture: kept?.blob, name: kept?.name };
}

// Does what the user asked for, `find`, and searches with what it returns for
// the address. What is done, or fails, after something else was asked for is
// dropped. `again`: for another try.
async function searchFor(find, again) {
  if (!info) return;
  const own = ++wish;
  hideTrouble();
  try {
    const hash = await find();
    if (own !== wish) return;
    if (location.hash !== hash) history.pushState(null, '', hash);
    show({ move: true });
  } catch (error) {
    if (own === wish) showTrouble(error, again);
  }
}

function searchWithFile(file) {
  searchFor(async () => {
    const blob = await preparePicture(file, info);
    pictures.set(++lastPicture, { blob, name: file.name });
    pictures.delete(lastPicture - kKeptPictures);
    return addressOf(info.name, 'picture', lastPicture);
  }, () => searchWithFile(file));
}

function searchWithAny() {
  searchFor(async () => addressOf(info.name, 'item',
                                  (await askIndex('/items/any')).position),
            searchWithAny);
}

// Searches with what the address says. `move`: to the results, for the query
// is another one.
async function show({ move = false } = {}) {
  if (!info) return;
  const query = currentQuery();
  searchedClass = chosenClass();
  search?.abort();
  search = new AbortController();
  const { signal } = search;
  const own = wish;
  hideTrouble();
  document.body.classList.toggle('asked', query !== null);
  if (query === null) return clearOutcome();
  try {
    await searchWith(query, move, signal);
  } catch (error) {
    if (signal.aborted) return;
    clearOutcome();
    if (own === wish) showTrouble(error);
  }
}

async function searchWith(query, move, signal) {
  if (!('item' in query) && !query.picture) {
    throw new Trouble('This picture is not here any more.', 'Choose it again.');
  }
  showSearching();
  const label = searchedClass;
  const [item, reply] = await Promise.all([
    'item' in query ? askIndex(`/items/${query.item}`, { signal }) : null,
    findSimilar(query, at('count').value, label, signal)]);
  showOutcome(item ?? query, reply, label,
              position => `/${addressOf(info.name, 'item', position)}`, signal);
  if (move) moveToOutcome();
}

// Controls

// '': any, also if what is typed is no class; then the user is told.
function chosenClass() {
  const text = at('class').value;
  const label = findClass(text);
  at('class-hint').textContent = label !== undefined
      ? '' : `There is no class \u201c${text}\u201d. All are searched.`;
  return label ?? '';
}

// The class that a text means, '' for any; undefined: none. Where only one
// class is the same but for capital letters, they do not matter.
function findClass(text) {
  const labels = classes.map(({ label }) => label);
  if (text === '' || labels.includes(text)) return text;
  const lower = text.toLowerCase();
  const same = labels.filter(label => label.toLowerCase() === lower);
  return same.length === 1 ? same[0] : undefined;
}

function offerClasses() {
  const typed = at('class').value.toLowerCase();
  const fitting = classes.filter(
      ({ label }) => label.toLowerCase().includes(typed));
  at('classes').replaceChildren(
      ...fitting.slice(0, kShownClasses).map(({ label, count }) => {
        const option = document.createElement('option');
        option.value = label;
        option.label = `${label} (${count})`;
        return option;
      }));
}

// A choice only where there is one.
function offerIndexes() {
  at('which').hidden = indexes.length < 2;
  at('index').replaceChildren(...indexes.map(({ name }) => {
    const option = document.createElement('option');
    option.textContent = name;
    option.selected = name === info.name;
    return option;
  }));
}

// Searches once a class is complete, and once a wrong one is left.
function filter() {
  if (chosenClass() !== searchedClass) show();
}
at('class').addEventListener('input', () => {
  offerClasses();
  if (findClass(at('class').value) !== undefined) filter();
});
at('class').addEventListener('change', filter);
at('count').addEventListener('input', () => {
  at('count-shown').textContent = at('count').value;
});
at('count').addEventListener('change', () => show());
at('surprise').addEventListener('click', searchWithAny);

// A picture is searched with in the other index too; items are not there.
at('index').addEventListener('change', () => {
  const { kind, number } = readAddress();
  const kept = kind === 'picture' ? kind : '';
  history.pushState(null, '', addressOf(at('index').value, kept, number));
  start(false);
});
for (const id of ['file', 'camera']) {
  at(id).addEventListener('change', () => {
    const [file] = at(id).files;
    if (file) searchWithFile(file);
    at(id).value = '';  // the same file may be chosen again
  });
}
window.addEventListener('paste', event => {
  const [file] = event.clipboardData.files;
  if (!file) return;
  event.preventDefault();
  searchWithFile(file);
});

// Dropping, anywhere; images of the page itself are not dragged.
const holdsFiles = event => event.dataTransfer.types.includes('Files');
const showDrop = shown => document.body.classList.toggle('dropping', shown);
window.addEventListener('dragstart', event => event.preventDefault());
window.addEventListener('dragover', event => {
  if (!holdsFiles(event)) return;
  event.preventDefault();
  showDrop(info !== null);
});
window.addEventListener('dragleave', event => {
  if (event.relatedTarget === null) showDrop(false);
});
window.addEventListener('drop', event => {
  showDrop(false);
  if (!holdsFiles(event)) return;
  event.preventDefault();
  const [file] = event.dataTransfer.files;
  if (file) searchWithFile(file);
});
window.addEventListener('hashchange', () => {
  if (!info) return;
  if (readAddress().index !== info.name) return start(false);
  ++wish;
  show({ move: true });
});

// Start

function describe() {
  const number = value => value.toLocaleString('en');
  const parts = [`${number(info.items)} images`];
  if (info.classes > 0) parts.push(`${number(info.classes)} classes`);
  parts.push(`model ${info.model.split('/').filter(Boolean).pop()}`);
  return parts.join(' \u00b7 ');
}

// The page as the server wants it. `focus`: the user waits for it, and goes on
// with the file chooser.
async function start(focus) {
  const own = ++wish;
  hideTrouble();
  try {
    if (await isTokenMissing()) return askForToken();
    ({ indexes } = await askJson('/api/indexes'));
    const { index } = readAddress();
    const found = indexes.find(({ name }) => name === index);
    if (!found) history.replaceState(null, '', '#');
    const { address } = found ?? indexes[0];
    const told = await askJson(`${address}/info`);
    const known = told.classes > 0
        ? (await askJson(`${address}/classes`)).classes : [];
    if (own !== wish) return;
    setBase(address);
    info = told;
    classes = known;
  } catch (error) {
    if (own === wish) showTrouble(error, () => start(true));
    return;
  }
  at('entry').hidden = true;
  at('ask').hidden = false;
  at('about').textContent = describe();
  at('home').href = addressOf(info.name);
  offerIndexes();
  at('filter').hidden = info.classes === 0;
  at('count').max = Math.max(1, Math.min(info.max_neighbours, info.items));
  at('count-shown').textContent = at('count').value;
  offerClasses();
  if (focus) at('file').focus();
  show();
}

// Asked before anything that would be refused.
async function isTokenMissing() {
  return !hasToken() && (await askJson('/health')).token_required;
}
start(false);
