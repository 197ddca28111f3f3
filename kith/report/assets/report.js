// After charts.js: tabs, legends of maps, and stops of the Tab key.

// Panels with a heading each become tabs.
function makeTabs(tabs) {
  const panels = [...tabs.querySelectorAll(':scope > .panel')];
  if (panels.length < 2) return;
  const list = make('div', { role: 'tablist', 'aria-label': 'Queries shown' });
  const buttons = panels.map(panel => {
    const heading = panel.querySelector('h3, h4');
    const button = make('button', { type: 'button', role: 'tab',
                                    id: `${panel.id}-tab`,
                                    'aria-controls': panel.id },
                        heading.textContent);
    heading.hidden = true;
    panel.setAttribute('role', 'tabpanel');
    panel.setAttribute('aria-labelledby', button.id);
    list.append(button);
    return button;
  });
  const select = chosen => buttons.forEach((button, i) => {
    button.setAttribute('aria-selected', String(i === chosen));
    button.tabIndex = i === chosen ? 0 : -1;
    panels[i].hidden = i !== chosen;
  });
  buttons.forEach((button, i) => {
    button.addEventListener('click', () => select(i));
    button.addEventListener('keydown', event => {
      const to = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0,
                   End: buttons.length - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      const next = (to + buttons.length) % buttons.length;
      select(next);
      buttons[next].focus();
    });
  });
  select(0);
  tabs.prepend(list);
}
document.querySelectorAll('.tabs').forEach(makeTabs);

// The entries of a map's legend choose a class, and where not every class has
// an entry a list does.
function makeLegend(scatters) {
  const key = scatters.querySelector('.key');
  if (!key) return;
  const buttons = [...key.querySelectorAll('[data-class]')].map(entry => {
    const button = make('button', { type: 'button', 'aria-pressed': 'false' });
    button.append(...entry.childNodes);
    entry.append(button);
    return { button, number: entry.dataset.class };
  });
  let list = null;
  const choose = number => {
    if (number === null) delete scatters.dataset.chosen;
    else scatters.dataset.chosen = number;
    for (const each of buttons) {
      each.button.setAttribute('aria-pressed', String(each.number === number));
    }
    if (list) list.value = number ?? '';
    markClass(scatters, null);
  };
  for (const { button, number } of buttons) {
    button.addEventListener('click', () =>
      choose(scatters.dataset.chosen === number ? null : number));
  }
  if (key.children.length === buttons.length) return;
  const items = document.getElementById(scatters.dataset.items).children;
  const names = new Map();
  for (const group of scatters.querySelectorAll('.charts .dots')) {
    const dot = group.querySelector('[data-item]');
    names.set(group.dataset.class, items[Number(dot.dataset.item)].textContent);
  }
  list = make('select', {});
  list.append(make('option', { value: '' }, 'all classes'));
  for (const [number, name] of [...names].sort((a, b) => a[0] - b[0])) {
    list.append(make('option', { value: number }, name));
  }
  list.addEventListener('change', () => choose(list.value || null));
  const label = make('label', {}, 'Show ');
  label.append(list);
  key.after(label);
}
document.querySelectorAll('.scatters').forEach(makeLegend);

// A stop of the Tab key where something can be scrolled, and nowhere else.
function setScrollStops() {
  for (const box of document.querySelectorAll('.scroll')) {
    const scrolls = box.scrollWidth > box.clientWidth ||
                    box.scrollHeight > box.clientHeight;
    if (scrolls) box.tabIndex = 0; else box.removeAttribute('tabindex');
  }
}
setScrollStops();
window.addEventListener('resize', setScrollStops);
document.addEventListener('toggle', setScrollStops, true);
