import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Keys that an issuer publishes at an address.
package struct RemoteKeySource: KeySource {
    private let address: String
    private let document: KeyDocument
    private let fixedAge: Int64?

    /// - Parameter fixedAge: Seconds to keep the keys; nil takes `max-age` from the answer.
    package init(address: String, document: KeyDocument, fixedAge: Int64? = nil) {
        self.address = address
        self.document = document
        self.fixedAge = fixedAge
    }

    /// The certificates of Firebase's ID tokens.
    package static let googleIDTokens = RemoteKeySource(
        address: "https://www.googleapis.com" + IDTokenCertificates.path, document: .certificates)

    /// The certificates of an emulator's ID tokens. Only one of ours has any: the others' tokens are unsigned.
    package static func emulator(at host: String) -> RemoteKeySource {
        RemoteKeySource(address: "http://" + host + IDTokenCertificates.path, document: .certificates)
    }

    /// The keys of App Check tokens, kept for 6 hours as Firebase says.
    package static let googleAppCheck = RemoteKeySource(
        address: "https://firebaseappcheck.googleapis.com/v1/jwks", document: .webKeySet, fixedAge: 6 * 3600)

    /// Whether a project can have tokens from Google: those named `demo-…` never exist there.
    package static func isUseful(forProject project: String) -> Bool { !project.hasPrefix("demo-") }

    package func fetch() async throws(KeySourceError) -> FetchedKeys {
        guard let url = URL(string: address) else { throw KeySourceError("\(address) is no address") }
        let (body, response) = try await BoundedDownload.get(url, maxBytes: 1024 * 1024, timeout: 10)
        guard response.statusCode == 200 else {
            throw KeySourceError("the issuer answered with status \(response.statusCode)")
        }
        let keys = try document.keys(in: body)
        return FetchedKeys(keys: keys, maxAge: fixedAge ?? Self.age(response))
    }

    /// `max-age` less the seconds the answer has already been under way; an hour where there is none.
    private static func age(_ response: HTTPURLResponse) -> Int64 {
        let directives = (response.value(forHTTPHeaderField: "Cache-Control") ?? "").split(separator: ",")
        for directive in directives.map({ $0.trimmingCharacters(in: .whitespaces).lowercased() })
        where directive.hasPrefix("max-age=") {
            guard let age = Int64(directive.dropFirst("max-age=".count)) else { continue }
            return age - min(max(Int64(response.value(forHTTPHeaderField: "Age") ?? "") ?? 0, 0), 24 * 3600)
        }
        return 3600
    }
}
