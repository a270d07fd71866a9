"""What a web client and a verifying server do with a production host that issues its own tokens: answers each line.

own_issuer.py AUTH-PORT FIRESTORE-PORT PROJECT CERTIFICATE
The environment has REQUESTS_CA_BUNDLE.
"""
import json
import ssl
import sys
import urllib.error
import urllib.request

import google.auth.jwt
import google.auth.transport.requests
import requests
from google.oauth2 import id_token

auth, firestore, project, certificate = sys.argv[1:]
trust = ssl.create_default_context(cafile=certificate)
transport = google.auth.transport.requests.Request()
CERTIFICATES = f"https://localhost:{auth}/robot/v1/metadata/x509/securetoken@system.gserviceaccount.com"
tokens, refreshes = {}, {}


def send(url, body=None, token=None):
    request = urllib.request.Request(url, None if body is None else json.dumps(body).encode(), {
        "Content-Type": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})})
    try:
        with urllib.request.urlopen(request, timeout=120, context=trust) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def sign_in(operation, name):
    body = {"email": f"{name}@example.com", "password": "secret-1", "returnSecureToken": True}
    status, answer = send(f"https://localhost:{auth}/identitytoolkit.googleapis.com/v1/accounts:{operation}?key=web", body)
    if status != 200:
        return answer["error"]["message"]
    tokens[name], refreshes[name] = answer["idToken"], answer["refreshToken"]
    return answer["localId"]


def perform(command, name):
    if command in ("signUp", "signInWithPassword"):
        return sign_in(command, name)
    if command == "refresh":
        status, answer = send(f"https://localhost:{auth}/securetoken.googleapis.com/v1/token?key=web",
                              {"grantType": "refresh_token", "refreshToken": refreshes[name]})
        tokens[name] = answer.get("id_token", "")
        return str(status)
    if command == "keep":
        tokens["kept"] = tokens[name]
        return "kept"
    if command == "verify":
        # As a server that is no Google's does it; it fetches the certificates each time.
        return id_token.verify_token(tokens[name], transport, audience=project, certs_url=CERTIFICATES)["sub"]
    if command == "key":
        return google.auth.jwt.decode_header(tokens[name])["kid"]
    if command == "read":
        uid = google.auth.jwt.decode(tokens[name], verify=False)["sub"]
        status, answer = send(
            f"https://localhost:{firestore}/v1/projects/{project}/databases/(default)/documents/people/{uid}",
            token=tokens[name])
        return str(status)
    if command == "keys":
        return str(len(requests.get(CERTIFICATES).json()))
    if command == "unsigned":
        payload = tokens[name].split(".")[1]
        tokens[name] = f"eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0.{payload}."
        return "unsigned"
    raise ValueError(command)


for line in sys.stdin:
    try:
        print(perform(*line.split()), flush=True)
    except ValueError as error:
        print("refused", str(error)[:60].replace("\n", " "), flush=True)
