package import FunctionManifest

/// A function as a value: its name, trigger, options and handler.
///
/// Created by `onCall`, `onRequest`, `onDocumentCreated`, `onValueCreated`, `onUserCreated`, `beforeUserCreated` and
/// similar, `onSchedule`, `onTaskDispatched`, `onCustomEventPublished` and `onMessagePublished`, and listed by a
/// ``FunctionBundle``.
public struct Function: Sendable {
    /// The last part of the function's URL, and its name in logs. Matches `^[a-zA-Z][a-zA-Z0-9_-]{0,62}$`.
    public let name: String
    package let options: FunctionOptions
    package let trigger: TriggerManifest
    package let handler: Handler
    /// Why it can't be served, in addition to its manifest's problems.
    let problems: [String]
    private let parts: Parts

    /// What a function is made of, for making it again with a bundle's defaults.
    private struct Parts: Sendable {
        let options: [@Sendable (inout FunctionOptions) -> Void]
        let problems: [String]
        let make: @Sendable (FunctionOptions) -> (trigger: TriggerManifest, handler: Handler)
    }

    init<Kind>(
        _ name: String, _ options: [FunctionOption<Kind>], problems: [String] = [],
        _ make: @escaping @Sendable (FunctionOptions) -> (trigger: TriggerManifest, handler: Handler)
    ) {
        self.init(
            name: name, FunctionOptions(), Parts(options: options.map(\.apply), problems: problems, make: make))
    }

    private init(name: String, _ defaults: FunctionOptions, _ parts: Parts) {
        var options = defaults
        swap(&options.timeout, &options.defaultTimeout)
        for apply in parts.options { apply(&options) }
        self.name = name
        self.options = options
        (trigger, handler) = parts.make(options)
        var problems = parts.problems + options.fractionProblems
        if let problem = options.retry?.problem(of: trigger) { problems.append(problem) }
        if let problem = options.idempotency.problem(of: handler) { problems.append(problem) }
        if let problem = options.cors?.problem { problems.append(problem) }
        self.problems = problems
        self.parts = parts
    }

    /// The same function with the bundle's defaults for options that it doesn't set.
    func with(_ defaults: FunctionDefaults) -> Function { Function(name: name, defaults.options, parts) }

    /// The handler, by kind of function.
    package enum Handler: Sendable {
        case callable(CallableHandler)
        case http(HTTPHandler)
        case event(EventHandler)

        package var isTransactional: Bool {
            switch self {
            case .callable(let handler): handler.isTransactional
            case .http: false
            case .event(let handler): handler.isTransactional
            }
        }
    }
}

/// A named set of functions, and the program's entry point.
///
///     @main
///     struct ShopFunctions: FunctionBundle {
///         var functions: [Function] {
///             onCall("hello") { (request: CallableRequest<NoData>) in "Hello" }
///         }
///     }
///
/// The same executable prints its manifest and runs as a worker; `functions-host` starts it for both.
public protocol FunctionBundle: Sendable {
    init()

    /// The bundle's functions. If names aren't unique or an option is invalid, the bundle exits at startup with an
    /// error that names the function and the reason.
    @FunctionsBuilder var functions: [Function] { get }

    /// Options for all functions of the bundle that don't set them. Default: none.
    var defaults: FunctionDefaults { get }

    /// The values that the operator supplies. Secrets that a function declares with the option `.secrets` needn't be
    /// listed.
    @ParamsBuilder var params: [ParamDefinition] { get }
}

extension FunctionBundle {
    public var defaults: FunctionDefaults { FunctionDefaults() }

    /// The bundle's functions with its defaults.
    package var configuredFunctions: [Function] {
        let defaults = defaults
        return functions.map { $0.with(defaults) }
    }
}

/// Lists a bundle's functions as statements.
@resultBuilder
public enum FunctionsBuilder {
    public static func buildExpression(_ function: Function) -> [Function] { [function] }
    public static func buildExpression(_ functions: [Function]) -> [Function] { functions }
    public static func buildBlock(_ parts: [Function]...) -> [Function] { parts.flatMap { $0 } }
    public static func buildOptional(_ part: [Function]?) -> [Function] { part ?? [] }
    public static func buildEither(first part: [Function]) -> [Function] { part }
    public static func buildEither(second part: [Function]) -> [Function] { part }
    public static func buildArray(_ parts: [[Function]]) -> [Function] { parts.flatMap { $0 } }
}
