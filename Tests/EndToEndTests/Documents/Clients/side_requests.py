"""Random requests that a seed repeats, and invalid ones."""
from side_pair import DATABASE, NAMES, OURS, ROOT

FIELDS = ["a", "b", "m.c"]
VERIFIED_NOTHING = "a result has no time where there is no document; the emulator gives one"
NO_WRITES = "a commit of nothing has a time too, as the message documents; not on the emulator"
COMPARISONS = ["EQUAL", "LESS_THAN", "LESS_THAN_OR_EQUAL", "GREATER_THAN", "GREATER_THAN_OR_EQUAL"]


def integer(number):
    return {"integer_value": number}


def text(value):
    return {"string_value": value}


def array(*values):
    return {"array_value": {"values": list(values)}}


def mapped(**fields):
    return {"map_value": {"fields": fields}}


def rounded(content):
    """Without the last digits of sums, which depend on the order in which they are added."""
    if isinstance(content, dict):
        return {name: rounded(part) for name, part in content.items()}
    if isinstance(content, list):
        return [rounded(part) for part in content]
    if isinstance(content, str) and content.startswith("double "):
        return f"double {float(content[7:]):.13e}"
    return content


class RandomRequests:
    """Requests to one pair, over collections of their own."""

    def __init__(self, pair, random, collection):
        self.pair, self.random, self.collection = pair, random, collection
        # By side: the last known update times of documents, the times of some commits, and page tokens.
        self.updated = [{}, {}]
        self.commits = [[], []]

    # Words

    def chance(self, percent):
        return self.random.randrange(100) < percent

    def one(self, options):
        return self.random.choice(options)

    def path(self, odd=None):
        number = self.random.randrange(14) if odd is None else self.random.randrange(7) * 2 + odd
        base = f"{ROOT}/{self.collection}/d{number}"
        # Collection groups: a few documents below documents that may be missing.
        return base + f"/{self.collection}g/x{self.random.randrange(3)}" if self.chance(15) else base

    def field(self):
        return self.one(FIELDS)

    def value(self, depth=0):
        kind = self.random.randrange(17 if depth < 2 else 13)
        if kind == 0:
            return {"null_value": 0}
        if kind == 1:
            return {"boolean_value": self.chance(50)}
        if kind < 5:
            return integer(self.random.randint(-2, 3))
        if kind == 5:
            return integer(self.one([2**63 - 1, -2**63, 2**53 + 1]))
        if kind < 8:
            return {"double_value": self.one([-0.0, 0.5, 1.0, 2.0, 2.0**53, float("nan"), float("inf"), float("-inf")])}
        if kind == 8:
            # Stored cut to microseconds.
            return {"timestamp_value": {"seconds": 1577836800 + self.random.randrange(3), "nanos": self.one([0, 1000, 1999])}}
        if kind == 9:
            return text(self.one(["", "a", "b", "é", "e\u0301", "\uffff", "\U0001f600"]))
        if kind == 10:
            return {"bytes_value": self.one([b"", b"\0", b"\xff"])}
        if kind == 11:
            return {"reference_value": f"{ROOT}/{self.collection}/d{self.random.randrange(3)}"}
        if kind == 12:
            return {"geo_point_value": {"latitude": self.one([-1, 0, 1]), "longitude": self.one([0, 2])}}
        if kind == 13:
            numbers = [{"double_value": float(self.random.randrange(2))} for _ in range(self.random.randint(1, 2))]
            return mapped(__type__=text("__vector__"), value=array(*numbers))
        # A list in a list is none.
        if kind == 14 and depth == 0:
            return array(*[self.scalar() for _ in range(self.random.randrange(4))])
        return mapped(c=self.value(depth + 1))

    def scalar(self):
        return mapped(c=integer(1)) if self.chance(30) else integer(self.random.randrange(4))

    def fields(self):
        fields = {name: self.value() for name in ("a", "b") if self.chance(75)}
        if self.chance(75):
            fields["m"] = mapped(c=self.value(1), d=integer(1))
        return fields

    def condition(self, path, percent=20):
        """A precondition by side: none, existence, or the update time that each side has given out."""
        if not self.chance(percent):
            return None
        if self.chance(50) or not all(path in known for known in self.updated):
            exists = self.chance(50)
            return lambda side: {"exists": exists}
        times = [known[path] for known in self.updated]
        return lambda side: {"update_time": times[side]}

    def transforms(self):
        """Of a number of fields, each once."""
        names = self.random.sample(FIELDS + ["t"], self.random.randint(1, 3))
        result = []
        for name in names:
            kind = self.one(["increment", "maximum", "minimum", "append", "remove", "time"])
            if kind == "time":
                result.append({"field_path": name, "set_to_server_value": "REQUEST_TIME"})
            elif kind == "append":
                result.append({"field_path": name, "append_missing_elements": {"values": [self.scalar(), self.scalar()]}})
            elif kind == "remove":
                result.append({"field_path": name, "remove_all_from_array": {"values": [self.scalar(), self.scalar()]}})
            else:
                operand = self.one([integer(1), integer(2**63 - 1), {"double_value": 0.5}, {"double_value": -0.0}])
                result.append({"field_path": name, kind: operand})
        return result

    def write(self, odd=None):
        """A function of the side. Of documents of even or odd number: the emulator answers two writes of one document in
        one commit otherwise than it answers two commits."""
        path = self.path(odd)
        condition, fields = self.condition(path), self.fields()
        kind = self.random.randrange(10)
        if kind == 0:
            write = {"delete": path}
        elif kind < 3:
            write = {"update": {"name": path, "fields": fields},
                     "update_mask": {"field_paths": self.random.sample(FIELDS + ["gone"], 2)}}
        elif kind < 5:
            write = {"update": {"name": path}, "update_mask": {"field_paths": []}, "update_transforms": self.transforms()}
        elif kind == 5:
            write = {"transform": {"document": path, "field_transforms": self.transforms()}}
        elif kind == 6:
            # A transform of a field that is written too.
            write = {"update": {"name": path, "fields": fields}, "update_transforms": self.transforms()}
        else:
            write = {"update": {"name": path, "fields": fields}}
        return lambda side: dict(write, current_document=condition(side)) if condition else write

    def filter(self):
        name = self.field()
        kind = self.random.randrange(12)
        field = {"field": {"field_path": name}}

        def operation(op, value, field=field):
            return {"field_filter": dict(field, op=op, value=value)}

        if kind == 0:
            return {"unary_filter": dict(field, op=self.one(["IS_NULL", "IS_NOT_NULL", "IS_NAN", "IS_NOT_NAN"]))}
        if kind == 1:
            return operation("IN", array(self.value(), self.value()))
        if kind == 2:
            return operation("NOT_IN", array(integer(self.random.randint(-1, 3)), integer(self.random.randint(-1, 3))))
        if kind == 3:
            return operation("ARRAY_CONTAINS", self.scalar())
        if kind == 4:
            return operation("ARRAY_CONTAINS_ANY", array(self.scalar(), self.scalar()))
        if kind == 5:
            # Not equality: the emulator's planner takes no equal name beside an inequality of another field.
            reference = {"reference_value": f"{ROOT}/{self.collection}/d{self.random.randrange(14)}"}
            return operation(self.one(COMPARISONS[1:]), reference, {"field": {"field_path": "__name__"}})
        if kind == 6:
            # Not NaN, which is not NaN to the emulator.
            return operation("NOT_EQUAL", integer(self.random.randint(-1, 3)))
        return operation(self.one(COMPARISONS), self.value())

    def query(self, group=None):
        filters = [self.filter() for _ in range(self.random.randrange(4))]

        def composite(op, *parts):
            return {"composite_filter": {"op": op, "filters": list(parts)}}

        group = self.chance(20) if group is None else group
        query = {"from_": [{"collection_id": self.collection + ("g" if group else ""), "all_descendants": group}]}
        if len(filters) == 1:
            query["where"] = filters[0]
        elif len(filters) == 2:
            query["where"] = composite("AND" if self.chance(70) else "OR", *filters)
        elif filters:
            query["where"] = (composite("AND", *filters) if self.chance(60)
                              else composite("AND", filters[0], composite("OR", *filters[1:])))
        fields = self.random.sample(FIELDS, self.random.randrange(3))
        orders = [{"field": {"field_path": name}, "direction": self.one(["ASCENDING", "DESCENDING"])} for name in fields]
        if orders:
            query["order_by"] = orders
            # Now and then one value too many.
            for name in ("start_at", "end_at"):
                if self.chance(25):
                    count = min(len(orders) + self.chance(3), self.random.randint(1, 3))
                    query[name] = {"values": [self.value() for _ in range(count)], "before": self.chance(50)}
        if self.chance(30):
            query["limit"] = {"value": self.random.randrange(7)}
        if self.chance(15):
            query["offset"] = self.random.randrange(5)
        if self.chance(10):
            query["select"] = {"fields": [{"field_path": self.field()}]}
        return query

    def parent(self):
        return f"{ROOT}/{self.collection}/d{self.random.randrange(14)}" if self.chance(10) else ROOT

    def consistency(self):
        """Now and then, the time of an earlier commit, by side."""
        if self.chance(80) or not self.commits[OURS]:
            return lambda side: {}
        index = self.random.randrange(len(self.commits[OURS]))
        return lambda side: {"read_time": self.commits[side][index]}

    def mask(self):
        return {"mask": {"field_paths": self.random.sample(FIELDS + ["none"], self.random.randint(1, 2))}} if self.chance(25) else {}

    # Requests

    def learn(self, both):
        """Remembers the update times that both have given out for one document."""
        if all(status == "OK" for _, status, _ in both):
            for side, (answers, _, _) in enumerate(both):
                self.updated[side][answers[0].name] = answers[0].update_time

    def get(self):
        path, mask, at = self.path(), self.mask(), self.consistency()
        both = self.pair.ask("GetDocument", lambda side: {"name": path, **mask, **at(side)})
        if not mask:
            self.learn(both)

    def pages(self, method, fields, shows_missing=False, most=12):
        """Every page, with each side's own tokens.

        With show_missing, the emulator returns all fields, whatever the mask, and times of documents that were deleted,
        which the protocol excludes: then only names are compared, and which of them exist.

        After a full page the emulator has a token even if nothing follows, as the protocol allows: its next page is empty.
        """
        tokens = ["", ""]
        for _ in range(most):
            now = list(tokens)

            def without_token(pages):
                pages[0].pop("next_page_token", None)
                if shows_missing:
                    return [(document["name"], "create_time" in document) for document in pages[0].get("documents", [])]
                return pages

            both = self.pair.ask(
                method, lambda side: {**fields(side), "page_token": now[side]}, adapt=without_token)
            if any(status != "OK" for _, status, _ in both):
                return
            tokens = [answers[0].next_page_token for answers, _, _ in both]
            if not all(tokens):
                break
        else:
            return
        for side, token in zip(self.pair.sides, tokens):
            if not token:
                continue
            (answers, status, words) = side.ask(method, {**fields(side.index), "page_token": token})
            if side.index != OURS and status == "UNKNOWN":
                continue
            if status != "OK" or answers[0].ListFields():
                self.pair.fail(f"{method}: {NAMES[side.index]} has another page of {fields(side.index)}: {status} {words} {str(answers)[:600]}")

    def list(self):
        fields = {"parent": self.parent(), "collection_id": self.collection + ("g" if self.chance(15) else ""),
                  "page_size": self.random.randrange(6), **self.mask()}
        if self.chance(30):
            # By one field: the emulator wants an index for several.
            fields["order_by"] = self.field() + self.one(["", " desc", " asc"])
        elif self.chance(40):
            fields["show_missing"] = True
            fields.setdefault("mask", {"field_paths": []})
        at = self.consistency()
        if "show_missing" in fields and at(OURS):
            # The emulator's pages of missing documents in the past end early; its whole list is right.
            fields["page_size"] = 0
        self.pages("ListDocuments", lambda side: {**fields, **at(side)}, shows_missing="show_missing" in fields)

    def create(self):
        fields = {"parent": self.parent(), "collection_id": self.collection, "document_id": f"d{self.random.randrange(14)}",
                  "document": {"fields": self.fields()}, **self.mask()}
        self.pair.ask("CreateDocument", fields)

    def update(self):
        path, mask = self.path(), self.mask()
        condition = self.condition(path)
        request = {"document": {"name": path, "fields": self.fields()}, **mask}
        if self.chance(50):
            request["update_mask"] = {"field_paths": self.random.sample(FIELDS + ["gone"], 2)}
        both = self.pair.ask(
            "UpdateDocument", lambda side: dict(request, current_document=condition(side)) if condition else request)
        if not mask:
            self.learn(both)

    def delete(self):
        path = self.path()
        condition = self.condition(path)
        self.pair.ask("DeleteDocument", lambda side: {
            "name": path, **({"current_document": condition(side)} if condition else {})})

    def commit(self):
        writes, known = [self.write(odd) for odd in range(self.random.randint(1, 2))], None
        if self.chance(10):
            path, exists = self.path(0), self.chance(50)
            known = None if exists else VERIFIED_NOTHING
            writes = [lambda side: {"verify": path, "current_document": {"exists": exists}}] + writes[1:]
        both = self.pair.ask("Commit", lambda side: {"database": DATABASE, "writes": [write(side) for write in writes]},
                             known=known)
        if all(status == "OK" for _, status, _ in both):
            for side, (answers, _, _) in enumerate(both):
                self.commits[side] = (self.commits[side] + [answers[0].commit_time])[-6:]

    def batch_write(self):
        writes = [self.write(odd) for odd in range(2)]
        self.pair.ask("BatchWrite", lambda side: {"database": DATABASE, "writes": [write(side) for write in writes]})

    def batch_get(self):
        paths, at = [self.path() for _ in range(self.random.randint(1, 6))], self.consistency()
        # A name that is repeated is answered once.
        fields = {"database": DATABASE, "documents": paths, **self.mask()}
        self.pair.ask("BatchGetDocuments", lambda side: {**fields, **at(side)})

    def run_query(self):
        fields, at = {"parent": self.parent(), "structured_query": self.query()}, self.consistency()
        self.pair.ask("RunQuery", lambda side: {**fields, **at(side)})

    def aggregation(self):
        query = self.query()
        operations = [{"count": {}}, {"count": {"up_to": {"value": 3}}}]
        if not ({"limit", "offset"} & set(query)) or query.get("order_by"):
            # Without an order the emulator walks the summed field; a query's own order is by name.
            operations += [{"sum": {"field": {"field_path": "a"}}}, {"avg": {"field": {"field_path": "a"}}}]
        query.pop("select", None)
        chosen = self.random.sample(operations, self.random.randint(1, len(operations)))
        for index, operation in enumerate(chosen):
            if self.chance(50):
                operation["alias"] = f"n{index}"
        self.pair.ask("RunAggregationQuery", {
            "parent": ROOT, "structured_aggregation_query": {"structured_query": query, "aggregations": chosen}},
            adapt=rounded)

    def collection_ids(self):
        parent, size = self.parent(), self.random.randrange(3)
        # The root's collections are those of all that is stored.
        parent = f"{ROOT}/{self.collection}/d1" if parent == ROOT else parent
        self.pages("ListCollectionIds", lambda side: {"parent": parent, "page_size": size})

    def transaction(self):
        """Begins one, reads in it, and commits or rolls back; then uses it again."""
        read_only = self.chance(30)
        options = {"read_only": {}} if read_only else self.one([{}, {"read_write": {}}])
        kind = self.one(["Begin", "BatchGetDocuments", "RunQuery", "RunAggregationQuery"])
        query = {"from_": [{"collection_id": self.collection}]}
        if kind == "Begin":
            both = self.pair.ask("BeginTransaction", {"database": DATABASE, "options": options} if options else {"database": DATABASE})
        elif kind == "BatchGetDocuments":
            both = self.pair.ask(kind, {"database": DATABASE, "documents": [self.path()], "new_transaction": options})
        elif kind == "RunQuery":
            both = self.pair.ask(kind, {"parent": ROOT, "structured_query": query, "new_transaction": options})
        else:
            both = self.pair.ask(kind, {"parent": ROOT, "new_transaction": options, "structured_aggregation_query": {
                "structured_query": query, "aggregations": [{"count": {}}]}})
        if any(status != "OK" for _, status, _ in both):
            return
        ids = [next((answer.transaction for answer in answers if answer.transaction), b"") for answers, _, _ in both]
        for _ in range(self.random.randrange(3)):
            kind, path, structured = self.one(["get", "batch", "query", "count"]), self.path(), self.query()
            if kind == "get":
                self.pair.ask("GetDocument", lambda side: {"name": path, "transaction": ids[side]}, "in a transaction")
            elif kind == "batch":
                self.pair.ask("BatchGetDocuments", lambda side: {
                    "database": DATABASE, "documents": [path], "transaction": ids[side]}, "in a transaction")
            elif kind == "query":
                self.pair.ask("RunQuery", lambda side: {
                    "parent": ROOT, "structured_query": structured, "transaction": ids[side]}, "in a transaction")
            else:
                self.pair.ask("RunAggregationQuery", lambda side: {
                    "parent": ROOT, "transaction": ids[side], "structured_aggregation_query": {
                        "structured_query": {"from_": structured["from_"]}, "aggregations": [{"count": {}}]}}, "in a transaction")
        writes = [] if read_only else [self.write(odd) for odd in range(self.random.randrange(3))]

        def commit(side):
            return {"database": DATABASE, "transaction": ids[side], "writes": [write(side) for write in writes]}

        if self.chance(60):
            committed = self.pair.ask("Commit", commit, "of a transaction", known=None if writes else NO_WRITES)
            # One that failed may still be open.
            if any(status != "OK" for _, status, _ in committed):
                for side in self.pair.sides:
                    side.ask("Rollback", {"database": DATABASE, "transaction": ids[side.index]})
        else:
            self.pair.ask("Rollback", lambda side: {"database": DATABASE, "transaction": ids[side]})

    def partition(self):
        query = {"from_": [{"collection_id": self.collection, "all_descendants": True}],
                 "order_by": [{"field": {"field_path": "__name__"}, "direction": "ASCENDING"}]}
        # The emulator doesn't have the method, so this is of our host alone.
        ours = self.pair.sides[OURS]
        both = [ours.ask("PartitionQuery", {"parent": ROOT, "structured_query": query, "partition_count": 3})]
        # Where the points lie is the server's choice: each side's own must divide its documents without a loss.
        for side, (answers, status, words) in zip(self.pair.sides, both):
            if status != "OK":
                self.pair.fail(f"PartitionQuery of {self.collection}: {status} {words}")
                continue
            whole = side.ask("RunQuery", {"parent": ROOT, "structured_query": query})[0]
            points = [point.values[0] for point in answers[0].partitions]
            found = []
            for start, end in zip([None] + points, points + [None]):
                part = dict(query)
                if start:
                    part["start_at"] = {"values": [start], "before": True}
                if end:
                    part["end_at"] = {"values": [end], "before": True}
                found += [answer.document.name for answer in side.ask("RunQuery", {"parent": ROOT, "structured_query": part})[0]
                          if answer.document.name]
            expected = [answer.document.name for answer in whole if answer.document.name]
            if found != expected:
                self.pair.fail(f"the partitions of {self.collection} have {found}, the query {expected}")

    def round(self):
        kinds = ([self.commit] * 12 + [self.get] * 6 + [self.list] * 5 + [self.create] * 2 + [self.update] * 4
                 + [self.delete] * 2 + [self.batch_write] * 2 + [self.batch_get] * 4 + [self.run_query] * 24
                 + [self.aggregation] * 5 + [self.collection_ids] * 2 + [self.transaction] * 6 + [self.partition])
        # Documents first, for there to be something to find.
        for _ in range(8):
            self.commit()
        self.random.shuffle(kinds)
        for kind in kinds:
            kind()
