// Faults in the structure of a page, as a list of texts.
const faults = [];
const shown = (element) => element.outerHTML.slice(0, 120);
const all = (selector) => [...document.querySelectorAll(selector)];

if (!document.documentElement.lang) faults.push("no language: <html lang>");
if (!document.title.trim()) faults.push("no title");
if (!document.querySelector('meta[name="viewport"]')) {
  faults.push("no viewport: a phone would show it tiny");
}

const headings = all("h1, h2, h3, h4, h5, h6");
const tops = headings.filter((h) => h.tagName === "H1").length;
if (tops !== 1) faults.push(`${tops} headings h1`);
let level = 0;
for (const heading of headings) {
  const own = Number(heading.tagName[1]);
  if (own > level + 1) {
    faults.push(`heading skips from h${level}: ${shown(heading)}`);
  }
  if (!heading.textContent.trim()) faults.push(`empty: ${shown(heading)}`);
  level = own;
}

const seen = new Set();
for (const element of all("[id]")) {
  if (seen.has(element.id)) faults.push(`id twice: ${shown(element)}`);
  seen.add(element.id);
}
for (const link of all('a[href^="#"]')) {
  const target = link.getAttribute("href").slice(1);
  if (target && !seen.has(target)) faults.push(`leads nowhere: ${shown(link)}`);
}
for (const attribute of ["aria-labelledby", "aria-describedby",
                         "aria-controls", "for"]) {
  for (const element of all(`[${attribute}]`)) {
    for (const id of element.getAttribute(attribute).split(/\s+/)) {
      if (!seen.has(id)) {
        faults.push(`${attribute} of nothing, ${id}: ${shown(element)}`);
      }
    }
  }
}

for (const table of all("table")) {
  if (!table.querySelector("th")) {
    faults.push(`table without header cells: ${shown(table)}`);
  }
}
for (const image of all("img:not([alt]):not([aria-label])")) {
  if (!image.closest('[aria-hidden="true"]')) {
    faults.push(`no alt: ${shown(image)}`);
  }
}
return faults;
