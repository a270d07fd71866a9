package import DocumentModel
package import OutboundHTTP

/// All documents of an emulator, or of a host in development, page by page, read as its owner.
///
/// A service that answers queries over the collections of all names is read by them, all as of one time. Otherwise its
/// collections are listed, and each page is as it is when it is read.
package struct RemoteDocuments: Sendable {
    private enum Way {
        case unknown
        case scan(DocumentScan)
        case walk(DocumentWalk)
    }

    private let service: FirestoreService
    private var way = Way.unknown
    /// The first page.
    private var first: [Document]?

    /// - Parameters:
    ///   - address: a host and a port: ``HostAndPort``.
    ///   - pause: waits before a request is sent again.
    package init(
        at address: String, project: String, transport: any OutboundTransport = OutboundClient(),
        pause: @escaping @Sendable (_ seconds: Double) async -> Void = { try? await Task.sleep(for: .seconds($0)) }
    ) {
        service = FirestoreService(
            database: DatabaseID(project: project), origin: "http://\(address)", transport: transport, tokens: nil,
            pause: pause)
    }

    /// Finds out how the service can be read, and reads the first page.
    ///
    /// - Returns: whether there is a document.
    /// - Throws: what the service answered: see ``FirestoreService``.
    package mutating func begin() async throws(DocumentError) -> Bool {
        var scan = DocumentScan(service)
        do throws(DocumentError) {
            first = try await scan.next()
            way = .scan(scan)
        } catch {
            guard [.invalidArgument, .unimplemented].contains(error.code) else { throw error }
            var walk = DocumentWalk(service)
            try await walk.begin()
            first = try await walk.next()
            way = .walk(walk)
        }
        return first != nil
    }

    /// The next documents; nil after the last.
    package mutating func next() async throws(DocumentError) -> [Document]? {
        if case .unknown = way { _ = try await begin() }
        if let page = first {
            first = nil
            return page
        }
        switch way {
        case .unknown: return nil
        case .scan(var scan):
            let page = try await scan.next()
            way = .scan(scan)
            return page
        case .walk(var walk):
            let page = try await walk.next()
            way = .walk(walk)
            return page
        }
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
