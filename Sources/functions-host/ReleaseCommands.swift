import ControlProtocol
import Deployments
import HostConfiguration
import ArgumentParser
import HostProcess

/// `functions-host releases`
struct ReleasesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "releases", abstract: "Lists the releases, and which of them are served.")

    @OptionGroup var options: HostOptions

    @Flag(help: "Also show who changed what and when.")
    var history = false

    func run() async throws {
        try await options.run { host, report in
            let listing = try await host.ask(ControlRequest("releases", "list"), as: ReleaseListing.self)
            var lines = listing.bundles.flatMap(Self.lines)
            if lines.isEmpty { lines = ["there are no bundles"] }
            if history {
                lines += listing.history.map { event in
                    "\(event.time)  \(event.user)  \(event.action.rawValue)  \(DeploymentText.line(event))"
                }
            }
            report.answer(lines, listing)
        }
    }

    private static func lines(_ bundle: ReleaseListing.Bundle) -> [String] {
        let served = bundle.current == nil && bundle.served != nil ? "  as built" : ""
        return ["\(bundle.name)\(served)"]
            + bundle.releases.map { release in
                let functions =
                    bundle.name == HostConfiguration.rulesName ? "" : "\(release.functions.count) functions  "
                return "  \(release.isCurrent ? "*" : " ") \(release.id)  \(release.created)  \(release.creator)  "
                    + "\(functions)\(CommandReport.size(release.size))  \(release.source)"
            }
    }
}

/// `functions-host rollback [BUNDLE] [--to RELEASE]`
struct RollbackCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rollback", abstract: "Serves a bundle's previous release again, without a build.",
        discussion: """
            The rules and indexes that were deployed with a bundle are taken back with it, unless they were deployed again \
            since. "rollback rules" takes back rules and indexes alone. Without a running host it takes effect at the next start. Exit codes: 0 success, 1 failure, 64 invalid \
            arguments.
            """)

    @OptionGroup var options: HostOptions

    @Argument(help: "The bundle, or rules; may be omitted if only one bundle was deployed.")
    var bundle: String?

    @Option(help: "The release, as listed by \"releases\"; by default the one before the current release.")
    var to: String?

    func run() async throws {
        try await options.withConfiguration { configuration, report in
            var request = ControlRequest("releases", "rollback")
            request.add("bundle", bundle)
            request.add("release", to)
            request.add("user", OperatorName.current)
            let event: ReleaseEvent
            do {
                event = try await HostControl(configuration.data).ask(request, as: ReleaseEvent.self)
            } catch is NoRunningHost {
                event = try await OfflineReleases(configuration).rollback(
                    bundle: bundle, to: to, user: OperatorName.current)
            }
            report.answer([DeploymentText.line(event)], event)
        }
    }
}

/// `functions-host undeploy BUNDLE`
struct UndeployCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "undeploy", abstract: "Stops serving a bundle's releases.",
        discussion: """
            If functions.json names the bundle, its local build is served from then on; otherwise the bundle is no longer \
            served. "undeploy rules" serves the files of functions.json. Its releases are kept for a rollback. Exit codes: 0 success, 1 failure, 3 no host is running, 64 \
            invalid arguments.
            """)

    @OptionGroup var options: HostOptions

    @Argument(help: "The bundle, or rules.")
    var bundle: String

    func run() async throws {
        try await options.run { host, report in
            var request = ControlRequest("releases", "remove")
            request.add("bundle", bundle)
            request.add("user", OperatorName.current)
            let event = try await host.ask(request, as: ReleaseEvent.self)
            report.answer([DeploymentText.line(event)], event)
        }
    }
}

/// `functions-host promote [BUNDLE] --from ENV`
struct PromoteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "promote", abstract: "Serves the exact release of another environment in this one.",
        discussion: """
            The release keeps its id, and its executable is byte-identical. --env names the environment that receives it, \
            whose host must be running; the host of --from needn't be. Exit codes are those of deploy.
            """)

    @OptionGroup var options: HostOptions

    @Argument(help: "The bundle; may be omitted if only one was deployed there.")
    var bundle: String?

    @Option(help: "The environment of functions.json that serves the release; \"\" for none.")
    var from: String

    @Flag(name: .shortAndLong, help: "Don't ask for confirmation.")
    var yes = false

    @Flag(help: "Only show what would change.")
    var dryRun = false

    func run() async throws {
        try await options.withConfiguration { configuration, report in
            let source = try HostConfiguration.load(
                options.config, environment: from.isEmpty ? nil : from, checkingFiles: false)
            guard source.data != configuration.data else {
                throw ValidationError(
                    "both environments use the data directory \(source.data); give each its own \"data\"")
            }
            let release = try OfflineReleases(source).current(of: bundle)
            var request = ControlRequest("releases", "prepare")
            request.add("bundle", release.bundle)
            request.add("executable", release.executable)
            request.add("source", release.source)
            request.add("release", release.id)
            request.add("checksum", release.checksum)
            request.add("user", OperatorName.current)
            try await Deployment(
                host: HostControl(configuration.data), report: report, isJSON: options.json, asks: !yes, isDry: dryRun
            ).run(request, as: .promote)
        }
    }
}
