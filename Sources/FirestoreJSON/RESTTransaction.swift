package import DocumentModel
package import StrictJSON
import TextFormats

/// A transaction id in the format of clients: eight bytes, big-endian.
extension TransactionID {
    package init?(restBytes bytes: [UInt8]) {
        guard bytes.count == 8 else { return nil }
        self.init(rawValue: bytes.reduce(0) { $0 << 8 | UInt64($1) })
    }

    package var restBytes: [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: rawValue >> (56 - 8 * UInt64($0))) } }
}

extension JSONNode {
    package func transaction() throws(JSONProblem) -> TransactionID {
        guard let id = TransactionID(restBytes: try bytes()) else {
            throw problem("\(summary) is not a transaction id")
        }
        return id
    }

    /// Reads `TransactionOptions`.
    ///
    /// - Parameter default: what empty options mean: a read-write transaction where one begins, a read-only one where it begins
    ///   with a read.
    package func transactionMode(default: TransactionMode) throws(JSONProblem) -> TransactionMode {
        var mode: TransactionMode?
        for member in try members() {
            guard mode == nil else {
                throw JSONProblem(offset: member.offset, message: "readOnly and readWrite exclude each other")
            }
            switch member.key {
            case "readOnly":
                var time: Timestamp?
                for member in try member.value.members() {
                    guard member.key == "readTime" else { throw member.unknown }
                    time = try member.value.timestamp()
                }
                mode = .readOnly(at: time)
            case "readWrite":
                var retrying: TransactionID?
                for member in try member.value.members() {
                    guard member.key == "retryTransaction" else { throw member.unknown }
                    // Some clients send an empty id instead of none.
                    retrying = try member.value.bytes().isEmpty ? nil : try member.value.transaction()
                }
                mode = .readWrite(retrying: retrying)
            default: throw member.unknown
            }
        }
        return mode ?? `default`
    }
}

extension JSONWriter {
    /// Writes `TransactionOptions`.
    ///
    /// - Parameter retrying: the id of the transaction that is retried, in the service's own format.
    package mutating func transactionOptions(_ mode: TransactionMode, retrying: [UInt8]?) {
        switch mode {
        case .readOnly(let time):
            raw("{\"readOnly\":{")
            if let time {
                raw("\"readTime\":")
                string(time.rfc3339)
            }
            raw("}}")
        case .readWrite:
            raw("{\"readWrite\":{")
            if let retrying {
                raw("\"retryTransaction\":")
                string(Base64.encode(retrying))
            }
            raw("}}")
        }
    }
}
