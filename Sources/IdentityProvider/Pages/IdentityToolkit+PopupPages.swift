import Hummingbird
import StrictJSON
import TextFormats
import UserStore

extension IdentityToolkit {
    private static let offered = 50

    /// The page that a popup or a redirect of the web SDK opens: in development a choice of accounts.
    func handlerPage(_ call: SignInCall) async throws -> Response {
        guard let provider = call.query["providerId"], !provider.isEmpty, call.query["apiKey"]?.isEmpty == false else {
            return try SignInPort.json(
                ["authEmulator": ["error": "The parameters apiKey and providerId are needed."]], status: .badRequest)
        }
        guard isDevelopment else { throw IdentityToolkitError.notFound }
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
            <p id="problem" role="alert"></p>
            """
        return Page(title: "Sign in with \(provider)", body: body, script: Self.handlerScript).response
    }

    /// The frame through which the web SDK receives the result of a popup or redirect.
    func iframePage(_ call: SignInCall) throws -> Response {
        let ancestors =
            isDevelopment
            ? "*"
            : (["'self'"] + configuration.authorizedDomains.map { "https://\($0)" }).joined(separator: " ")
        return Page(
            title: "Sign-in", body: "", script: Self.iframeScript,
            foreignScripts: ["https://apis.google.com/js/api.js"], ancestors: ancestors
        ).response
    }

    /// Passes the chosen account on: to the frame of the page that opened the popup, or to the page that redirected.
    private static let handlerScript = """

        'use strict';
        var asked = new URLSearchParams(location.search);
        var storageKey = asked.get('apiKey') + ':' + asked.get('appName');
        function finish(claims) {
          var answer = new URL(location.origin + location.pathname);
          answer.searchParams.set('providerId', asked.get('providerId'));
          answer.searchParams.set('id_token', JSON.stringify(claims));
          var authEvent = {
            type: asked.get('authType'), eventId: asked.get('eventId'), urlResponse: answer.href,
            sessionId: 'not-used', postBody: '', tenantId: asked.get('tid'), error: null
          };
          if (/popup/i.test(authEvent.type || '')) sendToOpener(authEvent);
          else if (asked.get('redirectUrl')) {
            sessionStorage['firebase:redirectEvent:' + storageKey] = JSON.stringify(authEvent);
            location.href = asked.get('redirectUrl');
          } else explain('The parameter redirectUrl is missing.');
        }
        function sendToOpener(authEvent) {
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

    private static let iframeScript = """

        'use strict';
        var asked = new URLSearchParams(location.search);
        var storageKey = asked.get('apiKey') + ':' + asked.get('appName');
        var stored = 'firebase:redirectEvent:' + storageKey;
        var parent = null;
        function send(authEvent) {
          parent.send('authEvent', {
            type: 'authEvent',
            authEvent: authEvent || { type: 'unknown', error: { code: 'auth/no-auth-event' } }
          }, function () {}, gapi.iframes.CROSS_ORIGIN_IFRAMES_FILTER);
        }
        window.addEventListener('message', function (event) {
          var message = event.data;
          if (event.origin !== location.origin || !message || message.eventType !== 'sendAuthEvent') return;
          if (message.data.storageKey !== storageKey) return;
          if (parent) send(message.data.authEvent);
          else sessionStorage[stored] = JSON.stringify(message.data.authEvent);
        });
        window.gapi_onload = function () {
          gapi.load('gapi.iframes', function () {
            parent = gapi.iframes.getContext().getParentIframe();
            parent.register('webStorageSupport', function () {
              return { status: 'ACK', webStorageSupport: true };
            }, gapi.iframes.CROSS_ORIGIN_IFRAMES_FILTER);
            var kept = null;
            try { kept = JSON.parse(sessionStorage[stored] || 'null'); } catch (e) { kept = null; }
            delete sessionStorage[stored];
            send(kept);
          });
        };

        """
}
