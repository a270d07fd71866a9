import FunctionManifest

/// The values of a bundle's params as the environment's variables have them, or why there are none.
struct EnvironmentParams {
    private(set) var values: [String: ParamValue] = [:]
    private(set) var secrets: [String: String] = [:]
    /// A sentence each.
    private(set) var problems: [String] = []

    /// - Parameter functions: those that are served; secrets that none of them declares needn't be given.
    init(_ manifest: Manifest, of functions: [FunctionManifest], from variables: [String: String]) {
        for param in manifest.params where param.type != .secret {
            // An empty variable isn't there, but for a text, which may be empty.
            if let text = variables[param.name], !text.isEmpty || param.type == .string {
                resolve(param, text)
            } else if let value = param.defaultValue {
                values[param.name] = value
            } else {
                problems.append(
                    "the param \(param.name) has no value; set the variable \(param.name) to \(param.type.words)")
            }
        }
        let declared = Set(functions.flatMap(\.secrets))
        for secret in manifest.params where secret.type == .secret && declared.contains(secret.name) {
            let readers = functions.filter { $0.secrets.contains(secret.name) }.map(\.name).joined(separator: ", ")
            let text = variables[secret.name] ?? ""
            if text.isEmpty {
                problems.append(
                    "the secret \(secret.name), which \(readers) needs, has no value; set the variable \(secret.name)")
            } else if isInBounds(secret, text.utf8.count) {
                secrets[secret.name] = text
            }
        }
    }

    private mutating func resolve(_ param: ParamManifest, _ text: String) {
        guard let value = param.type.value(of: text) else {
            problems.append(
                "the param \(param.name) is \(param.type.words), and the variable \(param.name) is something else; set "
                    + "it to \(param.type.plainExample)")
            return
        }
        if isInBounds(param, value.byteCount) { values[param.name] = value }
    }

    private mutating func isInBounds(_ param: ParamManifest, _ bytes: Int) -> Bool {
        guard bytes > ParamManifest.maxValue else { return true }
        problems.append(
            "the variable \(param.name) has \(bytes) bytes; the limit is \(ParamManifest.maxValue)")
        return false
    }

    /// What one of the functions may read.
    func values(for function: FunctionManifest) -> ParamValues {
        ParamValues(of: function, values: values, secrets: secrets)
    }
}
