import HostTesting
import FunctionManifest
@testable import HostConfiguration
@testable import Deployments
import Testing

@Suite struct FunctionPlanTests {
    private let configuration = HostConfiguration(
        project: "demo-shop", mode: .development, data: "/data", places: ConfigurationPlaces(file: "/functions.json"))

    private func release(_ bundle: String, _ params: [ParamManifest] = []) -> Release {
        Release(
            bundle: bundle, id: "r", executable: "/\(bundle)",
            manifest: Manifest(functions: [.created("of" + bundle)], params: params))
    }

    @Test func invalidParamsOfAServedBundleDoNotBlockAnotherBundle() throws {
        let releases = [release("a", [.init("A", .int)]), release("b", [.init("B", .secret)])]
        var asked: [String] = []
        func plan(keeping kept: Set<String>) throws(ConfigurationError) -> FunctionPlan {
            try FunctionPlan(releases, keeping: kept, configuration: configuration) {
                manifest throws(ConfigurationError) in
                asked.append(manifest.params[0].name)
                guard manifest.params[0].name == "A" else { throw ConfigurationError(file: "/.secrets", problems: []) }
                return ParamSources(variables: [VariableFile(path: "/.env", entries: ["A": .init(value: "7", line: 1)])]
                )
            }
        }
        let entries = try plan(keeping: ["b"]).entries
        #expect(entries.map(\.manifest.name) == ["ofa", "ofb"])
        #expect(entries[0].params.values == ["A": .int(7)] && entries[1].params.values.isEmpty)
        #expect(asked == ["A"])
        #expect(throws: ConfigurationError.self) { try plan(keeping: ["a"]) }
        #expect(try plan(keeping: ["a", "b"]).entries.count == 2)
    }
}
