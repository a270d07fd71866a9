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

/// Where values of params come from, read and not yet asked for.
struct ParamSources: Equatable, Sendable {
    /// `params` of `functions.json`, with what the environment changes in them.
    var configured: [String: ParamValue] = [:]
    /// The later of them win.
    var variables: [VariableFile] = []
    /// The later of them win.
    var secrets: [VariableFile] = []

    /// Reads `.env` and `.env.PROJECT` beside `functions.json`, and the files of secrets: the one that it names, else
    /// `.secrets` and `.secrets.PROJECT`. What isn't there is empty.
    ///
    /// - Parameters:
    ///   - manifest: the bundle that is to be given params. Files that have none for it aren't opened.
    ///   - user: whom the host runs as.
    /// - Throws: what is wrong with the first file that isn't right.
    static func load(
        _ configuration: HostConfiguration, for manifest: Manifest, user: UInt32 = geteuid()
    ) throws(ConfigurationError) -> ParamSources {
        var sources = ParamSources(configured: configuration.params)
        guard !manifest.params.isEmpty else { return sources }
        for path in variableFiles(configuration) {
            if let file = try read(path) { sources.variables.append(file) }
        }
        guard manifest.params.contains(where: { $0.type == .secret }) else { return sources }
        for path in secretFiles(configuration) {
            try check(path, user)
            if let file = try read(path) { sources.secrets.append(file) }
        }
        return sources
    }

    static func variableFiles(_ configuration: HostConfiguration) -> [String] {
        files(".env", configuration)
    }

    static func secretFiles(_ configuration: HostConfiguration) -> [String] {
        configuration.secrets.map { [$0] } ?? files(".secrets", configuration)
    }

    private static func files(_ name: String, _ configuration: HostConfiguration) -> [String] {
        let directory = ConfigurationFile.directory(of: configuration.places.file)
        return [name, "\(name).\(configuration.project)"].map { directory + "/" + $0 }
    }

    private static func read(_ path: String) throws(ConfigurationError) -> VariableFile? {
        guard FileStatus(path) != nil else { return nil }
        return try VariableFile(path: path, bytes: try ConfigurationFile.read(path))
    }

    /// A file of secrets belongs to the host's user, or to root who may read it anyway, and is nobody else's.
    private static func check(_ path: String, _ user: UInt32) throws(ConfigurationError) {
        guard let status = FileStatus(path) else { return }
        var message: String?
        if status.owner != user && status.owner != 0 {
            message =
                "this file of secrets belongs to the user \(status.owner), and the host runs as the user \(user); run: "
                + "chown \(user) \(path)"
        } else if status.isOpenToOthers {
            message = "others than its owner may use this file of secrets; run: chmod 600 \(path)"
        }
        guard let message else { return }
        throw ConfigurationError(file: path, problems: [.init(place: nil, key: "", message: message)])
    }
}

extension HostConfiguration {
    /// The files beside `functions.json` that params come from. They need not be there.
    package var paramFiles: [String] { ParamSources.variableFiles(self) + ParamSources.secretFiles(self) }
}
