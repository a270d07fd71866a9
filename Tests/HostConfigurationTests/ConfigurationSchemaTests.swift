import StrictJSON
@testable import Workers
@testable import HostConfiguration
import Foundation
import Testing

struct ConfigurationSchemaTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    private static func schema() throws -> JSONNode {
        try JSONNode(parsing: Array(try Data(contentsOf: root.appendingPathComponent("Docs/functions.schema.json"))))
    }

    private static func keys(_ node: JSONNode?) throws -> Set<String> {
        Set(try #require(node?["properties"]).members().map(\.key))
    }

    @Test func schemaAndReaderHaveTheSameKeys() throws {
        let schema = try Self.schema()
        let parts = schema["$defs"]
        #expect(try Self.keys(schema) == Set(ConfigurationKeys.root))
        #expect(try Self.keys(parts?["listen"]) == Set(ConfigurationKeys.listen))
        #expect(try Self.keys(parts?["store"]) == Set(ConfigurationKeys.store))
        #expect(try Self.keys(parts?["bundle"]) == Set(ConfigurationKeys.bundle))
        #expect(try Self.keys(parts?["function"]) == Set(ConfigurationKeys.function))
        #expect(try Self.keys(parts?["budget"]) == Set(ConfigurationKeys.budget))
        #expect(try Self.keys(parts?["alerts"]) == Set(ConfigurationKeys.alerts))
        #expect(try Self.keys(parts?["releases"]) == Set(ConfigurationKeys.releases))
        #expect(try Self.keys(parts?["logs"]) == Set(ConfigurationKeys.logs))
        #expect(try Self.keys(parts?["limits"]) == Set(ConfigurationKeys.limits))
        let auth = parts?["auth"]
        #expect(try Self.keys(auth) == Set(ConfigurationKeys.auth))
        #expect(try Self.keys(auth?["properties"]?["passwords"]) == Set(ConfigurationKeys.passwords))
        #expect(try Self.keys(auth?["properties"]?["attempts"]) == Set(ConfigurationKeys.attempts))
        let mail = auth?["properties"]?["mail"]
        #expect(try Self.keys(mail) == Set(ConfigurationKeys.mail))
        #expect(try Self.keys(mail?["properties"]?["smtp"]) == Set(ConfigurationKeys.smtp))
        #expect(try Self.keys(mail?["properties"]?["webhook"]) == Set(ConfigurationKeys.webhook))
        let sms = auth?["properties"]?["sms"]
        #expect(try Self.keys(sms) == Set(ConfigurationKeys.sms))
        #expect(try Self.keys(sms?["properties"]?["webhook"]) == Set(ConfigurationKeys.webhook))
        let provider = auth?["properties"]?["providers"]?["additionalProperties"]
        #expect(try Self.keys(provider) == Set(ConfigurationKeys.provider))
        let appCheck = parts?["appCheck"]
        #expect(try Self.keys(appCheck) == Set(ConfigurationKeys.appCheck))
        #expect(try Self.keys(appCheck?["properties"]?["enforce"]) == Set(ConfigurationKeys.appCheckServices))
        let app = appCheck?["properties"]?["apps"]?["additionalProperties"]
        #expect(try Self.keys(app) == Set(ConfigurationKeys.appCheckApp))
        let ofEnvironment = Set(ConfigurationKeys.root).subtracting(ConfigurationKeys.fileOnly)
        #expect(try Self.keys(parts?["environment"]) == ofEnvironment)
    }

    /// Each environment may have a project of its own.
    @Test func aProjectMayBeOfEnvironmentsAlone() throws {
        let schema = try Self.schema()
        #expect(schema["required"] == nil)
        #expect(try schema["anyOf"]?.elements().count == 2)
    }

    @Test func schemaAndReaderHaveTheSameDefaults() throws {
        let parts = try #require(try Self.schema()["$defs"])
        func number(_ section: String, _ key: String) throws -> Int64? {
            try parts[section]?["properties"]?[key]?["default"]?.integer()
        }
        let listen = HostConfiguration.Listen()
        #expect(try number("listen", "functions") == Int64(listen.functions))
        #expect(try number("listen", "firestore") == Int64(listen.firestore))
        #expect(try number("listen", "auth") == Int64(listen.auth))
        #expect(try number("listen", "events") == Int64(listen.events))
        let warnAt = try parts["budget"]?["properties"]?["warnAt"]?["default"]?.double()
        #expect(warnAt == FunctionBudget().warnAt)
        let logs = HostConfiguration.Logs()
        #expect(try number("logs", "days") == Int64(logs.days))
        #expect(try number("logs", "mebibytes") == Int64(logs.mebibytes))
        let level = parts["logs"]?["properties"]?["level"]
        #expect(try level?["default"]?.string() == logs.level.rawValue)
        #expect(
            try level?["enum"]?.elements().map { try $0.string() }
                == HostConfiguration.Logs.Level.allCases.map(\.rawValue))
        let limits = HostLimits()
        #expect(try number("limits", "queue") == Int64(limits.queue))
        #expect(try number("limits", "connections") == Int64(limits.connections))
        #expect(try number("limits", "shutdownGrace") == Int64(limits.shutdownGrace))
        #expect(try number("limits", "eventDepth") == Int64(limits.eventDepth))
        #expect(try number("limits", "openFiles") == Int64(limits.openFiles))
        #expect(try number("limits", "processes") == Int64(limits.processes))
        for (key, bytes) in [("workerOperations", limits.workerBytes), ("allOperations", limits.allWorkersBytes)] {
            let size = try parts["limits"]?["properties"]?[key]?["default"]?.string()
            #expect(size == "\(bytes >> 20)MiB")
        }
        let sizes = try parts["function"]?["properties"]?["memory"]?["enum"]?.elements().map { try $0.string() }
        #expect(sizes == MemorySize.offered.compactMap { MemorySize(mebibytes: $0)?.description })
    }

    @Test func eachKeyHasADescription() throws {
        func check(_ node: JSONNode, _ name: String) throws {
            guard case .object(let members) = node.kind else { return }
            for member in members where member.key == "properties" || member.key == "$defs" {
                for property in try member.value.members() {
                    #expect(property.value["description"] != nil || property.value["$ref"] != nil, "\(property.key)")
                    try check(property.value, property.key)
                }
            }
        }
        try check(try Self.schema(), "")
    }

    @Test(arguments: [nil, "staging"])
    func theShopsConfigurationIsValid(environment: String?) throws {
        let read = try HostConfiguration.load(
            Self.root.appendingPathComponent("functions.json").path, environment: environment)
        #expect(read.project == (environment == nil ? "demo-shop" : "shop-staging"))
        #expect(read.functions["purchase"]?.maxInstances == 10)
    }
}
