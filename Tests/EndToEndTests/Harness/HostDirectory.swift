import Foundation
import TestSupport

/// A temporary directory of one host: its configuration, its data, and its bundles.
///
/// Each directory has its own links to the bundles, so that its workers can be distinguished from those of other hosts.
final class HostDirectory: Sendable {
    let path: String
    var data: String { path + "/data" }
    var configuration: String { path + "/functions.json" }

    enum Bundle: String, CaseIterable, Sendable {
        case shop, chat, fixture

        var product: String {
            switch self {
            case .shop: BuiltProducts.shop
            case .chat: BuiltProducts.chat
            case .fixture: BuiltProducts.fixture
            }
        }
    }

    init() throws {
        let base = FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
        let url = base.appendingPathComponent("functions-e2e-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        path = url.path
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Writes a configuration with free ports.
    /// - Parameter extra: additional members of the root object, such as `"limits": {…}`.
    func configure(_ bundles: [Bundle], trustedProxies: String = "", extra: String = "") throws {
        for bundle in bundles where !FileManager.default.fileExists(atPath: program(bundle)) {
            try FileManager.default.createSymbolicLink(atPath: program(bundle), withDestinationPath: bundle.product)
        }
        let list = bundles.map { #"{ "name": "\#($0.rawValue)", "executable": "\#(program($0))" }"# }
        let proxies = trustedProxies.isEmpty ? "" : #", "trustedProxies": ["\#(trustedProxies)"]"#
        try configure(bundles: list.joined(separator: ", "), ports: Self.freePorts + proxies, extra: extra)
    }

    static let freePorts = #""functions": 0, "firestore": 0, "database": 0, "auth": 0, "events": 0"#

    /// `TEST_ENGINE` names the engine of all hosts, such as `rocksdb`; without it they have the default one.
    private static let engine = ProcessInfo.processInfo.environment["TEST_ENGINE"]

    /// For tests that name its files.
    static let hasSQLite = engine ?? "sqlite" == "sqlite"

    func configure(
        bundles: String, ports: String = freePorts, project: String = "demo-shop", extra: String = ""
    ) throws {
        let store = Self.engine.map { #" "store": { "engine": "\#($0)" },"# } ?? ""
        try write(
            """
            {
              "project": "\(project)",
              "data": "\(data)",\(store)
              "listen": { \(ports) },
              "bundles": [ \(bundles) ]\(extra.isEmpty ? "" : ",\n  " + extra)
            }
            """, to: "functions.json")
    }

    func write(_ text: String, to name: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: path + "/" + name))
    }

    /// Writes the file of secrets, which a host refuses if others than its owner may read it.
    func writeSecrets(_ text: String, mode: Int = 0o600) throws {
        try write(text, to: ".secrets")
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path + "/.secrets")
    }

    /// Writes a shell script that a configuration can name as a bundle.
    /// - Returns: its path.
    func script(_ text: String) throws -> String {
        let script = path + "/bundle.sh"
        try ExecutableScript.make(text, at: script)
        return script
    }

    func program(_ bundle: Bundle) -> String { path + "/" + bundle.rawValue }

    /// The worker processes of this host, even if the host itself has ended.
    var workers: [Int32] { Bundle.allCases.flatMap { ProcessTable.running(program($0)) } }
}
