"""RFC 4918 as a table: each MUST of §6 to §10 and §14 that a server can break is a row with its section.

Requirements on clients, and on what only other specifications define, are not here. The grammars of the fields have rows
of their own in WebDAVTests.
"""

import hashlib
import re
import xml.etree.ElementTree as ET

import pytest

from wire import Wire

DAV = "{DAV:}"
ROWS = []


def row(section, claim):
    """Makes a function a row; its place in this file is its place in the table."""
    def add(check):
        ROWS.append(pytest.param(check, id=f"§{section} {claim}"))
        return check
    return add


class Dav:
    """A client that says what a row says, and no more."""

    def __init__(self, server):
        self.wire, self.root, self.url = Wire(server), server.root, server.url
        self.authority, self.port = server.authority, server.port

    def ask(self, method, target, *fields, body=None):
        return self.wire.ask(method, target, *fields, body=body)

    def status(self, *request, **more):
        return self.ask(*request, **more).status

    def lock(self, target, *fields, depth="0", scope="exclusive", owner="<D:owner>me</D:owner>"):
        """The token in its brackets; None when the lock is refused."""
        return self.ask_lock(target, *fields, depth=depth, scope=scope, owner=owner)["Lock-Token"]

    def ask_lock(self, target, *fields, depth="0", scope="exclusive", owner=""):
        body = (f'<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:{scope}/></D:lockscope><D:locktype><D:write/></D:locktype>'
                f"{owner}</D:lockinfo>")
        return self.ask("LOCK", target, *([f"Depth: {depth}"] if depth else []), *fields, body=body)

    def patch(self, target, instructions, *fields):
        return self.ask("PROPPATCH", target, *fields, body=(
            f'<D:propertyupdate xmlns:D="DAV:" xmlns:x="urn:x">{instructions}</D:propertyupdate>'))

    def set(self, target, properties, *fields):
        return self.patch(target, f"<D:set><D:prop>{properties}</D:prop></D:set>", *fields)

    def find(self, target, what="<D:allprop/>", depth="0"):
        """href → {property: (status, element)}."""
        return properties(self.ask("PROPFIND", target, f"Depth: {depth}", body=(
            f'<D:propfind xmlns:D="DAV:" xmlns:x="urn:x">{what}</D:propfind>')))

    def value(self, target, name):
        """The element of one property; None when the resource has none."""
        status, element = self.find(target, f"<D:prop>{name}</D:prop>").popitem()[1].popitem()[1]
        return element if status == 200 else None

    def locks(self, target):
        return self.value(target, "<D:lockdiscovery/>").findall(DAV + "activelock")


def properties(answer):
    assert answer.status == 207, answer
    found = {}
    for response in ET.fromstring(answer.body).iter(DAV + "response"):
        here = found.setdefault(response.find(DAV + "href").text, {})
        for propstat in response.iter(DAV + "propstat"):
            for element in propstat.find(DAV + "prop"):
                here[element.tag] = (status_of(propstat), element)
    return found


def statuses(answer):
    """href → status, of a 207 that names failures."""
    assert answer.status == 207, answer
    return {one.find(DAV + "href").text: status_of(one) for one in ET.fromstring(answer.body).iter(DAV + "response")}


def status_of(element):
    return int(element.find(DAV + "status").text.split()[1])


@pytest.fixture
def dav(server):
    (server.root / "a").write_text("a")
    (server.root / "b").write_text("b")
    (server.root / "d" / "e").mkdir(parents=True)
    (server.root / "d" / "x").write_text("x")
    (server.root / "d" / "e" / "y").write_text("y")
    client = Dav(server)
    yield client
    client.wire.close()


@pytest.mark.parametrize("check", ROWS)
def test_row(dav, check):
    check(dav)


def test_what_can_be_done_to_a_share_that_nobody_changes(serve):
    """§15.10, RFC 3253 §3.1.5: what is offered is what is not refused."""
    server = serve("--read-only")
    (server.root / "a").touch()
    dav = Dav(server)
    # One by one, and by the template of a listing.
    for found in (dav.find("/a"), dav.find("/", depth="1"), dav.find("/", "<D:prop><D:supportedlock/></D:prop>", depth="1")):
        assert [list(resource[DAV + "supportedlock"][1]) for resource in found.values()] == [[]] * len(found)
    assert dav.ask_lock("/a").status == 403
    assert len(dav.value("/", "<D:supported-report-set/>")) == 0
    for target in ("/", "/a"):
        allowed = dav.ask("OPTIONS", target)["Allow"].split(", ")
        assert sorted(allowed) == ["GET", "HEAD", "OPTIONS", "PROPFIND"]
    assert sorted(dav.ask("POST", "/a", body="")["Allow"].split(", ")) == sorted(allowed)
    dav.wire.close()


# 6 Locking

@row("6.1", "an exclusive lock conflicts with every other lock")
def _(dav):
    assert dav.lock("/a")
    assert dav.ask_lock("/a").status == dav.ask_lock("/a", scope="shared").status == 423


@row("6.1", "shared locks share, and conflict with an exclusive one")
def _(dav):
    assert dav.lock("/a", scope="shared") != dav.lock("/a", scope="shared")
    assert dav.ask_lock("/a").status == 423
    assert len(dav.locks("/a")) == 2


@row("6.1", "a lock of infinite depth covers every member, later ones too, and conflicts there")
def _(dav):
    token = dav.lock("/d", depth="infinity")
    assert dav.status("PUT", "/d/e/new", f"If: </d> ({token})", body="n") == 201
    for target in ("/d/x", "/d/e", "/d/e/y", "/d/e/new"):
        assert dav.locks(target)[0].find(f"{DAV}lockroot/{DAV}href").text == "/d/"
        assert dav.ask_lock(target).status == 423


@row("6.1", "what leaves a locked collection is locked no more")
def _(dav):
    token = dav.lock("/d", depth="infinity")
    assert dav.status("MOVE", "/d/x", "Destination: /out", f"If: </d> ({token})") == 201
    assert dav.locks("/out") == []
    assert dav.status("PUT", "/out", body="free") == 204


@row("6.1", "a lock ends with its root")
def _(dav):
    token = dav.lock("/a")
    assert dav.status("DELETE", "/a", f"If: ({token})") == 204
    assert dav.status("PUT", "/a", body="new") == 201
    assert dav.locks("/a") == []


@row("6.3", "supportedlock names what may be asked for")
def _(dav):
    entries = dav.value("/a", "<D:supportedlock/>").findall(DAV + "lockentry")
    assert {entry.find(DAV + "lockscope")[0].tag for entry in entries} == {DAV + "exclusive", DAV + "shared"}


@row("6.5", "lock tokens are absolute URIs, each one unique")
def _(dav):
    tokens = {dav.lock("/a", scope="shared") for _ in range(20)}
    assert len(tokens) == 20
    assert all(re.fullmatch(r"<(urn:uuid|opaquelocktoken):[0-9a-f-]{36}>", token) for token in tokens)


@row("6.6", "the time that is left is told, and is no more than was granted")
def _(dav):
    assert dav.lock("/a", "Timeout: Second-600")
    left = dav.locks("/a")[0].find(DAV + "timeout").text
    assert 590 <= int(left.removeprefix("Second-")) <= 600


@row("6.8", "lockdiscovery is there with and without locks")
def _(dav):
    assert dav.locks("/a") == []
    token = dav.lock("/a")
    assert dav.locks("/a")[0].find(f"{DAV}locktoken/{DAV}href").text == token.strip("<>")


# 7 Write lock

WRITES = [
    ("PUT", [], "new"), ("DELETE", [], None), ("MOVE", ["Destination: /z"], None), ("PATCH", ["X-Update-Range: append"], "more"),
    ("PROPPATCH", [], '<D:propertyupdate xmlns:D="DAV:"><D:set><D:prop><p xmlns="urn:x"/></D:prop></D:set></D:propertyupdate>'),
]
for method, fields, body in WRITES:
    @row("7", f"{method} of a locked resource needs the token, and is done with it")
    def _(dav, method=method, fields=fields, body=body):
        token = dav.lock("/a")
        refused = dav.ask(method, "/a", *fields, body=body)
        assert refused.status == 423
        assert ET.fromstring(refused.body).find(f"{DAV}lock-token-submitted/{DAV}href").text == "/a"
        assert (dav.root / "a").read_text() == "a"
        assert dav.status(method, "/a", *fields, f"If: ({token})", body=body) in (201, 204, 207)


@row("7", "COPY and MOVE onto a locked resource need its token")
def _(dav):
    token = dav.lock("/a")
    for method in ("COPY", "MOVE"):
        assert dav.status(method, "/b", "Destination: /a") == 423
    assert (dav.root / "a").read_text() == "a"
    assert dav.status("MOVE", "/b", "Destination: /a", f"If: </a> ({token})") == 204


@row("7", "a lock does not stop who reads")
def _(dav):
    assert dav.lock("/d", depth="infinity")
    assert dav.status("GET", "/d/x") == dav.status("HEAD", "/d/x") == dav.status("OPTIONS", "/d/x") == 200
    assert dav.status("PROPFIND", "/d/x", "Depth: 0") == 207
    assert dav.status("COPY", "/d/x", "Destination: /free") == 201


@row("7.1", "dead properties are protected with their resource")
def _(dav):
    token = dav.lock("/d")
    assert dav.set("/d", "<x:p>1</x:p>").status == 423
    assert dav.value("/d", "<x:p/>") is None
    assert dav.set("/d", "<x:p>1</x:p>", f"If: ({token})").status == 207


@row("7.3", "LOCK of an unmapped address makes an empty resource that is there in every way")
def _(dav):
    answer = dav.ask_lock("/new")
    assert answer.status == 201 and answer["Lock-Token"]
    assert dav.ask("GET", "/new").body == b"" and dav.status("GET", "/new") in (200, 204)
    found = dav.find("/", depth="1")
    assert found["/new"][DAV + "resourcetype"][1].find(DAV + "collection") is None
    assert dav.status("MKCOL", "/new") == 405
    assert dav.status("PUT", "/new", body="x") == 423
    assert dav.status("PUT", "/new", f"If: ({answer['Lock-Token']})", body="x") == 204


@row("7.3", "LOCK of an unmapped address that only a folder may have makes nothing")
def _(dav):
    assert dav.ask_lock("/new/").status == 409
    assert dav.status("GET", "/new") == 404


@row("7.3", "UNLOCK leaves the empty resource")
def _(dav):
    token = dav.lock("/new")
    assert dav.status("UNLOCK", "/new", f"Lock-Token: {token}") == 204
    assert dav.status("GET", "/new") == 200 and dav.locks("/new") == []


@row("7.4", "a lock of depth 0 on a collection protects which members it has")
def _(dav):
    token = dav.lock("/d")
    requests = [
        ("PUT", "/d/new", [], "n"), ("MKCOL", "/d/new", [], None), ("DELETE", "/d/x", [], None),
        ("MOVE", "/d/x", ["Destination: /out"], None), ("MOVE", "/a", ["Destination: /d/in"], None),
        ("COPY", "/a", ["Destination: /d/in"], None)]
    for method, target, fields, body in requests:
        assert dav.status(method, target, *fields, body=body) == 423, method
    refused = dav.ask_lock("/d/new")
    assert refused.status == 423 and ET.fromstring(refused.body)[0].tag == DAV + "lock-token-submitted"
    assert dav.ask_lock("/d/locked", f"If: </d/> ({token})").status == 201
    for method, target, fields, body in requests[:1] + requests[2:3]:
        assert dav.status(method, target, *fields, f"If: </d/> ({token})", body=body) in (201, 204)


@row("7.4", "a lock of depth 0 on a collection does not protect what is in its members")
def _(dav):
    assert dav.lock("/d")
    assert dav.status("PUT", "/d/x", body="changed") == 204
    assert dav.set("/d/x", "<x:p/>").status == 207
    assert dav.status("PUT", "/d/e/new", body="deeper") == 201
    assert dav.lock("/d/x")


@row("7.5", "all tokens that a request needs must be submitted")
def _(dav):
    first, second = dav.lock("/d/x"), dav.lock("/d/e/y")
    assert dav.status("DELETE", "/d", f"If: </d/x> ({first})") in (207, 423)
    assert (dav.root / "d" / "x").exists()
    assert dav.status("DELETE", "/d", f"If: </d/x> ({first}) </d/e/y> ({second})") == 204


@row("7.6", "COPY copies no lock")
def _(dav):
    assert dav.lock("/d", depth="infinity")
    assert dav.status("COPY", "/d", "Destination: /c") == 201
    assert dav.locks("/c") == dav.locks("/c/x") == []
    assert dav.status("PUT", "/c/x", body="free") == 204


@row("7.6", "MOVE moves no lock, and puts what it moves under the lock of where it goes")
def _(dav):
    own, target = dav.lock("/a"), dav.lock("/d", depth="infinity")
    assert dav.status("MOVE", "/a", "Destination: /d/a", f"If: </a> ({own}) </d> ({target})") == 201
    assert [lock.find(f"{DAV}locktoken/{DAV}href").text for lock in dav.locks("/d/a")] == [target.strip("<>")]


@row("7.6", "COPY and MOVE of a file onto a locked file leave it locked")
def _(dav):
    target = dav.lock("/b")
    for method in ("COPY", "MOVE"):
        assert dav.status(method, "/a", "Destination: /b") == 423
        assert dav.status(method, "/a", "Destination: /b", f"If: </b> ({target})") == 204
        assert [lock.find(f"{DAV}locktoken/{DAV}href").text for lock in dav.locks("/b")] == [target.strip("<>")]
    assert dav.status("PUT", "/b", body="free?") == 423
    assert dav.status("PUT", "/b", f"If: ({target})", body="mine") == 204
    assert dav.status("UNLOCK", "/b", f"Lock-Token: {target}") == 204


@row("7.6", "a lock ends when a folder replaces the file, or anything a folder")
def _(dav):
    target = dav.lock("/b")
    assert dav.status("COPY", "/d", "Destination: /b", f"If: </b> ({target})") == 204
    assert dav.locks("/b") == []
    target = dav.lock("/b", depth="infinity")
    assert dav.status("MOVE", "/a", "Destination: /b", f"If: </b> ({target})") == 204
    assert dav.locks("/b") == []


# 8 General request and response handling

@row("8.2", "XML that is not well-formed is 400, for every method that takes XML")
def _(dav):
    for method in ("PROPFIND", "PROPPATCH", "LOCK", "REPORT"):
        for body in ("<a", "<a></b>", "<a:b/>", "junk"):
            assert dav.status(method, "/a", "Depth: 0", body=body) == 400, (method, body)


@row("8.2", "namespaces count, prefixes do not")
def _(dav):
    body = '<q:propfind xmlns:q="DAV:"><prop xmlns="DAV:"><z:getetag xmlns:z="DAV:"/></prop></q:propfind>'
    assert properties(dav.ask("PROPFIND", "/a", "Depth: 0", body=body))["/a"][DAV + "getetag"][0] == 200
    assert dav.status("PROPFIND", "/a", "Depth: 0", body="<propfind><allprop/></propfind>") == 400


@row("8.3", "an href is an absolute path or URI, encoded, and names a resource once")
def _(dav):
    (dav.root / "ü &<#%?").write_text("")
    answer = dav.ask("PROPFIND", "/", "Depth: infinity")
    hrefs = [element.text for element in ET.fromstring(answer.body).iter(DAV + "href")]
    assert len(hrefs) == len(set(hrefs)) == 8
    assert all(re.fullmatch(r"/[!-~]*", href) for href in hrefs)
    assert [href for href in hrefs if dav.status("HEAD", href) != 200] == []


@row("8.4", "a body that the method does not take is refused with 415, and nothing is done")
def _(dav):
    for method, target in (("MKCOL", "/new"), ("DELETE", "/a"), ("COPY", "/a"), ("MOVE", "/a")):
        assert dav.status(method, target, "Destination: /z", "Content-Type: application/xml", body="<x/>") == 415, method
    assert not (dav.root / "new").exists() and not (dav.root / "z").exists() and (dav.root / "a").exists()


@row("8.6", "properties and locks do not change the entity tag, content does")
def _(dav):
    before = dav.ask("HEAD", "/a")["ETag"]
    assert before.startswith('"')
    token = dav.lock("/a")
    dav.set("/a", "<x:p>1</x:p>", f"If: ({token})")
    assert dav.ask("HEAD", "/a")["ETag"] == dav.value("/a", "<D:getetag/>").text == before
    assert dav.ask("PUT", "/a", f"If: ({token})", body="a")["ETag"] != before


@row("8.8", "an entity tag never names another content again")
def _(dav):
    tags = [dav.ask("PUT", "/t", body=str(index % 2))["ETag"] for index in range(20)]
    for index in range(5):
        dav.status("MOVE", "/a", "Destination: /t")
        tags.append(dav.ask("HEAD", "/t")["ETag"])
        dav.status("PUT", "/a", body="a")
        dav.status("DELETE", "/t")
        tags.append(dav.ask("PUT", "/t", body="0")["ETag"])
    assert len(set(tags)) == len(tags)


# 9 HTTP methods

@row("9", "a resource that has the method says so in Allow, and 405 comes with Allow")
def _(dav):
    allowed = {part.strip() for part in dav.ask("OPTIONS", "/d")["Allow"].split(",")}
    assert {"PROPFIND", "PROPPATCH", "COPY", "MOVE", "LOCK", "UNLOCK", "DELETE", "OPTIONS"} <= allowed
    assert dav.ask("MKCOL", "/d")["Allow"]


@row("9.1", "Depth 0, 1 and infinity reach as far as they say")
def _(dav):
    assert set(dav.find("/d")) == {"/d/"}
    assert set(dav.find("/d", depth="1")) == {"/d/", "/d/x", "/d/e/"}
    assert set(dav.find("/d", depth="infinity")) == {"/d/", "/d/x", "/d/e/", "/d/e/y"}


@row("9.1", "without Depth it is infinity")
def _(dav):
    assert set(properties(dav.ask("PROPFIND", "/d"))) == {"/d/", "/d/x", "/d/e/", "/d/e/y"}


@row("9.1", "without a body it is allprop")
def _(dav):
    one, other = properties(dav.ask("PROPFIND", "/a", "Depth: 0"))["/a"], dav.find("/a")["/a"]
    assert one.keys() == other.keys()


@row("9.1", "allprop has the live properties of the RFC and every dead one")
def _(dav):
    dav.set("/a", "<x:p>1</x:p><x:q>2</x:q>")
    names = {"creationdate", "displayname", "getcontentlength", "getcontenttype", "getetag", "getlastmodified", "lockdiscovery",
             "resourcetype", "supportedlock"}
    assert {DAV + name for name in names} | {"{urn:x}p", "{urn:x}q"} <= dav.find("/a")["/a"].keys()


@row("9.1", "each property asked for is answered, 404 for what is not there")
def _(dav):
    found = dav.find("/a", "<D:prop><D:getetag/><x:no/><D:no/><D:quota-used-bytes/></D:prop>")["/a"]
    assert {key: status for key, (status, _) in found.items()} == {
        DAV + "getetag": 200, "{urn:x}no": 404, DAV + "no": 404, DAV + "quota-used-bytes": 200}


@row("9.1", "propname gives names without values")
def _(dav):
    dav.set("/a", "<x:p>1</x:p>")
    found = dav.find("/a", "<D:propname/>")["/a"]
    assert {DAV + "getetag", "{urn:x}p"} <= found.keys()
    assert all(status == 200 and not element.text and not len(element) for status, element in found.values())


@row("9.1", "propname names what each would answer by name, and nothing else")
def _(dav):
    oc = "{http://owncloud.org/ns}"
    asked = [*(DAV + name for name in [
        "creationdate", "displayname", "getcontentlength", "getcontenttype", "getetag", "getlastmodified", "resourcetype",
        "supportedlock", "lockdiscovery", "quota-available-bytes", "quota-used-bytes", "supported-report-set", "sync-token"]),
        *(oc + name for name in ["id", "fileid", "permissions", "size", "checksums"]), "{urn:schemas-microsoft-com:}Win32LastModifiedTime"]
    elements = "".join('<x xmlns="{}"/>'.format(name[1:].split("}")[0]).replace("<x", "<" + name.split("}")[1]) for name in asked)
    assert dav.status("PUT", "/summed", "OC-Checksum: SHA1:" + hashlib.sha1(b"x").hexdigest(), body="x") == 201
    for place in ["/", "/a", "/summed", "/folder/"]:
        dav.status("MKCOL", "/folder/")
        answered = {name for name, (status, _) in dav.find(place, f"<D:prop>{elements}</D:prop>")[place].items() if status == 200}
        assert dav.find(place, "<D:propname/>")[place].keys() == answered, place
        assert DAV + "quota-used-bytes" in answered and (DAV + "sync-token" in answered) == place.endswith("/")


@row("9.1", "include adds to allprop")
def _(dav):
    found = dav.find("/a", "<D:allprop/><D:include><D:quota-used-bytes/></D:include>")["/a"]
    # davix takes it for the size.
    assert found[DAV + "quota-used-bytes"][0] == 200 and found[DAV + "quota-used-bytes"][1].text == found[DAV + "getcontentlength"][1].text
    assert found[DAV + "getetag"][0] == 200


@row("9.1", "what is not there is 404, not a 207")
def _(dav):
    assert dav.status("PROPFIND", "/none", "Depth: 0") == 404


@row("9.2", "instructions are done in document order")
def _(dav):
    dav.patch("/a", "<D:set><D:prop><x:p>1</x:p></D:prop></D:set><D:remove><D:prop><x:p/></D:prop></D:remove>"
                    "<D:set><D:prop><x:p>2</x:p></D:prop></D:set><D:remove><D:prop><x:q/></D:prop></D:remove>")
    assert dav.value("/a", "<x:p/>").text == "2"


@row("9.2", "all instructions or none: the one in the way has its own status, the others 424")
def _(dav):
    answer = dav.patch("/a", "<D:set><D:prop><x:p>1</x:p></D:prop></D:set><D:set><D:prop><D:getetag>x</D:getetag></D:prop></D:set>"
                             "<D:set><D:prop><x:q>1</x:q></D:prop></D:set>")
    found = {key: status for key, (status, _) in properties(answer)["/a"].items()}
    assert found == {"{urn:x}p": 424, DAV + "getetag": 403, "{urn:x}q": 424}
    assert dav.value("/a", "<x:p/>") is None and dav.value("/a", "<x:q/>") is None


@row("9.2", "removing what is not there is no error")
def _(dav):
    answer = dav.patch("/a", "<D:remove><D:prop><x:never/></D:prop></D:remove>")
    assert properties(answer)["/a"]["{urn:x}never"][0] == 200


@row("9.2", "a body that is no propertyupdate is 400")
def _(dav):
    assert dav.status("PROPPATCH", "/a", body='<x xmlns="DAV:"/>') == dav.status("PROPPATCH", "/a") == 400


@row("9.3", "MKCOL of a mapped address fails with 405 and changes nothing")
def _(dav):
    for target in ("/a", "/d", "/d/", "/"):
        assert dav.status("MKCOL", target) == 405
    assert (dav.root / "a").read_text() == "a" and (dav.root / "d" / "x").exists()


@row("9.3", "MKCOL makes no intermediate collections: 409")
def _(dav):
    assert dav.status("MKCOL", "/no/such") == dav.status("MKCOL", "/a/below") == 409
    assert not (dav.root / "no").exists()


@row("9.3", "a new collection is empty, and a member of its parent")
def _(dav):
    assert dav.status("MKCOL", "/d/new/") == 201
    assert set(dav.find("/d/new", depth="infinity")) == {"/d/new/"}
    assert "/d/new/" in dav.find("/d", depth="1")


@row("9.6", "after DELETE the address is 404 for GET, HEAD and PROPFIND, and not in its parent")
def _(dav):
    assert dav.status("DELETE", "/a") == 204
    assert dav.status("GET", "/a") == dav.status("HEAD", "/a") == dav.status("PROPFIND", "/a", "Depth: 0") == 404
    assert "/a" not in dav.find("/", depth="1")


@row("9.6", "DELETE ends the locks of what it deletes")
def _(dav):
    token = dav.lock("/d/e/y")
    assert dav.status("DELETE", "/d", f"If: </d/e/y> ({token})") == 204
    assert dav.status("MKCOL", "/d") == dav.status("MKCOL", "/d/e") == dav.status("PUT", "/d/e/y", body="free") == 201
    assert dav.locks("/d/e/y") == []


@row("9.6.1", "DELETE of a collection acts as with Depth infinity, and takes no other Depth")
def _(dav):
    assert dav.status("DELETE", "/d", "Depth: 0") == dav.status("DELETE", "/d", "Depth: 1") == 400
    assert dav.status("DELETE", "/d") == 204
    assert not (dav.root / "d").exists()


@row("9.6.1", "what can't be deleted keeps all of its ancestors, and is named in a 207")
def _(dav):
    assert dav.lock("/d/e/y")
    assert statuses(dav.ask("DELETE", "/d")) == {"/d/e/y": 423}
    assert (dav.root / "d" / "e" / "y").exists()


@row("9.7.1", "PUT without a parent collection is 409")
def _(dav):
    assert dav.status("PUT", "/no/new", body="x") == dav.status("PUT", "/a/new", body="x") == 409


@row("9.7.1", "PUT leaves dead properties alone")
def _(dav):
    dav.set("/a", "<x:p>1</x:p>")
    assert dav.status("PUT", "/a", body="new") == 204
    assert dav.value("/a", "<x:p/>").text == "1"


@row("9.7.2", "PUT onto a collection fails, and leaves it")
def _(dav):
    assert dav.status("PUT", "/d", body="x") == dav.status("PUT", "/d/", body="x") == 405
    assert (dav.root / "d" / "x").exists()


@row("9.8.2", "COPY duplicates dead properties, of members too")
def _(dav):
    for target in ("/d", "/d/e/y"):
        dav.set(target, "<x:p>1</x:p>")
    assert dav.status("COPY", "/d", "Destination: /c") == 201
    assert dav.value("/c", "<x:p/>").text == dav.value("/c/e/y", "<x:p/>").text == "1"
    dav.set("/c", "<x:p>2</x:p>")
    assert dav.value("/d", "<x:p/>").text == "1"


@row("9.8.3", "COPY of a collection: infinity when Depth is missing, 0 without members, nothing else")
def _(dav):
    assert dav.status("COPY", "/d", "Destination: /all") == dav.status("COPY", "/d", "Destination: /one", "Depth: 0") == 201
    assert (dav.root / "all" / "e" / "y").read_text() == "y"
    assert list((dav.root / "one").iterdir()) == []
    assert dav.status("COPY", "/d", "Destination: /no", "Depth: 1") == 400


@row("9.8.4", "COPY over a collection leaves nothing of the old one")
def _(dav):
    (dav.root / "c").mkdir()
    (dav.root / "c" / "old").write_text("old")
    dav.set("/c", "<x:old/>")
    assert dav.status("COPY", "/d", "Destination: /c") == 204
    assert sorted(path.name for path in (dav.root / "c").iterdir()) == ["e", "x"]
    assert dav.value("/c", "<x:old/>") is None


@row("9.8.4", "COPY and MOVE with Overwrite: F onto something fail with 412")
def _(dav):
    for method in ("COPY", "MOVE"):
        for source, target in (("/a", "/b"), ("/a", "/d"), ("/d", "/b")):
            assert dav.status(method, source, f"Destination: {target}", "Overwrite: F") == 412
    assert (dav.root / "b").read_text() == "b" and (dav.root / "d" / "x").exists()


@row("9.8.5", "COPY: 201 new, 204 replaced, 403 onto itself, 409 without a parent, 404 of nothing")
def _(dav):
    requests = {("/a", "/new"): 201, ("/a", "/b"): 204, ("/a", "/a"): 403, ("/a", "/no/new"): 409, ("/none", "/new"): 404}
    assert {key: dav.status("COPY", key[0], f"Destination: {key[1]}") for key in requests} == requests


@row("9.9", "MOVE leaves nothing behind, and moves dead properties")
def _(dav):
    for target in ("/d", "/d/e/y"):
        dav.set(target, "<x:p>1</x:p>")
    assert dav.status("MOVE", "/d", "Destination: /m") == 201
    assert dav.status("PROPFIND", "/d", "Depth: 0") == 404
    assert dav.value("/m", "<x:p/>").text == dav.value("/m/e/y", "<x:p/>").text == "1"


@row("9.9.2", "MOVE of a collection takes no Depth but infinity")
def _(dav):
    assert dav.status("MOVE", "/d", "Destination: /m", "Depth: 0") == dav.status("MOVE", "/d", "Destination: /m", "Depth: 1") == 400
    assert dav.status("MOVE", "/d", "Destination: /m", "Depth: infinity") == 201


@row("9.9.3", "MOVE over a collection leaves nothing of the old one")
def _(dav):
    (dav.root / "c").mkdir()
    (dav.root / "c" / "old").write_text("old")
    assert dav.status("MOVE", "/d", "Destination: /c") == 204
    assert sorted(path.name for path in (dav.root / "c").iterdir()) == ["e", "x"] and not (dav.root / "d").exists()


@row("9.9.4", "MOVE: 201 new, 204 replaced, 403 onto and into itself, 409 without a parent, 404 of nothing")
def _(dav):
    requests = {("/a", "/a"): 403, ("/d", "/d/in"): 403, ("/a", "/no/new"): 409, ("/none", "/new"): 404, ("/a", "/new"): 201,
                ("/new", "/b"): 204}
    assert {key: dav.status("MOVE", key[0], f"Destination: {key[1]}") for key in requests} == requests


@row("9.9", "MOVE of a link: what it leads to is at the new address, or nothing has happened")
def _(dav):
    for folder in ("x", "x/y", "z"):
        (dav.root / folder).mkdir()
    for name in ("x/f", "f"):
        (dav.root / name).write_text(name)
    for name, text in {"x/same": "f", "x/up": "../x/f", "x/out": "../../f", "away": "x/f", "tree": "x"}.items():
        (dav.root / name).symlink_to(text)
    requests = {("/x/same", "/same"): 403, ("/x/same", "/x/y/same"): 403, ("/x/same", "/x/other"): 201, ("/x/up", "/z/up"): 201,
                ("/z/up", "/x/y/up"): 403, ("/z/up", "/up"): 403, ("/away", "/away2"): 201, ("/away2", "/z/away"): 403,
                ("/tree", "/z/tree"): 403, ("/tree", "/forest"): 201, ("/x/out", "/z/out"): 404}
    assert {key: dav.status("MOVE", key[0], f"Destination: {key[1]}") for key in requests} == requests
    assert [dav.ask("GET", name).text for name in ("/x/other", "/z/up", "/away2", "/forest/f")] == ["x/f"] * 4


@row("7.4", "A link's name is protected by the lock that was taken at its address")
def _(dav):
    (dav.root / "real").write_text("real")
    for name in ("ln", "ln2"):
        (dav.root / name).symlink_to("real")
    token = dav.lock("/ln")
    requests = [("DELETE", "/ln"), ("MOVE", "/ln", "Destination: /other"), ("MOVE", "/a", "Destination: /ln"),
                ("COPY", "/a", "Destination: /ln"), ("PUT", "/ln"), ("DELETE", "/ln2")]
    assert [dav.status(*request) for request in requests] == [423] * 6
    assert dav.status("COPY", "/a", "Destination: /ln", f"If: </ln> ({token})") == 204
    assert (dav.root / "real").read_text() == "real" and not (dav.root / "ln").is_symlink()
    assert dav.status("DELETE", "/ln2", f"If: ({token})") == 204


@row("9.10.1", "LOCK answers with the token in Lock-Token and with lockdiscovery")
def _(dav):
    answer = dav.ask_lock("/a", "Timeout: Second-600")
    lock = ET.fromstring(answer.body).find(f"{DAV}lockdiscovery/{DAV}activelock")
    assert answer.status == 200 and answer["Lock-Token"] == f"<{lock.find(f'{DAV}locktoken/{DAV}href').text}>"
    assert lock.find(f"{DAV}lockroot/{DAV}href").text == "/a" and lock.find(DAV + "depth").text == "0"


@row("9.10.2", "a refresh has no body, ignores Depth, restarts the time and sends no Lock-Token")
def _(dav):
    token = dav.lock("/a", "Timeout: Second-10")
    answer = dav.ask("LOCK", "/a", f"If: ({token})", "Depth: 1", "Timeout: Second-900")
    assert answer.status == 200 and answer["Lock-Token"] is None
    assert int(dav.locks("/a")[0].find(DAV + "timeout").text.removeprefix("Second-")) > 800


@row("9.10.2", "a refresh works at any address that the lock covers, and fails for a token that is none")
def _(dav):
    token = dav.lock("/d", depth="infinity")
    assert dav.status("LOCK", "/d/e/y", f"If: ({token})") == 200
    assert dav.status("LOCK", "/a", f"If: ({token})") == dav.status("LOCK", "/d", "If: (<urn:uuid:none>)") == 412
    assert dav.status("LOCK", "/d") == 400


@row("9.10.3", "LOCK takes Depth 0 and infinity, and infinity when it is missing")
def _(dav):
    assert dav.ask_lock("/d", depth="1").status == 400
    assert dav.lock("/d", depth=None)
    assert dav.locks("/d/e/y")[0].find(DAV + "depth").text == "infinity"


@row("9.10.3", "a lock of infinite depth is granted for the whole hierarchy or not at all")
def _(dav):
    assert dav.lock("/d/e/y")
    assert statuses(dav.ask_lock("/d", depth="infinity")) == {"/d/e/y": 423, "/d/": 424}
    assert dav.locks("/d") == dav.locks("/d/x") == []
    assert dav.status("PUT", "/d/x", body="free") == 204


@row("9.10.4", "LOCK of an unmapped address needs its parent: 409")
def _(dav):
    assert dav.ask_lock("/no/new").status == 409
    # No lock is created there even for a moment, so it can't conflict with another's.
    assert dav.lock("/d", depth="infinity")
    assert dav.ask_lock("/d/no/new").status == 409


@row("9.10.6", "a conflict is 423 with no-conflicting-lock and the root of the lock")
def _(dav):
    assert dav.lock("/d", depth="infinity")
    answer = dav.ask_lock("/d/e/y")
    assert answer.status == 423
    assert ET.fromstring(answer.body).find(f"{DAV}no-conflicting-lock/{DAV}href").text == "/d/"


@row("9.11", "UNLOCK: 204, 400 without a token, 409 at an address that the lock does not cover")
def _(dav):
    token = dav.lock("/d", depth="infinity")
    assert dav.status("UNLOCK", "/d") == 400
    answer = dav.ask("UNLOCK", "/a", f"Lock-Token: {token}")
    assert answer.status == 409 and ET.fromstring(answer.body).find(DAV + "lock-token-matches-request-uri") is not None
    assert dav.status("UNLOCK", "/d/e/y", f"Lock-Token: {token}") == 204


@row("9.11", "UNLOCK ends the lock everywhere")
def _(dav):
    token = dav.lock("/d", depth="infinity")
    assert dav.status("UNLOCK", "/d", f"Lock-Token: {token}") == 204
    assert dav.locks("/d") == dav.locks("/d/e/y") == []
    assert dav.status("DELETE", "/d") == 204


# 10 HTTP headers

@row("10.1", "every resource answers OPTIONS with its compliance classes in DAV")
def _(dav):
    for target in ("/", "/a", "/d", "/d/", "/none", "/no/such/place", "*"):
        answer = dav.ask("OPTIONS", target)
        assert answer.status == 200 and {"1", "2", "3"} <= {part.strip() for part in answer["DAV"].split(",")}


@row("10.2", "a Depth that is none is 400")
def _(dav):
    for method in ("PROPFIND", "COPY", "MOVE", "DELETE"):
        for depth in ("2", "-1", "one", "", "0, 1"):
            assert dav.status(method, "/d", f"Depth: {depth}", "Destination: /z") == 400, (method, depth)
    assert not (dav.root / "z").exists() and (dav.root / "d").exists()


@row("10.2", "a method whose Depth reaches a locked resource needs its token")
def _(dav):
    assert dav.lock("/d/e/y")
    for method in ("DELETE", "MOVE"):
        assert statuses(dav.ask(method, "/d", "Destination: /m")) == {"/d/e/y": 423}
    assert statuses(dav.ask("COPY", "/a", "Destination: /d")) == {"/d/e/y": 423}


@row("10.3", "a Destination is a URI or an absolute path on this server: else 400, or 502 for another one")
def _(dav):
    for target, status in {dav.url + "/n1": 201, "/n2": 201, "n3": 400, "": 400, "http://elsewhere.example/n": 502,
                           "/%2e%2e/n": 400, "/n%2Fn": 400, f"//{dav.authority}/d/n": 400}.items():
        assert dav.status("COPY", "/a", f"Destination: {target}") == status, target
    assert dav.status("COPY", "/a") == 400


@row("10.4.1", "an If that is false is 412, for every method, and nothing is done")
def _(dav):
    for method, fields in (("GET", []), ("HEAD", []), ("PUT", []), ("DELETE", []), ("PROPFIND", ["Depth: 0"]), ("COPY", ["Destination: /z"]),
                           ("MOVE", ["Destination: /z"]), ("MKCOL", []), ("PATCH", ["X-Update-Range: append"])):
        assert dav.status(method, "/a", "If: (<DAV:no-lock>)", *fields) == 412, method
    assert dav.ask_lock("/a", "If: (<DAV:no-lock>)").status == dav.set("/a", "<x:p/>", 'If: (["no"])').status == 412
    assert (dav.root / "a").read_text() == "a" and dav.locks("/a") == []


@row("10.4.1", "a token is submitted wherever it stands in a true If")
def _(dav):
    token = dav.lock("/a")
    assert dav.status("PUT", "/a", f'If: (["no"] {token}) (Not <DAV:no-lock>)', body="new") == 204


@row("10.4.1", "a token counts at every door")
def _(dav):
    token = dav.lock("/a")
    form = ('--B\r\nContent-Disposition: form-data; name="conflict"\r\n\r\nreplace\r\n'
            '--B\r\nContent-Disposition: form-data; name="files"; filename="a"\r\n\r\nnew\r\n--B--\r\n')
    metadata = "Upload-Metadata: filename YQ==,conflict cmVwbGFjZQ=="  # a, replace
    doors = [
        ("POST", "/", ["Content-Type: multipart/form-data; boundary=B"], form),
        ("PUT", "/a", ["Upload-Complete: ?1", "Upload-Draft-Interop-Version: 8"], "new"),
        ("POST", "/.shareserve/uploads", [
            "Tus-Resumable: 1.0.0", "Upload-Length: 3", metadata, "Content-Type: application/offset+octet-stream"], "new"),
    ]
    for method, target, fields, body in doors:
        (dav.root / "a").write_text("old")
        assert dav.status(method, target, *fields, body=body) == 423, (method, target)
        assert dav.status(method, target, *fields, 'If: </a> (["no"])', body=body) == 412, (method, target)
        assert (dav.root / "a").read_text() == "old"
        assert dav.status(method, target, *fields, f"If: </a> ({token})", body=body) in (200, 201, 204), (method, target)
        assert (dav.root / "a").read_text() == "new"


@row("10.4.1", "a true If leaves the answer as it is")
def _(dav):
    for method, target, *fields in [
        ("GET", "/a"), ("HEAD", "/a"), ("GET", "/d"), ("GET", "/d/", "Accept: application/json"), ("HEAD", "/d/"),
        ("GET", "/a/"), ("GET", "/a", "Range: bytes=0-0"), ("GET", "/none"), ("GET", "/.shareserve/health"),
    ]:
        plain, asked = (dav.ask(method, target, *fields, *more) for more in ([], ["If: (Not <DAV:no-lock>)"]))
        assert (asked.status, asked.body, asked["Content-Type"]) == (plain.status, plain.body, plain["Content-Type"]), target


@row("10.4.2", "an If that is no If is 400")
def _(dav):
    assert dav.status("GET", "/a", "If: garbage") == dav.status("GET", "/d/", "If: ()") == 400
    for value in ("", "()", "(<a:b>", "<a:b>", "garbage", "(<a:b>) </a> (<c:d>)", "(Not)", "([x])", "<relative> (<a:b>)"):
        assert dav.status("PUT", "/a", f"If: {value}", body="x") == 400, value
    assert (dav.root / "a").read_text() == "a"


@row("10.4.3", "one list of several suffices; in a list all conditions count, Not turns one round")
def _(dav):
    tag, token = dav.ask("HEAD", "/a")["ETag"], dav.lock("/a")
    for value, holds in {f"({token} [{tag}])": True, f'({token} ["no"])': False, f'(["no"]) ({token})': True,
                         f'({token} Not ["no"])': True, f"(Not {token})": False, f"(Not [{tag}] {token})": False}.items():
        assert dav.set("/a", "<x:p/>", f"If: {value}").status == (207 if holds else 412), value


@row("10.4.4", "a tagged list is about the resource that it names, a token holds where its lock reaches")
def _(dav):
    tag, token = dav.ask("HEAD", "/b")["ETag"], dav.lock("/d", depth="infinity")
    for value, holds in {f"</b> ([{tag}])": True, '</b> (["no"])': False, f"<{dav.url}/d/e/y> ({token})": True, f"</b> ({token})": False,
                         f"<http://elsewhere.example/d> ({token})": False}.items():
        assert dav.status("PUT", "/a", f"If: {value}", body="a") == (204 if holds else 412), value


@row("10.4.4", "nothing has no tag and no token, and whatever has none is Not so")
def _(dav):
    assert dav.status("PUT", "/a", 'If: </none> (["x"])', body="n") == 412
    assert dav.status("PUT", "/a", 'If: </none> (Not ["x"] Not <urn:uuid:none>)', body="n") == 204


@row("10.4.4", "a sync-token is the state of a collection, at every door, and no lock token (RFC 6578 §5)")
def _(dav):
    token, below = (dav.value(place, "<D:sync-token/>").text for place in ("/", "/d"))
    for value, holds in {f"</> (<{token}>)": True, f"</> (Not <{token}>)": False, f"<{dav.url}/d> (<{below}>)": True,
                         f"</d> (<{token}>)": False, f"</none> (<{token}>)": False, f"</a> (<{token}>)": False,
                         f"</> (<{token[:-1]}>)": False, f"</d> (<{token}>) </> (<{token}>)": True}.items():
        assert dav.status("GET", "/a", f"If: {value}") == (200 if holds else 412), value
        assert dav.status("PROPFIND", "/a", "Depth: 0", f"If: {value}") == (207 if holds else 412), value
    for method, target, *fields in (("PUT", "/new"), ("MKCOL", "/folder"), ("COPY", "/a", "Destination: /copy"),
                                    ("DELETE", "/new"), ("PUT", "/d/x")):
        token = dav.value("/", "<D:sync-token/>").text
        assert dav.status(method, target, *fields, f"If: </> (Not <{token}>)") == 412, method
        assert dav.status(method, target, *fields, f"If: </> (<{token}>)") in (201, 204), method
        assert dav.status(method, target, *fields, f"If: </> (<{token}>)") == (404 if method == "DELETE" else 412), method
    assert dav.lock("/a")
    token = dav.value("/", "<D:sync-token/>").text
    assert dav.status("PUT", "/a", f"If: </> (<{token}>)", body="new") == 423
    assert dav.status("GET", "/a", "If: " + f"(<{token}>)" * 17) == 400


@row("10.4.4", "a write holds to a sync-token until its very end (RFC 6578 §5)")
def _(dav):
    with Wire(dav) as other:
        for target, changed, last in (("/a", "/d/x", 412), ("/new", "/a", 412), ("/a", None, 204)):
            token = dav.value("/", "<D:sync-token/>").text
            other.request("PUT", target, f"If: </> (<{token}>)", "Content-Length: 4", "Expect: 100-continue")
            assert other.response(interim=True).status == 100
            other.send("ab")
            if changed:
                assert dav.status("PUT", changed, body=f"changed for {target}") == 204
            other.send("cd")
            assert other.response().status == last
    assert (dav.root / "a").read_text() == "abcd" and not (dav.root / "new").exists()


@row("10.4.4", "what a request itself changes first does not keep it from changing more (RFC 6578 §5)")
def _(dav):
    def form(*names):
        parts = [f'--b\r\nContent-Disposition: form-data; name="files"; filename="{name}"\r\n\r\n{name}\r\n' for name in names]
        return "".join(parts) + "--b--\r\n"

    for names in (("p", "q", "r"), ("new/folder/s",)):
        token = dav.value("/", "<D:sync-token/>").text
        for last in (201, 412):
            assert dav.status("POST", "/", f"If: </> (<{token}>)", "Content-Type: multipart/form-data; boundary=b",
                              body=form(*names)) == last
        assert all((dav.root / name).read_text() == name for name in names)


@row("10.4.4", "the state of a collection that holds very much is not looked at (RFC 6578 §5)")
def _(dav):
    (dav.root / "many").mkdir()
    for number in range(10_000):
        (dav.root / "many" / str(number)).touch()
    token = dav.value("/many/", "<D:sync-token/>").text
    assert dav.status("PUT", "/a", f"If: </many/> (<{token}>)", body="new") == 204
    (dav.root / "many" / "more").touch()
    # Of members with long names, the stored snapshot is not read either, since it has more than 4 MiB.
    (dav.root / "long").mkdir()
    for number in range(17_000):
        (dav.root / "long" / f"{number:0250}").touch()
    for folder in ("/many/", "/long/"):
        token = dav.value(folder, "<D:sync-token/>").text
        for value in (f"(<{token}>)", f"(Not <{token}>)"):
            assert dav.status("PUT", "/a", f"If: <{folder}> {value}", body="newer") == 412
    assert (dav.root / "a").read_text() == "new"


@row("10.6", "Overwrite is T or F, T when it is missing")
def _(dav):
    assert dav.status("COPY", "/a", "Destination: /b", "Overwrite: maybe") == 400
    assert dav.status("COPY", "/a", "Destination: /b", "Overwrite: F") == 412
    assert dav.status("COPY", "/a", "Destination: /new", "Overwrite: F") == 201
    assert dav.status("COPY", "/a", "Destination: /b", "Overwrite: T") == dav.status("COPY", "/a", "Destination: /b") == 204


@row("10.7", "a Timeout is a wish: any is borne, and no more than 2^32-1 seconds are granted")
def _(dav):
    for wish in ("Infinite, Second-4100000000", "Second-99999999999999999999", "Extend", "", "Second-0", "Infinite"):
        token = dav.lock("/a", f"Timeout: {wish}")
        assert 0 <= int(dav.locks("/a")[0].find(DAV + "timeout").text.removeprefix("Second-")) < 2 ** 32, wish
        assert dav.status("UNLOCK", "/a", f"Lock-Token: {token}") == 204


# 14 XML elements

@row("14.1", "activelock has scope, type, depth, and where they are known owner, timeout, token and root")
def _(dav):
    dav.lock("/a")
    names = [element.tag.removeprefix(DAV) for element in dav.locks("/a")[0]]
    assert sorted(names) == ["depth", "lockroot", "lockscope", "locktoken", "locktype", "owner", "timeout"]


@row("14.7", "an href holds no blanks")
def _(dav):
    (dav.root / " blank ").write_text("")
    assert "/%20blank%20" in dav.find("/", depth="1")


@row("14.11", "a lockinfo that does not say what lock is 400")
def _(dav):
    for inner in ("", "<D:lockscope><D:exclusive/></D:lockscope>", "<D:locktype><D:write/></D:locktype>",
                  "<D:lockscope><D:other/></D:lockscope><D:locktype><D:write/></D:locktype>"):
        assert dav.status("LOCK", "/a", body=f'<D:lockinfo xmlns:D="DAV:">{inner}</D:lockinfo>') == 400, inner


@row("14.17", "the owner is kept as it was sent")
def _(dav):
    dav.lock("/a", owner='<D:owner xml:lang="de">Ünal &amp; <D:href>mailto:a@b</D:href> <q:x xmlns:q="urn:q" q:y="1"/>tail</D:owner>')
    owner = dav.locks("/a")[0].find(DAV + "owner")
    assert owner.text == "Ünal & " and owner.find(DAV + "href").text == "mailto:a@b"
    assert owner.get("{http://www.w3.org/XML/1998/namespace}lang") == "de"
    assert owner.find("{urn:q}x").get("{urn:q}y") == "1" and owner.find("{urn:q}x").tail == "tail"


@row("14.19", "elements that are not known are as if they were not there")
def _(dav):
    assert dav.patch("/a", "<x:other/><D:set><x:other/><D:prop><x:p>1</x:p></D:prop></D:set>").status == 207
    assert dav.value("/a", "<x:p/>").text == "1"


@row("14.24", "a response has either one status or propstats, and no property twice")
def _(dav):
    dav.set("/a", "<x:p/>")
    answer = dav.ask("PROPFIND", "/", "Depth: 1", body='<propfind xmlns="DAV:"><prop><getetag/><getetag/><p xmlns="urn:x"/><no/></prop></propfind>')
    for response in ET.fromstring(answer.body).iter(DAV + "response"):
        assert response.find(DAV + "status") is None and response.findall(DAV + "propstat")
        tags = [element.tag for prop in response.iter(DAV + "prop") for element in prop]
        assert len(tags) == len(set(tags)) == 3
    answer = dav.patch("/a", "<D:set><D:prop><D:getetag/></D:prop></D:set><D:remove><D:prop><D:getetag/></D:prop></D:remove>")
    assert len([element for prop in ET.fromstring(answer.body).iter(DAV + "prop") for element in prop]) == 1


@row("14.26", "xml:lang in scope is kept with the value")
def _(dav):
    dav.patch("/a", '<D:set xml:lang="en"><D:prop><x:p>hello</x:p><x:q xml:lang="de">hallo</x:q></D:prop></D:set>')
    lang = "{http://www.w3.org/XML/1998/namespace}lang"
    assert dav.value("/a", "<x:p/>").get(lang) == "en" and dav.value("/a", "<x:q/>").get(lang) == "de"


@row("14.26", "a value keeps its text, elements, attributes and namespaces, 64 KiB of them too")
def _(dav):
    inner = 'a<x:b y="1"/>c<z:d xmlns:z="urn:z">' + "e" * 65_000 + "</z:d>"
    dav.set("/a", f"<x:p>{inner}</x:p>")
    found = dav.value("/a", "<x:p/>")
    assert found.text == "a" and found[0].get("y") == "1" and found[0].tail == "c"
    assert found[1].tag == "{urn:z}d" and found[1].text == "e" * 65_000
