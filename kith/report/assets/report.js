// After charts.js: tabs, and stops of the Tab key.

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
