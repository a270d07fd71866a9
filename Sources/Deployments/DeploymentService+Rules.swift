import ControlProtocol
import DocumentModel
import HostConfiguration
import Logging
import SecurityRules

/// The files of rules and indexes to be deployed; what has none stays as it is served.
package struct RulesSource: Sendable {
    package var rules: String?
    package var indexes: String?

    package init(rules: String?, indexes: String?) {
        self.rules = rules
        self.indexes = indexes
    }
}

/// Rules and indexes to be served from now on.
struct RulesChange {
    var rules: ProjectRules
    /// Nil for the files of `functions.json`.
    var release: String?
    var before: String?

    var event: ReleaseEvent.Rules { ReleaseEvent.Rules(release: release, before: before) }
}

extension DeploymentService {
    /// - Returns: nil if there is nothing to deploy, or it is deployed already.
    func rulesPlan(of files: RulesSource?, _ user: String) async throws -> RulesPlan? {
        guard let files else { return nil }
        let loaded = try ProjectRules.load(rules: files.rules, indexes: files.indexes)
        guard !loaded.isEmpty else { return nil }
        let served = parts.rules.current
        let next = served.overlaid(by: loaded)
        let current = try parts.releases.index().current[HostConfiguration.rulesName]
        // What is served may differ from what is deployed, in development or with `serve --local`.
        if let current, next.hasSameContent(as: served), try parts.releases.rules(current).hasSameContent(as: next) {
            return nil
        }
        let record = try await parts.releases.addRules(
            next, source: [files.rules, files.indexes].compactMap(\.self).joined(separator: ", "), creator: user,
            at: parts.now().rfc3339)
        let (old, new) = (served.indexes?.summaries ?? [], next.indexes?.summaries ?? [])
        return RulesPlan(
            release: record.id, current: current,
            lines: Self.lines(from: served.rules?.ruleset, to: next.rules?.ruleset),
            addedIndexes: new.subtracting(old).sorted(), removedIndexes: old.subtracting(new).sorted(),
            warnings: loaded.rules?.warnings ?? [])
    }

    /// The lines that differ, in their order.
    private static func lines(from before: Ruleset?, to after: Ruleset?) -> [RulesPlan.Line] {
        func lines(_ ruleset: Ruleset?) -> [Substring] {
            guard let source = ruleset?.source else { return [] }
            return String(decoding: source.bytes, as: UTF8.self).split(
                separator: "\n", omittingEmptySubsequences: false)
        }
        return lines(after).difference(from: lines(before)).map { change in
            switch change {
            case .insert(let offset, let line, _): .init(number: offset + 1, isAdded: true, text: String(line))
            case .remove(let offset, let line, _): .init(number: offset + 1, isAdded: false, text: String(line))
            }
        }.sorted { ($0.number, $0.isAdded ? 1 : 0) < ($1.number, $1.isAdded ? 1 : 0) }
    }

    /// - Parameter index: gets what was served until now as a release, if it wasn't one, so that it can be rolled back to.
    func switchingRules(
        to id: String, from before: String?, _ index: inout ReleaseIndex, _ user: String
    ) async throws -> RulesChange {
        let name = HostConfiguration.rulesName
        try index.check(name, isAt: before)
        let rules = try parts.releases.rules(id)
        let served = parts.rules.current
        if before == nil, !served.isEmpty, !served.hasSameContent(as: rules) {
            let time = parts.now().rfc3339
            let record = try await parts.releases.addRules(served, source: "functions.json", creator: user, at: time)
            index.note(ReleaseEvent(action: .deploy, bundle: name, release: record.id, time: time, user: user))
        }
        return RulesChange(rules: rules, release: id, before: index.current[name])
    }

    func replaceRules(
        _ change: RulesChange, _ index: ReleaseIndex, _ action: ReleaseEvent.Action, _ user: String
    ) throws -> ReleaseEvent {
        var index = index
        let event = ReleaseEvent(
            action: action, bundle: HostConfiguration.rulesName, release: change.release, before: change.before,
            time: parts.now().rfc3339, user: user)
        index.note(event)
        // Written first, as for bundles.
        try parts.releases.write(index)
        parts.rules.serve(change.rules, release: change.release, in: parts.store)
        parts.logger.notice(
            "switched to other rules",
            metadata: [
                "release": "\(change.release ?? "none")", "action": "\(action.rawValue)", "user": "\(user)",
            ])
        try? parts.releases.clean(keeping: parts.configuration.releases.keep, drafts: false)
        return event
    }

    /// Nil if no rules were ever deployed.
    func rulesListing(_ index: ReleaseIndex) -> ReleaseListing.Bundle? {
        let name = HostConfiguration.rulesName
        let served = Set(index.served(of: name))
        guard !served.isEmpty else { return nil }
        return ReleaseListing.Bundle(
            name: name, current: index.current[name], served: parts.rules.release ?? "local",
            releases: parts.releases.rulesRecords.filter { served.contains($0.id) }.map {
                ReleaseListing.Release(
                    id: $0.id, created: $0.created, creator: $0.creator, source: $0.source, size: $0.size,
                    checksum: $0.checksum, functions: [], isCurrent: $0.id == index.current[name])
            })
    }
}

extension ReleaseIndex {
    /// - Parameter before: the release that an operator's decision was based on.
    func check(_ name: String, isAt before: String?) throws(ReleaseError) {
        guard current[name] == before else {
            throw ReleaseError(
                "\(name) meanwhile serves \(current[name] ?? "no release"); review what would change and retry")
        }
    }
}
