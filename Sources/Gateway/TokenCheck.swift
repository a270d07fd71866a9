import TokenVerification
import WorkerProtocol
import NIOCore
import NIOHTTP1

/// Checks the tokens of one request: immediately if their keys are cached, otherwise once the keys are fetched.
struct TokenCheck {
    enum Verdict {
        case absent
        /// - Parameter expires: seconds since 1970.
        case valid(InvocationHead.VerifiedIdentity, expires: Int64)
        case invalid(String)
        /// The token can't be verified, because its keys can't be fetched.
        case unavailable
    }

    struct Result {
        var idToken: Verdict
        var appCheck: Verdict
    }

    private let idToken: Substring?
    private let hasOtherScheme: Bool
    private let appCheckToken: Substring?
    private let verifiers: TokenVerifiers

    init(_ headers: HTTPHeaders, verifiers: TokenVerifiers) {
        self.verifiers = verifiers
        // A client that has no token may send the header without a value, which is the same.
        appCheckToken = headers.first(name: "X-Firebase-AppCheck").flatMap { $0.isEmpty ? nil : Substring($0) }
        guard let authorization = headers.first(name: "Authorization"), !authorization.isEmpty else {
            idToken = nil
            hasOtherScheme = false
            return
        }
        idToken = Self.bearerToken(authorization)
        hasOtherScheme = idToken == nil
    }

    /// The text after `Bearer `, in any case; nil for another scheme.
    static func bearerToken(_ authorization: String) -> Substring? {
        let scheme = authorization.utf8.prefix(7)
        guard scheme.count == 7,
            scheme.elementsEqual("Bearer ".utf8) || scheme.elementsEqual("bearer ".utf8)
                || String(scheme)?.lowercased() == "bearer "
        else { return nil }
        return authorization[authorization.utf8.index(authorization.startIndex, offsetBy: 7)...]
    }

    /// - Parameter completion: called on the loop, at once where nothing has to be fetched.
    func run(on loop: any EventLoop, _ completion: @escaping (Result) -> Void) {
        let idOutcome = idToken.map { verifiers.idToken.verify($0) }
        let appOutcome = appCheckToken.map { verifiers.appCheck.verify($0) }
        guard idOutcome == .needsKeys || appOutcome == .needsKeys else {
            return completion(result(idOutcome, appOutcome))
        }
        let verifier = idOutcome == .needsKeys ? verifiers.idToken : verifiers.appCheck
        let box = NIOLoopBound(completion, eventLoop: loop)
        verifier.whenKeysArrive { [self] in
            loop.execute {
                let appVerifier = verifiers.appCheck
                let idOutcome = idToken.map { verifiers.idToken.verify($0) }
                guard appOutcome == .needsKeys, verifier !== appVerifier else {
                    return box.value(result(idOutcome, appCheckToken.map { appVerifier.verify($0) }))
                }
                appVerifier.whenKeysArrive {
                    loop.execute { box.value(result(idOutcome, appCheckToken.map { appVerifier.verify($0) })) }
                }
            }
        }
    }

    private func result(_ idToken: TokenVerifier.Outcome?, _ appCheck: TokenVerifier.Outcome?) -> Result {
        Result(
            idToken: hasOtherScheme ? .invalid("its scheme isn't Bearer") : Verdict(idToken),
            appCheck: Verdict(appCheck))
    }
}

extension TokenCheck.Verdict {
    fileprivate init(_ outcome: TokenVerifier.Outcome?) {
        self =
            switch outcome {
            case nil: .absent
            case .valid(let token): .valid(.init(id: token.subject, claims: token.claims), expires: token.expires)
            case .invalid(let rejection): .invalid(rejection.message)
            // `needsKeys` after a fetch means that the fetch didn't bring the key.
            case .needsKeys, .unavailable: .unavailable
            }
    }
}

extension TokenCheck.Verdict {
    /// How the verdict on an App Check token is counted.
    var counted: AppCheckGate.Verdict {
        switch self {
        case .absent: .missing
        case .valid: .valid
        case .invalid: .invalid
        case .unavailable: .unavailable
        }
    }
}
