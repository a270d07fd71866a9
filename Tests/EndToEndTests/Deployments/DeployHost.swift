import Foundation
import Synchronization
import TestSupport
import Testing

/// What tests of deployments do with a host: make bundles, deploy them, and call without end meanwhile.
extension RunningHost {
    /// Writes a bundle that is a script, in a directory of its own.
    /// - Returns: its path.
    func bundle(_ name: String, _ text: String) throws -> String {
        let place = directory.path + "/bundles/" + name
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
        try ExecutableScript.make(text, at: place + "/bundle")
        return place + "/bundle"
    }

    /// The fixture's functions, or the shop's, as a bundle whose file is unlike others with another `mark`.
    func fixtureBundle(_ mark: String) throws -> String {
        try bundle("fixture-\(mark)", "# \(mark)\nexec '\(BuiltProducts.fixture)' \"$@\"")
    }

    func shopBundle(_ mark: String) throws -> String {
        try bundle("shop-\(mark)", "# \(mark)\nexec '\(BuiltProducts.shop)' \"$@\"")
    }

    @discardableResult
    func deploy(_ executable: String, as bundle: String, _ more: String...) async throws -> DataCommandRun {
        try await command(["deploy", "--executable", executable, "--bundle", bundle, "--yes"] + more)
    }

    func releases() async throws -> [JSON] {
        let run = try await command(["releases", "--json"])
        try #require(run.status == 0, "\(run.errors)")
        return run.json?["bundles"]?.list ?? []
    }

    /// The id of the release that a bundle serves.
    func current(_ bundle: String) async throws -> String? {
        try await releases().first { $0["name"]?.text == bundle }?["current"]?.text
    }

    /// Calls the fixture's echo from several clients until the body is done.
    /// - Returns: how many calls there were, and what those that failed were answered.
    func calling(clients: Int = 4, _ body: () async throws -> Void) async throws -> (calls: Int, failures: [String]) {
        let isOver = Flag()
        return try await withThrowingTaskGroup(of: (Int, [String]).self) { group in
            for client in 0..<clients {
                group.addTask {
                    var (calls, failures) = (0, [String]())
                    while !isOver.isSet {
                        let text = "\(client)-\(calls)"
                        let answer = try await call("echo", "\"\(text)\"", region: "asia-northeast1")
                        if answer.text != #"{"result":"\#(text)"}"# {
                            failures.append("\(answer.status) \(answer.text)")
                        }
                        calls += 1
                    }
                    return (calls, failures)
                }
            }
            do {
                defer { isOver.set() }
                try await body()
            }
            return try await group.reduce(into: (0, [])) { $0 = ($0.0 + $1.0, $0.1 + $1.1) }
        }
    }
}

private final class Flag: Sendable {
    private let value = Atomic(false)

    var isSet: Bool { value.load(ordering: .relaxed) }
    func set() { value.store(true, ordering: .relaxed) }
}
