import ControlProtocol
import DocumentModel
import HostConfiguration
import Logging
import SecurityRules

/// Rules and indexes to be served from now on.
struct RulesChange: Sendable {
    var rules: ProjectRules
    /// Nil for the files of `functions.json`.
    var release: String?
    /// The release to be served again when this change is undone; nil if there were no rules before.
    var before: String?
    /// Tells what was served until now, if that wasn't a release yet, so that it can be rolled back to.
    var baseline: ReleaseEvent?

    var event: ReleaseEvent.Rules { ReleaseEvent.Rules(release: release, before: before) }
}

extension DeploymentService {
    /// - Parameter files: what has none stays as it is served.
    /// - Returns: nil if there is nothing to deploy, or it is deployed already.
    func rulesPlan(of files: RulesSource?, _ user: String) async throws -> RulesPlan? {
        guard let files else { return nil }
        let loaded = try ProjectRules(loading: files)
        guard !loaded.isEmpty else { return nil }
        let served = parts.rules.current
        let next = served.overlaid(by: loaded)
        let current = try parts.releases.index().current[HostConfiguration.rulesName]
        // What is served may differ from what is deployed, in development or with `serve --local`.
        if let current, next.hasSameContent(as: served),
            let deployed = try? parts.releases.rules(current), deployed.hasSameContent(as: next)
        {
            return nil
        }
        let record = try await parts.releases.addRules(
            next, source: files.paths.joined(separator: ", "), creator: user, at: parts.now().rfc3339)
        let (old, new) = (served.indexes?.summaries ?? [], next.indexes?.summaries ?? [])
        return RulesPlan(
            release: record.id, current: current,
            lines: Self.lines(from: served.rules?.source, to: next.rules?.source),
            databaseLines: Self.lines(from: served.databaseRules?.source, to: next.databaseRules?.source),
            addedIndexes: new.subtracting(old).sorted(), removedIndexes: old.subtracting(new).sorted(),
            warnings: loaded.warnings)
    }

    /// More lines than this aren't compared: that takes memory by their square.
    private static let maxComparedLines = 2000

    /// The lines that differ, in their order. Of very many only the new ones.
    private static func lines(from before: [UInt8]?, to after: [UInt8]?) -> [RulesPlan.Line] {
        func lines(_ source: [UInt8]?) -> [ArraySlice<UInt8>] {
            guard let source else { return [] }
            return source.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map {
                $0.last == UInt8(ascii: "\r") ? $0.dropLast() : $0
            }
        }
        let (old, new) = (lines(before), lines(after))
        let start = zip(old, new).prefix { $0 == $1 }.count
        let end = zip(old.dropFirst(start).reversed(), new.dropFirst(start).reversed()).prefix { $0 == $1 }.count
        let (oldPart, newPart) = (old[start..<(old.count - end)], new[start..<(new.count - end)])
        func line(_ number: Int, isAdded: Bool) -> RulesPlan.Line {
            let text = String(decoding: (isAdded ? new : old)[number], as: UTF8.self)
            return RulesPlan.Line(number: number + 1, isAdded: isAdded, text: text)
        }
        guard oldPart.count + newPart.count <= maxComparedLines else {
            return newPart.indices.map { line($0, isAdded: true) }
        }
        let difference = Array(newPart).difference(from: Array(oldPart))
        var (removed, added): (Set<Int>, Set<Int>) = ([], [])
        for change in difference {
            switch change {
            case .insert(let offset, _, _): added.insert(start + offset)
            case .remove(let offset, _, _): removed.insert(start + offset)
            }
        }
        var (result, oldLine, newLine): ([RulesPlan.Line], Int, Int) = ([], start, start)
        while oldLine < oldPart.endIndex || newLine < newPart.endIndex {
            if removed.contains(oldLine) {
                result.append(line(oldLine, isAdded: false))
                oldLine += 1
            } else if added.contains(newLine) {
                result.append(line(newLine, isAdded: true))
                newLine += 1
            } else {
                (oldLine, newLine) = (oldLine + 1, newLine + 1)
            }
        }
        return result
    }

    func switchingRules(
        to id: String, from before: String?, _ index: ReleaseIndex, _ user: String
    ) async throws -> RulesChange {
        let name = HostConfiguration.rulesName
        try index.check(name, isAt: before)
        let rules = try parts.releases.rules(id)
        let served = parts.rules.current
        if before == nil, !served.isEmpty {
            // The file may have changed when this is undone: the same content is served then by this release.
            if served.hasSameContent(as: rules) { return RulesChange(rules: rules, release: id, before: id) }
            let time = parts.now().rfc3339
            let record = try await parts.releases.addRules(served, source: "functions.json", creator: user, at: time)
            return RulesChange(
                rules: rules, release: id, before: record.id,
                baseline: ReleaseEvent(action: .deploy, bundle: name, release: record.id, time: time, user: user))
        }
        return RulesChange(rules: rules, release: id, before: index.current[name])
    }

    /// What the host serves without a deployment.
    func files() throws(ConfigurationError) -> ProjectRules {
        try ProjectRules(loading: RulesSource(parts.configuration))
    }

    func replaceRules(
        _ change: RulesChange, _ index: ReleaseIndex, _ action: ReleaseEvent.Action, _ user: String
    ) throws -> ReleaseEvent {
        var index = index
        let event = ReleaseEvent(
            action: action, bundle: HostConfiguration.rulesName, release: change.release, before: change.before,
            time: parts.now().rfc3339, user: user)
        if let baseline = change.baseline { index.note(baseline) }
        index.note(event)
        // Written first, as for bundles.
        try parts.releases.write(index)
        parts.rules.serve(change.rules, release: change.release, in: parts.store)
        parts.logger.notice(
            "switched to other rules",
            metadata: [
                "release": "\(change.release ?? "none")", "action": "\(action.rawValue)", "user": "\(user)",
            ])
        try? parts.releases.clean(
            keeping: parts.configuration.releases.keep, drafts: false, using: parts.served.executables)
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
