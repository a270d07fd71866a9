import Gateway
import Logging
import NIOCore
import SecurityRules

extension ClientRules {
    /// Rules that log refusals: in development with all values, in production with the places alone.
    convenience init(_ refusals: RefusalLogger, isDevelopment: Bool) {
        // Nothing is served before the rules are there.
        self.init(.closed) { refusal in
            let places = refusal.decision.refusals.map { "\($0.position)" }.joined(separator: " ")
            refusals.log(
                "the rules refuse a client", kind: isDevelopment ? "rules \(refusal.method) \(places)" : nil,
                of: refusal.uid.map { .user($0) }, level: .notice, now: .now(),
                refusal.metadata(isDevelopment ? nil : places))
        }
    }
}

extension ClientRules.Refusal {
    /// - Parameter places: all that is logged of the decision; nil to log everything.
    fileprivate func metadata(_ places: String?) -> Logger.Metadata {
        var metadata: Logger.Metadata = ["rules.method": "\(method)", "document.path": "\(path)"]
        metadata["uid"] = uid.map { "\($0)" }
        metadata["rules"] = "\(places ?? decision.explanation)"
        guard places == nil else { return metadata }
        // Claims are shown one by one where a rule asks for them, but never all of a token.
        let shown = trace().filter { !$0.isToken }
        if !shown.isEmpty {
            metadata["rules.values"] = .array(shown.map { "\($0.position) \($0.expression): \($0.value)" })
        }
        return metadata
    }
}
