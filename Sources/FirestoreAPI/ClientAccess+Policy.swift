package import DocumentModel

extension ClientAccess: AccessPolicy {
    package func check(_ access: Access, in view: AccessView) throws {
        switch access {
        case .get(let path, _): try get(path)
        case .list(let query): try list(query)
        case .create(let document): try create(document)
        case .update(let old, let new): try update(from: old, to: new)
        case .delete(let path, let document): try delete(path, document)
        }
    }
}
