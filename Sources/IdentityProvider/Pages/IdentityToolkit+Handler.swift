import HTTPTypes
import Hummingbird
import StrictJSON
import TextFormats
import UserStore

/// The page that a popup or a redirect of the web SDK opens: in development a choice of accounts, also for apps, in
/// production the way to the provider and back.
extension IdentityToolkit {
    private static let offered = 50

    func handlerPage(_ call: SignInCall) async throws -> Response {
        if !isDevelopment, call.query["providerId"] == nil, call.query["apiKey"] == nil { return returnPage(call) }
        guard let provider = call.query["providerId"], !provider.isEmpty, call.query["apiKey"]?.isEmpty == false else {
            return try SignInPort.json(
                ["authEmulator": ["error": "The parameters apiKey and providerId are needed."]], status: .badRequest)
        }
        // The page leads there in the end.
        if let address = call.query["redirectUrl"], !address.isEmpty {
            guard let address = WebAddress(address), isAuthorized(address) else {
                return Page.failure(
                    "This site can't sign in here.",
                    hint: "redirectUrl isn't a web address, or its site is not among auth.authorizedDomains.")
            }
        }
        return isDevelopment
            ? try await choicePage(provider, call) : try await departurePage(provider, call)
    }

    /// The page of this host that providers send browsers to.
    func handlerAddress(_ call: SignInCall) -> String {
        (configuration.publicAddress ?? call.origin.base) + "/emulator/auth/handler"
    }

    /// The parameters that were checked, for the page's script: of repeated ones it might read others.
    private func asked(_ call: SignInCall) -> String {
        let fields = call.query.sorted { $0.key < $1.key }
            .map { "\(PercentEncoding.encoded($0.key))=\(PercentEncoding.encoded($0.value))" }
        return Page.escaped(fields.joined(separator: "&"))
    }

    // MARK: Development

    private func choicePage(_ provider: String, _ call: SignInCall) async throws -> Response {
        let known = try await users.read { try $0.identities(of: provider, limit: Self.offered) }
        let accounts = known.map { identity in
            var claims: JSONObject = ["sub": .string(identity.rawID), "email_verified": true]
            claims["email"] = identity.email.map(JSONValue.string)
            claims["name"] = identity.displayName.map(JSONValue.string)
            claims["picture"] = identity.photoURL.map(JSONValue.string)
            claims["screen_name"] = identity.screenName.map(JSONValue.string)
            let json = String(decoding: (try? JSONValue.object(claims).serialized()) ?? [], as: UTF8.self)
            let name = identity.displayName ?? identity.email ?? identity.rawID
            return "<li><button type=\"button\" data-claims=\"\(Page.escaped(json))\">\(Page.escaped(name))"
                + " <span class=\"hint\">\(Page.escaped(identity.email ?? ""))</span></button></li>"
        }
        let body = """
            <h1>Sign in with \(Page.escaped(provider))</h1>
            <p class="hint">This is a development host: nothing is sent to the provider.</p>
            <ul id="accounts">\(accounts.joined(separator: "\n"))</ul>
            <form id="other">
            <label for="email">Email address of another account</label>
            <input id="email" type="email">
            <label for="name">Name</label>
            <input id="name">
            <button>Sign in</button>
            </form>
            <p id="problem" role="alert" data-asked="\(asked(call))"></p>
            """
        return Page(
            title: "Sign in with \(provider)", body: body, script: Self.resultScript + Self.choiceScript
        ).response
    }

    // MARK: Production

    /// Leads to the provider. What comes back is for the window that has left, which keeps a secret for it.
    private func departurePage(_ provider: String, _ call: SignInCall) async throws -> Response {
        let provider = provider.lowercased()
        guard let config = try await providers.config(provider), config.isEnabled else {
            return Page.failure(
                "Sign-in with \(provider) is not possible here.", hint: "auth.providers has no such provider.")
        }
        let endpoint: String?
        do { endpoint = try await providers.authorizationAddress(of: config) } catch {
            return Page.failure(
                "\(provider) can't be reached.", hint: "Close this window and sign in again.",
                status: .serviceUnavailable)
        }
        guard let endpoint = endpoint.flatMap({ WebAddress($0) }) else {
            return Page.failure(
                "Sign-in with \(provider) is not possible with a browser.",
                hint:
                    "Its discovery document has no authorization_endpoint, or the provider no \"authorize\" in auth.providers."
            )
        }
        let request = AuthorizationRequest(config, at: endpoint, handler: handlerAddress(call), call)
        let body = """
            <p id="problem" role="alert" data-address="\(Page.escaped(request.address))" \
            data-asked="\(asked(call))" data-nonce="\(request.hasNonce)" \
            data-code="\(config.usesCode)">Going on to \(Page.escaped(provider))</p>
            """
        return Page(title: "Sign-in", body: body, script: Self.departureScript).response
    }

    /// What the provider answers is in the fragment, which only the browser sees, or in a form.
    private func returnPage(_ call: SignInCall) -> Response {
        let names = [
            ("state", "state"), ("idToken", "id_token"), ("code", "code"), ("user", "user"), ("error", "error"),
        ]
        let fields = names.compactMap { name, parameter in
            call[name].map { "\(parameter)=\(PercentEncoding.encoded($0))" }
        }
        let body = """
            <p id="problem" role="alert" data-answer="\(Page.escaped(fields.joined(separator: "&")))">One moment</p>
            """
        return Page(title: "Sign-in", body: body, script: Self.resultScript + Self.returnScript).response
    }

    // MARK: Scripts

    /// Passes a result on: to the frame of the page that opened the popup, or to the page that redirected.
    private static let resultScript = """

        'use strict';
        function pass(asked, fields, error) {
          var storageKey = asked.get('apiKey') + ':' + asked.get('appName');
          var answer = new URL(location.origin + location.pathname);
          Object.keys(fields).forEach(function (name) { answer.searchParams.set(name, fields[name]); });
          var authEvent = {
            type: asked.get('authType'), eventId: asked.get('eventId'), urlResponse: answer.href,
            sessionId: 'not-used', postBody: '', tenantId: asked.get('tid'), error: error
          };
          if (/popup/i.test(authEvent.type || '')) sendToOpener(storageKey, authEvent);
          else if (asked.get('redirectUrl')) {
            sessionStorage['firebase:redirectEvent:' + storageKey] = JSON.stringify(authEvent);
            location.href = asked.get('redirectUrl');
          } else explain('The parameter redirectUrl is missing.');
        }
        function sendToOpener(storageKey, authEvent) {
          var frames = window.opener ? window.opener.frames : [];
          for (var i = 0; i < frames.length; i++) {
            try {
              var frame = new URL(frames[i].location.href);
              if (frame.origin !== location.origin || frame.pathname !== '/emulator/auth/iframe') continue;
              var of = frame.searchParams;
              if (of.get('apiKey') + ':' + of.get('appName') !== storageKey) continue;
              frames[i].postMessage(
                { eventType: 'sendAuthEvent', data: { storageKey: storageKey, authEvent: authEvent } },
                location.origin);
              return;
            } catch (e) { /* a frame of another site */ }
          }
          explain('The page that opened this window is gone. Close the window and sign in again.');
        }
        function explain(text) { document.getElementById('problem').textContent = text; }

        """

    private static let choiceScript = """
        var asked = new URLSearchParams(document.getElementById('problem').dataset.asked);
        // Where the SDKs of Android and iOS wait. Any app could wait there: only development leads there.
        function appAddress(fields) {
          var result = {
            authType: asked.get('authType') || '', eventId: asked.get('eventId') || '',
            link: location.origin + location.pathname + '?' + new URLSearchParams(fields)
          };
          var android = asked.get('apn') || '', client = asked.get('clientId'), app = asked.get('appId') || '';
          if (/^[A-Za-z0-9_.]+$/.test(android)) {
            return 'intent://firebase.auth/#Intent;scheme=genericidp;package=' + android + ';'
              + Object.keys(result).map(function (name) {
                return 'S.' + name + '=' + encodeURIComponent(result[name]) + ';';
              }).join('') + 'B.encryptionEnabled=false;end;';
          }
          var scheme = client ? client.split('.').reverse().join('.') : 'app-' + app.replace(/:/g, '-');
          // With a dot or a hyphen: a scheme of an app, and no script.
          if (!asked.get('ibi') || !/^[a-z][a-z0-9]*[.-][a-z0-9.-]+$/i.test(scheme)) return null;
          return scheme + '://firebaseauth/link?deep_link_id='
            + encodeURIComponent(location.origin + '/__/auth/callback?' + new URLSearchParams(result));
        }
        function finish(claims) {
          var fields = { providerId: asked.get('providerId'), id_token: JSON.stringify(claims) };
          var app = appAddress(fields);
          if (app) location.replace(app);
          else pass(asked, fields, null);
        }
        document.getElementById('accounts').addEventListener('click', function (event) {
          var button = event.target.closest('button');
          if (button) finish(JSON.parse(button.dataset.claims));
        });
        document.getElementById('other').addEventListener('submit', function (event) {
          event.preventDefault();
          var id = '';
          crypto.getRandomValues(new Uint32Array(5)).forEach(function (n) { id += n; });
          var claims = { sub: id.slice(0, 28), email_verified: true };
          var email = document.getElementById('email').value, name = document.getElementById('name').value;
          if (email) claims.email = email;
          if (name) claims.name = name;
          finish(claims);
        });

        """

    /// The provider puts the nonce's hash into the token: who sees the token can't know the nonce.
    private static let departureScript = """

        'use strict';
        function hexadecimal(bytes) {
          return Array.from(bytes, function (b) { return b.toString(16).padStart(2, '0'); }).join('');
        }
        function secret() { return hexadecimal(crypto.getRandomValues(new Uint8Array(24))); }
        var page = document.getElementById('problem');
        var state = secret(), nonce = secret(), verifier = secret();
        function hash(text) {
          return crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
            .then(function (digest) { return new Uint8Array(digest); });
        }
        function base64URL(bytes) {
          return btoa(String.fromCharCode.apply(null, bytes)).replace(/\\+/g, '-').replace(/\\//g, '_').replace(/=/g, '');
        }
        if (!crypto.subtle) page.textContent = 'Sign-in needs https.';
        else Promise.all([hash(nonce), hash(verifier)]).then(function (hashes) {
          sessionStorage['functions-host:sign-in:' + state] =
            JSON.stringify({ asked: page.dataset.asked, nonce: nonce, verifier: verifier });
          var address = new URL(page.dataset.address);
          address.searchParams.set('state', state);
          if (page.dataset.nonce === 'true') address.searchParams.set('nonce', hexadecimal(hashes[0]));
          if (page.dataset.code === 'true') {
            address.searchParams.set('code_challenge', base64URL(hashes[1]));
            address.searchParams.set('code_challenge_method', 'S256');
          }
          location.replace(address.href);
        });

        """

    private static let returnScript = """
        // Facebook has a fragment beside the query.
        var answers = [document.getElementById('problem').dataset.answer, location.hash.slice(1), location.search]
          .map(function (text) { return new URLSearchParams(text); });
        var answer = answers.find(function (one) { return one.get('state'); }) || answers[0];
        var key = 'functions-host:sign-in:' + answer.get('state');
        var kept = sessionStorage[key];
        delete sessionStorage[key];
        history.replaceState(null, '', location.pathname);
        if (!kept) explain('This sign-in was not begun in this window. Close the window and sign in again.');
        else {
          kept = JSON.parse(kept);
          var asked = new URLSearchParams(kept.asked);
          var fields = { providerId: asked.get('providerId'), nonce: kept.nonce };
          if (answer.get('id_token')) fields.id_token = answer.get('id_token');
          if (answer.get('access_token')) fields.access_token = answer.get('access_token');
          if (answer.get('user')) fields.user = answer.get('user');
          if (answer.get('code')) {
            fields.code = answer.get('code');
            fields.code_verifier = kept.verifier;
          }
          var code = !answer.get('error') ? null
            : answer.get('error') === 'access_denied' || /cancel/.test(answer.get('error')) ? 'auth/user-cancelled'
            : 'auth/invalid-credential';
          pass(asked, fields, code && { code: code, message: answer.get('error') });
        }

        """
}
