"""Listens to `room` of the Realtime Database with firebase-admin, unmodified, and prints each event.

admin_database_listener.py PORT PROJECT
"""
import json
import os
import sys
import threading

os.environ["FIREBASE_DATABASE_EMULATOR_HOST"] = "127.0.0.1:" + sys.argv[1]

import firebase_admin
from firebase_admin import db


def heard(event):
    print(event.event_type, event.path, json.dumps(event.data, sort_keys=True), flush=True)


project = sys.argv[2]
firebase_admin.initialize_app(
    options={"databaseURL": f"https://{project}-default-rtdb.firebaseio.com", "projectId": project})
db.reference("room").listen(heard)
threading.Event().wait()
