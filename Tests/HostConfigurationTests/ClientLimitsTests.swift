import DocumentStore
@testable import HostConfiguration
import Foundation
import Sharing
import StrictJSON
import Testing

/// The section `clients`.
struct ClientLimitsTests {
    private static let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Docs/functions.schema.json")

    private func read(_ clients: String) throws(ConfigurationError) -> ClientLimits {
        let text = #"{"project": "demo-shop", "clients": \#(clients)}"#
        return try ConfigurationReader.read(Array(text.utf8), file: "functions.json", environment: nil).clients
    }

    private func error(_ clients: String) -> String {
        do throws(ConfigurationError) {
            _ = try read(clients)
            return ""
        } catch {
            return error.description
        }
    }

    /// As the file has it.
    private func text(_ value: Int, _ kind: ClientOption.Kind) -> String {
        if case .bytes = kind {
            value < 1 << 20 ? "\"\(value >> 10)KiB\"" : "\"\(value >> 20)MiB\""
        } else {
            "\(value)"
        }
    }

    @Test func eachKeyReachesItsFieldWithinItsRange() throws {
        for (part, options) in ClientOption.parts {
            for option in options {
                for value in [option.range.lowerBound, option.range.upperBound] {
                    var expected = ClientLimits()
                    expected[keyPath: option.field] = value
                    let member = #"{"\#(part)": {"\#(option.key)": \#(text(value, option.kind))}}"#
                    #expect(try read(member) == expected, "\(member)")
                }
                for value in ["0", "-1", "\"0KiB\"", "\"70000MiB\"", "true", "2000000", "1.5"] {
                    let said = error(#"{"\#(part)": {"\#(option.key)": \#(value)}}"#)
                    #expect(said.contains("clients.\(part).\(option.key): "), "\(said)")
                    #expect(said.contains("; write \(least(option)) … "), "\(said)")
                }
            }
        }
    }

    private func least(_ option: ClientOption) -> String {
        text(option.range.lowerBound, option.kind).replacingOccurrences(of: "\"", with: "")
    }

    @Test func whatIsUnknownIsNamed() {
        #expect(error(#"{"listn": {}}"#).contains("did you mean \"listen\"?"))
        #expect(error(#"{"listen": {"targetPerStream": 2}}"#).contains("did you mean \"targetsPerStream\"?"))
        #expect(error("[]").contains("is not an object"))
        #expect(error(#"{"grpc": 5}"#).contains("is not an object"))
    }

    @Test func theSchemaHasTheSameKeysRangesAndDefaults() throws {
        let section = try JSONNode(parsing: Array(try Data(contentsOf: Self.page)))["$defs"]?["clients"]?["properties"]
        let parts = try #require(section)
        #expect(try parts.members().map(\.key) == ClientOption.parts.map(\.name))
        for (part, options) in ClientOption.parts {
            let properties = try #require(parts[part]?["properties"])
            #expect(try properties.members().map(\.key) == options.map(\.key))
            for option in options {
                let property = try #require(properties[option.key])
                let standard = ClientLimits()[keyPath: option.field]
                if case .bytes = option.kind {
                    #expect(try "\"\(property["default"]?.string() ?? "")\"" == text(standard, option.kind))
                    let most = "\(option.range.upperBound >> 20)MiB"
                    #expect(try property["description"]?.string().hasSuffix(", \(least(option)) to \(most).") == true)
                } else {
                    #expect(try property["default"]?.integer() == Int64(standard))
                    #expect(try property["minimum"]?.integer() == Int64(option.range.lowerBound))
                    #expect(try property["maximum"]?.integer() == Int64(option.range.upperBound))
                }
            }
        }
    }

    @Test func theDefaultsAreTheStores() {
        let (listen, store) = (ClientLimits().listen, StoreConfiguration())
        #expect(listen.listeners == store.maxListeners)
        #expect(listen.listenersPerClient == store.maxListenersPerClient)
        #expect(listen.waitingChanges == store.maxListenerEvents)
        #expect(listen.waitingBytes == store.maxListenerBytes)
        #expect(listen.allWaitingBytes == store.maxUnreadBytes)
        #expect(listen.windowBytesPerClient == store.maxWindowBytesPerClient)
        #expect(listen.allWindowBytes == store.maxWindowBytes)
        #expect(.seconds(listen.refillSeconds) == store.maxRefillTime)
        #expect(listen.backlog == store.maxListenerBacklog)
    }
}
