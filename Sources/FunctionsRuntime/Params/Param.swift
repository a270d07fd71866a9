package import FunctionManifest

/// A value that the operator gives the bundle, in place of one that is written in its code.
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
/// The bundle lists it, so that the host knows of it before anything runs. A bundle isn't served while one without a
/// default is given by nobody.
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

    /// The value, within a handler.
    ///
    /// Where the bundle doesn't list the param, and where it is read before a function runs, as in the list of functions
    /// and their options, this ends the process with a sentence that says so: what functions there are must not depend
    /// on values that only a running one has.
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

/// A value that nobody else may see, such as a key for another service.
///
///     let stripeKey = defineSecret("STRIPE_KEY")
///
///     onCall("pay", .secrets(stripeKey)) { (request: CallableRequest<Cart>) in … stripeKey.value … }
///
/// Only functions with the option `.secrets` get it. The host takes it from its file of secrets, hands it over when the
/// worker is up, and takes it out of what the function logs.
public struct SecretParam: Sendable, CustomStringConvertible {
    public let name: String
    package let definition: ParamManifest

    init(_ name: String, _ description: String?) {
        self.name = name
        definition = ParamManifest(name, .secret, description: description)
    }

    /// The value, within a handler of a function with the option `.secrets`. In another one, and before a function
    /// runs, this ends the process with a sentence that says so.
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

/// A text. Without a default it must be given.
public func defineString(_ name: String, default: String? = nil, description: String? = nil) -> Param<String> {
    Param(name, .string, `default`.map { .string($0) }, description) {
        if case .string(let text) = $0 { text } else { nil }
    }
}

/// An integer. Without a default it must be given.
public func defineInt(_ name: String, default: Int? = nil, description: String? = nil) -> Param<Int> {
    Param(name, .int, `default`.map { .int($0) }, description) {
        if case .int(let number) = $0 { number } else { nil }
    }
}

/// True or false. Without a default it must be given.
public func defineBool(_ name: String, default: Bool? = nil, description: String? = nil) -> Param<Bool> {
    Param(name, .boolean, `default`.map { .boolean($0) }, description) {
        if case .boolean(let flag) = $0 { flag } else { nil }
    }
}

/// A list of texts. Without a default it must be given.
public func defineList(_ name: String, default: [String]? = nil, description: String? = nil) -> Param<[String]> {
    Param(name, .list, `default`.map { .list($0) }, description) {
        if case .list(let texts) = $0 { texts } else { nil }
    }
}

/// A secret, which must be given.
public func defineSecret(_ name: String, description: String? = nil) -> SecretParam {
    SecretParam(name, description)
}
