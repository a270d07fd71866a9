import ControlProtocol
import Deployments
import ArgumentParser
import Foundation

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
        if plan.isServedAlready {
            return report.answer(["\(plan.bundle) already serves the release \(plan.release)"], plan)
        }
        if isDry {
            try await discard(plan)
            return report.answer(DeploymentText.lines(plan) + ["nothing was changed (dry run)"], plan)
        }
        if asks {
            guard !isJSON, isatty(FileHandle.standardInput.fileDescriptor) == 1 else {
                try await discard(plan)
                throw ValidationError(
                    "there is no terminal to confirm on; use --yes, or --dry-run to see what would change")
            }
            report.answer(DeploymentText.lines(plan), plan)
            print("Serve this release? [y/N] ", terminator: "")
            guard let answer = readLine(), ["y", "yes"].contains(answer.lowercased()) else {
                try await discard(plan)
                report.answer(["nothing was changed"], plan)
                throw ExitCode(1)
            }
        } else if !isJSON {
            report.answer(DeploymentText.lines(plan), plan)
        }
        var activation = ControlRequest("releases", "activate")
        activation.add("bundle", plan.bundle)
        activation.add("release", plan.release)
        activation.add("replacing", plan.current)
        activation.add("action", action.rawValue)
        activation.add("user", NSUserName())
        let event = try await host.ask(activation, as: ReleaseEvent.self)
        report.answer([DeploymentText.line(event)], event)
    }

    private func discard(_ plan: DeploymentPlan) async throws {
        var request = ControlRequest("releases", "discard")
        request.add("bundle", plan.bundle)
        request.add("release", plan.release)
        _ = try await host.ask(request, as: Bool.self)
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
        return lines
    }

    static func line(_ event: ReleaseEvent) -> String {
        let now = event.release.map { "serves the release \($0)" } ?? "no longer serves a release"
        return "\(event.bundle) \(now)" + (event.before.map { ", before that \($0)" } ?? "")
    }
}
