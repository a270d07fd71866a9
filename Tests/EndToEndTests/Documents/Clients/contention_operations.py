"""Each operation that google-cloud-firestore and firebase-admin offer, with their synchronous and asynchronous clients.

What is seen is kept as lines, without times and ids, so that two servers and two libraries can be compared. What
server_client.py shows of the synchronous client isn't shown here again, but for what asynchronous ones do by other code.
"""
import asyncio
import datetime
import inspect
import threading

from google.api_core import exceptions
from google.cloud import firestore
from google.cloud.firestore_v1.base_query import And, FieldFilter, Or
from google.cloud.firestore_v1.base_vector_query import DistanceMeasure
from google.cloud.firestore_v1.field_path import FieldPath
from google.cloud.firestore_v1.query_profile import ExplainOptions
from google.cloud.firestore_v1.vector import Vector


async def done(result):
    """A result of either kind of client: awaited, and as a list if it is many."""
    if inspect.isasyncgen(result) or hasattr(result, "__aiter__"):
        return [item async for item in result]
    if inspect.isawaitable(result):
        return await done(await result)
    if inspect.isgenerator(result) or hasattr(result, "__next__") or type(result).__name__ == "StreamGenerator":
        return list(result)
    return result


def ordered(value):
    """Maps by their keys: servers send them in any order."""
    if isinstance(value, dict):
        return {key: ordered(value[key]) for key in sorted(value)}
    if isinstance(value, (list, tuple)):
        return type(value)(ordered(entry) for entry in value)
    return value


class Operations:
    def __init__(self, db, name):
        self.db, self.lines = db, []
        self.is_async = isinstance(db, firestore.AsyncClient)
        self.root = db.collection(name)
        self.name = name

    def show(self, *values):
        self.lines.append(" ".join(str(ordered(value)) for value in values).replace(self.name, "COLLECTION"))

    async def refused(self, title, body):
        try:
            result = await done(body())
            self.show(title, "is done", type(result).__name__)
        except exceptions.GoogleAPICallError as error:
            self.show(title, type(error).__name__, error.grpc_status_code.name if error.grpc_status_code else "")

    async def ids(self, query):
        return [document.id for document in await done(query.stream() if hasattr(query, "stream") else query)]

    async def run(self):
        for part in (self.documents, self.queries, self.aggregations, self.listings, self.transactions, self.batches,
                     self.bulk, self.vectors, self.explained, self.deletions):
            await part()
        if not self.is_async:
            self.alone()
        return self.lines

    async def documents(self):
        a = self.root.document("a")
        result = await done(a.create({"n": 1, "m": {"x": {"y": 1}}, "l": [1, 2], "é": "ü", "v": Vector([1.0, 2.0])}))
        self.show("created", bool(result.update_time))
        await self.refused("create again", lambda: a.create({"n": 2}))
        snapshot = await done(a.get())
        self.show("got", snapshot.id, snapshot.exists, sorted(snapshot.to_dict()), snapshot.get("m.x.y"),
                  snapshot.create_time == snapshot.update_time, bool(snapshot.read_time))
        self.show("masked", (await done(a.get(field_paths=["m.x", "l", "none"]))).to_dict())
        await done(a.set({"m": {"z": 2}, "s": "new"}, merge=True))
        await done(a.set({"m": {"x": {"w": 3}}, "n": 9, "s": "not merged"}, merge=["m.x.w", "n"]))
        self.show("merged", sorted((await done(a.get())).to_dict()["m"].items()), (await done(a.get())).get("s"), (await done(a.get())).get("n"))
        await done(a.update({"m.x.y": firestore.DELETE_FIELD, "m.k": [True, None, 1.5], "l": firestore.ArrayRemove([1]),
                             "n": firestore.Increment(2.5), "top": firestore.Maximum(7), "low": firestore.Minimum(-7),
                             FieldPath("é").to_api_repr(): "ä"}))
        stored = await done(a.get())
        self.show("updated", sorted(stored.get("m").items()), stored.get("l"), stored.get("n"), stored.get("top"), stored.get("low"),
                  stored.to_dict()["é"], stored.create_time < stored.update_time)
        await self.refused("update of nothing", lambda: self.root.document("none").update({"x": 1}))
        await self.refused("stale update", lambda: a.update({"n": 1}, option=self.db.write_option(last_update_time=snapshot.update_time)))
        await self.refused("fresh update", lambda: a.update({"n": 1}, option=self.db.write_option(last_update_time=stored.update_time)))
        await self.refused("delete of nothing", lambda: self.root.document("none").delete(option=self.db.write_option(exists=True)))
        await self.refused("stale delete", lambda: a.delete(option=self.db.write_option(last_update_time=stored.update_time)))
        time, made = await done(self.root.add({"added": True, "at": firestore.SERVER_TIMESTAMP}))
        self.show("added", len(made.id), (await done(made.get())).get("added"), abs((await done(made.get())).get("at") - time) < datetime.timedelta(seconds=5))
        await done(made.delete())
        past = (await done(a.get())).read_time
        await done(a.set({"n": 1000}))
        self.show("now and before", (await done(a.get())).get("n"), (await done(a.get(read_time=past))).get("n"))
        await done(a.delete())
        self.show("deleted", (await done(a.get())).exists, (await done(a.get(read_time=past))).exists)
        for number in range(12):
            await done(self.root.document(f"q{number:02}").set({
                "i": number, "k": number % 3, "tags": [f"t{number % 4}"], "m": {"x": -number}, "f": number / 4,
                "maybe": None if number % 5 == 0 else float("nan") if number % 5 == 1 else number}))
        await done(self.root.document("q03").collection(self.name + "below").document("x").set({"deep": 1, "k": 0}))
        await done(self.root.document("missing").collection(self.name + "below").document("y").set({"deep": 2, "k": 1}))
        found = await done(self.db.get_all([self.root.document(id) for id in ("q00", "none", "q01")], field_paths=["i"]))
        self.show("get all", sorted((document.id, document.to_dict()) for document in found))

    async def queries(self):
        root, F = self.root, FieldFilter
        for title, query in {
            "==": F("k", "==", 1), "!=": F("k", "!=", 1), "<": F("i", "<", 2), "<=": F("i", "<=", 2), ">": F("i", ">", 9),
            ">=": F("i", ">=", 9), "in": F("i", "in", [1, 5, 99]), "not-in": F("k", "not-in", [0, 1]),
            "array_contains": F("tags", "array_contains", "t2"), "array_contains_any": F("tags", "array_contains_any", ["t0", "t3"]),
            "null": F("maybe", "==", None), "not null": F("maybe", "!=", None), "nan": F("maybe", "==", float("nan")),
            "not nan": F("maybe", "!=", float("nan")), "dotted": F("m.x", "<", -9),
            "or": Or([F("i", "==", 1), And([F("k", "==", 2), F("i", ">", 7)])]),
            "and of or": And([F("k", "==", 0), Or([F("i", "<", 4), F("i", ">", 8)])]),
            "by name": F("__name__", ">=", root.document("q10")), "names in": F("__name__", "in", [root.document("q01"), root.document("zz")]),
        }.items():
            self.show(title, await self.ids(root.where(filter=query)))
        ordered = root.order_by("k").order_by("i", direction=firestore.Query.DESCENDING)
        document = await done(root.document("q05").get())
        for title, query in {
            "two orders": ordered, "limit and offset": ordered.offset(2).limit(3), "start at": ordered.start_at({"k": 1, "i": 7}),
            "start after": ordered.start_after({"k": 1, "i": 7}), "end at": ordered.end_at({"k": 1, "i": 7}),
            "end before": ordered.end_before([1, 7]), "prefix cursor": ordered.start_at({"k": 2}),
            "start at a document": ordered.start_at(document), "end before a document": ordered.end_before(document),
            "by name after": root.order_by("__name__").start_after(document).limit(2),
        }.items():
            self.show(title, await self.ids(query))
        self.show("limit to last", [d.id for d in await done(ordered.limit_to_last(4).get())],
                  [d.id for d in await done(ordered.end_before(document).limit_to_last(2).get())])
        self.show("selected", [d.to_dict() for d in await done(root.where(filter=F("i", "<", 2)).order_by("i").select(["m.x", "k"]).stream())],
                  [d.to_dict() for d in await done(root.order_by("i").select(["__name__"]).limit(1).get())])
        group = self.db.collection_group(self.name + "below")
        self.show("group", await self.ids(group), await self.ids(group.where(filter=F("k", "==", 1))),
                  await self.ids(group.order_by("deep", direction="DESCENDING")))
        self.show("collection get", len(await done(root.get())), len(await done(root.limit(3).get())))
        await self.refused("two array contains", lambda: root.where(filter=F("tags", "array_contains", "a")).where(
            filter=F("k", "array_contains", 1)).get())
        await self.refused("a broken cursor", lambda: root.where(filter=F("__name__", ">", root.document("a"))).limit(-1).get())

    async def aggregations(self):
        root = self.root.where(filter=FieldFilter("i", "<", 6))
        for query in (root.count(alias="c"), root.sum("i", alias="s"), root.avg("f", alias="a"),
                      root.count(alias="c").sum("i", alias="s").avg("none", alias="n"), self.root.limit(5).count(),
                      self.db.collection_group(self.name + "below").count(alias="g")):
            result = (await done(query.get()))[0]
            self.show("aggregated", [(part.alias if part.alias and not part.alias.startswith("field") else "", part.value) for part in sorted(result, key=lambda part: part.alias)])
        self.show("streamed", [[part.value for part in result] for result in await done(root.count().stream())])

    async def listings(self):
        self.show("collections", [c.id for c in await done(self.root.document("q03").collections())],
                  self.name in [c.id for c in await done(self.db.collections())])
        listed = [d.id for d in await done(self.root.list_documents(page_size=5))]
        self.show("documents", listed == sorted(listed), "missing" in listed, len(listed))
        group = self.db.collection_group(self.name + "below")
        try:
            parts = await done(group.get_partitions(3))
            found = []
            for part in parts:
                found += await self.ids(part.query())
            self.show("partitions", found)
        except exceptions.MethodNotImplemented:
            # The emulator has none.
            self.show("partitions", await self.ids(group.order_by("__name__")))

    async def transactions(self):
        document = self.root.document("t")
        await done(document.set({"n": 1}))
        transactional = firestore.async_transactional if self.is_async else firestore.transactional
        root = self.root

        async def body(transaction):
            number = (await done(document.get(transaction=transaction))).get("n")
            # AsyncTransaction's own get_all and get(query) await what can't be awaited, as of 2.34.
            both, query = [document, root.document("none")], root.where(filter=FieldFilter("i", ">", 8))
            if self.is_async:
                many = await done(self.db.get_all(both, transaction=transaction))
                queried = await done(query.stream(transaction=transaction))
            else:
                many, queried = await done(transaction.get_all(both)), await done(transaction.get(query))
            counted = (await done(root.count().get(transaction=transaction)))[0][0].value
            transaction.update(document, {"n": number + 1})
            transaction.create(root.document("t2"), {"n": number})
            transaction.set(root.document("t3"), {"n": number}, merge=True)
            transaction.delete(root.document("t4"))
            return number, sorted(d.exists for d in many), len(queried), counted

        self.show("transaction", await self.in_transaction(body, self.db.transaction()), (await done(document.get())).get("n"))
        for id in ("t2", "t3"):
            await done(root.document(id).delete())

        async def fails(transaction):
            transaction.set(document, {"n": 77})
            raise ValueError("the body fails")

        try:
            await self.in_transaction(fails, self.db.transaction())
        except ValueError as error:
            self.show("rolled back", error, (await done(document.get())).get("n"))

        async def read(transaction):
            return (await done(document.get(transaction=transaction))).get("n")

        self.show("read only", await self.in_transaction(read, self.db.transaction(read_only=True)))
        past = (await done(document.get())).read_time
        await done(document.update({"n": 50}))
        self.show("query in the past", [d.get("n") for d in await done(
            root.where(filter=FieldFilter("n", ">", 0)).get(read_time=past)) if d.id == "t"])

        await done(document.delete())

    async def in_transaction(self, body, transaction):
        if self.is_async:
            return await firestore.async_transactional(body)(transaction)

        def run(transaction):
            # The synchronous client's calls never wait for the loop.
            step = body(transaction)
            try:
                step.send(None)
            except StopIteration as end:
                return end.value
            raise RuntimeError("a synchronous client waited")

        return firestore.transactional(run)(transaction)

    async def batches(self):
        batch = self.db.batch()
        batch.create(self.root.document("b1"), {"x": 1})
        batch.set(self.root.document("b2"), {"x": firestore.SERVER_TIMESTAMP, "l": firestore.ArrayUnion([1])})
        batch.update(self.root.document("q00"), {"b": firestore.Increment(3)})
        batch.delete(self.root.document("b3"))
        self.show("batch", len(await done(batch.commit())), (await done(self.root.document("q00").get())).get("b"))
        failing = self.db.batch()
        failing.set(self.root.document("b4"), {})
        failing.create(self.root.document("b1"), {})
        await self.refused("a batch with what exists", failing.commit)
        self.show("nothing of it", (await done(self.root.document("b4").get())).exists)
        for id in ("b1", "b2"):
            await done(self.root.document(id).delete())

    async def bulk(self):
        """A BulkWriter of either client is synchronous."""
        writer = self.db.bulk_writer()
        done_ids, failed = [], []
        writer.on_write_result(lambda reference, result, writer: done_ids.append(reference.id))
        writer.on_write_error(lambda failure, writer: failed.append((failure.operation.reference.id, failure.code)) and False)
        for number in range(45):
            writer.create(self.root.document(f"k{number:02}"), {"k": "bulk"})
        writer.create(self.root.document("q00"), {})
        writer.update(self.root.document("k-none"), {"x": 1})
        writer.set(self.root.document("k99"), {"k": "bulk"}, merge=True)
        writer.flush()
        for number in range(45):
            writer.delete(self.root.document(f"k{number:02}"))
        writer.delete(self.root.document("k99"))
        writer.close()
        self.show("bulk", len(done_ids), sorted(failed), len(await self.ids(self.root.where(filter=FieldFilter("k", "==", "bulk")))))

    async def vectors(self):
        for number in range(4):
            await done(self.root.document(f"v{number}").set({"at": Vector([float(number), 1.0])}))
        try:
            query = self.root.find_nearest("at", Vector([2.0, 1.0]), limit=2, distance_measure=DistanceMeasure.EUCLIDEAN)
            self.show("nearest", [document.id for document in await done(query.get())])
            near = self.root.find_nearest("at", Vector([2.0, 1.0]), limit=9, distance_measure=DistanceMeasure.EUCLIDEAN,
                                          distance_threshold=1.0, distance_result_field="far")
            self.show("near", [(document.id, document.get("far")) for document in await done(near.get())])
        except (exceptions.MethodNotImplemented, exceptions.InvalidArgument, exceptions.InternalServerError) as error:
            self.optional = getattr(self, "optional", []) + [f"find_nearest: {error}"]
        for number in range(4):
            await done(self.root.document(f"v{number}").delete())

    async def explained(self):
        try:
            stream = self.root.limit(3).stream(explain_options=ExplainOptions(analyze=True))
            found = [d async for d in stream] if self.is_async else list(stream)
            metrics = stream.get_explain_metrics()
            if inspect.isawaitable(metrics):
                metrics = await metrics
            if metrics.execution_stats.results_returned != len(found):
                self.show("explained", metrics.execution_stats.results_returned, "results of", len(found))
        except Exception as error:
            # The emulator has none either.
            self.optional = getattr(self, "optional", []) + [f"explain: {type(error).__name__} {error}"]

    async def deletions(self):
        """Everything below a document, and then a collection with all below."""
        try:
            self.show("recursive", [d.reference.path for d in await done(self.root.recursive().stream()) if "below" in d.reference.path])
            self.show("deleted below", await done(self.db.recursive_delete(self.root.document("missing"), bulk_writer=self.db.bulk_writer())))
            self.show("deleted all", await done(self.db.recursive_delete(self.root, bulk_writer=self.db.bulk_writer())))
        except exceptions.GoogleAPICallError as error:
            self.show("recursive delete:", type(error).__name__)
        self.show("left", await self.ids(self.root), await self.ids(self.db.collection_group(self.name + "below")))

    def alone(self):
        """What synchronous clients alone have: chunks, and listeners of documents, queries and groups, each through an insertion, a change and a removal."""
        for number in range(6):
            self.root.document(f"c{number}").set({"c": number})
        # As recursive_delete pages.
        self.show("chunks", [len(chunk) for chunk in self.root.order_by("c")._chunkify(4)])
        below = self.root.document("parent").collection(self.name + "heard")
        one = below.document("one")
        for title, target in {
            "document": one, "collection": below, "filtered": below.where(filter=FieldFilter("n", ">", 1)),
            "limited": below.order_by("n", direction="DESCENDING").limit(2),
            "group": self.db.collection_group(self.name + "heard"),
        }.items():
            seen, news = [], threading.Condition()

            def heard(documents, changes, time):
                with news:
                    seen.append((sorted((d.id, (d.to_dict() or {}).get("n")) for d in documents if d.exists),
                                 [(change.type.name, change.document.id) for change in changes]))
                    news.notify_all()

            def until(expected):
                with news:
                    if not news.wait_for(lambda: seen and seen[-1][0] == expected, 60):
                        self.show(title, "hears nothing of", expected, "but", seen[-1:])

            watch = target.on_snapshot(heard)
            until([])
            one.set({"n": 2})
            until([("one", 2)])
            one.update({"n": 3})
            until([("one", 3)])
            others = below.document("two"), below.document("three")
            if title != "document":
                for number, other in enumerate(others):
                    other.set({"n": 5 + number})
                until([("three", 6), ("two", 5)] if title == "limited" else [("one", 3), ("three", 6), ("two", 5)])
                others[0].delete()
                until([("one", 3), ("three", 6)])
                others[1].delete()
            one.delete()
            until([])
            # How often a state is reported is the server's choice; documents report no changes alike.
            states = []
            for state, _ in seen:
                if not states or states[-1] != state:
                    states.append(state)
            self.show(title, "heard", states)
            watch.unsubscribe()


def run(make, name):
    """Runs all operations with a client, which is made within the loop that it belongs to.

    The lines that were seen, and what isn't offered and may be missing."""
    async def all():
        operations = Operations(make(), name)
        return await operations.run(), getattr(operations, "optional", [])

    return asyncio.run(all())
