import FunctionsRuntime
import FunctionsTesting
import Testing

private let greeting = defineString("GREETING", default: "Hello")
private let limit = defineInt("LIMIT")
private let tags = defineList("TAGS", default: ["a"])
private let loud = defineBool("LOUD", default: false)
private let key = defineSecret("KEY")

private struct ConfiguredFunctions: FunctionBundle {
    var params: [ParamDefinition] {
        greeting
        limit
        tags
        loud
    }

    var functions: [Function] {
        onCall("params") { (request: CallableRequest<NoData>) in
            "\(greeting.value) \(limit.value) \(tags.value.joined(separator: "+")) \(loud.value)"
        }
        onCall("secret", .secrets(key)) { (request: CallableRequest<NoData>) in key.value }
    }
}

@Suite struct ParamTests {
    @Test(arguments: [1, 2]) func eachTesterHasItsOwnValues(number: Int) async throws {
        let tester = try FunctionsTester(
            ConfiguredFunctions(), params: ["LIMIT": .init(integerLiteral: number), "LOUD": true, "TAGS": ["x", "y"]],
            secrets: ["KEY": "sesame\(number)"])
        #expect(try await tester.call("params") == "Hello \(number) x+y true")
        #expect(try await tester.call("secret") == "sesame\(number)")
    }

    @Test func whatIsMissingOrWrongIsNamed() {
        let error = #expect(throws: TestError.self) {
            try FunctionsTester(ConfiguredFunctions(), params: ["LOUD": "yes", "LIMTI": 1])
        }
        #expect(
            error?.description
                == "the param LIMIT has no value; the param LOUD is a boolean, but its value is a string; "
                + "the secret KEY has no value; the bundle declares no param LIMTI")
    }
}
