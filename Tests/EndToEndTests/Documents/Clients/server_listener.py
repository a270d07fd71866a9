"""Listens to a collection with google-cloud-firestore, unmodified, and prints each snapshot: the ids with their numbers.

server_listener.py PORT PROJECT
"""
import os
import sys
import threading

os.environ["FIRESTORE_EMULATOR_HOST"] = "127.0.0.1:" + sys.argv[1]

from google.cloud import firestore


def heard(documents, changes, time):
    print(" ".join(sorted(f"{document.id}={document.get('n')}" for document in documents)), flush=True)


watch = firestore.Client(project=sys.argv[2]).collection("heard").on_snapshot(heard)
threading.Event().wait()
