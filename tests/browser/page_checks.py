"""What holds for every page that kith writes: each check returns a list of
faults, in words, that is empty for a good page."""

import pathlib

HERE = pathlib.Path(__file__).parent

# Roles of the accessibility tree that a user operates.
CONTROLS = {"button", "link", "textbox", "searchbox", "checkbox", "radio",
            "combobox", "slider", "tab", "menuitem", "switch", "spinbutton",
            "DisclosureTriangle", "listbox", "option"}
PICTURES = {"image", "img", "graphics-symbol", "graphics-document"}


def console_faults(browser):
    """Errors and warnings that the page logged."""
    return [f"{level}: {message}" for level, message in browser.console()
            if level in ("WARNING", "SEVERE")]


def request_faults(browser):
    """Everything that was asked for but the page itself and what is in it."""
    own = {browser.url, "about:blank"}
    return [url[:200] for url in browser.requests()
            if url.split("#")[0] not in own
            and not url.startswith(("data:", "blob:"))]


def policy_faults(browser):
    """Whether the page forbids itself to load anything."""
    policy = browser.run("""
        const meta = document.querySelector(
            'meta[http-equiv="Content-Security-Policy" i]');
        return meta && meta.content;""")
    if policy is None:
        return ["no content security policy"]
    rules = dict((rule.split() + [""])[:2] for rule in policy.split(";")
                 if rule.strip())
    if rules.get("default-src") != "'none'":
        return [f"the policy allows what it does not name: {policy}"]
    return [f"the policy allows others: {word}" for word in policy.split()
            if word.startswith(("http", "//", "*"))]


def name_faults(browser):
    """Controls, focusable elements and pictures without a name, as the browser
    tells it to a screen reader. What is hidden has none."""
    nodes = browser.cdp("Accessibility.getFullAXTree")["nodes"]
    faults = []
    for node in nodes:
        if node.get("ignored"):
            continue
        role = node.get("role", {}).get("value", "")
        focusable = any(p["name"] == "focusable" and p["value"].get("value")
                        for p in node.get("properties", []))
        if role == "RootWebArea" or not (
                focusable or role in CONTROLS or role in PICTURES):
            continue
        if not node.get("name", {}).get("value", "").strip():
            faults.append(f"no accessible name: {role} "
                          + _describe(browser, node["backendDOMNodeId"]))
    return faults


def _describe(browser, node):
    try:
        html = browser.cdp("DOM.getOuterHTML", backendNodeId=node)["outerHTML"]
    except Exception:  # a node that is made by the browser
        return f"node {node}"
    return " ".join(html[:120].split())


def _script(name):
    return (HERE / name).read_text(encoding="utf-8")


def structure_faults(browser):
    """Language, title, headings, ids, header cells, texts of pictures."""
    return browser.run(_script("structure.js"))


def contrast_faults(browser):
    """Text that is shown with less contrast than WCAG 2 AA asks for: 4.5, or 3
    if it is large."""
    return browser.run(_script("contrast.js"))


def picture_faults(browser):
    """Pictures that are not drawn: images, backgrounds of elements with the
    role of an image, images in SVG."""
    return browser.run(_script("pictures.js"))


def width_faults(browser, width):
    """What makes a page of this width scroll sideways."""
    return browser.run("""
        const width = arguments[0], page = document.documentElement;
        if (page.scrollWidth <= width) return [];
        const inner = (element) => {
          for (let e = element.parentElement; e; e = e.parentElement) {
            if (getComputedStyle(e).overflowX !== "visible") return true;
          }
          return false;
        };
        const wide = [...document.body.querySelectorAll("*")].filter((e) =>
            e.getBoundingClientRect().right > width + 1 && !inner(e));
        return [`${page.scrollWidth} pixels in a window of ${width}`].concat(
            wide.slice(0, 5).map((e) => e.outerHTML.slice(0, 120)));""", width)
