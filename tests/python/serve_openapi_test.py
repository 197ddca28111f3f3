"""/openapi.json of `kith serve`: that it is one, that it names all there is,
and that the server answers as it says.

usage: KITH_PROGRAM=kith python3 serve_openapi_test.py [OPTION of unittest]...
"""

import json
import re
import unittest

from find_python import need

need("jsonschema")

import jsonschema  # noqa: E402

from serve_client import Server, prepared  # noqa: E402
from serve_live import LiveTest, form  # noqa: E402
from serve_start import TOKEN  # noqa: E402

METHODS = ("get", "put", "post", "delete")


def resolve(document, node):
    """What a reference means."""
    if "$ref" not in node:
        return node
    for name in node["$ref"].removeprefix("#/").split("/"):
        document = document[name]
    return document


def operations(document):
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


class OpenApi(LiveTest):
    def setUp(self):
        super().setUp()
        self.server = self.serve()
        status, fields, body = self.server.get("/openapi.json")
        self.assertEqual((status, fields["Content-Type"]),
                         (200, "application/json"))
        self.document = json.loads(body)
        self.seen = set()

    def test_it_is_whole(self):
        document = self.document
        self.assertRegex(document["openapi"], r"^3\.1\.")
        for name in ("title", "version"):
            self.assertIsInstance(document["info"][name], str)
        text = json.dumps(document)
        for reference in re.findall(r'"\$ref": "([^"]*)"', text):
            self.assertTrue(resolve(document, {"$ref": reference}), reference)
        for schema in document["components"]["schemas"].values():
            jsonschema.Draft202012Validator.check_schema(schema)
        ids = [operation["operationId"]
               for _, _, operation in operations(document)]
        self.assertEqual(len(ids), len(set(ids)))
        for path, method, operation in operations(document):
            self.assertIn(method, METHODS)
            self.assertTrue(path.startswith("/"))
            self.assertTrue(operation["summary"])
            given = [resolve(document, each)
                     for each in operation.get("parameters", [])]
            for each in given:
                self.assertIn(each["in"], ("path", "query"))
                jsonschema.Draft202012Validator.check_schema(each["schema"])
                self.assertTrue(each["in"] == "query" or each["required"])
            self.assertEqual({each["name"] for each in given
                              if each["in"] == "path"},
                             set(re.findall(r"{(\w+)}", path)), path)
            self.assertTrue(operation["responses"])
            for status, response in operation["responses"].items():
                self.assertRegex(status, r"^[1-5]\d\d$")
                self.assertTrue(resolve(document, response)["description"])
            for scheme in operation["security"]:
                for name in scheme:
                    self.assertIn(name,
                                  document["components"]["securitySchemes"])

    def call(self, method, path, values=None, body=None, kind=None, status=200,
             token=True):
        """Asks, and compares the answer with what is said of it."""
        operation = self.document["paths"][path][method]
        target = path
        query = dict(values or {})
        for name in re.findall(r"{(\w+)}", path):
            target = target.replace("{%s}" % name, str(query.pop(name)))
        known = {resolve(self.document, each)["name"]
                 for each in operation.get("parameters", [])}
        self.assertLessEqual(set(query), known)
        if query:
            target += "?" + "&".join(f"{k}={v}" for k, v in query.items())
        fields = {"Authorization": f"Bearer {TOKEN}"} if token else {}
        if kind:
            fields["Content-Type"] = kind
        got, headers, reply = self.server.ask(method.upper(), target, body,
                                              **fields)
        self.assertEqual(got, status, (method, target, reply))
        self.assertIn(str(status), operation["responses"], (method, path))
        response = resolve(self.document,
                           operation["responses"][str(status)])
        (told, content), = response["content"].items()
        if told != "*/*":
            self.assertEqual(headers["Content-Type"], told, target)
        self.seen.add((path, method, status))
        if told != "application/json":
            return reply
        answer = json.loads(reply)
        jsonschema.Draft202012Validator(
            {**content["schema"], "components": self.document["components"]}
        ).validate(answer)
        return answer

    def call_index(self, base, values):
        """All of one index."""
        call = lambda method, path, more=None, **rest: self.call(
            method, base + path, {**values, **(more or {})}, **rest)
        picture, other = self.others[0], self.others[1]
        png = {"body": picture, "kind": "image/png"}
        call("get", "/info")
        call("get", "/classes")
        call("get", "/items/any")
        call("get", "/items/{position}", {"position": 3})
        call("get", "/items/{position}", {"position": 9999}, status=404)
        call("get", "/items/{position}/similar",
             {"position": 3, "k": 2, "label": "0"})
        call("get", "/items/{position}/similar", {"position": 3, "k": 0},
             status=400)
        call("get", "/items/{position}/image", {"position": 3, "size": 64})
        call("post", "/search", {"k": 5, "label": "0"}, **png)
        call("post", "/search", body=b"text", kind="text/plain", status=415)
        call("post", "/search", body=picture[:-60], kind="image/png",
             status=400)
        call("get", "/items", {"id": "one"}, status=404)
        call("get", "/items", status=400)
        call("post", "/items", {"id": "one", "label": "new"}, status=201, **png)
        call("post", "/items", {"id": "one"}, status=409, **png)
        call("post", "/items", token=False, status=401, **png)
        call("get", "/items", {"id": "one"})
        body, kind = form(("image", other), ("label", "new"))
        call("put", "/items", {"id": "one"}, body=body, kind=kind)
        call("put", "/items", {"id": "two"}, body=body, kind=kind, status=201)
        call("delete", "/items", {"id": "one"})
        call("delete", "/items", {"id": "two"})
        call("delete", "/items", {"id": "two"}, status=404)

    def test_the_server_answers_as_it_says(self):
        self.call("get", "/", token=False)
        self.call("get", "/assets/{file}", {"file": "serve.js"}, token=False)
        self.call("get", "/assets/{file}", {"file": "none"}, status=404)
        self.call("get", "/health", token=False)
        self.call("get", "/ready", token=False)
        self.call("get", "/openapi.json", token=False)
        self.call("get", "/metrics")
        self.call("get", "/metrics", token=False, status=401)
        self.call("get", "/api/indexes")
        self.call_index("/api", {})
        self.call_index("/api/indexes/{index}", {"index": "live"})
        self.call("get", "/api/indexes/{index}/info", {"index": "none"},
                  status=404)
        # Whatever is described was asked for with success.
        done = {(path, method) for path, method, status in self.seen
                if status < 300}
        self.assertEqual(done, {(path, method) for path, method, _ in
                                operations(self.document)})

    def test_what_is_not_described_is_not_there(self):
        for path in {path for path, _, _ in operations(self.document)}:
            target = re.sub(r"{(\w+)}", lambda found: {
                "position": "3", "index": "live", "file": "serve.js"
            }[found.group(1)], path)
            for method in ("GET", "PUT", "POST", "DELETE", "PATCH"):
                if method.lower() in self.document["paths"][path]:
                    continue
                status, fields, _ = self.server.ask(
                    method, target, Authorization=f"Bearer {TOKEN}")
                self.assertEqual(status, 405, (method, target))
                self.assertNotIn(method, fields["Allow"])

    def test_changes_that_are_not_allowed_are_said_to_be(self):
        server = Server(index=self.index)
        self.addCleanup(server.end)
        for path, method, operation in operations(self.document):
            if {} in operation["security"] or not operation["security"]:
                continue
            target = path.replace("{index}", "live")
            reply = server.ask(method.upper(), target + "?id=x")
            self.assertEqual(reply[0], 403, (method, target))
            self.assertIn("403", operation["responses"])


if __name__ == "__main__":
    with prepared():
        unittest.main()
