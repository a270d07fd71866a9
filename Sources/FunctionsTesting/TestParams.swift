import FunctionsRuntime
import FunctionManifest

/// The value of a param in a test: a text, an integer, true, false, or a list of texts.
public struct TestParam: Sendable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByArrayLiteral
{
    let value: ParamValue

    public init(stringLiteral value: String) { self.value = .string(value) }
    public init(integerLiteral value: Int) { self.value = .int(value) }
    public init(booleanLiteral value: Bool) { self.value = .boolean(value) }
    public init(arrayLiteral elements: String...) { value = .list(elements) }
}

/// What a test gives a bundle.
struct TestParams: Sendable {
    private var values: [String: ParamValue] = [:]
    private let secrets: [String: String]

    /// - Throws: ``TestError`` where a value is missing, of another type, or for a param that the bundle hasn't.
    init(_ params: [ParamManifest], values given: [String: TestParam], secrets: [String: String]) throws {
        self.secrets = secrets
        var problems: [String] = []
        for param in params {
            if param.type == .secret {
                if secrets[param.name] == nil { problems.append("the secret \(param.name) is given no value") }
            } else if let value = given[param.name]?.value ?? param.defaultValue {
                values[param.name] = value
                if value.type != param.type {
                    problems.append("the param \(param.name) is \(param.type.words), and is given \(value.type.words)")
                }
            } else {
                problems.append("the param \(param.name) is given no value")
            }
        }
        let known = Set(params.map(\.name))
        for name in (Array(given.keys) + Array(secrets.keys)).sorted() where !known.contains(name) {
            problems.append("the bundle has no param \(name)")
        }
        guard problems.isEmpty else { throw TestError(problems.joined(separator: "; ")) }
    }

    /// What one of the functions may read.
    func values(for function: Function) -> ParamValues {
        let declared = Set(function.options.secretNames)
        return ParamValues(
            function: function.name, values: values, secrets: secrets.filter { declared.contains($0.key) })
    }
}
