import FunctionsRuntime
import TextFormats

/// How a service signs the requests that it sends to a webhook: with HMAC-SHA256, in headers of its own.
public struct WebhookScheme: Sendable {
    /// What a request's headers say of its signature.
    struct Signature {
        /// Seconds since 1970; nil if the scheme has no time.
        var time: Int64?
        /// What is signed before the body.
        var prefix = ""
        /// The request is valid if one of them is: while a key is replaced there are several.
        var codes: [[UInt8]]
    }

    /// The header that holds the signature, for errors.
    let header: String
    /// - Returns: nil if the headers aren't there or can't be read.
    let read: @Sendable (Headers) -> Signature?
    /// - Returns: nil if the text isn't a key of this scheme.
    let key: @Sendable (String) -> [UInt8]?

    private init(
        header: String, key: @escaping @Sendable (String) -> [UInt8]? = { Array($0.utf8) },
        read: @escaping @Sendable (Headers) -> Signature?
    ) {
        self.header = header
        self.key = key
        self.read = read
    }

    private static let maxCodes = 5

    /// `Stripe-Signature: t=1795248051,v1=5257a869…`: the time and the body are signed.
    public static let stripe = WebhookScheme(header: "Stripe-Signature") { headers in
        var signature = Signature(codes: [])
        for part in (headers["Stripe-Signature"] ?? "").split(separator: ",") {
            let pair = part.split(separator: "=", maxSplits: 1)
            guard pair.count == 2 else { continue }
            if pair[0] == "t" { signature.time = Int64(pair[1]) }
            if pair[0] == "v1", signature.codes.count < maxCodes, let code = bytes(ofHexadecimal: pair[1]) {
                signature.codes.append(code)
            }
        }
        guard let time = signature.time else { return nil }
        signature.prefix = "\(time)."
        return signature
    }

    /// `X-Hub-Signature-256: sha256=5257a869…`: the body is signed. An old request can be repeated: recognize it by
    /// `X-GitHub-Delivery`.
    public static let github = WebhookScheme(header: "X-Hub-Signature-256") { headers in
        guard let header = headers["X-Hub-Signature-256"], header.hasPrefix("sha256=") else { return nil }
        return bytes(ofHexadecimal: header.dropFirst(7)).map { Signature(codes: [$0]) }
    }

    /// `X-Slack-Signature: v0=5257a869…` and `X-Slack-Request-Timestamp`: the time and the body are signed.
    public static let slack = WebhookScheme(header: "X-Slack-Signature") { headers in
        guard let header = headers["X-Slack-Signature"], header.hasPrefix("v0="),
            let time = headers["X-Slack-Request-Timestamp"].flatMap({ Int64($0) }),
            let code = bytes(ofHexadecimal: header.dropFirst(3))
        else { return nil }
        return Signature(time: time, prefix: "v0:\(time):", codes: [code])
    }

    /// `X-Shopify-Hmac-SHA256` in base64: the body is signed. An old request can be repeated: recognize it by
    /// `X-Shopify-Event-Id`.
    public static let shopify = WebhookScheme(header: "X-Shopify-Hmac-SHA256") { headers in
        headers["X-Shopify-Hmac-SHA256"].flatMap { Base64.decode($0) }.map { Signature(codes: [$0]) }
    }

    /// [Standard Webhooks](https://www.standardwebhooks.com), which OpenAI, Svix and others use: the headers `webhook-id`,
    /// `webhook-timestamp` and `webhook-signature` (or `svix-…`), and a key such as `whsec_MfKQ…`. Id, time and body are
    /// signed.
    public static let standard = WebhookScheme(
        header: "webhook-signature",
        key: { Base64.decode($0.hasPrefix("whsec_") ? String($0.dropFirst(6)) : $0) }
    ) { headers in
        func header(_ name: String) -> String? { headers["webhook-\(name)"] ?? headers["svix-\(name)"] }
        guard let id = header("id"), let time = header("timestamp").flatMap({ Int64($0) }),
            let list = header("signature")
        else { return nil }
        let codes = list.split(separator: " ").prefix(2 * maxCodes).compactMap { part in
            part.hasPrefix("v1,") ? Base64.decode(String(part.dropFirst(3))) : nil
        }
        return Signature(time: time, prefix: "\(id).\(time).", codes: Array(codes.prefix(maxCodes)))
    }

    /// How a service writes the bytes of a signature.
    public enum Encoding: Sendable {
        case hexadecimal
        case base64
    }

    /// Another service, which signs the body alone. An old request can be repeated: recognize it by what identifies it.
    ///
    /// - Parameters:
    ///   - header: The header that has the signature.
    ///   - prefix: What stands there before the signature, such as `sha256=`.
    ///   - encoding: How the bytes are written.
    public static func hmacSHA256(
        header: String, prefix: String = "", encoding: Encoding = .hexadecimal
    ) -> WebhookScheme {
        WebhookScheme(header: header) { headers in
            guard let text = headers[header], text.hasPrefix(prefix) else { return nil }
            let code = text.dropFirst(prefix.count)
            let bytes = encoding == .base64 ? Base64.decode(code) : bytes(ofHexadecimal: code)
            return bytes.map { Signature(codes: [$0]) }
        }
    }

    private static func bytes(ofHexadecimal text: Substring) -> [UInt8]? {
        let digits = text.utf8.map { Character(UnicodeScalar($0)).hexDigitValue }
        guard digits.count.isMultiple(of: 2), digits.allSatisfy({ $0 != nil }) else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map { UInt8((digits[$0] ?? 0) << 4 | (digits[$0 + 1] ?? 0)) }
    }
}
