import Hummingbird

extension IdentityToolkit {
    /// The frame through which the web SDK receives the result of a popup or redirect.
    func iframePage(_ call: SignInCall) throws -> Response {
        let sites = configuration.authorizedDomains.map { domain in
            // Where redirects may lead. With `http`, `https` is meant, too.
            "\(Self.localNames.contains(domain) ? "http" : "https")://\(domain):*"
        }
        let ancestors = isDevelopment ? "*" : (["'self'"] + sites).joined(separator: " ")
        return Page(
            title: "Sign-in", body: "", script: Self.iframeScript,
            foreignScripts: ["https://apis.google.com/js/api.js"], ancestors: ancestors
        ).response
    }

    /// Its names must not be those of the window, such as `parent`, which gapi needs.
    private static let iframeScript = """

        'use strict';
        var asked = new URLSearchParams(location.search);
        var storageKey = asked.get('apiKey') + ':' + asked.get('appName');
        var stored = 'firebase:redirectEvent:' + storageKey;
        // Not `parent`: that is the window's, which gapi needs.
        var embedder = null;
        function send(authEvent) {
          embedder.send('authEvent', {
            type: 'authEvent',
            authEvent: authEvent || { type: 'unknown', error: { code: 'auth/no-auth-event' } }
          }, function () {}, gapi.iframes.CROSS_ORIGIN_IFRAMES_FILTER);
        }
        window.addEventListener('message', function (event) {
          var message = event.data;
          if (event.origin !== location.origin || !message || message.eventType !== 'sendAuthEvent') return;
          if (message.data.storageKey !== storageKey) return;
          if (embedder) send(message.data.authEvent);
          else sessionStorage[stored] = JSON.stringify(message.data.authEvent);
        });
        window.gapi_onload = function () {
          gapi.load('gapi.iframes', function () {
            embedder = gapi.iframes.getContext().getParentIframe();
            embedder.register('webStorageSupport', function () {
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
