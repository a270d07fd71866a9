import ControlAPI
import DocumentModel
import Logging
import Synchronization

/// The export that a host imports before its first port answers: `serve --import FILE`.
///
/// One value serves all attempts of a process to start: a directory that outlives an attempt is filled once.
package final class StartImport: Sendable {
    private let file: String
    private let isDone = Mutex(false)

    /// - Parameter file: `-` for standard input.
    package init(file: String) { self.file = file }

    /// - Parameter directory: the data directory, which outlives the host; nil if it is temporary.
    /// - Throws: ``StartImportError`` if the store has documents already or the export is invalid. No document of the
    ///   export is in the store then.
    func run(_ data: DataService, directory: String?, logger: Logger) async throws(StartImportError) {
        guard directory == nil || !isDone.withLock({ $0 }) else { return }
        do {
            if let directory, try await !data.hasNoDocuments() { throw StartImportError(file: file, filled: directory) }
            let imported = try await data.seed(try FileChunks(file))
            isDone.withLock { $0 = true }
            logger.notice(
                "documents imported",
                metadata: [
                    "file": "\(file)", "documents": "\(imported.documents)", "users": "\(imported.users)",
                ])
        } catch let error as StartImportError {
            throw error
        } catch {
            throw StartImportError(file: file, error)
        }
    }
}

/// Why a host doesn't start with an export.
package struct StartImportError: Error, CustomStringConvertible {
    /// A sentence for the operator.
    package let description: String

    fileprivate init(file: String, _ error: any Error) {
        let reason = (error as? DocumentError)?.message ?? "\(error)"
        let name = file == "-" ? "standard input" : file
        description =
            "the host can't start with --import \(file): " + (reason.hasPrefix(name) ? reason : "\(name): \(reason)")
    }

    fileprivate init(file: String, filled directory: String) {
        description = """
            the host can't start with --import \(file): \(directory) has documents already, and an import at the start \
            doesn't mix with others. To keep them, leave out --import; to start from the file each time, add \
            --ephemeral; to start from it once, run "functions-host data clear --yes" before; to add it to them, run \
            "functions-host data import \(file)"
            """
    }
}
