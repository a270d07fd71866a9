package import FunctionManifest

/// A param of any type, as listed by a bundle.
public struct ParamDefinition: Sendable {
    package let manifest: ParamManifest

    init(_ manifest: ParamManifest) { self.manifest = manifest }
}

/// Lists a bundle's params as statements.
@resultBuilder
public enum ParamsBuilder {
    public static func buildExpression<Value>(_ param: Param<Value>) -> [ParamDefinition] {
        [ParamDefinition(param.definition)]
    }
    public static func buildExpression(_ secret: SecretParam) -> [ParamDefinition] {
        [ParamDefinition(secret.definition)]
    }
    public static func buildExpression(_ params: [ParamDefinition]) -> [ParamDefinition] { params }
    public static func buildBlock(_ parts: [ParamDefinition]...) -> [ParamDefinition] { parts.flatMap { $0 } }
    public static func buildOptional(_ part: [ParamDefinition]?) -> [ParamDefinition] { part ?? [] }
    public static func buildEither(first part: [ParamDefinition]) -> [ParamDefinition] { part }
    public static func buildEither(second part: [ParamDefinition]) -> [ParamDefinition] { part }
}

extension FunctionBundle {
    /// No params.
    public var params: [ParamDefinition] { [] }
}

extension FunctionOption {
    /// The secrets that the function may read. Other functions don't receive them.
    public static func secrets(_ secrets: SecretParam...) -> Self {
        .init { $0.secrets += secrets.map(\.definition) }
    }

    /// The same by name, for a secret that is declared elsewhere.
    public static func secrets(_ names: String...) -> Self {
        .init { $0.secrets += names.map { ParamManifest($0, .secret) } }
    }
}

extension Manifest {
    /// The params that the bundle lists, and the secrets that its functions declare.
    package init(_ bundle: some FunctionBundle) { self.init(bundle.configuredFunctions, params: bundle.params) }

    package init(_ functions: [Function], params: [ParamDefinition] = []) {
        var all = params.map(\.manifest)
        for secret in functions.flatMap(\.options.secrets) {
            // Duplicate declarations of a secret count once.
            if let index = all.firstIndex(where: { $0.name == secret.name && $0.type == .secret }) {
                if all[index].description == nil { all[index].description = secret.description }
            } else {
                all.append(secret)
            }
        }
        self.init(functions: functions.map(\.manifest), params: all)
    }

    /// All problems of the manifest and of the functions that it is of; empty if the bundle can be served.
    package func problems(of functions: [Function]) -> [ManifestProblem] {
        problems
            + functions.flatMap { function in
                function.problems.map { ManifestProblem(function: function.name, reason: $0) }
            }
    }
}
