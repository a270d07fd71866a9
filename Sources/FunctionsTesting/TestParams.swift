import FunctionsRuntime
import FunctionManifest
import TextFormats

/// The value of a param in a test: a string, an integer, a number, a boolean, or a list of strings.
public struct TestParam: Sendable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral
{
    let value: ParamValue

    public init(stringLiteral value: String) { self.value = .string(value) }
    public init(integerLiteral value: Int) { self.value = .int(value) }
    public init(floatLiteral value: Double) { self.value = .float(value) }
    public init(booleanLiteral value: Bool) { self.value = .boolean(value) }
    public init(arrayLiteral elements: String...) { value = .list(elements) }
}

/// The params and secrets of a test.
struct TestParams: Sendable {
    private var values: [String: ParamValue] = [:]
    private let secrets: [String: String]

    /// - Throws: ``TestError`` if a value is missing, has another type, or belongs to a param that the bundle doesn't
    ///   declare.
    init(_ params: [ParamManifest], values given: [String: TestParam], secrets: [String: String]) throws {
        self.secrets = secrets
        var problems: [String] = []
        for param in params {
            if param.type == .secret {
                if secrets[param.name] == nil {
                    problems.append("the secret \(param.name) has no value; write secrets: [\"\(param.name)\": \"…\"]")
                }
            } else if let value = given[param.name]?.value ?? param.defaultValue {
                if let value = param.type.value(of: value), value.isFinite {
                    values[param.name] = value
                } else {
                    let words = value.isFinite ? value.type.words : "infinite or not a number"
                    problems.append("the param \(param.name) is \(param.type.words), but its value is \(words)")
                }
            } else {
                problems.append(
                    "the param \(param.name) has no value; write params: [\"\(param.name)\": \(param.type.example)]")
            }
        }
        let known = Set(params.map(\.name))
        for name in (Array(given.keys) + Array(secrets.keys)).sorted() where !known.contains(name) {
            let nearest = NearestName.of(name, in: known).map { "; did you mean \($0)?" } ?? ""
            problems.append("no bundle declares the param \(name)\(nearest)")
        }
        guard problems.isEmpty else { throw TestError(problems.joined(separator: "; ")) }
    }

    /// The values that a function may read.
    func values(for function: Function) -> ParamValues {
        let declared = Set(function.options.secretNames)
        return ParamValues(
            function: function.name, values: values, secrets: secrets.filter { declared.contains($0.key) })
    }
}

extension ParamType {
    /// A value as it is written in a test.
    fileprivate var example: String {
        switch self {
        case .string, .secret: "\"…\""
        case .int: "1"
        case .float: "0.5"
        case .boolean: "true"
        case .list: "[\"…\"]"
        }
    }
}
