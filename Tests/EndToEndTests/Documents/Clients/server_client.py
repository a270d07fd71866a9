"""What a server does with google-cloud-firestore, unmodified, over gRPC: prints what it sees, without times and ids.

server_client.py PORT PROJECT [--in-turn]

--in-turn: without transactions at once, which may wait for each other on the official emulator for ever.
"""
import os
import sys
import threading

os.environ["FIRESTORE_EMULATOR_HOST"] = "127.0.0.1:" + sys.argv[1]

from google.api_core import exceptions
from google.cloud import firestore
from google.cloud.firestore_v1.base_query import And, FieldFilter, Or

db = firestore.Client(project=sys.argv[2])
items = db.collection("items")


def show(name, *values):
    print(name, *values, flush=True)


def ids(found):
    return [document.id for document in found]


def where(*filter):
    return items.where(filter=FieldFilter(*filter))


def refused(name, body):
    try:
        body()
        show(name, "done")
    except exceptions.GoogleAPICallError as error:
        show(name, type(error).__name__, error.grpc_status_code.name if error.grpc_status_code else "")


# Documents
a = items.document("a")
a.set({"n": 1, "s": "é", "l": [1, {"k": True}], "at": firestore.SERVER_TIMESTAMP, "none": None, "f": 1.5, "b": b"\0\1",
       "r": items.document("b"), "g": firestore.GeoPoint(35.5, 139.25)})
stored = a.get()
fields = stored.to_dict()
show("types", {name: type(value).__name__ for name, value in sorted(fields.items())})
show("values", fields["n"], fields["s"], fields["l"], fields["b"], fields["r"].path, fields["g"].latitude)
show("missing", items.document("none").get().exists)
a.update({"n": firestore.Increment(4), "l": firestore.ArrayUnion([9]), "s": firestore.DELETE_FIELD})
show("updated", a.get().get("n"), a.get().get("l"), "s" in a.get().to_dict())
a.set({"m": {"x": 1}}, merge=True)
a.update({"m.y": 2})
show("merged", sorted(a.get().get("m").items()), a.get(["n"]).to_dict())
refused("update of nothing", lambda: items.document("none").update({"x": 1}))
refused("create again", lambda: a.create({"x": 1}))
refused("stale", lambda: a.update({"x": 1}, option=db.write_option(last_update_time=stored.update_time)))
refused("delete of nothing", lambda: items.document("none").delete(option=db.write_option(exists=True)))

# Queries
for number in range(20):
    items.document(f"d{number:02}").set({"i": number, "even": number % 2 == 0, "tags": [f"t{number % 3}"], "text": f"x{number}"})
for name, query in [
    ("equal", where("i", "==", 3)), ("not equal", where("i", "!=", 3)), ("less", where("i", "<", 3)),
    ("range", where("i", ">=", 17)), ("in", where("i", "in", [1, 2, 99])), ("not in", where("i", "not-in", [1, 2])),
    ("contains", where("tags", "array_contains", "t1")),
    ("contains any", where("tags", "array_contains_any", ["t1", "t2"])), ("null", where("none", "==", None)),
    ("or", items.where(filter=Or([FieldFilter("i", "==", 1), FieldFilter("i", "==", 5)]))),
    ("and", items.where(filter=And([FieldFilter("even", "==", True), FieldFilter("i", ">", 15)]))),
    ("descending", items.order_by("i", direction="DESCENDING").limit(3)), ("offset", items.order_by("i").offset(17)),
    ("start after", items.order_by("i").start_after({"i": 16})), ("end before", items.order_by("i").end_before({"i": 2})),
    ("cursor of a document", items.order_by("i").start_at(items.document("d18").get())),
    ("by name", items.order_by("__name__").start_at([items.document("d18")])),
]:
    show(name, ids(query.stream()))
show("last", ids(items.order_by("i").limit_to_last(2).get()))
show("selected", [document.to_dict() for document in items.order_by("i").select(["i"]).limit(2).stream()])
show("aggregated", items.count().get()[0][0].value, where("i", "<", 5).sum("i").get()[0][0].value, items.avg("i").get()[0][0].value)
show("several", sorted((d.id, d.exists) for d in db.get_all([items.document("d01"), items.document("none")])))
refused("bad query", lambda: list(where("i", "in", []).stream()))

# Batches and transactions
batch = db.batch()
batch.set(items.document("b1"), {"x": 1})
batch.delete(items.document("d00"))
show("batch", len(batch.commit()), items.document("d00").get().exists)


@firestore.transactional
def add(transaction, document, by):
    number = document.get(transaction=transaction).get("n")
    transaction.update(document, {"n": number + by})
    return number + by


show("transaction", add(db.transaction(), a, 1))


def work():
    own = firestore.Client(project=db.project)
    for _ in range(5):
        while True:
            # On a busy machine an attempt may not get the lock in time; nothing was written then.
            try:
                add(own.transaction(max_attempts=50), own.document(a.path), 1)
                break
            except (exceptions.Aborted, ValueError):
                pass


threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
    if "--in-turn" in sys.argv:
        thread.join()
for thread in threads:
    thread.join()
show("contended", a.get().get("n"))


@firestore.transactional
def query_in_transaction(transaction):
    return len(list(where("i", ">=", 15).stream(transaction=transaction)))


show("query in a transaction", query_in_transaction(db.transaction(read_only=True)))
writer = db.bulk_writer()
for number in range(50):
    writer.set(items.document(f"w{number:02}"), {"w": number})
writer.close()
show("bulk", len(list(items.order_by("w").stream())))

# Listings
items.document("parent").collection("below").document("x").set({"deep": True})
show("collections", ids(db.collections()), ids(items.document("parent").collections()))
listed = ids(items.list_documents(page_size=7))
show("listed with missing", len(listed), "parent" in listed, listed == sorted(listed))
show("group", ids(db.collection_group("below").stream()))

# Listeners
seen, changed = [], threading.Condition()


def heard(documents, changes, time):
    with changed:
        seen.append((sorted(ids(documents)), [(change.type.name, change.document.id) for change in changes]))
        changed.notify_all()


def until(count):
    with changed:
        changed.wait_for(lambda: len(seen) >= count, 36_000)
        return seen[-1]


watch = where("i", ">=", 18).on_snapshot(heard)
show("first snapshot", until(1)[0])
items.document("d50").set({"i": 50})
show("added", until(2))
items.document("d50").update({"i": 51})
show("modified", until(3))
items.document("d19").update({"i": 0})
show("left", until(4))
items.document("d50").delete()
show("removed", until(5))
watch.unsubscribe()
seen.clear()
watch = a.on_snapshot(heard)
show("document", until(1)[0])
a.delete()
show("deleted", until(2))
watch.unsubscribe()
