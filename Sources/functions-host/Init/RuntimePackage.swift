import Foundation

/// The package that contains the runtime, as a dependency of a new package.
struct RuntimePackage: Sendable {
    let path: String

    /// - Throws: If there is no such package.
    init(at path: String) throws(InitError) {
        guard Self.isRuntime(path) else {
            throw InitError(
                "\(path) isn't the runtime's package: it lacks Package.swift and Sources/FunctionsRuntime")
        }
        self.path = path
    }

    /// - Parameter path: The path that the author gave; nil for the package of this program.
    static func named(_ path: String?) throws(InitError) -> RuntimePackage {
        guard let path else { return try ofThisProgram() }
        return try RuntimePackage(at: absolutePath(path))
    }

    /// The checkout in which this program was built: one of its parent directories.
    private static func ofThisProgram() throws(InitError) -> RuntimePackage {
        let program = (Bundle.main.executableURL ?? URL(fileURLWithPath: CommandLine.arguments[0]))
            .resolvingSymlinksInPath()
        var directory = program.deletingLastPathComponent()
        while directory.path != "/" {
            if isRuntime(directory.path) { return try RuntimePackage(at: directory.path) }
            directory = directory.deletingLastPathComponent()
        }
        throw InitError(
            "\(program.path) isn't inside the runtime's package; give that package's directory with --runtime PATH")
    }

    private static func isRuntime(_ path: String) -> Bool {
        ["Package.swift", "Sources/FunctionsRuntime", "Sources/FunctionsTesting"].allSatisfy {
            FileManager.default.fileExists(atPath: path + "/" + $0)
        }
    }
}
