"""Several processes of google-cloud-firestore and firebase-admin, unmodified, on one host: nothing is lost or done twice.

contention.py PORT PROJECT [--emulator PORT] [--seed N] [--transactions N] [--skip-operations]

First each operation of each client: all four see the same, and what they see on the emulator if there is one. Then four
processes increment one counter, move amounts between accounts, and write through batches and BulkWriters, while a fifth
listens: the sum of the accounts is the same in each of its snapshots.
"""
import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import threading
import time

arguments = argparse.ArgumentParser()
arguments.add_argument("port", type=int)
arguments.add_argument("project")
arguments.add_argument("--emulator", type=int)
arguments.add_argument("--seed", type=int, default=int(time.time()) % 1_000_000)
arguments.add_argument("--transactions", type=int, default=20, help="of each kind and process")
arguments.add_argument("--skip-operations", action="store_true")
arguments.add_argument("--role", help="what this process does, in the processes that the script starts")
arguments = arguments.parse_args()
os.environ["FIRESTORE_EMULATOR_HOST"] = f"127.0.0.1:{arguments.port}"

from google.auth.credentials import AnonymousCredentials
from google.cloud import firestore

import contention_operations

LIBRARIES = ["google", "google-async", "admin", "admin-async"]
ACCOUNTS, AMOUNT = 8, 100
NAME = f"contended{arguments.seed}"


def client(library):
    """A client as a program of the library gets it."""
    if library == "google":
        return firestore.Client(project=arguments.project)
    if library == "google-async":
        return firestore.AsyncClient(project=arguments.project)
    import firebase_admin
    from firebase_admin import credentials, firestore as admin, firestore_async

    class Emulated(credentials.Base):
        def get_credential(self):
            return AnonymousCredentials()

    if not firebase_admin._apps:
        firebase_admin.initialize_app(Emulated(), {"projectId": arguments.project})
    return admin.client() if library == "admin" else firestore_async.client()


def account(db, number):
    return db.collection(NAME).document(f"account{number}")


class Worker:
    """One process' part. Its random choices are its own, what they come to is not."""

    def __init__(self, library):
        self.library = library
        self.random = random.Random(f"{arguments.seed} {library}")
        self.created = []

    async def run(self):
        self.db = client(self.library)
        self.counter = self.db.collection(NAME).document("counter")
        if self.library.endswith("async"):
            await asyncio.gather(*[self.transact_async(part) for part in range(3)])
        else:
            threads = [threading.Thread(target=self.transact, args=(part,)) for part in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        await self.batches()
        self.bulk()
        return {"created": self.created}

    def moves(self, share):
        for number in range(arguments.transactions):
            if number % share[1] == share[0]:
                source, target = self.random.sample(range(ACCOUNTS), 2)
                yield source, target, self.random.randint(1, 30)

    def transact(self, part):
        @firestore.transactional
        def increment(transaction):
            number = self.counter.get(transaction=transaction).get("n")
            transaction.update(self.counter, {"n": number + 1})

        @firestore.transactional
        def move(transaction, source, target, amount):
            found = {d.id: d.get("amount") for d in transaction.get_all([account(self.db, source), account(self.db, target)])}
            amount = min(amount, found[f"account{source}"])
            transaction.update(account(self.db, source), {"amount": found[f"account{source}"] - amount})
            transaction.update(account(self.db, target), {"amount": found[f"account{target}"] + amount})

        for source, target, amount in self.moves((part, 2)):
            increment(self.db.transaction(max_attempts=200))
            move(self.db.transaction(max_attempts=200), source, target, amount)

    async def transact_async(self, part):
        @firestore.async_transactional
        async def increment(transaction):
            number = (await self.counter.get(transaction=transaction)).get("n")
            transaction.update(self.counter, {"n": number + 1})

        @firestore.async_transactional
        async def move(transaction, source, target, amount):
            found = {}
            async for snapshot in self.db.get_all([account(self.db, source), account(self.db, target)], transaction=transaction):
                found[snapshot.id] = snapshot.get("amount")
            amount = min(amount, found[f"account{source}"])
            transaction.update(account(self.db, source), {"amount": found[f"account{source}"] - amount})
            transaction.update(account(self.db, target), {"amount": found[f"account{target}"] + amount})

        for source, target, amount in self.moves((part, 3)):
            await increment(self.db.transaction(max_attempts=200))
            await move(self.db.transaction(max_attempts=200), source, target, amount)

    async def batches(self):
        """Increments without transactions, and moves of which both halves are increments."""
        for source, target, amount in self.moves((0, 1)):
            batch = self.db.batch()
            batch.update(self.counter, {"blind": firestore.Increment(1)})
            batch.update(account(self.db, source), {"amount": firestore.Increment(-amount)})
            batch.update(account(self.db, target), {"amount": firestore.Increment(amount)})
            batch.set(self.db.collection(NAME + "log").document(), {"by": self.library})
            await contention_operations.done(batch.commit())

    def bulk(self):
        """Documents that all processes try to create, and one counter for each."""
        writer = self.db.bulk_writer()
        writer.on_write_result(lambda reference, result, writer: self.created.append(reference.id)
                               if reference.parent.id == NAME + "once" else None)
        writer.on_write_error(lambda failure, writer: False)
        for number in range(60):
            writer.create(writer._client.collection(NAME + "once").document(f"o{number}"), {"by": self.library})
            writer.set(writer._client.collection(NAME + "each").document(f"e{number}"), {"n": firestore.Increment(1)}, merge=True)
        writer.close()


def listen():
    """Prints the sum of the accounts in each snapshot until it is told to end."""
    wrong, count, lock = [], 0, threading.Lock()

    def heard(documents, changes, time):
        nonlocal count
        total = sum(document.get("amount") for document in documents)
        with lock:
            count += 1
            if len(documents) != ACCOUNTS or total != ACCOUNTS * AMOUNT:
                wrong.append([len(documents), total])

    db = client("google")
    from google.cloud.firestore_v1.base_query import FieldFilter
    watch = db.collection(NAME).where(filter=FieldFilter("kind", "==", "account")).on_snapshot(heard)
    sys.stdin.readline()
    watch.unsubscribe()
    print(json.dumps({"snapshots": count, "wrong": wrong[:5]}))


def start(role, port=None):
    command = [sys.executable, os.path.abspath(__file__), str(port or arguments.port), arguments.project, "--role", role,
               "--seed", str(arguments.seed), "--transactions", str(arguments.transactions)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def result(process, what):
    output, _ = process.communicate("end\n", timeout=600)
    if process.returncode:
        fail(f"{what} ended with {process.returncode}")
        return None
    return json.loads(output.splitlines()[-1])


failures = 0


def fail(text):
    global failures
    failures += 1
    print("FAILED " + text, flush=True)


def expect(what, came, expected):
    if came != expected:
        fail(f"{what}: {came!r} came, {expected!r} was expected")


def operations():
    runs = {}
    for library in LIBRARIES:
        runs[library] = result(start("operations " + library), f"the operations of {library}")
        if arguments.emulator:
            runs[library + " on the emulator"] = result(
                start("operations " + library, arguments.emulator), f"the operations of {library} on the emulator")
    pairs = [(library, library + " on the emulator") for library in LIBRARIES] if arguments.emulator else []
    pairs += [("google", "admin"), ("google-async", "admin-async"), ("google", "google-async")]
    for ours, theirs in pairs:
        if runs[ours] is None or runs[theirs] is None:
            continue
        our, their = runs[ours]["lines"], runs[theirs]["lines"]
        if bool(runs[ours]["optional"]) != bool(runs[theirs]["optional"]):
            # What one of them isn't offered, it hasn't seen.
            our, their = [[line for line in lines if not line.startswith("near")] for lines in (our, their)]
        # Listeners are the synchronous clients' alone.
        for number in range(min(len(our), len(their))):
            if our[number] != their[number]:
                fail(f"{ours} sees {our[number]!r}, {theirs} sees {their[number]!r}")
        if len(our) != len(their) and ours.endswith("async") == theirs.endswith("async"):
            fail(f"{ours} sees {len(our)} things, {theirs} {len(their)}")
    for line in (runs["google"] or {}).get("lines", []):
        if "hears nothing of" in line:
            fail(line)
    for library, run in runs.items():
        for text in (run or {}).get("optional", []):
            print(f"{library} isn't offered {text[:200]}")
    print(f"{len(runs)} clients have seen {sum(len(run['lines']) for run in runs.values() if run)} things")


def contention():
    db = client("google")
    counter = db.collection(NAME).document("counter")
    counter.set({"n": 0, "blind": 0})
    for number in range(ACCOUNTS):
        account(db, number).set({"kind": "account", "amount": AMOUNT})
    listener = start("listen")
    workers = {library: start("work " + library) for library in LIBRARIES}
    # Beside them, the sums that transactions and queries see.
    sums = 0
    while any(worker.poll() is None for worker in workers.values()):
        @firestore.transactional
        def total(transaction):
            return sum(document.get("amount") for document in transaction.get_all([account(db, n) for n in range(ACCOUNTS)]))

        from google.cloud.firestore_v1.base_query import FieldFilter
        of_accounts = db.collection(NAME).where(filter=FieldFilter("kind", "==", "account"))
        expect("the sum in a read-only transaction", total(db.transaction(read_only=True)), ACCOUNTS * AMOUNT)
        expect("the sum of a query", sum(document.get("amount") for document in of_accounts.stream()), ACCOUNTS * AMOUNT)
        expect("the sum of an aggregation", of_accounts.sum("amount").get()[0][0].value, ACCOUNTS * AMOUNT)
        sums += 3
        time.sleep(0.05)
    created = []
    for library, worker in workers.items():
        created += (result(worker, library) or {}).get("created", [])
    every = arguments.transactions * len(LIBRARIES)
    stored = counter.get()
    expect("the counter of transactions", stored.get("n"), every)
    expect("the counter of batches", stored.get("blind"), every)
    expect("the batches' log", db.collection(NAME + "log").count().get()[0][0].value, every)
    expect("the sum of the accounts", sum(account(db, n).get().get("amount") for n in range(ACCOUNTS)), ACCOUNTS * AMOUNT)
    expect("what was created once", sorted(created), sorted(f"o{n}" for n in range(60)))
    expect("what each has incremented", {d.get("n") for d in db.collection(NAME + "each").stream()}, {len(LIBRARIES)})
    heard = result(listener, "the listener")
    if heard:
        expect("the snapshots with another sum", heard["wrong"], [])
        if not heard["snapshots"]:
            fail("the listener has heard nothing")
        print(f"{every} transactions of each kind, {sums} sums and {heard['snapshots']} snapshots beside them")


if arguments.role is None:
    print(f"the seed is {arguments.seed}", flush=True)
    if not arguments.skip_operations:
        operations()
    contention()
    print(f"{failures} failures")
    sys.exit(1 if failures else 0)
elif arguments.role == "listen":
    listen()
else:
    kind, library = arguments.role.split()
    if kind == "work":
        print(json.dumps(asyncio.run(Worker(library).run())))
    else:
        lines, optional = contention_operations.run(lambda: client(library), f"o{arguments.seed}{library}")
        print(json.dumps({"lines": lines, "optional": optional}))
