import Crypto
import FunctionsRuntime

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Signs requests to services with S3's protocol (AWS Signature Version 4).
struct RequestSigner {
    var keyID: String
    var key: String
    var region: String

    /// - Parameters:
    ///   - url: Percent-encoded, without a query.
    ///   - headers: Those to sign, without spaces around their values. The result has them, too.
    func headers(
        _ method: String, _ url: String, _ headers: Headers = [:], body: [UInt8], at now: Timestamp
    ) -> Headers {
        let (host, path) = Self.parts(of: url)
        let (time, hash) = (Self.text(of: now), Self.hexadecimal(SHA256.hash(data: body)))
        var headers = headers
        headers["X-Amz-Date"] = time
        headers["X-Amz-Content-Sha256"] = hash
        var signed = headers.map { (name: $0.name.lowercased(), value: $0.value) }
        signed.append(("host", host))
        signed.sort { $0.name < $1.name }
        let names = signed.map(\.name).joined(separator: ";")
        let request = Self.canonical(method, path, query: "", signed, names, hash)
        let signature = signature(of: request, time)
        headers["Authorization"] =
            "AWS4-HMAC-SHA256 Credential=\(keyID)/\(scope(time)),SignedHeaders=\(names),Signature=\(signature)"
        return headers
    }

    /// A URL with which anyone who has it can send one kind of request until it expires.
    ///
    /// - Parameter headers: Those that the request must have, by their names in lower case.
    func presignedURL(
        _ method: String, _ url: String, headers: KeyValuePairs<String, String> = [:], expires: Duration,
        at now: Timestamp
    ) -> String {
        let (host, path) = Self.parts(of: url)
        let time = Self.text(of: now)
        let signed = (headers.map { (name: $0.key, value: $0.value) } + [("host", host)]).sorted { $0.name < $1.name }
        let names = signed.map(\.name).joined(separator: ";")
        let query =
            "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=\(Self.encoded("\(keyID)/\(scope(time))"))"
            + "&X-Amz-Date=\(time)&X-Amz-Expires=\(expires.components.seconds)"
            + "&X-Amz-SignedHeaders=\(Self.encoded(names))"
        let request = Self.canonical(method, path, query: query, signed, names, "UNSIGNED-PAYLOAD")
        return "\(url)?\(query)&X-Amz-Signature=\(signature(of: request, time))"
    }

    private func scope(_ time: String) -> String { "\(time.prefix(8))/\(region)/s3/aws4_request" }

    private func signature(of request: String, _ time: String) -> String {
        let text = [
            "AWS4-HMAC-SHA256", time, scope(time), Self.hexadecimal(SHA256.hash(data: Data(request.utf8))),
        ].joined(separator: "\n")
        var code = Data("AWS4\(key)".utf8)
        for part in [String(time.prefix(8)), region, "s3", "aws4_request", text] {
            code = Data(HMAC<SHA256>.authenticationCode(for: Data(part.utf8), using: SymmetricKey(data: code)))
        }
        return Self.hexadecimal(code)
    }

    private static func canonical(
        _ method: String, _ path: String, query: String, _ headers: [(name: String, value: String)], _ names: String,
        _ hash: String
    ) -> String {
        let lines = headers.map { "\($0.name):\($0.value)\n" }.joined()
        return [method, path, query, lines, names, hash].joined(separator: "\n")
    }

    private static func parts(of url: String) -> (host: String, path: String) {
        let rest = url.drop { $0 != ":" }.dropFirst(3)
        let path = rest.drop { $0 != "/" }
        return (String(rest[..<path.startIndex]), path.isEmpty ? "/" : String(path))
    }

    /// `20130524T000000Z`
    private static func text(of time: Timestamp) -> String {
        let style = Date.ISO8601FormatStyle(dateSeparator: .omitted, timeSeparator: .omitted)
        return Date(timeIntervalSince1970: Double(time.seconds)).formatted(style)
    }

    private static func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// One part of a path, or a value of a query, with all but unreserved characters percent-encoded.
    static func encoded(_ text: String) -> String {
        text.utf8.map { byte in
            let character = Character(UnicodeScalar(byte))
            let isUnreserved = byte < 128 && (character.isLetter || character.isNumber || "-._~".contains(character))
            return isUnreserved ? String(character) : "%" + hexadecimal([byte]).uppercased()
        }.joined()
    }
}
