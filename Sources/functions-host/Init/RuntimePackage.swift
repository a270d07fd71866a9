import Foundation

/// The package that has the runtime, as a new package depends on it.
struct RuntimePackage: Sendable {
    let path: String

    /// - Throws: a sentence where there is no such package.
    init(at path: String) throws(InitError) {
        guard Self.isRuntime(path) else {
            throw InitError(
                "\(path) isn't the runtime's package: it has no Package.swift with Sources/FunctionsRuntime beside it")
        }
        self.path = path
    }

    /// - Parameter path: where the author says that it is; nil for the one of this program.
    static func named(_ path: String?) throws(InitError) -> RuntimePackage {
        guard let path else { return try ofThisProgram() }
        return try RuntimePackage(at: absolutePath(path))
    }

    /// The checkout that this program was built in: one of the directories above it.
    private static func ofThisProgram() throws(InitError) -> RuntimePackage {
        let program = (Bundle.main.executableURL ?? URL(fileURLWithPath: CommandLine.arguments[0]))
            .resolvingSymlinksInPath()
        var directory = program.deletingLastPathComponent()
        while directory.path != "/" {
            if isRuntime(directory.path) { return try RuntimePackage(at: directory.path) }
            directory = directory.deletingLastPathComponent()
        }
        throw InitError(
            "\(program.path) doesn't stand in the runtime's package; name that package's directory with --runtime PATH")
    }

    private static func isRuntime(_ path: String) -> Bool {
        ["Package.swift", "Sources/FunctionsRuntime", "Sources/FunctionsTesting"].allSatisfy {
            FileManager.default.fileExists(atPath: path + "/" + $0)
        }
    }
}
