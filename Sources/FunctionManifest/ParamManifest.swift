/// A param as the bundle declares it: a value that the operator supplies.
package struct ParamManifest: Codable, Hashable, Sendable {
    package var name: String
    package var type: ParamType
    /// The default value; nil if the operator must supply one. Secrets have none.
    package var defaultValue: ParamValue?
    package var description: String?

    package init(_ name: String, _ type: ParamType, defaultValue: ParamValue? = nil, description: String? = nil) {
        self.name = name
        self.type = type
        self.defaultValue = defaultValue
        self.description = description
    }

    package static let maxParams = 200
    /// The maximum size of a value.
    package static let maxValue = 65_536
}

package enum ParamType: String, Codable, Hashable, Sendable {
    case string, int, float, boolean, list, secret

    /// The type in messages.
    package var words: String {
        switch self {
        case .string: "a string"
        case .int: "an integer"
        case .float: "a finite number"
        case .boolean: "a boolean"
        case .list: "a list of strings"
        case .secret: "a secret"
        }
    }
}

/// A param's value. Secrets are strings, and are stored separately: see ``ParamValues``.
package enum ParamValue: Codable, Hashable, Sendable {
    case string(String)
    case int(Int)
    case float(Double)
    case boolean(Bool)
    case list([String])

    package var type: ParamType {
        switch self {
        case .string: .string
        case .int: .int
        case .float: .float
        case .boolean: .boolean
        case .list: .list
        }
    }
}

extension ParamManifest {
    /// Whether the name is valid in `.env` files and as an environment variable.
    package static func isValidName(_ name: String) -> Bool {
        guard let first = name.utf8.first, !isDigit(first), name.utf8.count <= 128 else { return false }
        return name.utf8.allSatisfy { (65...90).contains($0) || isDigit($0) || $0 == UInt8(ascii: "_") }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (48...57).contains(byte) }

    /// Names that have another meaning in the environments where functions run.
    private static let reserved: Set<String> = [
        "CLOUD_RUNTIME_CONFIG", "ENTRY_POINT", "EVENTARC_CLOUD_EVENT_SOURCE", "FIREBASE_CONFIG",
        "FIRESTORE_EMULATOR_HOST",
        "FUNCTION_IDENTITY", "FUNCTION_MEMORY_MB", "FUNCTION_NAME", "FUNCTION_REGION", "FUNCTION_SIGNATURE_TYPE",
        "FUNCTION_TARGET",
        "FUNCTION_TIMEOUT_SEC", "FUNCTION_TRIGGER_TYPE", "GCE_METADATA_HOST", "GCLOUD_PROJECT", "GCP_PROJECT",
        "ALLOWED_HOSTS", "GOOGLE_CLOUD_PROJECT", "HOME", "HOST", "PATH", "PORT", "TRUSTED_PROXIES", "TZ",
    ]
    private static let reservedPrefixes = ["X_GOOGLE_", "FIREBASE_", "EXT_", "K_"]

    var problems: [String] {
        var problems: [String] = []
        if !Self.isValidName(name) {
            problems.append(
                "the name must consist of at most 128 capital letters, digits and \"_\", and not start with a digit")
        } else if Self.reserved.contains(name) || Self.reservedPrefixes.contains(where: name.hasPrefix) {
            problems.append("the name is reserved; choose another")
        }
        if let defaultValue, defaultValue.type != type {
            problems.append("it is \(type.words), and its default is \(defaultValue.type.words)")
        }
        if defaultValue?.isFinite == false { problems.append("its default isn't a finite number") }
        if let defaultValue, defaultValue.byteCount > Self.maxValue {
            problems.append("its default has \(defaultValue.byteCount) bytes; the limit is \(Self.maxValue)")
        }
        return problems
    }
}

extension ParamValue {
    /// False for a number that is infinite or not a number.
    package var isFinite: Bool { if case .float(let number) = self { number.isFinite } else { true } }

    package var byteCount: Int {
        switch self {
        case .string(let text): text.utf8.count
        case .int, .float, .boolean: 8
        case .list(let texts): texts.reduce(0) { $0 + $1.utf8.count + 4 }
        }
    }
}

extension Manifest {
    /// The problems of the params, and of the functions' references to them.
    var paramProblems: [ManifestProblem] {
        var problems: [ManifestProblem] = []
        var names: Set<String> = []
        for param in params {
            if !names.insert(param.name).inserted {
                problems.append(.init(param: param.name, reason: "two params have this name; rename one"))
            }
            problems += param.problems.map { ManifestProblem(param: param.name, reason: $0) }
        }
        if params.count > ParamManifest.maxParams {
            problems.append(
                .init(
                    param: params[ParamManifest.maxParams].name,
                    reason: "there are \(params.count) params; the limit is \(ParamManifest.maxParams)"))
        }
        let secrets = Set(params.filter { $0.type == .secret }.map(\.name))
        for function in functions {
            for secret in function.secrets where !secrets.contains(secret) {
                problems.append(
                    .init(
                        function: function.name,
                        reason: "it reads the secret \"\(secret)\", which the bundle doesn't declare"))
            }
        }
        return problems
    }
}
