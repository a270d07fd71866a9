import DataDirectory
import Foundation
import Synchronization
package import TokenVerification

/// The public halves of the servers' keys: a file for each in the data directory, and all of them in memory.
package final class ServiceAccountStore: Sendable {
    struct Entry: Sendable {
        let key: ServiceAccountKey
        let publicKey: PublicKey
    }

    private struct State {
        var entries: [String: Entry] = [:]
        var observers: [@Sendable () -> Void] = []
    }

    private let directory: String
    /// Held while files change. Lookups don't wait for it.
    private let change = Mutex(())
    private let state: Mutex<State>
    /// Signs access tokens. They survive a restart of the host, so that servers go on with what they have.
    let secret: AccessTokenSecret

    /// How many keys a host keeps.
    package static let maxKeys = 1000
    /// How many keys of one address are tried.
    package static let maxTried = 10

    /// Opens the keys of a data directory, and makes what is missing.
    ///
    /// - Parameter directory: usually `<data>/service-accounts`. The caller holds the data directory's lock.
    /// - Throws: an error whose description is a sentence for the operator if a file is damaged or can't be read.
    package init(in directory: String) throws {
        self.directory = directory
        let files = FileManager.default
        try FileBytes.makeDirectory(directory)
        var entries: [String: Entry] = [:]
        guard let names = try? files.contentsOfDirectory(atPath: directory) else {
            throw ServiceAccountError(unreadable: directory)
        }
        for name in names where name.hasSuffix(".json") {
            let path = directory + "/" + name
            guard let data = files.contents(atPath: path) else { throw ServiceAccountError(unreadable: path) }
            guard let key = try? JSONDecoder().decode(ServiceAccountKey.self, from: data), name == key.id + ".json",
                let publicKey = try? key.verificationKey()
            else {
                throw ServiceAccountError(
                    "\(path) is damaged; restore it from a copy, or delete it to revoke the key")
            }
            entries[key.id] = Entry(key: key, publicKey: publicKey)
        }
        state = Mutex(State(entries: entries))
        secret = try AccessTokenSecret.load(in: directory)
    }

    /// All keys, the oldest first.
    package var keys: [ServiceAccountKey] {
        state.withLock { $0.entries.values.map(\.key) }.sorted { ($0.created, $0.id) < ($1.created, $1.id) }
    }

    package var isEmpty: Bool { state.withLock { $0.entries.isEmpty } }

    func entry(_ id: String) -> Entry? { state.withLock { $0.entries[id] } }

    /// The keys that a server's signature may be of: that of this id, or if none is named, those of the address, the
    /// newest first. Each costs an RSA operation, so there are at most ``maxTried``.
    func entries(of email: String, id: String?) -> [Entry] {
        if let id { return entry(id).map { [$0] } ?? [] }
        // Bytes are compared: a stranger's text may take long to compare as one, and there may be many keys.
        let found = state.withLock { $0.entries.values.filter { $0.key.email.utf8.elementsEqual(email.utf8) } }
        return Array(
            found.sorted { ($0.key.created, $0.key.id) > ($1.key.created, $1.key.id) }.prefix(Self.maxTried))
    }

    /// The keys by which a server's signature may be verified; none if that of the id is another address's.
    package func publicKeys(of email: String, id: String?) -> [PublicKey] {
        entries(of: email, id: id).filter { $0.key.email.utf8.elementsEqual(email.utf8) }.map(\.publicKey)
    }

    package func contains(_ id: String) -> Bool { entry(id) != nil }

    /// Keeps a key: tokens of its holder are accepted once this returns.
    ///
    /// - Throws: an error for the operator; the key isn't kept then.
    package func add(_ key: ServiceAccountKey) throws {
        guard let publicKey = try? key.verificationKey(), key.id.utf8.allSatisfy({ Self.isHexadecimal($0) }),
            ServiceAccountKey.isName(key.name)
        else { throw ServiceAccountError("the key \(key.id) is not an RSA key with a name and an id") }
        try change.withLock { _ in
            guard state.withLock({ $0.entries.count }) < Self.maxKeys else {
                throw ServiceAccountError("there are \(Self.maxKeys) keys, the limit; revoke those that aren't used")
            }
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
            try FileBytes.replace(key.id + ".json", in: directory, with: Array(try encoder.encode(key)))
            state.withLock { $0.entries[key.id] = Entry(key: key, publicKey: publicKey) }
        }
    }

    /// Revokes the key whose id begins so: its tokens are refused once this returns, and its open streams end.
    ///
    /// - Throws: an error for the operator if no key, or more than one, begins so, or if its file can't be deleted; the
    ///   key is still accepted then.
    package func revoke(_ prefix: String) throws -> ServiceAccountKey {
        let key = try change.withLock { _ in
            let found = keys.filter { $0.id.hasPrefix(prefix) }
            guard let key = found.first, !prefix.isEmpty else {
                throw ServiceAccountError("no key has the id \(prefix); \"functions-host keys list\" shows all")
            }
            guard found.count == 1 else {
                throw ServiceAccountError("\(found.count) keys have ids that begin with \(prefix); write more of it")
            }
            try FileBytes.remove(key.id + ".json", in: directory)
            state.withLock { $0.entries[key.id] = nil }
            return key
        }
        for observer in state.withLock({ $0.observers }) { observer() }
        return key
    }

    /// Calls back after each revocation.
    package func onRevocation(_ observer: @escaping @Sendable () -> Void) {
        state.withLock { $0.observers.append(observer) }
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        (48...57).contains(byte) || (97...102).contains(byte)
    }
}

/// Why a server's key can't be used, and what to do.
package struct ServiceAccountError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A sentence for the operator.
    package var description: String

    init(_ description: String) { self.description = description }

    /// Unlike a damaged file, one that another user has copied there must not be deleted.
    init(unreadable path: String) {
        self.init("\(path) can't be read; it must belong to the user that runs the host")
    }
}
