/// A value that a bundle's functions need and the operator gives: what the bundle tells of it.
package struct ParamManifest: Codable, Hashable, Sendable {
    package var name: String
    package var type: ParamType
    /// What it is where nobody gives one; nil where it must be given. Secrets have none.
    package var defaultValue: ParamValue?
    package var description: String?

    package init(_ name: String, _ type: ParamType, defaultValue: ParamValue? = nil, description: String? = nil) {
        self.name = name
        self.type = type
        self.defaultValue = defaultValue
        self.description = description
    }

    package static let maxParams = 200
    /// Bytes of one value.
    package static let maxValue = 65_536
}

package enum ParamType: String, Codable, Hashable, Sendable {
    case string, int, boolean, list, secret

    /// For sentences.
    package var words: String {
        switch self {
        case .string: "a text"
        case .int: "an integer"
        case .boolean: "true or false"
        case .list: "a list of texts"
        case .secret: "a secret"
        }
    }
}

/// A param's value. Those of secrets are texts, and are never in here: see ``ParamValues``.
package enum ParamValue: Codable, Hashable, Sendable {
    case string(String)
    case int(Int)
    case boolean(Bool)
    case list([String])

    package var type: ParamType {
        switch self {
        case .string: .string
        case .int: .int
        case .boolean: .boolean
        case .list: .list
        }
    }
}

extension ParamManifest {
    /// Whether it can be named in files of variables and as a variable of the environment.
    package static func isValidName(_ name: String) -> Bool {
        guard let first = name.utf8.first, !isDigit(first), name.utf8.count <= 128 else { return false }
        return name.utf8.allSatisfy { (65...90).contains($0) || isDigit($0) || $0 == UInt8(ascii: "_") }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (48...57).contains(byte) }

    /// Names that mean something else wherever functions run.
    private static let reserved: Set<String> = [
        "CLOUD_RUNTIME_CONFIG", "ENTRY_POINT", "EVENTARC_CLOUD_EVENT_SOURCE", "FIREBASE_CONFIG",
        "FIRESTORE_EMULATOR_HOST",
        "FUNCTION_IDENTITY", "FUNCTION_MEMORY_MB", "FUNCTION_NAME", "FUNCTION_REGION", "FUNCTION_SIGNATURE_TYPE",
        "FUNCTION_TARGET",
        "FUNCTION_TIMEOUT_SEC", "FUNCTION_TRIGGER_TYPE", "GCE_METADATA_HOST", "GCLOUD_PROJECT", "GCP_PROJECT",
        "GOOGLE_CLOUD_PROJECT", "HOME", "HOST", "PATH", "PORT", "TRUSTED_PROXIES", "TZ",
    ]
    private static let reservedPrefixes = ["X_GOOGLE_", "FIREBASE_", "EXT_", "K_"]

    var problems: [String] {
        var problems: [String] = []
        if !Self.isValidName(name) {
            problems.append("the name has at most 128 capital letters, digits and \"_\", and no digit first")
        } else if Self.reserved.contains(name) || Self.reservedPrefixes.contains(where: name.hasPrefix) {
            problems.append("the name is reserved; choose another")
        }
        if let defaultValue, defaultValue.type != type {
            problems.append("it is \(type.words), and its default is \(defaultValue.type.words)")
        }
        if let defaultValue, defaultValue.byteCount > Self.maxValue {
            problems.append("its default has \(defaultValue.byteCount) bytes; the limit is \(Self.maxValue)")
        }
        return problems
    }
}

extension ParamValue {
    package var byteCount: Int {
        switch self {
        case .string(let text): text.utf8.count
        case .int, .boolean: 8
        case .list(let texts): texts.reduce(0) { $0 + $1.utf8.count + 4 }
        }
    }
}

extension Manifest {
    /// What is wrong with the params, and with what functions say of them.
    var paramProblems: [ManifestProblem] {
        var problems: [ManifestProblem] = []
        var names: Set<String> = []
        for param in params {
            if !names.insert(param.name).inserted {
                problems.append(.init(param: param.name, reason: "there are two of this name; rename one"))
            }
            problems += param.problems.map { ManifestProblem(param: param.name, reason: $0) }
        }
        if params.count > ParamManifest.maxParams {
            problems.append(
                .init(
                    param: params[ParamManifest.maxParams].name,
                    reason: "there are \(params.count) params; \(ParamManifest.maxParams) are possible"))
        }
        let secrets = Set(params.filter { $0.type == .secret }.map(\.name))
        for function in functions {
            for secret in function.secrets where !secrets.contains(secret) {
                problems.append(
                    .init(
                        function: function.name, reason: "it reads the secret \"\(secret)\", which the bundle has not"))
            }
        }
        return problems
    }
}
