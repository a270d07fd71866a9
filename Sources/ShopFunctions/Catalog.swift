import FunctionsRuntime

/// The products as JSON, newest first.
///
/// `owner` (a user's id) selects that user's products, `inStock=true` those in stock. `limit` is 1 to 100. `after` is
/// the id that the previous page returned as `next`.
struct Catalog {
    private static let maxLimit = 100

    private let request: HTTPRequest

    init(_ request: HTTPRequest) { self.request = request }

    struct Page: Encodable {
        var products: [Entry]
        /// The value of `after` for the next page; nil on the last page.
        var next: String?
    }

    struct Entry: Encodable {
        var id: String
        var name: String
        var desc: String
        var price: Int
        var stock: Int
        var imageURL: String
        var publishedTime: Timestamp
        var owner: String
    }

    /// - Throws: `invalidArgument` for an invalid parameter, `notFound` if the product named by `after` no longer
    ///   exists.
    func page() async throws -> HTTPResponse {
        guard request.method == "GET" || request.method == "HEAD" else {
            return HTTPResponse(status: 405, headers: ["Allow": "GET, HEAD"])
        }
        let limit = try self.limit()
        let products = request.firestore.collection("products")
        var query = products.order(by: "publishedTime", descending: true)
        if let owner = request.query["owner"] {
            guard isID(owner) else {
                throw HttpsError(.invalidArgument, "owner must be a user's id.")
            }
            query = query.whereField("owner", isEqualTo: request.firestore.collection("users").document(owner))
        }
        if let after = request.query["after"] {
            guard isID(after) else {
                throw HttpsError(.invalidArgument, "after must be a product's id.")
            }
            let last = try await products.document(after).getDocument()
            guard last.exists else { throw HttpsError(.notFound, "There is no product \(after) to continue after.") }
            query = query.start(afterDocument: last)
        }
        let wantsStock = try flag("inStock")
        // One extra product shows whether there is a next page.
        let found = try await query.limit(to: limit + 1).getDocuments().documents
        let shown = found.prefix(limit)
        let entries = shown.compactMap(entry).filter { !wantsStock || $0.stock > 0 }
        return try .json(Page(products: entries, next: found.count > limit ? shown.last?.documentID : nil))
    }

    /// Whether a text can be a document's id.
    private func isID(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= 1500 && text != "." && text != ".."
            && !(text.hasPrefix("__") && text.hasSuffix("__"))
            && !text.utf8.contains { $0 == UInt8(ascii: "/") || $0 == 0 }
    }

    private func limit() throws -> Int {
        guard let text = request.query["limit"] else { return Self.maxLimit }
        guard let limit = Int(text), (1...Self.maxLimit).contains(limit) else {
            throw HttpsError(.invalidArgument, "limit must be a number from 1 to \(Self.maxLimit).")
        }
        return limit
    }

    private func flag(_ name: String) throws -> Bool {
        switch request.query[name] {
        case nil, "false": false
        case "true": true
        default: throw HttpsError(.invalidArgument, "\(name) must be true or false.")
        }
    }

    /// Nil for a document that can't be decoded: it is logged, and the others are shown.
    private func entry(_ snapshot: DocumentSnapshot) -> Entry? {
        do {
            let product = try snapshot.data(as: Product.self)
            return Entry(
                id: snapshot.documentID, name: product.name, desc: product.desc, price: product.price,
                stock: product.stock, imageURL: product.imageURL, publishedTime: product.publishedTime,
                owner: product.owner.documentID)
        } catch {
            request.logger.warning(
                "product can't be decoded", metadata: ["product": "\(snapshot.documentID)", "error": "\(error)"])
            return nil
        }
    }
}
