extension HostConfiguration {
    /// Reads a configuration file, with what `environment` changes in it.
    ///
    /// - Parameters:
    ///   - path: the file; relative paths in it start at its directory.
    ///   - environment: one of the file's `environments`; nil for the file as it stands.
    /// - Throws: all problems of the file at once. The host must not start with any of them.
    package static func load(_ path: String, environment: String? = nil) throws(ConfigurationError)
        -> HostConfiguration
    {
        try ConfigurationReader.read(try ConfigurationFile.read(path), file: path, environment: environment)
    }
}
