import HTTPTypes
import Hummingbird
import StrictJSON
import TextFormats
import UserStore

extension IdentityToolkit {
    func respond(with page: SignInRoute.Page, _ call: SignInCall) async throws -> Response {
        switch page {
        case .action: try await actionPage(call)
        case .handler: try await handlerPage(call)
        case .iframe: try iframePage(call)
        }
    }

    // MARK: Links in mails

    /// Does what a link in a mail is for.
    ///
    /// A browser gets a page; what changes something is done when its button is pressed, since mail programs open links
    /// to look at them. Programs, and in development browsers too, get it done at once.
    private func actionPage(_ call: SignInCall) async throws -> Response {
        func value(_ name: String) -> String? { call[name] ?? call.query[name].flatMap { $0.isEmpty ? nil : $0 } }
        let mode = MailAction.Kind.allCases.first { $0.mode == value("mode") }
        guard let mode, value("apiKey") != nil, let code = value("oobCode") else {
            return try failure(
                "This link is incomplete.", hint: "mode, oobCode or apiKey is missing or unknown.", call)
        }
        let continueURL = value("continueUrl")
        if mode == .emailSignIn { return try signInRedirect(call, to: continueURL) }
        do {
            let action = try await users.read { try mailAction(code, in: $0, now: now()).action }
            guard action.kind == mode else { throw IdentityToolkitError.invalidCode }
            var fields = ["oobCode": code]
            // In production only a form changes something: programs that look at mails open links too.
            let mayChange = call.isPost || isDevelopment
            if mode == .passwordReset {
                guard mayChange, let password = value("newPassword") else {
                    return try passwordForm(action, code, continueURL, call)
                }
                fields["newPassword"] = password
            } else if !mayChange {
                return confirmation(action, code, continueURL)
            }
            let request = SignInRequest(fields)
            let inner = SignInCall(fields: request, origin: call.origin)
            _ = try await mode == .passwordReset ? resetPassword(inner) : apply(code, from: call.origin)
            return try done(action, continueURL, call)
        } catch let error as IdentityToolkitError where error == .expiredCode {
            return try failure("This link has expired.", hint: "Ask for another one.", call)
        } catch let error as IdentityToolkitError where error == .invalidCode {
            return try failure("This link isn't valid or was used before.", hint: "Ask for another one.", call)
        } catch let error as IdentityToolkitError where error == .lostAddressIsTaken {
            return try failure("The email address can't be restored.", hint: error.sentence, call)
        } catch let error as IdentityToolkitError where mode == .passwordReset && !error.mayPass {
            return try failure("The password can't be set.", hint: error.sentence, call)
        } catch is UserConflict {
            // Since the mail was sent.
            return try failure("The email address can't be changed.", hint: "Another account has it.", call)
        }
    }

    /// A link to sign in leads to the app, with all of its parameters.
    private func signInRedirect(_ call: SignInCall, to continueURL: String?) throws -> Response {
        guard let continueURL, let address = WebAddress(continueURL), isAuthorized(address) else {
            return try failure(
                "This link leads nowhere.",
                hint: "continueUrl is missing, or its site is not among the authorized domains.", call)
        }
        let parameters = call.query.filter { $0.key != "continueUrl" }.sorted { $0.key < $1.key }
            .map { "\(PercentEncoding.encoded($0.key))=\(PercentEncoding.encoded($0.value))" }
        return Self.redirect(to: address.adding(query: parameters.joined(separator: "&")))
    }

    private func done(_ action: MailAction, _ continueURL: String?, _ call: SignInCall) throws -> Response {
        if let continueURL, let address = WebAddress(continueURL), isAuthorized(address) {
            return Self.redirect(to: address.text)
        }
        let text =
            switch action.kind {
            case .passwordReset: "The password was changed."
            case .verifyEmail: "The email address was verified."
            case .verifyAndChangeEmail: "The email address was changed."
            case .recoverEmail: "The email address was restored."
            case .emailSignIn: ""
            }
        guard call.readsHTML else {
            return try SignInPort.json(["authEmulator": ["success": .string(text), "email": .string(action.email)]])
        }
        return Page(title: text, body: "<h1>\(text)</h1><p>You can close this page.</p>").response
    }

    private func failure(_ text: String, hint: String, _ call: SignInCall) throws -> Response {
        guard call.readsHTML else {
            return try SignInPort.json(
                ["authEmulator": ["error": .string(text), "instructions": .string(hint)]], status: .badRequest)
        }
        return Page.failure(text, hint: hint)
    }

    private func passwordForm(
        _ action: MailAction, _ code: String, _ continueURL: String?, _ call: SignInCall
    ) throws -> Response {
        guard call.readsHTML || !isDevelopment else {
            return try failure(
                "newPassword is missing.", hint: "Add &newPassword= and the new password to the link.", call)
        }
        let body = """
            <h1>Choose a new password</h1>
            <p>for \(Page.escaped(action.email))</p>
            <form method="post" action="/emulator/action">
            \(hiddenFields(action, code, continueURL))
            <label for="password">New password</label>
            <input id="password" name="newPassword" type="password" autocomplete="new-password" required>
            <button>Save</button>
            </form>
            """
        return Page(title: "Choose a new password", body: body, formTargets: formTargets(continueURL)).response
    }

    private func confirmation(_ action: MailAction, _ code: String, _ continueURL: String?) -> Response {
        let (title, button) =
            switch action.kind {
            case .verifyAndChangeEmail: ("Change the email address to \(action.newEmail ?? "")?", "Change it")
            case .recoverEmail: ("Restore the email address \(action.email)?", "Restore it")
            default: ("Is \(action.email) your email address?", "Yes, it is")
            }
        let body = """
            <h1>\(Page.escaped(title))</h1>
            <form method="post" action="/emulator/action">
            \(hiddenFields(action, code, continueURL))
            <button>\(button)</button>
            </form>
            """
        return Page(title: title, body: body, formTargets: formTargets(continueURL)).response
    }

    /// Where the answer to a form may lead: browsers follow it only to sites that the page names.
    private func formTargets(_ continueURL: String?) -> [String] {
        guard let address = continueURL.flatMap({ WebAddress($0) }), isAuthorized(address) else { return [] }
        return ["\(address.scheme)://\(address.host):*"]
    }

    private func hiddenFields(_ action: MailAction, _ code: String, _ continueURL: String?) -> String {
        [("mode", action.kind.mode), ("oobCode", code), ("apiKey", "page"), ("continueUrl", continueURL ?? "")]
            .map { "<input type=\"hidden\" name=\"\($0.0)\" value=\"\(Page.escaped($0.1))\">" }
            .joined(separator: "\n")
    }

    private static func redirect(to address: String) -> Response {
        Response(status: .seeOther, headers: [.location: address, .cacheControl: "no-store"])
    }

    /// The hosts by which browsers and emulated devices reach the machine that they run on.
    static let localNames: Set<String> = ["localhost", "127.0.0.1", "[::1]", "::1", "10.0.2.2"]

    /// Whether sign-in may lead to an address: to this machine in development, and to authorized domains. In production by
    /// https, except for this machine.
    func isAuthorized(_ address: WebAddress) -> Bool {
        let isLocal = Self.localNames.contains(address.host)
        guard address.scheme == "https" || address.scheme == "http" && (isDevelopment || isLocal) else { return false }
        return isDevelopment && isLocal || configuration.authorizedDomains.contains(address.host)
    }
}

extension SignInRequest {
    init(_ texts: [String: String]) {
        self.init(
            members: texts.map { .init(key: $0.key, offset: 0, value: JSONNode(kind: .string($0.value), offset: 0)) })
    }
}

extension WebAddress {
    /// The address with more parameters.
    func adding(query more: String) -> String {
        let parts = text.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
        let joined = String(parts[0]) + (query.isEmpty ? "?" : "&") + more
        return parts.count == 2 ? joined + "#" + parts[1] : joined
    }
}
