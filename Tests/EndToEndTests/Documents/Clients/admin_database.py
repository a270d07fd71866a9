#!/usr/bin/env python3
"""The Realtime Database by firebase-admin, unmodified: `admin_database.py DATABASE-PORT PROJECT`, against a running host in
development. Needs PyPI's firebase-admin."""
import json
import multiprocessing
import os
import queue
import sys
import urllib.request

PORT, PROJECT = sys.argv[1], sys.argv[2]
os.environ["FIREBASE_DATABASE_EMULATOR_HOST"] = f"127.0.0.1:{PORT}"
NAMESPACE = PROJECT + "-admin"
PROCESSES, EACH = 4, 10

import firebase_admin
from firebase_admin import db

failed = 0


def check(name, holds, seen=""):
    global failed
    failed += not holds
    print(("ok    " if holds else "FAIL  ") + name + ("" if holds else f"   saw: {seen!r}"), flush=True)


def start():
    # Its own credentials: the SDK sends "Bearer owner" to an emulator.
    firebase_admin.initialize_app(options={"databaseURL": f"https://{NAMESPACE}.firebaseio.com", "projectId": PROJECT})


def count(_):
    for _ in range(EACH):
        db.reference("counter").transaction(lambda value: (value or 0) + 1)


def main():
    start()
    root = db.reference()
    root.delete()
    rules = {"rules": {".read": False, ".write": False, "dinosaurs": {".indexOn": ["height"]}}}
    request = urllib.request.Request(
        f"http://127.0.0.1:{PORT}/.settings/rules.json?ns={NAMESPACE}", json.dumps(rules).encode(),
        {"Authorization": "Bearer owner"}, method="PUT")
    check("rules are uploaded", json.load(urllib.request.urlopen(request, timeout=30)) == {"status": "ok"})

    users = db.reference("users")
    users.set({"ada": {"name": "Ada", "born": 1815}, "alan": {"name": "Alan", "born": 1912}})
    check("set and get", users.get() == {"ada": {"name": "Ada", "born": 1815}, "alan": {"name": "Alan", "born": 1912}})
    users.update({"ada/born": 1816, "grace": {"name": "Grace"}, "alan": None})
    check("update", users.get() == {"ada": {"name": "Ada", "born": 1816}, "grace": {"name": "Grace"}}, users.get())
    check("shallow", users.get(shallow=True) == {"ada": True, "grace": True})
    posts = db.reference("posts")
    keys = [posts.push({"n": n}).key for n in range(3)]
    check("push", keys == sorted(keys) and list(posts.get()) == keys, keys)
    posts.child(keys[0]).delete()
    check("delete", list(posts.get()) == keys[1:])

    value, etag = users.child("ada").get(etag=True)
    changed = users.child("ada").get_if_changed(etag)
    check("get_if_changed of the same", changed[0] is False, changed)
    success, current, _ = users.child("ada").set_if_unchanged("another", {"name": "Eve"})
    check("set_if_unchanged with another etag", success is False and current == value, (success, current))
    success, _, _ = users.child("ada").set_if_unchanged(etag, {"name": "Ada L."})
    check("set_if_unchanged with its etag", success is True and users.child("ada").get() == {"name": "Ada L."})

    dinosaurs = db.reference("dinosaurs")
    dinosaurs.set({name: {"height": height} for name, height in
                   (("bruhath", 25), ("lambeo", 2.1), ("linhe", 0.6), ("ptero", 0.6), ("stego", 4), ("tricera", 3))})
    # A query changes with each call.
    def by_height(): return dinosaurs.order_by_child("height")
    tallest = list(by_height().limit_to_last(2).get())
    check("order_by_child", tallest == ["stego", "bruhath"], tallest)
    check("start_at and end_at", list(by_height().start_at(2).end_at(3).get()) == ["lambeo", "tricera"])
    check("equal_to", list(by_height().equal_to(0.6).get()) == ["linhe", "ptero"])
    check("order_by_key", list(dinosaurs.order_by_key().limit_to_first(1).get()) == ["bruhath"])
    try:
        dinosaurs.order_by_child("name").get()
        check("a query without index is refused", False)
    except Exception as error:
        check("a query without index is refused", "Index not defined" in str(error), error)

    events = queue.Queue()
    listener = db.reference("room").listen(events.put)
    first = events.get(timeout=60)
    check("listen begins with what is there", (first.event_type, first.path, first.data) == ("put", "/", None), vars(first))
    db.reference("room").update({"topic": "x", "by": "ada"})
    event = events.get(timeout=60)
    check("listen: an update", event.event_type == "patch" and event.data == {"topic": "x", "by": "ada"}, vars(event))
    db.reference("room/topic").set("y")
    event = events.get(timeout=60)
    check("listen: a change", (event.event_type, event.path, event.data) == ("put", "/topic", "y"), vars(event))
    listener.close()

    with multiprocessing.get_context("spawn").Pool(PROCESSES, start) as pool:
        pool.map(count, range(PROCESSES), 1)
    check("transactions of several processes", db.reference("counter").get() == PROCESSES * EACH,
          db.reference("counter").get())

    as_user = firebase_admin.initialize_app(
        options={"databaseURL": f"https://{NAMESPACE}.firebaseio.com", "projectId": PROJECT,
                 "databaseAuthVariableOverride": {"uid": "ada"}}, name="user")
    try:
        db.reference("users", as_user).get()
        check("an override is under the rules", False)
    except Exception as error:
        check("an override is under the rules", "Permission denied" in str(error) or "401" in str(error), error)

    print(f"{failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
