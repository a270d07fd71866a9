package import DocumentModel
package import OutboundHTTP

/// All documents of an emulator, or of a host in development, page by page and all as of one time, read as its owner.
package struct RemoteDocuments: Sendable {
    private var scan: DocumentScan
    /// The first page, until it is taken.
    private var first: [Document]?

    /// - Parameters:
    ///   - address: a host and a port: ``HostAndPort``.
    ///   - pause: waits before a request is sent again.
    package init(
        at address: String, project: String, transport: any OutboundTransport = OutboundClient(),
        pause: @escaping @Sendable (_ seconds: Double) async -> Void = { try? await Task.sleep(for: .seconds($0)) }
    ) {
        scan = DocumentScan(
            FirestoreService(
                database: DatabaseID(project: project), origin: "http://\(address)", transport: transport, tokens: nil,
                pause: pause))
    }

    /// Reads the first page.
    ///
    /// - Returns: whether there is a document.
    /// - Throws: what the service answered: see ``FirestoreService``.
    package mutating func begin() async throws(DocumentError) -> Bool {
        first = try await scan.next()
        return first != nil
    }

    /// The next documents; nil after the last.
    package mutating func next() async throws(DocumentError) -> [Document]? {
        guard let page = first else { return try await scan.next() }
        first = nil
        return page
    }
}

/// The number of documents on a page, which shrinks while pages are too large.
struct PageSize: Sendable {
    /// Bytes of a page's text.
    private static let maxPageBytes = FirestoreService.maxAnswerBytes
    /// Bytes of one document's text: one of 1 MiB that has only small values needs about 20 MiB.
    private static let maxDocumentBytes = 64 * 1024 * 1024

    private var size: Int

    init(_ size: Int) { self.size = size }

    /// - Parameter read: reads a page of at most this size, and fails with `resourceExhausted` if its text is larger than
    ///   the given number of bytes.
    mutating func page<Page>(
        _ read: (_ size: Int, _ maxBytes: Int) async throws(DocumentError) -> Page
    ) async throws(DocumentError) -> Page {
        while true {
            do throws(DocumentError) {
                return try await read(size, size == 1 ? Self.maxDocumentBytes : Self.maxPageBytes)
            } catch {
                guard error.code == .resourceExhausted, size > 1 else { throw error }
                size /= 2
            }
        }
    }
}
