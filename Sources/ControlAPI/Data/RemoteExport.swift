package import DocumentModel
package import FirestoreClient
import Foundation
import StorageEngine
import StrictJSON

/// The documents of a running emulator, or of another host in development, as the lines of an export.
///
/// Each part of the sequence is one page of documents.
package struct RemoteExport: AsyncSequence, Sendable {
    package typealias Failure = any Error

    private let address: String
    private let project: String
    private var documents: RemoteDocuments

    /// Reads the first documents.
    ///
    /// - Parameters:
    ///   - address: a host and a port: ``HostAndPort``.
    ///   - documents: the project's documents at this address, of which none was read yet.
    /// - Throws: `DocumentError` with a sentence for the operator: if the address can't be copied from, or the project has
    ///   no document there, as every project that an emulator doesn't know.
    package init(from address: String, project: String, documents: RemoteDocuments) async throws(DocumentError) {
        self.address = address
        self.project = project
        self.documents = documents
        let isFilled: Bool
        do throws(DocumentError) { isFilled = try await self.documents.begin() } catch {
            throw Self.explained(error, address)
        }
        guard isFilled else {
            throw DocumentError(
                .notFound,
                "\(address) has no documents in the project \(project), so nothing is imported; "
                    + "an emulator has projects of any name: name the right one with --project")
        }
    }

    /// What an error of the first request says of the address.
    private static func explained(_ error: DocumentError, _ address: String) -> DocumentError {
        switch error.code {
        case .unavailable:
            DocumentError(.unavailable, "no Firestore emulator answers at \(address): \(error.message)")
        case .unauthenticated, .permissionDenied:
            DocumentError(
                error.code,
                "\(address) refuses access as the owner, which emulators and hosts in development allow: \(error.message)"
            )
        case .cancelled, .deadlineExceeded, .resourceExhausted: error
        default:
            DocumentError(
                .failedPrecondition,
                "\(address) doesn't answer as a Firestore emulator does: \(error.message); "
                    + "name the port of the emulator's Firestore, such as 127.0.0.1:8080")
        }
    }

    package struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let source: RemoteExport
        private var documents: RemoteDocuments
        private var count = 0
        private var hasBegun = false
        private var isOver = false

        fileprivate init(_ source: RemoteExport) {
            self.source = source
            documents = source.documents
        }

        package mutating func next() async throws -> [UInt8]? {
            guard !isOver else { return nil }
            var text = JSONWriter()
            if !hasBegun {
                hasBegun = true
                let header = ExportFormat.Header(
                    database: DatabaseID(project: source.project), readTime: Timestamp.wallClock())
                ExportFormat.write(header, to: &text)
            }
            do throws(DocumentError) {
                if let page = try await documents.next() {
                    count += page.count
                    for document in page { ExportFormat.write(document, to: &text) }
                    return text.bytes
                }
            } catch {
                throw DocumentError(
                    error.code, "the copy from \(source.address) ended after \(count) documents: \(error.message)")
            }
            isOver = true
            ExportFormat.writeEnd(count: count, to: &text)
            return text.bytes
        }
    }

    package func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }

    /// Writes all lines into a temporary file without a name, so that the whole copy is there before it is used.
    ///
    /// - Parameter progress: called with the number of bytes so far.
    /// - Returns: the file's content.
    /// - Throws: `DocumentError` if the copy breaks off or the file can't be written.
    package func spooled(_ progress: (Int) -> Void) async throws -> FileChunks {
        let name = FileManager.default.temporaryDirectory.path + "/functions-host-import-\(UUID().uuidString)"
        func failure() -> DocumentError {
            DocumentError(.unavailable, "\(name) can't be written: \(String(cString: strerror(errno)))")
        }
        let descriptor = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure() }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        unlink(name)
        var bytes = 0
        for try await part in self {
            var rest = part[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { throw failure() }
                rest = rest.dropFirst(count)
            }
            bytes += part.count
            progress(bytes)
        }
        guard lseek(descriptor, 0, SEEK_SET) == 0 else { throw failure() }
        return FileChunks(file)
    }
}
