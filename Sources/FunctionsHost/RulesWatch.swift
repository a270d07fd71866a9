import DataDirectory
import Deployments
import DocumentStore
import HostConfiguration
import Logging
import ServiceLifecycle

/// Takes over the rules and indexes whenever their files change, in development. Files with errors leave everything as it
/// is.
struct RulesWatch: Service {
    /// What tells that the files have changed.
    struct Stamp: Equatable {
        private let stamps: [FileStamp?]

        init(_ files: [String]) { stamps = files.map { FileStamp($0) } }
    }

    let configuration: HostConfiguration
    let rules: RulesSwitch
    let store: DocumentStore
    /// Of the files before they were loaded.
    let loaded: Stamp
    let logger: Logger

    private static let interval = Duration.milliseconds(500)

    static func files(of configuration: HostConfiguration) -> [String] {
        RulesSource(configuration).paths
    }

    func run() async throws {
        let files = Self.files(of: configuration)
        var known = loaded
        for await _ in AsyncTimer(interval: Self.interval).cancelOnGracefulShutdown() {
            let stamp = Stamp(files)
            guard stamp != known else { continue }
            known = stamp
            do {
                let changed = try ProjectRules(loading: RulesSource(configuration))
                rules.serve(changed, release: nil, in: store)
                logger.notice("the rules have changed", metadata: ["rules": .array(files.map { "\($0)" })])
            } catch {
                logger.error("the rules have errors; those before are used", metadata: ["error": "\(error)"])
            }
        }
    }
}
