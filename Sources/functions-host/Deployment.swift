import ControlProtocol
import Deployments
import HostConfiguration
import ArgumentParser
import Foundation
import HostProcess
import Sharing
import UnixSignals

/// A deployment from the operator's side: shows what would change, asks for confirmation, and switches.
struct Deployment {
    let host: HostControl
    let report: CommandReport
    let isJSON: Bool
    let asks: Bool
    let isDry: Bool

    /// - Parameter request: The request that prepares the release.
    func run(_ request: ControlRequest, as action: ReleaseEvent.Action) async throws {
        let plan = try await host.ask(request, as: DeploymentPlan.self)
        let drafts =
            [(plan.bundle, plan.release)] + (plan.rules.map { [(HostConfiguration.rulesName, $0.release)] } ?? [])
        if plan.isServedAlready {
            guard let rules = plan.rules else {
                return report.answer(["\(plan.bundle) already serves the release \(plan.release)"], plan)
            }
            return try await run(rules)
        }
        guard try await confirm(DeploymentText.lines(plan), plan, "Serve this release?", drafts) else { return }
        var activation = ControlRequest("releases", "activate")
        activation.add("bundle", plan.bundle)
        activation.add("release", plan.release)
        activation.add("replacing", plan.current)
        activation.add("rules", plan.rules?.release)
        activation.add("replacing-rules", plan.rules?.current)
        activation.add("action", action.rawValue)
        activation.add("user", OperatorName.current)
        let event = try await host.ask(activation, as: ReleaseEvent.self)
        report.answer([DeploymentText.line(event)], event)
    }

    /// - Parameter request: The request that prepares rules and indexes by themselves.
    func runRules(_ request: ControlRequest) async throws {
        guard let plan = try await host.ask(request, as: RulesPlan?.self) else {
            return report.answer(["the rules and indexes are deployed already"], ["deployed": true])
        }
        try await run(plan)
    }

    private func run(_ rules: RulesPlan) async throws {
        let drafts = [(HostConfiguration.rulesName, rules.release)]
        guard try await confirm(DeploymentText.lines(rules), rules, "Serve these rules?", drafts) else { return }
        var activation = ControlRequest("releases", "activate-rules")
        activation.add("release", rules.release)
        activation.add("replacing", rules.current)
        activation.add("user", OperatorName.current)
        let event = try await host.ask(activation, as: ReleaseEvent.self)
        report.answer([DeploymentText.line(event)], event)
    }

    /// Shows what would change, and asks for confirmation where it is wanted.
    ///
    /// - Parameter drafts: The prepared releases, which are deleted unless they are to be served.
    /// - Returns: Whether to go on.
    private func confirm(
        _ lines: [String], _ plan: some Encodable & Sendable, _ question: String,
        _ drafts: [(bundle: String, release: String)]
    ) async throws -> Bool {
        if isDry {
            try await discard(drafts)
            report.answer(lines + ["nothing was changed (dry run)"], plan)
            return false
        }
        guard asks else {
            if !isJSON { report.answer(lines, plan) }
            return true
        }
        guard !isJSON, isatty(FileHandle.standardInput.fileDescriptor) == 1 else {
            try await discard(drafts)
            throw ValidationError(
                "there is no terminal to confirm on; use --yes, or --dry-run to see what would change")
        }
        report.answer(lines, plan)
        print("\(question) [y/N] ", terminator: "")
        guard await agrees(orDiscard: drafts) else {
            try await discard(drafts)
            report.answer(["nothing was changed"], plan)
            throw ExitCode(1)
        }
        return true
    }

    /// Reads the answer to a question. A signal instead of it deletes the drafts, which would stay until the host's
    /// next start otherwise, and ends the command. After the answer it deletes none: the host counts the answers of the
    /// operators who are asked about a draft.
    private func agrees(orDiscard drafts: [(bundle: String, release: String)]) async -> Bool {
        let confirmation = Confirmation()
        let signals = await UnixSignalsSequence(trapping: StopSignals.all)
        Task { [host] in
            for await _ in signals {
                switch confirmation.interrupt() {
                case .refuses: try? await Self.discard(drafts, on: host)
                case .ends: break
                case .none: continue
                }
                // `exit` would wait for the lock of standard input, which the thread that reads the answer has, with musl
                // and newer glibc.
                _exit(1)
            }
        }
        // `_exit` doesn't, and before a read only some C libraries do.
        fflush(nil)
        // Reading blocks its thread, and tasks may have only one.
        let line: String? = await withCheckedContinuation { continuation in
            do throws(SystemThread.Refused) {
                try SystemThread.start("answer") { continuation.resume(returning: readLine()) }
            } catch {
                continuation.resume(returning: readLine())
            }
        }
        let agrees = line.map { ["y", "yes"].contains($0.lowercased()) } ?? false
        guard confirmation.answer(agrees) else {
            // The command ends as soon as the drafts are deleted.
            while true { try? await Task.sleep(for: .seconds(60)) }
        }
        return agrees
    }

    private func discard(_ drafts: [(bundle: String, release: String)]) async throws {
        try await Self.discard(drafts, on: host)
    }

    private static func discard(_ drafts: [(bundle: String, release: String)], on host: HostControl) async throws {
        for draft in drafts {
            var request = ControlRequest("releases", "discard")
            request.add("bundle", draft.bundle)
            request.add("release", draft.release)
            _ = try await host.ask(request, as: Bool.self)
        }
    }
}

enum DeploymentText {
    static func lines(_ plan: DeploymentPlan) -> [String] {
        var lines = ["\(plan.bundle): release \(plan.release), \(CommandReport.size(plan.size))\(plan.replacementText)"]
        let difference = plan.difference
        for function in difference.added { lines.append("  + \(function.name)") }
        for function in difference.changed {
            lines.append("  ~ \(function.name)")
            for change in function.changes {
                lines.append("      \(change.option): \(change.before ?? "–") → \(change.after ?? "–")")
            }
            lines += function.consequences.map { "      \($0)" }
        }
        for function in difference.removed {
            lines.append("  - \(function.name)")
            lines += function.consequences.map { "      \($0)" }
        }
        for param in difference.params {
            switch (param.before, param.after) {
            case (nil, let after?): lines.append("  + param \(param.name): \(after)")
            case (let before?, nil): lines.append("  - param \(param.name): \(before)")
            default: lines.append("  ~ param \(param.name): \(param.before ?? "–") → \(param.after ?? "–")")
            }
        }
        if difference.isEmpty { lines.append("  the same functions with the same options") }
        if let rules = plan.rules { lines += Self.lines(rules) }
        return lines
    }

    /// How many lines of changed rules are shown.
    private static let maxLines = 100

    static func lines(_ rules: RulesPlan) -> [String] {
        var lines = ["rules: release \(rules.release)" + (rules.current.map { ", replaces \($0)" } ?? ", its first")]
        for (changed, place) in [(rules.lines, ""), (rules.databaseLines, "database ")] {
            for line in changed.prefix(maxLines) {
                lines.append("  \(line.isAdded ? "+" : "-") \(place)\(line.number): \(line.text)")
            }
            if changed.count > maxLines { lines.append("  and \(changed.count - maxLines) changed lines more") }
        }
        for index in rules.addedIndexes { lines.append("  + \(index)") }
        for index in rules.removedIndexes { lines.append("  - \(index)") }
        if rules.lines.isEmpty, rules.databaseLines.isEmpty, rules.addedIndexes.isEmpty, rules.removedIndexes.isEmpty {
            lines.append("  the same rules and indexes as are served")
        }
        return lines + rules.warnings.map { "  \($0)" }
    }

    static func line(_ event: ReleaseEvent) -> String {
        let now = event.release.map { "serves the release \($0)" } ?? "no longer serves a release"
        let line = "\(event.bundle) \(now)" + before(event.before, now: event.release)
        guard let rules = event.rules else { return line }
        return line + "; the rules are " + (rules.release.map { "those of the release \($0)" } ?? "no longer deployed")
            + before(rules.before, now: rules.release)
    }

    /// Empty if the same was served before, from the files of `functions.json`.
    private static func before(_ release: String?, now: String?) -> String {
        guard let release, release != now else { return "" }
        return ", before that \(release)"
    }
}
