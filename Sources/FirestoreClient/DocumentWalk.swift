import DocumentModel

/// All documents of a database, collection by collection, page by page.
///
/// A document below a missing one is found too. Each page is read as it is at that time: what is written meanwhile may be
/// found or not. Holds one page of documents, and the collections that were found and not read yet.
struct DocumentWalk: Sendable {
    /// Documents of a page.
    private static let pageSize = 300
    /// Requests under way at a time.
    private static let requests = 8

    /// A part of a collection that wasn't read yet.
    private struct Rest {
        var collection: CollectionPath
        var token = ""
        var size = PageSize(DocumentWalk.pageSize)
    }

    private let service: FirestoreService
    private var rests: [Rest] = []

    init(_ service: FirestoreService) { self.service = service }

    /// Finds the first collections.
    mutating func begin() async throws(DocumentError) {
        for id in try await service.collectionIDs(below: nil).reversed() {
            rests.append(Rest(collection: try CollectionPath(id)))
        }
    }

    /// The next documents; nil after the last.
    mutating func next() async throws(DocumentError) -> [Document]? {
        while var rest = rests.popLast() {
            let (service, collection, token) = (service, rest.collection, rest.token)
            let page = try await rest.size.page { size, maxBytes throws(DocumentError) in
                try await service.list(collection, size: size, token: token, maxBytes: maxBytes)
            }
            if !page.next.isEmpty {
                rest.token = page.next
                rests.append(rest)
            }
            rests += try await collections(below: page.paths).reversed().map { Rest(collection: $0) }
            if !page.documents.isEmpty { return page.documents }
        }
        return nil
    }

    /// In the order of the documents.
    private func collections(below paths: [DocumentPath]) async throws(DocumentError) -> [CollectionPath] {
        let found: Result<[CollectionPath], DocumentError> = await withTaskGroup(
            of: (Int, Result<[CollectionPath], DocumentError>).self
        ) { [service] group in
            var results = [[CollectionPath]](repeating: [], count: paths.count)
            var started = 0
            func start() {
                guard started < paths.count else { return }
                let (index, path) = (started, paths[started])
                group.addTask { (index, await Self.collections(below: path, service)) }
                started += 1
            }
            for _ in 0..<Self.requests { start() }
            while let (index, result) = await group.next() {
                switch result {
                case .success(let collections): results[index] = collections
                case .failure(let error):
                    group.cancelAll()
                    return .failure(error)
                }
                start()
            }
            return .success(results.flatMap { $0 })
        }
        return try found.get()
    }

    private static func collections(
        below path: DocumentPath, _ service: FirestoreService
    ) async -> Result<[CollectionPath], DocumentError> {
        do throws(DocumentError) {
            var collections: [CollectionPath] = []
            for id in try await service.collectionIDs(below: path) { collections.append(try path.collection(id)) }
            return .success(collections)
        } catch {
            return .failure(error)
        }
    }
}
