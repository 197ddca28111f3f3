"""What the page of `kith serve` shows: see kith/serve/assets."""

import time

SECONDS = 30  # that anything may take


class ServePage:
    def __init__(self, browser, url):
        self.browser = browser
        self.url = url
        self._logged = self._asked = 0

    def open(self, hash=""):
        """Loads the page, until it asks for a picture or a token; what was
        logged before is forgotten."""
        self.browser.driver.get("about:blank")
        self.forget_messages()
        self._asked = len(self.browser.requests())
        self.browser.driver.get(self.url + hash)
        self.wait("the page", lambda: self.shows("#ask")
                  or self.shows("#entry"))

    def forget_messages(self):
        self._logged = len(self.browser.console())

    def messages(self):
        """Errors and warnings that the page logged."""
        return [message for level, message
                in self.browser.console()[self._logged:]
                if level in ("WARNING", "SEVERE")]

    def requests_elsewhere(self):
        """Addresses of other servers that were asked."""
        return [url for url in self.browser.requests()[self._asked:]
                if not url.startswith((self.url, "blob:", "about:"))]

    def wait(self, what, condition):
        end = time.monotonic() + SECONDS
        while not condition():
            if time.monotonic() > end:
                raise AssertionError(f"still no {what}; the page says:\n"
                                     + self.text("body"))
            time.sleep(0.02)

    def shows(self, selector):
        return self.browser.run("""
            const element = document.querySelector(arguments[0]);
            return element !== null && element.checkVisibility();""", selector)

    def text(self, selector):
        return self.browser.run(
            "return document.querySelector(arguments[0]).innerText.trim();",
            selector)

    def text_after(self, selector):
        """What its style writes into an element."""
        return self.browser.run("""
            const element = document.querySelector(arguments[0]);
            return getComputedStyle(element, "::after").content;""", selector)

    # Searching

    def upload(self, path):
        """Chooses a file and waits for its results."""
        self.browser.find("#file").send_keys(str(path))
        self.wait_for_query(path.name)

    def give(self, event, data, name="given", kind=""):
        """Drops or pastes a file: `data` is a text, or an address to take it
        from."""
        self.browser.run("""
            const [event, data, name, kind] = arguments;
            const make = async () => {
              const body = data.startsWith("http")
                  ? await (await fetch(data)).blob() : data;
              const files = new DataTransfer();
              files.items.add(new File([body], name, {type: kind}));
              window.dispatchEvent(event === "drop"
                  ? new DragEvent("drop", {dataTransfer: files,
                                           bubbles: true, cancelable: true})
                  : new ClipboardEvent("paste", {clipboardData: files,
                                                 cancelable: true}));
            };
            return make();""", event, data, name, kind)

    def drop_drawing(self, width, height, kind, name, told_kind):
        """Drops a file of a kind that is told to be of another one. What is
        sent for it: its kind by its bytes, its size, and whether it is the
        same file."""
        return self.browser.run("""
            const [width, height, kind, name, toldKind] = arguments;
            const canvas = document.createElement("canvas");
            canvas.width = width, canvas.height = height;
            const context = canvas.getContext("2d");
            context.fillStyle = "teal";
            context.fillRect(width / 4, height / 4, width / 2, height / 2);
            const send = window.fetch;
            const sent = new Promise((done) => {
              window.fetch = (path, options) => {
                if (options.body) {
                  window.fetch = send;
                  done(options.body);
                }
                return send(path, options);
              };
            });
            const look = async (file) => {
              const body = await sent;
              const [first] = new Uint8Array(await body.arrayBuffer());
              const image = await createImageBitmap(body);
              return {kind: first === 0xff ? "image/jpeg" :
                            first === 0x89 ? "image/png" : "another",
                      size: [image.width, image.height],
                      same: body === file};
            };
            return new Promise((done) => canvas.toBlob((blob) => {
              const file = new File([blob], name, {type: toldKind});
              const files = new DataTransfer();
              files.items.add(file);
              window.dispatchEvent(new DragEvent("drop", {
                  dataTransfer: files, bubbles: true, cancelable: true}));
              done(look(files.files[0]));
            }, kind));""", width, height, kind, name, told_kind)

    def surprise(self):
        """Searches with any item, and waits for what is found."""
        self.browser.run("""
            document.getElementById("query-detail").textContent = "";""")
        self.browser.find("#surprise").click()
        self.wait("an item", lambda: (self.query()["detail"]
                                      and not self.is_busy())
                  or self.trouble())

    def hold_next(self, what):
        """The next call of `decode` of images, or of `fetch`, is only answered
        after release()."""
        self.browser.run("""
            const name = arguments[0];
            const owner = name === "decode" ? Image.prototype : window;
            const call = owner[name];
            const gate = new Promise((done) => { window.releaseHeld = done; });
            owner[name] = async function (...values) {
              owner[name] = call;
              const answer = call.apply(this, values);
              await Promise.allSettled([answer, gate]);
              return answer;
            };""", what)

    def release(self):
        self.browser.run("window.releaseHeld();")
        self.rest()

    def rest(self):
        """Long enough for something unwanted to show itself."""
        time.sleep(0.5)

    def wait_for_query(self, name):
        """Until the results of a query of this name are there: the file's,
        or the class and path of an item."""
        self.wait(f"results for {name}", lambda: self.query()["name"] == name
                  and not self.is_busy())

    def wait_for_item(self, path):
        self.wait(f"results for {path}", lambda: self.query()["detail"] ==
                  str(path) and not self.is_busy())

    def is_busy(self):
        return self.browser.run("""
            return document.getElementById("outcome").ariaBusy === "true";""")

    def query(self):
        return self.browser.run("""
            const text = (id) => document.getElementById(id).textContent;
            return {kind: text("query-kind"), name: text("query-name"),
                    detail: text("query-detail")};""")

    def hits(self):
        """[{rank, label, similarity, path, missing}], as they are shown."""
        hits = self.browser.run("""
            return [...document.querySelectorAll("#hits li")].map((item) => {
              const text = (part) => item.querySelector(part).textContent;
              return {rank: text(".rank"), label: text(".caption"),
                      similarity: text(".number"),
                      path: item.querySelector("a").title.split("\\n").pop(),
                      missing: item.querySelector(".missing") !== null};
            });""")
        for hit in hits:
            hit["rank"] = int(hit["rank"])
            hit["similarity"] = float(
                hit["similarity"].replace("\N{MINUS SIGN}", "-"))
        return hits

    def hit(self, number):
        """The link of a hit, from 0."""
        return self.browser.find_all("#hits a")[number]

    # Controls

    def choose_class(self, label):
        """Types it and leaves the field; an empty one is any."""
        field = self.browser.find("#class")
        field.clear()
        field.send_keys(label + "\t")

    def choose_count(self, count):
        self.browser.run("""
            const slider = document.getElementById("count");
            slider.value = arguments[0];
            slider.dispatchEvent(new Event("input"));
            slider.dispatchEvent(new Event("change"));""", count)

    def trouble(self):
        """What is told of an error; empty if there is none."""
        return self.text("#trouble")

    def enter_token(self, token):
        field = self.browser.find("#token")
        field.send_keys(token + "\n")
