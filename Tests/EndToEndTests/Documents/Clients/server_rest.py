"""What a server does with a key file and google-auth over REST: prints what it sees, one line for each line of its input.

server_rest.py KEYFILE FIRESTORE_URL PROJECT token|self-signed
"""
import sys

import google.auth.exceptions
import google.auth.jwt
from google.auth.transport.requests import AuthorizedSession
from google.oauth2 import service_account

file, url, project, how = sys.argv[1:]
if how == "token":
    credentials = service_account.Credentials.from_service_account_file(
        file, scopes=["https://www.googleapis.com/auth/datastore"])
else:
    credentials = google.auth.jwt.Credentials.from_service_account_file(
        file, audience="https://firestore.googleapis.com/")
session = AuthorizedSession(credentials)
document = f"{url}/v1/projects/{project}/databases/(default)/documents/kept/{how}"
for line in sys.stdin:
    try:
        if line.startswith("write"):
            answer = session.patch(document, json={"fields": {"n": {"integerValue": "1"}}})
        else:
            answer = session.get(document)
        print(answer.status_code, flush=True)
    except google.auth.exceptions.RefreshError as error:
        print("refused", error.args[0].split(":")[0], flush=True)
