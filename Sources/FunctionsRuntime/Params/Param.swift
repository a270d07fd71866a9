package import FunctionManifest

/// A value that the operator supplies, instead of one in the code.
///
///     let greeting = defineString("GREETING", default: "Hello", description: "How users are greeted")
///
///     @main
///     struct HelloFunctions: FunctionBundle {
///         var params: [ParamDefinition] { greeting }
///         var functions: [Function] {
///             onCall("hello") { (request: CallableRequest<String>) in "\(greeting.value) \(request.data)" }
///         }
///     }
///
/// The bundle lists its params, so that the host knows them before a function runs. A bundle isn't served if a param
/// without a default has no value.
public struct Param<Value: Sendable>: Sendable {
    public let name: String
    package let definition: ParamManifest
    private let read: @Sendable (ParamValue) -> Value?

    init(
        _ name: String, _ type: ParamType, _ defaultValue: ParamValue?, _ description: String?,
        read: @escaping @Sendable (ParamValue) -> Value?
    ) {
        self.name = name
        self.read = read
        definition = ParamManifest(name, type, defaultValue: defaultValue, description: description)
    }

    /// The value, for use in a handler.
    ///
    /// If the bundle doesn't list the param, or if it is read before a function runs, for example in the list of
    /// functions, the process exits with an error that says so: the list of functions must not depend on values that
    /// are available only later.
    public var value: Value {
        guard let values = ParamStore.values else { ParamStore.stopReading("param", name) }
        guard let value = values.values[name] else {
            fatalError("The bundle doesn't list the param \(name). Add it to the bundle's params.")
        }
        guard let value = read(value) else {
            fatalError("The bundle lists another param \(name), which is \(value.type.words). Rename one.")
        }
        return value
    }
}

/// A confidential value, such as an API key of another service.
///
///     let stripeKey = defineSecret("STRIPE_KEY")
///
///     onCall("pay", .secrets(stripeKey)) { (request: CallableRequest<Cart>) in … stripeKey.value … }
///
/// Only functions with the option `.secrets` receive it. The host reads it from its file of secrets, sends it to the
/// worker when the worker is ready, and redacts it from what the function logs.
public struct SecretParam: Sendable, CustomStringConvertible {
    public let name: String
    package let definition: ParamManifest

    init(_ name: String, _ description: String?) {
        self.name = name
        definition = ParamManifest(name, .secret, description: description)
    }

    /// The value, for use in a handler of a function with the option `.secrets`. In another function, or before a
    /// function runs, the process exits with an error that says so.
    public var value: String {
        guard let values = ParamStore.values else { ParamStore.stopReading("secret", name) }
        guard let value = values.secrets[name] else {
            fatalError(
                "The function \(values.function) doesn't declare the secret \(name). Give it the option .secrets(…) "
                    + "with this secret.")
        }
        return value
    }

    /// The name, never the value.
    public var description: String { name }
}

/// Declares a string param. Without a default it is required.
public func defineString(_ name: String, default: String? = nil, description: String? = nil) -> Param<String> {
    Param(name, .string, `default`.map { .string($0) }, description) {
        if case .string(let text) = $0 { text } else { nil }
    }
}

/// Declares an integer param. Without a default it is required.
public func defineInt(_ name: String, default: Int? = nil, description: String? = nil) -> Param<Int> {
    Param(name, .int, `default`.map { .int($0) }, description) {
        if case .int(let number) = $0 { number } else { nil }
    }
}

/// Declares a param with a number, which may have a fraction. Without a default it is required. Values are finite.
public func defineFloat(_ name: String, default: Double? = nil, description: String? = nil) -> Param<Double> {
    Param(name, .float, `default`.map { .float($0) }, description) {
        if case .float(let number) = $0 { number } else { nil }
    }
}

/// Declares a boolean param. Without a default it is required.
public func defineBool(_ name: String, default: Bool? = nil, description: String? = nil) -> Param<Bool> {
    Param(name, .boolean, `default`.map { .boolean($0) }, description) {
        if case .boolean(let flag) = $0 { flag } else { nil }
    }
}

/// Declares a param with a list of strings. Without a default it is required.
public func defineList(_ name: String, default: [String]? = nil, description: String? = nil) -> Param<[String]> {
    Param(name, .list, `default`.map { .list($0) }, description) {
        if case .list(let texts) = $0 { texts } else { nil }
    }
}

/// Declares a secret, which is required.
public func defineSecret(_ name: String, description: String? = nil) -> SecretParam {
    SecretParam(name, description)
}
