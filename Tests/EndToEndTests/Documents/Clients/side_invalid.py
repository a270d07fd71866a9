"""Invalid and odd requests of many kinds, and why the emulator answers some of them otherwise."""
from side_pair import DATABASE, OURS, ROOT, THEIRS

INT = {"integer_value": 1}
GET = {"name": ROOT + "/i/a"}
LONG_NAME = "production documents 1,500 bytes for a segment of a name; the emulator looks when it writes only"
LONG_OPERAND = "the emulator refuses operands of 1,500 bytes and more; we compare the whole value"
ALL_COLLECTIONS = "our host has queries of everything below a document, not of all its collections alone"
IN_THE_PAST = "collections can't be listed in the past, which our host says with UNIMPLEMENTED"
EACH = "each write of a BatchWrite has its own status; the emulator refuses the whole request for some invalid ones"
BROKEN = "the emulator fails with UNKNOWN for bytes that are no message"
RETRIED = "a transaction that is no longer known is retried as any other; the emulator refuses it"
PATH_OF_TRANSFORM = "production documents 1,500 bytes for a path; the emulator doesn't look in transforms"
RESERVED = "production documents names __.*__ as reserved; the emulator has exceptions"


def field(path, op="EQUAL", value=INT):
    return {"field_filter": {"field": {"field_path": path}, "op": op, "value": value}}


def composite(op, *filters):
    return {"composite_filter": {"op": op, "filters": list(filters)}}


def values(count):
    return {"array_value": {"values": [{"integer_value": number} for number in range(count)]}}


def by(path, direction="ASCENDING"):
    return {"field": {"field_path": path}, "direction": direction}


def is_long(name):
    return any(len(segment.encode()) > 1500 for segment in name.split("/"))


NAMES = [
    "", "foo", "projects/demo-shop", DATABASE, ROOT, ROOT + "/", ROOT + "/i", ROOT + "/i/", ROOT + "/i/a/", ROOT + "//a",
    ROOT + "/i//a", ROOT + "/i/a/b", ROOT + "/i/.", ROOT + "/i/..", ROOT + "/./a", ROOT + "/i/__x__", ROOT + "/__x__/a",
    ROOT + "/i/__x", ROOT + "/i/x__", ROOT + "/i/a b", ROOT + "/i/é", ROOT + "/i/a%2Fb", ROOT + "/i/" + "x" * 1500,
    ROOT + "/i/" + "x" * 1501, ROOT + "/" + "x" * 1501 + "/a", ROOT + "/i/" + "é" * 750, ROOT + "/i/" + "é" * 751,
    "/" + ROOT + "/i/a", ROOT.upper() + "/i/a", "projects/demo-shop/databases/(default)/document/i/a",
    ROOT + "/i/\n", ROOT + "/i/'\"`\\",
]
PATHS = [
    "", ".", "a.", ".a", "a..b", "`a", "a`", "`a`", "`a.b`", "`a`.b", "``", "`a``b`", "`\\``", "`\\\\`", "a b", "1a", "a-b",
    "é", "`é`", "__name__", "__x__", "`__x__`", "__a", "a.__x__", "*", "a/b", "a[0]", "`a\\", "a.b.c.d", "x" * 1500,
    "x" * 1501, ".".join(["a"] * 20), ".".join(["a"] * 21),
]
QUERIES = {
    "no collection's name": {"from_": [{}]},
    "no from": {},
    "two from": {"from_": [{"collection_id": "i"}, {"collection_id": "j"}]},
    "a slash": {"from_": [{"collection_id": "i/a/j"}]},
    "a reserved collection": {"from_": [{"collection_id": "__x__"}]},
    "a negative limit": {"limit": {"value": -1}},
    "a limit of zero": {"limit": {"value": 0}},
    "a negative offset": {"offset": -1},
    "an empty filter": {"where": {}},
    "no operator": {"where": field("a", "OPERATOR_UNSPECIFIED")},
    "unknown operator": {"where": field("a", 99)},
    "no operand": {"where": {"field_filter": {"field": {"field_path": "a"}, "op": "EQUAL"}}},
    "an operand without a type": {"where": field("a", "EQUAL", {})},
    "a unary filter without a test": {"where": {"unary_filter": {"field": {"field_path": "a"}}}},
    "a unary filter without a field": {"where": {"unary_filter": {"op": "IS_NULL"}}},
    "a composite filter without an operator": {"where": composite("OPERATOR_UNSPECIFIED", field("a"))},
    "or of none": {"where": composite("OR")},
    "or of one": {"where": composite("OR", field("a"))},
    "in of none": {"where": field("a", "IN", values(0))},
    "in of 30": {"where": field("a", "IN", values(30))},
    "in of 31": {"where": field("a", "IN", values(31))},
    "in of no list": {"where": field("a", "IN")},
    "not in of 10": {"where": field("a", "NOT_IN", values(10))},
    "not in of 11": {"where": field("a", "NOT_IN", values(11))},
    "not in of none": {"where": field("a", "NOT_IN", values(0))},
    "not in with not equal": {"where": composite("AND", field("a", "NOT_IN", values(2)), field("a", "NOT_EQUAL"))},
    "not in within or": {"where": composite("OR", field("a", "NOT_IN", values(2)), field("b"))},
    "two not equals": {"where": composite("AND", field("a", "NOT_EQUAL"), field("b", "NOT_EQUAL"))},
    "two array contains": {"where": composite("AND", field("a", "ARRAY_CONTAINS"), field("b", "ARRAY_CONTAINS"))},
    "two array contains any": {
        "where": composite("AND", field("a", "ARRAY_CONTAINS_ANY", values(2)), field("b", "ARRAY_CONTAINS_ANY", values(2)))},
    "array contains any of no list": {"where": field("a", "ARRAY_CONTAINS_ANY")},
    "array contains any of 30": {"where": field("a", "ARRAY_CONTAINS_ANY", values(30))},
    "array contains any of 31": {"where": field("a", "ARRAY_CONTAINS_ANY", values(31))},
    "array contains of a list": {"where": field("a", "ARRAY_CONTAINS", values(1))},
    "31 disjunctions": {"where": composite("OR", *[field("a", "EQUAL", {"integer_value": n}) for n in range(31)])},
    "5 times 7 disjunctions": {"where": composite("AND", field("a", "IN", values(5)), field("b", "IN", values(7)))},
    "less than null": {"where": field("a", "LESS_THAN", {"null_value": 0})},
    "equal to NaN": {"where": field("a", "EQUAL", {"double_value": float("nan")})},
    "a name that is no reference": {"where": field("__name__", "EQUAL", {"string_value": "a"})},
    "a name elsewhere": {"where": field("__name__", "GREATER_THAN", {"reference_value": ROOT + "/j/a"})},
    "a name of a collection": {"where": field("__name__", "GREATER_THAN", {"reference_value": ROOT + "/i"})},
    "names in": {"where": field("__name__", "IN", {"array_value": {"values": [{"reference_value": ROOT + "/i/a"}]}})},
    "names not in": {"where": field("__name__", "NOT_IN", {"array_value": {"values": [{"reference_value": ROOT + "/i/a"}]}})},
    "names in of numbers": {"where": field("__name__", "IN", values(1))},
    "names contain": {"where": field("__name__", "ARRAY_CONTAINS", {"reference_value": ROOT + "/i/a"})},
    "a null name": {"where": {"unary_filter": {"field": {"field_path": "__name__"}, "op": "IS_NULL"}}},
    "order by nothing": {"order_by": [{}]},
    "an unknown direction": {"order_by": [by("a", 7)]},
    "no direction": {"order_by": [by("a", "DIRECTION_UNSPECIFIED")]},
    "order by one twice": {"order_by": [by("a"), by("a")]},
    "order by an equal field": {"where": field("a"), "order_by": [by("a"), by("b")]},
    "order not by the inequality": {"where": field("a", "LESS_THAN"), "order_by": [by("b")]},
    "a cursor without order": {"start_at": {"values": [INT]}},
    "a cursor by the name without order": {"start_at": {"values": [{"reference_value": ROOT + "/i/a"}]}},
    "a cursor of no values": {"order_by": [by("a")], "start_at": {"before": True}},
    "a cursor longer than the order": {"order_by": [by("a")], "start_at": {"values": [INT, INT, INT]}},
    "a cursor whose name is a number": {"order_by": [by("__name__")], "start_at": {"values": [INT]}},
    "a cursor whose name is elsewhere": {"order_by": [by("__name__")], "start_at": {"values": [{"reference_value": ROOT + "/j/a"}]}},
    "a cursor with a value without a type": {"order_by": [by("a")], "start_at": {"values": [{}]}},
    "crossed cursors": {"order_by": [by("a")], "start_at": {"values": [{"integer_value": 9}]}, "end_at": {"values": [INT]}},
    "selected twice": {"select": {"fields": [{"field_path": "a"}, {"field_path": "a"}]}},
    "select an empty path": {"select": {"fields": [{"field_path": ""}]}},
    "select the name": {"select": {"fields": [{"field_path": "__name__"}]}},
    "select nothing": {"select": {}},
}
# Where the emulator isn't what production is documented to be, or has a reason of its own.
KNOWN_QUERIES = {
    "no collection's name": ALL_COLLECTIONS,
    "no from": "a query names its collections, or all of them; the emulator takes none for all",
    "select nothing": "no fields selected is all fields, as for SDKs' select(); the emulator returns the names",
}


def queries():
    for name, query in QUERIES.items():
        query = dict(query)
        query.setdefault("from_", [] if name == "no from" else [{"collection_id": "i"}])
        yield name, query


class InvalidRequests:
    def __init__(self, pair):
        self.pair = pair

    def set(self, name="i/v", fields=None, **extra):
        return {"update": {"name": ROOT + "/" + name, "fields": fields or {}}, **extra}

    def commit(self, title, *writes, known=None, **extra):
        self.pair.ask("Commit", {"database": DATABASE, "writes": list(writes), **extra}, title, known)

    def round(self):
        ask = self.pair.ask
        ask("Commit", {"database": DATABASE, "writes": [
            self.set(f"i/{name}", {"a": {"integer_value": number}, "b": {"integer_value": number % 2}})
            for number, name in enumerate("abc")]})
        self.names()
        self.paths()
        for name, query in queries():
            ask("RunQuery", {"parent": ROOT, "structured_query": query}, name, KNOWN_QUERIES.get(name))
        self.values()
        self.times_and_transactions()
        self.lists()
        self.writes()
        self.aggregations()
        self.databases()
        self.bytes()

    def names(self):
        for name in NAMES:
            known = RESERVED if "__x__" in name else LONG_NAME if is_long(name) else None
            self.pair.ask("GetDocument", {"name": name}, "name", known)
            self.pair.ask("BatchGetDocuments", {"database": DATABASE, "documents": [name]}, "name", known)
            self.pair.ask("DeleteDocument", {"name": name}, "name", known)
            self.pair.ask("UpdateDocument", {"document": {"name": name}}, "name", known)
            self.pair.ask("Commit", {"database": DATABASE, "writes": [{"update": {"name": name}}]}, "name", known)
            self.pair.ask("ListDocuments", {"parent": name, "collection_id": "i"}, "parent", known)
            self.pair.ask("RunQuery", {"parent": name, "structured_query": {"from_": [{"collection_id": "i"}]}}, "parent", known)
            self.pair.ask("ListCollectionIds", {"parent": name, "page_size": 1}, "parent", known, adapt=lambda content: "some")
            self.commit("reference", self.set(fields={"r": {"reference_value": name}}), known=known)
        for collection in ["", ".", "..", "i/a", "i/a/j", "__x__", "é", "x" * 1501, " ", "/"]:
            known = RESERVED if "__x__" in collection else None
            self.pair.ask("ListDocuments", {"parent": ROOT, "collection_id": collection, "page_size": 1}, "collection",
                          known if collection else ALL_COLLECTIONS)
            for document in ["", "d", "a/b", ".", "..", "__x__", "é", "x" * 1501]:
                if not document and collection in ("é", " "):
                    continue
                both = self.pair.ask("CreateDocument", {
                    "parent": ROOT, "collection_id": collection, "document_id": document}, "create",
                    RESERVED if "__x__" in collection + document else None)
                for side, (answers, status, _) in zip(self.pair.sides, both):
                    if status == "OK":
                        side.ask("DeleteDocument", {"name": answers[0].name})

    def paths(self):
        for path in PATHS:
            known = RESERVED if "__" in path else None
            self.pair.ask("GetDocument", {**GET, "mask": {"field_paths": [path]}}, "mask", known)
            self.pair.ask("UpdateDocument", {
                "document": {"name": ROOT + "/i/p"}, "update_mask": {"field_paths": [path]}}, "update mask", known)
            long = known or (PATH_OF_TRANSFORM if len(path) > 1500 else None)
            self.commit("transform", {"transform": {
                "document": ROOT + "/i/p", "field_transforms": [{"field_path": path, "increment": INT}]}}, known=long)
            self.pair.ask("GetDocument", {"name": ROOT + "/i/p"}, f"after {path}", long)
            self.pair.ask("DeleteDocument", {"name": ROOT + "/i/p"})
            base = {"from_": [{"collection_id": "i"}]}
            self.pair.ask("RunQuery", {"parent": ROOT, "structured_query": dict(base, where=field(path))}, "filter", known)
            self.pair.ask("RunQuery", {"parent": ROOT, "structured_query": dict(base, order_by=[by(path)])}, "order", known)
            self.pair.ask("RunQuery", {"parent": ROOT, "structured_query": dict(base, select={"fields": [{"field_path": path}]})},
                          "select", known)
            name = path.replace("`", "").replace("\\", "")
            self.commit("field's name", self.set(fields={name: INT}), known=known)

    def values(self):
        for title, value in {
            "no type": {}, "a list in a list": {"array_value": {"values": [{"array_value": {}}]}},
            "a time too early": {"timestamp_value": {"seconds": -62135596801}},
            "a time at the beginning": {"timestamp_value": {"seconds": -62135596800}},
            "a time too late": {"timestamp_value": {"seconds": 253402300800}},
            "a time at the end": {"timestamp_value": {"seconds": 253402300799, "nanos": 999999999}},
            "negative nanoseconds": {"timestamp_value": {"nanos": -1}},
            "too many nanoseconds": {"timestamp_value": {"nanos": 10**9}},
            "a latitude too far": {"geo_point_value": {"latitude": 90.1}},
            "a longitude too far": {"geo_point_value": {"longitude": -180.1}},
            "no number": {"geo_point_value": {"latitude": float("nan")}},
            "an empty name in a map": {"map_value": {"fields": {"": INT}}},
            "a reserved name in a map": {"map_value": {"fields": {"__x__": INT}}},
            "a null that is 1": b"\x58\x01",
            "a vector of texts": {"map_value": {"fields": {
                "__type__": {"string_value": "__vector__"}, "value": {"array_value": {"values": [{"string_value": "a"}]}}}}},
            "an empty vector": {"map_value": {"fields": {
                "__type__": {"string_value": "__vector__"}, "value": {"array_value": {}}}}},
            "a text of 1,500 bytes": {"string_value": "é" * 750},
            "a large text": {"string_value": "x" * (1 << 20)},
        }.items():
            if isinstance(value, bytes):
                continue
            self.commit("value: " + title, self.set(fields={"v": value}))
            self.pair.ask("GetDocument", {"name": ROOT + "/i/v"}, "after " + title)
            self.pair.ask("RunQuery", {"parent": ROOT, "structured_query": {
                "from_": [{"collection_id": "i"}], "where": field("v", "EQUAL", value)}}, "equal to " + title,
                          LONG_OPERAND if len(value.get("string_value", "").encode()) >= 1500 else None)
        self.commit("delete", {"delete": ROOT + "/i/v"})
        for depth in (18, 19, 20, 21, 22, 40, 90):
            value = INT
            for _ in range(depth):
                value = {"map_value": {"fields": {"k": value}}}
            self.commit(f"{depth} maps", self.set("i/deep", {"v": value}))
        self.commit("delete", {"delete": ROOT + "/i/deep"})

    def times_and_transactions(self):
        for title, selector in {
            "in a year": {"read_time": {"seconds": 1900000000}}, "long ago": {"read_time": {"seconds": 1}},
            "of invalid nanoseconds": {"read_time": {"seconds": 1, "nanos": -1}},
            "an unknown transaction": {"transaction": b"\1\2\3\4\5\6\7\x08"}, "no transaction": {"transaction": b"x"},
            "an empty transaction": {"transaction": b""},
        }.items():
            self.pair.ask("GetDocument", {**GET, **selector}, title)
            self.pair.ask("ListDocuments", {"parent": ROOT, "collection_id": "i", **selector}, title)
            self.pair.ask("BatchGetDocuments", {"database": DATABASE, "documents": [GET["name"]], **selector}, title)
            query = {"from_": [{"collection_id": "i"}]}
            self.pair.ask("RunQuery", {"parent": ROOT, "structured_query": query, **selector}, title)
            self.pair.ask("RunAggregationQuery", {"parent": ROOT, "structured_aggregation_query": {
                "structured_query": query, "aggregations": [{"count": {}}]}, **selector}, title)
            if "read_time" in selector:
                self.pair.ask("BeginTransaction", {"database": DATABASE, "options": {"read_only": selector}}, title)
                self.pair.ask("ListCollectionIds", {"parent": GET["name"], **selector}, title, IN_THE_PAST)
            else:
                self.pair.ask("Rollback", {"database": DATABASE, **selector}, title)
                if selector["transaction"]:
                    self.commit(title, self.set("i/t"), **selector)
                both = self.pair.ask("BeginTransaction", {"database": DATABASE, "options": {
                    "read_write": {"retry_transaction": selector["transaction"]}}}, title, RETRIED if len(selector["transaction"]) == 8 else None)
                for side, (answers, status, _) in zip(self.pair.sides, both):
                    if status == "OK":
                        side.ask("Rollback", {"database": DATABASE, "transaction": answers[0].transaction})

    def lists(self):
        for extra in [
            {"page_size": -1}, {"page_token": "x"}, {"page_token": "////"}, {"order_by": "a up"}, {"order_by": ","}, {"order_by": "a,"},
            {"order_by": "a desc,"}, {"order_by": "__name__"}, {"order_by": "__name__ asc"}, {"order_by": " a "}, {"order_by": "a  desc"},
            {"order_by": "a DESC"}, {"order_by": "a..b"}, {"order_by": "`a`"}, {"order_by": "a", "show_missing": True},
            {"mask": {"field_paths": ["a", "a"]}}, {"page_size": 2**31 - 1},
        ]:
            def first(pages):
                pages[0].pop("next_page_token", None)
                return pages
            self.pair.ask("ListDocuments", {"parent": ROOT, "collection_id": "i", **extra}, str(extra), adapt=first)
        for extra in [{"page_size": -1}, {"page_token": "x"}]:
            self.pair.ask("ListCollectionIds", {"parent": GET["name"], **extra}, str(extra))

    def writes(self):
        name = ROOT + "/i/w"
        one = {"a": INT}

        def transform(*transforms):
            return {"transform": {"document": name, "field_transforms": list(transforms)}}

        for title, writes in {
            "nothing": [{}], "a condition alone": [{"current_document": {"exists": True}}],
            "an empty condition": [{"update": {"name": name, "fields": one}, "current_document": {}}],
            "a mask on a delete": [{"delete": name, "update_mask": {"field_paths": ["a"]}}],
            "transforms on a delete": [{"delete": name, "update_transforms": [{"field_path": "a", "increment": INT}]}],
            "no transforms": [transform()], "an empty transform": [transform({"field_path": "a"})],
            "a transform of no field": [transform({"increment": INT})],
            "one field transformed twice": [transform({"field_path": "a", "increment": INT}, {"field_path": "a", "maximum": INT})],
            "overlapping transforms": [transform({"field_path": "a", "increment": INT}, {"field_path": "a.b", "maximum": INT})],
            "an increment by a text": [transform({"field_path": "a", "increment": {"string_value": "1"}})],
            "a maximum with a list": [transform({"field_path": "a", "maximum": {"array_value": {}}})],
            "an increment by nothing": [transform({"field_path": "a", "increment": {}})],
            "no server value": [transform({"field_path": "a", "set_to_server_value": 0})],
            "an unknown server value": [transform({"field_path": "a", "set_to_server_value": 9})],
            "a union of nothing": [transform({"field_path": "l", "append_missing_elements": {}})],
            "a mask with what isn't there": [{"update": {"name": name}, "update_mask": {"field_paths": ["zz"]}}],
            "an overlapping mask": [{"update": {"name": name, "fields": one}, "update_mask": {"field_paths": ["a", "a.b"]}}],
            "a path twice in a mask": [{"update": {"name": name, "fields": one}, "update_mask": {"field_paths": ["a", "a"]}}],
            "a field outside of the mask": [{"update": {"name": name, "fields": one}, "update_mask": {"field_paths": ["b"]}}],
            "a mask through a number": [{"update": {"name": name, "fields": one}, "update_mask": {"field_paths": ["a.b"]}}],
            "a mask and a transform of one field": [{
                "update": {"name": name, "fields": one}, "update_mask": {"field_paths": ["a"]},
                "update_transforms": [{"field_path": "a", "increment": INT}]}],
            "a field and a transform below it": [{
                "update": {"name": name, "fields": one}, "update_transforms": [{"field_path": "a.b", "increment": INT}]}],
            "times in a new document": [{"update": {"name": name, "fields": one, "create_time": {"seconds": 5}}}],
            "a time before": [{"update": {"name": name, "fields": one}, "current_document": {"update_time": {"seconds": 5}}}],
            "a time with invalid nanoseconds": [{
                "update": {"name": name, "fields": one}, "current_document": {"update_time": {"seconds": 5, "nanos": -4}}}],
        }.items():
            self.commit(title, *writes)
            self.pair.ask("GetDocument", {"name": name}, "after " + title)
            self.pair.ask("BatchWrite", {"database": DATABASE, "writes": writes}, title, EACH)
            self.pair.ask("DeleteDocument", {"name": name})
        twice = [self.set("i/w1"), self.set("i/w1", one)]
        self.pair.ask("BatchWrite", {"database": DATABASE, "writes": twice}, "one document twice")
        self.pair.ask("BatchWrite", {"database": DATABASE, "labels": {"a": "b"}, "writes": [
            self.set("i/w1", current_document={"exists": False}), self.set("i/w2", one), {"delete": ROOT + "/i"},
        ]}, "some of which fail")
        self.pair.ask("BatchWrite", {"database": DATABASE}, "nothing")
        for method in ("CreateDocument", "UpdateDocument"):
            self.pair.ask(method, {}, "nothing")
        self.pair.ask("CreateDocument", {"parent": ROOT, "collection_id": "i", "document_id": "w3",
                                         "document": {"name": ROOT + "/i/other", "fields": one}}, "with a name")
        self.pair.ask("UpdateDocument", {"document": {"name": ROOT + "/i/w3", "fields": one}, "current_document": {"exists": False}})
        self.pair.ask("UpdateDocument", {"document": {"name": ROOT + "/i/w4", "fields": one}, "update_mask": {"field_paths": ["b"]}})
        self.pair.ask("DeleteDocument", {"name": ROOT + "/i/w5", "current_document": {"exists": True}})
        self.pair.ask("DeleteDocument", {"name": ROOT + "/i/w4", "current_document": {"update_time": {"seconds": 7}}})

    def aggregations(self):
        base = {"from_": [{"collection_id": "i"}]}
        total = {"sum": {"field": {"field_path": "a"}}}
        for title, parts in {
            "none": [], "empty": [{}], "up to 0": [{"count": {"up_to": {"value": 0}}}], "up to -1": [{"count": {"up_to": {"value": -1}}}],
            "up to 1": [{"count": {"up_to": {"value": 1}}}], "five": [{"count": {}}, total, {"avg": {"field": {"field_path": "a"}}},
                                                                    {"sum": {"field": {"field_path": "b"}}}, {"avg": {"field": {"field_path": "b"}}}],
            "one alias twice": [{"count": {}, "alias": "x"}, dict(total, alias="x")], "a reserved alias": [{"count": {}, "alias": "__x__"}],
            "an invalid alias": [{"count": {}, "alias": "a b"}], "a path as alias": [{"count": {}, "alias": "a.b"}],
            "a long alias": [{"count": {}, "alias": "x" * 1501}], "no field": [{"sum": {}}], "an invalid field": [{"avg": {"field": {"field_path": "a..b"}}}],
            "the name": [{"sum": {"field": {"field_path": "__name__"}}}],
        }.items():
            known = "count documents that up_to must be greater than zero" if title == "up to 0" else None
            self.pair.ask("RunAggregationQuery", {"parent": ROOT, "structured_aggregation_query": {
                "structured_query": base, "aggregations": parts}}, title, known)
        self.pair.ask("RunAggregationQuery", {"parent": ROOT}, "nothing")
        self.pair.ask("RunAggregationQuery", {"parent": ROOT, "structured_aggregation_query": {"aggregations": [{"count": {}}]}}, "no query",
                      KNOWN_QUERIES["no from"])
        self.pair.ask("RunQuery", {"parent": ROOT}, "nothing")

    def databases(self):
        for database in ["", "projects/demo-shop", "projects/demo-shop/databases/", "x", DATABASE + "/", DATABASE + "/documents"]:
            self.pair.ask("Commit", {"database": database, "writes": [self.set("i/db")]}, "database")
            self.pair.ask("BatchWrite", {"database": database, "writes": [self.set("i/db")]}, "database")
            self.pair.ask("BatchGetDocuments", {"database": database, "documents": [GET["name"]]}, "database")
            both = self.pair.ask("BeginTransaction", {"database": database}, "database")
            for side, (answers, status, _) in zip(self.pair.sides, both):
                if status == "OK":
                    side.ask("Rollback", {"database": DATABASE, "transaction": answers[0].transaction})

    def bytes(self):
        name = GET["name"].encode()

        def get(*parts):
            return b"".join(parts)

        known = b"\x0a" + bytes([len(name)]) + name
        for title, body in {
            "an unknown field": get(known, b"\xfa\x3f\x03abc"), "an unknown number": get(known, b"\xf8\x3f\x07"),
            "an unknown group": get(known, b"\xfb\x3f\x08\x01\xfc\x3f"), "a name twice": get(b"\x0a\x01x", known),
            "an empty message": b"", "a name of the wrong type": b"\x08\x05", "a name that is cut off": known[:-4],
            "a number that is cut off": get(known, b"\xf8\x3f\xff"), "a group that isn't closed": get(known, b"\xfb\x3f"),
            "a group closed otherwise": get(known, b"\xfb\x3f\xf4\x3f"), "field 0": get(known, b"\x00\x01"),
            "an invalid wire type": get(known, b"\xff\x3f"), "text that is no UTF-8": b"\x0a\x04abc\xff",
            "a number of 11 bytes": get(known, b"\xf8\x3f" + b"\xff" * 10 + b"\x01"),
        }.items():
            both = self.pair.ask("GetDocument", body, "bytes: " + title, BROKEN)
            # The emulator takes what follows the proto's rules, and so do we.
            if both[THEIRS][1] == "UNKNOWN" and both[OURS][1] not in ("INVALID_ARGUMENT", "INTERNAL"):
                self.pair.fail(f"bytes: {title}: our host answers {both[OURS][1]}, INVALID_ARGUMENT was expected")
