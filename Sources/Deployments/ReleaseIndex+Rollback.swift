import ControlProtocol
import HostConfiguration

extension ReleaseIndex {
    /// The release that a rollback switches to.
    ///
    /// - Throws: ``ReleaseError`` with the possible choices if there is no such release.
    func rollback(of bundle: String?, to id: String?) throws(ReleaseError) -> (bundle: String, release: String) {
        guard let name = bundle ?? (bundles.count == 1 ? bundles.first : nil) else {
            throw ReleaseError("name the bundle to roll back; \(summary)")
        }
        let served = served(of: name)
        guard !served.isEmpty else {
            throw ReleaseError(
                "no release of the bundle \(name) was ever served; \(summary)")
        }
        if let id {
            guard served.contains(id) else {
                throw ReleaseError(
                    "the release \(id) of \(name) was never served; the served ones are "
                        + "\(served.joined(separator: ", "))")
            }
            guard current[name] != id else {
                throw ReleaseError("the release \(id) of \(name) is already served")
            }
            return (name, id)
        }
        guard let target = servedSequence(of: name).dropLast().last ?? nil else {
            throw ReleaseError("\(name) has no release before the current one")
        }
        return (name, target)
    }

    /// The releases that led to the current one, which is last; nil stands for a time without a release. A rollback
    /// removes the releases after its target, so that repeated rollbacks go further back instead of alternating between
    /// two releases.
    private func servedSequence(of bundle: String) -> [String?] {
        var sequence: [String?] = []
        for (action, release) in switches(of: bundle) {
            if action == .rollback, let position = sequence.lastIndex(of: release) {
                sequence.removeSubrange((position + 1)...)
            } else if sequence.last != .some(release) {
                // The rules may be deployed again although they are the current ones: something else was served.
                sequence.append(release)
            }
        }
        return sequence
    }

    /// The rules to be served again when a bundle is rolled back: those before the deployments that are taken back, unless
    /// others have changed the rules since.
    ///
    /// - Returns: nil if the rules stay.
    func rules(undoing bundle: String, backTo release: String) -> ReleaseEvent.Rules? {
        let name = HostConfiguration.rulesName
        guard bundle != name, let kept = history.lastIndex(where: { $0.bundle == bundle && $0.release == release })
        else {
            return nil
        }
        let undone = history[(kept + 1)...]
        guard let start = undone.firstIndex(where: { $0.bundle == bundle && $0.rules != nil }),
            let first = history[start].rules, first.before != current[name],
            history[start...].allSatisfy({ $0.bundle == bundle || ($0.bundle != name && $0.rules == nil) })
        else { return nil }
        return ReleaseEvent.Rules(release: first.before, before: current[name])
    }

    /// A sentence for the operator that lists the deployed bundles.
    var summary: String {
        bundles.isEmpty
            ? "this data directory has no deployed bundle"
            : "the deployed bundles are \(bundles.joined(separator: ", "))"
    }
}
