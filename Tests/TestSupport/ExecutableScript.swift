import Foundation

/// A shell script that runs as soon as it is made.
package enum ExecutableScript {
    private struct NotMade: Error {
        let path: String
    }

    /// Linux runs no file that a process has open for writing ("Text file busy"), and one that another thread starts
    /// meanwhile has what this one has open until it has begun. So a process of its own writes what is run.
    package static func make(_ text: String, at path: String) throws {
        let draft = path + ".txt"
        try Data("#!/bin/sh\n\(text)\n".utf8).write(to: URL(fileURLWithPath: draft))
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: draft)
        let copy = Process()
        copy.executableURL = URL(fileURLWithPath: "/bin/cp")
        copy.arguments = [draft, path]
        try copy.start()
        copy.waitUntilExit()
        guard copy.terminationStatus == 0 else { throw NotMade(path: path) }
    }
}
