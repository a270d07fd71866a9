import Crypto
import DocumentModel
public import FunctionsRuntime

extension HTTPRequest {
    /// Checks that the request comes from the service which knows the key. The signature covers the bytes of the body as
    /// they were sent: call this before anything is decoded.
    ///
    ///     onRequest("stripe", .secrets(webhookKey)) { request in
    ///         try request.verifySignature(.stripe, key: webhookKey.value)
    ///
    /// - Parameters:
    ///   - scheme: How the service signs.
    ///   - key: The key as the service shows it.
    ///   - tolerance: How far the time of the signature may be from now, so that an old request can't be repeated.
    /// - Throws: ``HttpsError`` with `unauthenticated`, which the sender sees as 401, if the signature is missing, too old
    ///   or of another key. If `key` can't be one, the sender gets INTERNAL, and the log says why.
    public func verifySignature(
        _ scheme: WebhookScheme, key: String, tolerance: Duration = .seconds(300)
    ) throws {
        guard let bytes = scheme.key(key), !bytes.isEmpty else { throw WebhookKeyError(header: scheme.header) }
        guard let signature = scheme.read(headers) else {
            throw HttpsError(.unauthenticated, "\(scheme.header): a signature is missing or malformed")
        }
        if let time = signature.time {
            // As doubles: any number may have been sent.
            let age = abs(Double(Timestamp.now.seconds) - Double(time))
            guard age <= tolerance / .seconds(1) else {
                throw HttpsError(.unauthenticated, "\(scheme.header): the signature is too old, or in the future")
            }
        }
        var hmac = HMAC<SHA256>(key: SymmetricKey(data: bytes))
        hmac.update(data: Array(signature.prefix.utf8))
        hmac.update(data: body)
        let code = hmac.finalize()
        // Compares in constant time.
        guard signature.codes.contains(where: { code == $0 }) else {
            throw HttpsError(.unauthenticated, "\(scheme.header): the signature doesn't match the body and the key")
        }
    }
}

private struct WebhookKeyError: Error, CustomStringConvertible {
    let header: String

    var description: String { "the key for \(header) is empty or isn't a key of the scheme" }
}
