package import FunctionManifest

/// A function as a value: its name, what starts it, what it may use and its handler.
///
/// Made by `onCall`, `onRequest`, `onDocumentCreated` and their kin, `onSchedule`, `onTaskDispatched`,
/// `onCustomEventPublished` and `onMessagePublished`; listed by a ``FunctionBundle``.
public struct Function: Sendable {
    /// The last part of the function's URL, and its name in logs. Matches `^[a-zA-Z][a-zA-Z0-9_-]{0,62}$`.
    public let name: String
    package let options: FunctionOptions
    package let trigger: TriggerManifest
    package let handler: Handler

    package init(name: String, options: FunctionOptions, trigger: TriggerManifest, handler: Handler) {
        self.name = name
        self.options = options
        self.trigger = trigger
        self.handler = handler
    }

    /// What runs when the function is started, by kind.
    package enum Handler: Sendable {
        case callable(CallableHandler)
        case http(@Sendable (HTTPRequest) async throws -> HTTPResponse)
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

/// A named set of functions: the program's entry.
///
///     @main
///     struct ShopFunctions: FunctionBundle {
///         var functions: [Function] {
///             onCall("hello") { (request: CallableRequest<NoData>) in "Hello" }
///         }
///     }
///
/// The same executable prints its manifest and serves as a worker; `functions-host` starts it for both.
public protocol FunctionBundle: Sendable {
    init()

    /// The bundle's functions. Names are unique; the bundle doesn't start where they aren't, or where an option is
    /// impossible, and says which and why.
    @FunctionsBuilder var functions: [Function] { get }

    /// What the operator gives the bundle. Secrets that a function declares by its option `.secrets` need not be listed.
    @ParamsBuilder var params: [ParamDefinition] { get }
}

/// Lets a bundle list its functions one below the other.
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
