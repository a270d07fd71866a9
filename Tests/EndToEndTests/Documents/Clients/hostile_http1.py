"""Attacks with HTTP/1 (RFC 9112) and with WebChannel's sessions."""
import json
import socket
import time

from google.cloud.firestore_v1 import types
from hostile_wire import PATIENCE

LISTEN, WRITE = "/google.firestore.v1.Firestore/Listen/channel", "/google.firestore.v1.Firestore/Write/channel"


class Plain:
    """A connection of HTTP/1 that sends bytes as they are."""

    def __init__(self, port, patience=PATIENCE):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=patience)
        self.buffer = b""

    def send(self, data):
        try:
            self.socket.sendall(data.encode() if isinstance(data, str) else data)
            return True
        except OSError:
            return False

    def more(self):
        try:
            data = self.socket.recv(65536)
        except OSError as error:
            return None if isinstance(error, socket.timeout) else b""
        self.buffer += data
        return data

    def response(self):
        """The status and body of the next answer; `closed` or `nothing` in place of the status."""
        while b"\r\n\r\n" not in self.buffer:
            data = self.more()
            if not data:
                return ("nothing" if data is None else "closed"), b""
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        lines = head.decode("latin1").split("\r\n")
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        status, body = lines[0].split(" ")[1], b""
        if headers.get("transfer-encoding") == "chunked":
            while True:
                while b"\r\n" not in self.buffer:
                    if not self.more():
                        return status, body
                size, self.buffer = self.buffer.split(b"\r\n", 1)
                length = int(size, 16)
                while len(self.buffer) < length + 2:
                    if not self.more():
                        return status, body
                body, self.buffer = body + self.buffer[:length], self.buffer[length + 2:]
                if not length:
                    return status, body
        length = int(headers.get("content-length", "0"))
        while len(self.buffer) < length:
            if not self.more():
                break
        body, self.buffer = self.buffer[:length], self.buffer[length:]
        return status, body

    def close(self):
        self.socket.close()


class HTTP1:
    def __init__(self, host, scale, random):
        self.host, self.scale, self.random = host, scale, random
        self.documents = f"/v1/{host.root}"
        self.attacks = [self.smuggling, self.malformed, self.large, self.slow, self.nested, self.sessions, self.broken_sessions]

    def exists(self, id):
        try:
            self.host.call("GetDocument", types.GetDocumentRequest.pb()(name=f"{self.host.root}/hostile/{id}"), types.Document.pb().FromString)
            return True
        except Exception:
            return False

    def smuggled(self, id):
        body = json.dumps({"writes": [{"update": {"name": f"{self.host.root}/hostile/{id}"}}]})
        return (f"POST {self.documents}:commit HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}")

    def smuggling(self):
        """Requests whose end two parsers see at different places: a second request within them is never done.

        What ends in chunks, such as "gzip, chunked", has one end for all of them.
        """
        chunked = "Transfer-Encoding: chunked\r\n"
        for number, (title, headers, before) in enumerate([
            ("a length and chunks", "Content-Length: {all}\r\n" + chunked, "0\r\n\r\n"), ("chunks and a length", chunked + "Content-Length: {all}\r\n", "0\r\n\r\n"),
            ("a short length and chunks", "Content-Length: 5\r\n" + chunked, "0\r\n\r\n"), ("two lengths", "Content-Length: 2\r\nContent-Length: {all}\r\n", "{}"),
            ("two lengths in one", "Content-Length: 2, {all}\r\n", "{}"), ("a length with a sign", "Content-Length: +2\r\n", "{}"),
            ("a length with a space before its colon", "Content-Length : 2\r\n", "{}"), ("a negative length", "Content-Length: -2\r\n", "{}"),
            ("a length in hexadecimal", "Content-Length: 0x2\r\n", "{}"), ("an empty length", "Content-Length: \r\n", "{}"),
            ("a length of 2^64+2", "Content-Length: 18446744073709551618\r\n", "{}"), ("xchunked", "Transfer-Encoding: xchunked\r\n", "0\r\n\r\n"),
            ("identity", "Transfer-Encoding: identity\r\n", "0\r\n\r\n"), ("chunked twice", chunked + chunked, "0\r\n\r\n"), ("chunked, then another", "Transfer-Encoding: chunked, gzip\r\n", "0\r\n\r\n"),
            ("chunked after a line's end", "Transfer-Encoding:\r\n chunked\r\n", "0\r\n\r\n"),
            ("chunked with a vertical tab", "Transfer-Encoding: \x0bchunked\r\n", "0\r\n\r\n"), ("chunked with a space before its colon", "Transfer-Encoding : chunked\r\n", "0\r\n\r\n"),
            ("chunks whose size has a sign", chunked, "+2\r\n{}\r\n0\r\n\r\n"), ("chunks whose size is negative", chunked, "-1\r\n{}\r\n0\r\n\r\n"),
            ("chunks whose size is hexadecimal with 0x", chunked, "0x2\r\n{}\r\n0\r\n\r\n"), ("chunks whose size is none", chunked, "zz\r\n{}\r\n0\r\n\r\n"),
            ("chunks whose size is too large", chunked, "FFFFFFFFFFFFFFFFF\r\n{}\r\n0\r\n\r\n"), ("chunks whose size wraps around", chunked, "10000000000000002\r\n{}\r\n0\r\n\r\n"),
            ("chunks that end early", chunked, "1\r\n{}\r\n0\r\n\r\n"), ("chunks after a line feed", chunked, "2\n{}\n0\n\n"), ("a chunk without its line's end", chunked, "2\r\n{}0\r\n\r\n"),
        ]):
            id = f"smuggled{self.random.randrange(10**9)}-{number}"
            inner = self.smuggled(id)
            plain = Plain(self.host.port, 5)
            headers = headers.replace("{all}", str(len(before + inner)))
            plain.send(f"POST {self.documents}:runQuery HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{headers}\r\n{before}{inner}")
            status, _ = plain.response()
            # Where nothing is ambiguous, the second request is one of its own.
            if status not in ("closed", "nothing", "400", "501", "411", "413"):
                second, _ = plain.response()
                self.host.expect(f"after {status} for {title}, a second answer", second, "closed", "nothing", "4*", "5*")
            if self.exists(id):
                self.host.fail(f"a request with {title} has smuggled another one: {status}")
            plain.close()

    def malformed(self):
        for title, data, *expected in [
            ("no version", "GET /\r\n\r\n", "4*", "closed"), ("a version of 9", "GET / HTTP/9.9\r\nHost: localhost\r\n\r\n", "4*", "5*", "closed"),
            ("no host", "GET /nothing HTTP/1.1\r\n\r\n", "4*", "closed"), ("two hosts", "GET /nothing HTTP/1.1\r\nHost: localhost\r\nHost: y\r\n\r\n", "4*", "closed"),
            ("an unknown method", "BREW /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n", "4*", "5*", "closed"), ("a header without a colon", "GET /nothing HTTP/1.1\r\nHost: localhost\r\nabc\r\n\r\n", "4*", "closed"),
            ("an empty header", "GET /nothing HTTP/1.1\r\nHost: localhost\r\n: y\r\n\r\n", "4*", "closed"), ("a NUL", "GET /\0 HTTP/1.1\r\nHost: localhost\r\n\r\n", "4*", "closed"),
            ("a NUL in a header", "GET /nothing HTTP/1.1\r\nHost: localhost\r\nX: a\0b\r\n\r\n", "4*", "closed"), ("a bare line's end", "GET /nothing HTTP/1.1\r\nHost: localhost\r\nX: a\rb\r\n\r\n", "4*", "closed"),
            ("a folded header", "GET /nothing HTTP/1.1\r\nHost: localhost\r\nX: a\r\n b\r\n\r\n", "4*", "closed"), ("TLS", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 200, "4*", "closed", "nothing"),
            ("a path that isn't encoded", f"GET {self.documents}/hostile/é HTTP/1.1\r\nHost: localhost\r\n\r\n", "4*", "closed"), ("a broken escape", f"GET {self.documents}/hostile/%zz HTTP/1.1\r\nHost: localhost\r\n\r\n", "4*"),
            ("escapes that are no text", f"GET {self.documents}/hostile/%ff%fe HTTP/1.1\r\nHost: localhost\r\n\r\n", "4*"), ("an absolute path", "GET http://x/nothing HTTP/1.1\r\nHost: y\r\n\r\n", "4*", "closed"),
            ("an upgrade to h2c", "GET /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n", "4*", "closed"),
            ("an expectation", f"POST {self.documents}:runQuery HTTP/1.1\r\nHost: localhost\r\nExpect: 200-maybe\r\nContent-Length: 0\r\n\r\n", "4*", "closed"),
        ]:
            plain = Plain(self.host.port)
            plain.send(data)
            if title in ("TLS", "no version"):
                plain.socket.shutdown(1)
            self.host.expect("a request with " + title, plain.response()[0], *expected)
            plain.close()

    def large(self):
        for title, data, *expected in [
            ("a line of 1 MiB", b"GET /" + b"x" * (1 << 20) + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", "4*", "closed"), ("a header of 1 MiB", b"GET / HTTP/1.1\r\nX: " + b"x" * (1 << 20) + b"\r\n\r\n", "4*", "closed"),
            ("a header's name of 1 MiB", b"GET / HTTP/1.1\r\n" + b"x" * (1 << 20) + b": y\r\n\r\n", "4*", "closed"), ("20,000 headers", b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"A: b\r\n" * 20_000 + b"\r\n", "4*", "closed"),
            ("16 MiB without a line", b"x" * (16 << 20), "4*", "closed"), ("a chunk's extension of 1 MiB", f"POST {self.documents}:runQuery HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n2;".encode() + b"x" * (1 << 20) + b"\r\n{}\r\n0\r\n\r\n", "4*", "closed"),
            ("1 MiB of trailers", f"POST {self.documents}:runQuery HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n".encode() + b"X: y\r\n" * 200_000 + b"\r\n", "4*", "closed"),
        ]:
            plain = Plain(self.host.port)
            plain.send(data)
            self.host.expect(title, plain.response()[0], *expected)
            plain.close()
        # A body of 64 MiB, and one that says it is larger than all.
        for length in (64 << 20, 1 << 40):
            plain = Plain(self.host.port)
            plain.send(f"POST {self.documents}:commit HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n")
            for _ in range(1024):
                if not plain.send(b" " * 65536):
                    break
            self.host.expect(f"a body of {length} bytes", plain.response()[0], "413", "400", "429", "closed", "nothing")
            plain.close()
        plain = Plain(self.host.port)
        plain.send(f"POST {self.documents}:runQuery HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(20):
            if not plain.send(b"1\r\n \r\n" * 10_000):
                break
        plain.send(b"0\r\n\r\n")
        self.host.expect("200,000 chunks of a byte", plain.response()[0], "4*", "closed")
        plain.close()

    def slow(self):
        """Bodies that come a byte at a time, or stop."""
        plains = []
        for number in range(60 * self.scale):
            plain = Plain(self.host.port)
            plain.send(f"POST {self.documents}:commit HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{{")
            plains.append(plain)
        for _ in range(20):
            for plain in plains:
                plain.send(b" ")
            time.sleep(0.05)
        # Answers that aren't read: requests, one after the other, on connections whose windows are small.
        for number in range(10 * self.scale):
            plain = Plain(self.host.port, 1)
            plain.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            for _ in range(50):
                if not plain.send(f"GET {self.documents}/hostile-large?pageSize=300 HTTP/1.1\r\nHost: localhost\r\n\r\n"):
                    break
            plains.append(plain)
        time.sleep(1)
        plain = Plain(self.host.port)
        plain.send(f"GET {self.documents}/hostile/beat HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer owner\r\n\r\n")
        self.host.expect("beside slow bodies", plain.response()[0], "200")
        plain.close()
        for plain in plains:
            plain.close()

    def post(self, path, body, content="application/json", patience=PATIENCE, token=None):
        body = body.encode() if isinstance(body, str) else body
        plain = Plain(self.host.port, patience)
        authorization = f"Authorization: Bearer {token}\r\n" if token else ""
        plain.send(f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {content}\r\n{authorization}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        result = plain.response()
        plain.close()
        return result

    def nested(self):
        """JSON that is nested, broken or has what it may not."""
        name = f"{self.host.root}/hostile/json"
        for depth in (100, 10_000, 200_000):
            for title, text in [
                ("lists", "[" * depth), ("closed lists", "[" * depth + "]" * depth), ("objects", '{"a":' * depth),
                ("maps", f'{{"writes":[{{"update":{{"name":"{name}","fields":{{"f":' + '{"mapValue":{"fields":{"k":' * depth + '{"nullValue":null}' + "}}}" * depth + "}}}]}"),
            ]:
                self.host.expect(f"{depth} {title}", self.post(self.documents + ":commit", text)[0], "400", "413")
        for text in ["null", "1", "[]", '"', "{", '{"writes":', '{"writes":{}}', '{"writes":[null]}', '{"writes":[{"update":{"name":"' + name + '","fields":{"a":{"integerValue":1e999}}}}]}',
                     '{"writes":[{"update":{"name":"' + name + '","fields":{"a":{"integerValue":"9223372036854775808"}}}}]}', '{"writes":[{"update":{"name":"\\ud800"}}]}',
                     "{\"writes\":[],\"writes\":[],\"x\":1}", "{\"a\":01}", "{\"a\":NaN}", "{}x", "\0", '{"writes":[{"update":{"name":"' + name + '","fields":{"a":{"timestampValue":"9999999999999999-01-01T00:00:00Z"}}}}]}',
                     '{"writes":[{"update":{"name":"' + name + '","fields":{"a":{"doubleValue":"' + "9" * 100_000 + '"}}}}]}', '{"writes":[{"update":{"name":"' + name + '","fields":{"a":{"integerValue":' + "9" * 100_000 + '}}}}]}']:
            self.host.expect(f"{text[:60]!r}", self.post(self.documents + ":commit", text)[0], "400")
        self.host.expect("bytes that are no text", self.post(self.documents + ":commit", b'{"a":"\xff\xfe"}')[0], "400")

    def open(self, path=LISTEN, body="count=0", token=None, extra=""):
        database = "projects%2F" + self.host.project + "%2Fdatabases%2F(default)"
        if token:
            body = "headers=Authorization%3ABearer%20" + token + "%0D%0A&" + body
        status, answer = self.post(f"{path}?VER=8&database={database}&RID=1&CVER=22&t=1{extra}", body, "application/x-www-form-urlencoded")
        return status, answer.decode(errors="replace").split('"')[3] if status == "200" and answer.count(b'"') > 3 else None

    def sessions(self):
        """Thousands of sessions that are opened and left, each with a target."""
        query = {"parent": self.host.root, "structuredQuery": {"from": [{"collectionId": "hostile-quiet"}]}}
        target = json.dumps({"database": self.host.database, "addTarget": {"targetId": 2, "query": query}}).replace("+", "%2B").replace("&", "%26")
        # 200 of one client at a time. Refusals are slow on purpose.
        statuses = {}
        for number in range(220):
            status, _ = self.open(body="count=1&ofs=0&req0___data__=" + target)
            statuses[status] = statuses.get(status, 0) + 1
        self.host.expect("sessions of one client", str(statuses), "{'200': 200, '429': 20}")
        # An administrator may have many; these are left.
        opened = [self.open(token="owner", body="count=1&ofs=0&req0___data__=" + target)[1] for _ in range(1000 * self.scale)]
        if None in opened:
            self.host.fail(f"{opened.count(None)} of an administrator's {len(opened)} sessions were refused")
        opened = opened[:200]
        for session in opened[::2]:
            status, _ = self.post(f"{LISTEN}?VER=8&SID={session}&RID=9&TYPE=terminate", "")
            self.host.expect("the end of a session", status, "200")
        # Back channels that are opened and closed at once, and some that are kept.
        plains = []
        for session in opened[1::2]:
            plain = Plain(self.host.port)
            plain.send(f"GET {LISTEN}?VER=8&SID={session}&RID=rpc&AID=0&CI=0&TYPE=xmlhttp HTTP/1.1\r\nHost: localhost\r\n\r\n")
            plains.append(plain)
        for plain in plains[::2]:
            plain.close()
        time.sleep(1)
        for plain in plains[1::2]:
            plain.close()
        for session in opened[1::2]:
            self.post(f"{LISTEN}?VER=8&SID={session}&RID=9&TYPE=terminate", "")

    def broken_sessions(self):
        status, session = self.open(token="owner")
        self.host.expect("a session", status, "200")
        base = f"{LISTEN}?VER=8&SID={session}"
        for title, path, body, *expected in [
            ("an unknown session", f"{LISTEN}?VER=8&SID=nothing&RID=2", "count=0", "400"), ("an empty session", f"{LISTEN}?VER=8&SID=&RID=2&TYPE=terminate", "", "400", "200", "429"),
            ("another method", "/google.firestore.v1.Firestore/Nothing/channel?VER=8", "count=0", "404"), ("no channel", "/google.firestore.v1.Firestore/Listen", "x", "404"),
            ("a negative ofs", base + "&RID=2&AID=0", "count=1&ofs=-5&req0___data__={}", "400"), ("an ofs of 2^63", base + "&RID=2&AID=0", "count=1&ofs=9223372036854775808&req0___data__={}", "400"),
            ("an ofs of 2^63-1", base + "&RID=2&AID=0", "count=1&ofs=9223372036854775807&req1___data__={}", "400"), ("an ofs that is none", base + "&RID=2&AID=0", "count=1&ofs=x&req0___data__={}", "400"),
            ("a number that is none", base + "&RID=2&AID=0", "count=1&ofs=0&reqx___data__={}", "400", "200"), ("a count that isn't right", base + "&RID=x&AID=-1", "count=99999999&ofs=0", "200", "400"),
            ("an AID that is none", base + "&RID=2&AID=zz", "count=0", "200", "400"), ("broken escapes", base + "&RID=2&AID=0", "count=1&ofs=0&req0___data__=%zz%f%", "200", "400"),
            ("1 MiB of ampersands", base + "&RID=2&AID=0", "&" * (1 << 20), "200", "400", "413"), ("100,000 names", base + "&RID=2&AID=0", "a=b&" * 100_000, "200", "400"),
            ("a body of 24 MiB", base + "&RID=2&AID=0", "count=1&ofs=5&req0___data__=" + "x" * (24 << 20), "400", "413", "429", "closed"),
        ]:
            self.host.expect(title, self.post(path, body, "application/x-www-form-urlencoded")[0], *expected)
        for aid in ("-1", "9223372036854775808", "x"):
            plain = Plain(self.host.port)
            plain.send(f"GET {base}&RID=rpc&AID={aid}&CI=1&TYPE=xmlhttp HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.host.expect(f"an AID of {aid}", plain.response()[0], "400", "200")
            plain.close()
        # Maps that wait for one that never comes: more than may wait end the session.
        status, session = self.open(token="owner")
        for start in range(10, 3010, 500):
            body = f"count=500&ofs={start}&" + "&".join(f"req{n}___data__={{}}" for n in range(500))
            last, _ = self.post(f"{LISTEN}?VER=8&SID={session}&RID=2&AID=0", body, "application/x-www-form-urlencoded")
        self.host.expect("3,000 maps that wait", last, "400")
        # A million early bytes in many sessions.
        for _ in range(20 * self.scale):
            status, session = self.open(token="owner", path=self.random.choice([LISTEN, WRITE]))
            self.post(f"{LISTEN}?VER=8&SID={session}&RID=2&AID=0", "count=1&ofs=7&req0___data__=" + "x" * (1 << 20), "application/x-www-form-urlencoded")
        # JSON that is none ends the stream with an error on its back channel.
        for path in (LISTEN, WRITE):
            for text in ("", "{", "[]", "null", '{"x":1}', '{"database":5}', "[" * 50_000, '{"addTarget":' * 20_000, "%ff%fe", '{"addTarget":{"targetId":99999999999}}'):
                status, session = self.open(path=path, token="owner", body="count=1&ofs=0&req0___data__=" + text)
                plain = Plain(self.host.port)
                plain.send(f"GET {path}?VER=8&SID={session}&RID=rpc&AID=0&CI=1&TYPE=xmlhttp HTTP/1.1\r\nHost: localhost\r\n\r\n")
                answer = plain.response()
                if answer[0] != "200" or b'"error"' not in answer[1]:
                    self.host.fail(f"{text[:40]!r} on {path.split('/')[2]}: {answer[0]} {answer[1][:200]}")
                plain.close()
                self.post(f"{path}?VER=8&SID={session}&RID=9&TYPE=terminate", "")
