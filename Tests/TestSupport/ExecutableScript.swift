import Foundation

/// A shell script that runs as soon as it is made.
package enum ExecutableScript {
    private struct NotMade: Error {
        let path: String
    }

    /// Linux runs no file that a process has open for writing ("Text file busy"), and one that another thread starts
    /// meanwhile has what this one has open until it has begun. So a process of its own writes what is run.
    ///
    /// - Parameter interpreter: the path of the program that is to run it.
    package static func make(_ text: String, at path: String, for interpreter: String = "/bin/sh") throws {
        let draft = path + ".txt"
        try Data("#!\(interpreter)\n\(text)\n".utf8).write(to: URL(fileURLWithPath: draft))
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: draft)
        let copy = Process()
        copy.executableURL = URL(fileURLWithPath: "/bin/cp")
        copy.arguments = [draft, path]
        try copy.start()
        copy.waitUntilExit()
        guard copy.terminationStatus == 0 else { throw NotMade(path: path) }
    }
}
