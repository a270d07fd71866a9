/// What a service demands of the apps that call it: nothing, or a valid App Check token.
package struct AppCheckGate: Sendable {
    package enum Mode: String, Hashable, Sendable, CaseIterable {
        /// Tokens aren't looked at.
        case off
        /// Tokens are verified and counted; requests without a valid one are served.
        case unenforced
        /// Requests without a valid token are refused.
        case enforced
    }

    package enum Verdict: String, Hashable, Sendable, CaseIterable {
        case valid, invalid, missing
        /// The keys can't be fetched, so that it isn't known whether the token is valid.
        case unavailable
    }

    package let mode: Mode
    package let figures: AppCheckFigures
    private let verifier: TokenVerifier

    package init(_ mode: Mode, figures: AppCheckFigures, verifier: TokenVerifier) {
        self.mode = mode
        self.figures = figures
        self.verifier = verifier
    }

    package enum Admission: Hashable, Sendable {
        /// Until the token ends, in seconds since 1970; nil if none is demanded.
        case served(until: Int64?)
        case refused(Verdict)
    }

    /// Verifies and counts the token of a request, if that takes no wait.
    ///
    /// - Parameter token: the value of `X-Firebase-AppCheck`.
    /// - Returns: nil if the request isn't served, or the token's key may have to be fetched. Nothing is counted then.
    package func admissionAtOnce(of token: String?) -> Admission? {
        guard mode != .off else { return .served(until: nil) }
        guard let token, case .valid(let verified) = verifier.verify(token) else { return nil }
        figures.count(.valid)
        return .served(until: mode == .enforced ? verified.expires : nil)
    }

    /// Verifies and counts the token of a request.
    package func admission(of token: String?) async -> Admission {
        guard mode != .off else { return .served(until: nil) }
        let (verdict, end): (Verdict, Int64?)
        if let token {
            switch await verifier.verifyAfterFetch(token) {
            case .valid(let verified): (verdict, end) = (.valid, verified.expires)
            case .invalid: (verdict, end) = (.invalid, nil)
            case .needsKeys, .unavailable: (verdict, end) = (.unavailable, nil)
            }
        } else {
            (verdict, end) = (.missing, nil)
        }
        figures.count(verdict)
        guard mode == .enforced else { return .served(until: nil) }
        return verdict == .valid ? .served(until: end) : .refused(verdict)
    }

    /// Whether a request is served, as ``admissionAtOnce(of:)``.
    package func admitsAtOnce(_ token: String?) -> Bool { admissionAtOnce(of: token) != nil }

    /// Verifies and counts the token of a request.
    ///
    /// - Returns: why the request is refused; nil if it is served.
    package func refusal(of token: String?) async -> Verdict? {
        if case .refused(let verdict) = await admission(of: token) { verdict } else { nil }
    }
}
