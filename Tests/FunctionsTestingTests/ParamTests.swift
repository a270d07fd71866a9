import FunctionsRuntime
import FunctionsTesting
import Testing

private let greeting = defineString("GREETING", default: "Hello")
private let limit = defineInt("LIMIT")
private let rate = defineFloat("RATE", default: 0.25)
private let tags = defineList("TAGS", default: ["a"])
private let loud = defineBool("LOUD", default: false)
private let key = defineSecret("KEY")

private struct ConfiguredFunctions: FunctionBundle {
    var params: [ParamDefinition] {
        greeting
        limit
        rate
        tags
        loud
    }

    var functions: [Function] {
        onCall("params") { (request: CallableRequest<NoData>) in
            "\(greeting.value) \(limit.value) \(rate.value) \(tags.value.joined(separator: "+")) \(loud.value)"
        }
        onCall("secret", .secrets(key)) { (request: CallableRequest<NoData>) in key.value }
    }
}

@Suite struct ParamTests {
    @Test(arguments: [1, 2]) func eachTesterHasItsOwnValues(number: Int) async throws {
        let tester = try FunctionsTester(
            ConfiguredFunctions(), params: ["LIMIT": .init(integerLiteral: number), "LOUD": true, "TAGS": ["x", "y"]],
            secrets: ["KEY": "sesame\(number)"])
        #expect(try await tester.call("params") == "Hello \(number) 0.25 x+y true")
        #expect(try await tester.call("secret") == "sesame\(number)")
    }

    @Test(arguments: [(TestParam.init(floatLiteral: 1e-3), "0.001"), (3, "3.0")])
    func aNumberMayBeWrittenAsAnInteger(rate: TestParam, text: String) async throws {
        let tester = try FunctionsTester(
            ConfiguredFunctions(), params: ["LIMIT": 1, "RATE": rate], secrets: ["KEY": "k"])
        #expect(try await tester.call("params") == "Hello 1 \(text) a false")
    }

    @Test(
        arguments: [
            ("1", "a string"), (true, "a boolean"), (TestParam(floatLiteral: .infinity), "infinite or not a number"),
            (TestParam(floatLiteral: .nan), "infinite or not a number"),
        ] as [(TestParam, String)])
    func aValueThatIsNotAFiniteNumberIsRefused(rate: TestParam, words: String) {
        let error = #expect(throws: TestError.self) {
            try FunctionsTester(ConfiguredFunctions(), params: ["LIMIT": 1, "RATE": rate], secrets: ["KEY": "k"])
        }
        #expect(error?.description == "the param RATE is a finite number, but its value is \(words)")
    }

    @Test func aFractionIsNotAnInteger() {
        let error = #expect(throws: TestError.self) {
            try FunctionsTester(ConfiguredFunctions(), params: ["LIMIT": 1.5], secrets: ["KEY": "k"])
        }
        #expect(error?.description == "the param LIMIT is an integer, but its value is a finite number")
    }

    @Test func whatIsMissingOrWrongIsNamed() {
        let error = #expect(throws: TestError.self) {
            try FunctionsTester(ConfiguredFunctions(), params: ["LOUD": "yes", "LIMTI": 1])
        }
        #expect(
            error?.description
                == #"the param LIMIT has no value; write params: ["LIMIT": 1]; "#
                + "the param LOUD is a boolean, but its value is a string; "
                + #"the secret KEY has no value; write secrets: ["KEY": "…"]; "#
                + "no bundle declares the param LIMTI; did you mean LIMIT?")
    }

    private struct Listener: FunctionBundle {
        var params: [ParamDefinition] { greeting }
        var functions: [Function] {
            onDocumentCreated("greets", document: "guests/{id}") { event in
                try await event.firestore.document("greetings/g").setData(["text": greeting.value])
            }
        }
    }

    private struct Writer: FunctionBundle {
        var params: [ParamDefinition] { greeting }
        var functions: [Function] {
            onCall("arrives") { (request: CallableRequest<String>) in
                try await request.firestore.collection("guests").document(request.data).setData([:])
            }
        }
    }

    @Test func severalBundlesShareOneStore() async throws {
        let tester = try FunctionsTester(Listener(), Writer(), params: ["GREETING": "Hi"])
        _ = try await tester.call("arrives", "ada", returning: NoData.self)
        try await tester.deliverAll()
        #expect(try await tester.firestore.document("greetings/g").getDocument()["text"] == .string("Hi"))
        let twice = #expect(throws: TestError.self) { try FunctionsTester(Writer(), Writer()) }
        #expect(twice?.description.contains("arrives") ?? false)
    }
}
