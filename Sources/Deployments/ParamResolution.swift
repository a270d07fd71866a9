import FunctionManifest
import StrictJSON

/// Resolves the values of one bundle's params from its manifest and the given sources, or reports why one has no value.
/// Reads no files.
struct ParamResolution {
    struct Problem: Equatable {
        /// The key of `functions.json` to change or to add.
        var key: String
        var message: String
    }

    private let manifest: Manifest
    private let bundle: String
    private let sources: ParamSources
    private(set) var values: [String: ParamValue] = [:]
    private(set) var secrets: [String: String] = [:]
    private(set) var problems: [Problem] = []

    init(_ manifest: Manifest, of bundle: String, from sources: ParamSources) {
        self.manifest = manifest
        self.bundle = bundle
        self.sources = sources
        for param in manifest.params {
            if param.type == .secret { resolveSecret(param) } else { resolve(param) }
        }
    }

    /// The values that one of the functions may read.
    func values(for function: FunctionManifest) -> ParamValues {
        ParamValues(of: function, values: values, secrets: secrets)
    }

    // MARK: Params

    private mutating func resolve(_ param: ParamManifest) {
        if let configured = sources.configured[param.name] {
            guard let value = param.type.value(of: configured) else {
                return report(
                    param, "params.\(param.name)",
                    "it is \(param.type.words), and its value is \(configured.type.words); write \(param.type.example)")
            }
            return accept(param, value)
        }
        if let (entry, file) = sources.variables.lastEntry(named: param.name) {
            guard let value = param.type.value(of: entry.value) else {
                return report(
                    param, "",
                    "it is \(param.type.words), and its value in \(file.path):\(entry.line) is not; write "
                        + "\(param.name)=\(param.type.example)")
            }
            return accept(param, value)
        }
        if let value = param.defaultValue {
            values[param.name] = value
            return
        }
        let place =
            sources.secrets.contains { $0.entries[param.name] != nil }
            ? "it is not a secret, but it is in a file of secrets; move it" : "it has no value"
        report(
            param, "params",
            "\(place). Write \"params\": { \"\(param.name)\": \(param.type.example) } in functions.json, or "
                + "\(param.name)=\(param.type.plainExample) in .env beside it")
    }

    private mutating func accept(_ param: ParamManifest, _ value: ParamValue) {
        guard value.byteCount <= ParamManifest.maxValue else {
            return report(param, "", "its value has \(value.byteCount) bytes; the limit is \(ParamManifest.maxValue)")
        }
        values[param.name] = value
    }

    private mutating func resolveSecret(_ secret: ParamManifest) {
        if sources.configured[secret.name] != nil {
            return report(
                secret, "params.\(secret.name)",
                "it is a secret and must not be in functions.json; write it in \(sources.secretsPlace), mode 600")
        }
        if let (entry, file) = sources.variables.lastEntry(named: secret.name) {
            return report(
                secret, "",
                "it is a secret and must not be in \(file.path):\(entry.line); move it to \(sources.secretsPlace)")
        }
        guard let (entry, file) = sources.secrets.lastEntry(named: secret.name) else {
            return report(
                secret, "", "it has no value. Write \(secret.name)=… in \(sources.secretsPlace), mode 600")
        }
        guard !entry.value.isEmpty else {
            return report(secret, "", "its value in \(file.path):\(entry.line) is empty")
        }
        guard entry.value.utf8.count <= ParamManifest.maxValue else {
            return report(
                secret, "",
                "its value in \(file.path):\(entry.line) has \(entry.value.utf8.count) bytes; the limit is "
                    + "\(ParamManifest.maxValue)")
        }
        secrets[secret.name] = entry.value
    }

    private mutating func report(_ param: ParamManifest, _ key: String, _ message: String) {
        let isSecret = param.type == .secret
        let readers = manifest.functions.filter { !isSecret || $0.secrets.contains(param.name) }.map(\.name)
        let who =
            readers.isEmpty
            ? "the bundle \(bundle)"
            : isSecret
                ? "\(readers.joined(separator: ", ")) of the bundle \(bundle)"
                : "the bundle \(bundle) "
                    + "(\(readers.prefix(5).joined(separator: ", "))\(readers.count > 5 ? ", …" : ""))"
        problems.append(
            Problem(
                key: key.isEmpty ? "bundles" : key,
                message: "\(isSecret ? "the secret" : "the param") \(param.name), which \(who) needs: \(message)"))
    }
}

extension [VariableFile] {
    /// The entry of the last file that has this name. Later files override earlier ones.
    func lastEntry(named name: String) -> (VariableFile.Entry, VariableFile)? {
        for file in reversed() { if let entry = file.entries[name] { return (entry, file) } }
        return nil
    }
}
