#!/usr/bin/env python3
"""firebase_admin.auth, unmodified, against a host: every call that the host supports.

    admin_auth.py AUTH-PORT PROJECT

Prints a line for each check, and exits with 1 if one failed.
"""
import base64
import hashlib
import hmac
import json
import os
import random
import string
import sys
import time
import urllib.error
import urllib.request

PORT, PROJECT = sys.argv[1], sys.argv[2]
os.environ["FIREBASE_AUTH_EMULATOR_HOST"] = f"127.0.0.1:{PORT}"
os.environ["GOOGLE_CLOUD_PROJECT"] = PROJECT

import firebase_admin  # noqa: E402
from firebase_admin import auth  # noqa: E402

firebase_admin.initialize_app(options={"projectId": PROJECT})
failed = 0


def check(name, holds, seen=""):
    global failed
    failed += not holds
    print(("ok    " if holds else "FAIL  ") + name + ("" if holds else f"   saw: {seen!r}"[:400]), flush=True)


def raises(name, kind, call, *arguments, **named):
    try:
        result = call(*arguments, **named)
        check(name, False, result)
    except kind as error:
        check(name, True)
        return error
    except Exception as error:  # noqa: BLE001
        check(name, False, error)


def client(operation, body):
    """A call of a client SDK."""
    url = f"http://127.0.0.1:{PORT}/identitytoolkit.googleapis.com/v1/accounts:{operation}?key=local"
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=36_000) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        return json.load(error)


def name(length=10):
    return "".join(random.choice(string.ascii_lowercase) for _ in range(length))


def mail():
    return f"{name()}@example.com"


def phone():
    return "+99" + "".join(random.choice(string.digits) for _ in range(10))


def sign_in(email, password="secret1"):
    return client("signInWithPassword", {"email": email, "password": password, "returnSecureToken": True})


# Users
uid, email, number = "u-" + name(), mail(), phone()
before = time.time()
user = auth.create_user(uid=uid, email=email, email_verified=True, phone_number=number, password="secret1",
                        display_name="Ada", photo_url="https://example.com/a.png", disabled=False)
check("create_user", (user.uid, user.email, user.email_verified, user.phone_number, user.display_name, user.disabled)
      == (uid, email, True, number, "Ada", False), user._data)
check("its metadata", before - 1 <= user.user_metadata.creation_timestamp / 1000 <= time.time() + 1
      and user.user_metadata.last_sign_in_timestamp is None, user._data)
check("its providers", sorted(p.provider_id for p in user.provider_data) == ["password", "phone"], user._data)
check("get_user", auth.get_user(uid).uid == uid)
check("get_user_by_email", auth.get_user_by_email(email.upper()).uid == uid)
check("get_user_by_phone_number", auth.get_user_by_phone_number(number).uid == uid)
raises("the uid is taken", auth.UidAlreadyExistsError, auth.create_user, uid=uid)
raises("the address is taken", auth.EmailAlreadyExistsError, auth.create_user, email=email)
raises("the number is taken", auth.PhoneNumberAlreadyExistsError, auth.create_user, phone_number=number)
raises("nobody has the uid", auth.UserNotFoundError, auth.get_user, "none")
raises("nobody has the address", auth.UserNotFoundError, auth.get_user_by_email, mail())
plain = auth.create_user()
check("create_user without anything", len(plain.uid) == 28)
user = auth.update_user(uid, email=(email := mail()), display_name="Grace", email_verified=False, password="secret2",
                        phone_number=auth.DELETE_ATTRIBUTE, photo_url=auth.DELETE_ATTRIBUTE)
check("update_user", (user.email, user.display_name, user.email_verified, user.phone_number, user.photo_url)
      == (email, "Grace", False, None, None), user._data)
check("the new password signs in", sign_in(email, "secret2").get("localId") == uid)
user = auth.update_user(uid, display_name=auth.DELETE_ATTRIBUTE, disabled=True)
check("update_user takes away, and disables", user.display_name is None and user.disabled, user._data)
check("a disabled user can't sign in", "USER_DISABLED" in str(sign_in(email, "secret2")))
auth.update_user(uid, disabled=False)
raises("update_user of nobody", auth.UserNotFoundError, auth.update_user, "none", display_name="x")

# Claims
auth.set_custom_user_claims(uid, {"admin": True, "shop": {"id": 7}})
check("set_custom_user_claims", auth.get_user(uid).custom_claims == {"admin": True, "shop": {"id": 7}})
token = sign_in(email, "secret2")["idToken"]
decoded = auth.verify_id_token(token)
check("verify_id_token has the claims", (decoded["uid"], decoded["admin"], decoded["shop"]) == (uid, True, {"id": 7}), decoded)
raises("claims that are too large", ValueError, auth.set_custom_user_claims, uid, {"a": "x" * 1001})
auth.set_custom_user_claims(uid, None)
check("claims are taken away", not auth.get_user(uid).custom_claims)

# Revocation
check("verify_id_token with check_revoked", auth.verify_id_token(token, check_revoked=True)["uid"] == uid)
time.sleep(1.1)
auth.revoke_refresh_tokens(uid)
raises("a revoked ID token", auth.RevokedIdTokenError, auth.verify_id_token, token, check_revoked=True)
time.sleep(1.1)
token = sign_in(email, "secret2")["idToken"]
check("a later one is good", auth.verify_id_token(token, check_revoked=True)["uid"] == uid)
auth.update_user(uid, disabled=True)
raises("a disabled user's ID token", auth.UserDisabledError, auth.verify_id_token, token, check_revoked=True)
auth.update_user(uid, disabled=False)
raises("a broken ID token", (auth.InvalidIdTokenError, ValueError), auth.verify_id_token, "x.y.z")

# Session cookies
cookie = auth.create_session_cookie(token, expires_in=3600)
decoded = auth.verify_session_cookie(cookie, check_revoked=True)
check("session cookie", decoded["uid"] == uid and decoded["exp"] - decoded["iat"] == 3600, decoded)
check("its issuer", decoded["iss"] == f"https://session.firebase.google.com/{PROJECT}")
raises("a session cookie of a minute", ValueError, auth.create_session_cookie, token, expires_in=60)
time.sleep(1.1)
auth.revoke_refresh_tokens(uid)
raises("a revoked session cookie", auth.RevokedSessionCookieError, auth.verify_session_cookie, cookie, check_revoked=True)

# Custom tokens
made = auth.create_custom_token("c-" + uid, {"role": "cook"})
seen = client("signInWithCustomToken", {"token": made.decode(), "returnSecureToken": True})
decoded = auth.verify_id_token(seen["idToken"])
check("custom token", decoded["uid"] == "c-" + uid and decoded["role"] == "cook", decoded)
check("its provider", decoded["firebase"]["sign_in_provider"] == "custom", decoded)

# Links
settings = auth.ActionCodeSettings("http://localhost:5173/back", handle_code_in_app=True)
for kind, make in (("resetPassword", auth.generate_password_reset_link), ("verifyEmail", auth.generate_email_verification_link)):
    link = make(email, settings)
    check(make.__name__, f"mode={kind}" in link and "oobCode=" in link and "continueUrl=" in link, link)
link = auth.generate_sign_in_with_email_link(email, settings)
check("generate_sign_in_with_email_link", "mode=signIn" in link, link)
raises("a link for nobody", auth.EmailNotFoundError, auth.generate_password_reset_link, mail())

# Import
people = [auth.ImportUserRecord(uid=f"i{n}-{uid}", email=mail(), email_verified=True, custom_claims={"n": n},
                                password_hash=hmac.new(b"key", b"salt" + b"imported", hashlib.sha256).digest(),
                                password_salt=b"salt",
                                provider_data=[auth.UserProvider(uid=f"g{n}-{uid}", provider_id="google.com", email=mail())])
          for n in range(3)]
seen = auth.import_users(people, hash_alg=auth.UserImportHash.hmac_sha256(b"key"))
check("import_users", (seen.success_count, seen.failure_count) == (3, 0), seen.errors)
check("an imported password signs in", sign_in(people[0].email, "imported").get("localId") == people[0].uid)
check("and after it was hashed again", sign_in(people[0].email, "imported").get("localId") == people[0].uid)
check("another one doesn't", "INVALID_PASSWORD" in str(sign_in(people[1].email, "imported2")))
check("an imported user's provider", auth.get_user(people[1].uid).provider_data[0].provider_id in ("google.com", "password"))
signer = base64.b64decode("jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==")
scrypt = auth.ImportUserRecord(
    uid="s-" + uid, email=mail(), password_salt=base64.b64decode("42xEC+ixf3L2lw=="),
    password_hash=base64.b64decode("lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ=="))
seen = auth.import_users([scrypt], hash_alg=auth.UserImportHash.scrypt(
    key=signer, salt_separator=base64.b64decode("Bw=="), rounds=8, memory_cost=14))
check("import_users with Firebase's own scrypt", seen.failure_count == 0, seen.errors)
check("its password signs in", sign_in(scrypt.email, "user1password").get("localId") == scrypt.uid)
for algorithm in (auth.UserImportHash.bcrypt(), auth.UserImportHash.pbkdf_sha1(1000), auth.UserImportHash.sha512(3),
                  auth.UserImportHash.standard_scrypt(1024, 1, 8, 64)):
    record = auth.ImportUserRecord(uid="h-" + name(), password_hash=b"\1" * 64, password_salt=b"salt")
    seen = auth.import_users([record], hash_alg=algorithm)
    check(f"import_users knows {algorithm.to_dict()['hashAlgorithm']}", seen.failure_count == (algorithm.to_dict()["hashAlgorithm"] == "BCRYPT"),
          [error.reason for error in seen.errors])
seen = auth.import_users([auth.ImportUserRecord(uid=uid, display_name="again")])
check("import_users replaces nothing by itself, or reports it", seen.success_count + seen.failure_count == 1)

# Several at once
found = auth.get_users([auth.UidIdentifier(uid), auth.EmailIdentifier(people[0].email), auth.UidIdentifier("none"),
                        auth.ProviderIdentifier("google.com", f"g2-{uid}")])
check("get_users", sorted(u.uid for u in found.users) == sorted([uid, people[0].uid, people[2].uid])
      and [i.uid for i in found.not_found] == ["none"], found)
ids, page, pages = [], auth.list_users(max_results=3), 0
while page:
    ids += [u.uid for u in page.users]
    pages += 1
    check("a page of list_users", len(page.users) <= 3) if len(page.users) > 3 else None
    page = page.get_next_page()
check("list_users: each user once, in order", ids == sorted(set(ids)) and uid in ids and pages > 2, (len(ids), pages))
exported = next(u for u in auth.list_users().iterate_all() if u.uid == uid)
check("list_users exports hashes", bool(exported.password_hash) and bool(exported.password_salt), exported._data)
auth.delete_user(plain.uid)
raises("a deleted user", auth.UserNotFoundError, auth.get_user, plain.uid)
raises("delete_user of nobody", auth.UserNotFoundError, auth.delete_user, "none")
seen = auth.delete_users([p.uid for p in people] + [scrypt.uid, "none", "c-" + uid])
check("delete_users", (seen.success_count, seen.failure_count) == (6, 0), seen.errors)
check("they are gone", not auth.get_users([auth.UidIdentifier(p.uid) for p in people]).users)

# Providers
config = auth.create_oidc_provider_config("oidc." + name(), client_id="client", issuer="https://id.example.com",
                                          display_name="ID", enabled=True)
check("create_oidc_provider_config", (config.client_id, config.issuer, config.display_name, config.enabled)
      == ("client", "https://id.example.com", "ID", True), config._data)
check("get_oidc_provider_config", auth.get_oidc_provider_config(config.provider_id).issuer == "https://id.example.com")
config = auth.update_oidc_provider_config(config.provider_id, enabled=False)
check("update_oidc_provider_config", config.enabled is False and config.display_name == "ID", config._data)
check("list_oidc_provider_configs", config.provider_id in
      [c.provider_id for c in auth.list_oidc_provider_configs().iterate_all()])
config = auth.update_oidc_provider_config(config.provider_id, client_secret="s", code_response_type=True,
                                          id_token_response_type=False)
check("the code flow", (config.code_response_type, config.id_token_response_type) == (True, False), config._data)
auth.delete_oidc_provider_config(config.provider_id)
raises("a deleted provider", auth.ConfigurationNotFoundError, auth.get_oidc_provider_config, config.provider_id)

# What isn't there
request = urllib.request.Request(
    f"http://127.0.0.1:{PORT}/identitytoolkit.googleapis.com/v2/projects/{PROJECT}/tenants", b'{"displayName":"Shop"}',
    {"Content-Type": "application/json", "Authorization": "Bearer owner"})
try:
    urllib.request.urlopen(request, timeout=36_000)
    check("tenants are refused with a sentence", False)
except urllib.error.HTTPError as error:
    check("tenants are refused with a sentence", "no tenants" in json.load(error)["error"]["message"])

auth.delete_users(ids)
print("deleted", len(ids))
sys.exit(1 if failed else 0)
