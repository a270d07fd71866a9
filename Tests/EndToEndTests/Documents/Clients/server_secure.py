"""What a server does with a key file and google-cloud-firestore, unmodified, over TLS: answers each line of its input.

server_secure.py KEYFILE PORT PROJECT token|self-signed|service
The environment has GRPC_DEFAULT_SSL_ROOTS_FILE_PATH and REQUESTS_CA_BUNDLE.
"""
import sys
import threading

import google.auth.jwt
from google.api_core import exceptions
from google.cloud import firestore
from google.cloud.firestore_v1.base_query import FieldFilter
from google.oauth2 import service_account

file, port, project, how = sys.argv[1:]
if how == "service":
    # A JWT with an audience instead of a scope.
    credentials = google.auth.jwt.Credentials.from_service_account_file(
        file, audience="https://firestore.googleapis.com/google.firestore.v1.Firestore")
else:
    credentials = service_account.Credentials.from_service_account_file(file)
    if how == "self-signed":
        credentials = credentials.with_always_use_jwt_access(True)
db = firestore.Client(project=project, credentials=credentials, client_options={"api_endpoint": f"localhost:{port}"})
items = db.collection(f"items-{how}")
heard, changed = [], threading.Condition()
watch = None


def hear(documents, changes, time):
    with changed:
        heard.append(" ".join(document.id for document in documents))
        changed.notify_all()


def until(condition):
    with changed:
        return changed.wait_for(condition, 36_000)


def perform(command, *arguments):
    global watch
    if command == "write":
        items.document(arguments[0]).set({"n": int(arguments[1]), "text": "x" * 100_000})
        return "written"
    if command == "read":
        return str(items.document(arguments[0]).get().get("n"))
    if command == "query":
        return " ".join(d.id for d in items.where(filter=FieldFilter("n", ">=", 2)).order_by("n").stream())
    if command == "listen":
        watch = items.order_by("n").on_snapshot(hear)
        until(lambda: heard)
        return heard[-1]
    if command == "hear":
        until(lambda: heard[-1] == " ".join(arguments))
        return heard[-1]
    if command == "heard":
        return heard[-1]


for line in sys.stdin:
    try:
        print(perform(*line.split()), flush=True)
    except exceptions.GoogleAPICallError as error:
        print("refused", error.grpc_status_code.name, flush=True)
    except google.auth.exceptions.RefreshError as error:
        print("refused", error.args[0].split(":")[0], flush=True)
