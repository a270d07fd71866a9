import DataDirectory
import FunctionManifest
import HostConfiguration

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The sources of params' values: the configuration and the files beside it.
struct ParamSources: Equatable, Sendable {
    /// `params` of `functions.json`, with the environment's overrides.
    var configured: [String: ParamValue] = [:]
    /// Later files override earlier ones.
    var variables: [VariableFile] = []
    /// Later files override earlier ones.
    var secrets: [VariableFile] = []
    /// Where to write a secret that is missing, in the words of errors.
    var secretsPlace = Self.defaultSecretsPlace

    private static let defaultSecretsPlace = ".secrets beside functions.json"

    /// Reads `.env` and `.env.PROJECT` beside `functions.json`, and the files of secrets: the one that `functions.json`
    /// names, else `.secrets` and `.secrets.PROJECT`. Missing files are skipped.
    ///
    /// - Parameters:
    ///   - manifest: the bundle's manifest. Files that it needs no values from aren't opened.
    ///   - user: the user that the host runs as.
    /// - Throws: the problems of the first file that has any.
    static func load(
        _ configuration: HostConfiguration, for manifest: Manifest, user: UInt32 = geteuid()
    ) throws(ConfigurationError) -> ParamSources {
        var sources = ParamSources(
            configured: configuration.params, secretsPlace: secretsPlace(configuration))
        guard !manifest.params.isEmpty else { return sources }
        for path in variableFiles(configuration) {
            if let file = try read(path) { sources.variables.append(file) }
        }
        guard manifest.params.contains(where: { $0.type == .secret }) else { return sources }
        sources.secrets = try readSecrets(configuration, user: user)
        return sources
    }

    /// - Throws: the problems of the first file that has any, or that others can read.
    static func readSecrets(
        _ configuration: HostConfiguration, user: UInt32
    ) throws(ConfigurationError) -> [VariableFile] {
        var files: [VariableFile] = []
        for path in secretFiles(configuration) {
            try check(path, user)
            if let file = try read(path) { files.append(file) }
        }
        return files
    }

    static func variableFiles(_ configuration: HostConfiguration) -> [String] {
        files(".env", configuration)
    }

    static func secretFiles(_ configuration: HostConfiguration) -> [String] {
        configuration.secrets.map { [$0] } ?? files(".secrets", configuration)
    }

    static func secretsPlace(_ configuration: HostConfiguration) -> String {
        configuration.secrets ?? defaultSecretsPlace
    }

    private static func files(_ name: String, _ configuration: HostConfiguration) -> [String] {
        let directory = ConfigurationFile.directory(of: configuration.places.file)
        return [name, "\(name).\(configuration.project)"].map { directory + "/" + $0 }
    }

    private static func read(_ path: String) throws(ConfigurationError) -> VariableFile? {
        guard FileStatus(path) != nil else { return nil }
        return try VariableFile(path: path, bytes: try ConfigurationFile.read(path))
    }

    /// A file of secrets must belong to the host's user, or to root, and must not be accessible to other users.
    private static func check(_ path: String, _ user: UInt32) throws(ConfigurationError) {
        guard let status = FileStatus(path) else { return }
        var message: String?
        if status.owner != user && status.owner != 0 {
            message =
                "this file of secrets belongs to the user \(status.owner), and the host runs as the user \(user); run: "
                + "chown \(user) \(path)"
        } else if status.isOpenToOthers {
            message = "this file of secrets is accessible to other users; run: chmod 600 \(path)"
        }
        guard let message else { return }
        throw ConfigurationError(file: path, problems: [.init(place: nil, key: "", message: message)])
    }
}

extension HostConfiguration {
    /// The files beside `functions.json` that params come from. They don't have to exist.
    package var paramFiles: [String] { ParamSources.variableFiles(self) + ParamSources.secretFiles(self) }
}
