import FunctionManifest
@testable import FunctionsServing
import Testing

@Suite struct EnvironmentParamsTests {
    private func function(_ name: String, secrets: [String]) -> FunctionManifest {
        FunctionManifest(
            name: name, regions: ["us-central1"], memoryMiB: 256, timeoutSeconds: 60, cpu: 1, concurrency: 80,
            minInstances: 0, maxInstances: 100, labels: [:], secrets: secrets, ingress: "", invoker: [],
            isTransactional: false, trigger: .http(.init(cors: .off)))
    }

    private func params(_ params: [ParamManifest], _ variables: [String: String]) -> EnvironmentParams {
        let functions = [function("pay", secrets: ["KEY"]), function("look", secrets: [])]
        return EnvironmentParams(Manifest(functions: functions, params: params), of: functions, from: variables)
    }

    @Test func valuesAreReadByTheirTypes() {
        let all = params(
            [
                .init("TEXT", .string), .init("COUNT", .int), .init("FLAG", .boolean), .init("TAGS", .list),
                .init("REST", .int, defaultValue: .int(7)), .init("EMPTY", .string, defaultValue: .string("x")),
                .init("NONE", .int, defaultValue: .int(8)), .init("RATE", .float),
                .init("SHARE", .float, defaultValue: .float(0.5)),
            ],
            [
                "TEXT": "a", "COUNT": "-3", "FLAG": "TRUE", "TAGS": #"["a"]"#, "EMPTY": "", "NONE": "", "RATE": "0.1",
                "SHARE": "",
            ])
        #expect(all.problems.isEmpty)
        #expect(
            all.values == [
                "TEXT": .string("a"), "COUNT": .int(-3), "FLAG": .boolean(true), "TAGS": .list(["a"]), "REST": .int(7),
                "EMPTY": .string(""), "NONE": .int(8), "RATE": .float(0.1), "SHARE": .float(0.5),
            ])
    }

    @Test func aSecretIsForWhoDeclaresItAndIsAskedForByNobodyElse() {
        let all = params([.init("KEY", .secret), .init("OTHER", .secret)], ["KEY": "swordfish"])
        #expect(all.problems.isEmpty)
        #expect(all.values(for: function("pay", secrets: ["KEY"])).secrets == ["KEY": "swordfish"])
        #expect(all.values(for: function("look", secrets: [])).secrets.isEmpty)
    }

    @Test func everyProblemIsToldAndNoValue() {
        let long = String(repeating: "7", count: ParamManifest.maxValue + 1)
        let all = params(
            [
                .init("COUNT", .int), .init("TAGS", .list), .init("TEXT", .string), .init("NONE", .string),
                .init("KEY", .secret), .init("RATE", .float),
            ],
            ["COUNT": "swordfish", "RATE": "1e999", "TAGS": "swordfish", "TEXT": long, "KEY": ""])
        #expect(all.problems.count == 6)
        for name in ["COUNT", "TAGS", "TEXT", "NONE", "KEY", "RATE"] {
            #expect(all.problems.contains { $0.contains(name) }, "\(name)")
        }
        #expect(!all.problems.contains { $0.contains("swordfish") })
    }
}
